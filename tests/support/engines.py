"""The engine's parts as tests use them."""

import re
import shlex
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tbgen.engine.game import SearchGame, read_game
from tbgen.engine.options import Options
from tbgen.engine.table_advice import EngineTables
from tbgen.engine.thinker import Thinker
from tbgen.engine.timer import Go, Timer
from tbgen.engine.uci import UciEngine
from tests.support.paths import ROOT


def game(fen: str, *moves: str) -> SearchGame:
    """The game that ``position fen FEN moves MOVES`` describes."""
    return read_game(["fen", *fen.split(), "moves", *moves])


def timer(words: str = "", overhead: float = 0.0) -> Timer:
    """The timer of ``go WORDS`` for White."""
    return Timer(Go.parse(words.split()), True, overhead)


def thinker(said: list[str] | None = None, tables: EngineTables | None = None) -> Thinker:
    """A thinker that says its lines to a list."""
    unheard: list[str] = []
    return Thinker((unheard if said is None else said).append, tables, Options())


def fake_partner(mode: str, *moves: str) -> str:
    """The command of a partner that says what it is told, see ``fake_partner.py``."""
    script = ROOT / "tests" / "support" / "fake_partner.py"
    return shlex.join([sys.executable, "-S", "-E", str(script), mode, *moves])


class Talk:
    """An engine in this process, and what it has said; ``bestmove`` can be waited for.

    :param ready: whether it has loaded all code.
    """

    def __init__(self, *directories: Path, ready: bool = True) -> None:
        self.said: list[str] = []
        self._moved = threading.Condition()
        self.engine = UciEngine(self._write, directories)
        if ready:
            self.move("isready", "go nodes 1")  # what loading has to say comes with the first search

    def _write(self, line: str) -> None:
        with self._moved:
            self.said.append(line)
            self._moved.notify_all()

    def say(self, *lines: str) -> list[str]:
        """Give commands and return what is said until they have been taken."""
        self.said.clear()
        for line in lines:
            assert self.engine.handle_command(line)
        return self.said

    def move(self, *lines: str) -> str:
        """Give commands, the last of which asks for a move, and return the move."""
        self.say(*lines)
        with self._moved:
            assert self._moved.wait_for(self._moves, timeout=300), self.said
        return self._moves()[0].split()[1]

    def hear(self, pattern: str) -> None:
        """Wait until a line is said that a regular expression is found in."""
        with self._moved:
            told = self._moved.wait_for(lambda: any(map(re.compile(pattern).search, self.said)), timeout=300)
        assert told, self.said

    def _moves(self) -> list[str]:
        return [line for line in self.said if line.startswith("bestmove ")]


@contextmanager
def talk(*directories: Path, ready: bool = True) -> Iterator[Talk]:
    """An engine in this process, which is stopped with the block."""
    talking = Talk(*directories, ready=ready)
    try:
        yield talking
    finally:
        talking.engine.run([])
