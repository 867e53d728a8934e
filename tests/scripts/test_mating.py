"""The page of mating potential is made of its saved list, and its verdicts are those of the tables."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from chess import A1, A2, C2, parse_square

from tbgen.board.material import Material
from tbgen.errors import UsageError
from tbgen.report.facts.mating import mating_entry
from tbgen.report.model import Verdict
from tests.support.paths import ROOT
from tests.support.reports import count_table
from tests.support.script_modules import load_script

mating = load_script("mating")
PAGE = ROOT / "docs" / "mating.md"
SAVED = ROOT / "docs" / "mating"
TABLES = ROOT / "docs" / "tables"
DESCRIBED = " ".join((ROOT / "docs" / "described.md").read_text().split())


@pytest.fixture(scope="module")
def found() -> Any:
    return mating.Mating(SAVED, TABLES)


def test_the_page_is_what_the_data_say(tmp_path: Path) -> None:
    mating.write_page(SAVED, TABLES, tmp_path / "mating.md")
    assert (tmp_path / "mating.md").read_text() == PAGE.read_text()


def test_every_man_meets_every_other(found: Any) -> None:
    """Alone, in pairs, against the pieces of chess and against each other: 20 described men at the least."""
    assert sum(man.startswith("[") for man in found.men) >= 20
    assert {"Q", "R", "B", "N"} < set(found.men)
    for man in found.men:
        for white, black in (
            (man, ""),
            (2 * man, ""),
            *((man, other) for other in found.men if other != man),
        ):
            assert found.of(white, black)


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


def test_mates_in_two_of_two_ferzes_are_real() -> None:
    """Every reply to the check is answered by mate, in moves tried step by step."""
    for first, second, check in (("a4", "c1", "b2"), ("c4", "a3", "b2"), ("a4", "c3", "b2")):
        men = {C2: "K", parse_square(first): "F", parse_square(second): "F"}
        assert not any(_mated(A1, after) for after in _moves(men, A1))
        checked = {**men, parse_square(check): "F"}
        del checked[parse_square(second)]
        assert checked in _moves(men, A1)
        replies = _king_moves(A1, checked)
        assert replies == [A2]
        assert any(_mated(A2, after) for after in _moves(checked, A2))


def _steps(square: int, man: str) -> list[int]:
    """Where a king or a ferz goes."""
    file, rank = square % 8, square // 8
    ways = [(x, y) for x in (-1, 0, 1) for y in (-1, 0, 1) if (x and y) or (man == "K" and (x or y))]
    found = [(file + x, rank + y) for x, y in ways]
    return [8 * y + x for x, y in found if x in range(8) and y in range(8)]


def _moves(men: dict[int, str], black: int) -> list[dict[int, str]]:
    """White's men after each of his moves; his king keeps away from Black's."""
    guarded = _steps(black, "K")
    return [
        {target if at == square else at: each for at, each in men.items()}
        for square, man in men.items()
        for target in _steps(square, man)
        if target not in men and target != black and not (man == "K" and target in guarded)
    ]


def _king_moves(black: int, men: dict[int, str]) -> list[int]:
    """Where Black's king goes."""
    found = []
    for target in _steps(black, "K"):
        left = {at: man for at, man in men.items() if at != target}
        if not any(target in _steps(at, man) for at, man in left.items()):
            found.append(target)
    return found


def _mated(black: int, men: dict[int, str]) -> bool:
    attacked = any(black in _steps(at, man) for at, man in men.items())
    return attacked and not _king_moves(black, men)


def test_a_list_is_saved(tmp_path: Path, found: Any) -> None:
    document = {"entries": [entry.plain() for entry in found.entries.values()], "missing": []}
    (tmp_path / "list.json").write_text(json.dumps(document))
    command = [sys.executable, str(ROOT / "scripts" / "mating.py"), "--list", "list.json"]
    subprocess.run([*command, "--data", "data", "--out", "x.md"], check=True, cwd=tmp_path)
    assert (tmp_path / "x.md").read_text() == PAGE.read_text()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"entries": []}'])
def test_files_that_are_no_list(text: str, tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text(text)
    with pytest.raises(UsageError, match="no list of tbgen report --mating"):
        mating.save(mating.document_of(tmp_path / "list.json"), tmp_path)
