"""Arrays of positions get what single probes give."""

import os
import shutil
from pathlib import Path
from typing import Any

import chess
import numpy as np
import pytest
from numpy.typing import NDArray

import tbgen
from tbgen import Tablebase, UsageError
from tbgen.board.score import NONE, GScore
from tbgen.errors import DamagedTableError, MissingTableError
from tbgen.store import schema
from tbgen.system.memory import processor_count
from tbgen.tables.files import open_table
from tbgen.tables.packed_table import PackedTable
from tests.support.exhaustive import exhaustive, sample
from tests.support.packed_tables import PackedTables

Arrays = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint8]]


def at_random(men: str, count: int, seed: int = 0) -> Arrays:
    """Squares, sides and accrued scores, good and bad ones; a third have no accrued score."""
    rng = np.random.default_rng(seed)
    squares = rng.integers(0, 64, (count, len(men)), np.uint8)
    rank = rng.integers(2, 24, count)
    accrued = np.where(rng.random(count) < 0.5, rank, 255 - rank)
    accrued[rng.random(count) < 0.3] = NONE
    return squares, rng.integers(0, 2, count), accrued.astype(np.uint8)


def single(tables: Tablebase, men: str, squares: list[int], side: int, accrued: int) -> tuple[int, int]:
    """Value and depth that a single probe returns."""
    board = chess.Board(None)
    for man, square in zip(men, squares, strict=True):
        board.set_piece_at(square, chess.Piece.from_symbol(man))
    board.turn = side == 0
    if len({*squares}) == len(squares):
        try:
            found = tables.probe(board, tbgen.FRESH if accrued == NONE else GScore.from_code(accrued))
        except UsageError:
            return NONE, -1
        return found.value.code, -1 if found.depth is None else found.depth
    return NONE, -1


def compared(tables: Tablebase, men: str, count: int) -> None:
    squares, side, accrued = at_random(men, count)
    value, depth = tables.probe_arrays(men, squares, side, accrued)
    assert (value.dtype, value.shape, depth.dtype, depth.shape) == (np.uint8, (count,), np.int32, (count,))
    rows = zip(squares.tolist(), side.tolist(), accrued.tolist(), strict=True)
    wanted = [single(tables, men, *row) for row in rows]
    assert [*zip(value.tolist(), depth.tolist(), strict=True)] == wanted
    assert 0.2 < (value != NONE).mean() < 0.97
    alone = tables.probe_arrays(men, squares, side)
    np.testing.assert_equal(tables.probe_arrays(men, squares, side, np.full(count, NONE)), alone)


PLAIN = ["kK", "kpK", "KRkn", "PKpk", "BKkB", *exhaustive(["KBk", "qkK", "kbBK", "kKPP", "NnKk"])]


@pytest.mark.parametrize("men", PLAIN)
def test_plain_tables(men: str, tables: Path) -> None:
    with tbgen.open_tablebase(tables) as opened:
        compared(opened, men, sample(200, 5000))


def test_whole_game_mobility(whole_game_tables: Path) -> None:
    with tbgen.open_tablebase(whole_game_tables, rules="wg") as opened:
        for men in ("KNk", "PKpk"):
            compared(opened, men, sample(150, 5000))


def test_every_position_of_a_table(three_men: Path) -> None:
    with tbgen.open_tablebase(three_men) as tables:
        table = tables.table("KNvK")
        there = table.positions()
        for given in (there, there[::-1]):
            squares = given.squares() ^ 56
            for found in (
                tables.probe_arrays(given.men, given.squares(), given.side),
                table.look_up(given.side, given.slot),
            ):
                assert (found[0] == given.value).all()
                assert (found[1] == given.depth).all()
            value, depth = tables.probe_arrays(given.men.swapcase(), squares, 1 - given.side)
            assert (255 - value == given.value).all()
            assert (depth == given.depth).all()


def test_slots_with_accrued_scores(three_men: Path) -> None:
    rng = np.random.default_rng(1)
    with tbgen.open_tablebase(three_men) as tables:
        table = tables.table("KBvK")
        slot, side = rng.integers(0, table.layout.size, 1500), rng.integers(0, 2, 1500)
        accrued = np.where(rng.random(1500) < 0.5, 7, 255 - 4).astype(np.uint8)
        value, depth = table.look_up(side, slot, accrued)
        there = np.flatnonzero(value != NONE)
        assert 80 < len(there) < 1200
        assert (depth[value == NONE] == -1).all()
        for number in there[:60].tolist():
            board = table.board(int(side[number]), int(slot[number]))
            found = tables.probe(board, GScore.from_code(int(accrued[number])))
            assert (found.value.code, found.depth) == (value[number], depth[number])


