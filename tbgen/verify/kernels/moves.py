"""Move generation for all positions of a word at once, independent of the solver.

The positions of a *word* are 64 slots that differ only in the square of the *last free man*; the other men
are *fixed*. Sets of positions of a word are bitboards, by the square of this man. Men are numbered: first
the free men in the order of the slot's digits, then the other men, pawns last. An int64 array ``squares``
contains the square of each man; :class:`ProofMen` contains their kinds and colours. Sides and colours are 0
for White and 1 for Black.

All men move step by step along *ways*: directions in which they ride, or single leaps. Only moves that
capture or leave the phase are tested here for legality. A quiet move is legal if the position after it is.
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from llvmlite import ir
from numba import types
from numpy.typing import NDArray

from tbgen.compiler.jit import inlined, intrinsic, kernel
from tbgen.compiler.vectors import code_generator
from tbgen.index.layout import TRIANGLE
from tbgen.verify.geometry import KING, PAWN
from tbgen.verify.kernels.results import ProofScratch

Bitboard: TypeAlias = np.uint64
"""A set of squares."""

ZERO = np.uint64(0)
ONE = np.uint64(1)
FULL = np.uint64(0xFFFFFFFFFFFFFFFF)

Squares: TypeAlias = NDArray[np.int64]
"""Shape (8,) or more: squares of men."""

_TRIANGLE = np.array(TRIANGLE, np.int64)


@intrinsic
def count_bits(typing_context: Any, board: Any) -> Any:
    """Number of set bits of a uint64, as int64."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), codegen


@intrinsic
def first_bit(typing_context: Any, board: Any) -> Any:
    """Index of the lowest set bit of a non-zero uint64, as int64."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), codegen


@intrinsic
def _between(typing_context: Any, codes: Any, first: Any, low: Any, high: Any) -> Any:
    """A uint64 whose bits mark, among 64 bytes of an array from index ``first`` on, those from ``low`` to
    ``high``."""

    def generate(call: Any) -> Any:
        above = call.compare(">=", call.load(0), call.broadcast(2, 0))
        return call.builder.and_(above, call.compare("<=", call.load(0), call.broadcast(3, 0)))

    return types.uint64(codes, types.int64, types.int64, types.int64), code_generator(generate)


@inlined
def between(codes: NDArray[np.uint8], start: int, low: int, high: int) -> Bitboard:
    """The positions, among the 64 from index ``start`` on (fewer at the end of ``codes``), whose codes are
    from ``low`` to ``high``."""
    if start + 64 <= codes.size:
        return _between(codes, start, low, high)
    found = ZERO
    for position in range(codes.size - start):
        if low <= codes[start + position] <= high:
            found |= ONE << np.uint64(position)
    return found


@intrinsic
def count_in(typing_context: Any, counts: Any, first: Any, positions: Any) -> Any:
    """Add 1 to the elements of ``counts``, uint8, from index ``first`` on, for these positions."""

    def generate(call: Any) -> None:
        mask = call.lane_mask(2)
        call.update(0, call.args[1], lambda old: call.builder.add(old, call.builder.zext(mask, old.type)))

    return types.void(counts, types.int64, types.uint64), code_generator(generate)


@intrinsic
def raise_to(
    typing_context: Any, best: Any, start: Any, grades: Any, first: Any, flip: Any, positions: Any
) -> Any:
    """Raise the elements of ``best`` from index ``start`` on, for these positions, to those of ``grades``.

    Both are int32. The grades begin at index ``first``. If ``flip`` is -1, not 0, their bits are flipped.
    """

    def generate(call: Any) -> None:
        builder = call.builder
        mask = call.lane_mask(5)
        new = builder.xor(call.load(2), call.broadcast(4, 2))

        def best_of(old: Any) -> Any:
            return builder.select(builder.and_(builder.icmp_signed(">", new, old), mask), new, old)

        call.update(0, call.args[1], best_of)

    arguments = types.int64, types.int64, types.uint64
    return types.void(best, types.int64, grades, *arguments), code_generator(generate)


@intrinsic
def copy_row(typing_context: Any, row: Any, start: Any, grades: Any, first: Any) -> Any:
    """Copy 64 grades from index ``first`` on to ``row``, int32, from index ``start`` on."""

    def generate(call: Any) -> None:
        call.builder.store(call.load(2), call.pointer(0, call.args[1]), align=1)

    return types.void(row, types.int64, grades, types.int64), code_generator(generate)


@inlined
def bit(square: int) -> Bitboard:
    """The bitboard of one square (int64 0..63)."""
    return ONE << np.uint64(square)


class ProofMen(NamedTuple):
    """The men of a table or cell, as the kernels read them.

    The free men, whose squares are the digits of the slot, come first. The men that do not move in a phase
    follow.
    """

    kinds: NDArray[np.int64]
    """Shape (men,): kind of each man, pawns last."""
    colours: NDArray[np.int64]
    """Shape (men,): colour of each man."""
    king_index: NDArray[np.int64]
    """Shape (2,): index of the king of each side."""
    free_count: int
    """Number of free men."""
    in_triangle: bool
    """Whether the first man's square is restricted to the triangle, as in tables without pawns."""
    phase_size: int
    """Number of slots of a phase."""
    placements: NDArray[np.uint8]
    """Shape (phases, men that do not move): squares of these men."""
    reach: NDArray[np.uint64]
    """Shape (men, 64): squares that each man attacks on an empty board, by its square."""
    delta: NDArray[np.int64]
    """Shape (men, ways): change of the square's number in one step. Pawns have no ways."""
    inside: NDArray[np.uint64]
    """Shape (men, ways): the squares from which a step does not leave the board."""
    rides: NDArray[np.bool_]
    """Shape (men, ways): whether a move may consist of several steps."""


