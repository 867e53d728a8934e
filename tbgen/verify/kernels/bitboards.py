"""Bit boards inside kernels: uint64 words, one bit per square."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from tbgen.accelerate import inlined

ZERO = np.uint64(0)
ONE = np.uint64(1)
FULL = np.uint64(0xFFFFFFFFFFFFFFFF)


def _count_bits(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


def _first_bit(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate


count_bits: Any = intrinsic(_count_bits)
"""Number of set bits of a uint64, as int64."""

first_bit: Any = intrinsic(_first_bit)
"""Number of the lowest set bit of a uint64 other than zero, as int64."""


@inlined
def bit(square):
    """The board with one square (int64 0..63) set."""
    return ONE << np.uint64(square)
