"""Exporting tables as flat files, which programs such as the C library map into memory (docs/native.md).

A flat file consists of a header, the sections, and a checksum for every page of :data:`PAGE_BYTES` bytes.
"""

import mmap
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import permutations, product
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.variant import Variant, unlisted_error
from tbgen.documents import Document
from tbgen.errors import DamagedTableError, LimitError, MissingTableError
from tbgen.exchange.publish import chosen_tables
from tbgen.index.layout import IMAGE, MIRROR_FILES, Layout
from tbgen.store import schema
from tbgen.store.format import table_path
from tbgen.system.files import atomic_write, make_directory, open_nonblocking, write_errors
from tbgen.tables.coding import KIND_LEVELS, coding_of, exceptions_of
from tbgen.tables.files import open_table
from tbgen.tables.open_table import OpenTable
from tbgen.tables.structs import Levels, Model

VERSION: Final = 3
"""Version of the format, incremented by every change that an older reader would misread."""
MAX_NUMBER: Final = (1 << 32) - 1
"""Greatest number that the sections with four bytes for each number can store."""
PAGE_BYTES: Final = 4096
"""Number of bytes that each checksum covers."""
SUFFIX: Final = ".flat"

_EMPTY: Final[NDArray[Any]] = np.zeros(0, np.uint8)

_HEADER_STRUCT: Final = struct.Struct("<8sIIQ16sBBBx32s4x")
"""Magic, version, checksum, size of the file, material, rules, form, stored side, digest of the table."""
_EXTENT_STRUCT: Final = struct.Struct("<QQ")
"""Offset and length in bytes of a section."""
_MAGIC: Final = b"tbgflat\0"
_CHECKSUM_OFFSET: Final = 12
"""Offset of the checksum in the header, in bytes."""
_ALIGNMENT_BYTES: Final = 64
"""Alignment of sections in bytes."""
_DIVIDED: Final = 1 << 31
"""Flag in the entry of a context: the other bits are the index of an entry, not the number of a step."""
_EXCEPTION_BITS: Final = 16
"""Number of low bits of a slot that the list of exceptions stores."""
_NO_PHASE: Final = 0xFFFFFFFF


class Sections(NamedTuple):
    """The sections of a file, in the order of the header and of the file. Those of the other form are empty.

    docs/native.md contains the descriptions. They name the datasets of tables with the same data.
    """

    phase: NDArray[np.uint32] = _EMPTY
    """Both forms, 48^pawns: 4 times the phase, plus 1 if the position must be mirrored (``s ^ 7``), plus 2 if
    the mirror image of the pawns is in the same phase; 2^32 - 1 where two pawns are on one square. The digits
    of the index in base 48 are the squares of the pawns, less 8: White's first, then Black's, those of a side
    in any order. Empty without pawns."""
    ep_config: NDArray[np.uint32] = _EMPTY
    """Both forms: 64 times the phase plus the target square of every possible en passant capture,
    ascending."""
    code: NDArray[np.uint8] = _EMPTY
    """Packed: ``fresh/code``."""
    value_start: NDArray[np.uint32] = _EMPTY
    """Packed: entries of the contexts of value symbols."""
    value_step: NDArray[np.void] = _EMPTY
    """Packed: steps of value symbols."""
    depth_start: NDArray[np.uint32] = _EMPTY
    """Packed: entries of the contexts of half depths."""
    depth_step: NDArray[np.void] = _EMPTY
    """Packed: steps of half depths."""
    function_start: NDArray[np.uint32] = _EMPTY
    """Packed: entries of the contexts of functions; empty for ``wg``."""
    function_step: NDArray[np.void] = _EMPTY
    """Packed: steps of functions; empty for ``wg``."""
    value: NDArray[np.uint8] = _EMPTY
    """Plain: ``value``."""
    depth: NDArray[np.uint8 | np.uint16] = _EMPTY
    """Plain: ``depth``."""
    run_mask: NDArray[np.uint64] = _EMPTY
    """Plain, (2, 2, size / 64): ``accrued/mask``, a bit for each slot."""
    run_start: NDArray[np.uint32] = _EMPTY
    """Plain, (2, 2, size / 64): for each word of ``run_mask``, the number of runs before its first run."""
    run_rank: NDArray[np.uint8] = _EMPTY
    """Plain: ``accrued/rank``."""
    run_value: NDArray[np.uint8] = _EMPTY
    """Plain: ``accrued/value``."""
    run_depth: NDArray[np.uint8 | np.uint16] = _EMPTY
    """Plain: ``accrued/depth``."""
    block_start: NDArray[np.uint32] = _EMPTY
    """Packed, 3 blocks + 1: for each block, where its bytes of value symbols, of half depths and of functions
    begin."""
    block_data: NDArray[np.uint8] = _EMPTY
    """Packed: ``block/data``."""
    exception_start: NDArray[np.uint32] = _EMPTY
    """Packed, size / 65536 + 2: element n is the number of exceptions in slots below 65536 n."""
    exception_slot: NDArray[np.uint16] = _EMPTY
    """Packed: slots of the exceptions, ascending, modulo 65536."""
    exception_value: NDArray[np.uint8] = _EMPTY
    """Packed: ``exception/value``."""
    exception_depth: NDArray[np.uint8 | np.uint16] = _EMPTY
    """Packed: ``exception/depth``."""
    entry_start: NDArray[np.uint32] = _EMPTY
    """Packed: ``accrued/start``."""
    entry_from: NDArray[np.uint8] = _EMPTY
    """Packed: ``accrued/from``."""
    entry_value: NDArray[np.uint8] = _EMPTY
    """Packed: ``accrued/value``."""
    ep_value: NDArray[np.uint8] = _EMPTY
    """Both forms: ``ep/value``, rows in the order of ``ep_config``."""
    ep_depth: NDArray[np.uint8 | np.uint16] = _EMPTY
    """Both forms: ``ep/depth``, rows in the order of ``ep_config``."""


