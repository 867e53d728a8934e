"""One game between two engines. The arbiter ends it by the rules, unless the judge stops it earlier."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final

import chess

from tbgen.games.game_options import GameOptions
from tbgen.games.live_file import GameMove, GameThought, Ply, SearchFigures
from tbgen.games.outcome import Basis, Outcome
from tbgen.games.pgn.ending import Ending
from tbgen.games.referee import Arbiter
from tbgen.match.adjudication import Evaluations, Judge, StopRules
from tbgen.match.clock import Clock, limit_of
from tbgen.match.messages import Listener
from tbgen.match.schedule import Fixture
from tbgen.uci.process import Engine, EngineFault, Fault
from tbgen.uci.protocol import Thought

BOOK_COMMENT: Final = "book"
"""The comment on the moves of the opening."""

LOSSES: Final = {
    Fault.TIME: (Basis.TIME_FORFEIT, " loses on time"),
    Fault.ILLEGAL_MOVE: (Basis.ILLEGAL_MOVE, " makes an illegal move"),
    Fault.ABANDONED: (Basis.ABANDONED, " disconnects"),
    Fault.STALLED: (Basis.ABANDONED, "'s connection stalls"),
}
"""For each fault: the basis of the outcome, and what Cute Chess writes after the name of the side."""
_ENDING_TEXTS: Final = {
    Basis.BARE_KINGS: "End by K vs K G8.5 rule",
    Basis.FIFTY_MOVES: "End by fifty moves rule",
    Basis.REPETITION: "End by 3-fold repetition",
}


class MatchGame:
    """A game in play or, after :meth:`end`, a finished game.

    :param listener: called with each move, including those of the opening, and with each thought.
    :param on_excess: called with the name of an engine whose search has passed its limits by far, and with
        the words that say how far.
    """

    outcome: Outcome
    ending_text = ""
    """The ending, in cuteRMob's words."""
    termination = ""
    """The value of the PGN tag ``Termination``; empty if the game ended on the board or by resignation."""
    end_time: float
    """When the game ended, in seconds since the epoch."""
    duration: float
    """Seconds from the start to the end. The times of day may differ by more, because a clock may be set."""
    faulty_engine = ""
    """The name of the engine whose fault ended the game; empty if there was no fault."""
    fault_detail = ""
    """A description of the fault."""

    def __init__(
        self,
        fixture: Fixture,
        options: GameOptions,
        clocks: Mapping[chess.Color, Clock],
        listener: Listener,
        on_excess: Callable[[str, str], object] = lambda *_: None,
    ) -> None:
        self.fixture = fixture
        self.clocks = clocks
        self._listener = listener
        self._on_excess = on_excess
        self.arbiter = fixture.opening.arbiter(options)
        self.board = fixture.opening.start.board.copy(stack=False)
        self.plies: list[Ply] = []
        self.start_time, self._start = time.time(), time.monotonic()
        self.thinking_seconds = 0.0
        """Total thinking time of both engines, in seconds."""
        for move in fixture.opening.moves:
            self.push(move, BOOK_COMMENT)

    def push(self, move: chess.Move, comment: str, thought: Thought | None = None) -> None:
        """Make a move on the board, and send it to the listener.

        :param thought: the last thought of the engine; None for a move of the opening.
        """
        san = self.board.san(move)
        self.arbiter.push(move)
        self.board.push(move)
        position_score = str(self.arbiter.position_score)
        line, search = ("", None) if thought is None else (thought.line, _figures(thought))
        ply = Ply(move.uci(), san, self.arbiter.accrued, comment, line, position_score, search)
        self.plies.append(ply)
        clocks = {str(chess.COLOR_NAMES[side]): clock.seconds_left for side, clock in self.clocks.items()}
        self._listener(GameMove(time.time(), str(self.fixture.key), ply, self.board.fen(), clocks))

    def send_thought(self, thought: Thought, seconds: float) -> None:
        """Send a thought of the engine whose turn it is, and how many seconds it has been thinking."""
        self.check_limits(thought)
        key = str(self.fixture.key)
        comment = thought.comment(seconds)
        self._listener(GameThought(time.time(), key, comment, thought.line, _figures(thought)))

    def check_limits(self, thought: Thought) -> None:
        """Report the engine whose turn it is if its search has passed its limits by far."""
        mover = self.board.turn
        if excess := self.clocks[mover].control.excess(thought.nodes, thought.depth):
            self._on_excess(self.fixture.white if mover else self.fixture.black, excess)

    def end(self, outcome: Outcome, ending: Ending, termination: str = "") -> MatchGame:
        """Record the end of the game, and return the game."""
        self.outcome = outcome
        self.ending_text = ending.text
        self.termination = termination
        self.end_time = time.time()
        self.duration = time.monotonic() - self._start
        return self


