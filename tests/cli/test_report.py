"""``tbgen report``: its files, messages and refusals."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import html5lib
import pytest

from tbgen.board.variant import Variant
from tbgen.cli.main import main
from tbgen.report.model import TableReport
from tbgen.report.scan import TableCounts, scan_table
from tbgen.report.site import Site
from tbgen.report.source import TableSource
from tests.support.commands import Capture, said
from tests.support.exhaustive import exhaustive
from tests.support.reports import report_with_lines

DATE = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ", re.MULTILINE)


pytestmark = pytest.mark.usefixtures("default_directory", "no_plots")


def files(directory: Path) -> dict[str, bytes]:
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


def test_a_site(capsys: Capture, tmp_path: Path, reference_dir: Path) -> None:
    out = tmp_path / "site"
    printed, (told,) = said(capsys, 0, "report", "KvK", "kvkb", "KBvK", "--out", out)
    assert re.fullmatch(rf"{out}/index\.html: 6 pages, [0-9.]+ s\n", printed)
    about = r"about [0-9.]+ s and [0-9.]+ MiB of memory"
    assert re.fullmatch(rf"2 tables of {reference_dir} to report on, {about}", DATE.sub("", told))
    written = files(out)
    pages = sorted(name for name in written if name.endswith(".html"))
    assert pages == [
        *("endgames.html", "index.html", "mating.html", "records.html"),
        *("tables/KBvK.r.html", "tables/KvK.r.html"),
    ]
    for name in pages:
        html5lib.HTMLParser(strict=True).parse(written[name].decode())
    assert main(["report", "KvK", "KBvK", "--out", str(out), "--threads", "2"]) == 0
    assert files(out) == written


def test_all_tables_that_are_there(capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = watch(monkeypatch)
    for words, reported in (
        ([], ["KvK", "KBvK", "KNvK"]),
        (["--men", "2"], ["KvK"]),
        (["KNvK", "--men", "2", "--rules", "r"], ["KvK", "KNvK"]),
    ):
        asked.clear()
        said(capsys, 0, "report", *words, "--json")
        assert asked == reported


def watch(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect the names of the tables that are counted."""
    asked = []
    real = scan_table

    def noting(source: TableSource, **options: Any) -> TableCounts:
        asked.append(source.layout.material.name)
        return real(source, **options)

    monkeypatch.setattr("tbgen.report.making.scan_table", noting)
    return asked


def test_json(capsys: Capture, reference_dir: Path, tmp_path: Path) -> None:
    both = json.loads(said(capsys, 0, "report", "KvK", "--json", "--out", tmp_path)[0])
    report = report_with_lines(reference_dir, "KvK")
    assert both["tables"] == [json.loads(json.dumps(report.builtins()))]
    assert [entry["g"] for entry in both["records"]["r"]] == ["G1.5", "G2.5", "G3.5", "G4.5", "G5.5", "G8.5"]
    assert (tmp_path / "tables/KvK.r.html").exists()


@pytest.mark.parametrize("error", [MemoryError(), *exhaustive([KeyboardInterrupt()])])
def test_an_interrupted_report_lacks_pages_only(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: BaseException
) -> None:
    real = Site.write_table

    def interrupted(site: Site, report: TableReport, other: Variant | None = None) -> None:
        if report.material.name == "KNvK":
            monkeypatch.setattr("os.replace", stop)
        real(site, report, other)

    def stop(_path: Path, _target: Path) -> None:
        raise error

    monkeypatch.setattr(Site, "write_table", interrupted)
    code = 130 if isinstance(error, KeyboardInterrupt) else 1
    out, told = said(capsys, code, "report", "KvK", "KNvK", "--out", tmp_path)
    assert out == ""
    assert told[-1] == ("tbgen: interrupted" if code == 130 else "tbgen: not enough memory")
    written = files(tmp_path)
    assert {name for name in written if name.endswith("html")} == {"tables/KvK.r.html"}
    assert not any("tmp" in name or "KNvK" in name for name in written)


def test_a_damaged_table(capsys: Capture, reference_dir: Path, tmp_path: Path) -> None:
    source = reference_dir / "KBvK.r.h5"
    shutil.copy(source, tmp_path / source.name)
    (tmp_path / "KvK.r.h5").write_bytes(source.read_bytes()[:1000])
    out, told = said(capsys, 1, "report", "--dir", tmp_path, "--out", tmp_path / "site")
    assert out == ""
    assert "KvK.r.h5" in told[-1]
    assert not list((tmp_path / "site").rglob("*.html"))


def test_lines_that_need_missing_tables(capsys: Capture, reference_dir: Path, tmp_path: Path) -> None:
    shutil.copy(reference_dir / "KBvK.r.h5", tmp_path)
    out, told = said(capsys, 0, "report", "--dir", tmp_path, "--json")
    (table,) = json.loads(out)["tables"]
    without = sum(bool(record["depth"]) and not record["line"] for record in table["records"])
    assert f"{without} line" in told[-1] if without else len(told) == 1
