"""What a game comes to that is over or was stopped: exact where tables reach, else what was played."""

from __future__ import annotations

import chess

from tbgen.board.fen import Fen
from tbgen.errors import MissingTableError, UnprovenError, UsageError
from tbgen.games.outcome import Basis, Outcome
from tbgen.games.pgn.ending import Ending
from tbgen.games.pgn.reader import Game
from tbgen.games.referee.arbiter import Arbiter
from tbgen.games.settings import GameOptions
from tbgen.index.position import validate
from tbgen.probe.states import ProbeResult
from tbgen.probe.tablebase import Tablebase
from tbgen.score import GScore

__all__ = ["adjudicate", "replay"]


def replay(game: Game, options: GameOptions) -> Arbiter:
    """Return the arbiter of a game after its last move.

    Unless nothing resets the score, it has seen the game from the last reset on only, which is all that
    counts: no position before comes again, and every clock starts anew.

    :raises UsageError: if the game is broken, or its tags mean nothing.
    """
    if game.error is not None:
        raise game.error
    start, moves = _since_reset(game) if options.variant.resets else (game.start, game.moves)
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
    require_tables: bool = False,
    require_proof: bool = False,
) -> Outcome:
    """Return what a game comes to that is over, or is stopped in the arbiter's current position.

    Mate and stalemate come first; then the ways in which the loser has lost off the board, for who loses on
    time has not claimed a repetition; then the other ends on the board; then an adjudicated win. All else,
    draws of any kind and games unfinished, is worth what best play from here makes of the accrued score:
    V(P, A) of docs/theory.md. Where no table can say, the accrued score stands as played.

    :param game: its arbiter; or a board with the moves made so far or a FEN, which is refereed as
        ``Arbiter(game)`` does, by the rules of the tables.
    :param tables: open for the arbiter's rules; None does without.
    :param ending: how the game ended off the board, as :attr:`tbgen.games.pgn.reader.Game.ending` tells it.
    :param recorded: the classical result that the game's PGN has.
    :param require_tables: raise the error about a missing table instead of letting the score stand as played.
    :param require_proof: do so too where no table can hold the position.

    :raises MissingTableError: if a table is missing and required.
    :raises UnprovenError: if no table can hold the position, and a proof is required.
    :raises DamagedTableError: if a table's file cannot be used.
    :raises ValueError: if the tables are for other rules, or required and not given.
    """
    if (require_tables or require_proof) and tables is None:
        raise ValueError("tables are required, but there are none: give them as an argument")
    if isinstance(game, Arbiter):
        arbiter = game
    else:
        arbiter = Arbiter(game) if tables is None else Arbiter(game, rules=tables.rules)
    if tables is not None and tables.rules != arbiter.settings.variant:
        raise ValueError(
            f"the tables are for the rules {tables.rules}, the game is under {arbiter.settings.variant}"
        )
    value, basis, depth, missing = arbiter.accrued, arbiter.basis, None, None
    cause, winner, said = (None, None, "") if ending is None else (ending.cause, ending.winner, ending.text)
    claimed = cause is None or cause is Basis.ADJUDICATION
    if basis is not None and (basis.final or claimed):
        pass  # it is over on the board
    elif cause is not None and winner is not None:
        value, basis = GScore(0, winner), cause
    else:
        try:
            found = None if tables is None else _probe(arbiter, tables, require_proof=require_proof)
            if found is None:
                basis = Basis.PLAYED
            else:
                value, basis, depth = found.value, Basis.TABLEBASE, found.depth
        except MissingTableError as error:
            if require_tables or require_proof:
                raise
            # Its traceback would keep the arbiter in memory for as long as the outcome.
            basis, missing = Basis.TABLE_MISSING, error.with_traceback(None)
    return Outcome(value, basis, arbiter.accrued, arbiter.settings, depth, said, recorded, missing)


def _probe(arbiter: Arbiter, tables: Tablebase, *, require_proof: bool) -> ProbeResult | None:
    """Return what tables say, None of a position that none can hold."""
    board = arbiter.board
    try:
        validate(board)
    except UsageError as error:
        if require_proof:
            raise UnprovenError(f"no table can prove the result: {error}") from None
        return None
    return tables.probe(board, arbiter.accrued)


def _since_reset(game: Game) -> tuple[Fen, list[chess.Move]]:
    """Return the position after the last capture or pawn move, else the first, and the moves from there."""
    quiet = game.board.halfmove_clock
    if len(game.moves) <= quiet:
        return game.start, game.moves
    board = game.board.copy(stack=quiet + 1)
    for _ in range(quiet):
        board.pop()
    return Fen(board, None), game.moves[len(game.moves) - quiet :]
