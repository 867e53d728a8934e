"""Probing a packed table: what follows from what its blocks say, for one position of either side."""

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.index.table import FRESH
from tbgen.packed.kernels.blocks import CAPTURE, SELF
from tbgen.packed.kernels.position import Men, rank_of_position, set_squares
from tbgen.packed.kernels.questions import (
    DAMAGED,
    Asked,
    Coding,
    Pending,
    Room,
    answer,
    ask,
    ask_children,
    slot_of,
)
from tbgen.packed.kernels.rule import conclude, merit, own_score, rank_of_code, weigh

UNSTORED = -2
"""In the place of a value: the best capture gives it."""


@inlined
def _fresh(coding: Coding, asked: Asked, at: int, rank: int) -> tuple[int, int]:
    """Value and depth of a position of this rank; UNSTORED and the code of its own score if its captures have
    to be looked up; DAMAGED."""
    symbol, side = int64(asked.symbol[at]), coding.rows.side
    if symbol == CAPTURE:
        return UNSTORED, own_score(side, rank)
    if symbol == SELF:
        return own_score(side, rank), 0
    if symbol < 0 or symbol >= len(coding.symbols.code):
        return DAMAGED, 0
    code = int(coding.symbols.code[symbol])
    return code, 2 * int(asked.half[at]) + ((code > NONE) == (side == 1))


@inlined
def _of_function(coding: Coding, function: int, accrued: int) -> int:
    """What a function says of an accrued score: a code, NONE for the score itself, FRESH for W."""
    if function + 1 >= len(coding.entry_start):
        return DAMAGED
    found, white = int64(NONE), accrued < NONE
    for entry in range(coding.entry_start[function], coding.entry_start[function + 1]):
        begin = int(coding.entry_accrued[entry])
        if (begin < NONE) == white and rank_of_code(begin) <= rank_of_code(accrued):
            found = int(coding.entry_value[entry])
    return found


@kernel
def stored_fresh_of(coding: Coding, slot: int, asked: Asked, at: int, room: Room) -> tuple[int, int]:
    """W and D of a canonical slot of the stored side from the answer ``at``; UNSTORED and the code of its own
    score if its captures have to be looked up; DAMAGED."""
    rank = 0
    if 0 <= asked.symbol[at] <= CAPTURE:
        phase = set_squares(coding.rows, slot, room.squares)
        rank = rank_of_position(coding.rows, Men(room.squares, phase), coding.rows.side)
    return _fresh(coding, asked, at, rank)


@kernel
def stored_accrued_of(coding: Coding, accrued: int, asked: Asked, at: int) -> int:
    """What the function of the answer ``at`` says of an accrued score: a code, NONE for the score itself,
    FRESH for W; or DAMAGED."""
    if asked.symbol[at] == DAMAGED:
        return DAMAGED
    return _of_function(coding, int64(asked.function[at]), accrued)


@kernel
def derived_fresh_of(
    coding: Coding, rank: int, best_exit: tuple[int, int, int], asked: Asked, first: int, end: int
) -> tuple[int, int]:
    """W and D of a position of the side that is not stored, exceptions aside; value DAMAGED.

    The rule is that of ``tbgen.packed.kernels.rule``.

    :param rank: that of the position; what quiet moves lead to are the answers from ``first`` to ``end`` - 1.
    :param best_exit: the code of the best zeroing move, NONE without one, and the smallest and the greatest
        depth that it leads to.
    """
    side = 1 - coding.rows.side
    own = own_score(side, rank)
    if rank < 2:
        return own, 0
    best, uncounted = (-1, 0, 0), False
    if best_exit[0] != NONE:
        best = merit(side, best_exit[0]), best_exit[1], best_exit[2]
    for at in range(first, end):
        after = int64(asked.rank[at])
        code, depth = _fresh(coding, asked, at, after)
        if code == DAMAGED:
            return DAMAGED, 0
        if code == UNSTORED:
            continue
        if after >= rank and rank_of_code(code) >= rank:
            uncounted = True
            continue
        best = weigh(best, merit(side, code), depth)
    return conclude(side, own, best, uncounted)


