"""Rules for stopping a game: by evaluations, by length, or by tables that contain its position."""

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

ADJUDICATION_TEXT: Final = "End by adjudication"
SYZYGY_TEXT: Final = "SyzygyTB"
"""How Cute Chess names the source in the ending of a game that Syzygy files have stopped."""

Positive: TypeAlias = Annotated[int, Meta(ge=1)]


class ResignRule(
    Struct, frozen=True, rename={"moves": "movecount", "centipawns": "score", "both": "twosided"}
):
    """The rule by which an engine resigns, after a number of bad evaluations in a row."""

    moves: Positive
    """Number of consecutive evaluations."""
    centipawns: Positive
    """Smallest disadvantage in each evaluation, in centipawns."""
    both: bool = False
    """Whether the opponent's evaluations must agree."""


class DrawRule(
    Struct,
    frozen=True,
    rename={"first": "movenumber", "moves": "movecount", "centipawns": "score"}
    | {"pieces": "maxpieces", "pawns": "maxpawns"},
):
    """The rule by which a game is stopped as a draw, after a number of evaluations near 0 in a row.

    ``maxpieces``, ``maxpawns`` and ``reset`` come from TCEC's fork of Cute Chess, whose rule since 2022
    is ``movenumber=1 movecount=5 score=20 maxpieces=8 maxpawns=8 reset=false``.
    """

    moves: Positive
    """Number of consecutive evaluations of each side."""
    centipawns: Count
    """Greatest absolute value of each evaluation, in centipawns."""
    first: Count = 0
    """Number of full moves that must be played before a game can be stopped."""
    pieces: Count = 0
    """Greatest number of kings and pieces for which evaluations count; 0 for any number."""
    pawns: Count = 0
    """Greatest number of pawns for which evaluations count; 0 for any number."""
    reset: bool = True
    """Whether a capture or a pawn move resets the count, as in Cute Chess; if False, it is not counted."""

    def count_after(self, previous_count: int, board: chess.Board, centipawns: int | None) -> int:
        """Return the number of consecutive evaluations near 0 after a move.

        :param previous_count: the number before the move.
        :param board: the position after the move.
        :param centipawns: the mover's evaluation; None if the mover has reported none.
        """
        pawns = chess.popcount(board.pawns)
        pieces = chess.popcount(board.occupied) - pawns
        if 0 < self.pieces < pieces or 0 < self.pawns < pawns:
            return 0
        if board.halfmove_clock == 0 and not self.reset:
            return previous_count
        if centipawns is None or abs(centipawns) > self.centipawns:
            return 0
        return 1 + (previous_count if board.halfmove_clock else 0)


@dataclass(frozen=True, slots=True)
class StopRules:
    """The rules by which the event stops games that are not over on the board."""

    resign: ResignRule | None = None
    draw: DrawRule | None = None
    max_moves: int | None = None
    """Number of full moves after which a game is stopped."""


@dataclass(slots=True)
class Evaluations:
    """The evaluations that both engines have reported in a game."""

    rules: StopRules
    reported: dict[chess.Color, list[int | None]] = field(default_factory=lambda: {True: [], False: []})
    """Evaluations by each side, from its own point of view, in centipawns; None for a move without one."""
    near_zero_count: int = 0
    """Number of consecutive evaluations near 0, of both sides together."""

    def add(self, board: chess.Board, centipawns: int | None) -> None:
        """Record the evaluation of the engine that has just moved.

        :param board: the position after its move.
        """
        self.reported[not board.turn].append(centipawns)
        if self.rules.draw is not None:
            self.near_zero_count = self.rules.draw.count_after(self.near_zero_count, board, centipawns)

    def ending(self, mover: chess.Color, plies: int) -> Ending | None:
        """Return the ending of the game after a move; None if the game continues.

        :param mover: the side that has made the move.
        :param plies: number of plies since the start position, including those of the book. The move number
            of the start position is ignored, as in Cute Chess.
        """
        rules = self.rules
        if rules.resign is not None and self._resigns(rules.resign, mover):
            text = f"{chess.COLOR_NAMES[mover].capitalize()} resigns"
            return Ending(Basis.RESIGNATION, not mover, text)
        draw = rules.draw
        if draw is not None and self.near_zero_count >= 2 * draw.moves and plies >= 2 * draw.first:
            return Ending(None, None, f"{ADJUDICATION_TEXT}: evaluations near zero")
        if rules.max_moves is not None and plies >= 2 * rules.max_moves:
            return Ending(None, None, f"{ADJUDICATION_TEXT}: maximum length")
        return None

    def _resigns(self, rule: ResignRule, mover: chess.Color) -> bool:
        deficits = [-value for value in self._last_evaluations(mover, rule.moves)]
        pair = (deficits, self._last_evaluations(not mover, rule.moves) if rule.both else deficits)
        return all(values and min(values) >= rule.centipawns for values in pair)

    def _last_evaluations(self, side: chess.Color, count: int) -> list[int]:
        """Return the last evaluations of a side; empty if one of them is missing."""
        last = [value for value in self.reported[side][-count:] if value is not None]
        return last if len(last) == count else []


