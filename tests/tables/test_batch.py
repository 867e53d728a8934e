"""Batches of positions of packed tables get the same answers as single positions, even if some fail."""

import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import chess
import h5py
import numpy as np
import pytest

from tbgen import Tablebase, open_tablebase
from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.errors import DamagedTableError, MissingTableError, TbgenError
from tbgen.index.codes import NO_SCORE
from tbgen.index.layout import Side, Slot
from tbgen.probe.states import ProbeResult
from tbgen.store.format import table_path
from tbgen.tables import library
from tbgen.tables import look_up as batch
from tbgen.tables.coding import exceptions_of
from tbgen.tables.look_up import Decoder
from tbgen.tables.open_table import Question
from tbgen.tables.packed_table import PackedTable
from tests.support.exhaustive import sample
from tests.support.packed_tables import PackedTables
from tests.support.random_boards import en_passant_board, random_board

R = Variant.R_MOBILITY
MATERIALS = ("KNvK", "KPvK", "KBvKN", "KPvKP")

Asked = tuple[list[chess.Board], list[GScore | None]]


def states(names: tuple[str, ...], count: int, seed: int = 0) -> Asked:
    """Boards of materials, some with an en passant right, half of them with an accrued score."""
    rng = random.Random(seed)
    boards = [random_board(rng, Material.parse(rng.choice(names))) for _ in range(count)]
    if "KPvKP" in names:
        boards[::20] = [en_passant_board(rng) for _ in boards[::20]]
    scores = [rng.choice([None, GScore(rng.randrange(2, 16), rng.random() < 0.5)]) for _ in boards]
    return boards, scores


def one_by_one(tables: Tablebase, asked: Asked) -> list[ProbeResult | TbgenError]:
    found: list[ProbeResult | TbgenError] = []
    for board, score in zip(*asked, strict=True):
        try:
            found.append(tables.probe(board, score))
        except TbgenError as error:
            found.append(error)
    return found


def compare(directories: tuple[Path, ...], asked: Asked) -> list[ProbeResult | TbgenError]:
    """Probe all states together and one by one, and return what both say."""
    with open_tablebase(*directories) as one, open_tablebase(*directories) as other:
        expected, found = one_by_one(one, asked), list(other.probe_many(*asked))
    for mine, right, board, score in zip(found, expected, *asked, strict=True):
        if isinstance(right, TbgenError):
            assert (type(mine), str(mine)) == (type(right), str(right)), (board.fen(), score)
        else:
            assert mine == right, (board.fen(), score)
    return expected


def count_single(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Side, Slot]]:
    """From now on, list the positions of packed tables that are decoded by themselves."""
    seen: list[tuple[Side, Slot]] = []
    alone = PackedTable._look_up_one

    def decode(file: PackedTable, question: Question) -> object:
        side, slot, code = question
        exceptions, _, _ = exceptions_of(file)
        if side == file.stored_side or slot not in exceptions or code != NO_SCORE:
            seen.append((side, slot))
        return alone(file, question)

    monkeypatch.setattr(PackedTable, "_look_up_one", decode)
    return seen


def test_many_are_as_one_by_one(tables: Path, packed: PackedTables) -> None:
    """Positions of several tables, some of them sub-tables of others: pawns, en passant, both colourings."""
    directories = packed(MATERIALS[0]).parent, tables
    for name in MATERIALS:
        packed(name)
    asked = states(MATERIALS, count := sample(400, 3000))
    results = [found for found in compare(directories, asked) if isinstance(found, ProbeResult)]
    assert len(results) == count
    assert sum(found.depth is None for found in results) > 20  # an accrued score decides, and is replaced
    assert sum(found.value == found.accrued != found.position_score for found in results) > 20
    assert sum(board.has_legal_en_passant() for board in asked[0]) > 10
    few = asked[0][:40], asked[1][:40]
    with open_tablebase(*directories) as playing:  # so few that each is looked up by itself, and some more
        for count in (1, 2, 3, 5, 12):
            found = [
                result
                for first in range(0, 40, count)
                for result in playing.probe_many(few[0][first : first + count], few[1][first : first + count])
            ]
            assert found == results[:40]


def test_moves(tables: Path, packed: PackedTables) -> None:
    directories, asked = (packed("KPvKP").parent, tables), states(("KPvKP",), 40)
    with open_tablebase(*directories) as one, open_tablebase(*directories) as other:
        expected = [one.moves(*question) for question in zip(*asked, strict=True)]
        assert list(other.moves_many(*asked)) == expected
    assert max(map(len, expected)) > 10


