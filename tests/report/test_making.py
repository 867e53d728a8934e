"""Making reports in Python."""

import json
import re
import shutil
from pathlib import Path

import pytest

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.costs import BASE_MEMORY, Cost
from tbgen.documents import json_text
from tbgen.errors import MissingTableError, TbgenError, UsageError
from tbgen.index.layout import layout_of
from tbgen.report import ReportPlan, plan_report, read_report, report_document, write_report
from tbgen.report.plan import Task
from tests.support.narrator import Narrator


@pytest.fixture(scope="module")
def directory(three_men: Path, whole_game_tables: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with KvK for both variants, and KBvK and KNvK for one each."""
    directory = tmp_path_factory.mktemp("few")
    for name in ("KvK", "KBvK", "KNvK"):
        shutil.copy(three_men / f"{name}.r.h5", directory)
    shutil.copy(whole_game_tables / "KvK.wg.h5", directory)
    return directory


def test_what_there_is_to_report_on(directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def names(**options: object) -> list[str]:
        plan = plan_report(directory, **options)  # type: ignore[arg-type]
        return [f"{task.material}.{task.variant}" for task in plan.tasks]

    assert names() == ["KvK.r", "KBvK.r", "KNvK.r", "KvK.wg"]
    assert names(men=2) == ["KvK.r", "KvK.wg"]
    assert names(materials=["KvKN", Material.parse("KvK")], rules="r") == ["KvK.r", "KNvK.r"]
    assert names(materials=["KNvK"], men=2, rules=Variant.R_MOBILITY) == ["KvK.r", "KNvK.r"]
    plan = plan_report(directory)
    assert [material.name for material in plan.comparisons] == ["KvK"]
    shutil.copy(directory / "KNvK.r.h5", tmp_path)
    assert plan_report([tmp_path, directory]).tasks == plan.tasks
    with pytest.raises(UsageError, match="'KXvK' is not a material name"):
        names(materials=["KXvK"])
    with pytest.raises(UsageError, match="there are no rules 's'"):
        names(rules="s")
    with pytest.raises(MissingTableError, match=f"table KQvK is missing from {directory}"):
        names(materials=["KvK", "KQvK"])
    with pytest.raises(TbgenError, match=r"make some with: tbgen build --men 3 --dir .* --rules wg"):
        plan_report(directory / "nothing", rules="wg")
    monkeypatch.setenv("TBGEN_DIR", str(directory))
    assert plan_report() == plan
    with pytest.raises(MissingTableError, match=f"is missing from {directory}; .*: tbgen build KQvK$"):
        plan_report(materials=["KQvK"])


def test_a_site_says_what_the_report_says(directory: Path, tmp_path: Path) -> None:
    told = Narrator()
    report = write_report(directory, [], tmp_path / "site", reporter=told)
    assert [(table.material.name, table.variant.value) for table in report.tables] == [
        *(("KvK", "r"), ("KBvK", "r"), ("KNvK", "r"), ("KvK", "wg"))
    ]
    pages = {page.relative_to(tmp_path / "site").as_posix() for page in report.pages}
    assert pages == {
        *(f"{name}.html" for name in ("index", "records", "endgames", "mating", "differences")),
        *(f"tables/{name}.html" for name in ("KvK.r", "KBvK.r", "KNvK.r", "KvK.wg")),
    }
    assert all(page.is_file() for page in report.pages)
    others = [(tmp_path / f"site/tables/{name}.html").read_text() for name in ("KvK.r", "KvK.wg", "KBvK.r")]
    links = [re.findall(r"The same material <a href=\"(.*?)\">by ([\w-]+ ?\w*)<", page) for page in others]
    assert links == [[("KvK.wg.html", "whole-game mobility")], [("KvK.r.html", "r-mobility")], []]
    assert set(told.begun) == {*("KvK 1/3", "KBvK 2/3", "KNvK 3/3")}
    assert report.omitted_line_count == 0
    document = json.loads(json_text(report_document(report)))
    assert [table["material"] for table in document["tables"]] == ["KvK", "KBvK", "KNvK", "KvK"]
    assert json.loads((tmp_path / "site/tables/KBvK.r.json").read_text()) == document["tables"][1]
    assert json.loads((tmp_path / "site/records.json").read_text()) == document["records"]
    assert json.loads((tmp_path / "site/differences.json").read_text()) == document["differences"]
    again = read_report(directory, threads=1)
    assert again.pages == ()
    assert report_document(again) == report_document(report)


def test_tables_of_a_material_are_held_together() -> None:
    """One table is in memory while the other is unpacked."""
    large, small = map(Material.parse, ("KQvK", "KvK"))
    r, wg = Variant.R_MOBILITY, Variant.WHOLE_GAME
    rows = ((small, r, 7), (large, r, 1000), (large, wg, 200), (small, wg, 0))
    tasks = tuple(Task(material, variant, Cost(memory=memory)) for material, variant, memory in rows)
    found = ReportPlan((Path(),), tasks, {}, uses_saved_data=False).memory
    assert found == BASE_MEMORY + 1000 + 2 * 3 * layout_of(large).size
    assert ReportPlan((Path(),), tasks[3:], {}, uses_saved_data=False).memory == 0, "saved data take little"
