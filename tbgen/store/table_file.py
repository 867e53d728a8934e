"""Table files: opening and validating plain and packed tables, and reading plain tables."""

import operator
import os
import shlex
import stat
from collections.abc import Iterable
from functools import cached_property
from mmap import ACCESS_COPY, ALLOCATIONGRANULARITY, mmap
from pathlib import Path
from typing import Any, Final, TypeAlias

import h5py
import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import NONE, Code, GScore
from tbgen.board.variant import Variant
from tbgen.errors import DamagedTableError, MissingTableError, TbgenError, quote
from tbgen.index.arrays import joined_ranges
from tbgen.index.codes import FRESH, LAST_RUN
from tbgen.index.layout import SIDES, Layout, Side, Slot, layout_of
from tbgen.index.table import Table, count_values, free_men_text, pawns_text
from tbgen.store import schema
from tbgen.store.cache import ChunkCache
from tbgen.store.dataset import placements_of
from tbgen.store.dataset_file import DatasetFile, file_descriptor, open_file
from tbgen.store.format import BLOCK_SLOTS, TableInfo, rules_of_name
from tbgen.store.schema import (
    COUNT,
    EP_CONFIG,
    EP_DEPTH,
    EP_VALUE,
    PACKED,
    PLACEMENTS,
    TABLE,
    VALUE,
    DatasetSchema,
    Manifest,
    manifest_line,
)

Entry: TypeAlias = tuple[Code, int]
"""The stored entry of a position: the code of its value, and its depth in plies.

It is a plain tuple, because creating a named tuple for each look-up takes several times as long."""

_PROBLEMS: Final = {
    "truncated file": "it is truncated",
    "already open for write": "its build was interrupted",
    "signature not found": "it is not an HDF5 file",
}
"""Maps a part of HDF5's message about a file that cannot be opened to the problem that the message means."""

_SCHEMA_BY_FORMAT: Final = {schema.format.encode(): schema for schema in (TABLE, PACKED)}


