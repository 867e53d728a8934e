"""Those who look on: each is sent what changes, and all anew when he has fallen behind."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Final

from tbgen.web.errors import Refusal
from tbgen.web.events import SILENT_SECONDS

__all__ = ["Audience"]

_MOST: Final = 200
"""Spectators at once."""
_MOST_WAITING: Final = 400
"""Events that wait for one spectator; after that they are dropped, and he is shown all anew."""


class _Spectator:
    def __init__(self) -> None:
        self.waiting: deque[str] = deque()
        self.behind = True
        """Whether he has to be shown all."""
        self.called = asyncio.Event()

    def tell(self, text: str | None) -> None:
        if text is None or len(self.waiting) >= _MOST_WAITING:
            self.behind = True
            self.waiting.clear()
        elif not self.behind:
            self.waiting.append(text)
        self.called.set()


class Audience:
    """The spectators of an event.

    What one of them costs is bounded: texts are made once for all, and who does not read keeps a bounded
    number of them.

    :param everything: returns the event that shows all there is.
    """

    def __init__(self, everything: Callable[[], str]) -> None:
        self._everything = everything
        self._all: set[_Spectator] = set()
        self._closed = False

    def __len__(self) -> int:
        return len(self._all)

    def tell(self, text: str | None) -> None:
        """Tell all of a change; None shows all anew."""
        for spectator in self._all:
            spectator.tell(text)

    def close(self) -> None:
        """Let spectators go when they have been told what there is."""
        self._closed = True
        for spectator in self._all:
            spectator.called.set()

    def enter(self) -> tuple[AsyncIterator[str], Callable[[], None]]:
        """Return what a new spectator is sent, as it comes, and what has to be called when he is gone.

        :raises Refusal: if there are too many.
        """
        if len(self._all) >= _MOST:
            raise Refusal(503, "busy", f"{_MOST} look on already: try again later", {"Retry-After": "30"})
        spectator = _Spectator()
        self._all.add(spectator)
        return self._told(spectator), partial(self._all.discard, spectator)

    async def _told(self, spectator: _Spectator) -> AsyncIterator[str]:
        while True:
            spectator.called.clear()
            if spectator.behind:
                spectator.behind = False
                yield self._everything()
            elif spectator.waiting:
                text = "".join(spectator.waiting)
                spectator.waiting.clear()
                yield text
            elif self._closed:
                return
            else:
                try:
                    async with asyncio.timeout(SILENT_SECONDS):
                        await spectator.called.wait()
                except TimeoutError:
                    yield ": nothing new\n\n"
