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

from msgspec.structs import replace

from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.documents import to_builtins
from tbgen.errors import DamagedTableError, TbgenError
from tbgen.report.difference import Difference
from tbgen.report.highlights import with_highlights
from tbgen.report.mating import potential_with_rule
from tbgen.report.model import (
    SIDES,
    AccruedCounts,
    MatingFacts,
    OverallRecord,
    Record,
    ReportPart,
    TableReport,
)
from tbgen.report.records import with_moves
from tbgen.store.format import materials_in
from tbgen.system.files import check_target, make_directory, write_file
from tbgen.text import csv_text

_REMEDY: Final = "choose another directory with --save"
CellFunction = Callable[..., object]
"""Function that returns the cell of a row in a CSV file, from the report and the parts of the row."""

_SUFFIX: Final = ".json.gz"

_DIFFERENCE_LABEL: Final = "difference"
"""The word that replaces the variant in the name of a file with the comparison of both variants."""

_DAMAGE_ERRORS: Final = (OSError, EOFError, zlib.error, ValueError, AttributeError, KeyError, TypeError)
"""Exceptions raised for a damaged file; UsageError and ValidationError are subclasses of ValueError."""

_SUMMARY_FIELDS: Final = ("material", "variant", "digest", "tbgen_version", "bytes", "max_depth")

Files = dict[str, str]
"""Maps the suffix of each file name, which follows a common stem, to the content of the file."""


class CsvFile:
    """A CSV file about reports.

    :param parts: returns the parts of each row about a report: what the row is about, and possibly a struct
        of facts.
    """

    def __init__(self, parts: Callable[[Any], Iterable[tuple[Any, ...]]], **columns: CellFunction) -> None:
        self.columns = columns
        self._parts = parts

    def rows(self, report: ReportPart) -> Iterator[dict[str, Any]]:
        """Yield the cells of each row about a report, by title."""
        for parts in self._parts(report):
            yield {title: cell_of(report, *parts) for title, cell_of in self.columns.items()}

    def text(self, reports: Iterable[ReportPart]) -> str:
        """Return the content of the file."""
        rows = (row.values() for report in reports for row in self.rows(report))
        return csv_text(list(self.columns), rows)


def _parts(*titles: str) -> dict[str, CellFunction]:
    """Return columns that show the first parts of rows."""
    return {title: lambda _, *parts, index=index: parts[index] for index, title in enumerate(titles)}


def _fields(*names: str) -> dict[str, CellFunction]:
    """Return columns that show fields of the last part of rows."""
    return {name: lambda *parts, name=name: getattr(parts[-1], name) for name in names}


def _table_csv(parts: Callable[[TableReport], Iterable[tuple[Any, ...]]], **columns: CellFunction) -> CsvFile:
    """Return a CSV file whose first columns are the material and the rules."""
    table = {"material": lambda report, *_: report.material, "rules": lambda report, *_: report.variant}
    return CsvFile(parts, **table, **columns)


def _values(report: TableReport) -> Iterator[tuple[str, GScore]]:
    """Yield each side to move and value."""
    data = report.distribution
    for side in SIDES:
        for value in sorted({*data.board[side], *data.en_passant[side]}, reverse=True):
            yield side, value


def _depths(report: TableReport) -> Iterator[tuple[str, GScore, int, int]]:
    """Yield each side to move, value, depth, and the number of positions."""
    for side, depths in report.distribution.depths.items():
        for value, counts in depths.items():
            for depth, count in counts.items():
                yield side, value, depth, count


def _accrued_counts(report: TableReport) -> Iterator[tuple[str, str, AccruedCounts]]:
    """Yield each side to move, holder of the accrued score, and the counts with all symmetric images."""
    if report.accrued is not None:
        for to_move, holders in report.accrued.board.items():
            for holder, counts in holders.items():
                yield to_move, holder, counts


def _divisor(report: TableReport, attacker: str, _: MatingFacts) -> int | None:
    """Return the divisor of the rule of thumb if the attacker is ahead."""
    return report.mating.rule.divisor if report.mating.rule.leader == attacker else None