class StoredFile(DatasetFile):
    """An open table file, plain or packed: its facts, and the data that both forms store in the same way.

    :param material: the material that the file has to contain; None for any material.
    :param cache: cache of decoded chunks, which files may share; None for a separate cache.
    :raises MissingTableError: if the file does not exist.
    :raises DamagedTableError: if the file is not a complete table that this version of tbgen can read.
    :raises TbgenError: if there is no permission to read the file.
    """

    def __init__(
        self, path: Path, *, material: Material | None = None, cache: ChunkCache | None = None
    ) -> None:
        self._name = path.name.split(".")[0] if material is None else material.name
        self._mappings: list[mmap] = []
        super().__init__(path, cache)
        if material is not None and self.info.material != material.name:
            self.close()
            raise self.damaged(f"it contains {self.info.material}")

    info: TableInfo
    """The facts that the file states."""
    layout: Layout
    """The layout of the table."""

    @property
    def stored_side(self) -> Side:
        """The side to move that a packed table stores.

        :raises DamagedTableError: if the file does not state a side, as in plain tables.
        """
        side = self._guard(lambda: operator.index(self._file.attrs["stored_side"]))
        if side not in SIDES:
            raise self.damaged(f"its stored_side {side} is not a side")
        return SIDES[side]

    def data(self, dataset_schema: DatasetSchema, threads: int = 2) -> NDArray[Any]:
        """Return all elements of a dataset. A raw dataset is memory-mapped.

        :raises DamagedTableError: if a chunk does not decode.
        """
        if not dataset_schema.raw:
            return super().data(dataset_schema, threads)
        dataset = self._file[dataset_schema.name]
        size = dataset.shape[0]
        offset = dataset.id.get_offset()
        if not size:
            return np.zeros(0, np.uint8)
        if offset is None or dataset.dtype != np.uint8:
            raise self.damaged(f"its {dataset_schema.name} is stored differently")
        before = offset % ALLOCATIONGRANULARITY
        # The open file is mapped, because the path may name another file by now.
        mapped = mmap(
            file_descriptor(self._file.id), before + size, access=ACCESS_COPY, offset=offset - before
        )
        self._mappings.append(mapped)
        return np.frombuffer(mapped, np.uint8, offset=before)

    def counts(self) -> list[dict[GScore, int]]:
        """Return the number of positions, up to symmetry, with each value, for White and for Black to move.

        En passant positions are not counted. A packed table stores these numbers; in a plain table, the
        positions are counted.

        :raises DamagedTableError: if the data do not decode.
        """
        if self.schema is TABLE:
            counts = count_values(self.data(VALUE))
        else:
            counts = self.data(COUNT)
            if counts.sum(axis=1).tolist() != list(self.info.positions):
                raise self.damaged(f"the sums of its {COUNT.name} differ from its numbers of positions")
        return [
            {GScore.from_code(code): count for code, count in enumerate(side) if count}
            for side in counts.tolist()
        ]

    def en_passant(self, phase: int, square: int, slot: int) -> Entry:
        """Return the code of W, and D in plies, of a position with an en passant right on ``square``.

        The result is ``(NONE, 0)`` if there is no such position, for example because no capture there is
        legal.

        :param slot: slot within the phase.
        """
        row = self._ep_rows.get((phase, square))
        if row is None:
            return NONE, 0
        return self._arrays[EP_VALUE].item(row, slot), self._arrays[EP_DEPTH].item(row, slot)

    def en_passant_arrays(self) -> tuple[NDArray[np.int32], NDArray[np.uint8], NDArray[np.uint16]]:
        """Return configurations (phase and square), values and depths of the en passant positions."""
        config, value, depth = map(self.data, (EP_CONFIG, EP_VALUE, EP_DEPTH))
        return config, value, depth.astype(np.uint16, copy=False)

    def read_en_passant(self, row: int, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> None:
        """Fill arrays of shape (phase size,) with the values and depths of one en passant configuration.

        :raises DamagedTableError: if a chunk does not decode.
        """
        self.read_part(EP_VALUE, row, 0, value)
        self.read_part(EP_DEPTH, row, 0, depth)

    def check(self, threads: int = 2) -> None:
        """Read the whole file, compare it with its digest, and check the order of the placements.

        :raises DamagedTableError: if they differ; the message names the first dataset or fact that is wrong.
        """
        super().check(threads)
        if not np.array_equal(self.data(PLACEMENTS), placements_of(self.layout)):
            raise self.damaged("its pawn placements are in another order")

    def check_facts(self, table: Table, *, with_accrued: bool = True) -> None:
        """Compare the facts that the file states with the table that was read from it.

        :param with_accrued: whether ``table`` includes the values for accrued scores; unpacked tables do not.
        :raises DamagedTableError: if a fact differs; the message names the first wrong fact.
        """
        stated = self.info.facts()
        for name, fact in table.facts().items():
            if stated[name] != fact and (with_accrued or name not in ("accrued", "runs")):
                raise self.damaged(f"it states that its {name} is {stated[name]}, but it is {fact}")

    def damaged(self, problem: str) -> DamagedTableError:
        """Return the error that states the problem of the file and the command that builds it again."""
        return DamagedTableError(
            f"{self.path} cannot be used: {problem}; build it again with: {self._command('--force')}"
        )

    def _command(self, *options: str) -> str:
        rules = [] if self._variant is Variant.R_MOBILITY else ["--rules", self._variant]
        return shlex.join(["tbgen", "build", *options, self._name, "--dir", str(self.path.parent), *rules])

    @property
    def _variant(self) -> Variant:
        """The variant in the name of the file."""
        named = rules_of_name(self.path)
        return next((variant for variant in Variant if variant == named), Variant.R_MOBILITY)

    def _open(self) -> h5py.File:
        try:
            mode = os.stat(self.path).st_mode
            if stat.S_ISREG(mode):  # opening a pipe would block until it has a writer
                return open_file(self.path)
        except FileNotFoundError:
            raise MissingTableError(self._name, self.path.parent, self._variant) from None
        except NotADirectoryError:
            raise TbgenError(f"{self.path.parent} is not a directory; choose another with --dir") from None
        except PermissionError:
            raise TbgenError(f"no permission to read {self.path}: change its permissions") from None
        except (OSError, RuntimeError, ValueError) as error:
            problems = (problem for fragment, problem in _PROBLEMS.items() if fragment in str(error))
            raise self.damaged(next(problems, "it is damaged")) from error
        kind = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
        raise DamagedTableError(
            f"{self.path} is {kind}, but has the name of a table: remove it, then build the table "
            f"with: {self._command()}"
        )

    def _load(self) -> None:
        attributes = self._file.attrs
        schema = _SCHEMA_BY_FORMAT.get(bytes(attributes.get("format", b"")))
        if schema is None:
            raise self.damaged("it is not a table of tbgen")
        self.schema = schema
        version = operator.index(attributes["format_version"])
        if version > schema.version:
            raise DamagedTableError(
                f"{self.path} has format version {version} and this tbgen reads version {schema.version}: "
                f"install a newer tbgen, or build it again with: {self._command('--force')}"
            )
        if version < schema.version:
            raise self.damaged(f"its format version {version} is that of an older tbgen")
        if attributes.get("complete") != 1:
            raise self.damaged("its build was interrupted")
        rules = bytes(attributes["rules"]).decode()
        if all(rules != variant for variant in Variant):
            raise self.damaged(f"its rules {quote(rules)} are unknown")
        if rules_of_name(self.path) not in (None, rules):
            raise self.damaged(f"it contains values for the rules {quote(rules)}")
        size = os.fstat(file_descriptor(self._file.id)).st_size
        self.info = TableInfo.of_attributes(self.path, attributes, size)
        self.manifest = self.info.manifest
        if self.manifest.digest != self.info.digest:
            raise self.damaged("its manifest does not match its digest")
        self.layout = layout = layout_of(Material.parse(self.info.material))
        index = (free_men_text(layout), pawns_text(layout), layout.size, layout.phase_size)
        if index != (self.info.free_men, self.info.pawns, self.info.size, self.info.phase_size):
            raise self.damaged("it has another index layout")
        self._load_arrays(self._sizes())

    def _sizes(self) -> dict[str, int]:
        """Return the lengths of those named axes that follow from the attributes."""
        return self.info.sizes()

    def _facts(self) -> dict[str, Any]:
        return self.info.facts()

    def _stated_manifest(self) -> Manifest:
        if self.schema is TABLE:
            return self.manifest
        lines = self.manifest.lines[: 1 + len(self.schema.manifest_attributes)]
        stored = bytes(self._file.attrs["stored"]).decode()
        return Manifest("".join(f"{line}\n" for line in lines) + stored)

    @cached_property
    def _ep_rows(self) -> dict[tuple[int, int], int]:
        return {(phase, square): row for row, (phase, square) in enumerate(self.data(EP_CONFIG).tolist())}


class TableFile(StoredFile):
    """An open plain table. Single look-ups are thread-safe.

    The parameters and exceptions are those of :class:`StoredFile`.
    """

    def fresh(self, side: Side, slot: Slot) -> Entry:
        """Return the code of W, and D in plies, or ``(NONE, 0)`` if the slot has no position."""
        return self._value.item(side, slot), self._depth.item(side, slot)

    def accrued(self, side: Side, slot: Slot, code: Code) -> tuple[Code, int | None]:
        """Return the code of V(P, A), and D(P, A) in plies, for the code of an accrued score A.

        A must be a possible result of folding with g(P), other than g(P) itself. Its rank must not exceed the
        rank of W.
        """
        holder, rank = (0, code) if code < NONE else (1, 255 - code)
        row = 2 * holder + side
        bits, byte = self._mask.chunk_of(row, slot >> 3)
        if not bits[byte] >> (slot & 7) & 1:
            return code, 0
        block = bits[byte - (slot % BLOCK_SLOTS >> 3) : byte]
        skipped = (
            int.from_bytes(block, "little").bit_count() + (bits[byte] & (1 << (slot & 7)) - 1).bit_count()
        )
        run = self._first_run(self._start.item(row, slot // BLOCK_SLOTS), skipped)
        last_run = -1
        while (start := self._run_rank.item(0, run)) % LAST_RUN <= rank:
            last_run = run
            if start >= LAST_RUN:
                break
            run += 1
        if last_run < 0 or (value := self._run_value.item(0, last_run)) == NONE:
            return code, 0
        return self.fresh(side, slot) if value == FRESH else (value, self._run_depth.item(0, last_run))

    def prefetch(self, states: Iterable[tuple[Side, Slot, int]]) -> None:
        """Do nothing: single look-ups are fast; see :meth:`tbgen.tables.file.PackedFile.prefetch`."""

    def _first_run(self, run: int, skip_count: int) -> int:
        """Skip slots with runs, and return the first run of the slot after them.

        :param run: first run of the first slot to skip.
        :param skip_count: number of slots to skip, each with runs.
        """
        while skip_count:
            chunk, index = self._run_rank.chunk_of(0, run)
            ends = np.flatnonzero(np.frombuffer(chunk, np.uint8)[index:] & LAST_RUN)
            if ends.size >= skip_count:
                return run + int(ends[skip_count - 1]) + 1
            skip_count -= ends.size
            run += len(chunk) - index
        return run

    def read(self, threads: int = 2) -> Table:
        """Read the whole table into memory, without checking its digest."""
        arrays = {dataset_schema: self.data(dataset_schema, threads) for dataset_schema in TABLE.datasets}
        return Table(
            self.layout.material,
            self.info.variant,
            arrays[schema.VALUE],
            arrays[schema.DEPTH].astype(np.uint16, copy=False),
            arrays[schema.RUN_MASK].view("<u8").astype(np.uint64, copy=False),
            arrays[schema.RUN_RANK],
            arrays[schema.RUN_VALUE],
            arrays[schema.RUN_DEPTH].astype(np.uint16, copy=False),
            *self.en_passant_arrays(),
        )

    def read_fresh(self, threads: int = 2) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
        """Read the fresh values and depths, both of shape (2, size), and compare them with the manifest.

        :raises DamagedTableError: if they differ, because tables built from them would be wrong.
        """
        value, depth = (self._read_checked(dataset, threads) for dataset in (schema.VALUE, schema.DEPTH))
        return value, depth.astype(np.uint16, copy=False)

    def read_side(self, phase: int, side: Side, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> None:
        """Fill arrays of shape (phase size,) with the fresh values and depths of a phase with ``side`` to
        move.

        The checksum of every chunk is checked, but not the digest of the table.

        :raises DamagedTableError: if a chunk does not decode.
        """
        self.read_slots(side, phase * len(value), value, depth)

    def read_slots(self, side: int, start: int, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> None:
        """Fill arrays of shape (n,) with the fresh values and depths of n slots, the first one ``start``.

        :param side: side to move.
        :raises DamagedTableError: if a chunk does not decode.
        """
        self.read_part(schema.VALUE, side, start, value)
        self.read_part(schema.DEPTH, side, start, depth)

    def _read_checked(self, dataset_schema: DatasetSchema, threads: int) -> NDArray[Any]:
        data = self.data(dataset_schema, threads)
        if manifest_line(dataset_schema.name, data.dtype, data.shape, [data.data]) not in self.manifest.lines:
            raise self.damaged(f"its {dataset_schema.name} does not match its digest")
        return data

    def _load(self) -> None:
        super()._load()
        if self.schema is not TABLE:
            raise self.damaged("it is packed, but a plain table is expected")
        arrays = self._arrays
        self._value, self._depth = arrays[schema.VALUE], arrays[schema.DEPTH]
        self._mask, self._start = arrays[schema.RUN_MASK], arrays[schema.RUN_START]
        self._run_rank, self._run_value = arrays[schema.RUN_RANK], arrays[schema.RUN_VALUE]
        self._run_depth = arrays[schema.RUN_DEPTH]


class LoadedTable:
    """The values, depths and runs of a plain table, loaded into memory.

    :ivar value: shape (2, size): codes of W.
    :ivar depth: shape (2, size): D in plies.
    :raises DamagedTableError: if the file does not decode.
    """

    def __init__(self, file: TableFile) -> None:
        self.value, self.depth = file.data(schema.VALUE), file.data(schema.DEPTH)
        self.run_rank, self.run_value = file.data(schema.RUN_RANK), file.data(schema.RUN_VALUE)
        self.run_depth = file.data(schema.RUN_DEPTH)
        self._mask = file.data(schema.RUN_MASK).view("<u8").reshape(4, -1)
        count = np.bitwise_count(self._mask).astype(np.int64)
        self._slots_before = np.cumsum(count).reshape(count.shape) - count  # slots with runs before each word
        self._first_runs = np.concatenate([[0], np.flatnonzero(self.run_rank >= LAST_RUN) + 1])

    @property
    def nbytes(self) -> int:
        """Size of the arrays in bytes."""
        return sum(array.nbytes for array in vars(self).values())

    @property
    def stores_accrued(self) -> bool:
        """Whether the table stores values for accrued scores."""
        return bool(self._mask.size)

    def runs(
        self, holder: NDArray[np.int64] | int, side: NDArray[np.uint8] | int, slots: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the runs of slots for the accrued scores of a holder, as two arrays of shape (n,).

        For each run, the first array contains the index of its slot in ``slots``, and the second array
        contains the index of the run. The runs of a slot are in order of rising rank.
        """
        row = 2 * holder + side
        word = slots >> 6
        bit = (slots & 63).astype(np.uint64)
        mask = self._mask[row, word]
        one = np.uint64(1)
        index = np.flatnonzero(mask >> bit & one)
        earlier_in_word = np.bitwise_count(mask[index] & (one << bit[index]) - one)
        set_bits_before = self._slots_before[row, word][index] + earlier_in_word
        counts = self._first_runs[set_bits_before + 1] - self._first_runs[set_bits_before]
        return np.repeat(index, counts), joined_ranges(self._first_runs[set_bits_before], counts)

    def look_up(
        self, side: NDArray[np.uint8], slots: NDArray[np.int64], accrued: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
        """Return the values and depths of states, as :meth:`tbgen.tables.file.PackedFile.look_up` does for a
        packed table.

        Slots without a position have the value NONE and the depth 0.
        """
        value, depth = self.value[side, slots], self.depth[side, slots].astype(np.int32)
        rank = np.minimum(accrued, 255 - accrued)
        rows = np.flatnonzero((accrued >= 0) & (rank <= np.minimum(value, 255 - value)))
        if not len(rows):
            return value, depth
        code = accrued[rows]
        stored = np.full(len(rows), NONE, np.uint8)
        plies = np.zeros(len(rows), np.int32)
        index, run = self.runs((code > NONE).astype(np.int64), side[rows], slots[rows])
        counts = self.run_rank[run] % LAST_RUN <= rank[rows][index]
        index, run = index[counts], run[counts]
        stored[index], plies[index] = self.run_value[run], self.run_depth[run]  # the last run of a slot wins
        inherits = stored != FRESH
        rows, code, stored, plies = rows[inherits], code[inherits], stored[inherits], plies[inherits]
        value[rows] = np.where(stored == NONE, code, stored)
        depth[rows] = plies
        return value, depth
