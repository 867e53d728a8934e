"""A browser that visits the page of a server and reports errors."""

import asyncio
import atexit
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from time import monotonic
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import (
    Browser,
    BrowserContext,
    FloatRect,
    Page,
    Request,
    ViewportSize,
    expect,
    sync_playwright,
)

from tests.support.exhaustive import FEW

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--no-sandbox", "--disable-gpu")
SERIOUS = ("serious", "critical")
DESK: ViewportSize = {"width": 1200, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 664}
DRAWN = "() => new Promise(drawn => requestAnimationFrame(() => setTimeout(drawn)))"
GO = """query => {
    document.activeElement.blur()
    scrollTo(0, 0)
    history.pushState(null, "", `./${query}`)
    dispatchEvent(new PopStateEvent("popstate"))
}"""
SHIFTS = """{
    let total = 0
    new PerformanceObserver(found => {
        for (const each of found.getEntries()) total += each.hadRecentInput ? 0 : each.value
    }).observe({type: "layout-shift", buffered: true})
    window.shiftSoFar = () => total
    const fetched = fetch
    window.fetch = (...given) => new Promise(done => setTimeout(done, 100)).then(() => fetched(...given))
}"""
"""Script with which answers come late enough to be seen coming, and which adds up how much the page moves."""
MOST_MS = 300_000
"""Timeout of any step, enough for a slow machine."""

expect.set_options(timeout=MOST_MS)


