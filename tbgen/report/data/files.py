"""The data of a report as texts of JSON and CSV files, by the ending of their names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from tbgen.board.variant import Variant
from tbgen.report.data.rows import CSV
from tbgen.report.facts.difference import Difference
from tbgen.report.model import OverallRecord, TableReport
from tbgen.text import csv_text

Files = dict[str, str]

_TABLE: Final = ("material", "rules", "digest", "tbgen_version", "bytes", "max_depth")
_HOLDER: Final = ("material", "value", "ties", "fen", "verified")


def table_files(report: TableReport) -> Files:
    """Return everything about one table."""
    return {"json": _json(report.plain())} | {f"{name}.csv": _csv(name, [report]) for name in CSV}


def overview_files(reports: Sequence[TableReport]) -> Files:
    """Return what the tables are, and how their values are distributed."""
    found = [summary(report) for report in reports]
    return {"json": _json(found), "csv": _csv("distribution", reports)}


def record_files(reports: Sequence[TableReport], records: Mapping[Variant, Sequence[OverallRecord]]) -> Files:
    """Return the records over all tables, and those of each."""
    return {"json": _json(overall_documents(records)), "csv": _csv("records", reports)}


def endgame_files(reports: Sequence[TableReport]) -> Files:
    """Return what every endgame gives."""
    return {"json": _json(_each(reports, "endgame")), "csv": _csv("endgames", reports)}


def mating_files(reports: Sequence[TableReport]) -> Files:
    """Return mating potentials."""
    return {"json": _json(_each(reports, "mating")), "csv": _csv("mating", reports)}


def difference_files(differences: Sequence[Difference]) -> Files:
    """Return where the rules differ."""
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
    """Return what stands about a table on the page of all materials."""
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
    """Return the rows of some reports for one of the files of :data:`tbgen.report.data.rows.CSV`."""
    titles, rows_of = CSV[name]
    rows = ((report.material, report.variant, *row) for report in reports for row in rows_of(report))
    return csv_text(("material", "rules", *titles.split()), rows)


def _each(reports: Iterable[TableReport], part: str) -> list[dict[str, Any]]:
    return [report.plain("material", "rules", part) for report in reports]


def _json(found: Any) -> str:
    return json.dumps(found, indent=1) + "\n"
