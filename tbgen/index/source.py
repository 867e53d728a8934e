"""Tables as sources: where the solver gets the fresh values of successor materials from."""

from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from tbgen.index.layout import Side

BYTES_PER_SLOT: Final = 3
"""Bytes of a value and a depth in memory."""


KEPT: Final = 256 << 20
"""Bytes of small tables that a build keeps in memory for those that rest on them."""
SMALL: Final = KEPT // 4
"""Bytes of memory up to which a table is small."""


def fresh_bytes(size: int) -> int:
    """Return the bytes of all fresh values and depths of a table in memory.

    :param size: slots of one side to move.
    """
    return 2 * size * BYTES_PER_SLOT


class Source(Protocol):
    """A table whose fresh values and depths can be asked for, phase by phase and side by side."""

    def read_side(self, phase: int, side: Side, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> None:
        """Copy those of one phase with one side to move, at least of its canonical slots, to arrays of shape
        (phase size,)."""


class EnPassantSource(Protocol):
    """A table whose en passant positions can be asked for."""

    def read_en_passant(self, row: int, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> None:
        """Copy the values and depths of one en passant configuration to arrays of one phase's size."""


class StoredTable(Source, EnPassantSource, Protocol):
    """A whole table, as those need it that continue work on a table solved before."""


@dataclass(frozen=True)
class ArraySource:
    """A table in memory as a source: arrays of shape (2, size)."""

    value: NDArray[np.uint8]
    depth: NDArray[np.uint16]

    def read_side(self, phase: int, side: Side, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> None:
        """Copy one side of a phase; see :class:`Source`."""
        part = slice(phase * len(value), (phase + 1) * len(value))
        value[:], depth[:] = self.value[side, part], self.depth[side, part]

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.value.nbytes + self.depth.nbytes


@dataclass(frozen=True)
class ArrayTable(ArraySource):
    """A whole table in memory as a :class:`StoredTable`: en passant positions too, of shape (configurations,
    phase size)."""

    ep_value: NDArray[np.uint8]
    ep_depth: NDArray[np.uint16]

    def read_en_passant(self, row: int, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> None:
        """Copy one configuration; see :class:`StoredTable`."""
        value[:], depth[:] = self.ep_value[row], self.ep_depth[row]
