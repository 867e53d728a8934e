"""The states of cells: the same proof where some men stand still, and moves that leave have bounds."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.verify.geometry import PAWN
from tbgen.verify.kernels.best import NO_MOVE, ProofScratch, Range
from tbgen.verify.kernels.bitboards import ONE, ZERO, Board, bit, count_bits, first_bit
from tbgen.verify.kernels.findings import BETWEEN, MISSING, WRONG, Findings, note
from tbgen.verify.kernels.keys import (
    MIDDLE,
    Accrued,
    code_rank,
    key_before,
    key_of,
    level_of,
    worth_of,
)
from tbgen.verify.kernels.moves import ProofMen, attacked, legal_moves, legal_targets
from tbgen.verify.kernels.resets import PROMOTIONS
from tbgen.verify.kernels.states import ProofPositions
from tbgen.verify.kernels.survey import NO_RANK


class Leaving(NamedTuple):
    """What the moves that leave a cell are worth in one of its games."""

    way: NDArray[np.int32]
    """Number of each way out, by :func:`way_number`; 0 where nothing is known."""
    begin: NDArray[np.int64]
    """Start of each way's values; -1 - code where a code holds for all of them."""
    value: NDArray[np.uint8]
    """Codes by the squares of the mobile men left, in their order; ``NONE`` where nothing is known."""
    depth: NDArray[np.uint16]
    unknown: int
    """Code of what nothing is known about."""


class ProofLayer(NamedTuple):
    """What the states of one accrued score are said to be."""

    value: NDArray[np.uint8]
    """Shape (2, slots): codes, ``NONE`` where the fresh value holds."""
    depth: NDArray[np.uint16]
    """Shape (2, slots): plies."""
    with_fresh: bool
    """Whether the fresh values are under proof too, not given."""


class CellMen(NamedTuple):
    """The men of a cell."""

    men: ProofMen
    """The kings, the other mobile men, those that stand still, the pawns. There are no phases."""
    shift: NDArray[np.int64]
    """Shape (men,): where a mobile man's square is in the slot, in bits; -1 for men that stand still."""
    still: NDArray[np.int64]
    """Shape (men,): squares of the men that stand still."""
    mobile: int
    """Number of mobile men."""


class CellGame(NamedTuple):
    """A game of a cell under proof."""

    cell: CellMen
    end: int
    """0 if what is claimed are lower ends, 1 if upper ones."""
    leaving: Leaving
    value: NDArray[np.uint8]
    """Shape (2, slots): fresh values as claimed."""
    depth: NDArray[np.uint16]
    """Shape (2, slots): their depths."""
    key: NDArray[np.int32]
    """Shape (2, slots): key of every position at the level being proved."""


@inlined
def way_number(men: int, mobile: int, mover: int, target: int, victim: int, promotion: int) -> int:
    """Number of a way out.

    ``mover`` is the man that stands still and moves to ``target``; it is ``men`` if a mobile man moves, and
    then ``target`` is where the man that stands still was captured, else 0. ``victim`` is 1 + the number
    among the mobile men of the one that is captured, else 0.
    """
    return (((mover * 64 + target) * (mobile + 1)) + victim) * (PROMOTIONS + 1) + promotion


@inlined
def place_in_cell(cell: CellMen, slot: int, squares: NDArray[np.int64]) -> Board:
    """Put the men of a slot on ``squares``; return the occupied squares, 0 if two men clash."""
    occupied = ZERO
    for man in range(cell.men.kinds.size):
        squares[man] = cell.still[man] if cell.shift[man] < 0 else slot >> cell.shift[man] & 63
        occupied |= bit(squares[man])
    return occupied if count_bits(occupied) == cell.men.kinds.size else ZERO


@kernel
def survey_cell(cell: CellMen, rank: NDArray[np.uint8], part: Range, scratch: ProofScratch) -> int:
    """Put the rank of every legal position among a range of slots into ``rank``, uint8 (2, slots), and
    ``NO_RANK`` elsewhere; return the number of positions."""
    men, squares = cell.men, scratch.squares
    positions = 0
    for slot in range(part[0], part[1]):
        occupied = place_in_cell(cell, slot, squares)
        for side in range(2):
            own = NO_RANK
            if occupied != ZERO and not attacked(men, squares, occupied, squares[1 - side], side):
                check = legal_targets(men, squares, occupied, side, scratch.targets)
                own = 2 * legal_moves(men, scratch.targets) + (0 if check else 1)
                positions += 1
            rank[side, slot] = own
    return positions


@inlined
def _alive(own: int, code: int, accrued: Accrued) -> bool:
    """Whether a layer has a state of a position with this rank and fresh value; at
    ``MIDDLE`` there are none."""
    return own >= accrued.rank and code_rank(code) >= accrued.rank and accrued.level != MIDDLE


