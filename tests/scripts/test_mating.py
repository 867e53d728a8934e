"""The page of mating potential is made of its saved list, and its verdicts are those of the tables."""

import json
from pathlib import Path
from typing import Any

import pytest

from tbgen.board.material import Material
from tbgen.errors import UsageError
from tbgen.report.mating import mating_entry
from tbgen.report.model import Verdict
from tests.support.paths import ROOT
from tests.support.reports import count_table
from tests.support.script_modules import load_script, ran

mating = load_script("mating")
PAGE = ROOT / "docs" / "mating.md"
SAVED = ROOT / "docs" / "mating"
TABLES = ROOT / "docs" / "tables"
DESCRIBED = " ".join((ROOT / "docs" / "described.md").read_text().split())


@pytest.fixture(scope="module")
def found() -> Any:
    return mating.Mating(SAVED, TABLES)


def test_all_tables_are_proved_in_full(found: Any) -> None:
    proofs = [line.split() for line in (SAVED / "proofs.txt").read_text().splitlines()[1:]]
    assert all(proved == positions for *_, proved, positions, _, _ in proofs)
    assert {name for name, *_ in proofs} >= {str(each) for each in found.entries}
    states = sum(int(states) for *_, states, _ in proofs)
    assert f"{len(proofs)} tables" in DESCRIBED
    assert f"{states / 1e9:.1f} billion states" in DESCRIBED


def test_figures_of_an_independent_program(found: Any) -> None:
    """Shares of open positions to move and not to move, and the longest mate, in classical chess."""
    for white, black, to_move, waiting, longest in (
        ("R", "", 100, None, 32),
        ("Q", "", 100, None, 20),
        ("[WF]", "", 100, None, 36),
        ("[WD]", "", 96.08, None, 58),
        ("Q", "[WF]", 68.63, 51.74, 43),
        ("Q", "R", 98.81, 94.20, None),
        ("[BDD]", "", 0, 0, None),
        ("[W][W]", "", 0, 0, None),
        ("NN", "", 0, 0, None),
    ):
        entry, side = found.of(white, black)
        truth = entry.potential.truth[side]
        assert round(100 * truth.to_move.share, 2) == to_move, entry.material
        assert waiting is None or round(100 * truth.waiting.share, 2) == waiting, entry.material
        assert longest is None or entry.longest[side] == longest, entry.material


def test_entries_are_those_of_tables(found: Any, three_men: Path) -> None:
    for name in ("KQvK", "KRvK", "KBvK", "KNvK"):
        assert found.entries[Material.parse(name)] == mating_entry(count_table(three_men, name)), name


def test_two_ferzes_mate_by_force_in_64_positions(found: Any) -> None:
    """Mates in two around a corner, such as c1b2+ a1a2 a4b3#; in general they do not.

    That no other way is longer, and that 80 mates and 16 positions before a forced one are all that there are
    with Black to move, FairyGen says (``tests/data/fairygen.csv``).
    """
    truth = found.of("[F][F]")[0].potential.truth.white
    assert (truth.verdict, truth.mates) == (Verdict.SOMETIMES, 80)
    assert (truth.to_move.forced, truth.waiting.forced) == (48, 16)


def test_a_list_is_saved_and_the_page_is_what_the_data_say(
    tmp_path: Path, found: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    document = {"entries": [entry.builtins() for entry in found.entries.values()], "missing": []}
    (tmp_path / "list.json").write_text(json.dumps(document))
    words = ("--list", tmp_path / "list.json", "--data", tmp_path / "data", "--out", tmp_path / "page.md")
    assert ran(capsys, mating, *words) == (0, "", "")
    assert (tmp_path / "page.md").read_text() == PAGE.read_text()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"entries": []}'])
def test_files_that_are_no_list(text: str, tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text(text)
    with pytest.raises(UsageError, match="no list of tbgen report --mating"):
        mating.save(mating.document_of(tmp_path / "list.json"), tmp_path)