@inlined
def place_men(men: ProofMen, slot: int, squares: Squares) -> Bitboard:
    """Fill ``squares`` with the squares of the men of a slot. Return the squares of the fixed men, or 0 if
    two of them share a square."""
    for man in range(men.free_count - 1, -1, -1):
        squares[man] = slot & 63
        slot >>= 6
    if men.in_triangle:
        squares[0] = _TRIANGLE[squares[0]]
    for man in range(men.free_count, men.kinds.size):
        squares[man] = men.placements[slot, man - men.free_count]
    occupied = ZERO
    for man in range(men.kinds.size):
        if man != men.free_count - 1:
            occupied |= bit(squares[man])
    fixed = men.kinds.size - (1 if men.free_count else 0)
    return occupied if count_bits(occupied) == fixed else ZERO


@inlined
def man_on(men: ProofMen, squares: Squares, square: int) -> int:
    """Index of the man on a square, -1 if the square is empty."""
    index = -1
    for man in range(men.kinds.size):
        if squares[man] == square:
            index = man
    return index


@inlined
def step(men: ProofMen, man: int, way: int, square: int) -> int:
    """The square that a man reaches from ``square`` in one step, -1 if it would leave the board."""
    return square + men.delta[man, way] if men.inside[man, way] & bit(square) else -1


@inlined
def sources(squares: Bitboard, delta: int) -> Bitboard:
    """The squares from which adding ``delta`` leads to one of these squares."""
    return squares >> np.uint64(delta) if delta >= 0 else squares << np.uint64(-delta)


@inlined
def ride(men: ProofMen, man: int, square: int, occupied: Bitboard) -> Bitboard:
    """Squares that a man on ``square`` attacks: along each way those up to, and including, the first occupied
    square."""
    if men.kinds[man] == PAWN:
        return men.reach[man, square]
    reach = ZERO
    for way in range(men.rides.shape[1]):
        target = step(men, man, way, square)
        while target >= 0:
            reach |= bit(target)
            rides_on = men.rides[man, way] and occupied & bit(target) == ZERO
            target = step(men, man, way, target) if rides_on else -1
    return reach


