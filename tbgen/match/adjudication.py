"""When a game is stopped: evaluations that agree, its length, tables that hold its position."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Annotated, Final, Protocol, TypeAlias

import chess
from msgspec import Meta, Struct

from tbgen.board.material import MAX_MEN
from tbgen.documents import Count
from tbgen.errors import MissingLayerError, MissingTableError, TbgenError, UsageError
from tbgen.games.outcome import Basis, Outcome
from tbgen.games.pgn.ending import Ending
from tbgen.games.referee import Arbiter, StateSolver, adjudicate
from tbgen.games.settings import FiftyMoveRule
from tbgen.probe.syzygy import MOST_MEN, Syzygy
from tbgen.probe.tablebase import Tablebase

DRAWN: Final = "End by adjudication"
SYZYGY: Final = "SyzygyTB"
"""What Cute Chess says of a game that Syzygy files have ended."""

Positive: TypeAlias = Annotated[int, Meta(ge=1)]


class ResignRule(
    Struct, frozen=True, rename={"moves": "movecount", "centipawns": "score", "both": "twosided"}
):
    """When an engine resigns: so many evaluations in a row are at least so bad."""

    moves: Positive
    centipawns: Positive
    both: bool = False
    """Whether the opponent must see it as well."""


class DrawRule(
    Struct,
    frozen=True,
    rename={"first": "movenumber", "moves": "movecount", "centipawns": "score"}
    | {"pieces": "maxpieces", "pawns": "maxpawns"},
):
    """When a game is stopped as a draw: so many evaluations of both sides in a row are about 0.

    ``maxpieces``, ``maxpawns`` and ``reset`` are those of TCEC's fork of Cute Chess, whose rule since 2022
    is ``movenumber=1 movecount=5 score=20 maxpieces=8 maxpawns=8 reset=false``.
    """

    moves: Positive
    centipawns: Count
    first: Count = 0
    """Full moves of the game before which that does not count."""
    pieces: Count = 0
    """Most men other than pawns, kings included, with which evaluations count; 0 for any number."""
    pawns: Count = 0
    """Most pawns with which they count; 0 for any number."""
    reset: bool = True
    """Whether a capture or a pawn move begins the row anew, as in Cute Chess; else it is not counted."""

    def row(self, before: int, board: chess.Board, centipawns: int | None) -> int:
        """Return how many evaluations in a row are about 0.

        :param before: those before the last move.
        :param board: after it.
        :param centipawns: what its mover thinks; None if it is not told.
        """
        pawns = chess.popcount(board.pawns)
        pieces = chess.popcount(board.occupied) - pawns
        if 0 < self.pieces < pieces or 0 < self.pawns < pawns:
            return 0
        if board.halfmove_clock == 0 and not self.reset:
            return before
        if centipawns is None or abs(centipawns) > self.centipawns:
            return 0
        return 1 + (before if board.halfmove_clock else 0)


@dataclass(frozen=True, slots=True)
class StopRules:
    """By what games are stopped other than by their rules."""

    resign: ResignRule | None = None
    draw: DrawRule | None = None
    most_moves: int | None = None
    """Full moves of the game after which it is stopped."""


@dataclass(slots=True)
class Evaluations:
    """What both engines have thought of a game, each for itself, in centipawns; None where it is not told."""

    rules: StopRules
    found: dict[chess.Color, list[int | None]] = field(default_factory=lambda: {True: [], False: []})
    even: int = 0
    """Evaluations in a row, of both sides, that are about 0."""

    def add(self, board: chess.Board, centipawns: int | None) -> None:
        """Note what the engine that has just moved thinks.

        :param board: after its move.
        """
        self.found[not board.turn].append(centipawns)
        if self.rules.draw is not None:
            self.even = self.rules.draw.row(self.even, board, centipawns)

    def ending(self, mover: chess.Color, plies: int) -> Ending | None:
        """Return how the game ends after a move; None if it goes on.

        :param mover: the side that has made it.
        :param plies: since the start position, those of the book too; a move number of that does not count,
            nor does it in Cute Chess.
        """
        rules = self.rules
        if rules.resign is not None and self._resigns(rules.resign, mover):
            text = f"{chess.COLOR_NAMES[mover].capitalize()} resigns"
            return Ending(Basis.RESIGNATION, not mover, text)
        draw = rules.draw
        if draw is not None and self.even >= 2 * draw.moves and plies >= 2 * draw.first:
            return Ending(None, None, f"{DRAWN}: evaluations near zero")
        if rules.most_moves is not None and plies >= 2 * rules.most_moves:
            return Ending(None, None, f"{DRAWN}: maximum length")
        return None

    def _resigns(self, rule: ResignRule, mover: chess.Color) -> bool:
        bad = [-found for found in self._last(mover, rule.moves)]
        both = (bad, self._last(not mover, rule.moves) if rule.both else bad)
        return all(found and min(found) >= rule.centipawns for found in both)

    def _last(self, side: chess.Color, count: int) -> list[int]:
        """Return the last evaluations of a side; none if there are not so many."""
        last = [found for found in self.found[side][-count:] if found is not None]
        return last if len(last) == count else []


class EventSolver(StateSolver, Protocol):
    """A solver that an interruption of the event stops: :class:`tbgen.beyond.jobs.Solver`."""

    def stop(self) -> None:
        """End the work on a state soon, though another thread does it, and work on no other."""


class Judge:
    """Says what stopped games are worth, and which may be stopped because tables or files prove their points.

    :param tables: open for the rules of the event; None does without.
    :param syzygy: Syzygy files, for positions that no table holds.
    :param most_men: men on the board above which games are not stopped by Syzygy files.
    :param solver: what solves final positions that no table holds.
    :param play_on: whether to leave games alone until something else ends them.
    """

    def __init__(
        self,
        tables: Tablebase | None,
        solver: EventSolver | None = None,
        *,
        syzygy: Syzygy | None = None,
        most_men: int = MOST_MEN,
        play_on: bool = False,
    ) -> None:
        self._tables, self._solver, self._syzygy = tables, solver, syzygy
        self._most_men, self._play_on = most_men, play_on
        self._one = asyncio.Lock()

    async def known(self, board: chess.Board, arbiter: Arbiter) -> tuple[Outcome, Ending] | None:
        """Return outcome and ending of a game that goes on if tables hold its position, or Syzygy files prove
        its points: a mate, and by classical scoring also that there is none.

        Castling rights are waited for to go: what they change takes more than a look.
        """
        men = chess.popcount(board.occupied)
        syzygy = self._syzygy if men <= self._most_men else None
        beyond = men > MAX_MEN and syzygy is None
        if self._tables is None or self._play_on or board.castling_rights or beyond:
            return None
        # In a thread of its own: a table may have to be read, or what reads it be compiled.
        outcome = await asyncio.to_thread(self._adjudicate, arbiter, syzygy)
        if not outcome.basis.best_play:
            return None
        source = Basis.TABLEBASE.value if outcome.basis is Basis.TABLEBASE else SYZYGY
        return _as_proved(outcome, Ending(None, None, f"{DRAWN}: {source}"))

    async def stopped(self, arbiter: Arbiter, ending: Ending) -> tuple[Outcome, Ending]:
        """Return the outcome of a game that is over or stopped, and the ending with what proves it."""
        if arbiter.basis is not None or ending.cause is not None or self._tables is None:
            return adjudicate(arbiter, self._tables, ending), ending
        async with self._one:
            try:
                outcome = await asyncio.to_thread(
                    self._adjudicate, arbiter, self._syzygy, ending, self._solver
                )
            except asyncio.CancelledError:
                if self._solver is not None:
                    self._solver.stop()  # the thread goes on, and the end of the event waits for it
                raise
        return _as_proved(outcome, ending)

    def _adjudicate(
        self,
        arbiter: Arbiter,
        syzygy: Syzygy | None,
        ending: Ending | None = None,
        solver: StateSolver | None = None,
    ) -> Outcome:
        """Return the outcome by tables, but without them where they do not know accrued scores."""
        try:
            return adjudicate(arbiter, self._tables, ending, syzygy=syzygy, solver=solver)
        except MissingLayerError:
            return adjudicate(arbiter, None, ending, syzygy=syzygy)

    async def verify(self, arbiter: Arbiter, outcome: Outcome) -> bool:
        """Play an adjudicated game on with both sides at their best, and tell whether that could be done.

        :raises TbgenError: if it does not come to the score, in the plies, that tables have told.
        """
        tables = self._tables
        if tables is None:
            return False
        async with self._one:
            return await asyncio.to_thread(_play_out, tables, arbiter, outcome)


def _as_proved(outcome: Outcome, ending: Ending) -> tuple[Outcome, Ending]:
    """Return an outcome and its ending; a proved mate is a win by adjudication, also in chess."""
    if outcome.value.rank or not outcome.basis.best_play:
        return outcome, ending
    winner = outcome.value.white
    source = SYZYGY if outcome.basis is Basis.SYZYGY else outcome.basis.value
    text = f"{'White' if winner else 'Black'} wins by adjudication: {source}"
    ending = Ending(Basis.ADJUDICATION, winner, text)
    return replace(outcome, basis=Basis.ADJUDICATION, depth=None, ending=text), ending


def _play_out(tables: Tablebase, arbiter: Arbiter, outcome: Outcome) -> bool:
    """Play best moves with an arbiter of their own until the value is there, and see that it stays.

    The arbiter makes the moves with python-chess and counts what they leave; the tables only name them.
    """
    try:
        told = tables.probe(arbiter.board, arbiter.accrued)
        line = tables.line(arbiter.board, arbiter.accrued)
    except (UsageError, MissingTableError, MissingLayerError):
        return False  # it was stopped by something else
    play = Arbiter(
        arbiter.board,
        accrued=arbiter.accrued,
        rules=arbiter.settings.variant,
        fifty_move_rule=FiftyMoveRule.NONE,
        bare_kings=False,
    )
    for ply in line:
        play.push_uci(ply.uci)
    if play.accrued != outcome.value or told.depth not in (None, len(line)):
        raise TbgenError(
            f"the adjudication of {arbiter.board.fen()} {arbiter.accrued} is wrong: tables say "
            f"{outcome.value} in {told.depth} plies, and best play comes to {play.accrued} in {len(line)}; "
            "see: tbgen verify"
        )
    return True
