"""The choice of a move: from tables, by a proof, or by a search, alone or with a partner."""

import math
import random
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Final, NamedTuple

import chess

from tbgen.engine import report
from tbgen.engine.background_proof import BackgroundSolving, SolvingError
from tbgen.engine.first_move import immediate_moves
from tbgen.engine.game import Advice, RootLine, SearchCounts, SearchGame
from tbgen.engine.options import Options
from tbgen.engine.scale import worth
from tbgen.engine.table_advice import EngineTables
from tbgen.engine.timer import Timer
from tbgen.errors import TbgenError, printable
from tbgen.games.game_options import FiftyMoveRule

if TYPE_CHECKING:
    from tbgen.engine.partner import Judgement, Partner
    from tbgen.engine.workspace import SearchWorkspace

MIN_AUTO_SOLVE_SECONDS: Final = 30.0
"""Minimum thinking time with which the option value ``auto`` starts a proof. The first compilation of
kernels may take that long."""
_MAX_PARTNER_QUERIES: Final = 3
"""Maximum number of moves that the partner checks. After that, the partner's own move is made."""


def _never() -> bool:
    return False


class MoveChoice(NamedTuple):
    """A move, and the reply to ponder on, if any."""

    move: chess.Move
    reply: chess.Move | None = None


@dataclass(frozen=True, slots=True)
class Thinker:
    """The part of the engine that chooses moves.

    :ivar say: prints a line of the protocol before the move.
    :ivar get_workspace: returns the workspace of the compiled search; None until the search is loaded.
    :ivar get_partner: returns the partner; None if there is none or while it is starting.
    :ivar start_solving: starts an attempt to solve a state, with the arguments of :class:`BackgroundSolving`.
    """

    say: Callable[[str], None]
    tables: EngineTables | None
    options: Options
    get_workspace: Callable[[], "SearchWorkspace | None"] = lambda: None
    get_partner: Callable[[], "Partner | None"] = lambda: None
    start_solving: Callable[..., BackgroundSolving] = BackgroundSolving

    def choose(self, game: SearchGame, timer: Timer) -> MoveChoice | None:
        """Return the move to make; None if no move is legal.

        If the command ``go`` names legal moves, the move is one of these. The game is unchanged afterwards.
        """
        legal = list(game.live.legal_moves)
        if not legal:
            return None
        choices = self._named_moves(game.live, timer.go.moves) or legal
        if self.options.blunder_rate and random.random() < self.options.blunder_rate:
            return MoveChoice(random.choice(choices))
        has_partner = bool(self.options.partner_command)
        advice = self.tables and self.tables.advice(game, choices, timer, prefer_tempting=has_partner)
        if self.tables and advice:
            return self._choose_by_tables(self.tables, game, advice, choices, timer)
        if len(choices) == 1 and timer.is_limited:
            return MoveChoice(choices[0])
        return self._choose_by_thinking(game, choices, timer)

    def _named_moves(self, board: chess.Board, names: Sequence[str]) -> list[chess.Move]:
        """Return the legal moves with the given names, with castling in either notation.

        Report the names that belong to no legal move.
        """
        styles = (False, True)
        by_name = {board.uci(move, chess960=style): move for move in board.legal_moves for style in styles}
        for name in names:
            if name not in by_name:
                self.say(f"info string {printable(name)} is not a legal move here and is ignored")
        if names and by_name.keys().isdisjoint(names):
            self.say("info string none of the moves to search is legal here: all moves are searched")
        return list(dict.fromkeys(move for name, move in by_name.items() if name in names))

    def _choose_by_tables(
        self,
        tables: EngineTables,
        game: SearchGame,
        advice: Advice,
        choices: Sequence[chess.Move],
        timer: Timer,
    ) -> MoveChoice:
        """Return the move that the tables advise. If they advise several moves, search among these."""
        advice_list = [advice]
        if self.options.best_count > 1:
            others = tables.ranked_advice(game, choices)
            advice_list += [other for other in others if other.moves[0] != advice.moves[0]]
        del advice_list[self.options.best_count :]
        search_counter = count()
        for index, shown_advice in enumerate(advice_list):
            if len(shown_advice.moves) == 1:
                line = tables.line(game, shown_advice, timer, search_counter)
                shown_advice = advice_list[index] = replace(shown_advice, line=line)
            place = self._multipv(index + 1)
            self._report(report.advice_info(game, shown_advice, "tables", timer.elapsed, place))
        if len(advice.moves) > 1:
            return self._choose_by_search(game, advice.moves, timer)
        return MoveChoice(*advice_list[0].line[:2])

    def _choose_by_thinking(
        self, game: SearchGame, choices: Sequence[chess.Move], timer: Timer
    ) -> MoveChoice:
        """Search, alone or with a partner. If a proof succeeds in the meantime, follow the proof."""
        attempt = self._start_proof(game, timer)
        with nullcontext() if attempt is None else closing(attempt):
            partner_choice = choice = self._choose_by_partner(game, choices, timer)
            if choice is None:
                choice = self._choose_by_search(game, choices, timer, attempt.done if attempt else _never)
            if attempt is None or not attempt.done():
                return choice
            try:
                advice = attempt.advice(choices)
            except SolvingError as error:
                self.say(f"info string {error}")
                is_final = partner_choice is not None or timer.must_stop_deepening()
                return choice if is_final else self._choose_by_search(game, choices, timer)
        self._report(report.advice_info(game, advice, "proof", timer.elapsed))
        if len(advice.moves) == 1:
            return MoveChoice(*(advice.line or advice.moves)[:2])
        if partner_choice and partner_choice.move in advice.moves:
            return partner_choice
        return self._choose_by_search(
            game, advice.moves, timer, proved_advice=advice if advice.value is None else None
        )

    def _choose_by_partner(
        self, game: SearchGame, choices: Sequence[chess.Move], timer: Timer
    ) -> MoveChoice | None:
        """Return the partner's move or, in a drawn game, the best move in r-mobility that keeps the draw.

        Return None if there is no partner, or if it fails before it has chosen a move.
        """
        partner = self.get_partner()
        judgement = None
        if partner is None:
            return None
        try:
            judgement = partner.judge(
                game,
                choices,
                timer,
                lambda line: self._report(report.partner_info(game, line, timer.elapsed)),
            )
            self._report(report.judgement_info(game, judgement, timer.elapsed))
            for _ in range(_MAX_PARTNER_QUERIES):
                is_last = len(judgement.candidates) == 1 or timer.is_over()
                if is_last or (workspace := self.get_workspace()) is None:
                    break
                choice = self._search_drawing_moves(game, judgement, timer, workspace)
                move = choice.move
                if move == judgement.best_line[0] or partner.keeps_draw(game, move, judgement, timer):
                    return choice
                judgement = judgement.without_move(move)
        except TbgenError as error:
            self.say(f"info string {error}")
        return None if judgement is None else MoveChoice(*judgement.best_line[:2])

    def _choose_by_search(
        self,
        game: SearchGame,
        choices: Sequence[chess.Move],
        timer: Timer,
        is_interrupted: Callable[[], bool] = _never,
        proved_advice: Advice | None = None,
    ) -> MoveChoice:
        """Search until time runs out or the search is interrupted.

        :param is_interrupted: function that returns whether to stop before the time is up.
        :param proved_advice: advice from a proof. Its first move is made if the search finds a worse value
            than the advice guarantees.
        """

        def is_over(nodes: int) -> bool:
            return timer.is_over(nodes) or is_interrupted()

        def report_line(best: RootLine, counts: SearchCounts) -> None:
            self._report(report.search_info(game, best, counts, timer.elapsed, self._multipv(best.place)))

        max_nodes = timer.go.numbers.get("nodes")
        line_count = self.options.best_count
        if (workspace := self.get_workspace()) is None:
            look_up = self.tables.look_up if self.tables else lambda _: None
            root_lines, counts = immediate_moves(game, choices, look_up, line_count)
            best_line = root_lines[0]
            for root_line in root_lines:
                report_line(root_line, counts)
        else:
            from tbgen.engine.compiled_search import CompiledSearch  # imports numba

            search = CompiledSearch(
                game, choices, workspace, self.tables, is_over, line_count=line_count, max_nodes=max_nodes
            )
            best_line = search.run(
                timer.go.depth,
                lambda: timer.must_stop_deepening() or is_interrupted(),
                lambda best: report_line(best, search.counts),
            )
        if proved_advice is not None:
            is_white = game.live.turn
            guaranteed = worth(proved_advice.lower if is_white else proved_advice.upper)
            is_worse = best_line.value < guaranteed if is_white else best_line.value > guaranteed
            if is_worse:
                return MoveChoice(proved_advice.moves[0])
        return MoveChoice(*best_line.line[:2])

    def _search_drawing_moves(
        self, game: SearchGame, judgement: "Judgement", timer: Timer, workspace: "SearchWorkspace"
    ) -> MoveChoice:
        """Search among the moves that keep the draw in chess, within the limits of the judgement."""
        from tbgen.engine.compiled_search import PATIENCE_SECONDS, CompiledSearch  # imports numba

        deadline = min(timer.elapsed + judgement.search_seconds, timer.target or math.inf)

        def is_over(_nodes: int = 0) -> bool:
            return timer.stopped or timer.elapsed >= deadline

        def report_line(best: RootLine) -> None:
            self._report(report.search_info(game, best, search.counts, timer.elapsed))

        candidates = judgement.candidates
        moves = list(candidates)
        patience = min(PATIENCE_SECONDS, judgement.search_seconds / 8)
        nodes = judgement.search_nodes
        search = CompiledSearch(
            game, moves, workspace, self.tables, is_over, 1, nodes, patience=patience, candidates=candidates
        )
        return MoveChoice(*search.run(timer.go.depth, is_over, report_line).line[:2])

    def _start_proof(self, game: SearchGame, timer: Timer) -> BackgroundSolving | None:
        """Start an attempt to solve the state, if the options and the time permit.

        States under a 50-move rule or with castling rights are not solved.
        """
        has_time = timer.target is not None and timer.target >= MIN_AUTO_SOLVE_SECONDS
        wanted = self.options.solve == "on" or (self.options.solve == "auto" and has_time)
        solvable = game.settings.fifty_move_rule is FiftyMoveRule.NONE and not game.live.castling_rights
        if not wanted or self.tables is None or not solvable:
            return None
        try:
            return self.start_solving(game, self.tables.directories, timer.target)
        except OSError as error:
            self.say(f"info string solving cannot be started: {error.strerror or error}")
            return None

    def _multipv(self, place: int) -> int | None:
        """Return the place of a move, to be reported as ``multipv``; None if only one move is reported."""
        return place if self.options.best_count > 1 else None

    def _report(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.say(line)
