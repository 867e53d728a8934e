"""What else is proved of a packed table: its functions, and that probes read it as the proof did.

The bulk decoder hands the proof a whole table. Its fresh part is proved like any other, and so is every layer
of accrued scores, which is made by solving the table again. The functions of the stored side are compared
with all of these layers, and the answers to probes of random positions, either side to move, with what has
been proved.
"""

from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE, Code
from tbgen.index.layout import Side, Slot
from tbgen.index.table import Functions, Table
from tbgen.verify.kernels.findings import COLUMNS, PROBED
from tbgen.verify.kernels.keys import MIDDLE, Accrued, inherits, key_of, worth_of
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
        self._places = [divmod(place, table.layout.size) for place in chosen.tolist()]

    def compare_fresh(self) -> Rows:
        """Return where the reader says something else of a fresh value or depth than the table."""
        rows = []
        for side, slot in self._places:
            said = self._reader.fresh(Side(side), Slot(slot))
            right = int(self._table.value[side, slot]), int(self._table.depth[side, slot])
            if said != right:
                rows.append((side, slot, MIDDLE, key_of(*said, MIDDLE), key_of(*right, MIDDLE)))
        return _rows(rows)

    def compare_accrued(self, accrued: Accrued, base: int, claims: Claims) -> Rows:
        """Return where the reader says something else of an accrued score than its layer, whose first slot is
        ``base``."""
        rows, code = [], code_of(accrued)
        for side, slot in self._places:
            own, fresh, place = self._rank[side, slot], self._table.value[side, slot], slot - base
            if 0 <= place < claims.value.shape[1] and inherits(int(own), int(fresh), accrued, side):
                claimed = bool(int(claims.there[side, place >> 6]) >> (place & 63) & 1)
                right = int(claims.value[side, place]) if claimed else NONE
                said, _ = self._reader.accrued(Side(side), Slot(slot), code)
                if said != right:
                    keys = worth_of(said) << 16, worth_of(right) << 16
                    rows.append((side, slot, accrued.level, *keys))
        return _rows(rows)


def code_of(accrued: Accrued) -> Code:
    """Return the code of an accrued score."""
    return Code(accrued.rank if accrued.level > MIDDLE else 255 - accrued.rank)


def _rows(found: Sequence[tuple[int, ...]]) -> Rows:
    """Return findings from their columns, the problem and the kind of position apart."""
    return np.array([(PROBED, 0, *columns) for columns in found], np.int64).reshape(-1, COLUMNS)
