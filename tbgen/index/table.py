"""A table in memory, as made by the solver or returned by bulk readers, and the interfaces of sources.

The solver reads fresh values and depths (docs/glossary.md) of sub-tables from sources.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import NONE, Code
from tbgen.board.variant import Variant
from tbgen.index.arrays import joined_ranges
from tbgen.index.codes import FRESH, LAST_RUN
from tbgen.index.layout import Layout, Side, layout_of
from tbgen.system.memory import unload

_MAX_PART_ELEMENTS: Final = 1 << 20
"""Maximum number of elements that are counted or compared at once."""

BYTES_PER_SLOT: Final = 3
"""Bytes of memory that a value and a depth need."""

_WORD_SLOTS: Final = 64
"""Number of slots in a word of the mask of slots with runs."""


class AccruedForm(Enum):
    """The form in which a table stores the values V(P, A) for accrued scores A."""

    NOTHING = "nothing"
    """The table stores no such values."""
    RUNS = "runs"
    """Values and depths for both sides to move, as runs: ``Table.run_mask`` and the other fields of runs."""
    FUNCTIONS = "functions"
    """Values for one side to move in ``Table.functions``; the values for the other side follow from them."""


@dataclass(slots=True)
class ValueFunctions:
    """V(P, A) as a step function of the accrued score A, for every position with one side to move.

    Depths are not stored.

    Each entry of a function has an accrued score, and gives the value from the rank of this score up to the
    next entry. Entries for White's A come first, by ascending rank. Entries for Black's A follow in the same
    order. Below the rank of a holder's first entry, V(P, A) = A. Consecutive entries of a holder have
    different values, and the first value is not ``NONE``. Above the rank of W(P), where V(P, A) =
    W(P) in any case, readers must ignore the entries.

    Function 0 has no entries. The other functions are ordered by descending frequency, then by their entries.
    """

    side: Side
    """The side to move."""
    function_numbers: NDArray[np.uint32] | NDArray[np.uint16]
    """Shape (size,): number of the function of each canonical legal slot with this side to move, else 0."""
    start: NDArray[np.int64]
    """Shape (n + 1,): the entries of function k are ``start[k]`` to ``start[k + 1]`` - 1."""
    accrued: NDArray[np.uint8]
    """Shape (entries,): code of the first A of each entry."""
    value: NDArray[np.uint8]
    """Shape (entries,): code of V(P, A), ``NONE`` if it equals A, or ``FRESH`` if it equals W(P).

    The code of W(P) itself does not occur."""

    def without_unused(self) -> "ValueFunctions":
        """Return only the functions that some position has, renumbered in order."""
        used_numbers, new_numbers = np.unique(self.function_numbers, return_inverse=True)
        counts = np.diff(self.start)[used_numbers]
        start = np.concatenate([[0], np.cumsum(counts)])
        entries = joined_ranges(self.start[used_numbers], counts)
        return ValueFunctions(
            self.side, new_numbers.astype(np.uint32), start, self.accrued[entries], self.value[entries]
        )

    def shorten_numbers(self) -> None:
        """Store the numbers of the functions in two bytes each, if they fit, to save memory."""
        if len(self.start) <= 1 << 16:
            self.function_numbers = self.function_numbers.astype(np.uint16)

    def values_for(self, accrued: Code) -> NDArray[np.uint8]:
        """Return the value of each function for an accrued score: a code, ``NONE`` or ``FRESH``.

        The shape is (functions,).
        """
        applies = self.accrued <= accrued if accrued < NONE else self.accrued >= accrued
        applies &= (self.accrued < NONE) == (accrued < NONE)
        functions = np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))
        values = np.full(len(self.start) - 1, NONE, np.uint8)
        values[functions[applies]] = self.value[applies]  # if several entries apply, the last one is kept
        return values


def _no_codes() -> NDArray[np.uint8]:
    return np.zeros(0, np.uint8)


def _no_plies() -> NDArray[np.uint16]:
    return np.zeros(0, np.uint16)


@dataclass(slots=True)
class Table:
    """All values and depths of one material in one variant.

    Only the fresh values and depths are required; the other arrays are empty by default.

    V and D are the value and depth of a position P with an accrued score A, and W is the fresh value
    (docs/glossary.md).

    In whole-game mobility, V(P, A) is W(P) if W(P) has a smaller rank than A, else A. The table then does not
    store values of accrued scores.

    Sides to move are 0 for White and 1 for Black. :class:`Layout` defines the slots.
    """

    material: Material
    variant: Variant
    value: NDArray[np.uint8]
    """Shape (2, size): code of the fresh value W of every canonical legal position, else ``NONE``."""
    depth: NDArray[np.uint16]
    """Shape (2, size): fresh depth D in plies, 0 for slots without a position."""
    run_mask: NDArray[np.uint64] = field(default_factory=lambda: np.zeros((2, 2, 0), np.uint64))
    """Shape (2, 2, size // 64), by holder of A (0 White, 1 Black) and side to move: bit i % 64 of word i //
    64 is set if slot i has runs. Without runs, V(P, A) = A for all accrued scores of that holder. The shape
    is (2, 2, 0) if the table does not store values of accrued scores.

    A run gives V(P, A) and D(P, A) for A of its rank and above, up to the next run of the position. The last
    run ends at the rank where the value becomes W(P). Below the rank of the first run, V(P, A) = A.
    """
    run_rank: NDArray[np.uint8] = field(default_factory=_no_codes)
    """Shape (runs,): rank of A at which each run begins, plus ``LAST_RUN`` for a slot's last run; ordered by
    holder, side, slot and rank."""
    run_value: NDArray[np.uint8] = field(default_factory=_no_codes)
    """Shape (runs,): code of V(P, A), ``NONE`` for A itself at depth 0, or ``FRESH`` for W(P) and D(P)."""
    run_depth: NDArray[np.uint16] = field(default_factory=_no_plies)
    """Shape (runs,): D(P, A) in plies; 0 if the value is ``NONE`` or ``FRESH``."""
    ep_config: NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 2), np.int32))
    """Shape (n, 2): phase and target square of every possible en passant capture."""
    ep_value: NDArray[np.uint8] = field(default_factory=lambda: _no_codes().reshape(0, 0))
    """Shape (n, phase_size): code of W of the positions with that en passant right, else ``NONE``."""
    ep_depth: NDArray[np.uint16] = field(default_factory=lambda: _no_plies().reshape(0, 0))
    """Shape (n, phase_size): D in plies of the positions with that en passant right."""
    functions: ValueFunctions | None = None
    """The values V(P, A) of a packed table, which has no runs; None if it stores none."""

    @property
    def layout(self) -> Layout:
        """The layout of the table."""
        return layout_of(self.material)

    @property
    def stores_accrued(self) -> bool:
        """Whether the table stores values of accrued scores."""
        return self.accrued_form is not AccruedForm.NOTHING

    @property
    def accrued_form(self) -> AccruedForm:
        """The form in which the table stores values of accrued scores."""
        if self.functions is not None:
            return AccruedForm.FUNCTIONS
        return AccruedForm.RUNS if self.run_mask.size else AccruedForm.NOTHING

    @property
    def position_counts(self) -> tuple[int, int]:
        """Number of canonical legal positions without an en passant right, for each side to move."""
        white, black = map(count_positions, self.value)
        return white, black

    @property
    def value_counts(self) -> NDArray[np.uint64]:
        """Number of positions with each value, without en passant positions.

        The shape is (2, 256), by side to move and code. ``NONE`` is not counted.
        """
        return count_values(self.value)

    @property
    def ep_position_count(self) -> int:
        """Number of canonical positions with an en passant right."""
        return int(np.count_nonzero(self.ep_value != NONE))

    @property
    def max_depth(self) -> int:
        """Greatest depth of the table in plies, including accrued scores and en passant positions."""
        return max(map(greatest, (self.depth, self.ep_depth, self.run_depth)))

    @property
    def nbytes(self) -> int:
        """Size in bytes of the arrays, without functions."""
        runs = self.run_mask.nbytes + self.run_rank.nbytes + self.run_value.nbytes + self.run_depth.nbytes
        return self.value.nbytes + self.depth.nbytes + runs + self.ep_value.nbytes + self.ep_depth.nbytes

    def fresh_only(self) -> "Table":
        """Return the fresh values and depths alone, for caches."""
        return Table(self.material, self.variant, self.value, self.depth)

    def read_slots(self, side: Side, start: int, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> None:
        """Implement :meth:`Source.read_slots`."""
        slots = slice(start, start + len(value))
        value[:], depth[:] = self.value[side, slots], self.depth[side, slots]

    def read_en_passant(self, row: int, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> None:
        """Implement :meth:`EnPassantSource.read_en_passant`."""
        value[:], depth[:] = self.ep_value[row], self.ep_depth[row]

    def facts(self) -> dict[str, Any]:
        """Return what the file states about the table, in the order of the manifest (docs/format.md)."""
        layout = self.layout
        return {
            "rules": self.variant,
            "material": self.material.name,
            "free_men": free_men_text(layout),
            "pawns": pawns_text(layout),
            "size": layout.size,
            "phase_size": layout.phase_size,
            "positions": self.position_counts,
            "ep_positions": self.ep_position_count,
            "accrued": int(self.stores_accrued),
            "runs": self.run_rank.size if self.functions is None else self.functions.accrued.size,
            "max_depth": self.max_depth,
        }

    def check_shapes(self) -> None:
        """Check that the shapes of the arrays agree with the material and with each other.

        :raises ValueError: if the shapes do not agree.
        """
        size = self.layout.size
        config_count = len(self.ep_config)
        phase_size = self.layout.phase_size
        has_runs = self.accrued_form is AccruedForm.RUNS
        expected_shapes: list[tuple[NDArray[Any], tuple[int, ...]]] = [
            (self.value, (2, size)),
            (self.depth, (2, size)),
            (self.run_mask, (2, 2, size // 64 if has_runs else 0)),
            (self.run_value, self.run_rank.shape),
            (self.run_depth, self.run_rank.shape),
            (self.ep_config, (config_count, 2)),
            (self.ep_value, (config_count, phase_size)),
            (self.ep_depth, (config_count, phase_size)),
        ]
        if self.functions is not None:
            entries = (int(self.functions.start[-1]),)
            expected_shapes += [
                (self.functions.function_numbers, (size,)),
                (self.functions.accrued, entries),
                (self.functions.value, entries),
            ]
        slot_count = int(np.count_nonzero(self.run_rank & LAST_RUN))
        if slot_count != int(np.bitwise_count(self.run_mask).sum(dtype=np.int64)):
            raise ValueError(f"table {self.material}: the runs of {slot_count} slots do not fit the mask")
        if self.stores_accrued and not self.variant.layered:
            raise ValueError(f"table {self.material}: the variant needs no values for accrued scores")
        for array, shape in expected_shapes:
            if array.shape != shape:
                raise ValueError(f"table {self.material}: array of shape {array.shape}, expected {shape}")


class Source(Protocol):
    """A table whose fresh values and depths can be read."""

    def read_slots(self, side: Side, start: int, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> None:
        """Fill arrays of shape (n,) with the values and depths of n consecutive slots of one phase.

        Only canonical slots have to be correct.

        :param side: side to move.
        :param start: the first slot.
        """


class EnPassantSource(Protocol):
    """A table whose en passant positions can be read."""

    def read_en_passant(self, row: int, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> None:
        """Fill arrays of shape (phase size,) with the values and depths of the configuration in row ``row``.

        Rows are those of :func:`tbgen.index.zeroing.en_passant_configs`."""


class SolvedTable(Source, EnPassantSource, Protocol):
    """A table that has been solved, including its en passant positions."""


def count_values(value: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return the count of each code in each row of ``value``, as an array of shape (2, 256).

    ``NONE`` is not counted.

    :param value: codes, shape (2, n), where n is even.
    """
    counts = np.zeros((2, 256), np.uint64)
    for code_counts, codes in zip(counts, value, strict=True):
        for part in parts_of(codes):
            byte_pairs = np.bincount(part.view(np.uint16), minlength=1 << 16).astype(np.uint64)
            byte_pairs = byte_pairs.reshape(256, 256)
            code_counts += byte_pairs.sum(axis=0) + byte_pairs.sum(axis=1)
    counts[:, NONE] = 0
    return counts


def count_positions(value: NDArray[np.uint8]) -> int:
    """Return how many elements of ``value``, shape (n,), are not ``NONE``."""
    return sum(int(np.count_nonzero(part != NONE)) for part in parts_of(value))


def greatest(array: NDArray[Any]) -> int:
    """Return the greatest element of a contiguous array of unsigned integers, 0 if it is empty."""
    return max((int(part.max()) for part in parts_of(array.reshape(-1))), default=0)


def parts_of(array: NDArray[Any], size: int = _MAX_PART_ELEMENTS) -> Iterator[NDArray[Any]]:
    """Yield consecutive parts of a one-dimensional array, each of at most ``size`` elements.

    Operations on a whole array would need large temporary arrays. Parts of a large mapped file are unloaded
    after their use.
    """
    for start in range(0, len(array), size):
        part = array[start : start + size]
        yield part
        unload(part)


def free_men_text(layout: Layout) -> str:
    """Return the free men in the order of the layout, White's in upper case.

    >>> free_men_text(layout_of(Material.parse("KBvKN")))
    'K k B n'
    >>> free_men_text(layout_of(Material.parse("KBvK[WD]")))
    'K k B [wd]'
    """
    names = (layout.material.kinds[kind].name for kind in layout.kinds)
    pairs = zip(names, layout.colours, strict=True)
    return " ".join(name.lower() if colour else name for name, colour in pairs)


def pawns_text(layout: Layout) -> str:
    """Return the pawns in the order of a placement, White's in upper case.

    >>> pawns_text(layout_of(Material.parse("KPvKP")))
    'P p'
    """
    return " ".join(["P"] * layout.white_pawns + ["p"] * layout.black_pawns)


def fresh_bytes(size: int) -> int:
    """Return the number of bytes that all fresh values and depths of a table need.

    :param size: number of slots for one side to move.
    """
    return 2 * size * BYTES_PER_SLOT


def scratch_bytes(size: int, has_functions: bool) -> int:
    """Return the size in bytes of the temporary file with which a table with pawns is solved.

    :param has_functions: whether the file also has the number of the function of each slot.
    """
    return fresh_bytes(size) + (np.dtype(np.uint32).itemsize * size if has_functions else 0)


class RunIndex:
    """A table in memory, with an index that finds the runs of its slots."""

    def __init__(self, table: Table) -> None:
        self.table: Final = table
        self._mask = table.run_mask.reshape(4, -1)
        counts = np.bitwise_count(self._mask).astype(np.int64)
        self._slots_before = np.cumsum(counts).reshape(counts.shape) - counts
        """Number of slots with runs before each word of the mask."""
        self._first_runs = np.flatnonzero(np.append(True, table.run_rank >= LAST_RUN))
        """The first run of each slot with runs; the last element is the number of runs."""

    @property
    def nbytes(self) -> int:
        """Size of the table and the index in bytes."""
        return self.table.nbytes + self._slots_before.nbytes + self._first_runs.nbytes

    def runs_of_slots(
        self, holder: NDArray[np.int64] | int, side: NDArray[np.uint8] | int, slots: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the runs of slots for the accrued scores of a holder, as two arrays of shape (n,).

        For each run, the first array contains the index of its slot in ``slots``, and the second array
        contains the index of the run. The runs of a slot are in order of rising rank.
        """
        row = 2 * holder + side
        word = slots // _WORD_SLOTS
        bit = (slots % _WORD_SLOTS).astype(np.uint64)
        mask = self._mask[row, word]
        one = np.uint64(1)
        index = np.flatnonzero(mask >> bit & one)
        earlier_in_word = np.bitwise_count(mask[index] & (one << bit[index]) - one)
        set_bits_before = self._slots_before[row, word][index] + earlier_in_word
        counts = self._first_runs[set_bits_before + 1] - self._first_runs[set_bits_before]
        return np.repeat(index, counts), joined_ranges(self._first_runs[set_bits_before], counts)

    def runs_of_range(self, holder: int, side: int, start: int, size: int) -> tuple[NDArray[np.int64], slice]:
        """Return the runs of consecutive slots: the slot of each run, relative to ``start``, and the runs.

        :param start: the first slot, a multiple of 64.
        :param size: the number of slots, a multiple of 64.
        """
        row = 2 * holder + side
        first_word = start // _WORD_SLOTS
        words = self._mask[row, first_word : (start + size) // _WORD_SLOTS]
        slots = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))
        slots_before = int(self._slots_before[row, first_word])
        ends = self._first_runs[slots_before : slots_before + slots.size + 1]
        return np.repeat(slots, np.diff(ends)), slice(*ends[[0, -1]].tolist())

    def look_up(
        self, side: NDArray[np.uint8], slots: NDArray[np.int64], accrued: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
        """Return the values and depths of states, as :meth:`tbgen.tables.open_table.OpenTable.look_up` does.

        Slots without a position have the value NONE and the depth 0.
        """
        table = self.table
        value, depth = table.value[side, slots], table.depth[side, slots].astype(np.int32)
        rank = np.minimum(accrued, 255 - accrued)
        rows = np.flatnonzero((accrued >= 0) & (value != NONE) & (rank <= np.minimum(value, 255 - value)))
        if not len(rows):
            return value, depth
        code = accrued[rows]
        stored = np.full(len(rows), NONE, np.uint8)
        plies = np.zeros(len(rows), np.int32)
        index, run = self.runs_of_slots((code > NONE).astype(np.int64), side[rows], slots[rows])
        applies = table.run_rank[run] % LAST_RUN <= rank[rows][index]
        index, run = index[applies], run[applies]
        stored[index], plies[index] = table.run_value[run], table.run_depth[run]  # a slot's last run wins
        differs = stored != FRESH
        rows, stored = rows[differs], stored[differs]
        value[rows] = np.where(stored == NONE, code[differs], stored)
        depth[rows] = plies[differs]
        return value, depth
