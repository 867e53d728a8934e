"""Variants: their names and their meanings."""

import json
import pickle
import re
from pathlib import Path

import pytest

from tbgen.board import variant
from tbgen.board.variant import Resets, Variant
from tbgen.errors import UsageError
from tbgen.probe.views import View
from tests.support.paths import ROOT


def test_names_and_meaning() -> None:
    assert [(each.value, each.label, each.resets) for each in Variant] == [
        ("r", "r-mobility", Resets.ZEROING_MOVES),
        ("wg", "whole-game mobility", Resets.NOTHING),
    ]
    assert json.dumps({"rules": Variant.WHOLE_GAME}) == '{"rules": "wg"}'
    assert f"{Variant.R_MOBILITY}" == str(Variant.R_MOBILITY) == "r"
    assert pickle.loads(pickle.dumps(Variant.WHOLE_GAME)) is Variant.WHOLE_GAME


def test_the_page_offers_every_variant() -> None:
    page = ROOT / "tbgen" / "web" / "page"
    assert f"RULES = {json.dumps([*Variant, *View])}\n" in (page / "state.js").read_text()
    offered = re.findall('<option value="(.+)">(.+)</option>', (page / "index.html").read_text())
    assert {each.value: each.label for each in Variant}.items() <= dict(offered).items()


@pytest.mark.exhaustive
def test_mypy_names_every_place_that_a_third_variant_needs(tmp_path: Path) -> None:
    api = pytest.importorskip("mypy.api")
    source = Path(variant.__file__)
    third = source.read_text().replace(
        '    WHOLE_GAME = "wg"\n', '    WHOLE_GAME = "wg"\n    ONE_MORE = "one more"\n'
    )
    third = third.replace('    NOTHING = "nothing"\n', '    NOTHING = "nothing"\n    ONE_MORE = "one more"\n')
    (tmp_path / "third.py").write_text(third)
    shadow = ("--shadow-file", str(source), str(tmp_path / "third.py"))
    said = api.run([*shadow, "--cache-dir", str(tmp_path), str(source.parent.parent)])[0]
    named = {tuple(line.split(":")[:2]) for line in said.splitlines() if '"unlisted_error"' in line}
    places = [
        path
        for path in source.parent.parent.rglob("*.py")
        for _ in re.findall(r"raise unlisted_error\(", path.read_text())
    ]
    assert len(named) == len(places) > 10


def test_parse() -> None:
    for each in Variant:
        assert Variant(each.value) is Variant(each) is each
    for text in ("", "R", "x", "wg "):
        with pytest.raises(UsageError) as caught:
            Variant(text)
        assert str(caught.value) == (
            f"there are no rules {text!r}; tables are built for the rules 'r' (r-mobility) and "
            "'wg' (whole-game mobility)"
        )
