"""What a directory has of tables, and of layers beside them: longest states, and digests to compare."""

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
from tbgen.documents import Count, Document, Plies, ScoreText
from tbgen.errors import MissingTableError, TbgenError
from tbgen.index.layout import Side, Slot
from tbgen.index.position import position_of
from tbgen.index.table import LAST_RUN
from tbgen.store import schema
from tbgen.store.format import BLOCK, TableInfo, layers_beside, table_path, tables_in
from tbgen.store.table_file import StoredFile

_BLOCK_BYTES: Final = BLOCK // 8


class LongestState(Document):
    """A state: a position and what has accrued, None where that is the score of the position itself."""

    fen: str
    accrued: ScoreText | None


def longest_state(file: StoredFile) -> LongestState | None:
    """Return a state whose depth is the greatest of a plain table, a fresh one if there is such; None for a
    packed table, which has no depths of accrued scores.

    :raises DamagedTableError: if the depths do not decode.
    """
    if file.info.packed:
        return None
    longest = file.info.max_depth
    depth = file.data(schema.DEPTH)
    for side in Side(0), Side(1):
        if (slot := _first(depth[side], longest)) is not None:
            return LongestState(position_of(file.layout, side, Slot(slot)).fen(), None)
    if (run := _first(file.data(schema.RUN_DEPTH), longest)) is not None:
        return _state_of_run(file, run)
    configurations, _, ep_depth = file.en_passant_arrays()
    for (phase, square), depths in zip(configurations.tolist(), ep_depth, strict=True):
        if (within := _first(depths, longest)) is not None:
            slot, side = phase * file.info.phase_size + within, Side(square < 32)
            return LongestState(position_of(file.layout, side, Slot(slot), square).fen(), None)
    raise file.damaged(f"no state has its greatest depth, {longest} plies")


def _first(depths: NDArray[Any], wanted: int) -> int | None:
    places = np.flatnonzero(depths == wanted)
    return int(places[0]) if places.size else None


def _state_of_run(file: StoredFile, run: int) -> LongestState:
    """Return the state with which a run begins.

    The runs of a block begin where the block's ``start`` says, and each slot with a bit in the mask has runs
    up to its last one.
    """
    start, ranks = file.data(schema.RUN_START), file.data(schema.RUN_RANK)
    row, block = divmod(int(np.searchsorted(start.reshape(-1), run, "right")) - 1, start.shape[-1])
    holder, side = divmod(row, 2)
    before = int(np.count_nonzero(ranks[int(start[holder, side, block]) : run] & LAST_RUN))
    mask = file.data(schema.RUN_MASK)[holder, side, block * _BLOCK_BYTES : (block + 1) * _BLOCK_BYTES]
    within = int(np.flatnonzero(np.unpackbits(mask, bitorder="little"))[before])
    board = position_of(file.layout, Side(side), Slot(block * BLOCK + within))
    return LongestState(board.fen(), str(GScore(int(ranks[run] % LAST_RUN), holder == 0)))


EXPECTED_MEN: Final = 4
"""Men up to which all tables are expected."""


_FACTS: Final = (
    *("material", "form", "runs", "max_depth", "bytes", "format_version"),
    *("tbgen_version", "build_seconds", "parameters", "digest"),
)
"""What a document about a table has as :class:`TableInfo` says it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known about one material."""

    material: Material
    info: TableInfo | None = None
    counts: tuple[Mapping[GScore, int], ...] | None = None
    """Positions up to symmetry per value, White and Black to move; None unless they were to be counted."""
    longest: LongestState | None = None
    """A state that takes longest, of a plain table whose positions were counted."""
    error: TbgenError | None = None
    """Why there is no ``info``."""
    layers: int = 0
    """Layers kept beside the table."""
    layer_bytes: int = 0

    @property
    def missing(self) -> bool:
        """Whether the table has not been built."""
        return isinstance(self.error, MissingTableError)

    def document(self) -> "TableDocument":
        """Return what is known about a table that is there, with the counts if there are any.

        :raises ValueError: if there is no ``info``.
        """
        info = self.info
        if info is None:
            raise ValueError(f"nothing is known about {self.material}")
        known: dict[str, Any] = {name: getattr(info, name) for name in _FACTS}
        known |= {
            "rules": info.variant,
            "positions": PositionCounts(*info.positions, info.ep_positions),
            "accrued": info.stores_accrued,
            "layers": self.layers,
            "layer_bytes": self.layer_bytes,
            "fresh_digest": info.manifest.fresh,
        }
        if self.counts is None:
            return TableDocument(**known)
        white, black = (
            {str(score): count for score, count in sorted(values.items(), reverse=True)}
            for values in self.counts
        )
        return CountedTableDocument(**known, values=ValueCounts(white, black), longest=self.longest)


