"""CRC-16 with the polynomial 0x1021, eight bytes at a time."""

from typing import Final

import numpy as np
from numpy.typing import NDArray


def _of_byte(byte: int, zeros: int) -> int:
    crc = byte << 8
    for _ in range(8 + 8 * zeros):
        crc = crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1
    return crc & 0xFFFF


CRC_OF_BYTE: Final[NDArray[np.int64]] = np.array(
    [[_of_byte(byte, zeros) for byte in range(256)] for zeros in range(8)], np.int64
)
"""int64 (8, 256): the checksum of so many zero bytes after each byte, begun with 0."""
