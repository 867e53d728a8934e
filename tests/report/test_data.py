"""Reports as JSON and CSV."""

import json
import re

import pytest

from tbgen.report.data import CSV, table_files
from tbgen.report.model import TableReport
from tests.support.commands import printed
from tests.support.paths import ROOT


@pytest.fixture
def report(reports: dict[str, TableReport]) -> TableReport:
    return reports["KNvK"]


def test_document(report: TableReport) -> None:
    found = json.loads(json.dumps(report.builtins()))
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


def test_csv(report: TableReport, reports: dict[str, TableReport]) -> None:
    """The numbers are those that the tests of counts have counted again."""
    assert set(table_files(report)) >= {f"{name}.csv" for name in CSV}
    of_all = ("endgames", "mating", "accrued")
    tables = {name: CSV[name].text(list(reports.values()) if name in of_all else [report]) for name in CSV}
    assert tables.pop("depths").count("\n") > 100
    printed("transcripts/report_csv", "\n".join(f"# {name}\n{text}" for name, text in tables.items()))


def test_columns_of_endgames_are_defined() -> None:
    page = (ROOT / "docs" / "report.md").read_text()
    (columns,) = re.findall(r"`endgames\.csv` counts (.*?)\n- ", page, re.DOTALL)
    assert CSV["endgames"].columns.keys() - {"material", "rules", "to_move"} == set(
        re.findall(r"`(\w+)`", columns)
    )