Digest: TypeAlias = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class PositionCounts(Document):
    """Legal positions up to symmetry by side to move, and those with an en passant right."""

    white: Count
    black: Count
    en_passant: Count


class TableDocument(Document):
    """What a table says about itself."""

    material: str
    rules: Variant
    positions: PositionCounts
    form: Literal["plain", "packed"]
    accrued: bool
    runs: Count
    max_depth: Plies
    bytes: Count
    layers: Count
    layer_bytes: Count
    format_version: Count
    tbgen_version: str
    build_seconds: Annotated[float, Meta(ge=0)]
    parameters: dict[str, Any]
    digest: Digest
    fresh_digest: Digest


class ValueCounts(Document):
    """Positions up to symmetry that have each value, by side to move, best for White first."""

    white: dict[ScoreText, Annotated[int, Meta(ge=1)]]
    black: dict[ScoreText, Annotated[int, Meta(ge=1)]]


class CountedTableDocument(TableDocument):
    """What a table says about itself, and how many positions have each value."""

    values: ValueCounts
    longest: LongestState | None
    """A state whose depth is ``max_depth``; null for a packed table."""


def inventory(
    directory: Path, variant: Variant, materials: Iterable[Material] | None = None, *, counts: bool = False
) -> list[Entry]:
    """Return what a directory has of some tables.

    :param materials: which tables; by default those of up to four men, and those of five once there is one.
    :param counts: whether to count the positions of every value and to seek a longest state, which reads the
        tables.
    """
    wanted = _expected(directory, variant) if materials is None else materials
    return [_entry(material, directory, variant, counts) for material in wanted]


def _expected(directory: Path, variant: Variant) -> list[Material]:
    found = tables_in(directory, variant)
    men = max([EXPECTED_MEN, *(material.men for material in found)])
    return sorted({*all_materials(men), *found})


def _entry(material: Material, directory: Path, variant: Variant, counted: bool) -> Entry:
    path = table_path(directory, material.name, variant)
    try:
        with StoredFile(path, material=material) as file:
            sizes = list(_sizes(layers_beside(path)))
            counts = tuple(file.counts()) if counted else None
            longest = longest_state(file) if counted else None
            return Entry(material, file.info, counts, longest, layers=len(sizes), layer_bytes=sum(sizes))
    except TbgenError as error:
        return Entry(material, error=error)


def _sizes(paths: Iterable[Path]) -> Iterator[int]:
    for path in paths:
        with suppress(FileNotFoundError):  # removed a moment ago
            yield path.stat().st_size


def digest_line(entry: Entry, variant: Variant) -> str:
    """Return the digests that a table's file states, as a line for comparison."""
    info = entry.info
    if info is None:
        return f"{entry.material} {variant} {'missing' if entry.missing else 'damaged'}"
    stored = "left-out"
    if info.stores_accrued:
        stored = "values" if info.packed else "stored"
    return f"{entry.material} {variant} {info.manifest.fresh} {stored} {info.digest}"


def set_digests(entries: Sequence[Entry]) -> tuple[str, str] | None:
    """Return the SHA-256 of the lines ``material rules fresh`` and of the lines ``material rules digest``.

    None if a table is missing or damaged.
    """
    fresh, digest = hashlib.sha256(), hashlib.sha256()
    for entry in entries:
        if entry.info is None:
            return None
        name = f"{entry.material} {entry.info.variant}"
        fresh.update(f"{name} {entry.info.manifest.fresh}\n".encode())
        digest.update(f"{name} {entry.info.digest}\n".encode())
    return fresh.hexdigest(), digest.hexdigest()
