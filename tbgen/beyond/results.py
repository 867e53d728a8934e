"""What solving has proved so far: in memory, and in a file with which the next run goes on.

The file has a line of JSON for itself and then one for each attempt: position and accrued score, both ends of
the interval, the depth, what the attempt was allowed, and a checksum. A line is written and synced when the
attempt is over, so a run that is killed loses no other; what it has left of a line the next run drops.
"""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import Final, NamedTuple, Self
from zlib import crc32

import chess
import msgspec

from tbgen.board.score import GScore
from tbgen.board.scoring import ProvedValue, ScoreInterval
from tbgen.documents import UNSET, Document, ScoreText, UnsetType
from tbgen.errors import TbgenError, UsageError, quote
from tbgen.system.files import check_name, write_errors
from tbgen.system.locks import NoLocksError, try_lock

__all__ = ["Effort", "SolveResults", "StateName", "open_results"]

_HEAD: Final = b'{"format": "results of solving positions, by tbgen", "version": 1}\n'
"""What network file systems without locks answer."""


class StateName(NamedTuple):
    """A position with an accrued score, as files name it."""

    position: str
    """The first four fields of its FEN."""
    accrued: str

    @classmethod
    def of(cls, board: chess.Board, accrued: GScore) -> Self:
        """Return the state of a board; its clocks do not count."""
        return cls(board.epd(), str(accrued))


class Effort(NamedTuple):
    """What an attempt to solve a state was allowed, and had to go by."""

    seconds: float
    """Infinite if more of them are of no use."""
    memory: int
    """Bytes."""
    tables: int
    """How many tables and Syzygy files there were."""

    def covers(self, other: Effort) -> bool:
        """Tell whether it was as much as another one in everything."""
        return all(mine >= its for mine, its in zip(self, other, strict=True))


class _Attempt(Document):
    """A line of the file."""

    position: str
    accrued: ScoreText
    lower: ScoreText
    upper: ScoreText
    depth: int | None
    seconds: float | None
    """None if more of them are of no use."""
    memory: int
    tables: int
    check: str | UnsetType = UNSET
    """CRC-32 of the line without it; lines of earlier versions have none."""

    @property
    def line(self) -> bytes:
        """The line with its checksum."""
        bare = msgspec.json.encode(msgspec.structs.replace(self, check=UNSET))
        return msgspec.json.encode(msgspec.structs.replace(self, check=f"{crc32(bare):08x}"))

    @classmethod
    def parse(cls, line: bytes) -> Self:
        """Read a line.

        :raises ValueError: if it is something else, or its bytes are not those that were written.
        """
        attempt = msgspec.json.decode(line, type=cls)
        if line != (msgspec.json.encode(attempt) if attempt.check is UNSET else attempt.line):
            raise ValueError
        return attempt

    @property
    def found(self) -> tuple[StateName, ProvedValue, Effort]:
        """What the attempt was about, and what it proved.

        :raises ValueError: if the ends are those of no interval.
        """
        bounds = ScoreInterval.parse(f"{self.lower} {self.upper}")
        seconds = math.inf if self.seconds is None else self.seconds
        effort = Effort(seconds, self.memory, self.tables)
        return StateName(self.position, self.accrued), ProvedValue(bounds, self.depth), effort


class SolveResults:
    """What has been proved of states, and what it took.

    :param keep: called with the line of each attempt that is added; :func:`open_results` writes it to a file.
    """

    def __init__(self, keep: Callable[[bytes], None] = lambda _: None) -> None:
        self._keep = keep
        self._proved: dict[StateName, ProvedValue] = {}
        self._efforts: defaultdict[StateName, list[Effort]] = defaultdict(list)

    def proved(self, state: StateName) -> ProvedValue | None:
        """Return what is known of a state, None of one that nobody has tried."""
        return self._proved.get(state)

    def tried(self, state: StateName, effort: Effort) -> bool:
        """Tell whether so much has been tried on a state before."""
        return any(before.covers(effort) for before in self._efforts[state])

    def add(self, state: StateName, proved: ProvedValue, effort: Effort) -> None:
        """Add what an attempt has proved.

        :raises TbgenError: if that contradicts what was proved before, or cannot be written.
        """
        self.recall(state, proved, effort)
        lower, upper = map(str, proved.bounds)
        seconds = effort.seconds if math.isfinite(effort.seconds) else None
        self._keep(_Attempt(*state, lower, upper, proved.depth, seconds, effort.memory, effort.tables).line)

    def recall(self, state: StateName, proved: ProvedValue, effort: Effort) -> None:
        """Add what an attempt has proved that is kept already.

        :raises TbgenError: if that contradicts what was proved before.
        """
        known = self._proved.get(state)
        try:
            self._proved[state] = proved if known is None else known.and_also(proved)
        except ValueError as error:
            raise TbgenError(
                f"two results of solving {' '.join(state)} contradict each other ({error}): "
                "one is wrong, maybe in the file of results; begin another"
            ) from None
        self._efforts[state].append(effort)


@contextmanager
def open_results(path: Path, option: str = "--solve-results") -> Iterator[SolveResults]:
    """Open a file of results, made if need be: what it knows counts, and what is added is written down.

    :param option: what names the file on the command line.
    :raises UsageError: if the file is something else, or another process has it open.
    :raises TbgenError: if it cannot be read or written.
    """
    remedy = f"choose another place with {option}"
    if path.exists() and not path.is_file():
        raise UsageError(f"{quote(str(path))} is no file: name one for results with {option}")
    check_name(path)
    with write_errors(path, remedy=remedy):
        file = open(path, "a+b", buffering=0)  # noqa: SIM115

    def append(line: bytes) -> None:
        with write_errors(path, remedy=remedy):
            while line:
                line = line[file.write(line) :]
            os.fsync(file.fileno())

    with file:
        with suppress(NoLocksError):
            if not try_lock(file.fileno()):
                raise UsageError(
                    f"another run of tbgen is writing to {quote(str(path))}: let it end, or name another file"
                )
        results = SolveResults(lambda line: append(line + b"\n"))
        whole = _read(path, file, results, option)
        file.truncate(whole)
        if not whole:
            append(_HEAD)
        yield results


def _read(path: Path, file: FileIO, results: SolveResults, option: str) -> int:
    """Take in what a file says; return how many of its bytes are whole lines.

    :raises UsageError: if the file is none of ours.
    """
    file.seek(0)
    text = file.read()
    if not text.startswith(_HEAD):
        if _HEAD.startswith(text):
            return 0
        raise UsageError(
            f"{quote(str(path))} has no results that this version of tbgen can go on with: "
            f"name another file with {option}"
        )
    end = text.rfind(b"\n") + 1
    for number, line in enumerate(text[len(_HEAD) : end].splitlines(), 2):
        try:
            found = _Attempt.parse(line).found
        except ValueError:
            raise UsageError(
                f"{quote(str(path))}, line {number}: this is no result of solving; "
                f"remove the line, or name another file with {option}"
            ) from None
        results.recall(*found)
    return end
