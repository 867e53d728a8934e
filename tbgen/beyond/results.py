"""Results of solving, in memory and in a file from which the next run continues.

The file begins with a line of JSON that identifies it. Each further line describes one attempt: the position
and the accrued score, both bounds, the depth, the limits of the attempt, the reason why it ended, and a
checksum. A line is written and synced when its attempt is over, so a killed run loses only its current
attempt. The next run removes an incomplete last line.
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

from tbgen.beyond.budget import Stop
from tbgen.board.score import GScore
from tbgen.board.scoring import ProvedBounds, ScoreInterval
from tbgen.documents import UNSET, Document, UnsetType, encoded
from tbgen.errors import TbgenError, UsageError, quote
from tbgen.system.files import check_target, write_errors
from tbgen.system.locks import NoLocksError, try_lock

__all__ = ["Effort", "SolveResults", "StateName", "open_results"]

_HEADER_LINE: Final = b'{"format": "results of solving positions, by tbgen", "version": 1}\n'
"""The first line of every file of results."""


class StateName(NamedTuple):
    """The name of a state in files: its position and its accrued score, as strings."""

    position: str
    """The first four fields of the FEN."""
    accrued: str

    @classmethod
    def of(cls, board: chess.Board, accrued: GScore) -> Self:
        """Return the name of a state, without move counters."""
        return cls(board.epd(), str(accrued))


class Effort(NamedTuple):
    """The limits of an attempt to solve a state, and the number of files that the attempt could use."""

    seconds: float
    """Maximum time; infinite if more time would not help."""
    memory: int
    """Maximum memory in bytes."""
    tables: int
    """Number of tables, and of files of all other exit sources; a source without files counts as one."""

    def covers(self, other: Effort) -> bool:
        """Return whether this effort is at least as large as another effort in every respect."""
        return all(mine >= its for mine, its in zip(self, other, strict=True))


class _AttemptLine(Document):
    """An attempt to solve a state, as it is encoded in a line of the file."""

    position: str
    accrued: GScore
    lower: GScore
    upper: GScore
    depth: int | None
    seconds: float | None
    """None if more time would not help."""
    memory: int
    tables: int
    stopped_by: Stop | UnsetType = UNSET
    """Missing if the bounds are equal, and in files of earlier versions."""
    check: str | UnsetType = UNSET
    """CRC-32 of the line without this field; missing in files of earlier versions."""

    @property
    def line(self) -> bytes:
        """The line, with its checksum."""
        bare = encoded(msgspec.structs.replace(self, check=UNSET))
        return encoded(msgspec.structs.replace(self, check=f"{crc32(bare):08x}"))

    @classmethod
    def parse(cls, line: bytes) -> Self:
        """Parse a line of the file.

        :raises ValueError: if the line is not a result, or has been changed since it was written.
        """
        attempt = cls.read(msgspec.json.decode(line))
        if line != (encoded(attempt) if attempt.check is UNSET else attempt.line):
            raise ValueError
        return attempt

    @property
    def result(self) -> tuple[StateName, ProvedBounds, Effort, Stop | None]:
        """The state, the proved bounds, the effort of the attempt, and the reason why it ended.

        :raises ValueError: if the lower bound is better than the upper bound.
        """
        if self.lower > self.upper:
            raise ValueError
        effort = Effort(math.inf if self.seconds is None else self.seconds, self.memory, self.tables)
        proved = ProvedBounds(ScoreInterval(self.lower, self.upper), self.depth)
        stop = None if self.stopped_by is UNSET else self.stopped_by
        return StateName(self.position, str(self.accrued)), proved, effort, stop


class ContradictionError(TbgenError):
    """Raised if two results about a state contradict each other."""


class SolveResults:
    """The bounds proved for each state, and the effort of all attempts.

    :param write: called with the line of each new attempt, without line break.
    """

    def __init__(self, write: Callable[[bytes], None] = lambda _: None) -> None:
        self._write = write
        self._proved: dict[StateName, ProvedBounds] = {}
        self._efforts: defaultdict[StateName, list[Effort]] = defaultdict(list)
        self._stops: dict[StateName, Stop | None] = {}

    def get(self, state: StateName) -> ProvedBounds | None:
        """Return the proved bounds of a state; None if the state has never been attempted."""
        return self._proved.get(state)

    def stopped_by(self, state: StateName) -> Stop | None:
        """Return why the last attempt on a state ended; None if it proved the value or that is not known."""
        return self._stops.get(state)

    def was_tried(self, state: StateName, effort: Effort) -> bool:
        """Return whether an earlier attempt on a state had at least this effort."""
        return any(earlier.covers(effort) for earlier in self._efforts[state])

    def add(
        self, state: StateName, proved: ProvedBounds, effort: Effort, stopped_by: Stop | None = None
    ) -> None:
        """Add the result of a new attempt.

        :param stopped_by: why the attempt ended; None if it proved the value.
        :raises ContradictionError: if the result contradicts an earlier result.
        :raises TbgenError: if it cannot be written.
        """
        self.restore(state, proved, effort, stopped_by)
        stored = {
            "accrued": GScore(state.accrued),
            "seconds": effort.seconds if math.isfinite(effort.seconds) else None,
            "stopped_by": stopped_by or UNSET,
        }
        self._write(_AttemptLine.of(state, proved, proved.bounds, effort, **stored).line)

    def restore(
        self, state: StateName, proved: ProvedBounds, effort: Effort, stopped_by: Stop | None
    ) -> None:
        """Add the result of an attempt without writing it to the file.

        :raises ContradictionError: if the result contradicts an earlier result.
        """
        earlier = self._proved.get(state)
        try:
            self._proved[state] = proved if earlier is None else earlier.combined_with(proved)
        except ValueError as error:
            raise ContradictionError(
                f"two results of solving {' '.join(state)} contradict each other ({error}): "
                "one is wrong, perhaps in the file of results; use another file"
            ) from None
        self._efforts[state].append(effort)
        self._stops[state] = stopped_by


@contextmanager
def open_results(path: Path, option: str = "--solve-results") -> Iterator[SolveResults]:
    """Open a file of results, read it, and append new results to it. The file is created if necessary.

    :param option: the command line option that names the file, for messages.
    :raises UsageError: if the file is not a file of results, or another process has it open.
    :raises TbgenError: if the file cannot be read or written.
    """
    remedy = f"choose another place with {option}"
    check_target(path, remedy=f"name one for results with {option}")
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
        with write_errors(path, remedy=remedy):
            complete_bytes = _read_results(path, file, results, option)
            file.truncate(complete_bytes)
        if not complete_bytes:
            append(_HEADER_LINE)
        yield results


def _read_results(path: Path, file: FileIO, results: SolveResults, option: str) -> int:
    """Add the results in a file to ``results``; return the number of bytes in its complete lines.

    :raises UsageError: if the file is not a file of results, or contains an invalid line.
    """
    file.seek(0)
    data = file.read()
    if not data.startswith(_HEADER_LINE):
        if _HEADER_LINE.startswith(data):
            return 0
        raise UsageError(
            f"{quote(str(path))} has no results that this version of tbgen can continue: "
            f"name another file with {option}"
        )
    complete_bytes = data.rfind(b"\n") + 1
    for line_number, line in enumerate(data[len(_HEADER_LINE) : complete_bytes].splitlines(), 2):
        try:
            result = _AttemptLine.parse(line).result
        except ValueError:
            raise UsageError(
                f"{quote(str(path))}, line {line_number}: this is not a result of solving; "
                f"remove the line, or name another file with {option}"
            ) from None
        results.restore(*result)
    return complete_bytes
