"""A browser that looks at the page of a server, and what it finds wrong."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, FloatRect, Page, expect, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
SERIOUS = ("serious", "critical")
MOST_MS = 120_000
"""How long a slow machine may take for anything."""

expect.set_options(timeout=MOST_MS)


def chromium() -> str | None:
    """The path of a browser that is installed."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def launched() -> Iterator[Browser]:
    """A browser; without one the test is skipped."""
    path = chromium()
    if path is None:
        pytest.skip("there is no Chromium: install it with apt-get install chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()


class Visit:
    """A page that is open.

    :param address: of the server.
    :param script: what is run before those of the page.
    :param options: of the browser's context: ``viewport``, ``color_scheme`` and others.
    """

    def __init__(
        self, browser: Browser, address: str, query: str = "", script: str = "", **options: Any
    ) -> None:
        options.setdefault("viewport", {"width": 1200, "height": 900})
        options.setdefault("reduced_motion", "reduce")
        self._context = browser.new_context(**options)
        self._context.add_init_script(script)
        self.page: Page = self._context.new_page()
        self.page.set_default_timeout(MOST_MS)
        self.wrong: list[str] = []
        """Errors of scripts, and what the page was forbidden; not answers by which the server refuses."""
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", self._said)
        self.page.goto(f"{address}/{query}")

    def _said(self, message: Any) -> None:
        if message.type == "error" and not message.text.startswith("Failed to load resource"):
            self.wrong.append(message.text)

    def close(self) -> None:
        self._context.close()

    def asked(self) -> dict[str, str]:
        """What stands in the address of the page."""
        query = parse_qs(urlsplit(self.page.url).query, keep_blank_values=True)
        return {name: values[0].replace("_", " ") for name, values in query.items()}

    def square(self, name: str) -> tuple[float, float]:
        """The middle of a square, White below."""
        box: FloatRect | None = self.page.locator("#board svg.cm-chessboard").bounding_box()
        assert box is not None
        size = box["width"] / 8
        return box["x"] + size * (ord(name[0]) - 96.5), box["y"] + size * (8.5 - int(name[1]))

    def drag(self, start: str, end: tuple[float, float] | str) -> None:
        """Drag what stands on a square to another one, or to a place."""
        mouse = self.page.mouse
        mouse.move(*self.square(start))
        mouse.down()
        mouse.move(*(self.square(end) if isinstance(end, str) else end), steps=4)
        mouse.up()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def go_to_square(self, name: str, start: str = "a1") -> None:
        """Move the frame on the board from a square to another one by arrow keys."""
        across, up = ord(name[0]) - ord(start[0]), int(name[1]) - int(start[1])
        self.press(*["ArrowRight" if across > 0 else "ArrowLeft"] * abs(across))
        self.press(*["ArrowUp" if up > 0 else "ArrowDown"] * abs(up))

    def violations(self) -> list[str]:
        """What axe-core finds that is serious."""
        found = Axe().run(self.page).response["violations"]
        return [
            f"{each['id']}: {node['html']}"
            for each in found
            if each["impact"] in SERIOUS
            for node in each["nodes"]
        ]

    def too_wide(self) -> bool:
        """Whether the page has to be scrolled sideways."""
        return bool(
            self.page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
        )
