"""Probing many positions of a packed table: the questions of all of them first, in the end what follows."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.compiler.jit import jit
from tbgen.packed.kernels.position import Men, rank_of_position, set_squares
from tbgen.packed.kernels.probe import (
    derived_accrued_of,
    derived_fresh_of,
    stored_accrued_of,
    stored_fresh_of,
)
from tbgen.packed.kernels.questions import (
    DAMAGED,
    Asked,
    Coding,
    Pending,
    Room,
    answer,
    ask,
    ask_children,
    may_zero,
)
from tbgen.packed.kernels.rows import Rows
from tbgen.retro.kernels.bits import Ints


class Batch(NamedTuple):
    """Positions of one side that are looked up together."""

    slot: Ints
    """int64 (n,): canonical slots."""
    accrued: Ints
    """int64 (n,): codes of accrued scores, -1 for none."""
    end: Ints
    """int64 (n,): where the questions of each end."""
    rank: Ints
    """int64 (n,): ranks."""
    zeroing: NDArray[np.bool_]
    """bool (n,): whether there may be a zeroing move."""
    exits: Ints
    """int64 (n, 3): code of the best zeroing move, NONE without one, smallest and greatest depth after it."""
    value: Ints
    """int64 (n,): what was found."""
    depth: Ints
    """int64 (n,): the depth; of an accrued score, where the position's part of what is pending ends."""


@jit
def ask_all(rows: Rows, batch: Batch, asked: Asked, room: Room) -> None:
    """Ask about slots of the stored side, with their functions where a score has accrued."""
    for number in range(len(batch.slot)):
        asked.question[number] = ask(rows, batch.slot[number], batch.accrued[number] >= 0, room)


@jit
def ask_children_of_all(rows: Rows, batch: Batch, asked: Asked, room: Room) -> int:
    """Ask about what quiet moves from slots of the other side lead to; return how many questions that are.

    Fills ``end``, ``rank`` and ``zeroing`` of the batch.
    """
    end, side = 0, 1 - rows.side
    for number in range(len(batch.slot)):
        slot = batch.slot[number]
        end = ask_children(rows, slot, batch.accrued[number], asked, end, room)
        batch.end[number] = end
        batch.zeroing[number] = may_zero(rows, slot, room)
        phase = set_squares(rows, slot, room.squares)
        batch.rank[number] = rank_of_position(rows, Men(room.squares, phase), side)
    return end


@jit
def answer_part(coding: Coding, asked: Asked, order: Ints, first: int, end: int, room: Room) -> None:
    """Answer a part of the questions, as ``answer``; ``order`` is that of rising questions."""
    answer(coding, asked, order, first, end, room)


@jit
def stored_fresh_of_all(coding: Coding, batch: Batch, asked: Asked, room: Room) -> None:
    """Find value and depth of each slot of the stored side, as ``stored_fresh_of``."""
    for number in range(len(batch.slot)):
        found = stored_fresh_of(coding, batch.slot[number], asked, number, room)
        batch.value[number], batch.depth[number] = found


@jit
def stored_accrued_of_all(coding: Coding, batch: Batch, asked: Asked) -> None:
    """Find what the function of each slot of the stored side with an accrued score says, as
    ``stored_accrued_of``."""
    for number in range(len(batch.slot)):
        if batch.accrued[number] >= 0:
            batch.value[number] = stored_accrued_of(coding, batch.accrued[number], asked, number)


@jit
def derived_fresh_of_all(coding: Coding, batch: Batch, asked: Asked) -> None:
    """Find value and depth of each slot of the other side, as ``derived_fresh_of``."""
    first = 0
    for number in range(len(batch.slot)):
        best_exit = batch.exits[number, 0], batch.exits[number, 1], batch.exits[number, 2]
        end = batch.end[number]
        found = derived_fresh_of(coding, batch.rank[number], best_exit, asked, first, end)
        batch.value[number], batch.depth[number] = found
        first = end


@jit
def derived_accrued_of_all(coding: Coding, batch: Batch, asked: Asked, pending: Pending, room: Room) -> int:
    """Find V(P, A) of each slot of the other side with an accrued score, as ``derived_accrued_of``; return
    how much of ``pending``, with room for all their questions, is filled."""
    first, filled = 0, 0
    for number in range(len(batch.slot)):
        part = first, batch.end[number]
        batch.value[number] = DAMAGED
        if batch.accrued[number] >= 0:
            batch.value[number], filled = derived_accrued_of(
                coding, batch.accrued[number], batch.exits[number, 0], asked, part, pending, filled, room
            )
        batch.depth[number] = filled
        first = part[1]
    return filled
