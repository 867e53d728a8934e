"""What the runner tells: messages through a pipe.

They are pickled. Both ends of the pipe are processes of one command, and nobody else has it.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import IO, TypeAlias

import chess

from tbgen.match.reporter import Beginning
from tbgen.match.schedule import Fixture, Key

__all__ = ["Ended", "Finished", "Message", "Moved", "Over", "Started", "receive", "send"]


class Ended(StrEnum):
    """How an event has come to its end, or the runner to his."""

    FINISHED = "finished"
    STOPPED = "stopped"
    """It goes on when the command is given again."""
    GONE = "gone"
    """The runner has not said why."""


@dataclass(frozen=True, slots=True)
class Started:
    """A game begins."""

    fixture: Fixture


@dataclass(frozen=True, slots=True)
class Moved:
    """A move has been made."""

    key: Key
    move: chess.Move
    comment: str
    left: Mapping[chess.Color, float | None]
    """Seconds on the clocks; None without a clock."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A game is over, and in the file."""

    key: Key
    reason: str
    size: int
    """Of the file, in bytes."""


@dataclass(frozen=True, slots=True)
class Over:
    """There are no more games."""

    how: Ended


Message: TypeAlias = Beginning | Started | Moved | Finished | Over


def send(stream: IO[bytes], message: Message) -> None:
    """Write a message.

    :raises OSError: if nobody reads any more.
    """
    pickle.dump(message, stream)
    stream.flush()


def receive(stream: IO[bytes]) -> Iterator[Message]:
    """Yield messages until the pipe ends, in the midst of one perhaps."""
    while True:
        try:
            yield pickle.load(stream)
        except (EOFError, pickle.UnpicklingError):
            return
