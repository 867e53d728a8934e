"""The cost model: estimates of the time, memory and disk space needed to process tables and cells.

The measured rates are in ``costs.toml``. A slot is the number of a position in its table. Unless stated
otherwise, slots are counted for one side to move.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from tbgen.board.material import Material, worth_of
from tbgen.board.variant import Variant
from tbgen.errors import UsageError
from tbgen.index.layout import Layout, layout_of
from tbgen.index.table import BYTES_PER_SLOT, AccruedForm, scratch_bytes
from tbgen.index.zeroing import (
    batches_of,
    block_slots,
    blocks_after_promotions,
    en_passant_configs,
    max_slots_of_batch,
    max_solving_slots,
    sides_after_promotion,
    threads_share_phase,
    used_slots,
)


@dataclass(frozen=True, slots=True)
class Cost:
    """The estimated cost of a job."""

    steps: Mapping[str, float] = field(default_factory=dict)
    """Maps each step of the job, in order, to its wall time in seconds."""
    memory: int = 0
    """Bytes of memory."""
    disk: int = 0
    """Bytes of disk."""

    @property
    def seconds(self) -> float:
        """Wall time of all steps."""
        return sum(self.steps.values())


class StepRate(msgspec.Struct, frozen=True):
    """The cost of a step."""

    nanoseconds: float = 0
    """Wall time per slot; the slots of both sides to move are counted."""
    seconds: float = 0
    """Additional wall time, which does not depend on the number of slots."""
    memory: int = 0
    """Bytes of memory per slot."""
    file: float = 0
    """Bytes of disk per slot."""


class TableRate(msgspec.Struct, frozen=True):
    """The cost of building tables in which one side is stronger by a certain margin (see :func:`_rate_of`).

    Tuples contain the values for no pawn, for one pawn, and for two or more pawns.
    """

    nanoseconds: tuple[float, float, float]
    """Wall time per slot; the slots of both sides to move are counted."""
    file: dict[AccruedForm, tuple[float, float, float]]
    """Maps each form of accrued scores to the bytes of the file per slot of both sides to move. They are
    multiplied by the number of permutations of like men, since :func:`file_size` divides by it."""
    workspace: tuple[int, int, int]
    """Bytes of memory per slot of each phase that is being solved, in addition to the pool."""
    runs_memory: tuple[int, int, int] = (0, 0, 0)
    """Bytes of memory per slot for runs of accrued scores, if the table stores them."""


class FixedSeconds(msgspec.Struct, frozen=True):
    """Wall time that does not depend on the number of slots; ``costs.toml`` explains the fields."""

    table: float
    report_lines: float
    read_report_data: float
    castling: tuple[float, ...]


class Sharing(msgspec.Struct, frozen=True):
    """Gain from more than two threads; ``costs.toml`` explains the fields."""

    alone: float
    overhead: float


class Rates(msgspec.Struct, frozen=True):
    """The content of ``costs.toml``, which documents units and meanings."""

    min_mib: dict[str, int]
    seconds: FixedSeconds
    sharing: Sharing
    steps: dict[str, StepRate]
    tables: dict[Variant, dict[str, TableRate]]


RATES: Final = msgspec.convert(tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")), Rates)

BASE_MEMORY: Final = RATES.min_mib["tables"] << 20
"""Bytes of memory of a process with compiled kernels and without tables."""


def seconds_of(step: str, slots: int, threads: int = 2) -> float:
    """Return the wall time of a step of :data:`RATES`, for both sides to move."""
    rate = RATES.steps[step]
    return rate.seconds + _wall_time(slots, rate.nanoseconds, threads)


def _wall_time(slots: int, nanoseconds: float, threads: int) -> float:
    """Return the wall time in seconds. ``nanoseconds`` is for two threads; more are assumed not to help."""
    return 2 * slots * nanoseconds * 1e-9 * 2 / min(threads, 2)


def memory_of(step: str, slots: int) -> int:
    """Return the bytes of memory of a step of :data:`RATES`."""
    return slots * RATES.steps[step].memory


def disk_of(step: str, slots: int) -> int:
    """Return the bytes of disk of a step of :data:`RATES`."""
    return round(slots * RATES.steps[step].file)


def _rate_of(material: Material, variant: Variant) -> TableRate:
    """Return the rates for a material. They depend on how much stronger one side is.

    The more equal the sides, the slower the build, because more positions stay undecided for a long time.

    :raises UsageError: if there are no rates for the variant.
    """
    white, black = (sum(map(worth_of, men)) for men in material.sides)
    lead = abs(white - black)
    if variant not in RATES.tables:
        raise UsageError(f"costs.toml has no rates of tables for the rules {variant}")
    balance = "decisive" if lead >= 6 else "clear" if lead >= 4 else "even"
    return RATES.tables[variant]["lone" if material.black == "K" else balance]


def seconds_to_build(material: Material, variant: Variant, form: AccruedForm, threads: int = 2) -> float:
    """Return the wall time of building a table, excluding the compilation of kernels."""
    layout = layout_of(material)
    nanoseconds = _rate_of(material, variant).nanoseconds[_pawn_index(material)]
    seconds = _wall_time(layout.size, nanoseconds, threads)
    seconds += seconds_of("packing", layout.size, threads) if form is AccruedForm.FUNCTIONS else 0
    return RATES.seconds.table + seconds * _share_of_time(threads)


def _share_of_time(threads: int) -> float:
    """Return the wall time of a build as a share of its time with two threads, or with one if there is one.

    The time in which one thread is alone at work remains. The rest is divided, but takes more processor time.
    """
    more = max(0, threads - 2)
    alone, overhead = RATES.sharing.alone, RATES.sharing.overhead
    return alone + (1 - alone) * (1 + overhead * more) * 2 / (2 + more)


def memory_to_build(material: Material, variant: Variant, form: AccruedForm, threads: int = 2) -> int:
    """Return the bytes of memory for building a table, excluding the memory that concurrent builds share."""
    layout = layout_of(material)
    rate = _rate_of(material, variant)
    pawn_index = _pawn_index(material)
    slots = concurrent_slots(layout, threads)
    memory = pool_memory(layout) + slots * rate.workspace[pawn_index]
    if form is AccruedForm.FUNCTIONS:
        memory += memory_of("packing", slots)
    elif form is AccruedForm.RUNS:
        memory += layout.size * rate.runs_memory[pawn_index]
    return memory


def file_size(material: Material, variant: Variant, form: AccruedForm) -> int:
    """Return the size of a table's file in bytes."""
    layout = layout_of(material)
    rate = _rate_of(material, variant).file[form][_pawn_index(material)]
    return 30_000 + int(2 * layout.size * rate / layout.permutation_count)


