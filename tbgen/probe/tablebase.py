"""A directory of tables, open for probing."""

from collections import OrderedDict
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Final, Self

import chess

from tbgen.errors import MissingTableError, UsageError
from tbgen.material import Material
from tbgen.probe.line import LinePly, best_line
from tbgen.probe.moves import RankedMove, ranked_moves
from tbgen.probe.position import Position, locate, validate
from tbgen.probe.signed import fold, of_code, of_gscore, rank_of, to_gscore
from tbgen.score import NONE, GScore
from tbgen.store.cache import ChunkCache
from tbgen.store.format import default_directory, table_path
from tbgen.store.reader import TableFile

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
        if rules != "r":
            raise UsageError(f"there are no rules {rules!r}; tables are built for the rules 'r' (r-mobility)")
        self._given = directory
        self.directory = default_directory() if directory is None else Path(directory)
        self.rules = rules
        self._max_open = max_open_files
        self._cache = ChunkCache(cache_bytes)
        self._files: OrderedDict[Material, TableFile] = OrderedDict()
        self._lock = Lock()
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all files, each as soon as no other thread reads it."""
        with self._lock:
            self._files.clear()
            self._closed = True

    def probe(self, board: chess.Board, accrued: GScore | str | None = None) -> ProbeResult:
        """Return value and depth of a position.

        >>> import chess, tbgen
        >>> with tbgen.open_tablebase("data") as tables:  # doctest: +SKIP
        ...     print(tables.probe(chess.Board("8/8/8/2K3k1/8/8/8/8 w - - 0 1")).value)
        -G8.5

        :raises UsageError: if tables hold no such position, or the accrued score means nothing.
        :raises MissingTableError: if the table has not been built.
        :raises DamagedTableError: if its file cannot be used.
        """
        position, held = self.start(board, accrued)
        value, depth = self.evaluate(position, held)
        return ProbeResult(
            position.shape.material, to_gscore(value), depth, to_gscore(position.score), to_gscore(held)
        )

    def get(self, board: chess.Board, accrued: GScore | str | None = None) -> ProbeResult | None:
        """Return what :meth:`probe` does, or None if the position or its table is not there.

        :raises DamagedTableError: if the table's file cannot be used.
        """
        try:
            return self.probe(board, accrued)
        except (MissingTableError, UsageError):
            return None

    def moves(self, board: chess.Board, accrued: GScore | str | None = None) -> list[RankedMove]:
        """Return all legal moves, best first, with value and depth of the states they lead to.

        Raises as :meth:`probe` does, also for a missing table that only some of the moves lead to.
        """
        position, held = self.start(board, accrued)
        return ranked_moves(self, board, held) if not position.terminal else []

    def line(self, board: chess.Board, accrued: GScore | str | None = None) -> list[LinePly]:
        """Return best play of both sides up to the ply at which the accrued score is the value.

        Raises as :meth:`probe` does.
        """
        position, held = self.start(board, accrued)
        return best_line(self, board, position, held)

    def start(self, board: chess.Board, accrued: GScore | str | None) -> tuple[Position, int]:
        """Validate a position and a given accrued score; return its place and the folded score."""
        validate(board)
        given = GScore.parse(accrued) if isinstance(accrued, str) else accrued
        position = locate(board)
        if given is None or position.terminal or position.ep_square >= 0:
            return position, position.score
        if given.rank < 2:
            raise UsageError(f"the accrued score {given} ends the game, and here it goes on")
        return position, fold(of_gscore(given), position.score)

    def evaluate(self, position: Position, accrued: int) -> tuple[int, int]:
        """Return V(P, A) and D(P, A) in plies for a valid position and a folded score (facts F1 and F4)."""
        score = position.score
        if position.terminal:
            return score, 0
        shape = position.shape
        table = self._table(shape.material)
        swapped = -1 if shape.swapped else 0  # x ^ -1 is ~x, the same score with the colours swapped
        if position.ep_square >= 0:
            phase, within = divmod(position.slot, shape.layout.phase_size)
            code, depth = table.en_passant(phase, position.ep_square, within)
        else:
            code, depth = table.fresh(position.side, position.slot)
            if accrued != score and code != NONE and rank_of(accrued) <= rank_of(of_code(code)):
                code, depth = table.accrued(position.side, position.slot, (accrued ^ swapped) & 255)
        if code == NONE:
            raise table.damaged("it has no value for a legal position")
        return of_code(code) ^ swapped, depth

    def _table(self, material: Material) -> TableFile:
        with self._lock:
            if self._closed:
                raise ValueError("the tablebase is closed")
            file = self._files.get(material)
            if file is not None:
                self._files.move_to_end(material)
                return file
            path = table_path(self.directory, material.name, self.rules)
            try:
                file = TableFile(path, material=material, cache=self._cache)
            except MissingTableError:
                raise MissingTableError(material.name, self._given, self.rules) from None
            self._files[material] = file
            # A dropped file closes with its last reference: another thread may be reading it.
            while len(self._files) > self._max_open:
                self._files.popitem(last=False)
            return file


def open_tablebase(directory: str | PathLike[str] | None = None, *, rules: str = "r") -> Tablebase:
    """Open a directory of tables: the given one, else ``$TBGEN_DIR``, else ``data``.

    Files are opened when they are needed. Use it as a context manager.
    """
    return Tablebase(directory, rules=rules)
