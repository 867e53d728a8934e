"""``tbgen score``: one set of numbers in five formats."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import Capture, document, said
from tests.support.paths import KOMI, MATCH

pytestmark = pytest.mark.usefixtures("default_directory")


def standings(capsys: Capture, *words: str) -> Any:
    """Return the document of standings, made in this process only."""
    return document(capsys, "score", "--jobs", "1", *words)


def tagged_points(path: str) -> dict[str, float]:
    """Return the points by player that cuteRMob has written into a file."""
    sums: dict[str, float] = {}
    for game in Path(path).read_text().split("[Event ")[1:]:
        tags = dict(re.findall(r'^\[(\w+) "(.*)"\]', game, re.MULTILINE))
        shares = {"1-0": (1.0, 0.0), "0-1": (0.0, 1.0), "1/2-1/2": (0.5, 0.5)}
        white, black = shares.get(tags["Points"]) or map(float, tags["Points"].split("-"))
        sums[tags["White"]] = sums.get(tags["White"], 0) + white
        sums[tags["Black"]] = sums.get(tags["Black"], 0) + black
    return sums


@pytest.mark.parametrize("path", [MATCH, KOMI])
def test_points_are_those_that_cutermob_wrote(path: str, capsys: Capture) -> None:
    found = standings(capsys, path)
    scoring = found["scoring"]
    assert scoring == ("komi" if path == KOMI else "exponential")
    expected = tagged_points(path)
    assert len(found["games"]) == 12
    for player in found["players"]:
        assert player["points"][scoring] == pytest.approx(expected[player["name"]], abs=0.001)


def test_several_files_processes_and_scorings(capsys: Capture) -> None:
    alone = standings(capsys, MATCH, KOMI, "--scoring", "winner", "--jobs", "1")
    assert len(alone["games"]) == 24
    assert {game["file"] for game in alone["games"]} == {Path(MATCH).name, Path(KOMI).name}
    assert standings(capsys, MATCH, KOMI, "--scoring", "winner", "--jobs", "2") == alone
    out, told = said(capsys, 0, "score", MATCH, KOMI, "--json")
    assert json.loads(out)["scoring"] == "exponential"
    assert told == ["tbgen: the tags of the games name several scorings; all games are scored exponentially"]
