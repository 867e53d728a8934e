"""Rules that stop a game because of its evaluations, its length, or a table that contains its position."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Annotated, Final, Protocol, TypeAlias

import chess
from msgspec import Meta, Struct

from tbgen.board import material
from tbgen.documents import Count
from tbgen.errors import MissingLayerError, MissingTableError, TbgenError, UsageError
from tbgen.games.game_options import FiftyMoveRule
from tbgen.games.outcome import Basis, Outcome
from tbgen.games.pgn.ending import Ending
from tbgen.games.referee import Arbiter, StateSolver, adjudicate
from tbgen.probe.syzygy import MAX_MEN, Syzygy
from tbgen.probe.tablebase import Tablebase

ADJUDICATION_TEXT: Final = "End by adjudication"
SYZYGY_TEXT: Final = "SyzygyTB"
"""Cute Chess's name for Syzygy files, used in the ending of a game that Syzygy files have stopped."""

PositiveInt: TypeAlias = Annotated[int, Meta(ge=1)]


class ResignRule(
    Struct, frozen=True, rename={"moves": "movecount", "centipawns": "score", "two_sided": "twosided"}
):
    """The rule by which an engine resigns after several consecutive bad evaluations."""

    moves: PositiveInt
    """Number of consecutive bad evaluations."""
    centipawns: PositiveInt
    """Smallest disadvantage in centipawns that makes an evaluation bad."""
    two_sided: bool = False
    """Whether the opponent's evaluations must agree, by showing an advantage of at least ``centipawns``."""


class DrawRule(
    Struct,
    frozen=True,
    rename={"min_moves": "movenumber", "moves": "movecount", "centipawns": "score"}
    | {"max_pieces": "maxpieces", "max_pawns": "maxpawns"},
):
    """The rule by which a game is stopped as a draw after several consecutive evaluations near 0.

    ``maxpieces``, ``maxpawns`` and ``reset`` come from TCEC's fork of Cute Chess. TCEC's rule since 2022
    is ``movenumber=1 movecount=5 score=20 maxpieces=8 maxpawns=8 reset=false``.
    """

    moves: PositiveInt
    """Number of consecutive evaluations near 0 that each side must report."""
    centipawns: Count
    """Greatest absolute value, in centipawns, of an evaluation that counts as near 0."""
    min_moves: Count = 0
    """Minimum number of full moves played before a game can be stopped."""
    max_pieces: Count = 0
    """Evaluations count only in positions with at most this many kings and pieces; 0 for no maximum."""
    max_pawns: Count = 0
    """Evaluations count only in positions with at most this many pawns; 0 for no maximum."""
    reset: bool = True
    """Whether a zeroing move resets the count, as in Cute Chess; if False, it leaves the count unchanged."""

    def count_after(self, previous_count: int, board: chess.Board, centipawns: int | None) -> int:
        """Return the number of consecutive evaluations near 0 after a move.

        :param previous_count: the number before the move.
        :param board: the position after the move.
        :param centipawns: the mover's evaluation; None if the mover did not report an evaluation.
        """
        pawns = chess.popcount(board.pawns)
        if 0 < self.max_pieces < chess.popcount(board.occupied) - pawns or 0 < self.max_pawns < pawns:
            return 0
        if board.halfmove_clock == 0 and not self.reset:
            return previous_count
        if centipawns is None or abs(centipawns) > self.centipawns:
            return 0
        return 1 + (previous_count if board.halfmove_clock else 0)


@dataclass(frozen=True, slots=True)
class StopRules:
    """The rules by which an event stops games that are not over on the board."""

    resign: ResignRule | None = None
    draw: DrawRule | None = None
    max_moves: int | None = None
    """Number of full moves after which a game is stopped; None for no maximum."""


@dataclass(slots=True)
class Evaluations:
    """The evaluations that both engines have reported in a game."""

    rules: StopRules
    values_by_side: dict[chess.Color, list[int | None]] = field(default_factory=lambda: {True: [], False: []})
    """For each side: an evaluation after each of its moves, in centipawns from its point of view, or None."""
    near_zero_count: int = 0
    """Number of consecutive evaluations near 0, counting both sides."""

    def add(self, board: chess.Board, centipawns: int | None) -> None:
        """Record the evaluation of the engine that has just moved.

        :param board: the position after the engine's move.
        """
        self.values_by_side[not board.turn].append(centipawns)
        if self.rules.draw is not None:
            self.near_zero_count = self.rules.draw.count_after(self.near_zero_count, board, centipawns)

    def ending(self, mover: chess.Color, ply_count: int) -> Ending | None:
        """Return the ending of the game after a move; None if the game continues.

        :param mover: the side that has made the move.
        :param ply_count: number of plies since the start position, including book moves. The move number that
            the start position states is ignored, as in Cute Chess.
        """
        rules = self.rules
        if rules.resign is not None and self._resigns(rules.resign, mover):
            return Ending(Basis.RESIGNATION, not mover, f"{chess.COLOR_NAMES[mover].capitalize()} resigns")
        draw = rules.draw
        if draw is not None and self.near_zero_count >= 2 * draw.moves and ply_count >= 2 * draw.min_moves:
            return Ending(None, None, f"{ADJUDICATION_TEXT}: evaluations near zero")
        if rules.max_moves is not None and ply_count >= 2 * rules.max_moves:
            return Ending(None, None, f"{ADJUDICATION_TEXT}: maximum length")
        return None

    def _resigns(self, rule: ResignRule, mover: chess.Color) -> bool:
        deficits = [-value for value in self._last_evaluations(mover, rule.moves)]
        pair = (deficits, self._last_evaluations(not mover, rule.moves) if rule.two_sided else deficits)
        return all(evaluations and min(evaluations) >= rule.centipawns for evaluations in pair)

    def _last_evaluations(self, side: chess.Color, count: int) -> list[int]:
        """Return the last ``count`` evaluations of a side; empty if one of them is missing."""
        evaluations = [value for value in self.values_by_side[side][-count:] if value is not None]
        return evaluations if len(evaluations) == count else []


