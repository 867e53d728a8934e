"""Choosing a move: by tables, by what is proved, by search."""

import math
import random
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

import chess

from tbgen.engine import report
from tbgen.engine.first_move import first_moves
from tbgen.engine.game import Advice, RootLine, SearchCounts, SearchGame
from tbgen.engine.limits import Timer
from tbgen.engine.options import Options
from tbgen.engine.scale import worth
from tbgen.engine.solving import BackgroundProof, SolvingError
from tbgen.engine.table_advice import EngineTables
from tbgen.errors import TbgenError, printable
from tbgen.games.settings import FiftyMoveRule

if TYPE_CHECKING:
    from tbgen.engine.partner import Judgement, Partner
    from tbgen.engine.room import SearchRoom

AUTO_SECONDS: Final = 30.0
"""What a move must have before ``auto`` solves: the kernels alone may take that long at first."""
_LINE_SECONDS: Final = 0.5
"""What a move must have before best play is followed to its end, to be shown."""
_TRIES: Final = 3
"""Moves that a partner looks at closer before its own one is made."""


def _never() -> bool:
    return False


class MoveChoice(NamedTuple):
    """A move, and the reply that is expected."""

    move: chess.Move
    reply: chess.Move | None = None


@dataclass(frozen=True, slots=True)
class Thinker:
    """Chooses moves.

    :ivar say: told the lines of the protocol that go before the move.
    :ivar room: returns what the compiled search works with, None as long as it is not loaded.
    :ivar partner: returns the partner, None if there is none, or none yet.
    :ivar start_solving: starts an attempt to solve a state, by the arguments of :class:`BackgroundProof`.
    """

    say: Callable[[str], None]
    tables: EngineTables | None
    options: Options
    room: Callable[[], "SearchRoom | None"] = lambda: None
    partner: Callable[[], "Partner | None"] = lambda: None
    start_solving: Callable[..., BackgroundProof] = BackgroundProof

    def choose(self, game: SearchGame, timer: Timer) -> MoveChoice | None:
        """Return the move to make, None if there is none.

        It is one of those that the command names, of all if none of these is legal. The game is as before
        afterwards.
        """
        legal = list(game.live.legal_moves)
        if not legal:
            return None
        allowed = self._named(game.live, timer.go.moves) or legal
        if self.options.blunders and random.random() < self.options.blunders:
            return MoveChoice(random.choice(allowed))
        tempting = bool(self.options.partner)
        advice = self.tables and self.tables.advice(game, allowed, timer, tempting)
        if self.tables and advice:
            return self._by_tables(self.tables, game, advice, allowed, timer)
        if len(allowed) == 1 and timer.limited:
            return MoveChoice(allowed[0])
        return self._by_thinking(game, allowed, timer)

    def _named(self, board: chess.Board, words: Sequence[str]) -> list[chess.Move]:
        """Return the legal moves that words name, in either notation of castling, and say which name none."""
        forms = (False, True)
        legal = {board.uci(move, chess960=form): move for move in board.legal_moves for form in forms}
        for word in words:
            if word not in legal:
                self.say(f"info string {printable(word)} is not a legal move here, and is passed over")
        if words and legal.keys().isdisjoint(words):
            self.say("info string none of the moves to search is legal here: all moves are searched")
        return list(dict.fromkeys(move for name, move in legal.items() if name in words))

    def _by_tables(
        self,
        tables: EngineTables,
        game: SearchGame,
        advice: Advice,
        allowed: Sequence[chess.Move],
        timer: Timer,
    ) -> MoveChoice:
        """Return the move that tables give; among several that keep the value, search for progress."""
        decided = len(advice.moves) == 1
        if decided and (timer.share is None or timer.share >= _LINE_SECONDS):
            advice = replace(advice, line=tables.line(game, advice, timer))
        told = [advice]
        if self.options.best > 1:
            others = tables.ranked(game, allowed)
            told += [other for other in others if other.moves[0] != advice.moves[0]]
        for place, each in enumerate(told[: self.options.best], 1):
            self._tell(report.of_advice(game, each, "tables", timer.elapsed, self._place(place)))
        return MoveChoice(*advice.line[:2]) if decided else self._by_search(game, advice.moves, timer)

    def _by_thinking(self, game: SearchGame, allowed: Sequence[chess.Move], timer: Timer) -> MoveChoice:
        """Search, alone or with a partner, and take what is proved meanwhile."""
        solving = self._solving(game, timer)
        with nullcontext() if solving is None else closing(solving):
            partners = chosen = self._by_partner(game, allowed, timer)
            if chosen is None:
                chosen = self._by_search(game, allowed, timer, solving.done if solving else _never)
            if solving is None or not solving.done():
                return chosen
            try:
                advice = solving.advice(allowed)
            except SolvingError as error:
                self.say(f"info string {error}")
                enough = partners or timer.enough()
                return chosen if enough else self._by_search(game, allowed, timer)
        self._tell(report.of_advice(game, advice, "proof", timer.elapsed))
        if len(advice.moves) == 1:
            return MoveChoice(*(advice.line or advice.moves)[:2])
        if partners and partners.move in advice.moves:
            return partners
        return self._by_search(game, advice.moves, timer, sure=advice if advice.value is None else None)

    def _by_partner(self, game: SearchGame, allowed: Sequence[chess.Move], timer: Timer) -> MoveChoice | None:
        """Return the move of the partner, or, where the game is drawn, the best in r-mobility of those that
        keep the draw; None without a partner, or if it fails before it has named one."""
        partner, judged = self.partner(), None
        if partner is None:
            return None
        try:
            judged = partner.judge(
                game,
                allowed,
                timer,
                lambda line: self._tell(report.of_partners_line(game, line, timer.elapsed)),
            )
            self._tell(report.of_partner(game, judged, timer.elapsed))
            for _ in range(_TRIES):
                if len(judged.kept) == 1 or timer.over() or (room := self.room()) is None:
                    break
                chosen = self._among_kept(game, judged, timer, room)
                if chosen.move == judged.best[0] or partner.holds(game, chosen.move, judged, timer):
                    return chosen
                judged = judged.without(chosen.move)
        except TbgenError as error:
            self.say(f"info string {error}")
        return None if judged is None else MoveChoice(*judged.best[:2])

    def _by_search(
        self,
        game: SearchGame,
        allowed: Sequence[chess.Move],
        timer: Timer,
        interrupted: Callable[[], bool] = _never,
        sure: Advice | None = None,
    ) -> MoveChoice:
        """Search until the timer says so, or until something else is known.

        :param sure: what is proved; if the search promises less, the move is the one that is sure.
        """

        def over(nodes: int) -> bool:
            return timer.over(nodes) or interrupted()

        def tell(best: RootLine, counts: SearchCounts) -> None:
            self._tell(report.of_search(game, best, counts, timer.elapsed, self._place(best.place)))

        most_nodes, lines = timer.go.numbers.get("nodes"), self.options.best
        if (room := self.room()) is None:
            known = self.tables.known if self.tables else lambda _: None
            (found, *others), counts = first_moves(game, allowed, known, lines)
            for each in (found, *others):
                tell(each, counts)
        else:
            from tbgen.engine.compiled_search import CompiledSearch  # takes numba

            search = CompiledSearch(game, allowed, room, self.tables, over, lines, most_nodes)
            found = search.run(
                timer.go.depth,
                lambda: timer.enough() or interrupted(),
                lambda best: tell(best, search.counts),
            )
        if sure is not None:
            white = game.live.turn
            proved = worth(sure.lower if white else sure.upper)
            if found.value < proved if white else found.value > proved:
                return MoveChoice(sure.moves[0])
        return MoveChoice(*found.line[:2])

    def _among_kept(
        self, game: SearchGame, judged: "Judgement", timer: Timer, room: "SearchRoom"
    ) -> MoveChoice:
        """Search among the moves that keep a draw in chess, as long as the partner leaves time for it."""
        from tbgen.engine.compiled_search import PATIENCE, CompiledSearch  # takes numba

        until = min(timer.elapsed + judged.search_seconds, timer.share or math.inf)

        def over(_nodes: int = 0) -> bool:
            return timer.stopped or timer.elapsed >= until

        def tell(best: RootLine) -> None:
            self._tell(report.of_search(game, best, search.counts, timer.elapsed))

        moves, patience = list(judged.kept), min(PATIENCE, judged.search_seconds / 8)
        nodes, candidates = judged.search_nodes, judged.kept
        search = CompiledSearch(game, moves, room, self.tables, over, 1, nodes, patience, candidates)
        return MoveChoice(*search.run(timer.go.depth, over, tell).line[:2])

    def _solving(self, game: SearchGame, timer: Timer) -> BackgroundProof | None:
        """Return an attempt to solve the state if there is time for it; a 50-move rule is not solved with."""
        has_time = timer.share is not None and timer.share >= AUTO_SECONDS
        wanted = self.options.solve == "on" or (self.options.solve == "auto" and has_time)
        known_game = game.settings.fifty_move_rule is FiftyMoveRule.NONE and not game.live.castling_rights
        if not wanted or self.tables is None or not known_game:
            return None
        try:
            return self.start_solving(game, self.tables.directories, timer.share)
        except OSError as error:
            self.say(f"info string solving cannot be started: {error.strerror or error}")
            return None

    def _place(self, place: int) -> int | None:
        """Return the place of a move among the best ones, if several are reported."""
        return place if self.options.best > 1 else None

    def _tell(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.say(line)
