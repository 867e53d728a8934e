"""No number is silently wrong in tables of more men: what does not fit is refused.

Limits that follow from the material are compared with all materials of up to six men; others are set low.
"""

from collections.abc import Callable
from math import comb
from pathlib import Path
from typing import Any

import chess
import numpy as np
import pytest

from tbgen.board import material as materials
from tbgen.board.kinds import KIND_LETTERS, KING
from tbgen.board.material import Material, all_materials
from tbgen.board.score import MAX_CODED_RANK, GScore
from tbgen.board.variant import Variant
from tbgen.cli.main import main
from tbgen.errors import LimitError, UsageError
from tbgen.exchange import export
from tbgen.index import layout as layouts
from tbgen.index.layout import WHITE_TO_MOVE, Layout, layout_of
from tbgen.index.position import locate
from tbgen.index.table import AccruedForm
from tbgen.probe import values
from tbgen.retro import solver
from tbgen.retro.kernels import numbering, update
from tbgen.store.dataset import datasets
from tbgen.store.schema import FUNCTION_START
from tbgen.tables import look_up, pack
from tbgen.tables.coding import block_rows_of, make_buffers, rows_of, stored_side
from tbgen.tables.encode import _MAX_SLOT_BYTES
from tbgen.tables.kernels.questions import ask
from tbgen.tables.look_up import empty_batch
from tbgen.tables.pack import MAX_DERIVED_RANK, NeedFinder
from tbgen.tables.structs import INDEX_BITS, MAX_BLOCK_ROWS, MAX_BLOCK_SLOTS, MAX_ZEROING
from tbgen.verify import game
from tests.support.made_up_tables import as_sources, made_up


