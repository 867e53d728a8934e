"""Variants: their names outside, and what they mean."""

import json
import pickle

import pytest

from tbgen.board.variant import Variant
from tbgen.errors import UsageError


def test_names_and_meaning() -> None:
    assert [(variant.value, variant.label, variant.resets) for variant in Variant] == [
        ("r", "r-mobility", True),
        ("wg", "whole-game mobility", False),
    ]
    assert json.dumps({"rules": Variant.WHOLE_GAME}) == '{"rules": "wg"}'
    assert f"{Variant.R_MOBILITY}" == str(Variant.R_MOBILITY) == "r"
    assert pickle.loads(pickle.dumps(Variant.WHOLE_GAME)) is Variant.WHOLE_GAME


def test_parse() -> None:
    for variant in Variant:
        assert Variant.parse(variant.value) is Variant.parse(variant) is variant
    for text in ("", "R", "x", "wg "):
        with pytest.raises(UsageError) as caught:
            Variant.parse(text)
        assert str(caught.value) == (
            f"there are no rules {text!r}; tables are built for the rules 'r' (r-mobility) and "
            "'wg' (whole-game mobility)"
        )
