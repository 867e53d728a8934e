"""What a packed table stores: its blocks, exceptions and en passant positions, found and checked."""

import mmap
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tbgen.index.layout import Side
from tbgen.index.table import Functions
from tbgen.packed.encode import coding_of
from tbgen.packed.exceptions import slots_of
from tbgen.packed.kernels.blocks import (
    BLOCK_SLOTS,
    DEPTH_CONTEXTS,
    FUNCTION_CONTEXTS,
    FUNCTION_ESCAPE,
    VALUE_CONTEXTS,
    Coding,
)
from tbgen.packed.order import rows_of
from tbgen.store import schema
from tbgen.store.schema import PACKED
from tbgen.store.stored_file import Entry, StoredFile


class CodedFile(StoredFile):
    """An open table in packed form, as it is stored; :class:`PackedFile` derives the rest.

    Takes and raises what :class:`StoredFile` does.
    """

    side: Side
    """The side to move that is stored."""

    def functions(self, number: NDArray[np.uint32]) -> Functions:
        """Return the dictionary of functions with the numbers of all slots, which the caller has decoded.

        :raises DamagedTableError: if there are no functions of these numbers.
        """
        if int(number.max(initial=0)) >= len(self.coding.entry_start) - 1:
            raise self.damaged("it has positions with functions that are not there")
        return Functions(
            self.side, number, self.coding.entry_start, self.coding.entry_accrued, self.coding.entry_value
        )

    @cached_property
    def coding(self) -> Coding:
        """All that is needed to decode the blocks."""
        return self._guard(self._coding)

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return self.coding.value_stream.length.size

    def exceptions(self) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.uint16]]:
        """Return slots, values and depths of the side that is not stored where the rule is wrong."""
        values, depths = self.data(schema.EXCEPTION_VALUE), self.data(schema.EXCEPTION_DEPTH)
        return self._exceptions, values, depths.astype(np.uint16)

    def _load(self) -> None:
        super()._load()
        if self.schema is not PACKED:
            raise self.damaged("it is plain, and was to be read as a packed table")
        self.side = self.stored_side

    def _sizes(self) -> dict[str, int]:
        accrued, blocks = self.info.stores_accrued, self.info.size // BLOCK_SLOTS
        return super()._sizes() | {
            "value contexts": VALUE_CONTEXTS,
            "depth contexts": DEPTH_CONTEXTS,
            "function contexts": FUNCTION_CONTEXTS if accrued else 0,
            "function symbols": FUNCTION_ESCAPE + 1 if accrued else 0,
            "coded blocks": blocks,
            "function blocks": blocks if accrued else 0,
        }

    def _coding(self) -> Coding:
        start = self.data(schema.FUNCTION_START)
        if (len(start) > 1) != self.info.stores_accrued:
            raise self.damaged("it has functions of accrued scores against what it says")
        if len(start) and (start[0] or start[-1] != self.info.runs or (start[1:] < start[:-1]).any()):
            raise self.damaged("its functions do not begin and end with their entries")
        coding = coding_of(rows_of(self.layout, self.side), self.data)
        values, functions = coding.value_stream, coding.function_stream
        for stream, wanted in ((values, schema.VALUE_DATA), (functions, schema.FUNCTION_DATA)):
            if int(stream.length.sum(dtype=np.int64)) != len(stream.data):
                raise self.damaged(f"its {wanted.name} has another length")
        return coding

    def forget_blocks(self) -> None:
        """Give back the memory of mapped blocks; they stay in the cache of the system."""
        for mapped in self._maps:
            mapped.madvise(mmap.MADV_DONTNEED)

    @cached_property
    def _exceptions(self) -> NDArray[np.int64]:
        slots = slots_of(self.data(schema.EXCEPTION_STEP))
        there = self._arrays[schema.EXCEPTION_VALUE].shape[0]
        if len(slots) != there or (there and slots[-1] >= self.layout.size):
            raise self.damaged("its exceptions are not those of its slots")
        return slots

    def _exception(self, place: int) -> Entry:
        value, depth = self._arrays[schema.EXCEPTION_VALUE], self._arrays[schema.EXCEPTION_DEPTH]
        return value.item(0, place), depth.item(0, place)
