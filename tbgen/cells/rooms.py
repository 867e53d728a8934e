"""Rooms: workspaces in which the games of cells are solved, kept from cell to cell."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock
from typing import Final, TypeAlias

import numpy as np

from tbgen.retro.kernels.frame import Frame
from tbgen.retro.kernels.layers import Workspace
from tbgen.retro.workspace import workspace_of

_Kind: TypeAlias = tuple[int, bool]
"""Number of words, and whether captures and pawn moves reset the accrued score."""


class CellRooms:
    """Lends rooms; safe for threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._idle: dict[_Kind, list[Workspace]] = {}

    @contextmanager
    def lent(self, frame: Frame, resets: bool) -> Iterator[Workspace]:
        """Lend a room for a frame, whatever it holds.

        :raises MemoryError: if there is too little.
        """
        kind = frame.words, resets
        with self._lock:
            idle = self._idle.get(kind)
            room = idle.pop() if idle else None
        room = room_for_cell(frame, resets) if room is None else _with_frame(room, frame)
        yield room
        # After an error nobody knows what it holds.
        with self._lock:
            self._idle.setdefault(kind, []).append(room)

    def release(self) -> None:
        """Drop the rooms that nobody uses."""
        with self._lock:
            self._idle.clear()


ROOMS: Final = CellRooms()
"""Those of this process."""


def room_for_cell(frame: Frame, resets: bool = True) -> Workspace:
    """Return room to solve a cell: that of a phase."""
    return workspace_of(frame, resets, np.zeros((0, 2), np.int64))


def _with_frame(workspace: Workspace, frame: Frame) -> Workspace:
    """Return the same room for another frame of as many words."""
    white, black = (replace(attacker, frame=frame) for attacker in workspace.attackers)
    return replace(workspace, frame=frame, attackers=(white, black))
