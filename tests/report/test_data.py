"""Reports as JSON and CSV."""

import json
import re

import pytest

from tbgen.report.data import CSV, table_files
from tbgen.report.model import TableReport
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


def test_rows(report: TableReport) -> None:
    assert set(table_files(report)) >= {f"{name}.csv" for name in CSV}
    rows = list(CSV["distribution"].rows(report))
    assert sum(row["board"] for row in rows if row["to_move"] == "white") == 205_496
    assert sum(float(row["share"]) for row in rows) == pytest.approx(2, abs=1e-6)
    assert sum(row["board"] for row in CSV["depths"].rows(report)) == 205_496 + 223_944
    lines = {str(row["value"]): row["line"] for row in CSV["records"].rows(report)}
    assert len(lines["G5.5"].split()) == 40


def test_rows_of_endgames(reports: dict[str, TableReport]) -> None:
    """Each column is defined in docs/report.md, and has the fact that its title names."""
    page = (ROOT / "docs" / "report.md").read_text()
    (columns,) = re.findall(r"`endgames\.csv` has these columns[^(]*(.*?)\n- ", page, re.DOTALL)
    assert CSV["endgames"].columns.keys() - {"material", "rules"} == set(re.findall(r"`(\w+)`", columns))
    for report in reports.values():
        for name, cells in zip(("white", "black"), CSV["endgames"].rows(report), strict=True):
            side = report.endgame.sides[name]
            assert [cells.pop(key) for key in ("material", "rules", "to_move")] == [
                report.material,
                "r",
                name,
            ]
            assert cells.pop("quiet") == side.positions - side.over - side.captures
            assert side.mode is not None
            assert float(cells.pop("mode_share")) == pytest.approx(side.share(side.mode), abs=1e-9)
            assert cells == {title: getattr(side, title) for title in cells}


def test_rows_of_mating(reports: dict[str, TableReport]) -> None:
    for report in reports.values():
        for row, facts in zip(CSV["mating"].rows(report), report.mating.truth, strict=True):
            for name, chance in (("to_move", facts.to_move), ("waiting", facts.waiting)):
                assert float(row[f"share_{name}"]) == pytest.approx(chance.share, abs=1e-9)
                assert row[f"best_{name}"] == chance.best
            assert row["divisor"] in (None, report.mating.rule.divisor)
            assert (row["divisor"] is None) == (row["attacker"] != report.mating.rule.leader)
            assert row["rule_agrees"] == report.mating.agrees
