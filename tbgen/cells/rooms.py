"""Rooms: workspaces in which the games of cells are solved, kept from cell to cell."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Lock
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tbgen.index.layout import SIDES
from tbgen.retro.kernels.frame import Frame
from tbgen.retro.kernels.layers import Workspace
from tbgen.retro.workspace import make_attacker, make_phase, room_for_exits

_Kind: TypeAlias = tuple[int, bool]
"""Number of words, and whether captures and pawn moves reset the accrued score."""


@dataclass(eq=False)
class CellRoom:
    """A workspace, and what it holds."""

    workspace: Workspace
    counted: object = None
    """Stands for the game whose moves are counted in it, and whose exits are found."""


class CellRooms:
    """Lends rooms; safe for threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._idle: dict[_Kind, list[CellRoom]] = {}

    @contextmanager
    def lent(self, frame: Frame, resets: bool, game: object) -> Iterator[CellRoom]:
        """Lend a room for a frame, the one in which the moves of ``game`` are counted if there is one.

        :raises MemoryError: if there is too little.
        """
        kind = frame.words, resets
        room = self._taken(kind, game)
        if room is None:
            room = CellRoom(room_for_cell(frame, resets))
        if room.counted is not game:
            room = CellRoom(_with_frame(room.workspace, frame))
        yield room
        # After an error nobody knows what it holds.
        with self._lock:
            self._idle.setdefault(kind, []).append(room)

    def release(self) -> None:
        """Drop the rooms that nobody uses."""
        with self._lock:
            self._idle.clear()

    def _taken(self, kind: _Kind, game: object) -> CellRoom | None:
        with self._lock:
            idle = self._idle.get(kind)
            if not idle:
                return None
            place = next((place for place, room in enumerate(idle) if room.counted is game), 0)
            return idle.pop(place)


ROOMS: Final = CellRooms()
"""Those of this process."""


def room_for_cell(frame: Frame, resets: bool = True) -> Workspace:
    """Return room to solve a cell: that of a phase, with exits that results leave alone."""
    phase = make_phase(frame.words, resets)
    white, black = (make_attacker(side, frame, phase, 1) for side in SIDES)
    no_like_men: NDArray[np.int64] = np.zeros((0, 2), np.int64)
    return Workspace(frame, phase, (white, black), room_for_exits(2 * frame.words * 64), no_like_men)


def _with_frame(workspace: Workspace, frame: Frame) -> Workspace:
    """Return the same room for another frame of as many words."""
    white, black = (replace(attacker, frame=frame) for attacker in workspace.attackers)
    return replace(workspace, frame=frame, attackers=(white, black))
