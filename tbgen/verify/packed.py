"""What else is proved of a packed table: its functions, and that probes read it as the proof did.

The bulk decoder hands the proof a whole table. Its fresh part is proved like any other, and so is every layer
of accrued scores, which is made by solving the table again. The functions of the stored side are compared
with all of these layers, and the answers to probes of random positions, either side to move, with what has
been proved.
"""

from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE, Code
from tbgen.index.layout import Side, Slot
from tbgen.index.table import Functions, Table
from tbgen.verify.kernels.findings import PROBED
from tbgen.verify.kernels.keys import DEPTH_MASK, MIDDLE, WHITE_WORTH, Accrued
from tbgen.verify.kernels.layers import Claims, Said
from tbgen.verify.kernels.survey import NO_RANK

PROBES: Final = 2000
"""Positions of a table that are probed."""

_LEAST_RANK: Final = 2
"""Positions of smaller ranks have ended, and probes do not ask tables about them."""

Rows = NDArray[np.int64]
"""Findings, shape (n, :data:`tbgen.verify.kernels.findings.COLUMNS`)."""


class Reader(Protocol):
    """Reads single positions, as probes do."""

    def fresh(self, side: Side, slot: Slot) -> tuple[Code, int]:
        """Return code of W and D in plies."""

    def accrued(self, side: Side, slot: Slot, code: Code) -> tuple[Code, int | None]:
        """Return code of V(P, A) and, where it is known, D(P, A), for the code of A."""


def disorder(functions: Functions) -> str | None:
    """Return what does not fit in a dictionary of functions, None if it can be relied on."""
    start, accrued = functions.start, functions.accrued.astype(np.int64)
    if len(start) < 2 or start[0] != 0 or start[1] != 0 or start[-1] != accrued.size:
        return "its functions do not begin and end with their entries"
    if (np.diff(start) < 0).any():
        return "its functions overlap"
    if int(functions.number.max(initial=0)) >= len(start) - 1:
        return "positions have functions that are not there"
    place = np.where(accrued < NONE, accrued, 511 - accrued)  # White's by rising rank, then Black's
    first = np.zeros(accrued.size + 1, np.bool_)
    first[start] = True
    if (np.minimum(accrued, 255 - accrued) < _LEAST_RANK).any() or (
        (np.diff(place) <= 0) & ~first[1:-1]
    ).any():
        return "the entries of a function are not in order"
    return None


def said_of(table: Table, accrued: Accrued) -> Said:
    """Return what the functions of a table say of an accrued score; nothing if it has none."""
    functions = table.functions
    if functions is None:
        return Said(-1, NONE, np.zeros(0, np.uint32), np.zeros(0, np.uint8))
    code = code_of(accrued)
    return Said(int(functions.side), code, functions.number, functions.said(code))


class Probes:
    """Random positions, and what a reader says of them.

    :param rank: uint8 (2, size), the ranks of all canonical legal positions.
    """

    def __init__(
        self, table: Table, rank: NDArray[np.uint8], reader: Reader, random: np.random.Generator
    ) -> None:
        self._table, self._rank, self._reader = table, rank, reader
        there = np.flatnonzero((rank.ravel() >= _LEAST_RANK) & (rank.ravel() != NO_RANK))
        chosen = np.sort(random.choice(there, min(PROBES, len(there)), replace=False))
        self._slots = [chosen[chosen // table.layout.size == side] % table.layout.size for side in (0, 1)]

    def compare_fresh(self) -> Rows:
        """Return where the reader says something else of a fresh value or depth than the table."""
        rows = [np.empty((0, 7), np.int64)]
        for side, slots in enumerate(self._slots):
            said = np.array([self._reader.fresh(Side(side), Slot(slot)) for slot in slots.tolist()], np.int64)
            said = said.reshape(-1, 2)
            right = np.stack([self._table.value[side, slots], self._table.depth[side, slots]], 1).astype(
                np.int64
            )
            wrong = (said != right).any(axis=1)
            stored, recomputed = (_keys(*entries[wrong].T) for entries in (said, right))
            rows.append(_rows(side, slots[wrong], MIDDLE, stored, recomputed))
        return np.concatenate(rows)

    def compare_accrued(self, accrued: Accrued, base: int, claims: Claims) -> Rows:
        """Return where the reader says something else of an accrued score than its layer, whose first slot is
        ``base``."""
        rows, code = [np.empty((0, 7), np.int64)], code_of(accrued)
        for side, slots in enumerate(self._slots):
            there = slots[slice(*np.searchsorted(slots, (base, base + claims.value.shape[1])))]
            fresh, own = self._table.value[side, there], self._rank[side, there]
            there = there[_inheriting(own, fresh, side, accrued)]
            said = [self._reader.accrued(Side(side), Slot(slot), code)[0] for slot in there.tolist()]
            stored, wanted = np.array(said, np.uint8), _claimed(claims, side, there - base)
            wrong = stored != wanted
            rows.append(
                _rows(
                    side,
                    there[wrong],
                    accrued.level,
                    _keys(stored[wrong]),
                    _keys(wanted[wrong]),
                )
            )
        return np.concatenate(rows)


def code_of(accrued: Accrued) -> Code:
    """Return the code of an accrued score."""
    return Code(accrued.rank if accrued.level > MIDDLE else 255 - accrued.rank)


def _inheriting(
    own: NDArray[np.uint8], fresh: NDArray[np.uint8], side: int, accrued: Accrued
) -> NDArray[np.bool_]:
    """Which positions with these ranks and fresh values can have inherited a score that decides."""
    there: NDArray[np.bool_] = (
        (own >= accrued.rank) & (own != NO_RANK) & (np.minimum(fresh, 255 - fresh) >= accrued.rank)
    )
    if (accrued.level > MIDDLE) == (side == 1):  # held by who has just moved: it may be the own score
        there &= own != accrued.rank
    return there


def _claimed(claims: Claims, side: int, places: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Codes of some states of a layer; ``NONE`` where nothing is said of them."""
    there = claims.there[side, places >> 6] >> (places & 63).astype(np.uint64) & np.uint64(1)
    return np.where(there, claims.value[side, places], np.uint8(NONE))


def _keys(
    code: NDArray[np.integer], depth: NDArray[np.int64] | None = None, level: int = MIDDLE
) -> NDArray[np.int64]:
    """Keys of codes, and of depths in plies where given, as :mod:`tbgen.verify.kernels.keys` has them."""
    wide = code.astype(np.int64)
    worth = np.where(wide <= NONE, WHITE_WORTH - wide, 255 - wide)
    if depth is None:
        return worth << 16
    return worth << 16 | np.where(worth > level, DEPTH_MASK - depth, depth)


def _rows(
    side: int,
    slots: NDArray[np.integer],
    level: int,
    stored: NDArray[np.int64],
    right: NDArray[np.int64],
) -> Rows:
    columns = [np.full(len(slots), each, np.int64) for each in (PROBED, 0, side)]
    return np.stack([*columns, slots, np.full(len(slots), level, np.int64), stored, right], axis=1)
