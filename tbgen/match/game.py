"""One game: two engines move, the arbiter decides every end on the board, the judge all others."""

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
"""What is noted of a move of the opening."""

_LOSSES: Final = {
    Fault.TIME: (Basis.TIME_FORFEIT, " loses on time"),
    Fault.ILLEGAL_MOVE: (Basis.ILLEGAL_MOVE, " makes an illegal move"),
    Fault.ABANDONED: (Basis.ABANDONED, " disconnects"),
    Fault.STALLED: (Basis.ABANDONED, "'s connection stalls"),
}
"""The basis of a game that a fault loses, and what Cute Chess says after the side."""
_ENDS: Final = {
    Basis.BARE_KINGS: "End by K vs K G8.5 rule",
    Basis.FIFTY_MOVES: "End by fifty moves rule",
    Basis.REPETITION: "End by 3-fold repetition",
}


class PlayedGame:
    """A game in play, and after :meth:`end` one that has been played.

    :param listen: called with each move, those of the opening included, and with what engines think.
    """

    outcome: Outcome
    reason = ""
    """Why it is over, in the words of cuteRMob."""
    termination = ""
    """The tag; empty if it ended on the board or was resigned."""
    ended: float
    """When, in seconds of the epoch."""
    faulty = ""
    """The name of an engine that has to be started anew."""
    detail = ""
    """More about what an engine has done wrong."""

    def __init__(
        self, fixture: Fixture, options: GameOptions, clocks: Mapping[chess.Color, Clock], listen: Listener
    ) -> None:
        self.fixture, self.clocks, self._listen = fixture, clocks, listen
        self.arbiter = fixture.opening.arbiter(options)
        self.board = fixture.opening.start.board.copy(stack=False)
        self.plies: list[Ply] = []
        self.began = time.time()
        self.thinking = 0.0
        """Seconds that both engines have thought."""
        for move in fixture.opening.moves:
            self.push(move, BOOK)

    def push(self, move: chess.Move, comment: str, line: str = "") -> None:
        """Make a move.

        :param line: what its engine expects, as in :class:`Ply`.
        """
        san = self.board.san(move)
        self.arbiter.push(move)
        self.board.push(move)
        accrued, own = str(self.arbiter.accrued), str(self.arbiter.position_score)
        ply = Ply(move.uci(), san, accrued, comment, line, own)
        self.plies.append(ply)
        left = {str(chess.COLOR_NAMES[side]): clock.left for side, clock in self.clocks.items()}
        self._listen(GameMove(time.time(), str(self.fixture.key), ply, self.board.fen(), left))

    def tell(self, thought: Thought, seconds: float) -> None:
        """Tell what the engine to move thinks, and has for some seconds."""
        key, comment = str(self.fixture.key), thought.comment(seconds)
        self._listen(GameThought(time.time(), key, comment, thought.line))

    def end(self, outcome: Outcome, ending: Ending, termination: str = "") -> PlayedGame:
        """Return the game at its end."""
        self.outcome, self.reason, self.termination = outcome, ending.text, termination
        self.ended = time.time()
        return self


async def play_game(
    play: PlayedGame, engines: Mapping[chess.Color, Engine], rules: StopRules, judge: Judge
) -> PlayedGame:
    """Play a game to its end, and return it; a fault of an engine loses it."""
    board, arbiter, evaluations = play.board, play.arbiter, Evaluations(rules)
    before = str(play.fixture.opening.start.accrued or "")
    while True:
        basis = arbiter.basis
        if basis is not None:
            ending = Ending(None, None, _end(basis, arbiter))
            outcome, _ = await judge.stopped(arbiter, ending)
            return play.end(outcome, ending)
        known = await judge.known(board, arbiter)
        if known is not None:
            return play.end(*known, Basis.ADJUDICATION.value)
        stop = evaluations.ending(not board.turn, len(play.plies))
        if stop is not None:
            outcome, stop = await judge.stopped(arbiter, stop)
            resigned = stop.cause is Basis.RESIGNATION
            return play.end(outcome, stop, "" if resigned else Basis.ADJUDICATION.value)
        mover = board.turn
        try:
            answer = await engines[mover].move(board, play.clocks, play, before, play.tell)
        except EngineFault as fault:
            return await lost_game(play, judge, mover, fault)
        play.thinking += answer.seconds
        play.push(answer.move, answer.thought.comment(answer.seconds), answer.thought.line)
        evaluations.add(board, answer.thought.centipawns)


async def lost_game(play: PlayedGame, judge: Judge, loser: chess.Color, fault: EngineFault) -> PlayedGame:
    """Return a game that an engine has lost by what it has done."""
    basis, deed = _LOSSES[fault.fault]
    move = f": {fault.detail}" if basis is Basis.ILLEGAL_MOVE else ""
    ending = Ending(basis, not loser, f"{chess.COLOR_NAMES[loser].capitalize()}{deed}{move}")
    outcome, _ = await judge.stopped(play.arbiter, ending)
    play.faulty, play.detail = play.fixture.white if loser else play.fixture.black, fault.detail
    return play.end(outcome, ending, fault.fault.value)


def _end(basis: Basis, arbiter: Arbiter) -> str:
    """Return how cuteRMob says that a game has ended on the board."""
    if basis in _ENDS:
        return _ENDS[basis]
    winner = "White" if arbiter.accrued.white else "Black"
    return f"{winner} {'mates' if basis is Basis.MATE else 'stalemates'}"
