"""The process that shows an event: ``python -m tbgen.live DESCRIPTOR [DIRECTORY]``.

It is given a socket that listens, and a directory of tables for the explorer; what happens comes by its
standard input, and when that ends, so does the process.
"""

import asyncio
import os
import socket
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Final

from uvicorn import Server

from tbgen.live.endpoints import Live
from tbgen.live.history import FinishedGame, History
from tbgen.live.messages import Finished, Over, receive
from tbgen.live.ranking import Ranking
from tbgen.match.reporter import Beginning
from tbgen.web.app import make_app
from tbgen.web.limits import Limiter
from tbgen.web.server import config_of
from tbgen.web.settings import Settings

_NICE: Final = 10
"""By how much the engines come before those who look on."""
_LIMIT, _BURST = 0.1, 10.0
"""What one client may take of the processor: less than of a server that has nothing else to do."""
_MOST_CONNECTIONS: Final = 512
_SECONDS_TO_END: Final = 2

_Post = Callable[..., object]
"""Has something called in the loop of the server."""


def main(words: Sequence[str]) -> None:
    """Serve until the standard input ends."""
    descriptor, *directories = words
    os.nice(_NICE)
    listener = socket.socket(fileno=int(descriptor))
    asyncio.run(_serve(listener, tuple(map(Path, directories))))


async def _serve(listener: socket.socket, directories: tuple[Path, ...]) -> None:
    live = Live(Limiter(_LIMIT, _BURST))
    settings = Settings(directories, limit=_LIMIT, burst=_BURST, quick_threads=1, slow_threads=1, eager=False)
    server = Server(config_of(make_app(settings, live.endpoints()), _MOST_CONNECTIONS, _SECONDS_TO_END))
    loop = asyncio.get_running_loop()

    def end() -> None:
        live.end()
        server.should_exit = True

    def follow() -> None:
        try:
            _follow(live, loop.call_soon_threadsafe)
        finally:
            loop.call_soon_threadsafe(end)

    Thread(target=follow, name="follow", daemon=True).start()
    await server.serve([listener])


def _follow(live: Live, post: _Post) -> None:
    """Hand on what the runner tells, with what has to be read and added up for it, in a thread of its own."""
    history: History | None = None
    ranking: Ranking | None = None
    for message in receive(sys.stdin.buffer):
        games: Sequence[FinishedGame] = ()
        if isinstance(message, Beginning):
            history = History(message.settings.pgn, message.options)
            ranking = Ranking(message, partial(post, live.rank))
            games = history.read(message.size)
            post(live.follow, history)
        elif isinstance(message, Finished) and history is not None:
            games = history.read(message.size)
        if ranking is not None:
            ranking.add(games)
            if isinstance(message, Over):
                ranking.close()
        post(live.take, message, games)


if __name__ == "__main__":
    main(sys.argv[1:])
