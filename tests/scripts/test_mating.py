"""The page of mating potential is made of its saved list, and its verdicts are those of the tables."""

import json
from pathlib import Path
from typing import Any

import pytest

from tbgen.board.material import Material
from tbgen.errors import UsageError
from tbgen.report.mating import mating_entry
from tests.support.paths import ROOT
from tests.support.reports import count_table
from tests.support.script_modules import load_script, ran

mating = load_script("mating")
SAVED = ROOT / "docs" / "mating"
TABLES = ROOT / "docs" / "tables"


@pytest.fixture(scope="module")
def found() -> Any:
    return mating.Mating(SAVED, TABLES)


def test_entries_are_those_of_tables(found: Any, three_men: Path) -> None:
    for name in ("KQvK", "KRvK", "KBvK", "KNvK"):
        assert found.entries[Material.parse(name)] == mating_entry(count_table(three_men, name)), name


def test_a_list_is_saved(tmp_path: Path, found: Any, capsys: pytest.CaptureFixture[str]) -> None:
    document = {"entries": [entry.builtins() for entry in found.entries.values()], "missing": []}
    (tmp_path / "list.json").write_text(json.dumps(document))
    words = ("--list", tmp_path / "list.json", "--data", tmp_path / "data", "--out", tmp_path / "page.md")
    assert ran(capsys, mating, *words) == (0, "", "")
    assert mating.Mating(tmp_path / "data", TABLES).entries == found.entries


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"entries": []}'])
def test_files_that_are_no_list(text: str, tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text(text)
    with pytest.raises(UsageError, match="no list of tbgen report --mating"):
        mating.save(mating.document_of(tmp_path / "list.json"), tmp_path)
