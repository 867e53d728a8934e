"""User-defined men: the content of the file, and errors in it."""

from pathlib import Path

import pytest

from tbgen.board.fen import parse_described
from tbgen.board.material import Material, described_kind
from tbgen.board.named import named_men, named_value
from tbgen.errors import UsageError
from tbgen.report.mating import mating_rule
from tbgen.report.mating_report import mating_materials
from tests.support.refusals import refusal

MEN = """
[commoner]
moves = "KK"

[ghost-2]
moves = "DW"
value = 5.5
"""


@pytest.fixture
def men(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a file of men."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TBGEN_MEN", raising=False)
    path = tmp_path / "men.toml"
    path.write_text(MEN)
    return path


@pytest.mark.usefixtures("men")
def test_a_name_stands_for_a_description() -> None:
    assert described_kind("ghost-2") is described_kind("GHOST-2") is described_kind("WD")
    assert Material.parse("kvk[GHOST-2]").name == "K[WD]vK"
    assert parse_described("8/8/8/4K[GHOST-2]k1/8/8/8/8 b").board.fen().startswith("8/8/8/4K[WD]k1/8/8/8/8 b")
    assert parse_described("8/8/8/4K[ghost-2]k1/8/8/8/8 b").board.fen().startswith("8/8/8/4K[wd]k1/8/8/8/8 b")
    assert mating_materials(["[ghost-2]"]) == mating_materials(["[WD]"])
    assert named_men()["commoner"].moves == "KK"
    for mixed in ("Ghost-2", "Commoner"):  # White's or Black's in a FEN?
        with pytest.raises(UsageError, match="is not a man"):
            described_kind(mixed)


@pytest.mark.usefixtures("men")
def test_the_rule_of_thumb_takes_the_value() -> None:
    assert named_value("[WD]") == 5.5
    assert named_value("[WF]") is None
    rule = mating_rule(Material.parse("K[WD]vKN"))
    assert (rule.leader, rule.advantage) == ("black", 2.25)
    assert mating_rule(Material.parse("K[WD]vKN"), {"[WD]": 3.0, "N": 3.25}).leader == "white"


def test_a_file_elsewhere(men: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The descriptions of this file have small letters, which are allowed too."""
    other = tmp_path / "other.toml"
    other.write_text('[elk]\nmoves = "nw"\nvalue = 4.5\n')
    monkeypatch.setenv("TBGEN_MEN", str(other))
    assert (described_kind("elk").name, named_value("[WN]")) == ("[WN]", 4.5)
    with pytest.raises(UsageError, match=r"'\[unknown\]' is not a man: .*or a name that men.toml gives"):
        described_kind("unknown")
    other.unlink()
    assert "of $TBGEN_MEN is missing" in refusal(described_kind, "moose")
    assert described_kind("WN").name == "[WN]"  # no name: the file does not matter
    monkeypatch.setenv("TBGEN_MEN", "")  # as if it were not set
    assert described_kind("commoner").name == "[WF]"
    men.unlink()
    assert (named_men(), named_value("[WD]")) == ({}, None)


def test_what_is_wrong_is_said(men: Path) -> None:
    for text, says in (
        ("[x", "Expected"),
        ("x = 1", "Expected `object`, got `int`"),
        ('[elk]\nmove = "NW"', "unknown field `move`"),
        ("[elk]\nvalue = 3", "missing required field `moves`"),
        ('[elk]\nmoves = "NW"\nvalue = "much"', "Expected `float | null`"),
        ('[elk]\nmoves = "NW"\nvalue = -1', "elk cannot have a value of -1 pawns"),
        ('[elk]\nmoves = "NW"\npictures = ["elk.svg"]', "Expected `array` of length 2"),
        ('[elk]\nmoves = "NW"\npictures = ["men.toml", "men.toml"]', "'men.toml' of elk is not an SVG file"),
        ('[elk]\nmoves = "fN"', "'fN' of elk does not describe a man"),
        ('[elk]\nmoves = "elk"', "'elk' of elk does not describe a man"),
        ('[elk]\nmoves = "DDHH"', "rides by both D and H"),
        ('[rn]\nmoves = "RN"', "'rn' describes a man itself"),
        ('[Elk]\nmoves = "NW"', "'Elk' is not a name"),
    ):
        men.write_text(text)
        with pytest.raises(UsageError, match="is not a file of men ") as raised:
            named_men()
        assert says in str(raised.value), text
        assert str(raised.value).endswith("value = 3.1")
