"""What must hold of every table: symmetries, facts F1-F4 of docs/theory.md, and one ply of the proof."""

import random
from collections.abc import Iterator
from pathlib import Path

import chess
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tbgen.board.material import Material, all_materials
from tbgen.board.score import NONE, GScore
from tbgen.board.variant import Variant
from tbgen.index.layout import Layout, Slot, layout_of
from tbgen.index.position import locate
from tbgen.index.symmetry import IMAGE
from tbgen.index.table import FRESH, LAST_RUN, Table
from tbgen.probe.tablebase import Tablebase, open_tablebase
from tbgen.store.format import table_path
from tbgen.store.reader import TableFile
from tests.support.exhaustive import exhaustive, sample
from tests.support.one_ply import by_probing, folded, one_ply
from tests.support.table_states import canonical_slots, runs_of, squares_of

MATERIALS = all_materials(4)
Slots = NDArray[np.int64]
TYPES = {"K": chess.KING, "Q": chess.QUEEN, "R": chess.ROOK, "B": chess.BISHOP, "N": chess.KNIGHT}
TYPES["P"] = chess.PAWN

many = settings(
    deadline=None,
    max_examples=sample(150, 500),
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def tablebase(tables: Path) -> Iterator[Tablebase]:
    """All tables of up to four men."""
    with open_tablebase(tables) as tablebase:
        yield tablebase


def board_of(men: list[tuple[chess.Piece, int]], turn: chess.Color) -> chess.Board:
    board = chess.Board(None)
    board.turn = turn
    for man, square in men:
        board.set_piece_at(square, man)
    return board


@st.composite
def plain_boards(draw: st.DrawFn, materials: list[Material]) -> chess.Board:
    """Legal positions of the materials in either colouring, without en passant rights."""
    material = draw(st.sampled_from(materials))
    swapped = draw(st.booleans())
    names = [(name, True) for name in material.white] + [(name, False) for name in material.black]
    squares: list[int] = []
    for name, _ in names:
        allowed = range(8, 56) if name == "P" else range(64)
        squares.append(draw(st.sampled_from([square for square in allowed if square not in squares])))
    men = [
        (chess.Piece(TYPES[name], white != swapped), square)
        for (name, white), square in zip(names, squares, strict=True)
    ]
    board = board_of(men, draw(st.booleans()))
    if board.was_into_check():
        board.turn = not board.turn
    assume(not board.was_into_check())
    return board


@st.composite
def en_passant_boards(draw: st.DrawFn) -> chess.Board:
    """Legal positions of KPvKP with an en passant right."""
    turn, file = draw(st.booleans()), draw(st.integers(0, 7))
    victim = chess.square(file, 4 if turn else 3)
    beside = draw(
        st.sampled_from([square for square in (victim - 1, victim + 1) if square // 8 == victim // 8])
    )
    passed, home = (victim + 8, victim + 16) if turn else (victim - 8, victim - 16)
    free = [square for square in range(64) if square not in (victim, beside, passed, home)]
    kings = [chess.Piece(chess.KING, colour) for colour in chess.COLORS]
    pawns = [(chess.Piece(chess.PAWN, not turn), victim), (chess.Piece(chess.PAWN, turn), beside)]
    squares = draw(st.lists(st.sampled_from(free), min_size=2, max_size=2, unique=True))
    board = board_of([*zip(kings, squares, strict=True), *pawns], turn)
    assume(not board.was_into_check())
    board.ep_square = passed
    return board


def all_boards(materials: list[Material] = MATERIALS) -> st.SearchStrategy[chess.Board]:
    return plain_boards(materials) | en_passant_boards()


accrued_scores = st.none() | st.builds(GScore, st.integers(2, 30), st.booleans())


def moved(board: chess.Board, symmetry: int) -> chess.Board:
    """The image of a board under a symmetry."""
    men = [(man, IMAGE[symmetry][square]) for square, man in board.piece_map().items()]
    image = board_of(men, board.turn)
    if board.ep_square is not None:
        image.ep_square = IMAGE[symmetry][board.ep_square]
    return image


@many
@given(all_boards(), accrued_scores)
def test_swapping_colours_swaps_the_holder(
    tablebase: Tablebase, board: chess.Board, accrued: GScore | None
) -> None:
    result = tablebase.probe(board, accrued)
    swapped = tablebase.probe(board.mirror(), None if accrued is None else -accrued)
    assert (-swapped.value, swapped.depth) == (result.value, result.depth)
    assert (-swapped.accrued, -swapped.position_score) == (result.accrued, result.position_score)


@many
@given(all_boards(), accrued_scores)
def test_the_board_can_be_turned_and_mirrored(
    tablebase: Tablebase, board: chess.Board, accrued: GScore | None
) -> None:
    result = tablebase.probe(board, accrued)
    for symmetry in range(1, 2 if board.pawns else 8):
        assert tablebase.probe(moved(board, symmetry), accrued) == result


@many
@given(all_boards(), accrued_scores)
def test_values_follow_from_the_moves(
    tablebase: Tablebase, board: chess.Board, accrued: GScore | None
) -> None:
    result = tablebase.probe(board, accrued)
    assert result.position_score == GScore.of_board(board)
    if any(board.legal_moves):
        assert result.accrued == folded(board, accrued)
    assert (result.value, result.depth) == one_ply(by_probing(tablebase), board, accrued)


@settings(many, max_examples=sample(60, 200))
@given(plain_boards(MATERIALS))
def test_facts_on_accrued_scores(tablebase: Tablebase, board: chess.Board) -> None:
    """F1 and F4, F2, and F3 for all accrued scores of one position."""
    fresh = tablebase.probe(board)
    assume(any(board.legal_moves))
    own = fresh.position_score
    accrued = sorted(GScore(rank, white) for rank in range(2, own.rank + 3) for white in (True, False))
    results = [tablebase.probe(board, score) for score in accrued]
    for score, result in zip(accrued, results, strict=True):
        if score.rank > min(own.rank, fresh.value.rank) or score == own:
            assert (result.value, result.depth) == (fresh.value, fresh.depth)
        low, high = sorted([result.accrued, fresh.value])
        assert low <= result.value <= high
        assert (result.depth == 0) == (result.value == result.accrued)
    held = sorted(results, key=lambda result: result.accrued)
    assert [result.value for result in held] == sorted(result.value for result in held)


@pytest.mark.parametrize("name", [material.name for material in MATERIALS])
def test_slots_and_squares(name: str) -> None:
    layout = layout_of(Material.parse(name))
    rng = random.Random(name)
    for slot in (rng.randrange(layout.size) for _ in range(sample(60, 300))):
        free, placement = layout.squares(Slot(slot))
        canonical = layout.slot(free, placement)
        assert canonical <= slot
        squares = layout.squares(canonical)
        assert layout.slot(*squares) == canonical
        assert men_at(layout, *squares) in images(layout, free, placement)
        for image in images(layout, free, placement):
            assert layout.slot(image[: layout.free], image[layout.free :]) == canonical


def men_at(layout: Layout, free: list[int], pawns: tuple[int, ...]) -> list[int]:
    """Squares of all men, like ones in rising order."""
    free = list(free)
    for start, stop in layout.like_men:
        free[start:stop] = sorted(free[start:stop])
    white = layout.white_pawns
    return [*free, *sorted(pawns[:white]), *sorted(pawns[white:])]


def images(layout: Layout, free: list[int], pawns: tuple[int, ...]) -> list[list[int]]:
    """All images of a position under the symmetries of its table."""
    symmetries = IMAGE[:2] if layout.pawns else IMAGE
    return [men_at(layout, [i[s] for s in free], tuple(i[s] for s in pawns)) for i in symmetries]


@pytest.mark.parametrize("name", [material.name for material in MATERIALS])
def test_placements(name: str) -> None:
    layout = layout_of(Material.parse(name))
    steps = [layout.steps_left(placement) for placement in layout.placements]
    assert steps == sorted(steps)
    assert len(set(layout.placements)) == len(layout.placements) == len(layout.rows)
    assert all(layout.placements[row] == placement for placement, row in layout.rows.items())
    expected = {(0, 0): 1, (1, 0): 24, (0, 1): 24, (2, 0): 576, (1, 1): 1128}
    assert len(layout.placements) == expected[layout.white_pawns, layout.black_pawns]
    for placement in layout.placements:
        assert all(8 <= square < 56 for square in placement)
        assert len(set(placement)) == layout.pawns


@many
@given(all_boards())
def test_every_position_has_a_slot_that_stands_for_it(board: chess.Board) -> None:
    position = locate(board)
    layout, swapped = position.shape.layout, position.shape.swapped
    free, placement = layout.squares(position.slot)
    letters = [
        ("KQRBN"[kind], colour == 0) for kind, colour in zip(layout.kinds, layout.colours, strict=True)
    ]
    letters += [("P", number < layout.white_pawns) for number in range(layout.pawns)]
    men = [
        (chess.Piece(TYPES[name], white), square)
        for (name, white), square in zip(letters, [*free, *placement], strict=True)
    ]
    found = board_of(men, position.side == 0)
    if position.ep_square >= 0:
        found.ep_square = position.ep_square
    plain = board.mirror() if swapped else board
    assert found.board_fen() in [moved(plain, s).board_fen() for s in range(2 if layout.pawns else 8)]
    assert (found.ep_square is not None) == board.has_legal_en_passant()
    assert found.turn == plain.turn
    again = locate(found)
    assert (again.slot, again.side, again.ep_square) == (position.slot, position.side, position.ep_square)


def swapped(layout: Layout, slots: Slots) -> Slots:
    """Canonical slots of positions with their colours swapped, both sides having the same men."""
    free, pawns = squares_of(layout, slots)
    half = layout.free // 2 - 1
    order = [1, 0, *range(2 + half, 2 + 2 * half), *range(2, 2 + half)]
    return canonical_slots(layout, free[order] ^ 56, np.roll(pawns, layout.white_pawns, axis=0) ^ 56)


def runs_in_order(layout: Layout, table: Table, swap: bool) -> list[Slots]:
    """Holder, side, slot, rank, value and depth of all runs, the colours swapped or not."""
    holder, side, slot = runs_of(table)
    rank, value = (array.astype(np.int64) for array in (table.run_rank % LAST_RUN, table.run_value))
    if swap:
        holder, side, slot = 1 - holder, 1 - side, swapped(layout, slot)
        value = np.where(np.isin(value, [NONE, FRESH]), value, 255 - value)
    order = np.lexsort([rank, slot, side, holder])
    return [array[order] for array in (holder, side, slot, rank, value, table.run_depth.astype(np.int64))]


@pytest.mark.parametrize("name", ["KvK", "KNvKN", "KPvKP", *exhaustive(["KQvKQ", "KRvKR"])])
def test_a_symmetric_table_agrees_with_its_own_swap(name: str, tables: Path) -> None:
    """All fresh values, all states with an accrued score, all en passant positions."""
    with TableFile(table_path(tables, name, Variant.R_MOBILITY)) as file:
        table = file.read()
    layout = table.layout
    for side in (0, 1):
        slots = np.flatnonzero(table.value[side] != NONE)
        others = swapped(layout, slots)
        assert np.array_equal(table.value[1 - side, others], 255 - table.value[side, slots])
        assert np.array_equal(table.depth[1 - side, others], table.depth[side, slots])
    plain, swap = (runs_in_order(layout, table, swap) for swap in (False, True))
    for one, other in zip(plain, swap, strict=True):
        assert np.array_equal(one, other)
    rows = {(phase, square): row for row, (phase, square) in enumerate(table.ep_config.tolist())}
    assert len(rows) == (14 if name == "KPvKP" else 0)
    for (phase, square), row in rows.items():
        slots = np.flatnonzero(table.ep_value[row] != NONE)
        assert len(slots) > 2500
        others = swapped(layout, slots + phase * layout.phase_size)
        white, black = layout.placements[phase]
        other_phase = layout.rows.get((black ^ 56, white ^ 56))
        other_square = square ^ 56
        if other_phase is None:
            other_phase, other_square = layout.rows[black ^ 63, white ^ 63], square ^ 63
        other_row = rows[other_phase, other_square]
        assert (others // layout.phase_size == other_phase).all()
        within = others % layout.phase_size
        assert np.array_equal(table.ep_value[other_row, within], 255 - table.ep_value[row, slots])
        assert np.array_equal(table.ep_depth[other_row, within], table.ep_depth[row, slots])
