"""Choosing a move: by tables, by what is proved, by search."""

import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import chess

from tbgen.board.score import GScore
from tbgen.engine import report
from tbgen.engine.advice import Advice
from tbgen.engine.game import SearchGame
from tbgen.engine.limits import Timer
from tbgen.engine.memory import Memory
from tbgen.engine.scale import worth
from tbgen.engine.search import Found, TreeSearch
from tbgen.engine.solving import BackgroundProof, SolvingError
from tbgen.engine.tables import EngineTables
from tbgen.games.settings import FiftyMoveRule

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

    def known(self, _game: SearchGame) -> tuple[GScore, int | None] | None:
        """Know nothing."""
        return None


class Thinker:
    """Chooses moves.

    :param say: told the lines of the protocol that go before the move.
    :param solve: when to solve: ``off``, ``auto`` or ``on``.
    :param blunders: the chance that a move is made at random.
    :param lines: how many of the best moves are told of.
    :param start_solving: starts an attempt to solve a state.
    """

    def __init__(
        self,
        say: Callable[[str], None],
        tables: EngineTables | None,
        memory: Memory,
        *,
        solve: str = "off",
        blunders: float = 0.0,
        lines: int = 1,
        rng: random.Random | None = None,
        start_solving: Callable[
            [SearchGame, Sequence[Path], float | None], BackgroundProof
        ] = BackgroundProof,
    ) -> None:
        self._say, self._tables, self._memory = say, tables, memory
        self._solve, self._blunders, self._rng = solve, blunders, rng or random.Random()
        self._lines = lines
        self._start_solving = start_solving

    def choose(self, game: SearchGame, timer: Timer) -> Chosen | None:
        """Return the move to make, None if there is none.

        It is one of those that the command names, of all if none of these is legal. The game is as before
        afterwards.
        """
        board = game.live
        legal = list(board.legal_moves)
        if not legal:
            return None
        named = set(timer.go.moves)
        allowed = [move for move in legal if board.uci(move) in named or move.uci() in named] or legal
        if self._blunders and self._rng.random() < self._blunders:
            return Chosen(self._rng.choice(allowed))
        advice = None if self._tables is None else self._tables.advice(game, allowed, timer)
        if advice is not None:
            return self._by_tables(game, advice, allowed, timer)
        if len(allowed) == 1 and timer.limited:
            return Chosen(allowed[0])
        return self._by_thinking(game, allowed, timer)

    def _by_tables(
        self, game: SearchGame, advice: Advice, allowed: Sequence[chess.Move], timer: Timer
    ) -> Chosen:
        """Return the move that tables give; among several that keep the value, search for progress."""
        first, value = advice.moves[0], advice.lower
        if len(advice.moves) > 1:
            self._tell_of_moves(game, advice, allowed, timer)
            return self._by_search(game, advice.moves, timer)
        line = advice.line
        if self._tables is not None and (timer.share is None or timer.share >= _LINE_SECONDS):
            line = self._tables.line(game, first, value, timer)
        shown = Advice(advice.moves, value, value, advice.depth, line)
        self._tell_of_moves(game, shown, allowed, timer)
        return Chosen(first, line[1] if len(line) > 1 else None)

    def _tell_of_moves(
        self, game: SearchGame, best: Advice, allowed: Sequence[chess.Move], timer: Timer
    ) -> None:
        """Tell what tables say of the best moves, as many as are asked for."""
        told = [best]
        if self._lines > 1 and self._tables is not None:
            others = self._tables.ranked(game, allowed)
            told += [advice for advice in others if advice.moves[0] != best.moves[0]]
        for place, advice in enumerate(told[: self._lines], 1):
            number = place if self._lines > 1 else None
            self._tell(report.of_advice(game, advice, "tables", timer.elapsed, number))

    def _by_thinking(self, game: SearchGame, allowed: Sequence[chess.Move], timer: Timer) -> Chosen:
        """Search, and take what is proved meanwhile."""
        solving = self._solving(game, timer)
        if solving is None:
            return self._by_search(game, allowed, timer)
        try:
            chosen = self._by_search(game, allowed, timer, solving.done)
            if not solving.done():
                return chosen
            try:
                advice = solving.advice(allowed)
            except SolvingError as error:
                self._say(f"info string {error}")
                return chosen if timer.enough() else self._by_search(game, allowed, timer)
        finally:
            solving.close()
        self._tell(report.of_advice(game, advice, "proof", timer.elapsed))
        if len(advice.moves) == 1:
            return Chosen(advice.moves[0], advice.line[1] if len(advice.line) > 1 else None)
        if advice.value is None:
            return self._by_search(game, advice.moves, timer, sure=advice)
        return self._by_search(game, advice.moves, timer)

    def _by_search(
        self,
        game: SearchGame,
        allowed: Sequence[chess.Move],
        timer: Timer,
        interrupted: Callable[[], bool] = lambda: False,
        sure: Advice | None = None,
    ) -> Chosen:
        """Search until the timer says so, or until something else is known.

        :param sure: what is proved; if the search promises less, the move is the one that is sure.
        """
        search = TreeSearch(
            game,
            allowed,
            self._tables or NoTables(),
            self._memory,
            lambda nodes: timer.over(nodes) or (nodes & 63 == 0 and interrupted()),
            self._lines,
        )

        def tell(found: Found) -> None:
            place = found.place if self._lines > 1 else None
            self._tell(report.of_search(game, found, timer.elapsed, self._memory.permille, place))

        found = search.run(timer.go.depth, lambda: timer.enough() or interrupted(), tell)
        if sure is not None:
            white = game.live.turn
            promised = found.value if white else -found.value
            proved = worth(sure.lower) if white else -worth(sure.upper)
            if promised < proved:
                return Chosen(sure.moves[0])
        return Chosen(found.line[0], found.line[1] if len(found.line) > 1 else None)

    def _solving(self, game: SearchGame, timer: Timer) -> BackgroundProof | None:
        """Return an attempt to solve the state if there is time for it; a 50-move rule is not solved with."""
        if self._solve == "off" or self._tables is None or game.live.castling_rights:
            return None
        if game.rule is not FiftyMoveRule.NONE:
            return None
        if self._solve == "auto" and (timer.share is None or timer.share < AUTO_SECONDS):
            return None
        return self._start_solving(game, self._tables.directories, timer.share)

    def _tell(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._say(line)