@inlined
def attacked(men: ProofMen, squares: Squares, occupied: Bitboard, square: int, colour: int) -> bool:
    """Whether a man of the given colour attacks ``square``. Men on squares outside ``occupied`` are
    ignored."""
    target = bit(square)
    for man in range(men.kinds.size):
        if men.colours[man] != colour or men.reach[man, squares[man]] & target == ZERO:
            continue
        if occupied & bit(squares[man]) and ride(men, man, squares[man], occupied) & target:
            return True
    return False


@inlined
def legal_positions(men: ProofMen, squares: Squares, occupied: Bitboard, side: int) -> Bitboard:
    """The positions of a word in which ``side`` may be to move: the other side's king is not attacked.

    ``occupied`` are the squares of the fixed men.
    """
    last = men.free_count - 1
    king = men.king_index[1 - side]
    legal = ~occupied if men.free_count else ONE
    for man in range(men.kinds.size):
        if men.colours[man] != side:
            continue
        if king == last:
            legal &= ~ride(men, man, squares[man], occupied)
        elif man == last:  # moves of men other than pawns can be reversed
            legal &= ~ride(men, man, squares[king], occupied)
        elif men.reach[man, squares[man]] & bit(squares[king]):
            legal &= _shields(men, man, squares[man], squares[king], occupied)
    return legal


@inlined
def _shields(men: ProofMen, man: int, origin: int, target: int, occupied: Bitboard) -> Bitboard:
    """Squares on which a further man would keep a man on ``origin`` from attacking ``target``."""
    if men.kinds[man] == PAWN:
        return ZERO
    shields = FULL
    for way in range(men.rides.shape[1]):
        path = ZERO
        square = step(men, man, way, origin)
        while square >= 0 and square != target:
            path |= bit(square)
            rides_on = men.rides[man, way] and occupied & bit(square) == ZERO
            square = step(men, man, way, square) if rides_on else -1
        if square == target:
            shields &= path
    return shields


@inlined
def _add_move(scratch: ProofScratch, man: int, target: int, victim: int, positions: Bitboard) -> None:
    """List a move."""
    move = scratch.count[0]
    scratch.count[0] = move + 1
    scratch.man[move], scratch.target[move], scratch.victim[move] = man, target, victim
    scratch.positions[move] = positions


@kernel
def find_moves(
    men: ProofMen, occupied: Bitboard, side: int, positions: Bitboard, scratch: ProofScratch
) -> None:
    """List the moves of ``side`` in some positions of a word, except en passant captures.

    The moves may leave the king attacked. ``scratch.squares`` are the squares of the fixed men, and
    ``occupied`` is the set of them.
    """
    squares = scratch.squares
    last = men.free_count - 1
    is_prey = last >= 0 and men.colours[last] != side and men.kinds[last] != KING
    scratch.count[0] = 0
    if last >= 0:
        squares[last] = -1
    for man in range(men.kinds.size):
        if men.colours[man] != side:
            continue
        if man == last:
            _find_moves_of_last_man(men, occupied, positions, scratch)
        elif men.kinds[man] == PAWN:
            _find_pawn_moves(men, man, occupied, positions, is_prey, scratch)
        else:
            _find_moves_of_man(men, man, occupied, positions, is_prey, scratch)


@inlined
def _victim_on(men: ProofMen, squares: Squares, square: int, side: int) -> int:
    """Index of the man on an occupied square if ``side`` may capture it, else -1."""
    man = man_on(men, squares, square)
    return man if men.colours[man] != side and men.kinds[man] != KING else -1


@inlined
def _find_moves_of_man(
    men: ProofMen, man: int, occupied: Bitboard, positions: Bitboard, is_prey: bool, scratch: ProofScratch
) -> None:
    """List the moves of a fixed king or piece; ``is_prey`` says whether it may capture the last free man."""
    side = men.colours[man]
    last = men.free_count - 1
    captures = ZERO
    for way in range(men.rides.shape[1]):
        free = positions
        target = step(men, man, way, scratch.squares[man])
        while target >= 0 and free:
            if occupied & bit(target):
                victim = _victim_on(men, scratch.squares, target, side)
                if victim >= 0:
                    _add_move(scratch, man, target, victim, free)
                break
            captures |= free & bit(target)
            free &= ~bit(target)
            if free:
                _add_move(scratch, man, target, -1, free)
            target = step(men, man, way, target) if men.rides[man, way] else -1
    if is_prey and captures:
        _add_move(scratch, man, -1, last, captures)


