"""Saved data of reports, which replace the tables and give the same pages."""

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tbgen.cli.main import main
from tbgen.errors import TbgenError
from tbgen.report import read_report, report_document, save_report, write_report
from tbgen.report.plan import plan_report

KNVK = "KNvK.r.json.gz"


@pytest.fixture(scope="module")
def directory(three_men: Path, whole_game_tables: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of tables with and without pawns, and a pair to compare."""
    directory = tmp_path_factory.mktemp("few")
    for name in ("KvK", "KNvK", "KPvK"):
        shutil.copy(three_men / f"{name}.r.h5", directory)
    for name in ("KvK", "KNvK"):
        shutil.copy(whole_game_tables / f"{name}.wg.h5", directory)
    return directory


@pytest.fixture(scope="module")
def saved(directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    saved = tmp_path_factory.mktemp("saved") / "new"
    assert save_report(directory, [], saved) == 5
    return saved


def test_saved_data_say_all_that_the_tables_say(directory: Path, saved: Path, tmp_path: Path) -> None:
    names = ["KvK"]
    assert report_document(read_report(saved, saved=True)) == report_document(read_report(directory))
    one, two = tmp_path / "one", tmp_path / "two"
    first, second = write_report(directory, names, one), write_report(saved, names, two, saved=True)
    assert [page.relative_to(one) for page in first.pages] == [page.relative_to(two) for page in second.pages]
    for path in one.rglob("*"):
        if path.is_file():
            assert path.read_bytes() == (two / path.relative_to(one)).read_bytes()


def test_saved_data_are_read_and_nothing_else_takes_time(saved: Path) -> None:
    plan = plan_report(saved, saved=True)
    costs = [*(task.cost for task in plan.tasks), *plan.comparisons.values()]
    assert {step for cost in costs for step in cost.steps} == {"data"}
    assert len(costs) == 7, "five tables and two comparisons"


def test_only_what_is_new_is_saved(
    directory: Path, saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "saved"
    shutil.copytree(saved, place)
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    differences = sorted(name for name in before if "difference" in name)
    assert differences == ["KNvK.difference.json.gz", "KvK.difference.json.gz"]
    (place / "KPvK.r.json.gz").unlink()
    (place / "KvK.difference.json.gz").unlink()
    change(place / KNVK, lambda found: found.update(digest="0" * 64))
    assert main(["report", "--dir", str(directory), "--save", str(place)]) == 0
    assert capsys.readouterr().out.startswith(f"{place}: data of 2 tables, ")
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before
    assert save_report(directory, [], place) == 0


def change(path: Path, what: Callable[[dict[str, Any]], object]) -> None:
    found = json.loads(gzip.decompress(path.read_bytes()))
    what(found)
    path.write_bytes(gzip.compress(json.dumps(found).encode()))


def wrong_line(found: dict[str, Any]) -> None:
    record = max(found["records"], key=lambda record: int(record["depth"]))
    record["line"] = record["line"].rpartition(" ")[0]


def test_damaged_data(saved: Path, tmp_path: Path) -> None:
    path = tmp_path / KNVK
    whole = (saved / KNVK).read_bytes()
    for damage, says in (
        (lambda: path.write_bytes(whole[:-9]), "cannot be used"),
        (lambda: path.write_bytes(b"KNvK"), "cannot be used"),
        (lambda: path.write_bytes(gzip.compress(b"[]")), "no data of a report"),
        (lambda: change(path, lambda found: found.pop("mating")), "mating"),
        (lambda: change(path, lambda found: found.update(rules="s")), "Invalid enum value 's'"),
        (lambda: change(path, lambda found: found.update(material="KBvK")), "its data are of KBvK"),
        (lambda: change(path, lambda found: found.update(rules="wg")), "by whole-game mobility"),
        (lambda: change(path, wrong_line), "the line to G5.5 does not lead there"),
    ):
        path.write_bytes(whole)
        damage()
        with pytest.raises(TbgenError, match=rf"{KNVK} cannot be used \(") as raised:
            read_report(tmp_path, saved=True)
        assert says in str(raised.value)
        assert str(raised.value).endswith("make it again with: tbgen report --save")


def test_what_cannot_be(
    directory: Path, saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words, code, says in (
        (["--save", "x", "--json"], 2, "--save writes data of tables only"),
        (["--from", str(saved), "--dir", str(directory), "--json"], 2, "leave out --dir or --from"),
        (["--from", str(tmp_path), "--json"], 3, "has no data of these tables; save them with"),
        (["KBBvK", "--from", str(saved), "--json"], 3, "has no data of KBBvK"),
        (["--dir", str(directory), "--save", str(saved / KNVK)], 1, "cannot make the directory"),
        ([], 2, "saved data: --save DIR; or a list"),
    ):
        assert main(["report", *words]) == code
        output = capsys.readouterr()
        assert output.out == ""
        assert says in output.err
