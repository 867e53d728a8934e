"""Syzygy files, which say which side can force mate, for up to seven men and no castling rights.

A forced mate, however long, is worth G0.0 to the side that forces it, because no score is better. There is no
50-move rule, so a *cursed* win counts as a win. If no side can force mate, neither side can get more than
G0.5, the stalemate of its opponent. This is true for every accrued score in both variants (docs/theory.md,
section 10).
"""

from __future__ import annotations

import logging
import os
import struct
from collections.abc import Iterable
from contextlib import AbstractContextManager, suppress
from enum import IntEnum
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import Any, Final

import chess
import chess.syzygy

from tbgen.board.score import GScore
from tbgen.board.scoring import ANYTHING, ScoreInterval
from tbgen.errors import DamagedTableError, TbgenError, UsageError

_logger = logging.getLogger(__name__)

MAX_MEN: Final = chess.syzygy.TBPIECES
"""Greatest number of men in published files."""
_DAMAGE_ERRORS: Final = (OSError, ValueError, IndexError, AssertionError, RecursionError, struct.error)
"""Exceptions that python-chess may raise when it reads a damaged file, because it does not check files."""
_POSSIBLE_WDL: Final = range(-2, 3)
_WHITE_MATES, _BLACK_MATES = GScore(0, True), GScore(0, False)

_BOUNDS: Final = (
    ScoreInterval(GScore(1, False), GScore(1, True)),
    ScoreInterval(_WHITE_MATES, _WHITE_MATES),
    ScoreInterval(_BLACK_MATES, _BLACK_MATES),
    ANYTHING,
)


class Winner(IntEnum):
    """The side that can force mate, according to Syzygy files."""

    NOBODY = 0
    WHITE = 1
    BLACK = 2
    UNKNOWN = 3
    """A file that is needed is missing, so the winner cannot be determined."""

    @property
    def bounds(self) -> ScoreInterval:
        """The interval that contains the value, whatever the accrued score is."""
        return _BOUNDS[self]


class _Files(chess.syzygy.Tablebase):
    """The files in several directories. If a file is damaged, a copy in a later directory replaces it."""

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
        """Return the entry for a position in its file. Entries ignore captures.

        :raises DamagedTableError: if neither the file nor a copy can be used.
        """
        key = chess.syzygy.calc_key(board)
        while True:
            table = self.wdl.get(key)
            with suppress(*_DAMAGE_ERRORS):
                wdl = super().probe_wdl_table(board)
                if wdl in _POSSIBLE_WDL:
                    return wdl
            with self._lock:
                if table is not None and table is self.wdl[key]:  # no other thread has replaced it
                    self._replace(table)

    def _replace(self, table: chess.syzygy.Table) -> None:
        """Switch to the next copy of a file, and log a warning.

        :raises DamagedTableError: if there is no other copy.
        """
        copies = self._copies[table.key]
        problem = "this Syzygy file is damaged or cannot be read"
        next_copies = copies[copies.index(table) + 1 :]
        if not next_copies:
            files = " and ".join(file.path for file in copies)
            raise DamagedTableError(f"{files}: {problem}: compare the files with their published checksums")
        _logger.warning("%s: %s, and %s is used", table.path, problem, next_copies[0].path)
        table.close()
        self.wdl[table.key] = self.wdl[table.mirrored_key] = next_copies[0]


class Syzygy(AbstractContextManager["Syzygy"]):
    """Syzygy files with wins, draws and losses (WDL). The object is thread-safe.

    Used as a context manager, the object closes the files at the end. Unpickling, for example in another
    process, opens the same directories again.

    :param directories: directories of the files.
    :raises UsageError: if no directory is passed, a directory does not exist, or none contains such files.
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
            names = " and ".join(map(str, self._directories))
            raise UsageError(
                f"there are no Syzygy files (.rtbw) in {names}: give the directory that contains them"
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._directories

    def __exit__(self, *_: object) -> None:
        self._files.close()

    def __len__(self) -> int:
        """Return the number of files."""
        return len(set(self._files.wdl.values()))

    def has_material(self, name: str) -> bool:
        """Return whether a file exists for a material, possibly with its colours swapped."""
        return chess.syzygy.normalize_tablename(name) in self._files.wdl

    def winner(self, board: chess.Board) -> Winner:
        """Return which side can force mate in a position.

        :raises DamagedTableError: if a file cannot be used.
        """
        wdl = self._files.get_wdl(board)
        if wdl is None:
            return Winner.UNKNOWN
        return Winner.NOBODY if wdl == 0 else Winner.WHITE if (wdl > 0) == board.turn else Winner.BLACK

    def missing_file(self, board: chess.Board) -> str:
        """Return the name of a missing file that is needed to find which side can force mate.

        This is the file for the position itself, or for a position after captures. The name is empty if no
        file is missing, or if no file could help.
        """
        if chess.popcount(board.occupied) > MAX_MEN:
            return ""
        try:
            self._files.probe_wdl(board)
        except chess.syzygy.MissingTableError as error:
            return f"{chess.syzygy.normalize_tablename(str(error.args[0]).split()[-1])}.rtbw"
        except KeyError:  # the position has castling rights
            pass
        return ""


def download_url(file_name: str) -> str:
    """Return the URL of a WDL file on the Lichess mirror, as https://syzygy-tables.info states it (read in
    November 2026).

    >>> print(download_url("KRvKP.rtbw"))
    https://tablebase.lichess.ovh/tables/standard/3-4-5-wdl/KRvKP.rtbw
    >>> print(download_url("KRPPvKRP.rtbw"))
    https://tablebase.lichess.ovh/tables/standard/7/4v3_pawnful/KRPPvKRP.rtbw
    """
    stronger_men, weaker_men = map(len, file_name.removesuffix(".rtbw").split("v"))
    folders = {6: "6-wdl", 7: f"7/{stronger_men}v{weaker_men}_pawn{'ful' if 'P' in file_name else 'less'}"}
    folder = folders.get(stronger_men + weaker_men, "3-4-5-wdl")
    return f"https://tablebase.lichess.ovh/tables/standard/{folder}/{file_name}"
