"""Choosing a move: by tables, by what is proved, by search."""

import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import chess

from tbgen.engine import report
from tbgen.engine.advice import Advice
from tbgen.engine.game import Game
from tbgen.engine.limits import Clock
from tbgen.engine.memory import Memory
from tbgen.engine.scale import worth
from tbgen.engine.search import Found, Search
from tbgen.engine.solving import Solving, SolvingError
from tbgen.engine.tables import Tables
from tbgen.score import GScore

AUTO_SECONDS: Final = 30.0
"""What a move must have before ``auto`` solves: the kernels alone may take that long at first."""
_LINE_SECONDS: Final = 0.5
"""What a move must have before best play is followed to its end, to be shown."""


class Chosen(NamedTuple):
    """A move, and the reply that is expected."""

    move: chess.Move
    reply: chess.Move | None = None


class NoTables:
    """Stands where there are no tables."""

    directories: tuple[Path, ...] = ()

    def known(self, _game: Game) -> tuple[GScore, int | None] | None:
        """Know nothing."""
        return None


class Player:
    """Chooses moves.

    :param say: told the lines of the protocol that go before the move.
    :param solve: when to solve: ``off``, ``auto`` or ``on``.
    :param blunders: the chance that a move is made at random.
    :param start_solving: starts an attempt to solve a state.
    """

    def __init__(
        self,
        say: Callable[[str], None],
        tables: Tables | None,
        memory: Memory,
        *,
        solve: str = "off",
        blunders: float = 0.0,
        rng: random.Random | None = None,
        start_solving: Callable[[Game, Sequence[Path], float | None], Solving] = Solving,
    ) -> None:
        self._say, self._tables, self._memory = say, tables, memory
        self._solve, self._blunders, self._rng = solve, blunders, rng or random.Random()
        self._start_solving = start_solving

    def choose(self, game: Game, clock: Clock) -> Chosen | None:
        """Return the move to make, None if there is none.

        It is one of those that the command names, of all if none of these is legal. The game is as before
        afterwards.
        """
        board = game.live
        legal = list(board.legal_moves)
        if not legal:
            return None
        named = set(clock.go.moves)
        allowed = [move for move in legal if board.uci(move) in named or move.uci() in named] or legal
        if self._blunders and self._rng.random() < self._blunders:
            return Chosen(self._rng.choice(allowed))
        advice = None if self._tables is None else self._tables.advice(game, allowed, clock)
        if advice is not None:
            return self._by_tables(game, advice, clock)
        if len(allowed) == 1 and clock.limited:
            return Chosen(allowed[0])
        return self._by_thinking(game, allowed, clock)

    def _by_tables(self, game: Game, advice: Advice, clock: Clock) -> Chosen:
        """Return the move that tables give; among several that keep the value, search for progress."""
        first, value = advice.moves[0], advice.lower
        if len(advice.moves) > 1:
            self._tell(report.of_advice(game, advice, "tables", clock.elapsed))
            return self._by_search(game, advice.moves, clock)
        line = advice.line
        if self._tables is not None and (clock.share is None or clock.share >= _LINE_SECONDS):
            line = self._tables.line(game, first, value, clock)
        shown = Advice(advice.moves, value, value, advice.depth, line)
        self._tell(report.of_advice(game, shown, "tables", clock.elapsed))
        return Chosen(first, line[1] if len(line) > 1 else None)

    def _by_thinking(self, game: Game, allowed: Sequence[chess.Move], clock: Clock) -> Chosen:
        """Search, and take what is proved meanwhile."""
        solving = self._solving(game, clock)
        if solving is None:
            return self._by_search(game, allowed, clock)
        try:
            chosen = self._by_search(game, allowed, clock, solving.done)
            if not solving.done():
                return chosen
            try:
                advice = solving.advice(allowed)
            except SolvingError as error:
                self._say(f"info string {error}")
                return chosen if clock.enough() else self._by_search(game, allowed, clock)
        finally:
            solving.close()
        self._tell(report.of_advice(game, advice, "proof", clock.elapsed))
        if len(advice.moves) == 1:
            return Chosen(advice.moves[0], advice.line[1] if len(advice.line) > 1 else None)
        if advice.value is None:
            return self._by_search(game, advice.moves, clock, sure=advice)
        return self._by_search(game, advice.moves, clock)

    def _by_search(
        self,
        game: Game,
        allowed: Sequence[chess.Move],
        clock: Clock,
        interrupted: Callable[[], bool] = lambda: False,
        sure: Advice | None = None,
    ) -> Chosen:
        """Search until the clock says so, or until something else is known.

        :param sure: what is proved; if the search promises less, the move is the one that is sure.
        """
        search = Search(
            game,
            allowed,
            self._tables or NoTables(),
            self._memory,
            lambda nodes: clock.over(nodes) or (nodes & 63 == 0 and interrupted()),
        )

        def tell(found: Found) -> None:
            self._tell(report.of_search(game, found, clock.elapsed, self._memory.permille))

        found = search.run(clock.go.depth, lambda: clock.enough() or interrupted(), tell)
        if sure is not None:
            white = game.live.turn
            promised = found.value if white else -found.value
            proved = worth(sure.lower) if white else -worth(sure.upper)
            if promised < proved:
                return Chosen(sure.moves[0])
        return Chosen(found.line[0], found.line[1] if len(found.line) > 1 else None)

    def _solving(self, game: Game, clock: Clock) -> Solving | None:
        """Return an attempt to solve the state if there is time for it."""
        if self._solve == "off" or self._tables is None or game.live.castling_rights:
            return None
        if self._solve == "auto" and (clock.share is None or clock.share < AUTO_SECONDS):
            return None
        return self._start_solving(game, self._tables.directories, clock.share)

    def _tell(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._say(line)
