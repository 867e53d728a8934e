"""What zeroing moves reach is found without making them, and is in the pool when it is needed."""

import random
import sys
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import chess
import numpy as np
import pytest

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.index.layout import SIDES, Layout, layout_of
from tbgen.index.position import locate
from tbgen.index.zeroing import (
    Block,
    blocks_after_captures,
    blocks_after_promotions,
    phase_groups,
    phases_after_pawn_steps,
    sides_after_promotion,
    targets_of,
)
from tbgen.moves.pool import PoolLoader
from tbgen.tables.library import Library
from tests.support.exhaustive import exhaustive, sample
from tests.support.packed_tables import plain
from tests.support.table_states import canonical_slots, squares_of

TYPES = (chess.KING, chess.QUEEN, chess.ROOK, chess.BISHOP, chess.KNIGHT)


def block_of(board: chess.Board) -> Block:
    """Where the position of a board is stored."""
    position = locate(board)
    return position.shape.material, position.slot // position.shape.layout.phase_size


def random_boards(layout: Layout, phase: int, rng: random.Random) -> Iterator[chess.Board]:
    """Legal positions of a placement, each as it is, mirrored, and with colours swapped."""
    placement = layout.placements[phase]
    vacant = [square for square in chess.SQUARES if square not in placement]
    while True:
        board = chess.Board(None)
        for number, square in enumerate(placement):
            board.set_piece_at(square, chess.Piece(chess.PAWN, number < layout.white_pawns))
        for kind, colour, square in zip(
            layout.kinds, layout.colours, rng.sample(vacant, layout.free_count), strict=True
        ):
            board.set_piece_at(square, chess.Piece(TYPES[kind], colour == 0))
        board.turn = rng.random() < 0.5
        if board.is_valid():
            yield board
            yield board.transform(chess.flip_horizontal)
            yield board.mirror()


def zeroing_moves(board: chess.Board) -> Iterator[tuple[bool, bool, chess.Board]]:
    """Whether a zeroing move is a capture, whether it is a promotion, and the board after it."""
    for move in board.legal_moves:
        if board.is_zeroing(move):
            after = board.copy(stack=False)
            after.push(move)
            yield board.is_capture(move), move.promotion is not None, after


def about_to_promote(layout: Layout, phase: int) -> bool:
    whites = layout.white_pawns
    return any(
        square >> 3 == (6 if number < whites else 1) for number, square in enumerate(layout.placements[phase])
    )


@pytest.mark.parametrize(
    "name", ["KPvK", "KNPvKP", *exhaustive(["KPvKP", "KPPvKN", "KRPvKB", "KBPPvK", "KPPvKP", "KPPPvK"])]
)
def test_what_zeroing_moves_reach(name: str) -> None:
    """Promotions reach the blocks named for their phase and its group, all of them and nothing else; captures
    leave fewer men, in blocks that are named; pawn steps reach the phases named."""
    layout = layout_of(Material.parse(name))
    rng = random.Random(name)
    for group in phase_groups(layout):
        needed = set(blocks_after_promotions(layout, group))
        close = [phase for phase in group if about_to_promote(layout, phase)]
        assert bool(close) == bool(needed)
        far = [phase for phase in group if phase not in close]
        for phase in rng.sample(close, min(2, len(close))) + rng.sample(far, min(1, len(far))):
            check_phase(layout, phase, needed, rng)


def check_phase(layout: Layout, phase: int, needed: set[Block], rng: random.Random) -> None:
    named = set(blocks_after_promotions(layout, [phase]))
    assert named <= needed
    reached: dict[int, set[Block]] = {phase: set()}
    to_move: dict[Material, set[int]] = {}
    for number, board in enumerate(random_boards(layout, phase, rng)):
        material, own = block_of(board)
        assert material == layout.material
        # If it is symmetric, the same men stand elsewhere once colours are swapped.
        assert own == phase or material.symmetric
        steps, captures = phases_after_pawn_steps(layout, own), blocks_after_captures(layout, [own])
        for capture, promotion, after in zeroing_moves(board):
            block = block_of(after)
            if capture:
                assert block[0].men == material.men - 1
                assert block[0] in material.successors()
                # With colours swapped, the same men of a symmetric material stand elsewhere.
                assert block in captures or block[0].symmetric, board.fen()
            elif promotion:
                reached.setdefault(own, set()).add(block)
                to_move.setdefault(block[0], set()).add(locate(after).side)
            else:
                assert block[0] == material
                assert block[1] in steps, board.fen()
        if (number >= 60 and reached[phase] == named) or number > 600:
            break
    assert reached[phase] == named
    sides = sides_after_promotion(layout)
    assert all(found <= sides[material] for material, found in to_move.items())
    for own, blocks in reached.items():
        assert blocks <= set(blocks_after_promotions(layout, [own]))