@kernel
def enter_layer_of_cell(
    game: CellGame,
    rank: NDArray[np.uint8],
    accrued: Accrued,
    part: Range,
    layer: ProofLayer,
    scratch: ProofScratch,
    findings: Findings,
) -> int:
    """Set the keys of a range of slots for an accrued score; return the number of states in its layer.

    If fresh values are under proof as well, the layer has to agree with them where the score is a position's
    own, and its values have to lie between the score and the fresh value.
    """
    level = accrued.level
    states = 0
    for side in range(2):
        for slot in range(part[0], part[1]):
            own, code = int64(rank[side, slot]), int64(game.value[side, slot])
            if own == NO_RANK:
                continue
            held = level if code_rank(code) >= accrued.rank else MIDDLE
            key = key_of(code, int64(game.depth[side, slot]), held)
            if _alive(own, code, accrued):
                states += 1
                fresh, claim = key, int64(layer.value[side, slot])
                key = key_of(claim, int64(layer.depth[side, slot]), level)
                if claim == NONE:
                    note(findings, MISSING, False, side, slot, level, 0, 0)
                elif layer.with_fresh and level_of(own, side) == level:
                    if key != fresh:
                        note(findings, WRONG, False, side, slot, level, fresh, key)
                elif layer.with_fresh:
                    worth, limit = worth_of(claim), worth_of(code)
                    if worth < min(level, limit) or worth > max(level, limit):
                        note(findings, BETWEEN, False, side, slot, level, key, 0)
            game.key[side, slot] = key
    return states


@kernel
def prove_cell(
    game: CellGame,
    positions: ProofPositions,
    accrued: Accrued,
    part: Range,
    with_fresh: bool,
    scratch: ProofScratch,
    findings: Findings,
) -> int:
    """Prove the states of a layer at a range of slots; return their number.

    ``with_fresh``, all fresh states whose own score is worth the level are proved too (``MIDDLE``: of its
    rank or more), and each state has to be just what follows from its successors. Else no state may be more
    than that: lower ends no better for White, nor sooner where he is favoured, and so on.
    """
    rank, chosen, level = positions.rank, positions.chosen, accrued.level
    states = 0
    for slot in range(part[0], part[1]):
        for side in range(2):
            own = int64(rank[side, slot])
            if own < accrued.rank or own == NO_RANK or (chosen.size and not chosen[side, slot]):
                continue
            fresh = with_fresh and (level == MIDDLE or level_of(own, side) == level)
            if not (fresh or _alive(own, int64(game.value[side, slot]), accrued)):
                continue
            states += 1
            occupied = place_in_cell(game.cell, slot, scratch.squares)
            best = _best_key(game, slot, side, occupied, level, scratch)
            right, stored = key_before((1 - 2 * side) * best, level), int64(game.key[side, slot])
            too_much = stored > right if game.end == 0 else stored < right
            if too_much or (with_fresh and stored != right):
                note(findings, WRONG, False, side, slot, level, stored, right)
    return states


@inlined
def _best_key(
    game: CellGame, slot: int, side: int, occupied: Board, level: int, scratch: ProofScratch
) -> int:
    """Greatest key (for Black to move: least key, negated) over all legal moves."""
    men, shift, squares, targets = game.cell.men, game.cell.shift, scratch.squares, scratch.targets
    legal_targets(men, squares, occupied, side, targets)
    sign = 1 - 2 * side
    best = NO_MOVE
    for man in range(men.kinds.size):
        board = targets[man]
        if shift[man] >= 0:
            quiet = board & ~occupied
            board &= occupied
            rest = slot - (squares[man] << shift[man])
            while quiet:
                key = game.key[1 - side, rest + (first_bit(quiet) << shift[man])]
                best = max(best, sign * int64(key))
                quiet &= quiet - ONE
        while board:
            best = max(best, _best_leaving(game, side, man, first_bit(board), occupied, level, scratch))
            board &= board - ONE
    return best


@inlined
def _best_leaving(
    game: CellGame, side: int, man: int, target: int, occupied: Board, level: int, scratch: ProofScratch
) -> int:
    """The same over the moves of a man to a square that leave the cell: one, or all promotions."""
    men, shift, squares = game.cell.men, game.cell.shift, scratch.squares
    captured = -1
    if occupied & bit(target):
        for other in range(men.kinds.size):
            if squares[other] == target:
                captured = other
    slot, victim, number = int64(0), 0, 0
    for other in range(men.kinds.size):
        if shift[other] < 0:
            continue
        number += 1
        if other == captured:
            victim = number
        else:
            slot = slot << 6 | (target if other == man else squares[other])
    mover, where = man, target
    if shift[man] >= 0:
        mover, where = men.kinds.size, 0 if victim else target
    first, last = 0, 0
    if men.kinds[man] == PAWN and not 8 <= target < 56:
        first, last = 1, PROMOTIONS
    best = NO_MOVE
    for promotion in range(first, last + 1):
        way = way_number(men.kinds.size, game.cell.mobile, mover, where, victim, promotion)
        best = max(best, (1 - 2 * side) * _key_of_way(game.leaving, way, slot, level))
    return best


@inlined
def _key_of_way(leaving: Leaving, way: int, slot: int, level: int) -> int:
    """Key of the position that a way out leads to."""
    begin = leaving.begin[leaving.way[way]]
    if begin < 0:
        return key_of(-1 - begin, 0, level)
    code = int64(leaving.value[begin + slot])
    if code == NONE:
        return key_of(leaving.unknown, 0, level)
    return key_of(code, int64(leaving.depth[begin + slot]), level)