@jit
def inherited(accrued: int, said: int, fresh: int) -> int:
    """V(Q, A) of a position with the fresh value ``fresh`` whose function says ``said`` of A."""
    if rank_of_code(fresh) < rank_of_code(accrued) or said == FRESH:
        return fresh
    return accrued if said == NONE else said


@kernel
def derived_accrued_of(
    coding: Coding,
    accrued: int,
    exit_value: int,
    asked: Asked,
    part: tuple[int, int],
    pending: Pending,
    filled: int,
    room: Room,
) -> tuple[int, int]:
    """V(P, A) of a position of the side that is not stored, as far as the best zeroing move and quiet moves
    to stored values say, NONE if they say nothing; or DAMAGED.

    Also the new end of what is ``filled`` of ``pending``: for each of these, with the best of its captures as
    W, ``inherited`` of what was said counts too.

    :param part: what quiet moves lead to are the answers from ``part[0]`` to ``part[1]`` - 1.
    """
    rows, side, best = coding.rows, 1 - coding.rows.side, -1
    if exit_value != NONE:
        best = merit(side, exit_value)
    for at in range(part[0], part[1]):
        fresh, _ = _fresh(coding, asked, at, int64(asked.rank[at]))
        said = FRESH
        if asked.question[at] & 1:
            said = _of_function(coding, int64(asked.function[at]), accrued)
        if fresh == DAMAGED or said == DAMAGED:
            return DAMAGED, filled
        if fresh == UNSTORED:
            pending.slot[filled] = slot_of(rows, asked.question[at], room.child)
            pending.said[filled] = said
            filled += 1
        else:
            best = max(best, merit(side, inherited(accrued, said, fresh)))
    return (NONE if best < 0 else merit(side, best)), filled


@jit
def stored_fresh(coding: Coding, slot: int, room: Room) -> tuple[int, int]:
    """W and D of a canonical slot of the stored side, as ``stored_fresh_of``."""
    room.asked.question[0] = ask(coding.rows, slot, False, room)
    answer(coding, room.asked, room.order, 0, 1, room)
    return stored_fresh_of(coding, slot, room.asked, 0, room)


@jit
def stored_accrued(coding: Coding, slot: int, accrued: int, room: Room) -> int:
    """What the function of a canonical slot of the stored side says, as ``stored_accrued_of``."""
    room.asked.question[0] = ask(coding.rows, slot, True, room)
    answer(coding, room.asked, room.order, 0, 1, room)
    return stored_accrued_of(coding, accrued, room.asked, 0)


@jit
def derived_fresh(
    coding: Coding, slot: int, exit_value: int, nearest: int, farthest: int, room: Room
) -> tuple[int, int]:
    """W and D of a canonical slot of the side that is not stored, as ``derived_fresh_of``."""
    end = ask_children(coding.rows, slot, -1, room.asked, 0, room)
    phase, side = set_squares(coding.rows, slot, room.squares), 1 - coding.rows.side
    rank = rank_of_position(coding.rows, Men(room.squares, phase), side)
    answer(coding, room.asked, room.order, 0, end, room)
    return derived_fresh_of(coding, rank, (exit_value, nearest, farthest), room.asked, 0, end)


@jit
def derived_accrued(coding: Coding, slot: int, accrued: int, exit_value: int, room: Room) -> tuple[int, int]:
    """V(P, A) of a canonical slot of the side that is not stored, as ``derived_accrued_of``, and how much of
    ``room.pending`` is filled."""
    end = ask_children(coding.rows, slot, accrued, room.asked, 0, room)
    answer(coding, room.asked, room.order, 0, end, room)
    return derived_accrued_of(coding, accrued, exit_value, room.asked, (0, end), room.pending, 0, room)
