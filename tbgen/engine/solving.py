"""Proofs beyond the tables, while the engine thinks: ``tbgen solve`` in a process of its own.

A process, because solving takes compiled code, much memory and whole seconds in which nothing can interrupt
it: it is ended when the move is due, and a move is never late for it.
"""

import json
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import chess

from tbgen.beyond.budget import COMMAND
from tbgen.board.score import GScore
from tbgen.compiler.cache import substitute
from tbgen.engine.game import Advice, SearchGame
from tbgen.errors import TbgenError

MEMORY: Final = "4G"
_LEAST_SECONDS: Final = 1


class SolvingError(TbgenError):
    """The position is not solved."""


class BackgroundProof:
    """An attempt to solve the state that a game is in.

    :param directories: where tables lie; the first one is used.
    :param seconds: what it may take; None for an hour.
    :param command: what solves, with the arguments of ``tbgen solve``.
    :raises OSError: if it cannot be started.
    """

    def __init__(
        self,
        game: SearchGame,
        directories: Sequence[Path],
        seconds: float | None,
        command: Sequence[str] = COMMAND,
    ) -> None:
        self._board = game.live.copy(stack=False)
        time = f"{max(int(seconds), _LEAST_SECONDS)}s" if seconds is not None else "60m"
        words = ["--accrued", str(game.accrued), "--json", "--line", "--time", time, "--memory", MEMORY]
        words += ["--dir", str(directories[0].absolute())]
        substitute()  # shared by the process, which would leave behind its own
        with ExitStack() as files:
            self._output = files.enter_context(tempfile.TemporaryFile())
            self._errors = files.enter_context(tempfile.TemporaryFile())
            self._process = subprocess.Popen(
                [*command, self._board.fen(), *words],
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=self._errors,
            )
            self._files = files.pop_all()

    def done(self) -> bool:
        """Tell whether there is an answer, or will be none."""
        return self._process.poll() is not None

    def close(self) -> None:
        """End it, whether it has answered or not."""
        self._process.kill()
        self._process.wait()
        self._files.close()

    def advice(self, allowed: Sequence[chess.Move]) -> Advice:
        """Return what has been proved, once it is done.

        :param allowed: the moves to choose among.
        :raises SolvingError: if nothing has been proved.
        """
        self._output.seek(0)
        self._errors.seek(0)
        if self._process.returncode != 0:
            lines = self._errors.read().decode(errors="replace").strip().splitlines() or ["no answer"]
            raise SolvingError(f"the position is not solved: {lines[-1].removeprefix('tbgen: ')}")
        try:
            return self._read(json.load(self._output), allowed)
        except (ValueError, KeyError, TypeError):
            raise SolvingError("the position is not solved: the answer cannot be read") from None

    def _read(self, document: dict[str, Any], allowed: Sequence[chess.Move]) -> Advice:
        lower, upper = GScore(document["lower"]), GScore(document["upper"])
        white = self._board.turn
        bounds = {}
        for move in document["moves"]:
            ends = GScore(move["lower"]), GScore(move["upper"])
            bounds[self._board.parse_uci(move["uci"])] = ends if white else (-ends[1], -ends[0])
        there = {move: bounds[move] for move in allowed if move in bounds}
        if not there:
            raise SolvingError("the position is not solved: nothing is known of its moves")
        sure = max(least for least, _ in there.values())
        kept = [move for move, (_, most) in there.items() if most >= sure]
        if lower == upper:
            kept = [move for move in kept if there[move][0] == sure]
        kept.sort(key=lambda move: there[move][0] != sure)
        board = self._board.copy()
        line = [board.push_uci(ply["uci"]) for ply in document.get("line", [])]
        if line and line[0] in kept:
            return Advice((line[0],), lower, upper, document["depth"], tuple(line))
        most = max(most for _, most in there.values())
        return Advice(tuple(kept), *((sure, most) if white else (-most, -sure)))
