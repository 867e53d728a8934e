"""The pages of the documentation that scripts make are what their saved data say."""

import shutil
from pathlib import Path

import pytest

from tests.support.exhaustive import exhaustive
from tests.support.paths import ROOT
from tests.support.script_modules import load_script, ran

DOCS = ROOT / "docs"
MADE = [("endings", "endings", "endings"), ("mating", "mating", "mating"), ("tcec", "tcec", "tcec")]
"""Scripts with the names of their page and of the directory of its data."""
OF_TABLES = [("set_page", "set", "tables"), *exhaustive([("overview", "findings", "tables")])]


def pictures(page: Path) -> dict[str, bytes]:
    """Return the pictures of a page by their names."""
    return {path.name: path.read_bytes() for path in page.with_suffix("").glob("*.svg")}


@pytest.mark.slow
@pytest.mark.parametrize(("script", "name", "data"), [*MADE, *OF_TABLES])
def test_the_page_is_what_the_data_say(
    script: str, name: str, data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, own = tmp_path / f"{name}.md", tmp_path / data
    shutil.copytree(DOCS / data, own)
    if pictures(DOCS / page.name):
        page.with_suffix("").mkdir(exist_ok=True)
        (page.with_suffix("") / "old.svg").touch()
    assert ran(capsys, load_script(script), "--data", own, "--out", page) == (0, "", "")
    assert page.read_text() == (DOCS / page.name).read_text()
    assert pictures(page) == pictures(DOCS / page.name)
