"""All positions of a table as arrays: complete, chosen, sampled, and back to boards."""

import pickle
import random
import re
import weakref
from collections.abc import Callable
from pathlib import Path

import chess
import numpy as np
import pytest

import tbgen
from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.errors import ClosedError, MissingTableError, UsageError
from tbgen.index.layout import layout_of
from tbgen.probe import positions
from tbgen.probe.positions import Positions
from tbgen.probe.tablebase import Tablebase, open_tablebase
from tests.support.exhaustive import exhaustive
from tests.support.random_boards import en_passant_board, random_board

NAMES = ["KvK", "KPvK", *exhaustive(["KBvK", "KQvKR", "KNNvK"])]


def same(one: Positions, other: Positions) -> bool:
    return all(map(np.array_equal, one.arrays(), other.arrays()))


@pytest.mark.parametrize("name", NAMES)
def test_all_positions(name: str, tablebase: Tablebase) -> None:
    """All positions of the table, each once, with the values that probes return; and their slots."""
    table = tablebase.table(name)
    found = table.positions()
    assert [array.dtype for array in found.arrays()] == [np.uint8, np.int64, np.uint8, np.uint16]
    assert tuple(np.bincount(found.side)) == table.positions_of_sides
    assert (
        len(found) == len(np.unique(found.side * np.int64(table.layout.size) + found.slot)) == table.count()
    )
    squares = found.squares()
    assert (table.slots(squares) == found.slot).all()
    assert (table.slots(squares ^ 7) == found.slot).all()  # mirrored
    letters = found.men
    for number in random.Random(name).sample(range(len(found)), 40):
        board = found.board(number)
        result = tablebase.probe(board)
        assert (result.value.code, result.depth) == (found.value[number], found.depth[number])
        assert table.slot(board) == (found.side[number], found.slot[number])
        assert table.material.symmetric or table.slot(board) == table.slot(board.mirror())
        assert table.slot(board.fen()) == table.slot(board)
        assert table.board(*table.slot(board)) == board
        men = [chess.Piece.from_symbol(letter) for letter in letters]
        assert [board.piece_at(square) for square in squares[number]] == men
        images = {board.board_fen(), board.transform(chess.flip_horizontal).board_fen()}
        if "p" not in letters.lower():
            boards = [chess.Board(f"{image} w") for image in images]
            boards += [each.transform(chess.flip_vertical) for each in boards]
            images = {
                turned.board_fen()
                for each in boards
                for turned in (each, each.transform(chess.flip_diagonal))
            }
        assert found.weights()[number] == len(images)
    assert found.weights().dtype == np.int64  # so that products with values and depths are exact
    deepest = found.depth.max()
    assert len(table.positions(depth=deepest)) == table.count(depth=int(deepest)) > 0
    part = found[5:8]
    assert [board.fen() for board in part.boards()] == [found.board(number).fen() for number in (5, 6, 7)]
    assert same(found[found.depth > 3], table.positions(depth=range(4, 1000)))


@pytest.mark.parametrize(("name", "block"), [("KvK", 64), *exhaustive([("KBvK", 4096), ("KPvK", 50_000)])])
def test_choices(name: str, block: int, tablebase: Tablebase, monkeypatch: pytest.MonkeyPatch) -> None:
    """Selections by value, depth and side do not depend on the size of blocks."""
    table = tablebase.table(name)
    everything = table.positions()
    monkeypatch.setattr(positions, "BLOCK_SLOTS", block)
    score = GScore("G1.5")
    for value, codes in (
        ("G0.5", [1]),
        (score, [3]),
        (["-G1.5", GScore("G0.5")], [252, 1]),
        ([], []),
        (None, range(256)),
    ):
        found_by = (3, [3]), (range(2, 9, 3), [2, 5, 8]), (range(8, -9, -3), [2, 5, 8]), (range(-9, 0), [])
        endless = (None, range(1000)), (range(-7, 10**30, 4), range(1, 1000, 4))
        for depth, depths in (*found_by, *endless):
            for side, sides in ((None, [0, 1]), (chess.WHITE, [0]), (chess.BLACK, [1])):
                expected = everything[
                    np.isin(everything.value, list(codes))
                    & np.isin(everything.depth, list(depths))
                    & np.isin(everything.side, sides)
                ]
                assert same(table.positions(value=value, depth=depth, side=side), expected)
                assert table.count(value=value, depth=depth, side=side) == len(expected)
                assert sum(map(len, table.blocks(value=value, depth=depth, side=side))) == len(expected)


