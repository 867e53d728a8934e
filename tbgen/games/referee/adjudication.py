"""What a game comes to that is over or was stopped: exact where tables, Syzygy files or a solver reach."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol, TypeAlias

import chess

from tbgen.board.fen import Fen
from tbgen.board.interval import ProvedValue, ScoreInterval
from tbgen.board.score import GScore
from tbgen.board.variant import Resets, Variant, unlisted
from tbgen.errors import MissingTableError, UnprovenError, UsageError
from tbgen.games.outcome import Basis, Outcome
from tbgen.games.pgn.doubts import Doubt
from tbgen.games.pgn.ending import Ending
from tbgen.games.pgn.reader import Game
from tbgen.games.referee.arbiter import Arbiter
from tbgen.games.settings import GameOptions
from tbgen.probe.syzygy import Syzygy
from tbgen.probe.tablebase import Tablebase

Enough: TypeAlias = Callable[[ScoreInterval], bool]


class StateSolver(Protocol):
    """Proves values of states that no table holds: :class:`tbgen.solve.budgeted.Solver`."""

    def solve(
        self, board: chess.Board, accrued: GScore, tables: Tablebase, enough: Enough, /
    ) -> ProvedValue | None:
        """Return what is proved of a state, None if nothing is.

        :param enough: tells of bounds whether they need not be narrower.

        :raises UsageError: if positions like this one are not solved.
        """


def replay(game: Game, options: GameOptions) -> Arbiter:
    """Return the arbiter of a game after its last move.

    Unless nothing resets the score, it has seen the game from the last reset on only, which is all that
    counts: no position before comes again, and every clock starts anew.

    :raises UsageError: if the game is broken, or its tags mean nothing.
    """
    if game.error is not None:
        raise game.error
    match options.variant.resets:
        case Resets.ZEROING_MOVES:
            start, moves = _since_reset(game)
        case Resets.NOTHING:
            start, moves = game.start, game.moves
        case other:
            raise unlisted(other)
    arbiter = Arbiter.of(start, options.settings(game.tags))
    for move in moves:
        arbiter.push(move)
    return arbiter


def adjudicate(
    game: Arbiter | chess.Board | str,
    tables: Tablebase | None = None,
    ending: Ending | None = None,
    *,
    recorded: str = "*",
    syzygy: Syzygy | None = None,
    doubts: tuple[Doubt, ...] = (),
    solver: StateSolver | None = None,
    require_tables: bool = False,
    require_proof: bool = False,
) -> Outcome:
    """Return what a game comes to that is over, or is stopped in the arbiter's current position.

    Mate and stalemate come first; then losses off the board, for a player that loses on time has not claimed
    a repetition; then the other ends on the board; then an adjudicated win. All else, draws of any kind and
    games unfinished, is worth what best play from here makes of the accrued score: V(P, A) of docs/theory.md,
    as tables say it, else as Syzygy files do of a forced mate, else as a solver proves it, or at least the
    points for it; files bound it too. Where none can, the accrued score stands as played, or the nearest
    score that is not disproved. The final position of a truncated game is not known: if nobody has won it,
    it stands as played; and so does a game that both sides have lost by forfeit.

    :param game: its arbiter; or a board with the moves made so far or a FEN, which is refereed as
        ``Arbiter(game)`` does, by the rules of the tables.
    :param tables: open for the arbiter's rules; None does without.
    :param ending: how the game ended off the board, as :attr:`tbgen.games.pgn.reader.Game.ending` tells it.
    :param recorded: the classical result that the game's PGN has.
    :param syzygy: Syzygy files, for positions that are in no table.
    :param doubts: what is doubtful about the game, as :attr:`tbgen.games.pgn.reader.Game.doubts` tells it.
    :param solver: what solves positions that are in no table, in r-mobility; it goes by the tables.
    :param require_tables: raise the error about a missing table instead of letting the score stand as played.
    :param require_proof: do so too where no table can hold the position.

    :raises MissingTableError: if a table is missing and required, and nothing else proves the points.
    :raises UnprovenError: if a proof is required that is not found, where no table can hold the position or
        the game is truncated, or both sides have lost it.
    :raises DamagedTableError: if a table's file cannot be used.
    :raises ValueError: if the tables are for other rules, or required and not given; or a solver is, in
        whole-game mobility.
    """
    if (require_tables or require_proof or solver is not None) and tables is None:
        raise ValueError("tables are required, but there are none: give them as an argument")
    if isinstance(game, Arbiter):
        arbiter = game
    else:
        arbiter = Arbiter(game) if tables is None else Arbiter(game, rules=tables.rules)
    settings, basis = arbiter.settings, arbiter.basis
    if tables is not None and tables.rules != settings.variant:
        raise ValueError(f"the tables are for the rules {tables.rules}, the game is under {settings.variant}")
    if solver is not None and settings.variant is not Variant.R_MOBILITY:
        raise ValueError("positions are solved in r-mobility only: leave the solver out")
    cause, winner, said = (None, None, "") if ending is None else (ending.cause, ending.winner, ending.text)
    outcome = Outcome(
        arbiter.accrued, Basis.PLAYED, arbiter.accrued, settings, None, said, recorded, doubts=doubts
    )
    if outcome.truncated:
        basis = None  # it went on from there
    if basis is not None and (basis.final or cause is None or cause is Basis.ADJUDICATION):
        return replace(outcome, basis=basis)  # it is over on the board
    if cause is not None and winner is not None:
        return replace(outcome, value=GScore(0, winner), basis=cause)
    if outcome.beyond_proof:
        if require_proof:
            raise UnprovenError(f"nothing can prove the result: {outcome.beyond_proof}")
        return outcome
    board, lack = arbiter.board, None
    if tables is not None:
        outcome, lack = _probe(outcome, board, tables)
    if syzygy is not None and not outcome.proven:
        outcome = outcome.narrowed(syzygy.winner(board).bounds, Basis.SYZYGY)
    if solver is not None and tables is not None and not outcome.proven:
        outcome = _solve(outcome, board, tables, solver)
    if outcome.proven:
        return outcome
    if syzygy is not None:
        outcome = replace(outcome, missing_syzygy=syzygy.missing(board))
    if isinstance(lack, MissingTableError):
        if require_tables or require_proof:
            raise lack
    elif require_proof:
        raise UnprovenError(f"no table can prove the result: {lack}{_note(outcome, solver)}")
    return outcome


def _probe(
    outcome: Outcome, board: chess.Board, tables: Tablebase
) -> tuple[Outcome, MissingTableError | UsageError | None]:
    """Return what tables make of the outcome of a stopped game, and why they say nothing if they do not."""
    try:
        found = tables.probe(board, outcome.accrued)
    except (UsageError, MissingTableError) as error:
        # Its traceback would keep the board in memory for as long as the outcome.
        lack = error.with_traceback(None)
        if isinstance(lack, MissingTableError):
            outcome = replace(outcome, basis=Basis.TABLE_MISSING, missing=lack)
        return outcome, lack
    return replace(outcome, value=found.value, basis=Basis.TABLEBASE, depth=found.depth), None


def _solve(outcome: Outcome, board: chess.Board, tables: Tablebase, solver: StateSolver) -> Outcome:
    """Return what solving makes of the outcome of a game that stopped where nothing says the points."""
    scoring, known = outcome.settings.scoring, outcome.interval
    try:
        proved = solver.solve(
            board, outcome.accrued, tables, lambda bounds: known.within(bounds).agree(scoring)
        )
    except UsageError as error:
        return replace(outcome, unsolvable=str(error))
    return outcome if proved is None else outcome.narrowed(proved.bounds, Basis.SOLVED, proved.depth)


def _note(outcome: Outcome, solver: StateSolver | None) -> str:
    """Return what is to be added about files and solving where they have not proved the result."""
    file = outcome.missing_syzygy
    notes = [f"; Syzygy file {file} is missing"] if file else []
    if outcome.unsolvable:
        notes.append(f"; nor can it be solved: {outcome.unsolvable}")
    if outcome.bounds is not None:
        notes.append(f"; it is proved only to lie {outcome.bounds.words}")
    elif solver is not None and not outcome.unsolvable:
        notes.append("; solving has proved nothing of it")
    return "".join(notes)


def _since_reset(game: Game) -> tuple[Fen, list[chess.Move]]:
    """Return the position after the last capture or pawn move, else the first, and the moves from there."""
    quiet = game.board.halfmove_clock
    if len(game.moves) <= quiet:
        return game.start, game.moves
    board = game.board.copy(stack=quiet + 1)
    for _ in range(quiet):
        board.pop()
    return Fen(board, None), game.moves[len(game.moves) - quiet :]
