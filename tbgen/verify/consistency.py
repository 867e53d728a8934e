"""Checks that the arrays of a table are consistent, and further checks of packed tables.

The kernels of the proof are safe only for consistent arrays.

A packed table is unpacked for the proof. Its fresh values are proved like those of any other table. Its
layers of accrued scores are computed by solving the table again, and then proved. The functions of the stored
side, which give the values of positions for each accrued score, are compared with these layers. In addition,
random positions of both sides to move are probed, and the answers are compared with the proved entries.
"""

from collections.abc import Iterator
from itertools import zip_longest
from typing import Final, Protocol

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE, Code
from tbgen.index.codes import LAST_RUN
from tbgen.index.layout import Side, Slot
from tbgen.index.table import Table, ValueFunctions, greatest
from tbgen.system.memory import unload
from tbgen.verify.game import allowed_rights
from tbgen.verify.kernels.best import ProofGame
from tbgen.verify.kernels.entry_grades import NO_FUNCTIONS, FunctionValues
from tbgen.verify.kernels.results import MIDDLE, MISREAD, Accrued, grade_of, stores_state, worth_of
from tbgen.verify.state_proof import FIRST_RANK

MAX_PROBES: Final = 2000
"""Maximum number of positions of a table that are probed."""
_MAX_TRIES: Final = 1 << 17
"""Maximum number of random slots that are tried to find positions to probe."""
_TRIES_AT_ONCE: Final = 1 << 10
"""Number of slots that are tried at once. Each brings up to 128 KiB of a mapped table into memory."""

FindingRow = tuple[int, ...]
"""A finding, with the columns of :data:`tbgen.verify.kernels.results.COLUMNS`."""


class Reader(Protocol):
    """Reads single positions, like a probe."""

    def fresh(self, side: Side, slot: Slot) -> tuple[Code, int]:
        """Return the code of W, and D in plies."""

    def accrued(self, side: Side, slot: Slot, code: Code) -> tuple[Code, int | None]:
        """Return the code of V(P, A) and, if available, D(P, A), for the code of A."""


def functions_problem(functions: ValueFunctions) -> str | None:
    """Return the first inconsistency of the functions of a table, or None if they are consistent."""
    start = functions.start
    accrued = functions.accrued.astype(np.int64)
    if len(start) < 2 or start[0] != 0 or start[1] != 0 or start[-1] != accrued.size:
        return "the starts of its functions do not match the number of their entries"
    if (np.diff(start) < 0).any():
        return "its functions overlap"
    if greatest(functions.function_numbers) >= len(start) - 1:
        return "positions refer to functions that do not exist"
    order = np.where(accrued < NONE, accrued, 511 - accrued)  # White's by rising rank, then Black's
    is_first = np.zeros(accrued.size + 1, np.bool_)
    is_first[start] = True
    if (np.minimum(accrued, 255 - accrued) < FIRST_RANK).any() or (
        (np.diff(order) <= 0) & ~is_first[1:-1]
    ).any():
        return "the entries of a function are not in order"
    return None


def function_values(table: Table, accrued: Accrued) -> FunctionValues:
    """Return the values of a table's functions for an accrued score; ``NO_FUNCTIONS`` if it has none."""
    functions = table.functions
    code = code_of(accrued)
    if functions is None:
        return NO_FUNCTIONS
    return FunctionValues(int(functions.side), code, functions.function_numbers, functions.values_for(code))


