"""A directory of tables, open for probing."""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import chess

from tbgen.errors import MissingTableError, UsageError, quote
from tbgen.material import Material
from tbgen.probe.line import LinePly, best_line
from tbgen.probe.moves import RankedMove, ranked_moves
from tbgen.probe.position import Position, locate, validate
from tbgen.probe.signed import fold, of_gscore, to_gscore
from tbgen.probe.values import Values
from tbgen.score import GScore
from tbgen.store.format import RULES

MAX_OPEN_FILES: Final = 64
CACHE_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What the tables say about a position."""

    material: Material
    value: GScore
    """The result under optimal play of both sides."""
    depth: int
    """Plies until the accrued score is the value; 0 if it already is."""
    position_score: GScore
    """The position's own score."""
    accrued: GScore
    """The accrued score with the position's own folded in."""


class Tablebase:
    """Values, moves and lines of positions from the tables of one directory; safe for threads.

    Get it from :func:`open_tablebase`. An accrued score is a G-score or its text, and counts whatever the
    halfmove clock of the board says; the position's own score is folded in. It is ignored where an en
    passant capture is legal (such a position is the first after a reset), and in mate and stalemate.
    """

    def __init__(
        self,
        directory: str | PathLike[str] | None = None,
        *,
        rules: str = "r",
        max_open_files: int = MAX_OPEN_FILES,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        if rules not in RULES:
            raise UsageError(
                f"there are no rules {quote(rules)}; tables are built for the rules 'r' (r-mobility)"
            )
        self._values = Values(directory, rules=rules, max_open=max_open_files, cache_bytes=cache_bytes)

    @property
    def directory(self) -> Path:
        """Where the tables lie."""
        return self._values.directory

    @property
    def rules(self) -> str:
        """The rules that the tables are built for."""
        return self._values.rules

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all files, each as soon as no other thread reads it."""
        self._values.close()

    def probe(self, board: chess.Board, accrued: GScore | str | None = None) -> ProbeResult:
        """Return value and depth of a position.

        >>> import chess, tbgen
        >>> with tbgen.open_tablebase("data") as tables:  # doctest: +SKIP
        ...     print(tables.probe(chess.Board("8/8/8/2K3k1/8/8/8/8 w - - 0 1")).value)
        -G8.5

        :raises UsageError: if tables hold no such position, or the accrued score means nothing.
        :raises TypeError: if the arguments are no board, and no G-score or text.
        :raises MissingTableError: if the table has not been built.
        :raises DamagedTableError: if its file cannot be used.
        """
        return self._probe(*_start(board, accrued))

    def get(self, board: chess.Board, accrued: GScore | str | None = None) -> ProbeResult | None:
        """Return what :meth:`probe` does, or None where there is no value to have.

        These are positions that no table can hold (too many men, castling rights, nothing legal) and those
        whose table has not been built.

        :raises UsageError: if the accrued score means nothing.
        :raises TypeError: if the arguments are no board, and no G-score or text.
        :raises DamagedTableError: if the table's file cannot be used.
        """
        given = _given(board, accrued)
        try:
            validate(board)
        except UsageError:
            return None
        try:
            return self._probe(*_locate(board, given))
        except MissingTableError:
            return None

    def moves(self, board: chess.Board, accrued: GScore | str | None = None) -> list[RankedMove]:
        """Return all legal moves, best first, with value and depth of the states they lead to.

        Raises as :meth:`probe` does, also for a missing table that only some of the moves lead to.
        """
        position, held = _start(board, accrued)
        return ranked_moves(self._values, board, held) if not position.terminal else []

    def line(self, board: chess.Board, accrued: GScore | str | None = None) -> list[LinePly]:
        """Return best play of both sides up to the ply at which the accrued score is the value.

        Raises as :meth:`probe` does.
        """
        position, held = _start(board, accrued)
        return best_line(self._values, board, position, held)

    def _probe(self, position: Position, held: int) -> ProbeResult:
        value, depth = self._values.of(position, held)
        return ProbeResult(
            position.shape.material, to_gscore(value), depth, to_gscore(position.score), to_gscore(held)
        )


def open_tablebase(directory: str | PathLike[str] | None = None, *, rules: str = "r") -> Tablebase:
    """Open a directory of tables: the given one, else ``$TBGEN_DIR``, else ``data``.

    Files are opened when they are needed. Use it as a context manager.
    """
    return Tablebase(directory, rules=rules)


def _start(board: chess.Board, accrued: GScore | str | None) -> tuple[Position, int]:
    given = _given(board, accrued)
    validate(board)
    return _locate(board, given)


def _given(board: chess.Board, accrued: GScore | str | None) -> GScore | None:
    """Return the accrued score that a caller gives, after a look at what kind of arguments they are."""
    if not isinstance(board, chess.Board):
        raise TypeError(f"the position is a {type(board).__name__}: expected a chess.Board")
    if isinstance(accrued, str):
        return GScore.parse(accrued)
    if accrued is None or isinstance(accrued, GScore):
        return accrued
    raise TypeError(
        f"the accrued score is a {type(accrued).__name__}: expected a G-score, text such as 'G3.5', or None"
    )


def _locate(board: chess.Board, given: GScore | None) -> tuple[Position, int]:
    """Return the place of a valid board, and the given accrued score with the board's own folded in."""
    position = locate(board)
    if given is None or position.terminal or position.ep_square >= 0:
        return position, position.score
    if given.rank < 2:
        raise UsageError(f"the accrued score {given} ends the game, and here it goes on")
    return position, fold(of_gscore(given), position.score)