def test_samples(tablebase: Tablebase, monkeypatch: pytest.MonkeyPatch) -> None:
    """Different positions, the same for the same seed, each of them as likely as any other."""
    monkeypatch.setattr(positions, "BLOCK_SLOTS", 256)
    table = tablebase.table("KvK")
    everything = table.positions(side=chess.BLACK)
    drawn = np.zeros(table.layout.size, np.int64)
    for seed in range(400):
        sample = table.sample(100, seed, side=chess.BLACK)
        assert len(sample) == 100
        assert (np.diff(sample.slot) > 0).all()
        drawn[sample.slot] += 1
    assert same(table.sample(100, 7), table.sample(100, 7))
    assert not same(table.sample(100, 7), table.sample(100, 8))
    assert set(np.flatnonzero(drawn)) <= set(everything.slot)
    # Each is drawn 400 * 100 / 462 = 87 times, with a standard deviation of 8.2.
    assert abs(drawn[everything.slot] - 400 * 100 / len(everything)).max() < 5 * 8.2
    assert same(table.sample(len(everything), 1, side=chess.BLACK), everything)
    assert len(table.sample(0, 1)) == len(table.sample(0, 1, value="G0.0")) == 0
    with pytest.raises(UsageError, match="KvK has 462 such positions, and not 463"):
        table.sample(463, 1, side=chess.BLACK)


def test_what_is_refused(tablebase: Tablebase, tmp_path: Path) -> None:
    table = tablebase.table(Material.parse("KPvKP"))
    some = table.sample(3, 1)
    assert (repr(table), repr(some)) == ("<positions of KPvKP>", "<3 positions of KPvKP>")
    right, kings = en_passant_board(random.Random(0)), random_board(random.Random(0), Material.parse("KvK"))
    sides = r"the side cannot be .*: expected chess.WHITE, chess.BLACK, or None"
    values = r"a value cannot be (int|float): expected a G-score or its text"
    refused: list[tuple[Callable[..., object], object, type[Exception], str]] = [
        *((lambda side: table.count(side=side), side, TypeError, sides) for side in ("black", "b", 0, 2)),
        *((lambda value: table.count(value=value), value, TypeError, values) for value in (0, [0], 3.5)),
        (lambda value: table.count(value=value), "mate", UsageError, "not a G-score"),
        (lambda depth: table.count(depth=depth), 3.5, TypeError, "the depth cannot be float: expected plies"),
        (lambda depth: table.count(depth=depth), True, TypeError, "the depth cannot be bool"),
        (lambda depth: table.count(depth=depth), -1, UsageError, "the depth is -1: expected 0 or more"),
        (some.board, 1.0, TypeError, "the index cannot be float: expected a whole number"),
        (some.board, 3, IndexError, "index 3 is out of bounds"),
        (list, some, TypeError, r"the index selects no array: .* or use board\(\) or boards\(\)"),
        (some.__getitem__, np.zeros((2, 2), int), TypeError, "or indices of one axis"),
        (some.__getitem__, (None, slice(3)), TypeError, "or indices of one axis"),
        (some.__getitem__, np.ones(4, bool), IndexError, "did not match"),
        (lambda count: table.sample(count, 1), -1, UsageError, "the count is -1: expected 0 or more"),
        (lambda count: table.sample(count, 1), 2.5, TypeError, "the count cannot be float: expected a whole"),
        (lambda seed: table.sample(1, seed), -1, UsageError, "the seed is -1: expected 0 or more"),
        (lambda side: table.board(side, 0), chess.WHITE, TypeError, "the side cannot be bool: expected a"),
        (lambda side: table.board(side, 0), 2, UsageError, "the side is 2: expected 0 to 1"),
        (lambda slot: table.board(0, slot), 0, UsageError, "no position with side 0 to move in slot 0"),
        (lambda slot: table.board(0, slot), table.layout.size, UsageError, "no position"),
        (table.slots, [[0, 20, 30, -1]], UsageError, "squares has numbers below 0"),
        (table.slots, [[0, 20, 30]], UsageError, r"the shape \(1, 3\): expected \(n, 4\)"),
        (table.slot, right, UsageError, "one with an en passant right, not one of KPvKP without en passant"),
        (table.slot, kings, UsageError, "the position is KvK, not one of KPvKP without en passant rights"),
        (table.slot, chess.Board(), UsageError, "32 men"),
        (tablebase.table, "nonsense", UsageError, "not a material name"),
        (
            lambda scratch: tablebase.table("KvK", scratch),
            3,
            TypeError,
            "scratch cannot be int: expected a",
        ),
        (open_tablebase(tmp_path).table, "KvK", MissingTableError, "KvK"),
    ]
    for ask, given, error, words in refused:
        with pytest.raises(error, match=words):
            ask(given)


