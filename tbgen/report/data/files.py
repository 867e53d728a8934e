"""The data of a report as texts of JSON and CSV files, by the ending of their names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tbgen.board.variant import Variant
from tbgen.report.data.documents import difference_document, document, overall_document
from tbgen.report.data.rows import CSV
from tbgen.report.facts.difference import Difference
from tbgen.report.model import OverallRecord, TableReport
from tbgen.text import csv_text

Files = dict[str, str]


def table_files(report: TableReport) -> Files:
    """Return everything about one table."""
    files = {"json": _json(document(report))}
    return files | {f"{name}.csv": _rows(name, [report]) for name in CSV}


def overview_files(reports: Sequence[TableReport]) -> Files:
    """Return what the tables are, and how their values are distributed."""
    return {"json": _json([summary(report) for report in reports])} | _csv("distribution", reports)


def record_files(reports: Sequence[TableReport], records: Mapping[Variant, Sequence[OverallRecord]]) -> Files:
    """Return the records over all tables, and those of each."""
    found = {variant.value: overall_document(overall) for variant, overall in records.items()}
    return {"json": _json(found)} | _csv("records", reports)


def endgame_files(reports: Sequence[TableReport]) -> Files:
    """Return what every endgame gives."""
    return {"json": _json(_parts(reports, "endgame"))} | _csv("endgames", reports)


def mating_files(reports: Sequence[TableReport]) -> Files:
    """Return mating potentials."""
    return {"json": _json(_parts(reports, "mating"))} | _csv("mating", reports)


def difference_files(differences: Sequence[Difference]) -> Files:
    """Return where the rules differ."""
    rows = [
        (found.material.name, name, str(r), str(wg), count)
        for found in differences
        for name, pairs in zip(("white", "black"), found.sides, strict=True)
        for (r, wg), count in pairs.items()
    ]
    found = [difference_document(found) for found in differences]
    return {"json": _json(found), "csv": csv_text(("material", "to_move", "r", "wg", "positions"), rows)}


def everything(
    reports: Iterable[TableReport],
    records: Mapping[Variant, Sequence[OverallRecord]],
    differences: Iterable[Difference],
) -> dict[str, Any]:
    """Return one document of all that a report says."""
    return {
        "tables": [document(report) for report in reports],
        "records": {variant.value: overall_document(overall) for variant, overall in records.items()},
        "differences": [difference_document(found) for found in differences],
    }


def summary(report: TableReport) -> dict[str, Any]:
    """Return what stands about a table on the page of all materials."""
    found = document(report)
    parts = ("material", "rules", "digest", "tbgen_version", "bytes", "max_depth")
    sides = {
        name: {
            "positions": side.positions,
            "typical": found["endgame"][name]["mode"],
            "won": outcomes.won,
            "drawn": outcomes.drawn,
            "lost": outcomes.lost,
        }
        for name, side, outcomes in zip(
            ("white", "black"),
            report.endgame.sides,
            (report.distribution.outcomes(0), report.distribution.outcomes(1)),
            strict=True,
        )
    }
    depths = {str(record.value): record.depth for record in report.records}
    return {part: found[part] for part in parts} | sides | {"longest": depths}


def _rows(name: str, reports: Iterable[TableReport]) -> str:
    """Return the rows of some reports for one of the files of :data:`tbgen.report.data.rows.CSV`."""
    head, rows = CSV[name]
    return csv_text(head, (row for report in reports for row in rows(report)))


def _csv(name: str, reports: Iterable[TableReport]) -> Files:
    return {"csv": _rows(name, reports)}


def _parts(reports: Iterable[TableReport], part: str) -> list[dict[str, Any]]:
    documents = (document(report) for report in reports)
    return [{name: found[name] for name in ("material", "rules", part)} for found in documents]


def _json(found: Any) -> str:
    return json.dumps(found, indent=1) + "\n"