def flat_path(directory: Path, material: str, variant: Variant) -> Path:
    """Return the path of the flat file of a table in a directory.

    >>> flat_path(Path("flat"), "KBvK", Variant.R_MOBILITY).as_posix()
    'flat/KBvK.r.flat'
    """
    return directory / f"{material}.{variant}{SUFFIX}"


def is_flat_file_of(path: Path, table: OpenTable) -> bool:
    """Return whether a file's header, size and checksums are those of a table's undamaged flat file."""
    try:
        with open(path, "rb", opener=open_nonblocking) as file:
            header = file.read(PAGE_BYTES)
            size = path.stat().st_size
    except OSError:
        return False
    fields = _HEADER_STRUCT.unpack_from(header.ljust(PAGE_BYTES, b"\0"))
    if fields[:4] != (_MAGIC, VERSION, _header_checksum(header), size) or fields[-1] != _digest(table):
        return False
    end, _ = _EXTENT_STRUCT.unpack_from(
        header, _HEADER_STRUCT.size + _EXTENT_STRUCT.size * len(Sections._fields)
    )
    stated_checksums = np.fromfile(path, "<u4", offset=end)
    return np.array_equal(stated_checksums, np.fromiter(_page_checksums(path, end), "<u4"))


def write_flat(table: OpenTable, path: Path) -> int:
    """Write the flat file of a table. The file gets its final name once it is complete and checked.

    :returns: size of the file in bytes.
    :raises DamagedTableError: if the table cannot be used.
    :raises TbgenError: if the file cannot be written; no temporary file remains.
    """
    if table.info.variant.layered and not table.info.stores_accrued:
        raise table.damaged("it was built without accrued scores")
    sections = Sections(**(_packed_sections(table) if table.info.derives else _plain_sections(table)))
    with atomic_write(path) as temporary, write_errors(path):
        with temporary.open("wb") as file:
            file.write(bytes(PAGE_BYTES))
            extents = []
            for section in sections:
                file.write(bytes(-file.tell() % _ALIGNMENT_BYTES))
                data = np.ascontiguousarray(section)
                extents.append((file.tell(), data.nbytes))
                file.write(data.data)
            file.write(bytes(-file.tell() % PAGE_BYTES))
            extents.append((file.tell(), 4 * (file.tell() // PAGE_BYTES - 1)))
        checksums = np.fromiter(_page_checksums(temporary, extents[-1][0]), "<u4")
        with temporary.open("r+b") as file:
            file.seek(extents[-1][0])
            file.write(checksums.data)
            size = file.tell()
            file.seek(0)
            file.write(_header(table, size, extents))
        _check_sections(temporary, sections, extents)
    return size


def _digest(table: OpenTable) -> bytes:
    return bytes.fromhex(table.info.digest)


def _header(table: OpenTable, size: int, extents: list[tuple[int, int]]) -> bytes:
    info = table.info
    fields = (_variant_number(info.variant), int(info.derives), table.stored_side or 0)
    head = _HEADER_STRUCT.pack(_MAGIC, VERSION, 0, size, info.material.encode(), *fields, _digest(table))
    header = bytearray((head + b"".join(_EXTENT_STRUCT.pack(*e) for e in extents)).ljust(PAGE_BYTES, b"\0"))
    struct.pack_into("<I", header, _CHECKSUM_OFFSET, _header_checksum(header))
    return bytes(header)


def _variant_number(variant: Variant) -> int:
    """Return the number that stands for a variant in the header."""
    match variant:
        case Variant.R_MOBILITY:
            return 0
        case Variant.WHOLE_GAME:
            return 1
        case other:
            raise unlisted_error(other)


def _header_checksum(header: bytes | bytearray) -> int:
    """Return the CRC-32 of a header, computed with 0 in place of its checksum."""
    return zlib.crc32(header[:_CHECKSUM_OFFSET] + bytes(4) + header[_CHECKSUM_OFFSET + 4 :])


def _page_checksums(path: Path, end: int) -> Iterator[int]:
    """Yield the CRC-32 of every page between the header and the offset ``end``."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for start in range(PAGE_BYTES, end, PAGE_BYTES):
            yield zlib.crc32(data[start : start + PAGE_BYTES])


def _check_sections(path: Path, sections: Sections, extents: list[tuple[int, int]]) -> None:
    """Read a file back and compare it with the sections that were written.

    :raises DamagedTableError: if the file differs from the sections.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for section, (start, size) in zip(sections, extents, strict=False):
            if data[start : start + size] != np.ascontiguousarray(section).tobytes():
                raise DamagedTableError(f"{path} differs from what was written: check the disk, try again")


def _plain_sections(table: OpenTable) -> dict[str, NDArray[Any]]:
    """Return the sections of a plain table."""
    mask = table.data(schema.RUN_MASK).view("<u8")
    return {
        **_shared_sections(table),
        "value": table.data(schema.VALUE),
        "depth": table.data(schema.DEPTH),
        "run_mask": mask,
        "run_start": _first_runs(np.bitwise_count(mask.reshape(-1)), table.data(schema.RUN_RANK)),
        "run_rank": table.data(schema.RUN_RANK),
        "run_value": table.data(schema.RUN_VALUE),
        "run_depth": table.data(schema.RUN_DEPTH),
    }


def _first_runs(slot_counts: NDArray[np.uint8], run_ranks: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """Return, for each word of a mask, the number of runs before the word's first run.

    :param slot_counts: uint8 (words,): number of slots of the word that have runs.
    :param run_ranks: uint8 (runs,): rank of each run; the highest bit marks the last run of a slot.
    """
    ends = np.concatenate([[0], np.flatnonzero(run_ranks >> 7) + 1])
    return _four_bytes(ends[np.cumsum(slot_counts, dtype=np.int64) - slot_counts])


def _four_bytes(numbers: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Return numbers as four bytes each.

    :raises LimitError: if a number exceeds :data:`MAX_NUMBER`.
    """
    if numbers.max(initial=0) > MAX_NUMBER:
        raise LimitError(f"the table is too large for a flat file: a number is greater than {MAX_NUMBER}")
    return numbers.astype("<u4")


def _shared_sections(table: OpenTable) -> dict[str, NDArray[Any]]:
    """Return the sections that both forms have."""
    config = table.data(schema.EP_CONFIG).astype(np.int64)
    entries = config[:, 0] << 6 | config[:, 1]
    order = np.argsort(entries)
    return {
        "phase": _phase_entries(table.layout),
        "ep_config": entries[order].astype("<u4"),
        "ep_value": table.data(schema.EP_VALUE)[order],
        "ep_depth": table.data(schema.EP_DEPTH)[order],
    }


def _phase_entries(layout: Layout) -> NDArray[np.uint32]:
    """Return, for every tuple of pawn squares, the entry that describes its phase.

    An entry is 4 times the phase, plus 1 if the placement has to be mirrored, plus 2 if its mirror image
    belongs to the same phase. The entry is ``_NO_PHASE`` if no phase has these squares.

    :returns: uint32 (48 ** pawns,), empty without pawns. The base-48 digits of an index are the squares
        minus 8.
    """
    if not layout.pawns:
        return np.zeros(0, np.uint32)
    entries = np.full(48**layout.pawns, _NO_PHASE, "<u4")
    for placement, phase in layout.phase_by_placement.items():
        mirrored_placement = tuple(IMAGE[MIRROR_FILES][square] for square in placement)
        same_flag = 2 * (layout.placement_of(mirrored_placement) == placement)
        for image, flags in ((mirrored_placement, same_flag + 1), (placement, same_flag)):
            white, black = image[: layout.white_pawns], image[layout.white_pawns :]
            for white_order, black_order in product(permutations(white), permutations(black)):
                index = 0
                for square in (*white_order, *black_order):
                    index = index * 48 + square - 8
                entries[index] = 4 * phase + flags
    return entries


def _packed_sections(table: OpenTable) -> dict[str, NDArray[Any]]:
    """Return the sections of a packed table."""
    coding = coding_of(table)
    stream = coding.stream
    models = coding.value_model, coding.depth_model, coding.function_model
    lengths = np.stack([stream.value_length, stream.depth_length, stream.function_length], axis=1)
    exception_slots, exception_values, _ = exceptions_of(table)
    buckets = np.arange((table.info.size >> _EXCEPTION_BITS) + 2) << _EXCEPTION_BITS
    sections = {
        **_shared_sections(table),
        "code": coding.code,
        "block_start": _four_bytes(np.cumsum([0, *lengths.reshape(-1)], dtype=np.int64)),
        "block_data": stream.data,
        "exception_start": _four_bytes(np.searchsorted(exception_slots, buckets)),
        "exception_slot": (exception_slots & (1 << _EXCEPTION_BITS) - 1).astype("<u2"),
        "exception_value": exception_values,
        "exception_depth": table.data(schema.EXCEPTION_DEPTH),
        "entry_start": table.data(schema.FUNCTION_START),
        "entry_from": coding.entry_accrued,
        "entry_value": coding.entry_value,
    }
    kinds = ("value", "depth", "function") if table.info.stores_accrued else ("value", "depth")
    for kind, levels, model in zip(kinds, KIND_LEVELS, models, strict=False):
        sections[f"{kind}_start"] = _context_entries(levels, _first_lines(model))
        sections[f"{kind}_step"] = model.symbol  # the lines of the model are the steps
    return sections


def _first_lines(model: Model) -> NDArray[np.uint16]:
    """Return the first line of each context of the last level, uint16 (contexts,)."""
    by_node = model.first_line.reshape(-1, model.divided).T
    tree_node = model.tree_node
    lines = np.broadcast_to((tree_node - model.divided)[:, None], (len(tree_node), by_node.shape[1])).copy()
    divided = tree_node < model.divided
    lines[divided] = by_node[tree_node[divided]]
    return lines.reshape(-1)


def _context_entries(levels: Levels, first_step: NDArray[np.uint16]) -> NDArray[np.uint32]:
    """Return the entries of a tree of contexts, level by level.

    The entry of a context is its first step if all contexts that refine it have this step. Otherwise it is
    the index of the first entry of the contexts that refine it on the next level, plus ``_DIVIDED``.

    :param first_step: uint16 (contexts,): first step of each context of the last level.
    """
    found = [first_step.astype(np.int64)]
    for divided in reversed(levels[1:]):
        children = found[0].reshape(-1, divided)
        found.insert(0, np.where((children == children[:, :1]).all(axis=1), children[:, 0], -1))
    contexts = np.arange(levels[0])
    entries = np.zeros(0, "<u4")
    for level, divided in zip(found, (*levels[1:], 0), strict=True):
        entry = level[contexts]
        parents = contexts[entry < 0]
        end = len(entries) + len(entry)
        entry[entry < 0] = _DIVIDED + end + divided * np.arange(len(parents))
        entries = np.append(entries, entry.astype("<u4"))
        contexts = (parents[:, None] * divided + np.arange(divided)).reshape(-1)
    return entries


class ExportedTable(Document, rename={"size": "bytes", "is_new": "written"}):
    """A flat file in the target directory.

    :ivar file: name of the file.
    :ivar size: size of the file in bytes.
    :ivar is_new: True if the file was written, False if it already existed.
    """

    file: str
    material: Material
    rules: Variant
    size: int
    is_new: bool


def export(
    directory: Path,
    target: Path,
    variants: Iterable[Variant],
    materials: Iterable[Material] | None = None,
    *,
    report: Callable[[ExportedTable, int, int], None] = lambda *_: None,
) -> list[ExportedTable]:
    """Write tables as flat files (docs/native.md) to a directory, and return them in build order.

    An existing flat file is kept if it is undamaged. Before a file is written, its table is read and checked
    against the table's digest.

    :param materials: the tables to export, together with their sub-tables; None for all.
    :param report: called with each table, its number, and the number of tables.
    :raises NoTablesError: if there are no tables.
    :raises MissingTableError: before anything is written, if a table is missing.
    :raises DamagedTableError: if a table cannot be used.
    :raises TbgenError: if a file cannot be written.
    """
    tables = chosen_tables(directory, tuple(variants), materials)
    for material, variant in reversed(tables):  # report the largest: building it builds the others too
        if not table_path(directory, material.name, variant).exists():
            raise MissingTableError(material.name, directory, variant)
    make_directory(target)
    exported_tables = []
    for table_number, (material, variant) in enumerate(tables, 1):
        exported_tables.append(_export_table(directory, target, material, variant))
        report(exported_tables[-1], table_number, len(tables))
    return exported_tables


def _export_table(directory: Path, target: Path, material: Material, variant: Variant) -> ExportedTable:
    path = flat_path(target, material.name, variant)
    with open_table(table_path(directory, material.name, variant), material) as table:
        written = not is_flat_file_of(path, table)
        if written:
            table.check()
            write_flat(table, path)
    return ExportedTable(path.name, material, variant, path.stat().st_size, written)