CSV: Final = {
    "distribution": _table_csv(
        _values,
        **_parts("to_move", "value"),
        board=lambda report, side, value: report.distribution.board[side].get(value, 0),
        canonical=lambda report, side, value: report.distribution.canonical[side].get(value, 0),
        en_passant=lambda report, side, value: report.distribution.en_passant[side].get(value, 0),
        share=lambda report, side, value: f"{report.distribution.share(side, value):.9f}",
    ),
    "depths": _table_csv(_depths, **_parts("to_move", "value", "depth", "board")),
    "records": _table_csv(
        lambda report: ((record,) for record in report.records),
        **_fields("value", "depth", "ties", "fen"),
        line=lambda _, record: " ".join(point.san for point in record.line),
        verified=lambda _, record: int(record.verified),
    ),
    "accrued": _table_csv(
        _accrued_counts, **_parts("to_move", "holder"), **_fields(*AccruedCounts.__struct_fields__)
    ),
    "endgames": _table_csv(
        lambda report: report.endgame.sides.items(),
        **_parts("to_move"),
        **_fields("positions", "over", "captures"),
        quiet=lambda _, __, side: side.total,
        **_fields("mode", "median", "best", "worst"),
        mode_share=lambda _, __, side: None if side.mode is None else f"{side.share(side.mode):.9f}",
    ),
    "mating": _table_csv(
        lambda report: report.mating.truth.items(),
        **_parts("attacker"),
        **_fields("verdict", "mates"),
        share_to_move=lambda _, __, facts: f"{facts.to_move.share:.9f}",
        share_waiting=lambda _, __, facts: f"{facts.waiting.share:.9f}",
        best_to_move=lambda _, __, facts: facts.to_move.best,
        best_waiting=lambda _, __, facts: facts.waiting.best,
        divisor=_divisor,
        rule_agrees=lambda report, *_: None if (agrees := report.mating.agrees) is None else int(agrees),
    ),
}
"""The CSV files about tables, by name."""

DIFFERENCES: Final = CsvFile(
    lambda difference: ((name, pair) for name, side in difference.sides.items() for pair in side.pairs),
    material=lambda difference, *_: difference.material,
    **_parts("to_move"),
    **_fields("r", "wg"),
    positions=lambda _, __, pair: pair.count,
)
"""The CSV file about the differences between the variants."""


def table_files(report: TableReport) -> Files:
    """Return the files with all data of one table."""
    tables = {f"{name}.csv": file.text([report]) for name, file in CSV.items()}
    return {"json": _json(report.builtins())} | tables


def overview_files(reports: Sequence[TableReport]) -> Files:
    """Return the files about all tables and the distribution of their values."""
    return {"json": _json(list(map(summary, reports))), "csv": CSV["distribution"].text(reports)}


def record_files(reports: Sequence[TableReport], records: Mapping[Variant, Sequence[OverallRecord]]) -> Files:
    """Return the files about records: JSON with the overall records of all tables, CSV with the records of
    each table."""
    return {"json": _json(to_builtins(overall_documents(records))), "csv": CSV["records"].text(reports)}


def part_files(part: str, csv_name: str, reports: Sequence[TableReport]) -> Files:
    """Return the files about one part of the reports; ``csv_name`` is a name in :data:`CSV`."""
    documents = [_selected(report, ("material", "variant", part)) for report in reports]
    return {"json": _json(to_builtins(documents)), "csv": CSV[csv_name].text(reports)}


def difference_files(differences: Sequence[Difference]) -> Files:
    """Return the files about the differences between the variants."""
    return {"json": _json(to_builtins(differences)), "csv": DIFFERENCES.text(differences)}


class HolderDocument(ReportPart):
    """An example of an overall record, without its line of play."""

    material: Material
    value: GScore
    ties: int
    fen: str
    verified: bool


class OverallDocument(ReportPart):
    """An overall record, without lines of play."""

    g: GScore
    depth: int
    ties: int
    holders: list[HolderDocument]


def overall_documents(
    records: Mapping[Variant, Sequence[OverallRecord]],
) -> dict[Variant, list[OverallDocument]]:
    """Return the overall records of many tables as documents, by variant."""
    return {
        variant: [
            OverallDocument.of(overall, holders=list(map(HolderDocument.of, overall.holders)))
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


def _json(document: Any) -> str:
    return json.dumps(document, indent=1) + "\n"


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
