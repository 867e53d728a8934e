"""The data of reports as JSON and CSV, and as saved files that can replace the tables.

A saved file is the JSON document of a report (:mod:`tbgen.report.model`) without the parts that can be
derived again; lines are moves in UCI notation. gzip reduces it to a fifth of its size. The same report gives
the same bytes.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from msgspec.structs import astuple, replace

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.errors import DamagedTableError, TbgenError
from tbgen.report.difference import Difference
from tbgen.report.highlights import with_highlights
from tbgen.report.mating import with_verdict
from tbgen.report.model import SIDES, AccruedCounts, OverallRecord, Record, TableReport
from tbgen.report.records import with_moves
from tbgen.store.format import materials_in
from tbgen.system.files import make_directory, write_file
from tbgen.text import csv_text

Row = tuple[Any, ...]


def distribution_rows(report: TableReport) -> Iterator[Row]:
    """Yield a row per side to move and value."""
    found = report.distribution
    for side, name in enumerate(SIDES):
        for value in sorted({*found.board[side], *found.en_passant[side]}, reverse=True):
            counts = (table[side].get(value, 0) for table in (found.board, found.canonical, found.en_passant))
            yield name, value, *counts, f"{found.share(side, value):.9f}"


def depth_rows(report: TableReport) -> Iterator[Row]:
    """Yield a row per side to move, value and depth."""
    for name, depths in report.distribution.depths.items():
        for value, row in depths.items():
            for depth, count in row.items():
                yield name, value, depth, count


def record_rows(report: TableReport) -> Iterator[Row]:
    """Yield a row per value."""
    for record in report.records:
        line = " ".join(point.san for point in record.line)
        yield record.value, record.depth, record.ties, record.fen, line, int(record.verified)


def accrued_rows(report: TableReport) -> Iterator[Row]:
    """Yield a row per side to move and holder of the accrued score, with counts on the board."""
    if report.accrued is not None:
        for to_move, holders in report.accrued.board.items():
            for holder, counts in holders.items():
                yield to_move, holder, *astuple(counts)


def endgame_rows(report: TableReport) -> Iterator[Row]:
    """Yield a row per side to move."""
    for name, side in report.endgame.sides.items():
        share = None if side.mode is None else f"{side.share(side.mode):.9f}"
        numbers = (side.positions, side.over, side.captures, side.total)
        yield name, *numbers, side.mode, side.median, side.best, side.worst, share


def mating_rows(report: TableReport) -> Iterator[Row]:
    """Yield a row per attacker."""
    rule, agrees = report.mating.rule, report.mating.agrees
    right = None if agrees is None else int(agrees)
    for name, truth in report.mating.truth.items():
        chances = (truth.to_move, truth.waiting)
        shares, best = [f"{chance.share:.9f}" for chance in chances], [chance.best for chance in chances]
        divisor = rule.divisor if rule.leader == name else None
        yield name, truth.verdict, truth.mates, *shares, *best, divisor, right


CSV: Final[Mapping[str, tuple[str, Callable[[TableReport], Iterator[Row]]]]] = {
    "distribution": ("to_move value board canonical en_passant share", distribution_rows),
    "depths": ("to_move value depth board", depth_rows),
    "records": ("value depth ties fen line verified", record_rows),
    "accrued": (" ".join(("to_move", "holder", *AccruedCounts.__struct_fields__)), accrued_rows),
    "endgames": ("to_move positions over captures quiet mode median best worst mode_share", endgame_rows),
    "mating": (
        "attacker verdict mates share_to_move share_waiting best_to_move best_waiting divisor rule_agrees",
        mating_rows,
    ),
}
"""CSV files by name: the column titles after material and rules, and the function that yields the rows."""

_TABLE: Final = ("material", "rules", "digest", "tbgen_version", "bytes", "max_depth")
_HOLDER: Final = ("material", "value", "ties", "fen", "verified")


Files = dict[str, str]
"""Contents of files by suffix."""


def table_files(report: TableReport) -> Files:
    """Return the files about one table."""
    return {"json": _json(report.plain())} | {f"{name}.csv": _csv(name, [report]) for name in CSV}


def overview_files(reports: Sequence[TableReport]) -> Files:
    """Return the files about all tables and the distribution of their values."""
    return {"json": _json(list(map(summary, reports))), "csv": _csv("distribution", reports)}


def record_files(reports: Sequence[TableReport], records: Mapping[Variant, Sequence[OverallRecord]]) -> Files:
    """Return the files about the records over all tables and of each table."""
    return {"json": _json(overall_documents(records)), "csv": _csv("records", reports)}


def part_files(part: str, csv: str, reports: Sequence[TableReport]) -> Files:
    """Return the files about one part of some reports; ``csv`` is a name in :data:`CSV`."""
    found = [report.plain("material", "rules", part) for report in reports]
    return {"json": _json(found), "csv": _csv(csv, reports)}


def difference_files(differences: Sequence[Difference]) -> Files:
    """Return the files about the differences between the variants."""
    rows = [
        (found.material, name, pair.r, pair.wg, pair.count)
        for found in differences
        for name, side in found.sides.items()
        for pair in side.pairs
    ]
    head = ("material", "to_move", "r", "wg", "positions")
    return {"json": _json([found.plain() for found in differences]), "csv": csv_text(head, rows)}


def overall_documents(records: Mapping[Variant, Sequence[OverallRecord]]) -> dict[str, list[dict[str, Any]]]:
    """Return the records over many tables by variant, without their lines."""
    return {
        variant.value: [
            overall.plain() | {"holders": [held.plain(*_HOLDER) for held in overall.holders]}
            for overall in found
        ]
        for variant, found in records.items()
    }


def summary(report: TableReport) -> dict[str, Any]:
    """Return the entry of a table in the list of all materials."""
    sides = {
        name: {
            "positions": typical.positions,
            "typical": typical.mode and str(typical.mode),
            **report.distribution.outcomes(side)._asdict(),
        }
        for side, (name, typical) in enumerate(report.endgame.sides.items())
    }
    depths = {str(record.value): record.depth for record in report.records}
    return report.plain(*_TABLE) | sides | {"longest": depths}


def _csv(name: str, reports: Iterable[TableReport]) -> str:
    """Return the content of one of the files of :data:`CSV` about some reports."""
    titles, rows_of = CSV[name]
    rows = ((report.material, report.variant, *row) for report in reports for row in rows_of(report))
    return csv_text(("material", "rules", *titles.split()), rows)


def _json(found: Any) -> str:
    return json.dumps(found, indent=1) + "\n"


_SUFFIX: Final = ".json.gz"

_DIFFERENCE: Final = "difference"
"""The word in place of the variant in the name of a file that compares two variants."""

_UNREADABLE: Final = (OSError, EOFError, zlib.error, ValueError, AttributeError, KeyError, TypeError)
"""Exceptions that a damaged file causes; UsageError and ValidationError are ValueErrors."""


class SavedData:
    """A folder of saved data.

    :param directory: the folder, which is made when data are saved.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def tables(self, variant: Variant) -> list[Material]:
        """Return the materials with saved data of a table, in build order."""
        return materials_in(self.directory, f".{variant}{_SUFFIX}")

    def differences(self) -> list[Material]:
        """Return the materials with a saved comparison of their tables, in build order."""
        return materials_in(self.directory, f".{_DIFFERENCE}{_SUFFIX}")

    def digest(self, material: Material, variant: Variant) -> str | None:
        """Return the digest of the table whose data are saved, None if none are.

        :raises TbgenError: if the file cannot be used.
        """
        path = self._path(material, variant)
        if not path.exists():
            return None
        with _reading(path) as found:
            return str(found["digest"])

    def table(self, material: Material, variant: Variant) -> TableReport:
        """Return the report of a table; its lines are replayed by the arbiter.

        :raises TbgenError: if its file is missing or cannot be used.
        """
        with _reading(self._path(material, variant)) as found:
            report = _table(found)
            if (report.material, report.variant) != (material, variant):
                raise ValueError(f"its data are of {report.material} by {report.variant.label}")
        return report

    def difference(self, material: Material) -> Difference:
        """Return the saved comparison of the tables of both variants.

        :raises TbgenError: if the file is missing or cannot be used.
        """
        with _reading(self._path(material, _DIFFERENCE)) as found:
            difference = Difference.read(found)
            if difference.material != material:
                raise ValueError(f"its data are of {difference.material}")
        return difference

    def save_table(self, report: TableReport) -> None:
        """Save the report of a table.

        :raises TbgenError: if the file cannot be written.
        """
        found = report.plain()
        del found["highlights"]
        for record in found["records"]:
            record["line"] = " ".join(point["uci"] for point in record["line"])
            del record["pgn"], record["verified"]
        self._write(self._path(report.material, report.variant), found)

    def save_difference(self, found: Difference) -> None:
        """Save the comparison of two tables.

        :raises TbgenError: if the file cannot be written.
        """
        self._write(self._path(found.material, _DIFFERENCE), found.plain())

    def _path(self, material: Material, kind: str) -> Path:
        return self.directory / f"{material}.{kind}{_SUFFIX}"

    def _write(self, path: Path, found: dict[str, Any]) -> None:
        remedy = "choose another directory with --save"
        make_directory(path.parent, remedy=remedy)
        content = json.dumps(found, separators=(",", ":")).encode()
        write_file(path, gzip.compress(content, mtime=0), remedy=remedy)


def _table(found: dict[str, Any]) -> TableReport:
    lines = [record.pop("line").split() for record in found["records"]]
    report = TableReport.read(found)
    records = tuple(map(_with_line, report.records, lines))
    mating = with_verdict(report.material, report.mating.truth, report.mating.like_bishops)
    return with_highlights(replace(report, records=records, mating=mating))


def _with_line(record: Record, moves: list[str]) -> Record:
    """Return a record with its line, if any was saved.

    :raises ValueError: if the line does not lead to the record's value.
    """
    if record.depth and not moves:
        return record
    full = with_moves(record, moves)
    if full is None:
        raise ValueError(f"the line to {record.value} does not lead there")
    return full


@contextmanager
def _reading(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the content of a file; errors that the block finds in it are raised with the name of the file."""
    try:
        found = json.loads(gzip.decompress(path.read_bytes()))
        if not isinstance(found, dict):
            raise ValueError("no data of a report")
        yield found
    except FileNotFoundError:
        raise TbgenError(f"{path} is missing: make it with: tbgen report --save {path.parent}") from None
    except _UNREADABLE as error:
        remedy = "make it again with: tbgen report --save"
        raise DamagedTableError(f"{path} cannot be used ({error}): {remedy}") from error
