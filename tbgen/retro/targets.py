"""Where zeroing moves lead: blocks of the materials reached, laid side by side in one pool of arrays.

A *block* is one phase of one material, White to move and Black to move. The pool starts with the table being
solved (pawn moves stay in it), then its en passant positions, then blocks of the successors. Every slot of a
block that stands for a legal position has its value, canonical or not.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tbgen.accelerate import inlined, kernel
from tbgen.index.layout import PIECE_ORDER, Layout, layout_of
from tbgen.index.symmetry import IMAGE, MIRROR_FILES
from tbgen.material import Material
from tbgen.retro.bits import ONE, image, lowest
from tbgen.retro.geometry import IMAGES, SYMMETRY_OF, TRIANGLE_OF

CAPTURED_PAWN = np.int64(6)
"""Row of ``Targets.number`` for the capture of a pawn; row 0 is no capture, row 1 + man that of a free
man."""
PROMOTED = 5
"""Place of the promoted piece among the men after a move; free men keep theirs."""
VARIABLE = -1
"""Square of the one man after a move whose square is the bit of the word."""


class Targets(NamedTuple):
    """The pool's directory; every array's first axis is the target's number."""

    number: np.ndarray
    """int64 (2, 7, 5): target of a move by (side, captured man, promotion: 0 none, else kind)."""
    swapped: np.ndarray
    """int64: 1 where colours are swapped in the target."""
    free: np.ndarray
    """int64: number of free men."""
    source: np.ndarray
    """int64 (targets, 5): which man after the move each free man of the target is."""
    pawns: np.ndarray
    """int64: number of pawns."""
    phase_size: np.ndarray
    block_at: np.ndarray
    """int64: where the target's blocks, one per phase, start in ``begin``."""
    begin: np.ndarray
    """int64 (blocks, 2): start of a block in the pool by the side to move there; -1 where the block
    is not in the pool."""
    rows_at: np.ndarray
    """int64: start of the target's pawn placements in ``rows``."""
    rows: np.ndarray
    """int32: twice the phase, plus one if mirrored, of pawn squares read as digits in base 64."""
    ep_row: np.ndarray
    """int32 (phases, 16): en passant configuration by phase and file of the capturable pawn, Black's files
    from 8; -1 where there is none."""
    ep_offset: int


def _placement_rows(layout: Layout) -> np.ndarray:
    rows = np.full(64**layout.pawns, -1, np.int32)
    for symmetry in (MIRROR_FILES, 0):
        for placement, row in layout.rows.items():
            moved = [IMAGE[symmetry][square] for square in placement]
            key = 0
            for square in sorted(moved[: layout.white_pawns]) + sorted(moved[layout.white_pawns :]):
                key = key * 64 + square
            rows[key] = 2 * row + symmetry
    return rows


@functools.cache
def en_passant_configs(layout: Layout) -> np.ndarray:
    """Return int32 (n, 2): (phase, en passant square) wherever a pawn may just have made a double step past a
    square that an enemy pawn attacks, in the order of phases, then squares."""
    configs = []
    for phase, placement in enumerate(layout.placements):
        white, black = set(placement[: layout.white_pawns]), set(placement[layout.white_pawns :])
        for movers, others, home, step in ((white, black, 8, 8), (black, white, 48, -8)):
            for file in range(8):
                start, passed, stop = home + file, home + file + step, home + file + 2 * step
                beside = {stop + side for side in (-1, 1) if 0 <= file + side < 8}
                if stop in movers and others & beside and not {start, passed} & (white | black):
                    configs.append((phase, passed))
    return np.array(sorted(configs), np.int32).reshape(-1, 2)


def _men_after(layout: Layout, captured: int, promotion: int, side: int) -> tuple[str, str, list[int]]:
    """Men of each colour after a move, and where each free man (by colour and kind) is found."""
    men = [(layout.colours[man], layout.kinds[man], man) for man in range(layout.free) if man + 1 != captured]
    pawns = [layout.white_pawns, layout.black_pawns]
    if captured == CAPTURED_PAWN:
        pawns[1 - side] -= 1
    if promotion:
        pawns[side] -= 1
        men.append((side, promotion, PROMOTED))
    men.sort(key=lambda man: (man[1] != 0, man[0], man[1]))
    names = tuple(
        "".join(PIECE_ORDER[kind] for _, kind, _ in sorted(m for m in men if m[0] == colour))
        + "P" * pawns[colour]
        for colour in (0, 1)
    )
    return names[0], names[1], [man for _, _, man in men]


def _moves(layout: Layout) -> list[tuple[int, int, int]]:
    """Every (side, captured, promotion) that changes the material or moves a pawn."""
    moves = []
    for side in (0, 1):
        own_pawns = (layout.white_pawns, layout.black_pawns)[side]
        pieces = [man + 1 for man in range(2, layout.free) if layout.colours[man] != side]
        moves += [(side, man, 0) for man in pieces]
        if (layout.white_pawns, layout.black_pawns)[1 - side]:
            moves.append((side, int(CAPTURED_PAWN), 0))
        if own_pawns:
            moves.append((side, 0, 0))
            # No pawn stands on a last rank to be captured there.
            moves += [(side, man, kind) for man in [0, *pieces] for kind in range(1, 5)]
    return moves


class Pool(NamedTuple):
    """Values and depths of all targets, with their directory."""

    value: np.ndarray
    """uint8 codes."""
    depth: np.ndarray
    """uint16 plies."""
    targets: Targets