class Expected:
    """What the pool should hold, slot by slot, without the solver's own way to expand tables."""

    def __init__(self, directory: Path, rng: np.random.Generator) -> None:
        self.directory, self.rng = directory, rng
        self.read = cache(self._read)

    def _read(self, material: Material) -> tuple[np.ndarray, np.ndarray]:
        table = plain(self.directory, material.name)
        return table.value, table.depth

    def check(self, loader: PoolLoader, layout: Layout, block: Block, sides: Collection[int]) -> None:
        """Compare some slots of a block with the sides to move that are there."""
        material, phase = block
        target = layout_of(material)
        begin = begin_of(loader, layout, block)
        assert [side for side in (0, 1) if begin[side] >= 0] == sorted(sides), block
        within = self.rng.integers(0, target.phase_size, sample(300, 3000))
        canonical = canonical_slots(target, *squares_of(target, phase * target.phase_size + within))
        arrays: tuple[np.ndarray, np.ndarray] = loader.pool.value, loader.pool.depth
        for stored, pool in zip(self.read(material), arrays, strict=True):
            for side in sides:
                assert np.array_equal(pool[begin[side] + within], stored[side, canonical]), block


def begin_of(loader: PoolLoader, layout: Layout, block: Block) -> np.ndarray:
    """Where a block lies in the pool, by side to move."""
    at = {target.material: number for number, target in enumerate(targets_of(layout).values())}
    found: np.ndarray = loader.pool.targets.start[loader.pool.targets.block_at[at[block[0]]] + block[1]]
    return found


@pytest.mark.parametrize("name", ["KPvKP", *exhaustive(["KPPvK"])])
def test_blocks_come_and_go(name: str, tables: Path) -> None:
    """Tables with fewer men stay; of those with as many, what the group of phases needs is there, no more."""
    layout = layout_of(Material.parse(name))
    expected = Expected(tables, np.random.default_rng(1))
    blocks = [
        (material, phase)
        for material in sorted(
            {target.material for target in targets_of(layout).values()} - {layout.material}
        )
        for phase in range(len(layout_of(material).placements))
    ]
    smaller = [block for block in blocks if block[0].men < layout.material.men]
    groups, after = phase_groups(layout), sides_after_promotion(layout)
    chosen = [
        number for number, group in enumerate(groups) if 0 < len(blocks_after_promotions(layout, group)) < 40
    ]
    with Library(tables, Variant.R_MOBILITY) as library:
        around = library.sub_tables_of(layout.material)
        loader = PoolLoader(layout, around)
        gone: set[Block] = set()
        for number in (*chosen[:3], chosen[-1], len(groups) - 1):
            loader.keep_only(groups[number])
            with ThreadPoolExecutor(2) as pool:
                loader.load_blocks(groups[number], pool.map)
            needed = blocks_after_promotions(layout, groups[number])
            for block in smaller[:: sample(7, 1)]:
                expected.check(loader, layout, block, SIDES)
            for block in needed:
                expected.check(loader, layout, block, after[block[0]])
            for block in {*blocks} - {*needed, *smaller}:
                assert (begin_of(loader, layout, block) == -1).all(), block
            gone |= {*needed}
        assert not needed
        assert len(gone) > 20
        only = blocks_after_captures(layout, [0])
        few = PoolLoader(layout, around, needed_blocks=only)
        for block in smaller:
            if block in only:
                expected.check(few, layout, block, SIDES)
            else:
                assert (begin_of(few, layout, block) == -1).all(), block
        assert 0 < len(only) < len(smaller) // 2


def test_phases_that_pawns_have_passed_leave_the_memory() -> None:
    """What this and later groups of phases can reach by pawn steps stays as it is."""
    layout = layout_of(Material.parse("KRvKP"))
    loader, phases = PoolLoader(layout, {}, needed_blocks=()), range(len(layout.placements))
    shape = len(SIDES), len(phases), layout.phase_size
    own = [array[: 2 * layout.size].reshape(shape) for array in (loader.pool.value, loader.pool.depth)]
    for group in phase_groups(layout):
        for array in own:
            array[:] = 1
        loader.keep_only(group)
        reached = set(group).union(*(phases_after_pawn_steps(layout, each) for each in phases[group[0] :]))
        needed = sorted(reached & {*phases[: group[-1] + 1]})
        for array in own:
            assert array[:, needed].all()
            assert sys.platform != "linux" or not array[:, : needed[0]].any()
