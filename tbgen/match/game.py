"""One game: two engines move, the arbiter decides every end on the board, the judge all others."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import chess

from tbgen.games.live_file import GameMove, Ply
from tbgen.games.outcome import Basis, Outcome
from tbgen.games.pgn.ending import Ending
from tbgen.games.referee.arbiter import Arbiter
from tbgen.games.settings import GameOptions
from tbgen.match.adjudication import Evaluations, Judge, StopRules
from tbgen.match.clock import Clock
from tbgen.match.engine import Engine, EngineFault, Fault
from tbgen.match.schedule import Fixture

__all__ = ["PlayedGame", "play_game", "unplayed_game"]

BOOK: Final = "book"
"""What is noted of a move of the opening."""

_NO_RULES: Final = StopRules()
_CAUSES: Final = {
    Fault.TIME: Basis.TIME_FORFEIT,
    Fault.ILLEGAL_MOVE: Basis.ILLEGAL_MOVE,
    Fault.ABANDONED: Basis.ABANDONED,
    Fault.STALLED: Basis.ABANDONED,
}
_ENDS: Final = {
    Basis.BARE_KINGS: "End by K vs K G8.5 rule",
    Basis.FIFTY_MOVES: "End by fifty moves rule",
    Basis.REPETITION: "End by 3-fold repetition",
}


@dataclass(frozen=True, slots=True)
class PlayedGame:
    """A game that has been played."""

    fixture: Fixture
    plies: tuple[Ply, ...]
    outcome: Outcome
    reason: str
    """Why it is over, in the words of cuteRMob."""
    termination: str
    """The tag; empty if it ended on the board or was resigned."""
    began: float
    """When, in seconds of the epoch."""
    ended: float
    thinking: float
    """Seconds that both engines have thought."""
    faulty: str = ""
    """The name of an engine that has to be started anew."""
    detail: str = ""
    """More about what an engine has done wrong."""
    arbiter: Arbiter | None = None
    """As it stands at the end of a game that was adjudicated, to verify that."""


class _Play:
    """A game in play.

    :param listen: called with each move, those of the opening included.
    """

    def __init__(
        self,
        fixture: Fixture,
        options: GameOptions,
        rules: StopRules = _NO_RULES,
        clocks: Mapping[chess.Color, Clock] = MappingProxyType({}),
        listen: Callable[[GameMove], object] = lambda _: None,
    ) -> None:
        self.fixture, self.clocks, self._listen = fixture, clocks, listen
        self.arbiter = fixture.opening.arbiter(options)
        self.board = fixture.opening.start.board.copy(stack=False)
        self.evaluations = Evaluations(rules)
        self.plies: list[Ply] = []
        self.began = time.time()
        self.thinking = 0.0
        for move in fixture.opening.moves:
            self.push(move, BOOK)

    def push(self, move: chess.Move, comment: str) -> None:
        """Make a move."""
        san = self.board.san(move)
        self.arbiter.push(move)
        self.board.push(move)
        ply = Ply(move.uci(), san, str(self.arbiter.accrued), comment)
        self.plies.append(ply)
        left: dict[str, float | None] = {
            chess.COLOR_NAMES[side]: clock.left for side, clock in self.clocks.items()
        }
        self._listen(GameMove(time.time(), str(self.fixture.key), ply, self.board.fen(), left))

    def over(
        self, outcome: Outcome, ending: Ending, termination: str = "", faulty: str = "", detail: str = ""
    ) -> PlayedGame:
        """Return the game at its end."""
        return PlayedGame(
            self.fixture,
            tuple(self.plies),
            outcome,
            ending.text,
            termination,
            self.began,
            time.time(),
            self.thinking,
            faulty,
            detail,
            self.arbiter,
        )


async def play_game(
    fixture: Fixture,
    engines: Mapping[chess.Color, Engine],
    options: GameOptions,
    rules: StopRules,
    judge: Judge,
    listen: Callable[[GameMove], object],
) -> PlayedGame:
    """Play a game.

    The game always ends with a result: a fault of an engine loses it.

    :param listen: called with each move, those of the opening included.
    """
    clocks = {side: Clock(engine.settings.control) for side, engine in engines.items()}
    play = _Play(fixture, options, rules, clocks, listen)
    board, arbiter = play.board, play.arbiter
    accrued = fixture.opening.start.accrued
    before = "" if accrued is None else str(accrued)
    while True:
        basis = arbiter.basis
        if basis is not None:
            ending = Ending(None, None, _end(basis, arbiter))
            outcome, _ = await judge.stopped(arbiter, ending)
            return play.over(outcome, ending)
        known = await judge.known(board, arbiter)
        if known is not None:
            return play.over(*known, Basis.ADJUDICATION.value)
        stop = play.evaluations.ending(not board.turn, len(play.plies))
        if stop is not None:
            outcome, stop = await judge.stopped(arbiter, stop)
            resigned = stop.cause is Basis.RESIGNATION
            return play.over(outcome, stop, "" if resigned else Basis.ADJUDICATION.value)
        mover = board.turn
        try:
            answer = await engines[mover].move(board, clocks, play, before)
        except EngineFault as fault:
            return await _lost(play, judge, mover, fault)
        play.thinking += answer.seconds
        play.push(answer.move, answer.comment)
        play.evaluations.add(mover, answer.centipawns)


async def unplayed_game(
    fixture: Fixture, loser: chess.Color, fault: EngineFault, options: GameOptions, judge: Judge
) -> PlayedGame:
    """Return the game that an engine loses because it does not start."""
    return await _lost(_Play(fixture, options), judge, loser, fault)


async def _lost(play: _Play, judge: Judge, loser: chess.Color, fault: EngineFault) -> PlayedGame:
    """Return a game that an engine has lost by what it has done."""
    side = chess.COLOR_NAMES[loser].capitalize()
    match fault.fault:
        case Fault.TIME:
            text = f"{side} loses on time"
        case Fault.ILLEGAL_MOVE:
            text = f"{side} makes an illegal move: {fault.detail}"
        case Fault.ABANDONED:
            text = f"{side} disconnects"
        case Fault.STALLED:
            text = f"{side}'s connection stalls"
    ending = Ending(_CAUSES[fault.fault], not loser, text)
    outcome, _ = await judge.stopped(play.arbiter, ending)
    name = play.fixture.white if loser else play.fixture.black
    return play.over(outcome, ending, fault.fault.value, name, fault.detail)


def _end(basis: Basis, arbiter: Arbiter) -> str:
    """Return how cuteRMob says that a game has ended on the board."""
    if basis in _ENDS:
        return _ENDS[basis]
    winner = "White" if arbiter.accrued.white else "Black"
    return f"{winner} {'mates' if basis is Basis.MATE else 'stalemates'}"
