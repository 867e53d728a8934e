"""Whether the arrays of a table fit together, and what is proved of packed tables besides.

The kernels of the proof rely on the first.

The bulk decoder hands the proof a whole table. Its fresh part is proved like any other, and so is every layer
of accrued scores, which is made by solving the table again. The functions of the stored side are compared
with all of these layers, and the answers to probes of random positions, either side to move, with what has
been proved.
"""

from itertools import zip_longest
from typing import Final, Protocol

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE, Code
from tbgen.index.layout import Side, Slot
from tbgen.index.table import LAST_RUN, Functions, Table
from tbgen.verify.game import allowed_rights
from tbgen.verify.kernels.best import NO_RANK, ProofGame
from tbgen.verify.kernels.claims import NO_FUNCTIONS, Claims, FunctionValues
from tbgen.verify.kernels.results import MIDDLE, PROBED, Accrued, inherits, key_of, worth_of
from tbgen.verify.state_proof import FIRST_RANK

PROBES: Final = 2000
"""Positions of a table that are probed."""

Row = tuple[int, ...]
"""A finding, by the columns of :data:`tbgen.verify.kernels.results.COLUMNS`."""


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
    if (np.minimum(accrued, 255 - accrued) < FIRST_RANK).any() or (
        (np.diff(place) <= 0) & ~first[1:-1]
    ).any():
        return "the entries of a function are not in order"
    return None


def function_values(table: Table, accrued: Accrued) -> FunctionValues:
    """Return the values of a table's functions for an accrued score, if it has functions."""
    functions, code = table.functions, code_of(accrued)
    if functions is None:
        return NO_FUNCTIONS
    return FunctionValues(int(functions.side), code, functions.number, functions.said(code))


class Probes:
    """Random positions of a surveyed table, and a reader whose answers are compared with what was proved."""

    def __init__(self, game: ProofGame, reader: Reader, random: np.random.Generator) -> None:
        self._game, self._reader = game, reader
        # Probes do not ask tables about positions of smaller ranks, which have ended.
        there = np.flatnonzero((game.rank >= FIRST_RANK) & (game.rank != NO_RANK))
        places = np.sort(random.choice(there, min(PROBES, len(there)), replace=False))
        self._places = [divmod(place, game.rank.shape[1]) for place in places.tolist()]

    def compare_fresh(self) -> list[Row]:
        """Return where the reader contradicts a fresh value or depth of the table."""
        rows: list[Row] = []
        for side, slot in self._places:
            answer = self._reader.fresh(Side(side), Slot(slot))
            right = int(self._game.value[side, slot]), int(self._game.depth[side, slot])
            if answer != right:
                rows.append((PROBED, 0, side, slot, MIDDLE, key_of(*answer, MIDDLE), key_of(*right, MIDDLE)))
        return rows

    def compare_accrued(self, accrued: Accrued, base: int, claims: Claims) -> list[Row]:
        """Return where the reader contradicts the layer of an accrued score, whose first slot is ``base``."""
        rows: list[Row] = []
        for side, slot in self._places:
            own, fresh, place = self._game.rank[side, slot], self._game.value[side, slot], slot - base
            if 0 <= place < claims.value.shape[1] and inherits(int(own), int(fresh), accrued, side):
                claimed = bool(int(claims.there[side, place >> 6]) >> (place & 63) & 1)
                right = int(claims.value[side, place]) if claimed else NONE
                answer, _ = self._reader.accrued(Side(side), Slot(slot), code_of(accrued))
                if answer != right:
                    keys = worth_of(answer) << 16, worth_of(right) << 16
                    rows.append((PROBED, 0, side, slot, accrued.level, *keys))
        return rows


def code_of(accrued: Accrued) -> Code:
    """Return the code of an accrued score."""
    return Code(accrued.rank if accrued.level > MIDDLE else 255 - accrued.rank)


def inconsistency(table: Table) -> str | None:
    """Return what does not fit, None if everything does."""
    try:
        table.check_shapes()
    except ValueError as error:
        return str(error).removeprefix(f"table {table.material}: ")
    if table.run_rank.size and table.run_rank[-1] < LAST_RUN:
        return "its last run is not marked as such"
    if table.functions is not None and (problem := disorder(table.functions)) is not None:
        return problem
    return _wrong_rights(table)


def first_runs(table: Table) -> NDArray[np.int64]:
    """Return the number of the first run at or behind every 64th slot, by holder and side to move: shape (2,
    2, size / 64)."""
    ends = np.concatenate([[0], np.flatnonzero(table.run_rank & LAST_RUN) + 1])
    slots = np.bitwise_count(table.run_mask).ravel()
    before = np.cumsum(slots, dtype=np.int64) - slots
    return ends[before].reshape(table.run_mask.shape)


def _wrong_rights(table: Table) -> str | None:
    """Compare the en passant rights with what the pawns allow; name the first that is not the same."""
    rights = zip_longest(table.ep_config.tolist(), allowed_rights(table.layout).tolist())
    for number, (stored, allowed) in enumerate(rights):
        if stored is None:
            return f"ep/config lacks {_right(allowed)}"
        if allowed is None:
            return f"ep/config holds {_right(stored)}"
        if stored != allowed:
            return f"ep/config {number} is {_right(stored)}, but its pawns allow {_right(allowed)}"
    return None


def _right(config: list[int]) -> str:
    phase, square = config
    name = chess.square_name(square) if 0 <= square < 64 else f"square {square}"
    return f"a capture on {name} in phase {phase}"