class EventSolver(StateSolver, Protocol):
    """A solver that an interrupted event can stop, such as :class:`tbgen.beyond.jobs.Solver`."""

    def stop(self) -> None:
        """Make the solver, which is running in another thread, finish soon, and accept no further states."""


class Judge:
    """Finds the outcomes of stopped games, and stops games that tables or Syzygy files decide.

    :param tables: tables of the event's variant; None if there are none.
    :param syzygy: Syzygy files, used for positions that no table contains.
    :param max_syzygy_men: Syzygy files stop games only if the position has at most this many men.
    :param solver: solves final positions that no table contains.
    :param play_on: whether games continue even if tables or Syzygy files decide them.
    """

    def __init__(
        self,
        tables: Tablebase | None,
        solver: EventSolver | None = None,
        *,
        syzygy: Syzygy | None = None,
        max_syzygy_men: int = MAX_MEN,
        play_on: bool = False,
    ) -> None:
        self._tables = tables
        self._solver = solver
        self._syzygy = syzygy
        self._max_syzygy_men = max_syzygy_men
        self._play_on = play_on
        self._thread_lock = asyncio.Lock()

    async def outcome_by_tables(self, board: chess.Board, arbiter: Arbiter) -> tuple[Outcome, Ending] | None:
        """Return the outcome and ending of an unfinished game if tables or Syzygy files decide it, else None.

        Tables decide every position that they contain. Syzygy files decide wins and, under classical scoring,
        also draws. With castling rights, the game continues, because the value takes a long time to compute.
        """
        men = chess.popcount(board.occupied)
        syzygy = self._syzygy if men <= self._max_syzygy_men else None
        has_too_many_men = men > material.MAX_MEN and syzygy is None
        if self._tables is None or self._play_on or board.castling_rights or has_too_many_men:
            return None
        # This runs in a thread, because it may have to read a table, or compile the code that reads tables.
        outcome = await asyncio.to_thread(self._adjudicate, arbiter, syzygy)
        if not outcome.basis.best_play:
            return None
        source = Basis.TABLEBASE.value if outcome.basis is Basis.TABLEBASE else SYZYGY_TEXT
        return _with_mate_as_win(outcome, Ending(None, None, f"{ADJUDICATION_TEXT}: {source}"))

    async def outcome_of_stopped_game(self, arbiter: Arbiter, ending: Ending) -> tuple[Outcome, Ending]:
        """Return the outcome and ending of a finished or stopped game. If a mate is proved, the ending names
        the source of the proof."""
        if arbiter.basis is not None or ending.cause is not None or self._tables is None:
            return adjudicate(arbiter, self._tables, ending), ending
        async with self._thread_lock:
            try:
                outcome = await asyncio.to_thread(
                    self._adjudicate, arbiter, self._syzygy, ending, self._solver
                )
            except asyncio.CancelledError:
                if self._solver is not None:
                    self._solver.stop()  # the thread is still running; the event waits for it at the end
                raise
        return _with_mate_as_win(outcome, ending)

    def _adjudicate(
        self,
        arbiter: Arbiter,
        syzygy: Syzygy | None,
        ending: Ending | None = None,
        solver: StateSolver | None = None,
    ) -> Outcome:
        """Return the outcome from tables, or, if they store no accrued scores, the outcome without tables."""
        try:
            return adjudicate(arbiter, self._tables, ending, syzygy=syzygy, solver=solver)
        except MissingLayerError:
            return adjudicate(arbiter, None, ending, syzygy=syzygy)

    async def verify(self, arbiter: Arbiter, outcome: Outcome) -> bool:
        """Verify an adjudication by playing best moves to the end; return whether tables made this possible.

        :raises TbgenError: if best play does not lead to the value and depth that the tables state.
        """
        tables = self._tables
        if tables is None:
            return False
        async with self._thread_lock:
            return await asyncio.to_thread(_play_out, tables, arbiter, outcome)


def _with_mate_as_win(outcome: Outcome, ending: Ending) -> tuple[Outcome, Ending]:
    """Return the outcome and the ending, with a proved mate replaced by a win by adjudication."""
    if outcome.value.rank or not outcome.basis.best_play:
        return outcome, ending
    winner = outcome.value.white
    source = SYZYGY_TEXT if outcome.basis is Basis.SYZYGY else outcome.basis.value
    text = f"{'White' if winner else 'Black'} wins by adjudication: {source}"
    ending = Ending(Basis.ADJUDICATION, winner, text)
    return replace(outcome, basis=Basis.ADJUDICATION, depth=None, ending=text), ending


def _play_out(tables: Tablebase, arbiter: Arbiter, outcome: Outcome) -> bool:
    """Play the tables' best line with a new arbiter, and check that it reaches the outcome's value.

    Only the moves come from the tables. The arbiter makes them with python-chess and computes the scores.
    """
    try:
        result = tables.probe(arbiter.board, arbiter.accrued)
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
    if play.accrued != outcome.value or result.depth not in (None, len(line)):
        raise TbgenError(
            f"the adjudication of {arbiter.board.fen()} {arbiter.accrued} is wrong: tables say "
            f"{outcome.value} in {result.depth} plies, but best play leads to {play.accrued} in {len(line)}; "
            "see: tbgen verify"
        )
    return True
