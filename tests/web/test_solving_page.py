"""Solving on the page, in a browser."""

import chess
import pytest
from playwright.sync_api import expect

from tests.support.browsing import Visit

pytestmark = pytest.mark.slow
LOCKED = "8/4k3/5p1p/7P/4K1P1/8/8/8 w - - 22 72"


def test_solving_is_told_as_it_goes_on(visit: Visit) -> None:
    """The page shows a refusal and events of the server; rows of test_modules.py have every kind of event."""
    page = visit.page
    visit.enter("#fen", f"{LOCKED} G4.5")
    solve = page.get_by_role("button", name="Solve it here")
    busy = {"code": "busy", "message": "later"}
    page.route("**/r/solve*", lambda route: route.fulfill(status=503, json=busy))
    solve.click()
    expect(page.locator("#problem")).to_have_text("later")
    page.unroute_all()
    told = 'event: interval\ndata: {"lower": "-G0.0", "upper": "G4.5", "cells": 3}\n\n'
    page.route("**/r/solve*", lambda route: route.fulfill(content_type="text/event-stream", body=told))
    page.reload()
    solve.click()
    expect(page.locator(".bar")).to_have_attribute("aria-label", "from -G0.0 to G4.5")
    visit.enter("#fen", chess.STARTING_FEN)
    expect(page.locator("#problem")).to_contain_text("32 men")
    expect(solve).to_have_count(0)