@inlined
def _find_moves_of_last_man(
    men: ProofMen, occupied: Bitboard, positions: Bitboard, scratch: ProofScratch
) -> None:
    """List the moves of the last free man."""
    last = men.free_count - 1
    side = men.colours[last]
    for man in range(men.kinds.size):
        victim = man != last and men.colours[man] != side and men.kinds[man] != KING
        captures = ZERO
        if victim:  # moves of men other than pawns can be reversed
            captures = positions & ride(men, last, scratch.squares[man], occupied)
        if captures:
            _add_move(scratch, last, scratch.squares[man], man, captures)
    for way in range(men.rides.shape[1]):
        delta = men.delta[last, way]
        able = sources(~occupied, men.delta[last, way]) & men.inside[last, way]
        distance = delta
        while positions & able:
            _add_move(scratch, last, distance, -1, positions & able)
            distance += delta
            able = sources(able & ~occupied, delta) & men.inside[last, way] if men.rides[last, way] else ZERO


@inlined
def _find_pawn_moves(
    men: ProofMen, pawn: int, occupied: Bitboard, positions: Bitboard, is_prey: bool, scratch: ProofScratch
) -> None:
    """List the moves of a pawn; ``is_prey`` says whether it may capture the last free man."""
    square = scratch.squares[pawn]
    side = men.colours[pawn]
    last = men.free_count - 1
    ahead = 8 - 16 * side
    free = positions
    for target in range(square + ahead, square + ahead * (3 if square >> 3 == 1 + 5 * side else 2), ahead):
        free &= ~bit(target)
        if occupied & bit(target) or free == ZERO:
            break
        _add_move(scratch, pawn, target, -1, free)
    reach = men.reach[pawn, square]
    if is_prey and positions & reach & ~occupied:
        _add_move(scratch, pawn, -1, last, positions & reach & ~occupied)
    reach &= occupied
    while reach:
        victim = _victim_on(men, scratch.squares, first_bit(reach), side)
        if victim >= 0:
            _add_move(scratch, pawn, first_bit(reach), victim, positions)
        reach &= reach - ONE


@inlined
def is_legal(men: ProofMen, occupied: Bitboard, man: int, target: int, victim: int, squares: Squares) -> bool:
    """Whether a listed move leaves the king of the moving side unattacked.

    ``squares`` are those of all men before the move, and ``occupied`` is the set of them. ``victim`` is the
    captured man, -1 if there is none.
    """
    side = men.colours[man]
    origin = squares[man]
    squares[man] = target
    if victim >= 0:
        squares[victim] = origin  # which is empty
    after = occupied & ~bit(origin) | bit(target)
    legal = not attacked(men, squares, after, squares[men.king_index[side]], 1 - side)
    squares[man] = origin
    if victim >= 0:
        squares[victim] = target
    return legal


@inlined
def may_take_en_passant(
    men: ProofMen, squares: Squares, occupied: Bitboard, side: int, pawn: int, target: int
) -> bool:
    """Whether the man ``pawn`` is a pawn of ``side`` that may legally capture en passant on ``target``."""
    if men.kinds[pawn] != PAWN or men.colours[pawn] != side:
        return False
    if men.reach[pawn, squares[pawn]] & bit(target) == ZERO:
        return False
    victim = target - 8 + 16 * side
    after = occupied ^ bit(squares[pawn]) ^ bit(target) ^ bit(victim)
    return not attacked(men, squares, after, squares[men.king_index[side]], 1 - side)


@inlined
def count_en_passant(men: ProofMen, squares: Squares, occupied: Bitboard, side: int, target: int) -> int:
    """Number of pawns of ``side`` that may legally capture en passant on ``target``."""
    captures = 0
    for man in range(men.free_count, men.kinds.size):
        if may_take_en_passant(men, squares, occupied, side, man, target):
            captures += 1
    return captures