def test_nothing_is_decoded_by_itself_or_twice(
    tables: Path, packed: PackedTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All positions of a batch are decoded together, also those after promotions in another packed table,
    whether the accrued score or the fresh value counts."""
    packed("KNvK")
    directories, asked = (packed("KPvK").parent, tables), states(("KPvK", "KBvKN"), 200)
    packed("KBvKN")
    seen = count_single(monkeypatch)
    with open_tablebase(*directories) as many:
        found = list(many.probe_many(*asked))
        assert all(isinstance(result, ProbeResult) for result in found)
        assert not seen
        assert many.probe(chess.Board("8/8/8/8/1N6/3k4/8/K7 b - - 0 1"))
        assert seen
        monkeypatch.setattr(Decoder, "look_up", None)
        assert list(many.probe_many(*asked)) == found


def test_any_number_of_threads(tables: Path, packed: PackedTables, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers do not depend on the number of threads and the sizes of parts and batches."""
    monkeypatch.setattr(batch, "_TASK_POSITIONS", 7)
    monkeypatch.setattr(batch, "_MAX_BATCH_POSITIONS", 150)
    seen = count_single(monkeypatch)
    asked = states(("KBvKN", "KPvK"), 200, seed=1)
    directories = packed("KPvK").parent, packed("KBvKN").parent
    with open_tablebase(tables) as plain:
        right = one_by_one(plain, asked)
    for threads in (1, 2, 5):
        monkeypatch.setattr(PackedTable, "default_threads", threads)
        with open_tablebase(*directories, tables) as many:
            for mine, result in zip(many.probe_many(*asked), right, strict=True):
                assert isinstance(mine, ProbeResult)
                assert isinstance(result, ProbeResult)
                assert (mine.value, mine.accrued) == (result.value, result.accrued)
                assert mine.depth in (None, result.depth)
    assert not seen


def test_promotions_that_cannot_be_best_are_hardly_looked_up(
    tables: Path, packed: PackedTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One question about a promotion to a rook mostly proves that the promotion to a queen is at least as
    good; the table itself answers all questions about positions after other pawn moves at once."""
    for name in ("KPvK", "KQvK", "KRvK"):
        packed(name)
    asked, answer = Counter[tuple[int, ...]](), batch._answer

    def count(coding: Any, questions: Any, buffers: Any, first: int, end: int) -> None:
        asked[tuple(coding.rows.kinds.tolist())] += end - first
        answer(coding, questions, buffers, first, end)

    monkeypatch.setattr(batch, "_answer", count)
    monkeypatch.setattr(library, "_MAX_ONE_BY_ONE", 100)
    rng = np.random.default_rng(0)
    squares = np.column_stack([*rng.integers(0, 64, (2, 1500)), rng.integers(40, 56, 1500)])
    rank = rng.integers(2, 12, 1500)
    accrued = np.where(rng.random(1500) < 0.5, rank, 255 - rank)
    with open_tablebase(packed.directory, tables) as tested, open_tablebase(tables) as right:
        for scores in (None, accrued):
            given = "KkP", squares, np.zeros(1500, np.int64), scores
            asked.clear()
            found = tested.probe_arrays(*given)
            np.testing.assert_equal(found[0], right.probe_arrays(*given)[0])
            if scores is None:
                np.testing.assert_equal(found[1], right.probe_arrays(*given)[1])
                king, queen, rook = 0, 1, 2
                assert asked[king, king, rook] < asked[king, king, queen] / 2


def test_a_damaged_block_is_an_error_of_those_who_need_it(
    tables: Path, packed: PackedTables, tmp_path: Path
) -> None:
    path = Path(shutil.copy(packed("KNvK"), tmp_path))
    with h5py.File(path) as raw:
        length = sum(raw[f"block/{kind}_length"][...].astype(int) for kind in ("value", "depth", "function"))
        begin = raw["block/data"].id.get_offset() + int(length[: np.argmax(length)].sum())
    content = bytearray(path.read_bytes())
    content[begin + 5] ^= 4
    path.write_bytes(content)
    found = compare((tmp_path, tables), states(("KNvK",), 300))
    wrong = [error for error in found if isinstance(error, DamagedTableError)]
    assert 0 < len(wrong) < len(found) / 2
    assert all("flipped bits in a block" in str(error) for error in wrong)


def test_a_missing_table_is_an_error_of_those_who_need_it(
    tables: Path, packed: PackedTables, tmp_path: Path
) -> None:
    shutil.copy(packed("KBvKN"), tmp_path)
    shutil.copy(table_path(tables, "KNvK", R), tmp_path)
    found = compare((tmp_path,), states(("KBvKN", "KNvK"), 150))
    assert {type(result) for result in found} == {ProbeResult, MissingTableError}
    assert any("KBvK" in str(error) for error in found if isinstance(error, MissingTableError))
