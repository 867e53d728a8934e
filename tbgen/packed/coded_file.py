"""What a packed table stores: its blocks, exceptions and en passant positions, found and checked."""

import hashlib
import mmap
import operator
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import NONE, Code
from tbgen.index.layout import SIDES, Layout, Side, layout_of
from tbgen.index.table import Functions
from tbgen.packed.encode import escape_bytes, stream_of, symbols_of
from tbgen.packed.exceptions import slots_of
from tbgen.packed.kernels.blocks import (
    BLOCK_ROWS,
    DEPTH_CONTEXTS,
    FUNCTION_CONTEXTS,
    FUNCTION_ESCAPE,
    VALUE_CONTEXTS,
    Coding,
    Stream,
)
from tbgen.packed.model import NO_MODEL, decoder_of
from tbgen.packed.order import rows_of
from tbgen.store import schema
from tbgen.store.cache import ChunkCache
from tbgen.store.chunks import ChunkedArray
from tbgen.store.manifest import manifest_line, manifest_of
from tbgen.store.reader import Entry
from tbgen.store.schema import PACKED, DatasetSchema
from tbgen.store.stored_file import StoredFile

_CACHE_BYTES: Final = 1 << 20
_HASHED_AT_ONCE: Final = 1 << 20


class CodedFile(StoredFile):
    """An open table in packed form, as it is stored; what follows from that, :class:`PackedFile` knows.

    Raises as :class:`StoredFile` does.
    """

    def __init__(
        self, path: Path, *, material: Material | None = None, cache: ChunkCache | None = None
    ) -> None:
        self._cache = ChunkCache(_CACHE_BYTES) if cache is None else cache
        self._maps: list[mmap.mmap] = []
        super().__init__(path, material=material)

    side: Side
    """The side to move that is stored."""

    def en_passant(self, phase: int, square: int, slot: int) -> Entry:
        """Return code of W and D with the right to capture on ``square``; ``slot`` counts within the phase.

        ``(NONE, 0)`` stands for no such position, as where no such capture is legal.
        """
        row = self._ep_rows.get((phase, square))
        if row is None:
            return Code(NONE), 0
        return self._guard(
            lambda: (
                self._arrays[schema.EP_VALUE].item(row, slot),
                self._arrays[schema.EP_DEPTH].item(row, slot),
            )
        )

    def check(self) -> None:
        """Read all bytes and compare them with their digests.

        :raises DamagedTableError: naming the first dataset that differs.
        """
        if self.info.manifest.digest != self.info.digest:
            raise self.damaged("its manifest does not match its digest")
        facts = manifest_of(PACKED, self.info.facts(), ()).lines
        for fact, stated in zip(facts, self.info.manifest.lines, strict=False):
            if fact != stated:
                raise self.damaged(f"its {fact.split()[0]} does not match its digest")
        for wanted, line in zip(PACKED.datasets, self._stored_lines, strict=True):
            if self._guard(partial(self._line, wanted)) != line:
                raise self.damaged(f"its {wanted.name} does not match its digest")

    def _line(self, wanted: DatasetSchema) -> str:
        """Return the line of a dataset as its bytes give it."""
        if not wanted.raw:
            return self._arrays[wanted].manifest_line()
        data, state = self._data(wanted), hashlib.sha256()
        for at in range(0, len(data), _HASHED_AT_ONCE):
            state.update(data[at : at + _HASHED_AT_ONCE].tobytes())
        return manifest_line(wanted.name, data.dtype, data.shape, state.hexdigest())

    def functions(self, number: NDArray[np.uint32]) -> Functions:
        """Return the dictionary of functions with the numbers of all slots, which the caller has decoded."""
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
        values, depths = self._arrays[schema.EXCEPTION_VALUE], self._arrays[schema.EXCEPTION_DEPTH]
        found = self._guard(values.read), self._guard(depths.read)
        return self._exceptions, found[0], found[1].astype(np.uint16)

    def en_passant_arrays(self) -> tuple[NDArray[np.int32], NDArray[np.uint8], NDArray[np.uint16]]:
        """Return configurations, values and depths of the en passant positions."""
        arrays = [self._arrays[wanted] for wanted in (schema.EP_CONFIG, schema.EP_VALUE, schema.EP_DEPTH)]
        config, value, depth = self._guard(lambda: [array.read() for array in arrays])
        return config, value, depth.astype(np.uint16)

    def _load(self) -> None:
        if self.schema is not PACKED:
            raise self.damaged("it is plain, and was to be read as a packed table")
        side = operator.index(self._file.attrs["stored_side"])
        if side not in SIDES:
            raise self.damaged(f"its stored_side {side} is none")
        self.side = SIDES[side]
        self._stored_lines = bytes(self._file.attrs["stored"]).decode().splitlines()
        if [line.split()[0] for line in self._stored_lines] != [one.name for one in PACKED.datasets]:
            raise self.damaged("it lists other datasets")
        self._check_shapes()
        self._arrays = {
            wanted: ChunkedArray(self._file[wanted.name], self._cache, wanted.sparse)
            for wanted in PACKED.datasets
            if not wanted.raw
        }
        configurations = self._arrays[schema.EP_CONFIG].read().tolist()
        self._ep_rows = {(phase, square): row for row, (phase, square) in enumerate(configurations)}

    def _check_shapes(self) -> None:
        """Refuse datasets that a decoder would read beyond, or misread."""
        accrued = self.info.stores_accrued
        rows, placements = rows_of(self.layout, self.side), len(self.layout.placements)
        sizes = {
            "placements": placements,
            "pawns": self.layout.pawns,
            "phase_size": self.layout.phase_size,
            "value contexts": VALUE_CONTEXTS,
            "depth contexts": DEPTH_CONTEXTS,
            "function contexts": FUNCTION_CONTEXTS if accrued else 0,
            "function symbols": FUNCTION_ESCAPE + 1 if accrued else 0,
            "coded blocks": (blocks := rows.per_phase * placements // BLOCK_ROWS),
            "function blocks": blocks if accrued else 0,
            "runs": self.info.runs,
        }
        for wanted in PACKED.datasets:
            found = self._file[wanted.name]
            if found.dtype not in wanted.types:
                raise self.damaged(f"its {wanted.name} is of another type")
            # An axis that nothing else says is as long as where it occurs first.
            shape = [
                sizes.setdefault(axis, length) if isinstance(axis, str) else axis
                for axis, length in zip(wanted.shape, found.shape, strict=False)
            ]
            if tuple(shape) != found.shape or len(shape) != len(wanted.shape):
                raise self.damaged(f"its {wanted.name} has another shape")

    @property
    def layout(self) -> Layout:
        """The order of the table's positions."""
        return layout_of(self._material)

    def _coding(self) -> Coding:
        code, start = self._read(schema.CODE), self._read(schema.FUNCTION_START)
        functions = len(start) - 1
        if (functions > 0) != self.info.stores_accrued:
            raise self.damaged("it has functions of accrued scores against what it says")
        shares = self._read(schema.FUNCTION_SHARES)
        return Coding(
            rows_of(self.layout, self.side),
            symbols_of(code),
            code,
            escape_bytes(functions),
            decoder_of(self._read(schema.VALUE_SHARES)),
            decoder_of(self._read(schema.DEPTH_SHARES)),
            decoder_of(shares) if shares.size else NO_MODEL,
            self._stream(schema.VALUE_DATA, schema.VALUE_LENGTH, schema.VALUE_CHECK),
            self._stream(schema.FUNCTION_DATA, schema.FUNCTION_LENGTH, schema.FUNCTION_CHECK),
            start.astype(np.int64),
            self._read(schema.FUNCTION_ACCRUED),
            self._read(schema.FUNCTION_VALUE),
        )

    def _stream(self, wanted: DatasetSchema, lengths: DatasetSchema, checks: DatasetSchema) -> Stream:
        data, length = self._data(wanted), self._read(lengths)
        if int(length.sum(dtype=np.int64)) != len(data):
            raise self.damaged(f"its {wanted.name} has another length")
        return stream_of(data, length, self._read(checks))

    def _data(self, wanted: DatasetSchema) -> NDArray[np.uint8]:
        """The bytes of a raw dataset, mapped: they come from the disk as they are read."""
        dataset = self._file[wanted.name]
        size, offset = dataset.shape[0], dataset.id.get_offset()
        if not size:
            return np.zeros(0, np.uint8)
        if offset is None or dataset.dtype != np.uint8:
            raise self.damaged(f"its {wanted.name} is stored in another way")
        mapped = np.memmap(self.path, np.uint8, "c", offset, (size,))
        if isinstance(mapped.base, mmap.mmap):
            self._maps.append(mapped.base)
        return mapped.view(np.ndarray)  # numba takes no subclass

    def forget_blocks(self) -> None:
        """Give back the memory of mapped blocks; who needs one again gets it from the system's cache."""
        for mapped in self._maps:
            mapped.madvise(mmap.MADV_DONTNEED)

    def _read(self, wanted: DatasetSchema) -> NDArray[Any]:
        return self._arrays[wanted].read()

    @cached_property
    def _exceptions(self) -> NDArray[np.int64]:
        return slots_of(self._guard(self._arrays[schema.EXCEPTION_STEP].read))

    def _exception(self, place: int) -> Entry:
        return self._guard(
            lambda: (
                self._arrays[schema.EXCEPTION_VALUE].item(0, place),
                self._arrays[schema.EXCEPTION_DEPTH].item(0, place),
            )
        )
