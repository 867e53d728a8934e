"""The finished games of an event: those that its PGN file has, read as it grows."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from tbgen.games.pgn.splitter import RawGame, split_games
from tbgen.games.settings import GameOptions
from tbgen.match.games_file import Kept, kept_game

__all__ = ["FinishedGame", "History"]


@dataclass(frozen=True, slots=True)
class FinishedGame:
    """A game of the file."""

    number: int
    """In the order of the file, counted from 1."""
    kept: Kept
    reason: str
    """Why it is over, in the words of cuteRMob."""
    plies: int
    place: slice
    """Where in the file it stands, in bytes."""

    def document(self) -> dict[str, Any]:
        """Return what spectators see of it in a list."""
        record = self.kept.record
        own = record.outcome.settings.scoring
        return {
            "number": self.number,
            "key": str(self.kept.key),
            "white": record.white,
            "black": record.black,
            "value": str(record.value),
            "holder": record.value.holder,
            "basis": record.outcome.basis.value,
            "accrued": str(record.outcome.accrued),
            "points": own.document(record.value),
            "classical": record.classical,
            "plies": self.plies,
            "reason": self.reason,
        }


class History:
    """Reads a PGN file up to where it is said to be whole.

    :param path: of the file.
    :param options: by what its games are scored.
    """

    def __init__(self, path: Path, options: GameOptions) -> None:
        self._path, self._options = path, options
        self._size = self._games = 0

    def read(self, size: int) -> Sequence[FinishedGame]:
        """Return the games that have not been read yet, up to a size of the file in bytes."""
        if size <= self._size:
            return []  # they have come with those of another message
        found = []
        start, self._size = self._size, size
        with suppress(OSError), self._path.open("rb") as file:
            file.seek(start)
            for raw in split_games(_Part(file, size - start)):
                place = slice(start, start + len(raw.data))
                start = place.stop
                raw.number = self._games + 1
                kept = kept_game(raw, self._path.name, self._options)
                if kept is not None:
                    self._games += 1
                    found.append(FinishedGame(self._games, kept, _reason(raw), _plies(raw), place))
        return found

    def text(self, place: slice) -> bytes:
        """Return a part of the file; nothing if somebody has taken it away."""
        try:
            with self._path.open("rb") as file:
                file.seek(place.start)
                return file.read(place.stop - place.start)
        except OSError:
            return b""


class _Part:
    """So many bytes of a file from where it stands, and then none."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file, self._left = file, size

    def read(self, size: int, /) -> bytes:
        data = self._file.read(min(size, self._left))
        self._left -= len(data)
        return data


def _reason(raw: RawGame) -> str:
    """Return the last words of the last comment."""
    start, end = raw.data.rfind(b"{"), raw.data.rfind(b"}")
    comment = raw.data[start + 1 : end].decode("utf-8", "replace") if 0 <= start < end else ""
    return " ".join(comment.split()).rpartition(", ")[2]


def _plies(raw: RawGame) -> int:
    count = next((tag.value for tag in raw.tags if tag.name == "PlyCount"), "")
    return int(count[:6]) if count.isascii() and count.isdecimal() else 0
