"""A table in memory: what the solver hands to the writer and bulk readers get; and tables as sources.

Sources are where the solver gets the fresh values of successor materials from.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import NONE, Code
from tbgen.board.variant import Variant
from tbgen.index.arrays import ranges
from tbgen.index.layout import Layout, Side, layout_of

FRESH: Final = 128
"""Value of a run that stands for the fresh value and depth; no score has this code."""

NO_SCORE: Final = -1
"""In the place of the code of an accrued score: there is none."""

LAST_RUN: Final = 128
"""Added to the rank of a position's last run."""

_COUNTED_AT_ONCE: Final = 1 << 20


class AccruedForm(Enum):
    """What a table holds of the values V(P, A) of accrued scores."""

    NOTHING = "nothing"
    RUNS = "runs"
    """Values and depths, both sides to move: ``Table.run_mask`` and what belongs to it."""
    FUNCTIONS = "functions"
    """Values with one side to move, from which those with the other follow: ``Table.functions``."""


@dataclass(slots=True)
class Functions:
    """V(P, .) of every position with one side to move as a step function of A, without depths.

    The entries of a function say from which A on V(P, A) is what: White's A by rising rank first, then
    Black's. Before the first entry of a holder V(P, A) = A. Neighbours of one holder differ, and the first is
    not ``NONE``. A function counts up to the rank from which V(P, A) = W(P) anyway: what it says beyond means
    nothing. Function 0 has no entries; the others follow by falling frequency, then by their entries.
    """

    side: Side
    """The side to move."""
    number: NDArray[np.uint32]
    """Shape (size,): the function of every canonical legal slot with this side to move, 0 elsewhere."""
    start: NDArray[np.int64]
    """Shape (n + 1,): the entries of function k are ``start[k]`` to ``start[k + 1]`` - 1."""
    accrued: NDArray[np.uint8]
    """Shape (entries,): code of the A from which on the entry counts."""
    value: NDArray[np.uint8]
    """Shape (entries,): code of V(P, A), or ``NONE`` for A itself, or ``FRESH`` for W(P), never the
    code of W(P)."""

    def used(self) -> "Functions":
        """Return the same without functions that no position has; numbers count those that are left, in their
        order."""
        left, number = np.unique(self.number, return_inverse=True)
        counts = np.diff(self.start)[left]
        start, entries = np.concatenate([[0], np.cumsum(counts)]), ranges(self.start[left], counts)
        return Functions(
            self.side, number.astype(np.uint32), start, self.accrued[entries], self.value[entries]
        )

    def said(self, accrued: Code) -> NDArray[np.uint8]:
        """Return what each function says of an accrued score with this code: a code, ``NONE`` or ``FRESH``;
        shape (functions,)."""
        counts = self.accrued <= accrued if accrued < NONE else self.accrued >= accrued
        counts &= (self.accrued < NONE) == (accrued < NONE)
        function = np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))
        found = np.full(len(self.start) - 1, NONE, np.uint8)
        found[function[counts]] = self.value[counts]  # of several that count the last one stays
        return found


