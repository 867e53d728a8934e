"""The materials and pawn placements that zeroing moves lead to; and the interface for finding exits.

A *block* is one phase of one material. Captures and promotions lead to blocks of other materials, other pawn
moves to other blocks of the same material.

An *exit* is the result of the best zeroing move of a position (section 4 of docs/theory.md).
"""

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import numpy as np

from tbgen.board.kinds import KING, PROMOTIONS
from tbgen.board.material import Material
from tbgen.index.layout import MIRROR_FILES, SIDES, Layout, Side, layout_of, swap_colours

CAPTURED_PAWN: Final = 6
"""Number that stands for the capture of a pawn; 0 stands for no capture, 1 + man for that of a free man."""
NO_SQUARE: Final = 64
"""Stands in routes for the square of a frozen man or pawn if none has moved, or none is captured."""
ROUTE_VICTIMS: Final = 33
"""Number of values of a route's victim: 0 for none, and one for each of 32 men."""
PROMOTED: Final = 31
"""Index of the promoted piece among the men after a move; free men keep their indices."""

Block = tuple[Material, int]
"""A phase of a material."""


@functools.cache
def en_passant_configs(layout: Layout) -> np.ndarray:
    """Return int32 (n, 2): phase and target square of every possible en passant capture.

    A pawn may just have made a double step, past a square that an enemy pawn attacks. Rows are in ascending
    order of phase, then square.
    """
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


@dataclass(frozen=True)
class Target:
    """The material that one kind of zeroing move leads to."""

    material: Material
    swapped: bool
    """Whether colours are swapped in its table."""
    source: tuple[int, ...]
    """For each free man of the target, its index among the men before the move; ``PROMOTED`` for the promoted
    piece."""


def targets_of(layout: Layout) -> dict[tuple[int, int, int], Target]:
    """Return the target of every (side, captured man, promotion) of a table, in their order."""
    return {move: _target(layout, *move) for move in _moves(layout)}


def _target(layout: Layout, side: int, captured: int, promotion: int) -> Target:
    men = [(layout.colours[man], layout.kinds[man], man) for man in range(layout.free) if man + 1 != captured]
    kinds, pawns = layout.material.kinds, [layout.white_pawns, layout.black_pawns]
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


def _moves(layout: Layout) -> list[tuple[int, int, int]]:
    """Return every (side, captured man, promotion) that changes the material or moves a pawn."""
    moves, both = [], (layout.white_pawns, layout.black_pawns)
    for side, own_pawns, pawns in ((0, *both), (1, *both[::-1])):
        pieces = [man + 1 for man in range(2, layout.free) if layout.colours[man] != side]
        moves += [(side, man, 0) for man in pieces]
        if pawns:
            moves.append((side, CAPTURED_PAWN, 0))
        if own_pawns:
            moves.append((side, 0, 0))
            # A promotion captures no pawn, since no pawn stands on a last rank.
            moves += [(side, man, kind) for man in [0, *pieces] for kind in PROMOTIONS]
    return moves


_WIDE_PHASE: Final = 1 << 19
"""Number of slots from which on a phase is solved by several threads."""


def is_wide(layout: Layout) -> bool:
    """Return whether all threads work on one phase at a time, rather than each on a phase of its own."""
    return layout.phase_size >= _WIDE_PHASE and not len(en_passant_configs(layout))


def phase_groups(layout: Layout) -> list[list[int]]:
    """Return groups of phases in the order of solving; phases of a group do not depend on each other."""
    steps = [layout.steps_left(placement) for placement in layout.placements]
    return [list(group) for _, group in groupby(range(len(steps)), steps.__getitem__)]


_WINDOW_SLOTS: Final = 1 << 23
"""Maximum number of slots per side to move of a window with several phases."""