@dataclass(frozen=True)
class Target:
    """Where one kind of zeroing move leads."""

    material: Material
    swapped: bool
    """Whether colours are swapped there."""


def targets_of(layout: Layout) -> dict[tuple[int, int, int], Target]:
    """Return the target of every (side, captured man, promotion) of a table, in the order of their
    numbers."""
    found = {}
    for side, captured, promotion in _moves(layout):
        white, black, _ = _men_after(layout, captured, promotion, side)
        found[side, captured, promotion] = Target(*Material.of_sides(white, black))
    return found


def make_directory(layout: Layout, block_at: Mapping[Material, int], blocks: int) -> Targets:
    """Return the directory of a table's targets, its own blocks and en passant positions in place.

    ``block_at`` says where the blocks of every material begin among all ``blocks``.
    """
    configs = en_passant_configs(layout)
    number = np.full((2, 7, 5), -1, np.int64)
    free, source, found = [], [], targets_of(layout)
    for place, ((side, captured, promotion), target) in enumerate(found.items()):
        number[side, captured, promotion] = place
        _, _, men = _men_after(layout, captured, promotion, side)
        if target.swapped:
            men = [men[1], men[0], *_swap_pieces(men[2:], layout, side)]
        free.append(len(men))
        source.append(men + [0] * (5 - len(men)))
    layouts = [layout_of(target.material) for target in found.values()]
    rows_of: dict[tuple[int, int], int] = {}
    rows: list[np.ndarray] = [np.zeros(1, np.int32)]
    rows_at, end = [], 1
    for target_layout in layouts:
        key = (target_layout.white_pawns, target_layout.black_pawns)
        if target_layout.pawns and key not in rows_of:
            rows_of[key] = end
            rows.append(_placement_rows(target_layout))
            end += len(rows[-1])
        rows_at.append(rows_of.get(key, 0))
    begin = np.full((blocks, 2), -1, np.int64)
    own = np.arange(len(layout.placements)) * layout.phase_size
    begin[: len(own)] = np.column_stack([own, layout.size + own])
    ep_row = np.full((len(layout.placements), 16), -1, np.int32)
    for row, (phase, square) in enumerate(configs):
        ep_row[phase, square % 8 + (8 if square > 31 else 0)] = row
    return Targets(
        number,
        np.array([target.swapped for target in found.values()], np.int64),
        np.array(free, np.int64),
        np.array(source, np.int64).reshape(-1, 5),
        np.array([target_layout.pawns for target_layout in layouts], np.int64),
        np.array([target_layout.phase_size for target_layout in layouts], np.int64),
        np.array([block_at[target.material] for target in found.values()], np.int64),
        begin,
        np.array(rows_at, np.int64),
        np.concatenate(rows),
        ep_row,
        2 * layout.size,
    )


def _swap_pieces(men: list[int], layout: Layout, side: int) -> list[int]:
    """Reorder the pieces (kings apart) of a swapped target: Black's come first."""

    def is_black(man: int) -> bool:
        return (side if man == PROMOTED else layout.colours[man]) == 1

    return [man for man in men if is_black(man)] + [man for man in men if not is_black(man)]


@inlined
def pawn_row(tg, target, pawns):
    """Twice the phase, plus one if mirrored, of the pawns ``pawns`` (uint64 (2,)) in a target with pawns."""
    key = 0
    for colour in range(2):
        own = pawns[colour]
        if tg.swapped[target]:
            own = image(pawns[1 - colour], 2)
        while own:
            key = key * 64 + lowest(own)
            own &= own - ONE
    return tg.rows[tg.rows_at[target] + key]


@inlined
def _slot(squares, free, symmetry, pawnless):
    """Slot within a phase; a man on a negative square counts as 0."""
    slot = 0
    for man in range(free):
        slot <<= 6
        if squares[man] >= 0:
            if man == 0 and pawnless:
                slot |= TRIANGLE_OF[squares[0]]
            else:
                slot |= IMAGES[symmetry, squares[man]]
    return slot


@kernel
def slots_after(tg, target, side, men, pawns, scratch):
    """Return (base, step, symmetry, lead) for the slots in the pool of the positions after a move of
    ``side``.

    ``men`` (int64 (6,)) are the squares after the move, at most one of them ``VARIABLE``; the position with
    that man on ``b`` has slot ``base + (IMAGES[symmetry, b] << step)``; step is -1 if no man is variable.
    ``lead`` is set if the variable man is the king that fixes the symmetry: then the slot must be asked for
    each of its squares in turn.
    """
    pawnless = tg.pawns[target] == 0
    free = tg.free[target]
    flip = 56 if tg.swapped[target] else 0
    step = -1
    for man in range(free):
        square = men[tg.source[target, man]]
        if square == VARIABLE:
            step = 6 * (free - 1 - man)
            scratch[man] = VARIABLE
        else:
            scratch[man] = square ^ flip
    block = tg.block_at[target]
    if pawnless:
        symmetry = 0 if scratch[0] == VARIABLE else SYMMETRY_OF[scratch[0]]
    else:
        row = pawn_row(tg, target, pawns)
        block += row >> 1
        symmetry = row & 1
    base = tg.begin[block, (1 - side) ^ tg.swapped[target]]
    if pawnless and scratch[0] == VARIABLE:
        return base, step, 0, True
    base += _slot(scratch, free, symmetry, pawnless)
    if flip:
        symmetry ^= 2
    return base, step, symmetry, False
