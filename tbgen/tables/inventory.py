"""The inventory of a directory: its tables and layers, with counts, deepest states, and digests to
compare."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from tbgen.board.material import Material, all_materials
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.documents import Count, Document, Plies
from tbgen.errors import MissingTableError, TbgenError
from tbgen.index.codes import LAST_RUN
from tbgen.index.layout import Side, Slot
from tbgen.index.position import any_board_of
from tbgen.store import schema
from tbgen.store.format import BLOCK_SLOTS, TableInfo, layer_files_beside, table_path, tables_in
from tbgen.tables.files import open_table
from tbgen.tables.open_table import OpenTable

_BLOCK_BYTES: Final = BLOCK_SLOTS // 8

MAX_EXPECTED_MEN: Final = 4
"""Greatest number of men for which a directory is expected to contain all tables."""

Digest: TypeAlias = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]

_ScoreCounts: TypeAlias = Annotated[
    dict[GScore, Annotated[int, Meta(ge=1)]],
    Meta(extra_json_schema={"propertyNames": {"pattern": GScore.JSON_SCHEMA["pattern"]}}),
]


class LongestState(Document):
    """A state with the greatest depth in a table."""

    fen: str
    accrued: GScore | None
    """The accrued score; None for a fresh state."""


def deepest_state(file: OpenTable) -> LongestState | None:
    """Return a state with the greatest depth in a plain table, if possible a fresh state.

    The result is None for a packed table, which stores no depths for accrued scores.

    :raises DamagedTableError: if the depths do not decode.
    """
    if file.info.derives:
        return None
    max_depth = file.info.max_depth
    depth = file.data(schema.DEPTH)
    for side in Side(0), Side(1):
        if (slot := _first_index(depth[side], max_depth)) is not None:
            return LongestState(any_board_of(file.layout, side, Slot(slot)).fen(), None)
    if (run := _first_index(file.data(schema.RUN_DEPTH), max_depth)) is not None:
        return _state_of_run(file, run)
    configurations, _, ep_depth = file.en_passant_arrays()
    for (phase, square), depths in zip(configurations.tolist(), ep_depth, strict=True):
        if (slot_in_phase := _first_index(depths, max_depth)) is not None:
            slot = phase * file.info.phase_size + slot_in_phase
            side = Side(square < 32)
            return LongestState(any_board_of(file.layout, side, Slot(slot), square).fen(), None)
    raise file.damaged(f"no state has its greatest depth, {max_depth} plies")


def _first_index(depths: NDArray[Any], depth: int) -> int | None:
    indices = np.flatnonzero(depths == depth)
    return int(indices[0]) if indices.size else None


def _state_of_run(file: OpenTable, run: int) -> LongestState:
    """Return the state at the beginning of a run.

    ``start`` contains the index of the first run of each block of slots. Each slot with a bit in the mask has
    one or more runs, of which the last is marked by ``LAST_RUN``.
    """
    start, ranks = file.data(schema.RUN_START), file.data(schema.RUN_RANK)
    row, block = divmod(int(np.searchsorted(start.reshape(-1), run, "right")) - 1, start.shape[-1])
    holder, side = divmod(row, 2)
    slots_before = int(np.count_nonzero(ranks[int(start[holder, side, block]) : run] & LAST_RUN))
    mask = file.data(schema.RUN_MASK)[holder, side, block * _BLOCK_BYTES : (block + 1) * _BLOCK_BYTES]
    slot_in_block = int(np.flatnonzero(np.unpackbits(mask, bitorder="little"))[slots_before])
    board = any_board_of(file.layout, Side(side), Slot(block * BLOCK_SLOTS + slot_in_block))
    return LongestState(board.fen(), GScore(int(ranks[run] % LAST_RUN), holder == 0))


@dataclass(frozen=True, slots=True)
class Entry:
    """The entry of one material in an inventory."""

    material: Material
    info: TableInfo | None = None
    counts: tuple[Mapping[GScore, int], ...] | None = None
    """Number of positions up to symmetry with each value, for White and for Black to move; None if not
    requested."""
    longest: LongestState | None = None
    """A state with the greatest depth; None for a packed table or if counts were not requested."""
    error: TbgenError | None = None
    """The reason why ``info`` is None; None if ``info`` is set."""
    layer_count: int = 0
    """Number of layer files beside the table."""
    layer_bytes: int = 0
    """Total size of the layer files in bytes."""

    @property
    def is_missing(self) -> bool:
        """Whether the table has not been built."""
        return isinstance(self.error, MissingTableError)

    def document(self) -> "TableDocument":
        """Return the document about the table, which includes counts if the entry does.

        :raises ValueError: if there is no ``info``.
        """
        info = self.info
        if info is None:
            raise ValueError(f"there is no table of {self.material}")
        counted: dict[str, Any] = {}
        if self.counts is not None:
            values = ValueCounts(*(dict(sorted(counts.items(), reverse=True)) for counts in self.counts))
            counted = {"values": values, "longest": self.longest}
        return (CountedTableDocument if counted else TableDocument).of(
            info,
            rules=info.variant,
            positions=PositionCounts(*info.positions, info.ep_positions),
            accrued=info.stores_accrued,
            layers=self.layer_count,
            layer_bytes=self.layer_bytes,
            fresh_digest=info.manifest.fresh,
            **counted,
        )


class PositionCounts(Document):
    """Number of legal positions up to symmetry: by side to move, and with an en passant right."""

    white: Count
    black: Count
    en_passant: Count


class TableDocument(Document):
    """The contents of the file of a table, as its attributes state them."""

    material: Material
    rules: Variant
    """The table."""
    positions: PositionCounts
    """Number of positions up to symmetry: with ``white`` and ``black`` to move, and with an ``en_passant``
    right."""
    form: Literal["plain", "packed"]
    """The form of the file: ``plain`` or ``packed``."""
    accrued: bool
    runs: Count
    """Whether values of accrued scores are stored, and in how many runs."""
    max_depth: Plies
    """The greatest depth in plies; for a packed table, the greatest fresh depth."""
    bytes: Count
    """The size of the file."""
    layers: Count
    layer_bytes: Count
    """Number and size of the layers kept beside the table."""
    format_version: Count
    tbgen_version: str
    build_seconds: Annotated[float, Meta(ge=0)]
    parameters: dict[str, Any]
    digest: Digest
    fresh_digest: Digest
    """As in docs/format.md."""


class ValueCounts(Document):
    """Number of positions up to symmetry with each value, by side to move, best for White first."""

    white: _ScoreCounts
    black: _ScoreCounts


class CountedTableDocument(TableDocument):
    """The contents of the file of a table, the number of positions of each value, and a deepest state."""

    values: ValueCounts
    """For ``white`` and for ``black`` to move, the number of positions of each value."""
    longest: LongestState | None
    """``fen`` and ``accrued`` of a state whose depth is ``max_depth``; null for a packed table."""


def inventory(
    directory: Path, variant: Variant, materials: Iterable[Material] | None = None, *, counts: bool = False
) -> list[Entry]:
    """Return the entries of materials in a directory.

    :param materials: the materials; None for all materials of up to n men, where n is 4, or the number of men
        of the largest table in the directory if that is greater.
    :param counts: whether to count the positions with each value and to find a deepest state. For this, the
        tables are read.
    """
    wanted_materials = _expected_materials(directory, variant) if materials is None else materials
    return [_entry(material, directory, variant, counts) for material in wanted_materials]


def _expected_materials(directory: Path, variant: Variant) -> list[Material]:
    found = tables_in(directory, variant)
    men = max([MAX_EXPECTED_MEN, *(material.men for material in found)])
    return sorted({*all_materials(men), *found})


def _entry(material: Material, directory: Path, variant: Variant, with_counts: bool) -> Entry:
    path = table_path(directory, material.name, variant)
    try:
        with open_table(path, material) as file:
            sizes = list(_file_sizes(layer_files_beside(path)))
            counts = tuple(file.counts()) if with_counts else None
            longest = deepest_state(file) if with_counts else None
            return Entry(material, file.info, counts, longest, layer_count=len(sizes), layer_bytes=sum(sizes))
    except TbgenError as error:
        return Entry(material, error=error)


def _file_sizes(paths: Iterable[Path]) -> Iterator[int]:
    for path in paths:
        with suppress(FileNotFoundError):  # another process may have removed the layer meanwhile
            yield path.stat().st_size


def digest_line(entry: Entry, variant: Variant) -> str:
    """Return a line with the digests that the file of a table states, to compare two directories."""
    info = entry.info
    if info is None:
        return f"{entry.material} {variant} {'missing' if entry.is_missing else 'damaged'}"
    accrued_column = ("values" if info.derives else "stored") if info.stores_accrued else "left-out"
    return f"{entry.material} {variant} {info.manifest.fresh} {accrued_column} {info.digest}"


def combined_digests(entries: Sequence[Entry]) -> tuple[str, str] | None:
    """Return two digests over all tables: one of their fresh digests, and one of their digests.

    These are the SHA-256 of the lines ``material rules fresh`` and of the lines ``material rules digest``.
    The result is None if a table is missing or damaged.
    """
    fresh, digest = hashlib.sha256(), hashlib.sha256()
    for entry in entries:
        if entry.info is None:
            return None
        name = f"{entry.material} {entry.info.variant}"
        fresh.update(f"{name} {entry.info.manifest.fresh}\n".encode())
        digest.update(f"{name} {entry.info.digest}\n".encode())
    return fresh.hexdigest(), digest.hexdigest()
