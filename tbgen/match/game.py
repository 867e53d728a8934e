"""One game: two engines move, the arbiter ends it by the rules, and the judge stops it otherwise."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

import chess

from tbgen.games.live_file import GameMove, GameThought, Ply
from tbgen.games.outcome import Basis, Outcome
from tbgen.games.pgn.ending import Ending
from tbgen.games.referee import Arbiter
from tbgen.games.settings import GameOptions
from tbgen.match.adjudication import Evaluations, Judge, StopRules
from tbgen.match.clock import Clock
from tbgen.match.engine_process import Engine, EngineFault, Fault
from tbgen.match.messages import Listener
from tbgen.match.schedule import Fixture
from tbgen.match.uci import Thought

BOOK: Final = "book"
"""The comment on moves of the opening."""

_LOSSES: Final = {
    Fault.TIME: (Basis.TIME_FORFEIT, " loses on time"),
    Fault.ILLEGAL_MOVE: (Basis.ILLEGAL_MOVE, " makes an illegal move"),
    Fault.ABANDONED: (Basis.ABANDONED, " disconnects"),
    Fault.STALLED: (Basis.ABANDONED, "'s connection stalls"),
}
"""For each fault, the basis of the outcome, and Cute Chess's words for the ending, which follow the name of
the side."""
_ENDING_TEXTS: Final = {
    Basis.BARE_KINGS: "End by K vs K G8.5 rule",
    Basis.FIFTY_MOVES: "End by fifty moves rule",
    Basis.REPETITION: "End by 3-fold repetition",
}


class MatchGame:
    """A game in play, or after :meth:`end` a finished game.

    :param listen: called with each move, including those of the opening, and with each thought.
    """

    outcome: Outcome
    ending_text = ""
    """The ending, in the words of cuteRMob."""
    termination = ""
    """The tag ``Termination``; empty if the game ended on the board or by resignation."""
    end_time: float
    """The time of the end, in seconds since the epoch."""
    faulty_engine = ""
    """The name of the engine whose fault ended the game; empty without a fault."""
    fault_detail = ""
    """A description of the fault."""

    def __init__(
        self, fixture: Fixture, options: GameOptions, clocks: Mapping[chess.Color, Clock], listen: Listener
    ) -> None:
        self.fixture, self.clocks, self._listen = fixture, clocks, listen
        self.arbiter = fixture.opening.arbiter(options)
        self.board = fixture.opening.start.board.copy(stack=False)
        self.plies: list[Ply] = []
        self.start_time = time.time()
        self.thinking_seconds = 0.0
        """Total thinking time of both engines in seconds."""
        for move in fixture.opening.moves:
            self.push(move, BOOK)

    def push(self, move: chess.Move, comment: str, line: str = "") -> None:
        """Make a move.

        :param line: the line that the engine expects, in the form of :class:`Ply`.
        """
        san = self.board.san(move)
        self.arbiter.push(move)
        self.board.push(move)
        accrued, position_score = str(self.arbiter.accrued), str(self.arbiter.position_score)
        ply = Ply(move.uci(), san, accrued, comment, line, position_score)
        self.plies.append(ply)
        left = {str(chess.COLOR_NAMES[side]): clock.remaining for side, clock in self.clocks.items()}
        self._listen(GameMove(time.time(), str(self.fixture.key), ply, self.board.fen(), left))

    def send_thought(self, thought: Thought, seconds: float) -> None:
        """Send a thought of the engine to move, which has been thinking for some seconds."""
        key, comment = str(self.fixture.key), thought.comment(seconds)
        self._listen(GameThought(time.time(), key, comment, thought.line))

    def end(self, outcome: Outcome, ending: Ending, termination: str = "") -> MatchGame:
        """Record the end of the game, and return the game."""
        self.outcome, self.ending_text, self.termination = outcome, ending.text, termination
        self.end_time = time.time()
        return self


async def play_game(
    play: MatchGame, engines: Mapping[chess.Color, Engine], rules: StopRules, judge: Judge
) -> MatchGame:
    """Play a game to its end, and return it; an engine with a fault loses it."""
    board, arbiter, evaluations = play.board, play.arbiter, Evaluations(rules)
    start_accrued = str(play.fixture.opening.start.accrued or "")
    while True:
        basis = arbiter.basis
        if basis is not None:
            ending = Ending(None, None, _board_ending(basis, arbiter))
            outcome, _ = await judge.outcome_of_stopped(arbiter, ending)
            return play.end(outcome, ending)
        proved = await judge.outcome_by_tables(board, arbiter)
        if proved is not None:
            return play.end(*proved, Basis.ADJUDICATION.value)
        stop = evaluations.ending(not board.turn, len(play.plies))
        if stop is not None:
            outcome, stop = await judge.outcome_of_stopped(arbiter, stop)
            resigned = stop.cause is Basis.RESIGNATION
            return play.end(outcome, stop, "" if resigned else Basis.ADJUDICATION.value)
        mover = board.turn
        try:
            answer = await engines[mover].move(board, play.clocks, play, start_accrued, play.send_thought)
        except EngineFault as fault:
            return await end_lost_game(play, judge, mover, fault)
        play.thinking_seconds += answer.seconds
        play.push(answer.move, answer.thought.comment(answer.seconds), answer.thought.line)
        evaluations.add(board, answer.thought.centipawns)


async def end_lost_game(play: MatchGame, judge: Judge, loser: chess.Color, fault: EngineFault) -> MatchGame:
    """End a game that an engine has lost by a fault, and return the game."""
    basis, words = _LOSSES[fault.fault]
    move = f": {fault.detail}" if basis is Basis.ILLEGAL_MOVE else ""
    ending = Ending(basis, not loser, f"{chess.COLOR_NAMES[loser].capitalize()}{words}{move}")
    outcome, _ = await judge.outcome_of_stopped(play.arbiter, ending)
    play.faulty_engine, play.fault_detail = play.fixture.white if loser else play.fixture.black, fault.detail
    return play.end(outcome, ending, fault.fault.value)


def _board_ending(basis: Basis, arbiter: Arbiter) -> str:
    """Return the ending of a game on the board, in the words of cuteRMob."""
    if basis in _ENDING_TEXTS:
        return _ENDING_TEXTS[basis]
    winner = "White" if arbiter.accrued.white else "Black"
    return f"{winner} {'mates' if basis is Basis.MATE else 'stalemates'}"
