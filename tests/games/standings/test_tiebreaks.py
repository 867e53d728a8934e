"""Tiebreaks worked out by hand, and that the documentation has them all."""

import re

import pytest

from tbgen.cli.score import run
from tbgen.games.standings import ORDERS
from tbgen.games.standings.tiebreaks import BALANCES, TIEBREAKS
from tests.support.paths import ROOT

SCORING = (ROOT / "docs" / "scoring.md").read_text()


def test_the_documentation_has_every_tiebreak_and_order() -> None:
    rows = re.findall(r"^\| `(.*?) \|(.*)$", SCORING.partition("## Tables")[0], re.MULTILINE)
    described = {name: rest for names, rest in rows for name in re.findall(r"[\w.-]+", names)}
    for name, order in ORDERS.items():
        listed = re.findall(r"`([\w.-]+)`", described[name].split("|")[1])
        assert tuple(listed) == order.tiebreaks or (name == "points" and not listed)
    assert {*TIEBREAKS, BALANCES} <= set(described)


@pytest.mark.parametrize(
    ("option", "named"), [("order", ORDERS), ("tiebreaks", {**TIEBREAKS, BALANCES: None})]
)
def test_the_help_names_them_all(option: str, named: dict[str, object]) -> None:
    (text,) = [param.help for param in run.params if param.name == option]
    assert set(named) <= set(re.findall(r"[\w.-]+", text or ""))
