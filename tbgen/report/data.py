"""The data of reports as JSON and CSV, and as saved files that can replace the tables.

A saved file is the JSON document of a report (:mod:`tbgen.report.model`), compressed by gzip to a fifth of
its size. It omits the parts that can be derived from the others, and stores lines of play as moves in UCI
notation. Equal reports give equal bytes.
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
from tbgen.documents import to_builtins
from tbgen.errors import DamagedTableError, TbgenError
from tbgen.report.difference import Difference
from tbgen.report.highlights import with_highlights
from tbgen.report.mating import potential_with_rule
from tbgen.report.model import SIDES, AccruedCounts, OverallRecord, Record, ReportPart, TableReport
from tbgen.report.records import with_moves
from tbgen.store.format import materials_in
from tbgen.system.files import check_target, make_directory, write_file
from tbgen.text import csv_text

_REMEDY: Final = "choose another directory with --save"
Row = tuple[Any, ...]
"""A row of a CSV file, without the first two columns (material and rules)."""


def distribution_rows(report: TableReport) -> Iterator[Row]:
    """Yield a row for each side to move and value."""
    data = report.distribution
    for side, name in enumerate(SIDES):
        for value in sorted({*data.board[side], *data.en_passant[side]}, reverse=True):
            counts = (part[side].get(value, 0) for part in (data.board, data.canonical, data.en_passant))
            yield name, value, *counts, f"{data.share(side, value):.9f}"


def depth_rows(report: TableReport) -> Iterator[Row]:
    """Yield a row for each side to move, value and depth."""
    for name, depths in report.distribution.depths.items():
        for value, counts in depths.items():
            for depth, count in counts.items():
                yield name, value, depth, count


def record_rows(report: TableReport) -> Iterator[Row]:
    """Yield a row for each value."""
    for record in report.records:
        line = " ".join(point.san for point in record.line)
        yield record.value, record.depth, record.ties, record.fen, line, int(record.verified)


def accrued_rows(report: TableReport) -> Iterator[Row]:
    """Yield a row for each side to move and holder of the accrued score. All symmetric images are counted."""
    if report.accrued is not None:
        for to_move, holders in report.accrued.board.items():
            for holder, counts in holders.items():
                yield to_move, holder, *astuple(counts)


def endgame_rows(report: TableReport) -> Iterator[Row]:
    """Yield a row for each side to move."""
    for name, side in report.endgame.sides.items():
        share = None if side.mode is None else f"{side.share(side.mode):.9f}"
        numbers = (side.positions, side.over, side.captures, side.total)
        yield name, *numbers, side.mode, side.median, side.best, side.worst, share


def mating_rows(report: TableReport) -> Iterator[Row]:
    """Yield a row for each attacker."""
    rule, agrees = report.mating.rule, report.mating.agrees
    rule_agrees = None if agrees is None else int(agrees)
    for name, truth in report.mating.truth.items():
        chances = (truth.to_move, truth.waiting)
        shares, best = [f"{chance.share:.9f}" for chance in chances], [chance.best for chance in chances]
        divisor = rule.divisor if rule.leader == name else None
        yield name, truth.verdict, truth.mates, *shares, *best, divisor, rule_agrees


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
"""Maps the name of each CSV file to the column titles after material and rules, and to the function that
yields the rows."""

_SUMMARY_FIELDS: Final = ("material", "variant", "digest", "tbgen_version", "bytes", "max_depth")
_HOLDER_FIELDS: Final = ("material", "value", "ties", "fen", "verified")


Files = dict[str, str]
"""Maps the suffix of each file name, which follows a common stem, to the content of the file."""


def table_files(report: TableReport) -> Files:
    """Return the files with all data of one table."""
    return {"json": _json(report.builtins())} | {f"{name}.csv": _csv(name, [report]) for name in CSV}


def overview_files(reports: Sequence[TableReport]) -> Files:
    """Return the files about all tables and the distribution of their values."""
    return {"json": _json(list(map(summary, reports))), "csv": _csv("distribution", reports)}


def record_files(reports: Sequence[TableReport], records: Mapping[Variant, Sequence[OverallRecord]]) -> Files:
    """Return the files about records: JSON with the overall records of all tables, CSV with the records of
    each table."""
    return {"json": _json(overall_documents(records)), "csv": _csv("records", reports)}


def part_files(part: str, csv_name: str, reports: Sequence[TableReport]) -> Files:
    """Return the files about one part of the reports; ``csv_name`` is a name in :data:`CSV`."""
    documents = [_selected(report, ("material", "variant", part)) for report in reports]
    return {"json": _json(to_builtins(documents)), "csv": _csv(csv_name, reports)}


def difference_files(differences: Sequence[Difference]) -> Files:
    """Return the files about the differences between the variants."""
    rows = [
        (difference.material, name, pair.r, pair.wg, pair.count)
        for difference in differences
        for name, side in difference.sides.items()
        for pair in side.pairs
    ]
    titles = ("material", "to_move", "r", "wg", "positions")
    return {"json": _json(to_builtins(differences)), "csv": csv_text(titles, rows)}


def overall_documents(records: Mapping[Variant, Sequence[OverallRecord]]) -> dict[str, list[dict[str, Any]]]:
    """Return the overall records of many tables as documents, keyed by variant.

    The documents lack the lines of play.
    """
    return {
        variant.value: [
            overall.builtins()
            | {"holders": [to_builtins(_selected(holder, _HOLDER_FIELDS)) for holder in overall.holders]}
            for overall in variant_records
        ]
        for variant, variant_records in records.items()
    }


def summary(report: TableReport) -> dict[str, Any]:
    """Return the entry of a table in the list of all materials."""
    sides = {
        name: {
            "positions": typical.positions,
            "typical": typical.mode,
            **report.distribution.outcomes(side)._asdict(),
        }
        for side, (name, typical) in enumerate(report.endgame.sides.items())
    }
    longest = {record.value: record.depth for record in report.records}
    document: dict[str, Any] = to_builtins(_selected(report, _SUMMARY_FIELDS) | sides | {"longest": longest})
    return document


def _selected(part: ReportPart, names: Iterable[str]) -> dict[str, Any]:
    """Return some attributes of a part, by the keys of its document."""
    keys = dict(zip(part.__struct_fields__, part.__struct_encode_fields__, strict=True))
    return {keys[name]: getattr(part, name) for name in names}


def _csv(name: str, reports: Iterable[TableReport]) -> str:
    """Return the content of a file of :data:`CSV` about the reports."""
    titles, rows_of = CSV[name]
    rows = ((report.material, report.variant, *row) for report in reports for row in rows_of(report))
    return csv_text(("material", "rules", *titles.split()), rows)


def _json(document: Any) -> str:
    return json.dumps(document, indent=1) + "\n"


_SUFFIX: Final = ".json.gz"

_DIFFERENCE_LABEL: Final = "difference"
"""The word that replaces the variant in the name of a file with the comparison of both variants."""

_DAMAGE_ERRORS: Final = (OSError, EOFError, zlib.error, ValueError, AttributeError, KeyError, TypeError)
"""Exceptions raised for a damaged file; UsageError and ValidationError are subclasses of ValueError."""


class SavedData:
    """A folder of saved data.

    :param directory: the folder, which is created when data are first saved.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def materials(self, variant: Variant) -> list[Material]:
        """Return the materials with saved data of a table, in build order."""
        return materials_in(self.directory, f".{variant}{_SUFFIX}")

    def compared_materials(self) -> list[Material]:
        """Return the materials with a saved comparison of their tables, in build order."""
        return materials_in(self.directory, f".{_DIFFERENCE_LABEL}{_SUFFIX}")

    def digest(self, material: Material, variant: Variant) -> str | None:
        """Return the digest of the table whose data are saved; None if no data are saved.

        :raises TbgenError: if the file cannot be used.
        """
        path = self._path(material, variant)
        check_target(path, remedy=_REMEDY)
        if not path.exists():
            return None
        with _read_content(path) as document:
            return str(document["digest"])

    def report(self, material: Material, variant: Variant) -> TableReport:
        """Return the saved report of a table. The arbiter replays the lines.

        :raises TbgenError: if its file is missing or cannot be used.
        """
        with _read_content(self._path(material, variant)) as document:
            report = _restore_report(document)
            if (report.material, report.variant) != (material, variant):
                raise ValueError(f"its data are of {report.material} by {report.variant.label}")
        return report

    def difference(self, material: Material) -> Difference:
        """Return the saved comparison of the tables of both variants.

        :raises TbgenError: if the file is missing or cannot be used.
        """
        with _read_content(self._path(material, _DIFFERENCE_LABEL)) as document:
            difference = Difference.read(document)
            if difference.material != material:
                raise ValueError(f"its data are of {difference.material}")
        return difference

    def save_table(self, report: TableReport) -> None:
        """Save the report of a table.

        :raises TbgenError: if the file cannot be written.
        """
        document = report.builtins()
        del document["highlights"]
        for record in document["records"]:
            record["line"] = " ".join(point["uci"] for point in record["line"])
            del record["pgn"], record["verified"]
        self._write(self._path(report.material, report.variant), document)

    def save_difference(self, difference: Difference) -> None:
        """Save the comparison of two tables.

        :raises TbgenError: if the file cannot be written.
        """
        self._write(self._path(difference.material, _DIFFERENCE_LABEL), difference.builtins())

    def _path(self, material: Material, label: str) -> Path:
        return self.directory / f"{material}.{label}{_SUFFIX}"

    def _write(self, path: Path, document: dict[str, Any]) -> None:
        make_directory(path.parent, remedy=_REMEDY)
        content = json.dumps(document, separators=(",", ":")).encode()
        write_file(path, gzip.compress(content, mtime=0), remedy=_REMEDY)


