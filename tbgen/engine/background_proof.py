"""Solving beyond the tables while the engine thinks. ``tbgen solve`` runs in a process of its own.

Solving needs compiled code and a lot of memory, and may take seconds to interrupt. A process can be killed
when the move is due, so the move is never late.
"""

import json
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import chess

from tbgen.beyond.budget import SOLVE_COMMAND, Budget, solve_arguments
from tbgen.board.score import GScore
from tbgen.compiler.cache import fallback_directory
from tbgen.engine.game import Advice, SearchGame
from tbgen.errors import TbgenError

_MEMORY: Final = 4 << 30
"""Memory of the process, in bytes."""
_MIN_SECONDS: Final = 1.0
_DEFAULT_SECONDS: Final = 3600.0


class SolvingError(TbgenError):
    """The attempt to solve the position has failed."""


class BackgroundSolving:
    """An attempt to solve the current state of a game.

    :param directories: directories of tables. Only the first one is used.
    :param seconds: time limit; if None, an hour.
    :param command: the command line that the arguments of ``tbgen solve`` are appended to.
    :raises OSError: if the process cannot be started.
    """

    def __init__(
        self,
        game: SearchGame,
        directories: Sequence[Path],
        seconds: float | None,
        command: Sequence[str] = SOLVE_COMMAND,
    ) -> None:
        self._board = game.live.copy(stack=False)
        budget = Budget(_DEFAULT_SECONDS if seconds is None else max(seconds, _MIN_SECONDS), _MEMORY)
        directory = directories[0].absolute()
        arguments = solve_arguments(self._board.fen(), game.accrued, budget, directory, "--line")
        # The directory for compiled kernels is chosen here, so that the process uses the same one. If the
        # process had made a directory of its own, this would remain after the process was killed.
        fallback_directory()
        with ExitStack() as files:
            self._output = files.enter_context(tempfile.TemporaryFile())
            self._errors = files.enter_context(tempfile.TemporaryFile())
            self._process = subprocess.Popen(
                [*command, *arguments],
                stdin=subprocess.PIPE,  # the process ends when this pipe closes
                stdout=self._output,
                stderr=self._errors,
            )
            self._files = files.pop_all()

    def done(self) -> bool:
        """Return whether the process has terminated, with or without an answer."""
        return self._process.poll() is not None

    def close(self) -> None:
        """Kill the process if it is still running, and discard its output."""
        with self._process:
            self._process.kill()
        self._files.close()

    def advice(self, choices: Sequence[chess.Move]) -> Advice:
        """Return the advice that follows from the proof, once the process has terminated.

        :param choices: the moves to choose from.
        :raises SolvingError: if nothing has been proved.
        """
        self._output.seek(0)
        self._errors.seek(0)
        if self._process.returncode != 0:
            lines = self._errors.read().decode(errors="replace").strip().splitlines() or ["no answer"]
            raise SolvingError(f"the position is not solved: {lines[-1].removeprefix('tbgen: ')}")
        try:
            return self._parse_advice(json.load(self._output), choices)
        except (ValueError, KeyError, TypeError):
            raise SolvingError("the position is not solved: the answer cannot be read") from None

    def _parse_advice(self, document: dict[str, Any], choices: Sequence[chess.Move]) -> Advice:
        lower, upper = GScore(document["lower"]), GScore(document["upper"])
        white_moves = self._board.turn
        bounds = {}
        for move in document["moves"]:
            interval = GScore(move["lower"]), GScore(move["upper"])
            own_interval = interval if white_moves else (-interval[1], -interval[0])
            bounds[self._board.parse_uci(move["uci"])] = own_interval
        proved_bounds = {move: bounds[move] for move in choices if move in bounds}
        if not proved_bounds:
            raise SolvingError("the position is not solved: nothing is proved about its moves")
        guaranteed_value = max(lower_end for lower_end, _ in proved_bounds.values())
        kept_moves = [move for move, (_, upper_end) in proved_bounds.items() if upper_end >= guaranteed_value]
        if lower == upper:
            kept_moves = [move for move in kept_moves if proved_bounds[move][0] == guaranteed_value]
        kept_moves.sort(key=lambda move: proved_bounds[move][0] != guaranteed_value)
        board = self._board.copy()
        line = [board.push_uci(ply["uci"]) for ply in document.get("line", [])]
        if line and line[0] in kept_moves:
            return Advice((line[0],), lower, upper, document["depth"], tuple(line))
        upper_end = max(upper_end for _, upper_end in proved_bounds.values())
        ends = (guaranteed_value, upper_end) if white_moves else (-upper_end, -guaranteed_value)
        return Advice(tuple(kept_moves), *ends)