def chromium() -> str | None:
    """Return the path of an installed browser."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@cache
def _started(path: str) -> tuple[Browser, asyncio.AbstractEventLoop]:
    """The browser of this process, which ends with it, and its event loop."""
    playwright = sync_playwright().start()
    browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
    loop = asyncio.get_running_loop()

    def end() -> None:
        asyncio._set_running_loop(loop)
        browser.close()
        playwright.stop()

    atexit.register(end)
    return browser, loop


@contextmanager
def launched() -> Iterator[Browser]:
    """A browser; without one the test is skipped.

    It is started once in a process. Its event loop, which leaves no room for another one, runs in the main
    thread whenever the browser is asked something; in between it is set aside.
    """
    path = chromium()
    if path is None:
        pytest.skip("there is no Chromium: install it with apt-get install chromium")
    browser, loop = _started(path)
    asyncio._set_running_loop(loop)
    try:
        yield browser
    finally:
        asyncio._set_running_loop(None)


@cache
def _context(browser: Browser, has_touch: bool) -> BrowserContext:
    """Return the context that visits share, so that files are loaded and compiled once only."""
    return browser.new_context(has_touch=has_touch)


class Visit:
    """A page that is open, in a browser that remembers no other one.

    :param address: of the server.
    :param script: what is run before those of the page.
    """

    def __init__(
        self,
        browser: Browser,
        address: str,
        query: str = "",
        script: str = "",
        *,
        viewport: Any = DESK,
        color_scheme: Any = "light",
        reduced_motion: Any = "reduce",
        has_touch: bool = False,
    ) -> None:
        self.page: Page = _context(browser, has_touch).new_page()
        self.page.set_viewport_size(viewport)
        self.page.emulate_media(color_scheme=color_scheme, reduced_motion=reduced_motion)
        self.page.add_init_script(script)
        self.page.set_default_timeout(MOST_MS)
        self.wrong: list[str] = []
        """Errors of scripts, and what the page was forbidden; not answers by which the server refuses."""
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", self._said)
        self._under_way = set[Request]()
        self.page.on("request", lambda request: self._under_way.add(request))
        self.page.on("requestfinished", lambda request: self._under_way.discard(request))
        self.page.on("requestfailed", lambda request: self._under_way.discard(request))
        self.page.goto(f"{address}/{query}")

    def _said(self, message: Any) -> None:
        if message.type == "error" and not message.text.startswith("Failed to load resource"):
            self.wrong.append(message.text)

    def close(self) -> None:
        """Close the page; nothing must have been wrong with it."""
        self.forget()
        self.page.close()
        assert self.wrong == []

    def forget(self) -> None:
        """Forget what the page has kept, and whatever else outlasts a test."""
        self.page.unroute_all()
        self.page.evaluate("() => { try { localStorage.clear() } catch {} }")
        self.page.context.clear_permissions()

    def go(self, query: str = "") -> None:
        """Lead the explorer to another address, as a step in the history does: nothing is loaded."""
        self.page.mouse.move(0, 0)
        self.page.evaluate(GO, query)

    def is_served(self) -> bool:
        """Whether a server answers, and not a site."""
        return not self.page.locator("html[data-static]").count()

    def asked(self) -> dict[str, str]:
        """Return the parameters in the address of the page."""
        query = parse_qs(urlsplit(self.page.url).query, keep_blank_values=True)
        return {name: values[0].replace("_", " ") for name, values in query.items()}

    def square(self, name: str, turned: bool = False) -> tuple[float, float]:
        """Return the centre of a square.

        :param turned: whether Black is below.
        """
        box = self.box("#board svg.chessboard")
        across, down = ord(name[0]) - 96.5, 8.5 - int(name[1])
        across, down = (8 - across, 8 - down) if turned else (across, down)
        return box["x"] + box["width"] * across / 8, box["y"] + box["height"] * down / 8

    def square_at(self, x: float, y: float) -> str | None:
        """Return the square at a point of the page."""
        found: str | None = self.page.evaluate(f"document.elementFromPoint({x}, {y})?.dataset.square")
        return found

    def drag(self, start: str, end: tuple[float, float] | str) -> None:
        """Drag what stands on a square to another one, or to a place."""
        mouse = self.page.mouse
        mouse.move(*self.square(start))
        mouse.down()
        mouse.move(*(self.square(end) if isinstance(end, str) else end), steps=4)
        mouse.up()

    def click(self, selector: str, says: str = "", where: str = "#sentence") -> None:
        """Click on an element; then the page says something somewhere."""
        self.page.locator(selector).click()
        expect(self.page.locator(where)).to_contain_text(says)

    def sees(self, shown: Mapping[str, str | re.Pattern[str] | int]) -> None:
        """Wait until elements have their texts, or until there are as many of them."""
        for selector, wanted in shown.items():
            found = expect(self.page.locator(selector))
            found.to_have_count(wanted) if isinstance(wanted, int) else found.to_have_text(wanted)

    def box(self, selector: str) -> FloatRect:
        """Return the bounding box of an element."""
        found = self.page.locator(selector).bounding_box()
        assert found is not None
        return found

    def has_depth(self, plies: int) -> None:
        """Wait until the explorer shows a position that is so many plies from its value."""
        expect(self.page.locator(f"#facts [data-plies='{plies}']")).to_have_count(1)

    def enter(self, selector: str, text: str) -> None:
        """Write into a field, and press Enter."""
        self.page.locator(selector).fill(text)
        self.page.keyboard.press("Enter")

    def until(self, holds: Callable[[], object]) -> None:
        """Wait until something holds, picture by picture."""
        end = monotonic() + MOST_MS / 1000
        while not holds():
            assert monotonic() < end
            self.draw()

    def settle(self) -> None:
        """Wait until all that the page has asked for is there."""
        self.draw()
        self.until(lambda: not self._under_way)

    def draw(self) -> None:
        """Wait until one more picture is drawn."""
        self.page.evaluate(DRAWN)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def go_to_square(self, name: str, start: str = "a1") -> None:
        """Move the frame on the board from a square to another one by arrow keys."""
        across, up = ord(name[0]) - ord(start[0]), int(name[1]) - int(start[1])
        self.press(*["ArrowRight" if across > 0 else "ArrowLeft"] * abs(across))
        self.press(*["ArrowUp" if up > 0 else "ArrowDown"] * abs(up))

    def violations(self) -> list[str]:
        """Return the serious violations that axe-core finds."""
        found = Axe().run(self.page).response["violations"]
        return [
            f"{each['id']}: {node['html']}"
            for each in found
            if each["impact"] in SERIOUS
            for node in each["nodes"]
        ]

    def audit(self) -> None:
        """Find nothing that is serious, where exhaustive tests run: axe-core takes long."""
        assert FEW in os.environ or self.violations() == []

    def shift(self) -> float:
        """Return the layout shift so far, of a page that has been opened with :data:`SHIFTS`."""
        self.settle()
        self.draw()
        shift: float = self.page.evaluate("shiftSoFar()")
        return shift

    def too_wide(self) -> bool:
        """Whether the page has to be scrolled sideways."""
        return bool(
            self.page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
        )
