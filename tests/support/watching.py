"""Events that are shown while they are played, as processes of their own."""

import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from tests.match.engines import MATE, words
from tests.support.matches import event
from tests.support.processes import started, wait_for

LINGERING = (words("A", "linger", MATE), words("B", "linger", MATE))
"""Who play two games, and stop to think in the third one, after three plies."""


@contextmanager
def shown(
    pgn: Path, *more: str, tables: Path | None = None, port: int = 0
) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """The runner of an event, and the address of the server that shows it.

    :param port: of the server; 0 for one that is free.
    """
    live = f"127.0.0.1:{port}"
    command = event(pgn, "--rounds", "2", *more, "--live", live, players=LINGERING)
    if tables is not None:
        command[command.index("--dir") + 1] = str(tables)
    with started("tbgen", *command) as running:
        said = wait_for(running, " at http://", "stderr")
        found = re.search(r"(http://127\.0\.0\.1:\d+)/live\n", said)
        assert found, said
        yield running, found[1]


def document(address: str, path: str = "live/event") -> Any:
    """What the server answers."""
    with urlopen(f"{address}/{path}") as answer:
        return json.load(answer)


def awaited(address: str, wanted: Callable[[Any], bool]) -> Any:
    """The event, as soon as it is as it is wanted."""
    while not wanted(found := document(address)):
        time.sleep(0.1)
    return found


def lingers(found: Any) -> bool:
    """Whether two games are finished, and the third has come as far as it does."""
    return bool(
        found["finished"]["total"] == 2
        and (found["standings"] or {}).get("games") == 2
        and [len(game["plies"]) for game in found["playing"]] == [3]
    )


def process_of(running: "subprocess.Popen[str]") -> int:
    """The process that shows an event."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().split(b"\0")
            parent = int((path.parent / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError, ValueError):
            continue
        if parent == running.pid and b"tbgen.web.live_server" in line:
            return int(path.parent.name)
    raise AssertionError("nobody shows the event")
