"""What a game that was stopped is worth: its exact result where tables reach, else what was played."""

from dataclasses import dataclass, field

from tbgen.errors import MissingTableError, UsageError
from tbgen.games.pgn.ending import Cause, Ending
from tbgen.games.referee.arbiter import Arbiter
from tbgen.games.referee.result import Basis, classical
from tbgen.index.position import validate
from tbgen.probe.states import ProbeResult
from tbgen.probe.tablebase import Tablebase
from tbgen.score import GScore


@dataclass(frozen=True, slots=True)
class Adjudication:
    """The result of a game, over or stopped."""

    value: GScore
    basis: Basis
    accrued: GScore
    """The accrued score when it ended."""
    depth: int | None = None
    """Plies in which best play makes the value the accrued score, if the basis is a tablebase."""
    missing: MissingTableError | None = field(default=None, compare=False)
    """The table that would have given the exact result, if it has not been built."""

    @property
    def proven(self) -> bool:
        """Whether nothing better could have been shown."""
        return self.basis is not Basis.PLAYED

    @property
    def classical(self) -> str:
        """The result in chess, as PGN has it."""
        return classical(self.value)


def adjudicate(
    arbiter: Arbiter,
    tables: Tablebase | None = None,
    ending: Ending | None = None,
    *,
    require_tables: bool = False,
) -> Adjudication:
    """Return what a game comes to that is over, or is stopped in the arbiter's current position.

    Mate and stalemate come first; then a forfeit, for who loses on time has not claimed a repetition; then
    the other ends on the board; then an adjudicated win. All else, draws of any kind and games unfinished, is
    worth what best play from here makes of the accrued score: V(P, A) of docs/theory.md. Where no table can
    say, the accrued score stands as played.

    :param tables: open for the arbiter's rules; None does without.
    :param ending: how the game ended off the board, as :func:`tbgen.games.pgn.ending.read_ending` finds it.
    :param require_tables: raise the error about a missing table instead of letting the score stand as played.

    :raises MissingTableError: if a table is missing and required.
    :raises DamagedTableError: if a table's file cannot be used.
    :raises ValueError: if the tables are for other rules, or required and not given.
    """
    if require_tables and tables is None:
        raise ValueError("tables are required, but there are none: give them as an argument")
    if tables is not None and tables.rules != arbiter.rules:
        raise ValueError(f"the tables are for the rules {tables.rules}, the game is under {arbiter.rules}")
    accrued, over = arbiter.accrued, arbiter.result
    final = over is not None and over.reason in (Basis.MATE, Basis.STALEMATE)
    cause = Cause.STOPPED if ending is None else ending.cause
    if over is not None and (final or cause is not Cause.FORFEIT):
        return Adjudication(over.value, over.reason, accrued)
    if ending is not None and ending.winner is not None:
        return Adjudication(GScore(0, ending.winner), Basis.FORFEIT, accrued)
    try:
        found = None if tables is None else _probe(arbiter, tables)
    except MissingTableError as error:
        if require_tables:
            raise
        # Its traceback would keep the arbiter in memory for as long as the result.
        return Adjudication(accrued, Basis.PLAYED, accrued, missing=error.with_traceback(None))
    if found is None:
        return Adjudication(accrued, Basis.PLAYED, accrued)
    return Adjudication(found.value, Basis.TABLEBASE, accrued, found.depth)


def _probe(arbiter: Arbiter, tables: Tablebase) -> ProbeResult | None:
    """Return what tables say, None of a position that none can hold."""
    board = arbiter.board
    try:
        validate(board)
    except UsageError:
        return None
    return tables.probe(board, arbiter.accrued)
