"""The entropy coder: rANS with static frequencies, byte by byte, and the checksum of a block.

Asymmetric numeral systems, Jarek Duda, arXiv:1311.2540. Frequencies of a context sum up to ``TOTAL``; the
state lies in ``LOW`` ... ``256 * LOW - 1``. An encoder begins with ``LOW`` and goes through the symbols
backwards, so that a decoder that has read all of them is left with ``LOW``.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.accelerate import inlined
from tbgen.packed.crc import CRC_OF_BYTE
from tbgen.retro.kernels.bits import Codes, Ints

TOTAL_BITS = 12
TOTAL = 1 << TOTAL_BITS
LOW = 1 << 16
STATE_BYTES = 3

Frequencies = NDArray[np.uint16]


class Model(NamedTuple):
    """Frequencies of symbols by context."""

    start: Frequencies
    """uint16 (contexts, symbols): where a symbol's share of ``TOTAL`` begins."""
    size: Frequencies
    """uint16 (contexts, symbols): its share; 0 for one that never occurs there."""
    symbol: Codes
    """uint8 (contexts, symbols): the symbols by falling share."""
    edge: Frequencies
    """uint16 (contexts, symbols): where the shares of ``symbol`` end."""


class Steps(NamedTuple):
    """Room for the symbols of a block, in the order in which a decoder meets them."""

    start: Ints
    """int64 (room,): beginning of the share."""
    size: Ints
    """int64 (room,): the share."""


@inlined
def find(model: Model, context: int, state: int) -> int:
    """The place among ``model.symbol[context]`` of the symbol that a state begins with."""
    low = state & (TOTAL - 1)
    place = 0
    last = model.edge.shape[1] - 1
    while place < last and model.edge[context, place] <= low:
        place += 1
    return place


@inlined
def without(model: Model, context: int, place: int, state: int) -> int:
    """The state without its first symbol; below ``LOW`` it wants bytes."""
    begin = 0 if place == 0 else int(model.edge[context, place - 1])
    size = int(model.edge[context, place]) - begin
    return size * (state >> TOTAL_BITS) + (state & (TOTAL - 1)) - begin


@inlined
def write_steps(steps: Steps, count: int, out: Codes, at: int) -> int:
    """Encode ``count`` steps to ``out`` from ``at`` on; return the end of what was written."""
    state = LOW
    end = at
    for number in range(count - 1, -1, -1):
        size = steps.size[number]
        while state >= size * ((LOW >> TOTAL_BITS) << 8):
            out[end] = state & 255
            end += 1
            state >>= 8
        state = ((state // size) << TOTAL_BITS) + state % size + steps.start[number]
    for _ in range(STATE_BYTES):
        out[end] = state & 255
        end += 1
        state >>= 8
    first, last = at, end - 1
    while first < last:
        out[first], out[last] = out[last], out[first]
        first += 1
        last -= 1
    return end


@inlined
def checksum(data: Codes, start: int, stop: int) -> int:
    """CRC-16 (polynomial 0x1021, from 0xFFFF): no change within two neighbouring bytes escapes it."""
    crc = 0xFFFF
    for at in range(start, stop):
        crc = (crc << 8 & 0xFF00) ^ CRC_OF_BYTE[crc >> 8 ^ int(data[at])]
    return crc
