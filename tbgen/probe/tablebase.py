"""A directory of tables, open for probing."""

from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import chess

from tbgen.errors import MissingTableError, TbgenError, UsageError
from tbgen.index.position import validate
from tbgen.probe.batch import moves_many, probe_many, questions
from tbgen.probe.line import LinePly, best_line
from tbgen.probe.moves import RankedMove, ranked_moves, successors
from tbgen.probe.states import ProbeResult, locate_state, result_of, score_of, state_of
from tbgen.probe.values import Values
from tbgen.score import GScore
from tbgen.variant import Variant

MAX_OPEN_FILES: Final = 64
CACHE_BYTES: Final = 64 << 20


class Tablebase:
    """Values, moves and lines of positions from the tables of one directory; safe for threads.

    Get it from :func:`open_tablebase`. An accrued score is a G-score or its text, and counts whatever the
    halfmove clock of the board says; the position's own score is folded in. It is ignored in mate and
    stalemate and, in r-mobility, where an en passant capture is legal (such a position is the first after a
    reset).

    :param rules: the variant that the tables are for: ``r``, or ``wg`` for whole-game mobility.
    :param make_layers: whether to make the layer that a question needs of a table that was built without
        accrued scores; without, the answer is a :class:`~tbgen.errors.MissingLayerError`.
    """

    def __init__(
        self,
        directory: str | PathLike[str] | None = None,
        *,
        rules: Variant | str = "r",
        max_open_files: int = MAX_OPEN_FILES,
        cache_bytes: int = CACHE_BYTES,
        make_layers: bool = True,
    ) -> None:
        self._values = Values(
            directory,
            variant=Variant.parse(rules),
            max_open=max_open_files,
            cache_bytes=cache_bytes,
            make_layers=make_layers,
        )

    @property
    def directory(self) -> Path:
        """Where the tables lie."""
        return self._values.directory

    @property
    def rules(self) -> Variant:
        """The variant that the tables are built for."""
        return self._values.variant

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
        state = state_of(board, accrued, self._values.variant)
        return result_of(state, *self._values.of(*state))

    def get(self, board: chess.Board, accrued: GScore | str | None = None) -> ProbeResult | None:
        """Return what :meth:`probe` does, or None where there is no value to have.

        These are positions that no table can hold (too many men, castling rights, nothing legal) and those
        whose table has not been built.

        :raises UsageError: if the accrued score means nothing.
        :raises TypeError: if the arguments are no board, and no G-score or text.
        :raises DamagedTableError: if the table's file cannot be used.
        """
        given = score_of(board, accrued)
        try:
            validate(board)
        except UsageError:
            return None
        state = locate_state(board, given, self._values.variant)
        try:
            return result_of(state, *self._values.of(*state))
        except MissingTableError as error:
            if error.material != state[0].shape.material.name:
                raise  # the table is there, but not what a layer of it rests on
            return None

    def moves(self, board: chess.Board, accrued: GScore | str | None = None) -> list[RankedMove]:
        """Return all legal moves, best first, with value and depth of the states they lead to.

        Raises as :meth:`probe` does, also for a missing table that only some of the moves lead to.
        """
        position, held = state_of(board, accrued, self._values.variant)
        return ranked_moves(board, successors(self._values, board, held)) if not position.terminal else []

    def line(self, board: chess.Board, accrued: GScore | str | None = None) -> list[LinePly]:
        """Return best play of both sides up to the ply at which the accrued score is the value.

        Raises as :meth:`probe` does.
        """
        position, held = state_of(board, accrued, self._values.variant)
        return best_line(self._values, board, position, held)

    def probe_many(
        self, boards: Iterable[chess.Board], accrued: Iterable[GScore | str | None] | None = None
    ) -> Iterator[ProbeResult | TbgenError]:
        """Yield what :meth:`probe` returns for each board, in order; faster, above all where chunks are cold.

        The error that :meth:`probe` would raise about a board is yielded in the place of its result, and the
        others go on. Boards are read ahead by thousands, so the iterables may be endless, but must not wait
        for the answers.

        :param accrued: as many accrued scores as boards, each as in :meth:`probe`; None for none.

        >>> import chess, tbgen
        >>> boards = [chess.Board("8/8/8/2K3k1/8/8/8/8 w - - 0 1"), chess.Board()]
        >>> with tbgen.open_tablebase("data") as tables:  # doctest: +SKIP
        ...     for result in tables.probe_many(boards):
        ...         print(result if isinstance(result, tbgen.TbgenError) else result.value)
        -G8.5
        the position has 32 men; tables have at most 5, kings included

        :raises TypeError: if an argument is no board, and no G-score or text.
        :raises ValueError: if there are more boards or more accrued scores.
        """
        return probe_many(self._values, questions(boards, accrued))

    def moves_many(
        self, boards: Iterable[chess.Board], accrued: Iterable[GScore | str | None] | None = None
    ) -> Iterator[list[RankedMove] | TbgenError]:
        """Yield what :meth:`moves` returns for each board, or the error, as :meth:`probe_many` does."""
        return moves_many(self._values, questions(boards, accrued))


def open_tablebase(directory: str | PathLike[str] | None = None, *, rules: Variant | str = "r") -> Tablebase:
    """Open a directory of tables: the given one, else ``$TBGEN_DIR``, else ``data``.

    The tables are those for ``rules``: ``r``, or ``wg`` for whole-game mobility. Files are opened when they
    are needed. Use it as a context manager.
    """
    return Tablebase(directory, rules=rules)