def layout_without_placements(material: Material) -> Layout:
    """A layout whose placements are counted, not listed."""
    white, black = (side.count("P") for side in material.sides)
    count, symmetric = comb(48, white) * comb(48 - white, black), 0
    if not (white % 2 or black % 2):
        symmetric = comb(24, white // 2) * comb(24 - white // 2, black // 2)
    placements: Any = range((count + symmetric) // 2)
    pieces = [(kind, side) for side in (0, 1) for kind in material.sides[side] if kind not in "KP"]
    kinds = (KING, KING, *(KIND_LETTERS.index(kind) for kind, _ in pieces))
    colours = (0, 1, *(side for _, side in pieces))
    return Layout(material, kinds, colours, white, black, placements, {}, layouts._like_men(kinds, colours))


def moves(layout: Layout, side: int) -> int:
    return sum(map(materials._max_move_count, layout.material.sides[side]))


def zeroing_moves(layout: Layout) -> int:
    """Twelve moves of each pawn, and one capture for each pair of other men."""
    white, black = (sum(man != "P" for man in side) for side in layout.material.sides)
    return 12 * max(layout.white_pawns, layout.black_pawns) + white * black


def moves_beside_en_passant(layout: Layout) -> int:
    return max(moves(layout, 0), moves(layout, 1)) if layout.white_pawns and layout.black_pawns else 0


INT32 = 1 << 31
LIMITS: dict[str, tuple[Callable[[Layout], int], int]] = {
    "nodes": (lambda each: 2 * each.slots_to_solve, layouts.MAX_NODES),
    "paths with fresh values": (lambda each: each.slots_to_solve, numbering.MAX_NUMBERS),
    "words on a front": (lambda each: each.slots_to_solve // 64, INT32),
    "nodes in a heap": (lambda each: 2 * each.slots_to_solve, int(update._LOWERED)),
    "phases with two bits": (lambda each: 4 * len(each.placements), INT32),
    "en passant configurations": (lambda each: 16 * len(each.placements) if each.pawns > 1 else 0, INT32),
    "keys of a probe": (lambda each: each.size, 1 << values._SLOT_BITS),
    "zeroing moves": (zeroing_moves, MAX_ZEROING),
    "men of a proof": (lambda each: each.material.men, game._MAX_TABLE_MEN),
    "moves of the derived side": (lambda each: moves(each, 1 - stored_side(each)), MAX_DERIVED_RANK // 2),
    "slots of a packed table": (lambda each: each.size, pack.MAX_SLOTS),
    "keys of questions": (lambda each: 2 * each.size, 1 << 63 - INDEX_BITS),
    "rows of a block": (block_rows_of, MAX_BLOCK_ROWS),
    "groups of like men": (lambda each: len(each.like_men), pack.MAX_LIKE_GROUPS),
    "moves beside en passant": (moves_beside_en_passant, (MAX_CODED_RANK - 1) // 2),
}


def broken(max_men: int) -> set[tuple[str, bool]]:
    """The limits that some material exceeds, and whether it has pawns."""
    return {
        (name, each.pawns > 0)
        for each in map(layout_without_placements, all_materials(max_men))
        for name, (quantity, limit) in LIMITS.items()
        if quantity(each) > limit
    }


@pytest.mark.parametrize("name", ["KBBvK", "KPvK", "KPvKP", "KPPvK"])
def test_sizes_of_layouts_are_known_without_their_placements(name: str) -> None:
    material = Material.parse(name)
    assert layout_without_placements(material).size == layout_of(material).size


def test_no_table_exceeds_a_limit_and_those_of_six_men_only_limits_that_are_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What tables with too many nodes exceed besides is not reached."""
    assert broken(materials.MAX_MEN) == set()
    monkeypatch.setattr(materials, "MAX_MEN", 6)
    pawnless = {(name, False) for name in ("nodes", "paths with fresh values")}
    packed = {("slots of a packed table", False), ("slots of a packed table", True)}
    packed |= {("keys of questions", True), ("rows of a block", False), ("groups of like men", False)}
    assert broken(6) == pawnless | packed | {("moves beside en passant", True)}
    assert _MAX_SLOT_BYTES * MAX_BLOCK_SLOTS < 1 << 16
    assert look_up._MAX_BATCH_POSITIONS * (MAX_DERIVED_RANK // 2 + MAX_ZEROING) < 1 << INDEX_BITS
    assert numbering.MAX_NUMBERS <= INT32, "answers have numbers of functions"


def test_men_with_more_moves_than_a_byte_can_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(materials, "MAX_MEN", 8)
    assert Material("KQQQQ", "K").men == 6
    for white, black in (("KQQQQQ", "K"), ("KQQQ", "KQQQ")):
        with pytest.raises(UsageError, match="have more moves than tables can count"):
            Material(white, black)


def test_too_many_nodes_are_refused_before_any_table_is_built(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(layouts, "MAX_NODES", 1 << 12)
    assert main(["build", "KNvK", "--dir", str(tmp_path)]) == 1
    assert "KNvK has 59136 nodes; the solver numbers at most 4096" in capsys.readouterr().err
    assert not list(tmp_path.glob("*.h5"))


@pytest.mark.parametrize(
    ("name", "constant", "limit", "message"),
    [
        ("KQvK", "MAX_CODED_RANK", 5, "KQvK: scores of rank .* have no code in a table"),
        ("KQvK", "MAX_NUMBERS", 5, "KQvK has more than the 5 paths that can be numbered"),
        ("KPvK", "MAX_NUMBERS", 1000, "KPvK has more than the 1000 functions that can be numbered"),
    ],
)
def test_what_a_table_cannot_store_ends_the_solver(
    name: str, constant: str, limit: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solver, constant, limit)
    material = Material.parse(name)
    sources = as_sources({each: made_up(layout_of(each), 1) for each in material.successors()})
    with pytest.raises(LimitError, match=message):
        solver.solve(material, sources, Variant.R_MOBILITY, accrued=AccruedForm.FUNCTIONS)


@pytest.mark.parametrize(
    ("name", "constant", "limit", "number"),
    [
        ("KRvK", "MAX_SLOTS", 40959, "40960 slots"),
        ("KRRvK", "MAX_BLOCK_ROWS", 16, "32 rows in a block"),
        ("KRPvK", "MAX_LIKE_GROUPS", 0, "1 groups of like men after a move"),
    ],
)
def test_a_table_that_cannot_be_packed_is_refused_before_it_is_solved(
    name: str, constant: str, limit: int, number: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pack, constant, limit)
    with pytest.raises(LimitError, match=f"{name} has {number}; a packed table has at most {limit}"):
        NeedFinder(layout_of(Material.parse(name)))


def test_numbers_that_no_type_of_a_file_fits() -> None:
    with pytest.raises(LimitError, match="accrued/start has numbers above 4294967295"):
        datasets([FUNCTION_START], {FUNCTION_START: np.array([0, 1 << 32])})


def test_a_flat_file_that_is_too_large(
    three_men: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(export, "MAX_NUMBER", 100)
    assert main(["export", str(tmp_path), "KBvK", "--dir", str(three_men)]) == 1
    assert "too large for a flat file" in capsys.readouterr().err


def test_a_rank_without_code_is_not_taken_for_the_accrued_score() -> None:
    """After Black's only move White has 71 moves: the byte of that position score would be that of G56.0."""
    board = chess.Board("8/6K1/8/6Q1/3k4/Q7/8/7Q b - - 0 1")
    place = locate(board)
    batch = empty_batch(np.array([8]))
    batch.is_derived[:], batch.slot[:], batch.accrued[:] = True, place.slot, GScore("G56.0").code
    ask(rows_of(place.shape.layout, WHITE_TO_MOVE), batch, make_buffers(), 0, 1)
    assert batch.question_end - batch.question_start == [1]
    assert batch.question_rank[0] == 143
    assert batch.question[0] & 1, "the function of the position is needed"
