"""Moves and captures of whole blocks of positions against python-chess."""

import random
from contextlib import suppress
from pathlib import Path

import chess
import numpy as np
import pytest

from tbgen.board.fen import DescribedBoard
from tbgen.board.material import Material, all_materials
from tbgen.board.score import NONE
from tbgen.board.variant import Variant
from tbgen.index.layout import Side, Slot, layout_of
from tbgen.index.position import any_board_of
from tbgen.report.blocks import (
    MAX_BLOCK_SLOTS,
    bishops_on_one_colour,
    block_at,
    blocks_of,
    find_symmetric_slots,
    mobility,
)
from tbgen.store.format import table_path
from tbgen.tables.files import open_table
from tests.support.exhaustive import exhaustive, sample
from tests.support.slots import board_at


@pytest.mark.parametrize(
    "name",
    [*("KPvK", "KQvKR", "KBBvK", "KRPvK", "KNvKP"), *exhaustive(["KvK", "KQvK", "KRvKN", "KPPvK", "KPvKP"])],
)
def test_rank_and_captures(name: str, tables: Path) -> None:
    material, rng = Material.parse(name), random.Random(name)
    layout = layout_of(material)
    with open_table(table_path(tables, name, Variant.R_MOBILITY), material=material) as file:
        table = file.read()
        value, depth = table.value, table.depth
    blocks = blocks_of(layout)
    for start, size in rng.sample(blocks, min(2, len(blocks))):
        block = block_at(layout, start, size)
        for side in (0, 1):
            found = mobility(block, side == 0)
            rank, captures = found.rank.reshape(-1), found.has_capture.reshape(-1)
            slots = np.flatnonzero(value[side, start : start + size] != NONE).tolist()
            for slot in rng.sample(slots, min(len(slots), sample(100, 250))):
                board = board_at(layout, side, start + slot)
                assert board is not None
                moves = list(board.legal_moves)
                assert rank[slot] == 2 * len(moves) + (not board.is_check()), board.fen()
                assert captures[slot] == any(map(board.is_capture, moves)), board.fen()
                if depth[side, start + slot] == 0:
                    code = int(value[side, start + slot])
                    assert min(code, 255 - code) == rank[slot], board.fen()


@pytest.mark.parametrize(
    "name", ["K[RD]vK[NN]", "K[AA][Q]vK", *exhaustive(["K[BDD]vK[WF]", "KQvK[WD]", "K[NW]vKR"])]
)
def test_rank_and_captures_of_described_men(name: str) -> None:
    """Rides, leaps, pins and blocks of described men agree with moves made one by one."""
    layout, rng = layout_of(Material.parse(name)), random.Random(name)
    checked = 0
    for start, size in rng.sample(blocks_of(layout), 3):
        block = block_at(layout, start, size)
        for side in (0, 1):
            found = mobility(block, side == 0)
            rank, captures = found.rank.reshape(-1), found.has_capture.reshape(-1)
            for slot in rng.sample(range(size), sample(100, 250)):
                with suppress(ValueError):  # two men on one square
                    board = any_board_of(layout, Side(side), Slot(start + slot))
                    assert isinstance(board, DescribedBoard)
                    kings = board.king(chess.WHITE), board.king(chess.BLACK)
                    if board.was_into_check() or chess.square_distance(*kings) < 2:  # type: ignore[arg-type]
                        continue
                    assert rank[slot] == board.position_score().rank, board.fen()
                    assert captures[slot] == any(map(board.is_zeroing, board.legal_moves)), board.fen()
                    checked += 1
    assert checked > 200


def test_blocks_cover_the_table() -> None:
    """Blocks contain each slot once, fit the 4096 slots of runs, and have the men of the layout."""
    for material in [each for number, each in enumerate(all_materials(5)) if number % sample(5, 1) == 0]:
        layout, rng = layout_of(material), random.Random(material.name)
        blocks = blocks_of(layout)
        ends = [start + size for start, size in blocks]
        assert [start for start, _ in blocks] == [0, *ends[:-1]], material
        assert ends[-1] == layout.size, material
        assert all(start % 4096 == 0 for start, _ in blocks), material
        assert max(size for _, size in blocks) <= MAX_BLOCK_SLOTS, material
        for start, size in (*rng.sample(blocks, min(3, len(blocks))), blocks[-1]):
            block = block_at(layout, start, size)
            assert block.size == size, material
            men = [np.broadcast_to(man.squares, block.shape).reshape(-1) for man in block.men]
            for slot in (0, rng.randrange(size), size - 1):
                free, pawns = layout.squares(Slot(start + slot))
                assert [int(man[slot]) for man in men] == [*free, *pawns], material


@pytest.mark.parametrize("name", ["KvK", "KBBvK", *exhaustive(["KQvK", "KQvKQ"])])
def test_symmetric_slots(name: str) -> None:
    """The slots whose position is its own image in the long diagonal are found by trying all."""
    layout = layout_of(Material.parse(name))
    slots = set(find_symmetric_slots(layout).tolist())
    all_slots = range(layout.size)
    candidates = all_slots if layout.free_count < 4 else random.Random(1).sample(all_slots, 5_000)
    for slot in (*candidates, *slots):
        free, _ = layout.squares(Slot(slot))
        if layout.slot(free) == slot and len(set(free)) == len(free):
            board = board_at(layout, 0, slot)
            assert board is not None
            assert (board == board.transform(chess.flip_diagonal)) == (slot in slots), board.fen()


def test_bishops_of_one_colour() -> None:
    layout = layout_of(Material.parse("KBBvK"))
    start, size = blocks_of(layout)[-1]
    block = block_at(layout, start, size)
    like = bishops_on_one_colour(block.men)
    assert like is not None
    each = np.broadcast_to(like, block.shape).reshape(-1)
    for slot in range(0, size, 97):
        (*_, first, second), _ = layout.squares(Slot(start + slot))
        assert each[slot] == ((first // 8 + first) % 2 == (second // 8 + second) % 2)
    assert bishops_on_one_colour(block_at(layout_of(Material.parse("KBvKB")), 0, 4096).men) is None
    mixed = block_at(layout_of(Material.parse("KB[BD]vK")), start, size)
    assert np.array_equal(bishops_on_one_colour(mixed.men), like)  # type: ignore[arg-type]
    assert bishops_on_one_colour(block_at(layout_of(Material.parse("KB[WD]vK")), 0, 4096).men) is None