async def play_game(
    game: MatchGame, engines: Mapping[chess.Color, Engine], stop_rules: StopRules, judge: Judge
) -> MatchGame:
    """Play a game to its end, and return the game. An engine that commits a fault loses."""
    board = game.board
    arbiter = game.arbiter
    evaluations = Evaluations(stop_rules)
    start_accrued = str(game.fixture.opening.start.accrued or "")
    while True:
        basis = arbiter.basis
        if basis is not None:
            ending = Ending(None, None, _board_ending(basis, arbiter))
            outcome, _ = await judge.outcome_of_stopped_game(arbiter, ending)
            return game.end(outcome, ending)
        decided_end = await judge.outcome_by_tables(board, arbiter)
        if decided_end is not None:
            return game.end(*decided_end, Basis.ADJUDICATION.value)
        stop_ending = evaluations.ending(not board.turn, len(game.plies))
        if stop_ending is not None:
            outcome, stop_ending = await judge.outcome_of_stopped_game(arbiter, stop_ending)
            resigned = stop_ending.cause is Basis.RESIGNATION
            return game.end(outcome, stop_ending, "" if resigned else Basis.ADJUDICATION.value)
        mover = board.turn
        clock = game.clocks[mover]
        limit = limit_of(game.clocks, mover)
        try:
            reply = await engines[mover].move(
                board, limit, clock.allowed_seconds, game, start_accrued, game.send_thought
            )
        except EngineFault as fault:
            return await end_lost_game(game, judge, mover, fault)
        game.check_limits(reply.thought)
        clock.spend(reply.seconds)
        game.thinking_seconds += reply.seconds
        game.push(reply.move, reply.thought.comment(reply.seconds), reply.thought)
        evaluations.add(board, reply.thought.centipawns)


async def end_lost_game(game: MatchGame, judge: Judge, loser: chess.Color, fault: EngineFault) -> MatchGame:
    """End a game that an engine has lost because of a fault, and return the game."""
    basis, loss_text = LOSSES[fault.fault]
    move_text = f": {fault.detail}" if basis is Basis.ILLEGAL_MOVE else ""
    ending = Ending(basis, not loser, f"{chess.COLOR_NAMES[loser].capitalize()}{loss_text}{move_text}")
    outcome, _ = await judge.outcome_of_stopped_game(game.arbiter, ending)
    game.faulty_engine = game.fixture.white if loser else game.fixture.black
    game.fault_detail = fault.detail
    return game.end(outcome, ending, fault.fault.value)


def _figures(thought: Thought) -> SearchFigures:
    return SearchFigures(thought.nodes, thought.speed, thought.hits)


def _board_ending(basis: Basis, arbiter: Arbiter) -> str:
    """Return the ending of a game that is over on the board, in cuteRMob's words."""
    if basis in _ENDING_TEXTS:
        return _ENDING_TEXTS[basis]
    winner = "White" if arbiter.accrued.white else "Black"
    return f"{winner} {'mates' if basis is Basis.MATE else 'stalemates'}"
