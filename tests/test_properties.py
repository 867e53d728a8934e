"""What must hold of every table: symmetries, facts F1-F4 of docs/theory.md, and one ply of the proof."""

import random
from collections.abc import Iterator
from pathlib import Path

import chess
import numpy as np
import pytest
from numpy.typing import NDArray

from tbgen.board.material import all_materials
from tbgen.board.score import NONE, GScore
from tbgen.index.codes import FRESH, LAST_RUN
from tbgen.index.layout import IMAGE, Layout
from tbgen.index.table import Table
from tbgen.probe.tablebase import Tablebase
from tests.support.exhaustive import exhaustive, sample
from tests.support.one_ply import by_probing, folded, one_ply
from tests.support.packed_tables import plain
from tests.support.random_boards import en_passant_board, random_board
from tests.support.table_states import canonical_slots, runs_of, squares_of

MATERIALS = all_materials(4)
Slots = NDArray[np.int64]


def asked(seed: str, number: int) -> Iterator[tuple[chess.Board, GScore | None]]:
    """Legal positions in either colouring, some with an en passant right, half with an accrued score."""
    rng = random.Random(seed)
    for _ in range(number):
        board = en_passant_board(rng) if rng.random() < 0.1 else random_board(rng, rng.choice(MATERIALS))
        accrued = GScore(rng.randrange(2, 31), rng.random() < 0.5) if rng.random() < 0.5 else None
        yield board, accrued


def moved(board: chess.Board, symmetry: int) -> chess.Board:
    """The image of a board under a symmetry."""
    image = chess.Board(None)
    image.set_piece_map({IMAGE[symmetry][square]: man for square, man in board.piece_map().items()})
    image.turn = board.turn
    if board.ep_square is not None:
        image.ep_square = IMAGE[symmetry][board.ep_square]
    return image


def test_colours_can_be_swapped_and_the_board_turned_and_mirrored(tablebase: Tablebase) -> None:
    """Swapping the colours swaps the holder."""
    for board, accrued in asked("symmetry", sample(100, 1000)):
        result = tablebase.probe(board, accrued)
        swapped = tablebase.probe(board.mirror(), None if accrued is None else -accrued)
        assert (-swapped.value, swapped.depth) == (result.value, result.depth)
        assert (-swapped.accrued, -swapped.position_score) == (result.accrued, result.position_score)
        for symmetry in range(1, 2 if board.pawns else 8):
            assert tablebase.probe(moved(board, symmetry), accrued) == result


def test_values_follow_from_the_moves(tablebase: Tablebase) -> None:
    for board, accrued in asked("one ply", sample(150, 2000)):
        result = tablebase.probe(board, accrued)
        assert result.position_score == GScore.of_board(board)
        if any(board.legal_moves):
            assert result.accrued == folded(board, accrued)
        found = result.value, result.depth
        assert found == one_ply(by_probing(tablebase), board, accrued), (board.fen(), str(accrued))


def test_facts_on_accrued_scores(tablebase: Tablebase) -> None:
    """F1 and F4, F2, and F3 for all accrued scores of one position."""
    for board, _ in asked("facts", sample(40, 400)):
        if board.has_legal_en_passant() or not any(board.legal_moves):
            continue
        fresh = tablebase.probe(board)
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


def swapped(layout: Layout, slots: Slots) -> Slots:
    """Canonical slots of positions with their colours swapped, both sides having the same men."""
    free, pawns = squares_of(layout, slots)
    half = layout.free_count // 2 - 1
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


@pytest.mark.parametrize("name", ["KvK", *exhaustive(["KNvKN", "KPvKP", "KQvKQ", "KRvKR"])])
def test_a_symmetric_table_agrees_with_its_own_swap(name: str, tables: Path) -> None:
    """All fresh values, all states with an accrued score, all en passant positions."""
    table = plain(tables, name)
    layout = table.layout
    for side in (0, 1):
        slots = np.flatnonzero(table.value[side] != NONE)
        others = swapped(layout, slots)
        assert np.array_equal(table.value[1 - side, others], 255 - table.value[side, slots])
        assert np.array_equal(table.depth[1 - side, others], table.depth[side, slots])
    own, swap = (runs_in_order(layout, table, swap) for swap in (False, True))
    for one, other in zip(own, swap, strict=True):
        assert np.array_equal(one, other)
    rows = {(phase, square): row for row, (phase, square) in enumerate(table.ep_config.tolist())}
    assert len(rows) == (14 if name == "KPvKP" else 0)
    for (phase, square), row in rows.items():
        slots = np.flatnonzero(table.ep_value[row] != NONE)
        assert len(slots) > 2500
        others = swapped(layout, slots + phase * layout.phase_size)
        white, black = layout.placements[phase]
        other_phase = layout.phase_by_placement.get((black ^ 56, white ^ 56))
        other_square = square ^ 56
        if other_phase is None:
            other_phase, other_square = layout.phase_by_placement[black ^ 63, white ^ 63], square ^ 63
        other_row = rows[other_phase, other_square]
        assert (others // layout.phase_size == other_phase).all()
        within = others % layout.phase_size
        assert np.array_equal(table.ep_value[other_row, within], 255 - table.ep_value[row, slots])
        assert np.array_equal(table.ep_depth[other_row, within], table.ep_depth[row, slots])
