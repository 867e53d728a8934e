"""``tbgen report``: what it writes, says and refuses."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import html5lib
import pytest

from tbgen.board.variant import Variant
from tbgen.cli.main import main
from tbgen.report.facts.table_report import report_source
from tbgen.report.model import TableReport
from tbgen.report.scan.source import TableSource
from tbgen.report.site.site import Site
from tests.support.exhaustive import exhaustive
from tests.support.reports import drawn_once, report_with_lines

DATE = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ", re.MULTILINE)


@pytest.fixture(scope="module")
def directory(three_men: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of KvK, KBvK and KNvK, and no others."""
    directory = tmp_path_factory.mktemp("few")
    for name in ("KvK", "KBvK", "KNvK"):
        shutil.copy(three_men / f"{name}.r.h5", directory)
    return directory


@pytest.fixture(autouse=True)
def _plots_are_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tbgen.report.site.site.plots", drawn_once)


@pytest.fixture(autouse=True)
def default_directory(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TBGEN_DIR", str(directory))


def files(directory: Path) -> dict[str, bytes]:
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


def test_a_site(capsys: pytest.CaptureFixture[str], tmp_path: Path, directory: Path) -> None:
    out = tmp_path / "site"
    assert main(["report", "KvK", "kkb", "--out", str(out)]) == 2
    assert capsys.readouterr().err.startswith("tbgen: 'kkb' is not a material name")
    assert main(["report", "KvK", "kvkb", "KBvK", "--out", str(out)]) == 0
    output = capsys.readouterr()
    assert re.fullmatch(rf"{out}/index\.html: 6 pages, [0-9.]+ s\n", output.out)
    assert re.fullmatch(
        rf"2 tables of {directory} to report on, about [0-9.]+ s and [0-9.]+ MiB of memory\n",
        DATE.sub("", output.err),
    )
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


def test_all_tables_that_are_there(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = watch(monkeypatch)
    assert main(["report", "--json"]) == 0
    assert asked == ["KvK", "KBvK", "KNvK"]
    assert main(["report", "--men", "2", "--json"]) == 0
    assert asked[3:] == ["KvK"]
    assert main(["report", "KNvK", "--men", "2", "--rules", "r", "--json"]) == 0
    assert asked[4:] == ["KvK", "KNvK"]
    capsys.readouterr()


def watch(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note which tables are reported on."""
    asked = []
    real = report_source

    def noting(source: TableSource, **options: Any) -> TableReport:
        asked.append(source.layout.material.name)
        return real(source, **options)

    monkeypatch.setattr("tbgen.report.material_report.report_source", noting)
    return asked


def test_json(capsys: pytest.CaptureFixture[str], directory: Path, tmp_path: Path) -> None:
    assert main(["report", "KvK", "--json", "--out", str(tmp_path)]) == 0
    output = capsys.readouterr()
    both = json.loads(output.out)
    report = report_with_lines(directory, "KvK")
    assert both["tables"] == [json.loads(json.dumps(report.plain()))]
    assert [entry["g"] for entry in both["records"]["r"]] == ["G1.5", "G2.5", "G3.5", "G4.5", "G5.5", "G8.5"]
    assert (tmp_path / "tables/KvK.r.html").exists()


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_a_site_needs_an_extra_and_its_data_do_not(package: str, tmp_path: Path) -> None:
    script = f"import sys; sys.modules[{package!r}] = None; from tbgen.cli import entry_point; entry_point()"
    command = [sys.executable, "-c", script, "report", "KvK"]
    done = subprocess.run([*command, "--out", str(tmp_path / "site")], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(
        rf"tbgen: a (page|plot) needs {package}, which is not installed: "
        r"install it with: pip install 'tbgen\[report\]'\n",
        done.stderr,
    )
    assert list(tmp_path.iterdir()) == []
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
    assert [table["material"] for table in json.loads(done.stdout)["tables"]] == ["KvK"]


@pytest.mark.parametrize("error", [MemoryError(), *exhaustive([KeyboardInterrupt()])])
def test_an_interrupted_report_lacks_pages_only(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    error: BaseException,
) -> None:
    real = Site.write_table

    def interrupted(site: Site, report: TableReport, other: Variant | None = None) -> None:
        if report.material.name == "KNvK":
            monkeypatch.setattr("os.replace", stop)
        real(site, report, other)

    def stop(_path: Path, _target: Path) -> None:
        raise error

    monkeypatch.setattr(Site, "write_table", interrupted)
    assert main(["report", "KvK", "KNvK", "--out", str(tmp_path)]) == (
        130 if isinstance(error, KeyboardInterrupt) else 1
    )
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.splitlines()[-1] in ("tbgen: interrupted", "tbgen: not enough memory")
    written = files(tmp_path)
    assert {name for name in written if name.endswith("html")} == {"tables/KvK.r.html"}
    assert not any("tmp" in name or "KNvK" in name for name in written)


def test_a_default_directory_that_is_none(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TBGEN_DIR", "/dev/null")
    assert main(["report", "--out", str(tmp_path / "site")]) == 1
    assert capsys.readouterr().err == "tbgen: /dev/null is not a directory; choose another with --dir\n"


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (
            [],
            2,
            "its data: --json; saved data: --save DIR; or a list: --mating MEN",
        ),
        (["--out", "x", "--men", "9"], 2, "'--men': expected a whole number from 2 to 5, not 9"),
        (["--from", ".", "--json", "--depths"], 2, "--depths takes tables: leave it out"),
        (["--from", ".", "--json", "--layers"], 2, "--layers takes tables: leave it out"),
        (["--out", "x", "--men", "two"], 2, "'--men': expected a whole number from 2 to 5, not two"),
        (["--out", "x", "--rules", "s"], 2, "--rules: there are no rules 's'"),
        (["--out", "x", "--threads", "0"], 2, "'--threads': expected a whole number of at least 1, not 0"),
        (["KXvK", "--out", "x"], 2, "'KXvK' is not a material name"),
        (["KvK", "KQvK", "--out", "x"], 3, "; build it with: tbgen build KQvK\n"),
        (["--out", "x", "--dir", "nothing"], 3, "nothing has no such table; make some with: tbgen build"),
        (["--out", "x", "--dir", "/dev/null"], 1, "/dev/null is not a directory"),
        (
            ["--out", "/dev/null"],
            1,
            "cannot make the directory /dev/null: a file is in the way; choose another",
        ),
        (["--out", "/dev/null/x"], 1, "cannot make the directory /dev/null/x: a file is in the way"),
        (["--out", "/proc/x"], 1, "cannot make the directory /proc/x: "),
    ],
)
def test_bad_input(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    words: list[str],
    code: int,
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["report", *words]) == code
    output = capsys.readouterr()
    assert output.out == ""
    assert sentence in output.err
    assert output.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_table(capsys: pytest.CaptureFixture[str], directory: Path, tmp_path: Path) -> None:
    source = directory / "KBvK.r.h5"
    shutil.copy(source, tmp_path / source.name)
    (tmp_path / "KvK.r.h5").write_bytes(source.read_bytes()[:1000])
    assert main(["report", "--dir", str(tmp_path), "--out", str(tmp_path / "site")]) == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert "KvK.r.h5" in output.err.splitlines()[-1]
    assert not list((tmp_path / "site").rglob("*.html"))


def test_lines_that_need_missing_tables(
    capsys: pytest.CaptureFixture[str], directory: Path, tmp_path: Path
) -> None:
    shutil.copy(directory / "KBvK.r.h5", tmp_path)
    assert main(["report", "--dir", str(tmp_path), "--json"]) == 0
    output = capsys.readouterr()
    (table,) = json.loads(output.out)["tables"]
    without = sum(bool(record["depth"]) and not record["line"] for record in table["records"])
    if without:
        assert f"{without} line" in output.err.splitlines()[-1]
    else:
        assert len(output.err.splitlines()) == 1
