"""Solving on the page, in a browser."""

import json
from typing import Any

import chess
import pytest
from playwright.sync_api import expect

from tests.support.browsing import Visit

pytestmark = pytest.mark.slow
LOCKED = "8/4k3/5p1p/7P/4K1P1/8/8/8 w - - 22 72"


def test_solving_is_told_as_it_goes_on(visit: Visit) -> None:
    """The page shows the content of events; test_solving.py tests that the server sends them."""
    page = visit.page
    solved: dict[str, Any] = {
        **dict.fromkeys(("value", "lower", "upper"), "G4.5"),
        "fen": LOCKED,
        "accrued": "G4.5",
        "depth": None,
        "claims": {"lower": "White can force G4.5 (Black has 4 moves)", "upper": None},
        "plans": {"lower": [{"uci": "e4d3", "san": "Kd3"}, {"uci": "e7d7", "san": "Kd7"}], "upper": []},
        "gaps": [],
        "narrowing": None,
        "stopped_by": None,
        "points": {end: {"white": 0.501, "black": 0.499} for end in ("lower", "upper")},
        "moves": [
            {"san": "Kd3", "lower": "G4.5", "upper": "G4.5"},
            {"san": "g5", "lower": "-G0.0", "upper": "-G0.5"},
        ],
    }
    told = [("interval", {"lower": "-G0.0", "upper": "G4.5", "cells": 3}), ("solution", solved)]
    body = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in told)
    visit.enter("#fen", f"{LOCKED} G4.5")
    solve = page.get_by_role("button", name="Solve it here")
    page.route(
        "**/r/solve*", lambda route: route.fulfill(status=503, json={"code": "busy", "message": "later"})
    )
    solve.click()
    expect(page.locator("#problem")).to_have_text("later")
    page.unroute_all()
    begun = body.partition("event: solution")[0]
    page.route("**/r/solve*", lambda route: route.fulfill(content_type="text/event-stream", body=begun))
    page.reload()
    solve.click()
    expect(page.locator(".bar")).to_have_attribute("aria-label", "from -G0.0 to G4.5")
    page.unroute_all()
    page.route("**/r/solve*", lambda route: route.fulfill(content_type="text/event-stream", body=body))
    page.reload()
    solve.click()
    expect(page.locator("#value")).to_have_text("G4.5")
    expect(page.locator("#sentence")).to_contain_text("White keeps G4.5")
    expect(page.locator("#problem")).to_contain_text("Proved: best play comes to G4.5, 0.5010-0.4990.")
    expect(page.locator("#problem li").last).to_have_text("g5 -G0.0 to -G0.5")
    expect(page.locator(".ends figure")).to_have_text("White can force G4.5 (Black has 4 moves): Kd3 Kd7")
    assert page.locator(".ending use").count() == 6
    lines = page.locator(".ending .arrow line").all()
    ends = [[line.get_attribute(name) for name in ("x1", "y1", "x2", "y2")] for line in lines]
    assert ends == [["180", "60", "140", "60"], ["180", "180", "140", "220"]]
    gap = {"text": "White's g-pawn promotes in 2 positions: needs 3 mobile men, 437.50 MiB"}
    solved |= {"value": None, "lower": "-G0.0", "upper": "G0.0", "stopped_by": "memory", "gaps": [gap]}
    solved |= {"claims": {"lower": None, "upper": None}}
    body = f"event: solution\ndata: {json.dumps(solved)}\n\n"
    page.reload()
    solve.click()
    visit.sees({"#value": "not known", "#sentence": "Nothing is known of the value."})
    expect(page.locator("#problem")).to_contain_text("Stopped by: memory.")
    visit.sees({".gaps li": f"{gap['text']}.", ".ending": 0})
    visit.enter("#fen", chess.STARTING_FEN)
    expect(page.locator("#problem")).to_contain_text("32 men")
    expect(solve).to_have_count(0)