class ProbeComparison:
    """Compares the answers of a reader, at random positions of a table, with the proved entries."""

    def __init__(self, table: Table, reader: Reader, random: np.random.Generator) -> None:
        self._reader = reader
        size = table.value.size
        tried_indices = random.choice(size, min(_MAX_TRIES, size), replace=False)
        chosen = np.zeros(0, np.int64)
        for some in np.split(tried_indices, range(_TRIES_AT_ONCE, len(tried_indices), _TRIES_AT_ONCE)):
            value, depth = table.value.reshape(-1)[some], table.depth.reshape(-1)[some]
            # Probes do not look up mates and stalemates in tables.
            is_over = (np.minimum(value, 255 - value) < FIRST_RANK) & (depth == 0)
            chosen = np.append(chosen, some[(value != NONE) & ~is_over])[:MAX_PROBES]
            unload(table.value)
            unload(table.depth)
            if len(chosen) == MAX_PROBES:
                break
        chosen.sort()
        self._side, self._slot = np.divmod(chosen, size // 2)

    def compare_fresh(self, game: ProofGame) -> list[FindingRow]:
        """Return a finding for every position of the batch where the reader contradicts the fresh value or
        depth.

        :param game: the table with a batch.
        """
        rows: list[FindingRow] = []
        for side, slot in self._places(game):
            got = self._reader.fresh(Side(side), Slot(slot))
            goal = int(game.value[side, slot]), int(game.depth[side, slot])
            if got != goal:
                rows.append((MISREAD, 0, side, slot, MIDDLE, grade_of(*got, MIDDLE), grade_of(*goal, MIDDLE)))
        return rows

    def compare_accrued(self, game: ProofGame, accrued: Accrued) -> list[FindingRow]:
        """Return a finding for every position of the batch where the reader contradicts the layer of an
        accrued score.

        :param game: the table with a batch whose grades are those of the layer.
        """
        rows: list[FindingRow] = []
        for side, slot in self._places(game):
            rank = int(game.rank[side, slot - game.base])
            code = int(game.value[side, slot])
            if stores_state(rank, code, accrued, side):
                worth = int(game.grade[side, slot - game.base]) >> 16
                answer, _ = self._reader.accrued(Side(side), Slot(slot), code_of(accrued))
                if worth_of(answer) != worth:
                    rows.append((MISREAD, 0, side, slot, accrued.pivot, worth_of(answer) << 16, worth << 16))
        return rows

    def _places(self, game: ProofGame) -> Iterator[tuple[int, int]]:
        """Yield side to move and slot of the positions in the batch."""
        in_batch = (self._slot >= game.base) & (self._slot < game.base + game.grade.shape[1])
        yield from zip(self._side[in_batch].tolist(), self._slot[in_batch].tolist(), strict=True)


def code_of(accrued: Accrued) -> Code:
    """Return the code of an accrued score."""
    return Code(accrued.rank if accrued.pivot > MIDDLE else 255 - accrued.rank)


def table_problem(table: Table) -> str | None:
    """Return the first inconsistency among the arrays of a table, or None if they are consistent."""
    try:
        table.check_shapes()
    except ValueError as error:
        return str(error).removeprefix(f"table {table.material}: ")
    if table.run_rank.size and table.run_rank[-1] < LAST_RUN:
        return "its last run is not marked as such"
    if table.functions is not None and (problem := functions_problem(table.functions)) is not None:
        return problem
    return _rights_problem(table)


def first_runs(table: Table) -> NDArray[np.int64]:
    """Return the index of the first run at or after the start of every block of 64 slots.

    The result has shape (2, 2, size / 64); its axes are holder, side to move and block.
    """
    ends = np.concatenate([[0], np.flatnonzero(table.run_rank & LAST_RUN) + 1])
    slots = np.bitwise_count(table.run_mask).ravel()
    before = np.cumsum(slots, dtype=np.int64) - slots
    return ends[before].reshape(table.run_mask.shape)


def _rights_problem(table: Table) -> str | None:
    """Describe the first difference between the stored en passant rights and the rights that pawns allow."""
    rights = zip_longest(table.ep_config.tolist(), allowed_rights(table.layout).tolist())
    for index, (stored, allowed) in enumerate(rights):
        if stored is None:
            return f"ep/config lacks {_right_text(allowed)}"
        if allowed is None:
            return f"ep/config holds {_right_text(stored)}"
        if stored != allowed:
            return f"ep/config {index} is {_right_text(stored)}, but its pawns allow {_right_text(allowed)}"
    return None


def _right_text(config: list[int]) -> str:
    phase, square = config
    name = chess.square_name(square) if 0 <= square < 64 else f"square {square}"
    return f"a capture on {name} in phase {phase}"
