"""Firefox as Debian has it, which Playwright cannot drive: by WebDriver BiDi [1], which it speaks itself.

[1] W3C, *WebDriver BiDi*.
"""

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from websockets.sync.client import ClientConnection, connect

from tests.support.browsing import SERIOUS

NAMES: Final = ("firefox", "firefox-esr")
KEYS: Final = {"ArrowLeft": "\ue012", "ArrowRight": "\ue014"}
"""Keys without a letter, as the protocol writes them."""
MOST_SECONDS: Final = 300.0
"""Timeout of any step, enough for a slow machine."""


class Firefox:
    """A browser with one page.

    :param socket: of the protocol.
    """

    def __init__(self, socket: ClientConnection) -> None:
        self._socket, self._numbers = socket, count(1)
        self.wrong: list[str] = []
        """Errors of scripts, and what the page was forbidden."""
        self.ask("session.new", capabilities={})
        self.ask("session.subscribe", events=["log.entryAdded"])
        self._page = self.ask("browsingContext.getTree")["contexts"][0]["context"]

    def ask(self, method: str, **parameters: Any) -> Any:
        """Send a command and return its result; what the page logs meanwhile is kept."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            told = json.loads(self._socket.recv(MOST_SECONDS))
            entry = told.get("params", {})
            # What a page was still loading when it was left is no error of its own.
            if entry.get("level") == "error" and not entry["text"].startswith("AbortError"):
                self.wrong.append(entry["text"])
            if told.get("id") == number:
                assert told["type"] == "success", told
                return told["result"]

    def visit(self, address: str, width: int = 1200, height: int = 900) -> None:
        """Open a page in a window of some size."""
        self.ask(
            "browsingContext.setViewport", context=self._page, viewport={"width": width, "height": height}
        )
        self.ask("browsingContext.navigate", context=self._page, url=address, wait="complete")

    def evaluate(self, expression: str) -> Any:
        """Return what an expression comes to: text, a number, true or false, or None."""
        target = {"context": self._page}
        told = self.ask("script.evaluate", expression=expression, target=target, awaitPromise=True)
        assert told["type"] == "success", told
        return told["result"].get("value")

    def expect(self, expression: str, wanted: Any) -> None:
        """Wait until an expression comes to what is wanted."""
        end = time.monotonic() + MOST_SECONDS
        while (found := self.evaluate(expression)) != wanted:
            assert time.monotonic() < end, (expression, found, wanted)
            time.sleep(0.05)

    def text(self, selector: str) -> str:
        """Return the expression for the text of an element, empty if it is not there."""
        return f"document.querySelector({json.dumps(selector)})?.textContent ?? ''"

    def click(self, selector: str, across: float = 0.5, down: float = 0.5) -> None:
        """Click into an element, as a mouse does.

        :param across: where, from 0 at its left to 1.
        :param down: from 0 at its top to 1.
        """
        found = f"document.querySelector({json.dumps(selector)})"
        self.expect(f"{found} !== null", True)
        self.evaluate(f"{found}.scrollIntoView({{block: 'center'}})")
        box = json.loads(self.evaluate(f"JSON.stringify({found}.getBoundingClientRect())"))
        x, y = round(box["x"] + across * box["width"]), round(box["y"] + down * box["height"])
        actions = [{"type": "pointerMove", "x": x, "y": y}, {"type": "pointerDown", "button": 0}]
        self._act("pointer", [*actions, {"type": "pointerUp", "button": 0}])

    def click_square(self, name: str, turned: bool = False) -> None:
        """Click on a square of the board.

        :param turned: whether Black is below.
        """
        across, down = (ord(name[0]) - 96.5) / 8, (8.5 - int(name[1])) / 8
        self.click("#board svg.chessboard", *((1 - across, 1 - down) if turned else (across, down)))

    def press(self, key: str) -> None:
        """Press a key and let it go."""
        value = KEYS.get(key, key)
        self._act("key", [{"type": kind, "value": value} for kind in ("keyDown", "keyUp")])

    def violations(self) -> list[str]:
        """Return the serious violations that axe-core finds."""
        self.evaluate(AXE_SCRIPT)
        run = "axe.run({resultTypes: ['violations']}).then(found => JSON.stringify(found.violations))"
        found = json.loads(self.evaluate(run))
        return [f"{each['id']}: {each['nodes'][0]['html']}" for each in found if each["impact"] in SERIOUS]

    def too_wide(self) -> bool:
        """Whether the page has to be scrolled sideways."""
        return bool(
            self.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
        )

    def _act(self, kind: str, actions: list[dict[str, Any]]) -> None:
        source = {"type": kind, "id": kind, "actions": actions}
        self.ask("input.performActions", context=self._page, actions=[source])


@contextmanager
def firefox(profile: Path) -> Iterator[Firefox]:
    """A browser with a new profile; without one the test is skipped."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("there is no Firefox: install it with apt-get install firefox-esr")
    command = [path, "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as running:
        try:
            assert running.stderr is not None
            lines = (re.search(r"WebDriver BiDi listening on (ws://\S+)", line) for line in running.stderr)
            address = next(filter(None, lines))[1]
            with connect(f"{address}/session", max_size=None, proxy=None) as socket:
                yield Firefox(socket)
        finally:
            running.terminate()
