"""Syzygy files: which side can force mate, in positions of up to seven men without castling rights.

A forced mate, however long, is G0.0 for the side that forces it, because no score is better. There is no
50-move rule, so a *cursed* win counts as a win. If no side can force mate, neither can get more than G0.5,
the stalemate of the opponent. Both statements are true for every accrued score, in both variants
(docs/theory.md, section 10).
"""

from __future__ import annotations

import logging
import os
import struct
from collections.abc import Iterable
from contextlib import suppress
from enum import IntEnum
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import Any, Final, Self

import chess
import chess.syzygy

from tbgen.board.score import GScore
from tbgen.board.scoring import ANYTHING, ScoreInterval
from tbgen.errors import DamagedTableError, TbgenError, UsageError

_logger = logging.getLogger(__name__)

MOST_MEN: Final = chess.syzygy.TBPIECES
"""Number of men of the largest materials with published files."""
_DAMAGED: Final = (OSError, ValueError, IndexError, AssertionError, RecursionError, struct.error)
"""Exceptions that python-chess may raise on damaged files, which it does not check."""
_POSSIBLE_WDL: Final = range(-2, 3)
_WHITE_MATES, _BLACK_MATES = GScore(0, True), GScore(0, False)


class Winner(IntEnum):
    """The side that can force mate, according to the files."""

    NOBODY = 0
    WHITE = 1
    BLACK = 2
    UNKNOWN = 3
    """A file that is needed is missing."""

    @property
    def bounds(self) -> ScoreInterval:
        """The interval that contains the value, with any accrued score."""
        return _BOUNDS[self]


_BOUNDS: Final = (
    ScoreInterval(GScore(1, False), GScore(1, True)),
    ScoreInterval(_WHITE_MATES, _WHITE_MATES),
    ScoreInterval(_BLACK_MATES, _BLACK_MATES),
    ANYTHING,
)


class _Files(chess.syzygy.Tablebase):
    """The files of several directories. A copy in a later directory replaces a damaged file."""

    def __init__(self, directories: Iterable[Path]) -> None:
        super().__init__()
        self._copies = dict[str, list[chess.syzygy.Table]]()
        self._lock = Lock()
        for directory in directories:
            tablebase = chess.syzygy.Tablebase()
            tablebase.add_directory(str(directory), load_dtz=False)
            for key, table in tablebase.wdl.items():
                self._copies.setdefault(key, []).append(table)
        self.wdl = {key: copies[0] for key, copies in self._copies.items()}

    def probe_wdl_table(self, board: chess.Board) -> int:
        """Return the entry of a position in its file. The entry ignores captures.

        :raises DamagedTableError: if neither the file nor a copy can be used.
        """
        key = chess.syzygy.calc_key(board)
        while True:
            table = self.wdl.get(key)
            with suppress(*_DAMAGED):
                wdl = super().probe_wdl_table(board)
                if wdl in _POSSIBLE_WDL:
                    return wdl
            with self._lock:
                if table is not None and table is self.wdl[key]:  # no other thread was faster
                    self._replace(table)

    def _replace(self, table: chess.syzygy.Table) -> None:
        """Switch to the next copy of a file, and log a warning.

        :raises DamagedTableError: if there is no further copy.
        """
        copies = self._copies[table.key]
        problem = "this Syzygy file is damaged or cannot be read"
        next_copies = copies[copies.index(table) + 1 :]
        if not next_copies:
            files = " and ".join(each.path for each in copies)
            raise DamagedTableError(f"{files}: {problem}: compare the files with their published checksums")
        _logger.warning("%s: %s, and %s is used", table.path, problem, next_copies[0].path)
        table.close()
        self.wdl[table.key] = self.wdl[table.mirrored_key] = next_copies[0]


class Syzygy:
    """Syzygy files of win, draw and loss (WDL). The object is thread-safe.

    Used as a context manager, it closes the files at the end. A pickled copy, as for another process, opens
    the same directories anew.

    :param directories: directories of the files.
    :raises UsageError: if no directory is passed, one does not exist, or none has such files.
    :raises TbgenError: if a directory cannot be read.
    """

    def __init__(self, *directories: str | PathLike[str]) -> None:
        if not directories:
            raise UsageError("no directory is named: give the one with Syzygy files (.rtbw)")
        self._directories = tuple(map(Path, directories))
        for directory in self._directories:
            if not os.path.isdir(directory):
                raise UsageError(f"{directory} is no directory: give the one with Syzygy files (.rtbw)")
        try:
            self._files = _Files(self._directories)
        except OSError as error:
            raise TbgenError(f"cannot read the directory {error.filename}: {error.strerror}") from error
        if not self._files.wdl:
            raise UsageError(
                f"there are no Syzygy files (.rtbw) in {self._place}: give the directory that contains them"
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._directories

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._files.close()

    def __len__(self) -> int:
        """Return the number of files."""
        return len(set(self._files.wdl.values()))

    @property
    def _place(self) -> str:
        return " and ".join(map(str, self._directories))

    def has_material(self, name: str) -> bool:
        """Return whether a file exists for a material or for its colours swapped."""
        return chess.syzygy.normalize_tablename(name) in self._files.wdl

    def winner(self, board: chess.Board) -> Winner:
        """Return which side can force mate.

        :raises DamagedTableError: if a file cannot be used.
        """
        wdl = self._files.get_wdl(board)
        if wdl is None:
            return Winner.UNKNOWN
        if wdl == 0:
            return Winner.NOBODY
        return Winner.WHITE if (wdl > 0) == board.turn else Winner.BLACK

    def missing(self, board: chess.Board) -> str:
        """Return the name of a missing file that is needed to find which side can force mate.

        It is the file of the position, or of a position after captures. The name is empty if all files are
        present, or if no file can help.
        """
        if chess.popcount(board.occupied) > MOST_MEN:
            return ""
        try:
            self._files.probe_wdl(board)
        except chess.syzygy.MissingTableError as error:
            return f"{chess.syzygy.normalize_tablename(str(error.args[0]).split()[-1])}.rtbw"
        except KeyError:  # castling rights
            pass
        return ""


def address(file: str) -> str:
    """Return the address of a file of win, draw and loss on the mirror of Lichess, as
    https://syzygy-tables.info names it (read in November 2026).

    >>> print(address("KRvKP.rtbw"))
    https://tablebase.lichess.ovh/tables/standard/3-4-5-wdl/KRvKP.rtbw
    >>> print(address("KRPPvKRP.rtbw"))
    https://tablebase.lichess.ovh/tables/standard/7/4v3_pawnful/KRPPvKRP.rtbw
    """
    stronger, weaker = map(len, file.removesuffix(".rtbw").split("v"))
    folder = {6: "6-wdl", 7: f"7/{stronger}v{weaker}_pawn{'ful' if 'P' in file else 'less'}"}
    place = folder.get(stronger + weaker, "3-4-5-wdl")
    return f"https://tablebase.lichess.ovh/tables/standard/{place}/{file}"