def test_lists_and_nothing_at_all(three_men: Path) -> None:
    with tbgen.open_tablebase(three_men) as tables:
        value, depth = tables.probe_arrays("KBk", [[36, 37, 38], [0, 0, 1]], [1, 0])
        assert (value.tolist(), depth.tolist()) == ([3, NONE], [4, -1])
        value, depth = tables.probe_arrays("KBk", np.zeros((0, 3), np.int8), [])
        assert (value.shape, depth.shape) == ((0,), (0,))
        for nothing in ([], np.zeros(0, np.int64)):
            value, depth = tables.table("KBvK").look_up([], nothing)
            assert (value.shape, depth.shape) == ((0,), (0,))


REFUSED: list[tuple[tuple[Any, ...], type[Exception], str]] = [
    (("KBB", [[0, 1, 2]], [0]), UsageError, "one king of each side"),
    (("KkX", [[0, 1, 2]], [0]), UsageError, "names no men"),
    (("KkBBBB", [[0] * 6], [0]), UsageError, "two to 5"),
    ((3, [[0, 1]], [0]), TypeError, "the men cannot be int"),
    (("Kk", [[0, 64]], [0]), UsageError, "squares has numbers below 0 or above 63"),
    (("Kk", [[0, -1]], [0]), UsageError, "squares has numbers"),
    (("Kk", [[0, 1, 2]], [0]), UsageError, r"squares has the shape \(1, 3\): expected \(n, 2\)"),
    (("Kk", [[0, 1], [2]], [0, 0]), UsageError, r"of different lengths: expected the shape \(n, 2\)"),
    (("Kk", [0, 1], [0]), UsageError, r"squares has the shape \(2,\): expected \(n, 2\)"),
    (("Kk", [[0, 20]], []), UsageError, r"side has the shape \(0,\): expected \(1,\)"),
    (("Kk", [], [0]), UsageError, r"side has the shape \(1,\): expected \(0,\)"),
    (("Kk", [[0.5, 1]], [0]), TypeError, "squares has elements of type float64"),
    (("Kk", 3, [0]), UsageError, "squares has the shape"),
    (("Kk", [[0, 20]], [2]), UsageError, "side has numbers below 0 or above 1"),
    (("Kk", [[0, 20]], [0, 1]), UsageError, "side has the shape"),
    (("Kk", [[0, 20]], [chess.WHITE]), TypeError, "side has elements of type bool: expected whole numbers"),
    (("Kk", [[0, 20]], [0], [1, 2]), UsageError, "accrued has the shape"),
    (("Kk", [[0, 20]], [0], [1]), UsageError, "1 of the accrued scores end the game"),
    (("Kk", [[0, 20]], [0], [128]), UsageError, "accrued has 128, which is not the code of a score"),
    (("KkQQ", [[0, 20, 40, 63]], [0]), MissingTableError, "KQQvK is missing"),
]


def test_what_cannot_be_looked_up(reference_dir: Path) -> None:
    with tbgen.open_tablebase(reference_dir) as tables:
        for arguments, error, words in REFUSED:
            with pytest.raises(error, match=words):
                tables.probe_arrays(*arguments)


def test_slots_that_are_none(reference_dir: Path) -> None:
    with tbgen.open_tablebase(reference_dir) as tables:
        table = tables.table("KBvK")
        for slots in ([-1], [table.layout.size]):
            with pytest.raises(UsageError, match="KBvK has no slots below 0 or above 40959"):
                table.look_up([0], slots)
        for mask in ([0.5], [True]):
            with pytest.raises(TypeError, match=r"elements of type (float64|bool)"):
                table.look_up([0], mask)
        with pytest.raises(UsageError, match=r"slots has the shape \(1, 1\): expected \(n,\)"):
            table.look_up([0], [[0]])


def test_damaged_and_missing_tables(packed: PackedTables, three_men: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(packed("KPvK"), tmp_path))
    squares, side, _ = at_random("KPk", 2000)
    with tbgen.open_tablebase(tmp_path) as tables, pytest.raises(MissingTableError, match=r"KvK|KQvK"):
        tables.probe_arrays("KPk", squares, side)
    with open_table(path) as file:
        dataset = file._file[schema.BLOCK_DATA.name]
        offset, size = dataset.id.get_offset(), dataset.shape[0]
    data = bytearray(path.read_bytes())
    for at in range(offset, offset + size, 7):
        data[at] ^= 1
    path.write_bytes(data)
    with (
        tbgen.open_tablebase(tmp_path, three_men) as tables,
        pytest.raises(DamagedTableError, match="flipped"),
    ):
        tables.probe_arrays("KPk", squares, side)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system has no such call")
def test_large_batches_keep_to_the_processors_of_the_process() -> None:
    before = os.sched_getaffinity(0)
    assert PackedTable.default_threads <= len(before)
    os.sched_setaffinity(0, [min(before)])
    try:
        assert processor_count() == 1
    finally:
        os.sched_setaffinity(0, before)
