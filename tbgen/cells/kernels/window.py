"""Scores as a window has them, for all positions of a block."""

from tbgen.compiler.jit import jit
from tbgen.retro.kernels.bits import Codes, Plies


@jit
def seen_exits(
    value: Codes, depth: Plies, exits: Codes, lasts: Plies, seen_value: Codes, seen_depth: Plies
) -> None:
    """Fill arrays with what takes the place of values, uint8 (n,), and depths, uint16 (n,) or (0,).

    By code, ``exits`` says what takes the place of a score, and ``lasts`` is 1 where its depth lasts, else 0.
    """
    for at in range(len(value)):
        seen_value[at] = exits[value[at]]
    for at in range(len(depth)):
        seen_depth[at] = depth[at] * lasts[value[at]]


@jit
def tell_proved(value: Codes, depth: Plies, proved: Codes, lasts: Codes, instead: int) -> None:
    """Put in the place of values, uint8 (n,), and depths, uint16 (n,) or (0,), what they prove.

    By code, ``proved`` says what a score proves, and ``lasts`` is 1 where its depth lasts; else it is
    ``instead``.
    """
    for at in range(len(depth)):
        if not lasts[value[at]]:
            depth[at] = instead
    for at in range(len(value)):
        value[at] = proved[value[at]]
