"""Events that are shown while they are played, as processes of their own or as their files tell them."""

import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from tbgen.games.live_file import GamesPaired, LiveFile, live_path
from tests.match.engines import MATE, words
from tests.support.matches import event, played
from tests.support.processes import started, wait_for

LINGERING = (words("A", "linger", MATE), words("B", "linger", MATE))
"""Two players that finish two games and stop to think in the third one, after three plies."""


def stands_still(pgn: Path) -> Sequence[Any]:
    """Lines of the live file of an event up to the third ply of its third game, without those on later games;
    the PGN file is truncated to match."""
    played(pgn, "--rounds", "2", "--event", "Test", players=[words(name, moves=MATE) for name in "AB"])
    with closing(LiveFile(live_path(pgn))) as file:
        lines = [line for line in file.read()[1] if not isinstance(line, GamesPaired)][:17]
    live_path(pgn).unlink()
    os.truncate(pgn, lines[12].size)  # type: ignore[union-attr]
    return lines


@contextmanager
def shown(pgn: Path, *more: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """The runner of an event, and the address of the server that shows it."""
    command = event(pgn, "--rounds", "2", *more, "--live", "127.0.0.1:0", players=LINGERING)
    with started("tbgen", *command) as running:
        said = wait_for(running, " at http://", "stderr")
        found = re.search(r"(http://127\.0\.0\.1:\d+)/live\n", said)
        assert found, said
        yield running, found[1]


def document(address: str, path: str = "live/event") -> Any:
    """Return the answer of the server."""
    with urlopen(f"{address}/{path}") as answer:
        return json.load(answer)


def awaited(address: str, wanted: Callable[[Any], bool]) -> Any:
    """The event, as soon as it meets a condition."""
    while not wanted(found := document(address)):
        time.sleep(0.1)
    return found


def lingers(found: Any) -> bool:
    """Whether two games are finished, and the third has reached its last ply."""
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
        if parent == running.pid and b"tbgen.web.server" in line:
            return int(path.parent.name)
    raise AssertionError("nobody shows the event")
