"""Where men attack and go by the arrays of their moves."""

from tbgen.compiler.jit import inlined
from tbgen.retro.geometry import BIT
from tbgen.retro.kernels.bits import ZERO, Word, ride, rotated
from tbgen.retro.movement import Movement


@inlined
def attacks_along(moves: Movement, kind: int, square: int, target: int) -> bool:
    """Whether a man of ``kind`` on ``square`` attacks ``target`` on an empty board."""
    return moves.attacks[kind, square] & BIT[target] != ZERO


@inlined
def reach(moves: Movement, kind: int, word: Word, empty: Word) -> Word:
    """Squares that a man of ``kind`` reaches in one quiet move from any of the set bits, ``empty`` being the
    squares that no other man occupies. Read backwards: the squares it may have come from."""
    result = ZERO
    for way in range(moves.leaps[kind]):
        result |= moves.landing[kind, way] & rotated(word, moves.distance[kind, way])
    result &= empty
    for way in range(moves.leaps[kind], moves.ways[kind]):
        result |= ride(word, moves.landing[kind, way] & empty, moves.distance[kind, way])
    return result


@inlined
def counts(moves: Movement, kind: int, way: int, step: int) -> bool:
    """Whether a step on a way, the first being 1, is a move of its own and not also one of another way."""
    return not moves.shares or moves.shared[kind, way] >> step & 1 == 0
