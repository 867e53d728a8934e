"""The entropy coder: rANS with static frequencies, byte by byte, and the checksum of a block.

Asymmetric numeral systems, Jarek Duda, arXiv:1311.2540. Frequencies of a context sum up to ``TOTAL``; the
state lies in ``LOW`` ... ``256 * LOW - 1``. An encoder begins with ``LOW`` and goes through the symbols
backwards, so that a decoder that has read all of them is left with ``LOW``.
"""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import types
from numpy.typing import NDArray

from tbgen.compiler.jit import inlined, int64, intrinsic
from tbgen.compiler.structs import Struct
from tbgen.packed.crc import CRC_OF_BYTE
from tbgen.retro.kernels.bits import Codes

TOTAL_BITS = 12
TOTAL = 1 << TOTAL_BITS
LOW = 1 << 16
STATE_BYTES = 3
WIDE = 16
"""Shares that are searched at once."""

RECIPROCAL_BITS = 36
RECIPROCAL = np.array([0, *(-(-(1 << RECIPROCAL_BITS) // share) for share in range(1, TOTAL + 1))], np.int64)
"""int64 (TOTAL + 1,): a state, which has 24 bits, times this and without the last 36 bits is the state
divided by the share, rounded down: what is added to 2**36 / share is too little to reach the next number."""

Frequencies = NDArray[np.uint16]


@dataclass(frozen=True, eq=False)
class Model(Struct):
    """Frequencies of symbols by context, as a decoder looks at them: the symbols stand by falling share,
    filled up to a multiple of ``WIDE``."""

    symbol: Codes
    """uint8 (contexts, places): the symbols by falling share."""
    edge: Frequencies
    """uint16 (contexts, places + 1): where the shares of ``symbol`` begin, and ``TOTAL``."""
    mark: Frequencies
    """uint16 (contexts, WIDE): where the shares of every ``WIDE`` places end, ``TOTAL`` beyond them."""


@intrinsic
def _up_to(typing_context: Any, array: Any, first: Any, most: Any) -> Any:
    """How many of ``WIDE`` elements of a contiguous uint16 array, from the flat index ``first`` on, are at
    most ``most``: one comparison of all at once, which no branch has to guess."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        kind = ir.VectorType(ir.IntType(16), WIDE)
        elements = builder.load(builder.bitcast(builder.gep(data, [args[1]]), kind.as_pointer()))
        cast(Any, elements).align = 2
        nothing = ir.Constant(kind, ir.Undefined)
        single = builder.insert_element(
            nothing, builder.trunc(args[2], ir.IntType(16)), ir.Constant(ir.IntType(32), 0)
        )
        places = ir.Constant(ir.VectorType(ir.IntType(32), WIDE), [0] * WIDE)
        bound = builder.shuffle_vector(single, nothing, places)
        found = builder.bitcast(builder.icmp_unsigned("<=", elements, bound), ir.IntType(WIDE))
        return builder.zext(builder.ctpop(found), ir.IntType(64))

    return types.int64(array, types.int64, types.int64), codegen


@inlined
def find(model: Model, context: int, state: int) -> int:
    """The place among ``model.symbol[context]`` of the symbol that a state begins with."""
    low, places = state & (TOTAL - 1), model.symbol.shape[1]
    first = context * (places + 1) + 1
    place: int = _up_to(model.edge, first, low)
    if place == WIDE:
        place = WIDE * _up_to(model.mark, context * WIDE, low)
        place += _up_to(model.edge, first + place, low)
    return place


@inlined
def without(model: Model, context: int, place: int, state: int) -> int:
    """The state without its first symbol; below ``LOW`` it wants bytes."""
    begin = int64(model.edge[context, place])
    size = int64(model.edge[context, place + 1]) - begin
    return size * (state >> TOTAL_BITS) + (state & (TOTAL - 1)) - begin


@inlined
def refill(state: int, data: Codes, at: int, end: int) -> tuple[int, int]:
    """A state with as many bytes as it wants of ``data[at:end]``, and where the next one lies."""
    if at + 2 <= end:  # it never wants more: no share is below 1
        wanted = int64(state < LOW) + int64(state < LOW >> 8)
        two = int64(data[at]) << 8 | int64(data[at + 1])
        return state << 8 * wanted | two >> 16 - 8 * wanted, at + wanted
    while state < LOW and at < end:
        state = state << 8 | int(data[at])
        at += 1
    return state, at


@inlined
def checksum(data: Codes, start: int, stop: int) -> int:
    """CRC-16 (polynomial 0x1021, from 0xFFFF): no change within two neighbouring bytes escapes it."""
    crc, at = 0xFFFF, start
    while at + 8 <= stop:  # a byte's share in the end does not depend on the others
        two = crc ^ int64(data[at]) << 8 ^ int64(data[at + 1])
        crc = CRC_OF_BYTE[7, two >> 8] ^ CRC_OF_BYTE[6, two & 255]
        for byte in range(2, 8):
            crc ^= CRC_OF_BYTE[7 - byte, int64(data[at + byte])]
        at += 8
    while at < stop:
        crc = (crc << 8 & 0xFF00) ^ CRC_OF_BYTE[0, crc >> 8 ^ int64(data[at])]
        at += 1
    return crc
