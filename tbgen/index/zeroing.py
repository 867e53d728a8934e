"""The materials and pawn placements that zeroing moves (captures and pawn moves) lead to.

A phase is all positions of a material with one pawn placement, and a *block* is one phase of one material.
Captures and promotions lead to blocks of other materials. Other pawn moves lead to other blocks of the same
material.
"""

import functools
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import numpy as np

from tbgen.board.kinds import KING, PROMOTIONS
from tbgen.board.material import MAX_MEN, Material
from tbgen.index.layout import MIRROR_FILES, SIDES, TOUCHING_PAIRS, Layout, Side, layout_of, mirror_rank

CAPTURED_PAWN: Final = MAX_MEN + 1
"""Number of a captured pawn. The captured free man i has the number 1 + i. Without a capture, the number is
0."""
NO_SQUARE: Final = 64
"""Used in routes (docs/glossary.md) in place of a square if no frozen man or pawn is moved or captured."""
ROUTE_VICTIMS: Final = 33
"""Number of values for the victim of a route: 0 for no victim, and one value for each of 32 men."""
PROMOTED: Final = 31
"""Index of the promoted piece among the men after a move; free men keep their indices."""

Block = tuple[Material, int]
"""A phase of a material."""

_MIN_SHARED_SLOTS: Final = 1 << 19
"""Minimum number of slots of a phase that several threads solve together."""

_MAX_BATCH_SLOTS: Final = 1 << 23
"""Maximum number of slots, for one side to move, of a batch with several phases.

A batch is a set of phases whose layers (docs/glossary.md) are made together."""

_LONGEST_STEP: Final = 2
"""Greatest number of ranks by which a pawn moves."""


@functools.cache
def en_passant_configs(layout: Layout) -> np.ndarray:
    """Return int32 (n, 2): phase and target square of every possible en passant capture.

    A capture is possible if a pawn could just have made a double step past a square that an enemy pawn
    attacks. Rows are in ascending order of phase, then of square.
    """
    configs = []
    for phase, placement in enumerate(layout.placements):
        white, black = set(placement[: layout.white_pawns]), set(placement[layout.white_pawns :])
        for movers, enemies, base, step in ((white, black, 8, 8), (black, white, 48, -8)):
            for file in range(8):
                start = base + file
                ep_square = base + file + step
                stop = base + file + 2 * step
                neighbours = {stop + side for side in (-1, 1) if 0 <= file + side < 8}
                if stop in movers and enemies & neighbours and not {start, ep_square} & (white | black):
                    configs.append((phase, ep_square))
    return np.array(sorted(configs), np.int32).reshape(-1, 2)


@dataclass(frozen=True)
class Target:
    """The material that one kind of zeroing move leads to."""

    material: Material
    swapped: bool
    """Whether the table of the material swaps the colours."""
    source: tuple[int, ...]
    """Index of each free man of the target among the men before the move.

    The index of the promoted piece is ``PROMOTED``."""


def targets_of(layout: Layout) -> dict[tuple[int, int, int], Target]:
    """Return the target of each kind of zeroing move, (side, captured man, promotion), in a fixed order."""
    return {move: _target_of(layout, *move) for move in _move_keys(layout)}


def _target_of(layout: Layout, side: int, captured: int, promotion: int) -> Target:
    men = [(layout.colours[i], layout.kinds[i], i) for i in range(layout.free_count) if i + 1 != captured]
    kinds = layout.material.kinds
    pawns = [layout.white_pawns, layout.black_pawns]
    if captured == CAPTURED_PAWN:
        pawns[1 - side] -= 1
    if promotion:
        pawns[side] -= 1
        men.append((side, promotion, PROMOTED))
    white, black = (
        "".join(kinds[kind].name for kind in sorted(kind for owner, kind, _ in men if owner == colour))
        + "P" * pawns[colour]
        for colour in SIDES
    )
    material, swapped = Material.of_sides(white, black)
    men.sort(key=lambda man: (man[1] != KING, man[0] ^ swapped, man[1]))
    return Target(material, swapped, tuple(man for *_, man in men))


def _move_keys(layout: Layout) -> list[tuple[int, int, int]]:
    """Return every (side, captured man, promotion) that changes the material or moves a pawn.

    The promotion is the kind number of the promoted piece, 0 without a promotion.
    """
    move_keys = []
    pawn_counts = (layout.white_pawns, layout.black_pawns)
    for side, own_pawns, enemy_pawns in ((0, *pawn_counts), (1, *pawn_counts[::-1])):
        pieces = [man + 1 for man in range(2, layout.free_count) if layout.colours[man] != side]
        move_keys += [(side, man, 0) for man in pieces]
        if enemy_pawns:
            move_keys.append((side, CAPTURED_PAWN, 0))
        if own_pawns:
            move_keys.append((side, 0, 0))
            # A promotion captures no pawn, because no pawn is on a last rank.
            move_keys += [(side, man, kind) for man in [0, *pieces] for kind in PROMOTIONS]
    return move_keys


