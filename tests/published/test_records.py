"""Published results: lists are complete, and say what independent programs and published tables say."""

import json
from typing import Any
from xml.etree import ElementTree

import chess
import pytest

from tbgen.board.material import Material, all_materials
from tbgen.board.variant import Variant
from tbgen.games.referee import Arbiter
from tbgen.games.standings import standings
from tbgen.games.standings.orders import ORDERS
from tbgen.report.data import SavedData
from tbgen.report.model import Verdict
from tests.support.digests import published_digests
from tests.support.exhaustive import exhaustive, sample
from tests.support.paths import ROOT
from tests.support.script_modules import load_script

DOCS = ROOT / "docs"
DESCRIBED = " ".join((DOCS / "described.md").read_text().split())
check_records, mating, tcec = map(load_script, ("check_records", "mating", "tcec"))


def test_every_material_has_a_record() -> None:
    """The names are canonical and in build order."""
    assert list(check_records.published()) == [material.name for material in all_materials(5)[1:]]


def test_records_are_possible() -> None:
    for name, record in check_records.published().items():
        assert record.material == Material.parse(name)
        for plies in record.mates:
            assert plies == 0 or plies % 2 == 1, name
        assert record.longest is None or record.longest >= max(record.mates), name
        assert all(number > 0 for number in record.positions), name
        if record.material.symmetric:
            assert len(set(record.mates)) == len(set(record.positions)) == 1, name


@pytest.mark.slow
@pytest.mark.parametrize("variant", [Variant.R_MOBILITY, *exhaustive([Variant.WHOLE_GAME])])
def test_published_data_agree(variant: Variant, capsys: pytest.CaptureFixture[str]) -> None:
    """Of whatever is in docs/tables, five men too."""
    data = SavedData(DOCS / "tables").materials(variant)
    names = [material.name for material in data[1 :: sample(40, 1)]]
    assert check_records.run(DOCS / "tables", names, variant, saved=True) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == names


def test_the_data_are_those_whose_digests_stand_beside_them() -> None:
    tables = json.loads((DOCS / "tables" / "set.json").read_text())["tables"]
    for rules in Variant:
        found = {table["material"]: table["digest"] for table in tables if table["rules"] == rules}
        assert found == published_digests(rules)


@pytest.fixture(scope="module")
def found() -> Any:
    return mating.Mating(DOCS / "mating", DOCS / "tables")


def test_all_tables_are_proved_in_full(found: Any) -> None:
    proofs = [line.split() for line in (DOCS / "mating" / "proofs.txt").read_text().splitlines()[1:]]
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


def test_two_ferzes_mate_by_force_in_64_positions(found: Any) -> None:
    """Mates in two around a corner, such as c1b2+ a1a2 a4b3#; in general they do not.

    That no other way is longer, and that 80 mates and 16 positions before a forced one are all that there are
    with Black to move, FairyGen says (``tests/data/fairygen.csv``).
    """
    truth = found.of("[F][F]")[0].potential.truth.white
    assert (truth.verdict, truth.mates) == (Verdict.SOMETIMES, 80)
    assert (truth.to_move.forced, truth.waiting.forced) == (48, 16)


def test_lines_can_be_played() -> None:
    """And their scores are those of the arbiter."""
    found = load_script("endings").read(DOCS / "endings")
    assert 0 < len(found.shown) <= 20
    for ending in found.shown:
        assert ending.surprise > 0
        arbiter = Arbiter(chess.Board(ending.fen), accrued=ending.accrued)
        for ply in ending.line:
            arbiter.push(chess.Move.from_uci(ply.uci))
            assert arbiter.accrued == ply.accrued
    for path in (DOCS / "endings").glob("*.svg"):
        assert ElementTree.parse(path).getroot().tag.endswith("svg")


def test_the_event_that_r_mobility_decided() -> None:
    """The figures are those that TCEC published in July 2020."""
    text = (DOCS / "tcec.md").read_text()
    assert "R-mobility separated them: 22.4959 points against 21.9816." in text
    assert "| AllieStein | 1 | 22.5 | 7 | 3 (1) | 459.75 (1) | 22.4959 (1) |" in text
    assert "| LCZero | 2 | 22.5 | 7 | 3 (1) | 459.75 (1) | 21.9816 (2) |" in text
    assert sum(path.stat().st_size for path in (DOCS / "tcec").iterdir()) < 300_000


def test_who_went_on_is_who_the_rules_name() -> None:
    """Players of the next rounds, as their games in the archive show."""
    events = tcec.events_in(DOCS / "tcec")
    went_on = {
        "TCEC_Season_21_-_Frc4_League_D": (2, "Berserk"),
        "TCEC_Season_22_-_Frc5_League_B": (2, "Berserk"),
        "TCEC_Season_24_-_Frc6_League_D": (2, "Minic"),
        "TCEC_Season_25_-_Frd_1_League_B": (3, "rofChade"),
    }
    for event in (*tcec.DECIDED, *tcec.OTHERS):
        if event.file in went_on:
            found = standings(events[event.file], order=ORDERS[event.rules]).players
            assert [(player.place, player.name.split()[0]) for player in found].count(
                went_on[event.file]
            ) == 1
