"""The page about TCEC's games is made of its saved data, and these agree with what TCEC has published."""

import json
import shutil
from pathlib import Path

import pytest

from tbgen.games.standings import standings
from tbgen.games.standings.orders import ORDERS
from tests.support.paths import DATA, ROOT
from tests.support.script_modules import load_script

tcec = load_script("tcec")
PAGE = ROOT / "docs" / "tcec.md"
SAVED = ROOT / "docs" / "tcec"


@pytest.mark.slow
def test_the_page_is_what_the_data_say(tmp_path: Path) -> None:
    data = tmp_path / "tcec"
    shutil.copytree(SAVED, data)
    (data / "old.svg").touch()
    tcec.write_page(data, tmp_path / "tcec.md")
    assert (tmp_path / "tcec.md").read_text() == PAGE.read_text()
    assert {path.name: path.read_bytes() for path in data.iterdir()} == {
        path.name: path.read_bytes() for path in SAVED.iterdir()
    }


def test_the_event_that_r_mobility_decided() -> None:
    """The figures are those that TCEC published in July 2020."""
    text = PAGE.read_text()
    assert "R-mobility separated them: 22.4959 points against 21.9816." in text
    assert "| AllieStein | 1 | 22.5 | 7 | 3 (1) | 459.75 (1) | 22.4959 (1) |" in text
    assert "| LCZero | 2 | 22.5 | 7 | 3 (1) | 459.75 (1) | 21.9816 (2) |" in text
    assert sum(path.stat().st_size for path in SAVED.iterdir()) < 300_000


def test_who_went_on_is_who_the_rules_name() -> None:
    """Players of the next rounds, as their games in the archive show."""
    events = tcec.events_in(SAVED)
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


ARCHIVE = (DATA / "archive.pgn").read_text()


def test_data_are_collected_from_an_archive(three_men: Path, tmp_path: Path) -> None:
    archive = tmp_path / "master-archive"
    archive.mkdir()
    for name in ("TCEC_Season_18_-_League_1", "TCEC_Season_18_-_Sufi_Testing_1"):
        (archive / f"{name}.pgn").write_text(ARCHIVE)
    (archive / "large.pgn").write_bytes(b"\n" * (4 << 20))
    tcec.collect(tmp_path, three_men, tmp_path / "data")
    rows = (tmp_path / "data" / "results.csv").read_text().splitlines()
    assert [row.split(",")[:5] for row in rows[1:]] == [
        ["TCEC_Season_18_-_League_1", "1.1", "A 1", "B 2", "1/2-1/2"],
        ["TCEC_Season_18_-_League_1", "1.2", "B 2", "A 1", "1-0"],
    ]
    saved = json.loads((tmp_path / "data" / "draws.json").read_text())
    (draw,) = saved.pop("known")
    assert saved == {"files": 1, "games": 2, "bases": {"tablebase": 1}, "men": {"3": 1}}
    assert draw["fen"] == "8/5B1k/8/6K1/8/8/8/8 w - - 0 154"
    assert draw["accrued"] == "-G15.5"
    assert (draw["value"], len(draw["line"])) == ("G0.5", 3), "White can force stalemate"