def scratch_size(material: Material, form: AccruedForm) -> int:
    """Return the size in bytes of the temporary file that the build of a table needs."""
    return scratch_bytes(layout_of(material).size, form is AccruedForm.FUNCTIONS) if material.pawns else 0


def plain_copy_size(material: Material, variant: Variant) -> int:
    """Return the size in bytes of a packed table's plain copy, which has no accrued scores."""
    return file_size(material, variant, AccruedForm.NOTHING)


def _pawn_index(material: Material) -> int:
    return min(material.pawns, 2)


def pool_memory(layout: Layout, slots: int | None = None) -> int:
    """Return the bytes of the pool, the memory area with the values of the table and its sub-tables.

    :param slots: number of slots of the table itself and of tables that promotions lead to; None for as many
        as are in use at most while the whole table is solved.
    """
    own_slots = max_solving_slots(layout) if slots is None else slots
    en_passant_slots = len(en_passant_configs(layout)) * layout.phase_size
    return BYTES_PER_SLOT * (own_slots + en_passant_slots + _slots_after_captures(layout))


def concurrent_slots(layout: Layout, threads: int) -> int:
    """Return the number of slots of the phases that are solved at once."""
    phase_count = 1 if threads_share_phase(layout) else min(threads, len(layout.placements))
    return phase_count * layout.slots_to_solve


def layers_memory(layout: Layout) -> int:
    """Return the bytes of memory for computing all layers of a table, batch by batch."""
    slots = max_slots_of_batch(layout)
    workspace = _rate_of(layout.material, Variant.R_MOBILITY).workspace[_pawn_index(layout.material)]
    # With pawns, the pool contains the phases that one or two steps of each pawn lead to; without pawns, it
    # contains the workspace.
    phase_count = min(len(layout.placements), 2 * max(layout.pawns, 1) * slots // layout.phase_size)
    own_slots = 2 * layout.phase_size * phase_count if layout.pawns else 2 * layout.slots_to_solve
    return pool_memory(layout, own_slots + _slots_after_promotions(layout)) + slots * workspace


def layer_memory(layout: Layout, phase: int) -> int:
    """Return the bytes of memory for computing one layer of a phase."""
    successor_slots = _slots_after_captures(layout)
    successor_slots += 2 * sum(map(block_slots, blocks_after_promotions(layout, [phase])))
    return memory_of("layer", layout.slots_to_solve) + BYTES_PER_SLOT * (
        6 * layout.phase_size + successor_slots
    )


def unpacking_memory(layout: Layout) -> int:
    """Return the bytes of memory for unpacking a packed table. For a table with pawns, only the pool and one
    phase are in memory."""
    if layout.pawns:
        return memory_of("unpacking", layout.phase_size) + pool_memory(layout)
    return memory_of("unpacking", layout.size) + pool_memory(layout, 0)


def _slots_after_promotions(layout: Layout) -> int:
    """Return how many used slots promotions from a batch of phases lead to: the maximum of all batches."""
    sides = sides_after_promotion(layout)
    blocks = (blocks_after_promotions(layout, range(*batch)) for batch in batches_of(layout))
    return max(sum(used_slots(block) * len(sides[block[0]]) for block in batch) for batch in blocks)


def _slots_after_captures(layout: Layout) -> int:
    """Return the number of slots, for both sides to move, of the tables that captures lead to."""
    material = layout.material
    return sum(2 * layout_of(smaller).size for smaller in material.successors() if smaller.men < material.men)
