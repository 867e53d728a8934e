"""Bit boards inside kernels: uint64 words, one bit per square."""

from typing import Any, TypeAlias

import numpy as np
from llvmlite import ir
from numba import types

from tbgen.compiler.jit import inlined, intrinsic

Board: TypeAlias = np.uint64
"""A bit board."""

ZERO = np.uint64(0)
ONE = np.uint64(1)
FULL = np.uint64(0xFFFFFFFFFFFFFFFF)


@intrinsic
def count_bits(typing_context: Any, board: Any) -> Any:
    """Number of set bits of a uint64, as int64."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), codegen


@intrinsic
def first_bit(typing_context: Any, board: Any) -> Any:
    """Number of the lowest set bit of a uint64 other than zero, as int64."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), codegen


@inlined
def bit(square: int) -> Board:
    """The board with one square (int64 0..63) set."""
    return ONE << np.uint64(square)