def _restore_report(document: dict[str, Any]) -> TableReport:
    lines = [record.pop("line").split() for record in document["records"]]
    report = TableReport.read(document)
    records = tuple(map(_with_line, report.records, lines))
    mating = potential_with_rule(report.material, report.mating.truth, report.mating.like_bishops)
    return with_highlights(replace(report, records=records, mating=mating))


def _with_line(record: Record, moves: list[str]) -> Record:
    """Return a record with its line, if one was saved.

    :raises ValueError: if the line does not lead to the record's value.
    """
    if record.depth and not moves:
        return record
    complete_record = with_moves(record, moves)
    if complete_record is None:
        raise ValueError(f"the line to {record.value} does not lead there")
    return complete_record


@contextmanager
def _read_content(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the content of a file. An error in the content, found here or within the ``with`` statement, is
    raised as a TbgenError with the name of the file."""
    try:
        document = json.loads(gzip.decompress(path.read_bytes()))
        if not isinstance(document, dict):
            raise ValueError("no data of a report")
        yield document
    except FileNotFoundError:
        raise TbgenError(f"{path} is missing: make it with: tbgen report --save {path.parent}") from None
    except _DAMAGE_ERRORS as error:
        remedy = "make it again with: tbgen report --save"
        raise DamagedTableError(f"{path} cannot be used ({error}): {remedy}") from error
