"""What solving has proved so far: in memory, and in a file with which the next run goes on.

The file has a line of JSON for itself and then one for each attempt: position and accrued score, both ends of
the interval, the depth, and what the attempt was allowed. A line is written and synced when the attempt is
over, so a run that is killed loses no other; what it has left of a line is dropped by the next run.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import chess

from tbgen.board.interval import ProvedValue, ScoreInterval
from tbgen.board.score import GScore
from tbgen.errors import TbgenError, UsageError, quote
from tbgen.files import write_errors

__all__ = ["Effort", "SolveResults", "StateName", "open_results"]

_HEAD: Final = b'{"format": "results of solving positions, by tbgen", "version": 1}\n'
_NO_LOCKS: Final = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)
"""What network file systems without locks answer."""
_REMEDY: Final = "choose another place with --solve-results"


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
    memory: int
    """Bytes."""
    tables: int
    """How many tables there were."""

    def covers(self, other: Effort) -> bool:
        """Tell whether it was as much as another one in everything."""
        return all(mine >= its for mine, its in zip(self, other, strict=True))


class SolveResults:
    """What has been proved of states, and what it took; a file too if it comes from :func:`open_results`."""

    def __init__(self) -> None:
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
        known = self._proved.get(state)
        try:
            self._proved[state] = proved if known is None else known.and_also(proved)
        except ValueError as error:
            raise TbgenError(
                f"two results of solving {' '.join(state)} contradict each other ({error}): "
                "one is wrong, maybe in the file of --solve-results; begin another"
            ) from None
        self._efforts[state].append(effort)


class _Kept(SolveResults):
    """Results that a file keeps."""

    def __init__(self, path: Path, file: FileIO) -> None:
        super().__init__()
        self._path, self._file = path, file

    def read(self) -> None:
        """Take in what the file says, and make it ready for more.

        :raises UsageError: if the file is none of ours.
        """
        self._file.seek(0)
        text = self._file.read()
        if not text.startswith(_HEAD):
            if not _HEAD.startswith(text):
                raise UsageError(
                    f"{quote(str(self._path))} has no results that this version of tbgen can go on with: "
                    "name another file with --solve-results"
                )
            self._file.truncate(0)
            self._append(_HEAD)
            return
        end = text.rfind(b"\n") + 1
        for number, line in enumerate(text[len(_HEAD) : end].splitlines(), 2):
            try:
                super().add(*_read(json.loads(line)))
            except (ValueError, TypeError, KeyError):
                raise UsageError(
                    f"{quote(str(self._path))}, line {number}: this is no result of solving; "
                    "remove the line, or name another file with --solve-results"
                ) from None
        if end < len(text):
            self._file.truncate(end)

    def add(self, state: StateName, proved: ProvedValue, effort: Effort) -> None:
        """Add what an attempt has proved, and write it down.

        :raises TbgenError: if that contradicts what was proved before, or cannot be written.
        """
        super().add(state, proved, effort)
        told = {**state._asdict(), **proved.bounds.document(), "depth": proved.depth, **effort._asdict()}
        self._append(json.dumps(told).encode() + b"\n")

    def _append(self, line: bytes) -> None:
        with write_errors(self._path, remedy=_REMEDY):
            while line:
                line = line[self._file.write(line) :]
            os.fsync(self._file.fileno())


def _read(told: dict[str, Any]) -> tuple[StateName, ProvedValue, Effort]:
    """Return what a line says.

    :raises ValueError: or TypeError or KeyError, if it says something else.
    """
    state = StateName(str(told["position"]), str(GScore(told["accrued"])))
    bounds = ScoreInterval.parse(f"{told['lower']} {told['upper']}")
    depth = None if told["depth"] is None else int(told["depth"])
    return (
        state,
        ProvedValue(bounds, depth),
        Effort(float(told["seconds"]), int(told["memory"]), int(told["tables"])),
    )


@contextmanager
def open_results(path: Path) -> Iterator[SolveResults]:
    """Open a file of results, made if need be: what it knows counts, and what is added is written down.

    :raises UsageError: if the file is something else, or another process has it open.
    :raises TbgenError: if it cannot be read or written.
    """
    if path.exists() and not path.is_file():
        raise UsageError(f"{quote(str(path))} is no file: name one for results with --solve-results")
    with write_errors(path, remedy=_REMEDY):
        file = open(path, "a+b", buffering=0)  # noqa: SIM115
    with file:
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"another run of tbgen is writing to {quote(str(path))}: let it end, or name another file"
            ) from None
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
        results = _Kept(path, file)
        results.read()
        yield results
