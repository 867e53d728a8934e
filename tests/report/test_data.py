"""Reports as JSON and CSV."""

import csv
import io
import json
from pathlib import Path

import pytest

from tbgen.board.variant import Variant
from tbgen.report.data.files import overall_documents, table_files
from tbgen.report.data.rows import CSV
from tbgen.report.facts.records import overall_records
from tbgen.report.model import TableReport
from tests.support.reports import report_with_lines


@pytest.fixture(scope="module")
def report(three_men: Path) -> TableReport:
    return report_with_lines(three_men, "KNvK")


def test_document(report: TableReport) -> None:
    found = json.loads(json.dumps(report.plain()))
    assert found["material"] == "KNvK"
    assert found["digest"] == report.digest
    assert found["distribution"]["board"]["white"] == {
        str(value): count for value, count in report.distribution.board[0].items()
    }
    assert found["distribution"]["positions"]["black"] == {"board": 223_944, "canonical": 28_056}
    assert found["distribution"]["depths"]["black"]["G5.5"]["40"] > 0
    assert [record["value"] for record in found["records"]] == [
        str(record.value) for record in report.records
    ]
    assert all(record["verified"] and len(record["line"]) == record["depth"] for record in found["records"])
    assert found["endgame"]["white"]["mode"] == "G3.5"
    assert found["endgame"]["examples"][0]["typical"]
    assert found["mating"]["truth"]["white"]["verdict"] == "not even help mate"
    assert found["mating"]["like_bishops"] is None
    assert len(found["black_king"]["white"]) == 64
    states = found["accrued"]["board"]["white"]["black"]
    assert states["states"] == sum(
        states[kind] for kind in ("survives", "improved", "worsened", "lost", "lost_by_reset")
    )


@pytest.mark.parametrize("name", CSV)
def test_rows(name: str, report: TableReport) -> None:
    titles, rows_of = CSV[name]
    head = ("material", "rules", *titles.split())
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(head)
    writer.writerows((report.material, report.variant, *row) for row in rows_of(report))
    assert table_files(report)[f"{name}.csv"] == file.getvalue()  # no cell is changed, not even -G3.5
    rows = list(csv.DictReader(io.StringIO(file.getvalue())))
    assert rows
    assert all(set(row) == set(head) and None not in row.values() for row in rows)
    assert all((row["material"], row["rules"]) == ("KNvK", "r") for row in rows)


def test_rows_have_the_numbers(report: TableReport) -> None:
    titles, rows_of = CSV["distribution"]
    rows = [dict(zip(titles.split(), row, strict=True)) for row in rows_of(report)]
    assert sum(row["board"] for row in rows if row["to_move"] == "white") == 205_496
    assert sum(float(row["share"]) for row in rows) == pytest.approx(2, abs=1e-6)
    titles, rows_of = CSV["depths"]
    rows = [dict(zip(titles.split(), row, strict=True)) for row in rows_of(report)]
    assert sum(row["board"] for row in rows) == 205_496 + 223_944
    _, rows_of = CSV["records"]
    lines = {str(row[0]): row[4] for row in rows_of(report)}
    assert len(lines["G5.5"].split()) == 40


def test_records_of_many(report: TableReport) -> None:
    records = overall_records(report.records)
    found = json.loads(json.dumps(overall_documents({Variant.R_MOBILITY: records})))["r"]
    assert [record["g"] for record in found] == [str(record.g) for record in records]
    assert all(
        held["material"] == "KNvK" and held["verified"] for record in found for held in record["holders"]
    )