def phases_of_window(layout: Layout) -> int:
    """Return the maximum number of phases of a window, whose layers are made together."""
    return 1 if is_wide(layout) else max(1, _WINDOW_SLOTS // layout.phase_size)


def slots_of_window(layout: Layout) -> int:
    """Return the maximum number of slots of a window, for one side to move."""
    return layout.phase_size * min(phases_of_window(layout), max(map(len, phase_groups(layout))))


def phase_of(layout: Layout, pawns: Sequence[int]) -> int | None:
    """Return the phase of pawns or of their mirror image; None if pawns cannot stand on these squares."""
    row = layout.rows.get(layout.placement_of(pawns))
    return layout.rows.get(layout.placement_of(pawns, MIRROR_FILES)) if row is None else row


def reached_by_pawn_steps(layout: Layout, phase: int) -> set[int]:
    """Return the phases of the same material that pawn moves lead to from a phase."""
    found: set[int | None] = set()
    placement = layout.placements[phase]
    for number, square in enumerate(placement):
        step = 8 if number < layout.white_pawns else -8
        for target in (square + step, square + 2 * step):
            if 0 <= target < 64:
                found.add(phase_of(layout, [*placement[:number], target, *placement[number + 1 :]]))
    return {phase for phase in found if phase is not None}


def reached_by_promotion(layout: Layout, phases: Iterable[int]) -> list[Block]:
    """Return the blocks that promotions without captures lead to from the phases."""
    targets = targets_of(layout)
    found = set()
    for phase in phases:
        placement = layout.placements[phase]
        for number, square in enumerate(placement):
            side = 0 if number < layout.white_pawns else 1
            if square >> 3 == (6, 1)[side]:
                rest = [q for other, q in enumerate(placement) if other != number]
                whites = layout.white_pawns - (side == 0)
                found |= {
                    _block(target, rest[:whites], rest[whites:])
                    for (mover, captured, kind), target in targets.items()
                    if mover == side and not captured and kind
                }
    return sorted(found)


def reached_by_captures(layout: Layout, phases: Iterable[int]) -> set[Block]:
    """Return a superset of the blocks that captures lead to from the phases."""
    found: set[Block] = set()
    for phase in phases:
        placement, white = layout.placements[phase], layout.white_pawns
        for (side, captured, kind), target in targets_of(layout).items():
            if captured:
                pawns = [*placement[:white]], [*placement[white:]]
                of_pawn = captured == CAPTURED_PAWN
                for own, others in _after_capture(side, pawns[side], pawns[1 - side], of_pawn, bool(kind)):
                    block = _block_if_any(target, *((others, own) if side else (own, others)))
                    found |= set() if block is None else {block}
    return found


def _after_capture(
    side: int, own: list[int], others: list[int], of_pawn: bool, promoted: bool
) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the possible pawn squares of the capturing side and of the other side after a capture.

    :param of_pawn: whether a pawn is captured.
    """
    step, last_step = (-8, 1) if side else (8, 6)
    for left in [_without(others, pawn) for pawn in others] if of_pawn else [others]:
        if not promoted:
            yield own, left  # a free man captures
        for pawn in own:
            if (pawn >> 3 == last_step) == promoted:
                rest = _without(own, pawn)
                stops = [[]] if promoted else [[pawn + step - 1], [pawn + step + 1]]
                yield from (([*rest, *stop], left) for stop in stops)


def _without(pawns: list[int], removed: int) -> list[int]:
    return [pawn for pawn in pawns if pawn != removed]


def block_slots(block: Block) -> int:
    """Return the number of slots of a block, for one side to move."""
    return layout_of(block[0]).phase_size


def places_of_promoted(layout: Layout, group: Sequence[int], beyond: int) -> dict[tuple[Block, Side], int]:
    """Return the first index in the pool of each block that promotions from a group of phases lead to.

    The keys include the side to move. Blocks use the space of the table's own phases that are solved later;
    blocks that do not fit there are placed from ``beyond`` on.
    """
    to_move = sides_after_promotion(layout)
    places = {}
    free = [side * layout.size + (group[-1] + 1) * layout.phase_size for side in SIDES]
    for block in reached_by_promotion(layout, group):
        slots = block_slots(block)
        for side in sorted(to_move[block[0]]):
            fitting = [own for own in SIDES if free[own] + slots <= (own + 1) * layout.size]
            if fitting:
                places[block, side] = free[fitting[0]]
                free[fitting[0]] += slots
            else:
                places[block, side] = beyond
                beyond += slots
    return places


def sides_after_promotion(layout: Layout) -> dict[Material, set[Side]]:
    """Return the possible sides to move right after a promotion without capture, by the resulting material.

    Sides are those of the material's table.
    """
    found: dict[Material, set[Side]] = {}
    for (mover, captured, kind), target in targets_of(layout).items():
        if kind and not captured:
            found.setdefault(target.material, set()).add(SIDES[(1 - mover) ^ target.swapped])
    return found


@functools.cache
def most_promoted_slots(layout: Layout) -> int:
    """Return the maximum number of slots that blocks of promotions take beyond those of the table itself."""
    own = ends = 2 * layout.size
    for group in phase_groups(layout):
        places = places_of_promoted(layout, group, own)
        ends = max([ends, *(begin + block_slots(block) for (block, _), begin in places.items())])
    return ends - own


def _block(target: Target, white: list[int], black: list[int]) -> Block:
    """Return the block of a target with these remaining pawns."""
    block = _block_if_any(target, white, black)
    assert block is not None
    return block


def _block_if_any(target: Target, white: list[int], black: list[int]) -> Block | None:
    """Return the block of a target with these remaining pawns; None if they cannot stand there."""
    if target.swapped:
        white, black = ([swap_colours(square) for square in squares] for squares in (black, white))
    phase = phase_of(layout_of(target.material), [*white, *black])
    return None if phase is None else (target.material, phase)