def threads_share_phase(layout: Layout) -> bool:
    """Return whether all threads work on one phase at a time, instead of each thread on its own phase."""
    return layout.phase_size >= _MIN_SHARED_SLOTS and not len(en_passant_configs(layout))


def phase_groups(layout: Layout) -> list[list[int]]:
    """Return groups of phases in the order of solving; the phases of a group do not depend on each other."""
    steps = [layout.steps_left(placement) for placement in layout.placements]
    return [list(group) for _, group in groupby(range(len(steps)), steps.__getitem__)]


def max_phases_of_batch(layout: Layout) -> int:
    """Return the maximum number of phases in a batch."""
    return 1 if threads_share_phase(layout) else max(1, _MAX_BATCH_SLOTS // layout.phase_size)


def batches_of(layout: Layout) -> list[tuple[int, int]]:
    """Return the batches that cover all phases in the order of solving, each as a range of phases."""
    step = max_phases_of_batch(layout)
    return [
        (start, min(start + step, group[-1] + 1)) for group in phase_groups(layout) for start in group[::step]
    ]


def max_slots_of_batch(layout: Layout) -> int:
    """Return the maximum number of slots in a batch, for one side to move."""
    return layout.phase_size * min(max_phases_of_batch(layout), max(map(len, phase_groups(layout))))


def phase_of(layout: Layout, pawns: Sequence[int]) -> int | None:
    """Return the phase of pawns on these squares or on their mirror images; None if pawns cannot be there."""
    phase = layout.phase_by_placement.get(layout.placement_of(pawns))
    return layout.phase_by_placement.get(layout.placement_of(pawns, MIRROR_FILES)) if phase is None else phase


def phases_after_pawn_steps(layout: Layout, phase: int) -> set[int]:
    """Return the phases of the same material that can be reached from a phase by a pawn move."""
    phases: set[int | None] = set()
    placement = layout.placements[phase]
    for index, square in enumerate(placement):
        step = 8 if index < layout.white_pawns else -8
        for target in (square + step, square + 2 * step):
            if 0 <= target < 64:
                phases.add(phase_of(layout, [*placement[:index], target, *placement[index + 1 :]]))
    return {phase for phase in phases if phase is not None}


def blocks_after_promotions(layout: Layout, phases: Iterable[int]) -> list[Block]:
    """Return the blocks that can be reached from the given phases by promotions without captures."""
    targets = targets_of(layout)
    blocks = set()
    for phase in phases:
        placement = layout.placements[phase]
        for index, square in enumerate(placement):
            side = 0 if index < layout.white_pawns else 1
            if square >> 3 == (6, 1)[side]:
                remaining_pawns = [q for other, q in enumerate(placement) if other != index]
                white_pawns = layout.white_pawns - (side == 0)
                blocks |= {
                    _block(target, remaining_pawns[:white_pawns], remaining_pawns[white_pawns:])
                    for (mover, captured, kind), target in targets.items()
                    if mover == side and not captured and kind
                }
    return sorted(blocks)


def blocks_after_captures(layout: Layout, phases: Iterable[int]) -> set[Block]:
    """Return a superset of the blocks that can be reached from the given phases by captures."""
    blocks: set[Block] = set()
    for phase in phases:
        placement = layout.placements[phase]
        white = layout.white_pawns
        for (side, captured, kind), target in targets_of(layout).items():
            if captured:
                pawns = [*placement[:white]], [*placement[white:]]
                takes_pawn = captured == CAPTURED_PAWN
                for own, others in _pawns_after(side, pawns[side], pawns[1 - side], takes_pawn, bool(kind)):
                    block = _block_if_any(target, *((others, own) if side else (own, others)))
                    blocks |= set() if block is None else {block}
    return blocks


def _pawns_after(
    side: int, own: list[int], enemies: list[int], takes_pawn: bool, promotes: bool
) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the possible pawn squares after a capture: the capturing side's, then the other side's.

    :param takes_pawn: whether a pawn is captured.
    """
    step, seventh_rank = (-8, 1) if side else (8, 6)
    for remaining_pawns in [_remove_pawn(enemies, pawn) for pawn in enemies] if takes_pawn else [enemies]:
        if not promotes:
            yield own, remaining_pawns  # a free man captures
        for pawn in own:
            if (pawn >> 3 == seventh_rank) == promotes:
                unmoved_pawns = _remove_pawn(own, pawn)
                stops = [[]] if promotes else [[pawn + step - 1], [pawn + step + 1]]
                yield from (([*unmoved_pawns, *stop], remaining_pawns) for stop in stops)


def _remove_pawn(pawns: list[int], square: int) -> list[int]:
    return [pawn for pawn in pawns if pawn != square]


def block_slots(block: Block) -> int:
    """Return the number of slots of a block, for one side to move."""
    return layout_of(block[0]).phase_size


def promotion_places(
    layout: Layout, group: Sequence[int], overflow: int, movers: Collection[Side] = SIDES
) -> dict[tuple[Block, Side], int]:
    """Return the first pool index of each block that promotions by ``movers`` from a group of phases lead to.

    The pool stores the fresh values and depths of positions after zeroing moves. The side to move is part of
    the dictionary's keys. Blocks use the space of the table's own phases that are solved later. Blocks that
    do not fit there begin at index ``overflow``, one after another.
    """
    sides_to_move = sides_after_promotion(layout, movers)
    begin_of_block = {}
    next_free = [side * layout.size + (group[-1] + 1) * layout.phase_size for side in SIDES]
    for block in blocks_after_promotions(layout, group):
        slots = block_slots(block)
        for side in sorted(sides_to_move.get(block[0], ())):
            fitting_sides = [own for own in SIDES if next_free[own] + slots <= (own + 1) * layout.size]
            if fitting_sides:
                begin_of_block[block, side] = next_free[fitting_sides[0]]
                next_free[fitting_sides[0]] += slots
            else:
                begin_of_block[block, side] = overflow
                overflow += slots
    return begin_of_block


def sides_after_promotion(layout: Layout, movers: Collection[Side] = SIDES) -> dict[Material, set[Side]]:
    """Return, for each resulting material, the possible sides to move after a promotion by ``movers`` without
    capture.

    Sides are numbered as in the table of the resulting material.
    """
    sides_by_material: dict[Material, set[Side]] = {}
    for (mover, captured, kind), target in targets_of(layout).items():
        if kind and not captured and mover in movers:
            sides_by_material.setdefault(target.material, set()).add(SIDES[(1 - mover) ^ target.swapped])
    return sides_by_material


def first_needed_phase(layout: Layout, group: Sequence[int]) -> int:
    """Return the first phase that is in a group or can be reached by a pawn move from this or a later
    group."""
    steps = [layout.steps_left(placement) for placement in layout.placements[: group[0] + 1]]
    return bisect_left(steps, steps[-1] - _LONGEST_STEP)


def used_slots(block: Block) -> int:
    """Return the number of slots of a block after promotions, for one side to move, that moves lead to.

    No promotion leads to slots with kings on neighbouring squares. In tables without pawns these slots are
    together.
    """
    pairs = 64 * layout_of(block[0]).king_coords
    return block_slots(block) // pairs * (pairs - (0 if block[0].pawns else len(TOUCHING_PAIRS)))


@functools.cache
def max_solving_slots(layout: Layout) -> int:
    """Return the maximum number of slots that are in use while a group of phases is solved: those of the
    group, and of the phases and the blocks after promotions that are needed for it."""
    slots = 0
    for group in phase_groups(layout):
        phases = group[-1] + 1 - first_needed_phase(layout, group)
        promoted = sum(used_slots(block) for block, _ in promotion_places(layout, group, 0))
        slots = max(slots, len(SIDES) * phases * layout.slots_to_solve + promoted)
    return slots


@functools.cache
def max_overflow_slots(layout: Layout) -> int:
    """Return the maximum number of slots that blocks after promotions need beyond the table's own slots."""
    own_slots = pool_end = 2 * layout.size
    for group in phase_groups(layout):
        begin_of_block = promotion_places(layout, group, own_slots)
        pool_end = max(
            [pool_end, *(begin + block_slots(block) for (block, _), begin in begin_of_block.items())]
        )
    return pool_end - own_slots


def _block(target: Target, white: list[int], black: list[int]) -> Block:
    """Return the block of a target with pawns on the squares ``white`` and ``black``."""
    block = _block_if_any(target, white, black)
    assert block is not None
    return block


def _block_if_any(target: Target, white: list[int], black: list[int]) -> Block | None:
    """Return the block of a target with pawns on the squares ``white`` and ``black``; None if pawns cannot be
    there."""
    if target.swapped:
        white, black = ([mirror_rank(square) for square in squares] for squares in (black, white))
    phase = phase_of(layout_of(target.material), [*white, *black])
    return None if phase is None else (target.material, phase)
