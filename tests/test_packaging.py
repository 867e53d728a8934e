"""What is installed is the whole package: templates, the page and what is vendored, not the modules alone."""

import posixpath
import re
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.support.paths import ROOT


def test_a_wheel_has_every_file_of_the_package_and_pages_that_lead_to_each_other(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    kept = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "tbgen").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {"tbgen/web/page/index.html", "tbgen/report/templates/report.html.jinja"} <= kept
    assert {name for name in files if name.startswith("tbgen/")} == kept
    check_pages(files)


def check_pages(files: dict[str, bytes]) -> None:
    """README, which is shown without the others, names them; these link to each other."""
    (metadata,) = [data.decode() for name, data in files.items() if name.endswith("/METADATA")]
    assert re.findall(r"\]\((?!https?:)[^)]*\)", metadata) == []
    named = re.findall(r"`(share/doc/tbgen/[^`]+)`", metadata)
    assert len(named) > 10
    named += [
        f"share/doc/tbgen/docs/{page.name}"
        for page in (ROOT / "docs").glob("*.md")
        if "```{" not in page.read_text()  # pages of the site that only include others
    ]
    named += [
        f"share/doc/tbgen/native/{file.name}"
        for file in (ROOT / "native").iterdir()
        if file.suffix in (".c", ".h", ".cpp", ".txt") or file.name in ("LICENSE", "Makefile")
    ]
    brought = {name.partition(".data/data/")[2]: data for name, data in files.items()}
    links = [
        (page, posixpath.normpath(posixpath.join(posixpath.dirname(page), target)))
        for page, data in brought.items()
        if page.endswith(".md")
        for target in re.findall(r"\]\((?!https?:)([^)#\s]+)", data.decode())
    ]
    assert len(links) > 50
    assert ("share/doc/tbgen/CONTRIBUTING.md", "share/doc/tbgen/benchmarks/README.md") in links
    assert [page for page in named if page not in brought] == []
    assert [link for link in links if link[1] not in brought] == []
