"""The functions of the page's modules: tests/data/page_modules.txt has calls with their results."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Final
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route

from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.board.scoring import Scoring
from tbgen.board.variant import Variant
from tbgen.index.position import random_positions
from tbgen.probe.tablebase import open_tablebase
from tests.support.paths import ROOT, rows

PAGE: Final = ROOT / "tbgen" / "web" / "page"
BLANK: Final = "<!DOCTYPE html><html data-solve><title>Blank</title><link rel=icon href=data:,>"
SIGN: Final = " --> "
"""What stands between a call and its result, which is written as JSON."""
CALLS: Final = """async () => {
    const found = []
    const existing = document.getElementById.bind(document)
    const made = id => document.body.appendChild(Object.assign(document.createElement("div"), {id}))
    document.getElementById = id => existing(id) ?? made(id)
    const text = id => document.getElementById(id).textContent
    const call = async made => {
        try { found.push(JSON.stringify(await made()) ?? "null") }
        catch (error) { found.push(JSON.stringify(String(error))) }
    }
    %s
    return found
}"""
"""The script around the calls. Every element that a module looks for exists; ``text`` reads it."""


def served(route: Route) -> None:
    """Answer the request for a module with its file, and any other with a blank page."""
    file = PAGE / urlsplit(route.request.url).path.removeprefix("/page/")
    route.fulfill(path=file) if file.is_file() else route.fulfill(body=BLANK, content_type="text/html")


CHOOSE: Final = """async ([counts, strength, drawn]) => {
    const {SEEN, chosen} = await import("/page/contest.js")
    return counts.map(count => chosen([...Array(count).keys()], SEEN[strength], () => drawn.pop()))
}"""
"""Returns the numbers of the moves that the page makes, where ``counts`` moves are legal."""


@pytest.fixture
def blank(browser: Browser) -> Iterator[Page]:
    """A page without elements that can load the modules."""
    page = browser.new_page()
    page.route("http://tbgen.test/**", served)
    page.goto("http://tbgen.test/")
    yield page
    page.close()


@pytest.mark.slow
def test_points_rise_with_the_strength(blank: Page, small: Path) -> None:
    """The page plays 12 plies of 200 games against best play; then the tables say what it gets."""
    scoring, means = Scoring.parse("exponential"), list[float]()
    materials = [Material.parse(name) for name in ("KQvK", "KRvK", "KBvK", "KNvK", "KPvK")]
    with open_tablebase(small, rules=Variant.R_MOBILITY) as tables:
        for strength in ("weak", "good", "best"):
            rng = Random(1)
            boards = [next(random_positions(material, rng)) for material in materials for _ in range(40)]
            sides = [board.turn for board in boards]
            accrued: list[GScore | None] = [None] * len(boards)
            values = [tables.probe(board).value for board in boards]
            for _ in range(12):
                moves = [found for found in tables.moves_many(boards, accrued) if isinstance(found, list)]
                drawn = [rng.random() for _ in range(6 * len(boards))]
                choices = blank.evaluate(CHOOSE, [[len(found) for found in moves], strength, drawn])
                for index, board in enumerate(boards):
                    if moves[index]:  # the game is not over
                        made = moves[index][choices[index] if board.turn == sides[index] else 0]
                        board.push(made.move)
                        accrued[index], values[index] = made.accrued, made.value
            points = [scoring.points(value) for value in values]
            means.append(
                fmean(each.white if side else each.black for each, side in zip(points, sides, strict=True))
            )
    assert means == sorted(set(means))


@pytest.mark.slow
def test_calls_have_their_results(blank: Page) -> None:
    """Lines of the file are calls with results, names of modules in brackets, or scripts."""
    script, calls = "", list[tuple[str, str]]()
    for line, *results in rows("page_modules.txt", SIGN):
        if module := re.fullmatch(r"\[(\w+)\]", line):
            script += "}" * bool(calls) + f"with (await import('/page/{module[1]}.js')) {{\n"
        else:
            script += f"await call(async () => ({line}))\n" if results else f"{line}\n"
            calls += [(line, result) for result in results]
    found = blank.evaluate(CALLS % (script + "}"))
    assert [
        f"{line}{SIGN}{got}"
        for (line, result), got in zip(calls, found, strict=True)
        if json.loads(got) != json.loads(result)
    ] == []
