"""Values of leaves: the compiled search asks, tables answer meanwhile."""

import threading
from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import MAX_MEN
from tbgen.board.score import MAX_CODED_RANK, NONE
from tbgen.engine import room as at
from tbgen.engine.kernels import board as row
from tbgen.engine.room import CLOCK_TOLD, SearchRoom
from tbgen.engine.scale import MATE, REACH
from tbgen.engine.tables import EngineTables
from tbgen.games.settings import PLIES, FiftyMoveRule

_PAUSE: Final = 0.001
"""Seconds between two looks for questions."""
_LETTERS: Final = "PNBRQKpnbrqk"
_NO_VALUE: Final = 4 * MATE
_UNKNOWN_DEPTH: Final = 250


class LeafValues:
    """Answers what one search asks, in a thread of its own, until it is closed.

    :param tables: who is asked; None if there are none.
    :param rule: the 50-move rule of the game, under which only goals count that are reached before its end.
    """

    def __init__(self, room: SearchRoom, tables: EngineTables | None, rule: FiftyMoveRule) -> None:
        self._room, self._tables = room, tables
        self.most_men = MAX_MEN if tables and tables.there else 0
        """Positions with more men are not asked for."""
        self._closed = threading.Event()
        self._rule = rule

    @property
    def pending(self) -> bool:
        """Whether something has been asked that is not answered yet."""
        return bool(self._room.control[at.ANSWERED] < self._room.control[at.ASKED])

    def start(self) -> None:
        """Answer from now on."""
        if self._tables and self.most_men:
            threading.Thread(target=self._run, args=(self._tables,), daemon=True).start()

    def close(self) -> None:
        """Stop, but do not wait for tables that are being loaded."""
        self._closed.set()

    def _run(self, tables: EngineTables) -> None:
        room, control = self._room, self._room.control
        while not self._closed.wait(_PAUSE):
            first, last = int(control[at.ANSWERED]), int(control[at.ASKED])
            if first < last and tables.can_tell:
                asked = room.asked[np.arange(first, last) % len(room.asked)]
                _, places = np.unique(asked[:, row.KEY], return_index=True)
                self._answer(asked[places], tables)
                if not self._closed.is_set():
                    control[at.ANSWERED] = last

    def _answer(self, asked: NDArray[np.uint64], tables: EngineTables) -> None:
        """Have tables tell values, and write them where the search looks for them, while it lasts."""
        room = self._room
        for letters, rows, squares in _by_men(asked):
            side = asked[rows, row.TURN].astype(np.int64)
            accrued = _codes(asked[rows, row.ACCRUED].astype(np.int64))
            told = None if self._closed.is_set() else tables.values(letters, squares, side, accrued)
            value = (
                np.full(len(rows), _NO_VALUE)
                if told is None
                else _values(*told, asked[rows], room.worth, self._rule)
            )
            if self._closed.is_set():
                return
            places = (asked[rows, row.KEY] & np.uint64(len(room.known) - 1)).astype(np.int64)
            room.known_keys[places] = 0
            room.known[places] = value
            room.known_keys[places] = asked[rows, row.KEY]


def _by_men(
    positions: NDArray[np.uint64],
) -> Iterator[tuple[str, NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the letters of men, the rows that have these, and their squares in the order of the letters."""
    sets = positions[:, None, row.OF_WHITE : row.OF_BLACK + 1] & positions[:, : row.KINGS + 1, None]
    sets = sets.transpose(0, 2, 1).reshape(len(positions), len(_LETTERS))
    there = sets[:, :, None] >> np.arange(64, dtype=np.uint64) & np.uint64(1)
    counts, group = np.unique(there.sum(axis=2), axis=0, return_inverse=True)
    for number, count in enumerate(counts.astype(np.int64)):
        rows = np.flatnonzero(group.ravel() == number)
        letters = "".join(letter * int(many) for letter, many in zip(_LETTERS, count, strict=True))
        yield letters, rows, np.nonzero(there[rows])[2].reshape(len(rows), len(letters))


def _codes(accrued: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the codes that tables have for accrued scores of rows; one beyond these counts as none, since no
    table has a value beyond them."""
    rank = accrued >> 1
    return np.where(rank > MAX_CODED_RANK, NONE, np.where(accrued & 1, 255 - rank, rank))


def _values(
    codes: NDArray[np.uint8],
    depths: NDArray[np.int32],
    asked: NDArray[np.uint64],
    worth: NDArray[np.int64],
    rule: FiftyMoveRule,
) -> NDArray[np.int64]:
    """Return what values of tables are worth to White, by what the ranks of scores are worth.

    For each ply to them they are worth less to who prefers them to what has accrued.
    """
    white, accrued = codes < NONE, _codes(asked[:, row.ACCRUED].astype(np.int64))
    rank = np.where(white, codes, 255 - codes).astype(np.int64)
    lead = np.where(rank == 0, MATE + REACH, worth[rank]) * np.where(white, 1, -1)
    # Codes are in the order of scores, White's best one first.
    plies = np.where(depths < 0, _UNKNOWN_DEPTH, depths)
    value = lead + np.where(codes < accrued, -plies, np.where(codes > accrued, plies, 0))
    if rule is not FiftyMoveRule.NONE:
        clock = np.maximum(asked[:, row.CLOCK].astype(np.int64), CLOCK_TOLD)
        value[(plies + clock >= PLIES) & (codes != accrued)] = _NO_VALUE
    return value