class EventSolver(StateSolver, Protocol):
    """A solver that can be stopped when the event is interrupted (:class:`tbgen.beyond.jobs.Solver`)."""

    def stop(self) -> None:
        """Make a solution that runs in another thread end soon, and accept no further states."""


class Judge:
    """Finds the outcomes of stopped games, and decides which games tables or Syzygy files stop.

    :param tables: tables of the event's variant; None for none.
    :param syzygy: Syzygy files, for positions that no table contains.
    :param most_men: greatest number of men for which Syzygy files stop games.
    :param solver: solver of final positions that no table contains.
    :param play_on: whether games are played on although tables or Syzygy files decide them.
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
        self._thread_lock = asyncio.Lock()

    async def outcome_by_tables(self, board: chess.Board, arbiter: Arbiter) -> tuple[Outcome, Ending] | None:
        """Return outcome and ending of an unfinished game that tables or Syzygy files decide, else None.

        Tables decide every position that they contain. Syzygy files decide a win, and by classical scoring
        also a draw. Positions with castling rights are played on, because their values take long to compute.
        """
        men = chess.popcount(board.occupied)
        syzygy = self._syzygy if men <= self._most_men else None
        has_too_many_men = men > MAX_MEN and syzygy is None
        if self._tables is None or self._play_on or board.castling_rights or has_too_many_men:
            return None
        # In a thread, because a table may have to be read, or the code that reads it compiled.
        outcome = await asyncio.to_thread(self._adjudicate, arbiter, syzygy)
        if not outcome.basis.best_play:
            return None
        source = Basis.TABLEBASE.value if outcome.basis is Basis.TABLEBASE else SYZYGY_TEXT
        return _with_mate_as_win(outcome, Ending(None, None, f"{ADJUDICATION_TEXT}: {source}"))

    async def outcome_of_stopped(self, arbiter: Arbiter, ending: Ending) -> tuple[Outcome, Ending]:
        """Return outcome and ending of a finished or stopped game. The ending of a proved mate names the
        source of the proof."""
        if arbiter.basis is not None or ending.cause is not None or self._tables is None:
            return adjudicate(arbiter, self._tables, ending), ending
        async with self._thread_lock:
            try:
                outcome = await asyncio.to_thread(
                    self._adjudicate, arbiter, self._syzygy, ending, self._solver
                )
            except asyncio.CancelledError:
                if self._solver is not None:
                    self._solver.stop()  # the thread still runs; the event waits for it at the end
                raise
        return _with_mate_as_win(outcome, ending)

    def _adjudicate(
        self,
        arbiter: Arbiter,
        syzygy: Syzygy | None,
        ending: Ending | None = None,
        solver: StateSolver | None = None,
    ) -> Outcome:
        """Return the outcome by tables, or without tables if they do not store accrued scores."""
        try:
            return adjudicate(arbiter, self._tables, ending, syzygy=syzygy, solver=solver)
        except MissingLayerError:
            return adjudicate(arbiter, None, ending, syzygy=syzygy)

    async def verify(self, arbiter: Arbiter, outcome: Outcome) -> bool:
        """Verify an adjudication by playing best moves to the end; return whether tables allow this.

        :raises TbgenError: if play does not reach the tables' value in as many plies as they say.
        """
        tables = self._tables
        if tables is None:
            return False
        async with self._thread_lock:
            return await asyncio.to_thread(_play_out, tables, arbiter, outcome)


def _with_mate_as_win(outcome: Outcome, ending: Ending) -> tuple[Outcome, Ending]:
    """Return an outcome and its ending; a proved mate becomes a win by adjudication."""
    if outcome.value.rank or not outcome.basis.best_play:
        return outcome, ending
    winner = outcome.value.white
    source = SYZYGY_TEXT if outcome.basis is Basis.SYZYGY else outcome.basis.value
    text = f"{'White' if winner else 'Black'} wins by adjudication: {source}"
    ending = Ending(Basis.ADJUDICATION, winner, text)
    return replace(outcome, basis=Basis.ADJUDICATION, depth=None, ending=text), ending


def _play_out(tables: Tablebase, arbiter: Arbiter, outcome: Outcome) -> bool:
    """Play the tables' best line with a new arbiter, and check that it reaches the value.

    The tables only name the moves; the arbiter makes them with python-chess and computes the scores itself.
    """
    try:
        stored = tables.probe(arbiter.board, arbiter.accrued)
        line = tables.line(arbiter.board, arbiter.accrued)
    except (UsageError, MissingTableError, MissingLayerError):
        return False  # the game was not stopped by a table
    play = Arbiter(
        arbiter.board,
        accrued=arbiter.accrued,
        rules=arbiter.settings.variant,
        fifty_move_rule=FiftyMoveRule.NONE,
        bare_kings=False,
    )
    for ply in line:
        play.push_uci(ply.uci)
    if play.accrued != outcome.value or stored.depth not in (None, len(line)):
        raise TbgenError(
            f"the adjudication of {arbiter.board.fen()} {arbiter.accrued} is wrong: tables say "
            f"{outcome.value} in {stored.depth} plies, but best play leads to {play.accrued} in {len(line)}; "
            "see: tbgen verify"
        )
    return True