def test_a_table_is_closed_with_its_tablebase(tables: Path) -> None:
    """Its file is closed though the table is kept; only what needs no file can still be asked."""
    with open_tablebase(tables) as tablebase:
        table, file = tablebase.table("KvK"), weakref.ref(tablebase.table_file("KvK"))
        some = table.positions(depth=0)
    assert file() is None
    assert table.slot(table.board(0, int(some.slot[0]))) == (0, some.slot[0])
    assert table.slots(some.squares()).tolist() == some.slot.tolist()
    for ask in (
        *(table.count, table.positions, lambda: list(table.blocks()), lambda: table.sample(0, 1)),
        *(lambda: table.look_up([0], [0]), lambda: tablebase.table("KvK"), lambda: tablebase.materials),
        *(lambda: tablebase.view("classical"), tablebase.__enter__),
    ):
        with pytest.raises(ClosedError, match="the tablebase is closed"):
            ask()


def test_a_notebook_shows_boards_with_their_values(tablebase: Tablebase) -> None:
    shown = tablebase.table("KBvK").positions(value="G0.5", depth=17)._repr_html_()
    assert shown.startswith("<p>the first 6 of 36 positions of KBvK</p><figure")
    assert shown.count("<svg") == 6
    assert "<title>White: Kc1, Be1. Black: Kg1. White to move.</title>" in shown
    fen = "8/8/8/8/8/8/8/2K1B1k1 w - - 0 1"
    assert f"<figcaption>White to move: G0.5, 17 plies<br><small>{fen}</small></figcaption>" in shown
    layout, zero = layout_of(Material.parse("K[W]vK")), np.zeros(1, np.uint8)
    man = Positions(layout, zero, np.array([layout.slot([0, 26, 20])]), zero + 3, zero + np.uint16(1))
    start = '<p>1 position of K[W]vK</p><figure style="display: inline-block"><figcaption>White to move'
    assert re.match(rf"{re.escape(start)}.*8/8/8/2\[W\]5/8/3k4/8/K7 w - - 0 1<", man._repr_html_())


FENS = ["8/8/8/4KBk1/8/8/8/8 b - - 3 40", "8/8/8/8/3Pp3/8/8/K6k b - d3 0 1"]


@pytest.mark.parametrize("fen", FENS)
def test_a_notebook_shows_solutions(tablebase: Tablebase, fen: str) -> None:
    solution = tbgen.solve(fen, "G3.5", tables=tablebase)
    assert solution.fen == fen
    caption = f"{solution.value}, {solution.depth} pl[a-z]+; accrued {solution.accrued}<br><small>{fen}<"
    shown = str(solution._repr_html_())
    assert re.search(f"<svg.*Black to move.</title>.*Black to move: {caption}", shown, re.DOTALL)


@pytest.mark.parametrize("fen", FENS)
def test_a_notebook_shows_results(tablebase: Tablebase, fen: str) -> None:
    """They have the board as it was; those of ``probe_many`` are equal, but have no board."""
    board = chess.Board(fen)
    result, found = tablebase.probe(board, "G3.5"), tablebase.get(fen)
    board.push(next(iter(board.legal_moves)))
    assert found is not None
    assert (result.board, found.board) == (chess.Board(fen), chess.Board(fen))
    for shown in (result, pickle.loads(pickle.dumps(result))):
        assert shown._repr_html_() == tbgen.solve(fen, "G3.5", tables=tablebase)._repr_html_()
    (other,) = tablebase.probe_many([fen], ["G3.5"])
    assert (other, other.board, other._repr_html_()) == (result, None, None)