@dataclass(slots=True)
class Table:
    """All values and depths of one material in one variant.

    In whole-game mobility V(P, A) is W(P) if its rank is smaller than that of A, else A, and no accrued
    scores are part of the table.

    Sides are numbered 0 = White to move, 1 = Black to move; slots are those of :class:`Layout`.
    """

    material: Material
    variant: Variant
    value: NDArray[np.uint8]
    """Shape (2, size): code of W of every canonical legal position, ``NONE`` elsewhere."""
    depth: NDArray[np.uint16]
    """Shape (2, size): D in plies, 0 where there is no position."""
    run_mask: NDArray[np.uint64]
    """Shape (2, 2, size // 64), holder of A (0 White, 1 Black) first, then side: bit i % 64 of word i // 64
    is set if slot i has runs; elsewhere V(P, A) = A for all accrued scores of that holder. Shape (2, 2, 0) if
    the accrued scores were left out of the table.

    A run says what V(P, A) and D(P, A) are from its rank of A on, until the next run of the position or
    the rank from which the fresh value counts. Before the first run V(P, A) = A.
    """
    run_rank: NDArray[np.uint8]
    """Shape (runs,), in the order (holder, side, slot, rank): first rank of A, plus ``LAST_RUN`` on a slot's
    last run."""
    run_value: NDArray[np.uint8]
    """Shape (runs,): code of V(P, A), or ``NONE`` for A itself at depth 0, or ``FRESH``."""
    run_depth: NDArray[np.uint16]
    """Shape (runs,): D(P, A) in plies, 0 with ``NONE`` and ``FRESH``."""
    ep_config: NDArray[np.int32]
    """Shape (n, 2): phase and target square of every possible en passant capture."""
    ep_value: NDArray[np.uint8]
    """Shape (n, phase_size): W of the positions with that en passant right, ``NONE`` elsewhere."""
    ep_depth: NDArray[np.uint16]
    """Shape (n, phase_size): D of the same."""
    functions: Functions | None = None
    """The accrued scores of a table that is to be packed, in place of runs."""

    @property
    def layout(self) -> Layout:
        """The index of the table."""
        return layout_of(self.material)

    @property
    def stores_accrued(self) -> bool:
        """Whether the values of accrued scores are part of the table."""
        return self.accrued_form is not AccruedForm.NOTHING

    @property
    def accrued_form(self) -> AccruedForm:
        """What the table holds of the values of accrued scores."""
        if self.functions is not None:
            return AccruedForm.FUNCTIONS
        return AccruedForm.RUNS if self.run_mask.size else AccruedForm.NOTHING

    @property
    def positions(self) -> tuple[int, int]:
        """Number of canonical legal positions without en passant right, White and Black to move."""
        white, black = map(count_positions, self.value)
        return white, black

    @property
    def counts(self) -> NDArray[np.uint64]:
        """Number of positions of every value: shape (2, 256), by side to move and code, 0 for ``NONE``; those
        with an en passant right are not among them."""
        return count_values(self.value)

    @property
    def ep_positions(self) -> int:
        """Number of canonical positions with an en passant right."""
        return int(np.count_nonzero(self.ep_value != NONE))

    @property
    def max_depth(self) -> int:
        """Greatest depth of the table in plies, accrued scores and en passant positions included."""
        arrays = [self.depth, self.ep_depth, self.run_depth]
        return max(int(array.max()) for array in arrays if array.size)

    def facts(self) -> dict[str, Any]:
        """Return what a file says about its table, in the order of the manifest (docs/format.md)."""
        layout = self.layout
        return {
            "rules": self.variant,
            "material": self.material.name,
            "free_men": free_men(layout),
            "pawns": pawns(layout),
            "size": layout.size,
            "phase_size": layout.phase_size,
            "positions": self.positions,
            "ep_positions": self.ep_positions,
            "accrued": int(self.stores_accrued),
            "runs": self.run_rank.size if self.functions is None else self.functions.accrued.size,
            "max_depth": self.max_depth,
        }

    def check_shapes(self) -> None:
        """Check that the arrays fit the material and each other.

        :raises ValueError: if they do not.
        """
        size, n_ep, phase_size = self.layout.size, len(self.ep_config), self.layout.phase_size
        has_runs = self.accrued_form is AccruedForm.RUNS
        expected: list[tuple[NDArray[Any], tuple[int, ...]]] = [
            (self.value, (2, size)),
            (self.depth, (2, size)),
            (self.run_mask, (2, 2, size // 64 if has_runs else 0)),
            (self.run_value, self.run_rank.shape),
            (self.run_depth, self.run_rank.shape),
            (self.ep_config, (n_ep, 2)),
            (self.ep_value, (n_ep, phase_size)),
            (self.ep_depth, (n_ep, phase_size)),
        ]
        if self.functions is not None:
            entries = (int(self.functions.start[-1]),)
            expected += [
                (self.functions.number, (size,)),
                (self.functions.accrued, entries),
                (self.functions.value, entries),
            ]
        runs = int(np.count_nonzero(self.run_rank & LAST_RUN))
        if runs != int(np.bitwise_count(self.run_mask).sum(dtype=np.int64)):
            raise ValueError(f"table {self.material}: the runs of {runs} slots do not fit the mask")
        if self.stores_accrued and not self.variant.layered:
            raise ValueError(f"table {self.material}: there are accrued scores, and its variant has none")
        for array, shape in expected:
            if array.shape != shape:
                raise ValueError(f"table {self.material}: array of shape {array.shape}, expected {shape}")


def count_values(value: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return how many times each code stands among some, shape (2, n), as shape (2, 256); 0 for ``NONE``."""
    counts = np.zeros((2, 256), np.uint64)
    for total, codes in zip(counts, value, strict=True):
        for part in _parts_of(codes):
            pairs = np.bincount(part.view(np.uint16), minlength=1 << 16).astype(np.uint64).reshape(256, 256)
            total += pairs.sum(axis=0) + pairs.sum(axis=1)
    counts[:, NONE] = 0
    return counts


def count_positions(value: NDArray[np.uint8]) -> int:
    """Return how many codes, shape (n,), are those of positions: not ``NONE``."""
    return sum(int(np.count_nonzero(part != NONE)) for part in _parts_of(value))


def _parts_of(codes: NDArray[np.uint8]) -> Iterator[NDArray[np.uint8]]:
    """Yield codes in parts: numpy widens what it counts."""
    for start in range(0, codes.size, _COUNTED_AT_ONCE):
        yield codes[start : start + _COUNTED_AT_ONCE]


def free_men(layout: Layout) -> str:
    """Return the free men in index order, White's in upper case.

    >>> free_men(layout_of(Material.parse("KBvKN"))), free_men(layout_of(Material.parse("KBvK[WD]")))
    ('K k B n', 'K k B [wd]')
    """
    names = (layout.material.kinds[kind].name for kind in layout.kinds)
    pairs = zip(names, layout.colours, strict=True)
    return " ".join(name.lower() if colour else name for name, colour in pairs)


def pawns(layout: Layout) -> str:
    """Return the pawns in the order of a placement, White's in upper case.

    >>> pawns(layout_of(Material.parse("KPvKP")))
    'P p'
    """
    return " ".join(["P"] * layout.white_pawns + ["p"] * layout.black_pawns)


BYTES_PER_SLOT: Final = 3
"""Bytes of a value and a depth in memory."""


KEPT: Final = 256 << 20
"""Bytes of small tables that a build keeps in memory for those that rest on them."""
SMALL: Final = KEPT // 4
"""Bytes of memory up to which a table is small."""


def fresh_bytes(size: int) -> int:
    """Return the bytes of all fresh values and depths of a table in memory.

    :param size: slots of one side to move.
    """
    return 2 * size * BYTES_PER_SLOT


class Source(Protocol):
    """A table whose fresh values and depths can be asked for, phase by phase and side by side."""

    def read_side(self, phase: int, side: Side, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> None:
        """Copy those of one phase with one side to move, at least of its canonical slots, to arrays of shape
        (phase size,)."""


class EnPassantSource(Protocol):
    """A table whose en passant positions can be asked for."""

    def read_en_passant(self, row: int, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> None:
        """Copy the values and depths of one en passant configuration to arrays of one phase's size."""


class StoredTable(Source, EnPassantSource, Protocol):
    """A whole table, as those need it that continue work on a table solved before."""


@dataclass(frozen=True)
class ArraySource:
    """A table in memory as a source: arrays of shape (2, size)."""

    value: NDArray[np.uint8]
    depth: NDArray[np.uint16]

    def read_side(self, phase: int, side: Side, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> None:
        """Copy one side of a phase; see :class:`Source`."""
        part = slice(phase * len(value), (phase + 1) * len(value))
        value[:], depth[:] = self.value[side, part], self.depth[side, part]

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.value.nbytes + self.depth.nbytes


@dataclass(frozen=True)
class ArrayTable(ArraySource):
    """A whole table in memory as a :class:`StoredTable`: en passant positions too, of shape (configurations,
    phase size)."""

    ep_value: NDArray[np.uint8]
    ep_depth: NDArray[np.uint16]

    def read_en_passant(self, row: int, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> None:
        """Copy one configuration; see :class:`StoredTable`."""
        value[:], depth[:] = self.ep_value[row], self.ep_depth[row]
