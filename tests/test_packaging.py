"""What is installed is the whole package: templates, the page and what is vendored, not the modules alone."""

import posixpath
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.paths import ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


def test_a_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.startswith("tbgen/")}
    kept = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "tbgen").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {"tbgen/web/page/index.html", "tbgen/report/site/templates/report.html.jinja"} <= kept
    assert packed == kept


def test_the_readme_of_a_wheel_names_pages_that_come_with_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = [archive.read(name).decode() for name in names if name.endswith("/METADATA")]
    assert re.findall(r"\]\((?!https?:)[^)]*\)", metadata) == []
    pages = re.findall(r"`(share/doc/tbgen/[^`]+)`", metadata)
    assert len(pages) > 10
    pages += [
        f"share/doc/tbgen/docs/{page.name}"
        for page in (ROOT / "docs").glob("*.md")
        if "```{" not in page.read_text()  # pages of the site that only include others
    ]
    brought = {name.partition(".data/data/")[2] for name in names}
    assert [page for page in pages if page not in brought] == []


def test_the_pages_of_a_wheel_link_to_what_comes_with_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        brought = {name.partition(".data/data/")[2]: name for name in archive.namelist()}
        pages = {
            place: archive.read(name).decode() for place, name in brought.items() if place.endswith(".md")
        }
    links = [
        (page, posixpath.normpath(posixpath.join(posixpath.dirname(page), target)))
        for page, text in pages.items()
        for target in re.findall(r"\]\((?!https?:)([^)#\s]+)", text)
    ]
    assert len(links) > 50
    assert ("share/doc/tbgen/CONTRIBUTING.md", "share/doc/tbgen/benchmarks/README.md") in links
    assert [link for link in links if link[1] not in brought] == []
