"""Probing a packed table: what follows for positions of either side from what its blocks say."""

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.index.table import FRESH
from tbgen.packed.kernels.blocks import CAPTURE, SELF, Coding, Room
from tbgen.packed.kernels.questions import DAMAGED, Batch, slot_of
from tbgen.packed.kernels.rule import conclude, depth_of_half, merit, own_score, rank_of_code, weigh

UNSTORED = -2
"""In the place of a value: the best capture gives it."""


@inlined
def _stored(coding: Coding, batch: Batch, at: int, filled: bool, room: Room) -> tuple[int, int]:
    """Value and depth of a position of the stored side from the answer ``at``; value DAMAGED, or UNSTORED
    where its best capture is to be looked up: then the question's ``target`` is set."""
    symbol, side = int64(batch.symbol[at]), coding.rows.side
    own = own_score(side, int64(batch.after[at]))
    if symbol == SELF:
        return own, 0
    if symbol == CAPTURE:
        if not filled:
            batch.target[at] = slot_of(coding.rows, batch.question[at], room.child)
            return UNSTORED, 0
        best = batch.capture[at, 0]
        if best == DAMAGED:
            return DAMAGED, 0
        return conclude(side, own, (merit(side, best), batch.capture[at, 1], batch.capture[at, 2]), False)
    if symbol < 0 or symbol >= len(coding.code):
        return DAMAGED, 0
    code = int(coding.code[symbol])
    return code, depth_of_half(side, code, int(batch.half[at]))


@inlined
def _of_function(coding: Coding, batch: Batch, at: int, accrued: int) -> int:
    """What the function of the answer ``at`` says of an accrued score: V(P, A), FRESH for W, or DAMAGED."""
    function = int64(batch.function[at])
    if batch.symbol[at] == DAMAGED or function + 1 >= len(coding.entry_start):
        return DAMAGED
    found, white = int64(NONE), accrued < NONE
    for entry in range(coding.entry_start[function], coding.entry_start[function + 1]):
        begin = int(coding.entry_accrued[entry])
        if (begin < NONE) == white and rank_of_code(begin) <= rank_of_code(accrued):
            found = int(coding.entry_value[entry])
    return accrued if found == NONE else found


@inlined
def _derived(coding: Coding, batch: Batch, number: int, room: Room) -> tuple[int, int]:
    """W and D of a position of the side that is not stored, exceptions aside, by the rule of
    ``tbgen.packed.kernels.rule``; value DAMAGED."""
    side, rank = 1 - coding.rows.side, batch.rank[number]
    own, best_exit = own_score(side, rank), batch.exits[number, 0]
    if best_exit == DAMAGED:
        return DAMAGED, 0
    if rank < 2:
        return own, 0
    best, uncounted = (-1, 0, 0), False
    if best_exit != NONE:
        best = merit(side, best_exit), batch.exits[number, 1], batch.exits[number, 2]
    for at in range(batch.begin[number], batch.end[number]):
        if batch.symbol[at] == CAPTURE:
            continue
        code, depth = _stored(coding, batch, at, True, room)
        if code == DAMAGED:
            return DAMAGED, 0
        if batch.after[at] >= rank and rank_of_code(code) >= rank:
            uncounted = True
            continue
        best = weigh(best, merit(side, code), depth)
    return conclude(side, own, best, uncounted)


@inlined
def _inherited(coding: Coding, batch: Batch, number: int, filled: bool, room: Room) -> int:
    """V(P, A) of a position of the side that is not stored; DAMAGED, or UNSTORED until captures of positions
    after its moves have been looked up."""
    side, accrued, best, complete = 1 - coding.rows.side, batch.accrued[number], -1, True
    if batch.exits[number, 0] != NONE:
        best = merit(side, batch.exits[number, 0])
    for at in range(batch.begin[number], batch.end[number]):
        fresh, _ = _stored(coding, batch, at, filled, room)
        said = _of_function(coding, batch, at, accrued) if batch.question[at] & 1 else int64(FRESH)
        if fresh == DAMAGED or said == DAMAGED:
            return DAMAGED
        if fresh == UNSTORED:
            complete = False
        else:
            alone = said == FRESH or rank_of_code(fresh) < rank_of_code(accrued)
            best = max(best, merit(side, fresh if alone else said))
    return merit(side, best) if complete else UNSTORED


@kernel
def follow(coding: Coding, batch: Batch, filled: bool, room: Room) -> None:
    """Find what follows for a batch from the answers to its questions, and from ``capture`` if that is
    ``filled``; else set the ``target`` of those whose best capture it takes."""
    for number in range(len(batch.slot)):
        if filled and batch.value[number] != UNSTORED and batch.inherited[number] != UNSTORED:
            continue
        accrued, derived = batch.accrued[number], batch.derived[number]
        value, depth = batch.value[number], batch.depth[number]
        if not batch.known[number]:
            if derived:
                value, depth = _derived(coding, batch, number, room)
            else:
                value, depth = _stored(coding, batch, batch.begin[number], filled, room)
            batch.value[number], batch.depth[number] = value, depth
        said = int64(DAMAGED)
        if accrued >= 0 and value >= 0 and rank_of_code(accrued) <= rank_of_code(value):
            if not derived:
                said = _of_function(coding, batch, batch.begin[number], accrued)
            elif batch.exits[number, 0] != DAMAGED:
                said = _inherited(coding, batch, number, filled, room)
        batch.inherited[number] = value if said == FRESH else said
