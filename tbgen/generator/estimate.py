"""What a build will need: time, memory and disk, before it begins."""

import os
import shutil
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.errors import TbgenError
from tbgen.index.layout import Layout, layout_of
from tbgen.index.source import BYTES_PER_SLOT, fresh_bytes
from tbgen.index.table import AccruedForm
from tbgen.index.zeroing import en_passant_configs, is_wide, most_promoted_slots
from tbgen.store.form import form_of, is_packed
from tbgen.store.sources import KEPT, SMALL

_MIB: Final = 1 << 20
BASE_MEMORY: Final = 230 * _MIB
"""The interpreter, numba and compiled kernels; in the process that compiles them, it may be 0.7 GiB."""


@dataclass(frozen=True)
class Estimate:
    """What one table needs, from measured rates per slot; for whole sets good to about 30 %."""

    material: Material
    seconds: float
    """Wall time, kernels compiled."""
    memory: int
    """Peak memory in bytes of a process that holds nothing else."""
    shared: int
    """Of these, what tables at work at once share: interpreter and kernels, and small sub-tables."""
    kept: int
    """Bytes of the finished table that the process keeps for those that rest on it."""
    disk: int
    """Size of the file in bytes."""
    copy: int
    """Size in bytes of a plain copy of a packed table."""
    threads: int
    """How many threads work on it."""

    def beside(self, held: int) -> int:
        """Return the peak in bytes of a process that already holds some, of which nothing is used again."""
        return self.memory + max(0, held - self.shared)


@cache
def estimate(
    material: Material, variant: Variant, threads: int = 2, form: AccruedForm | None = None
) -> Estimate:
    """Estimate one table of a variant from its size, its kind, and its form
    (:func:`tbgen.store.form.form_of`); rates measured with ``tbgen build --json`` on two cores."""
    form = form_of(material, form)
    packs = form is AccruedForm.FUNCTIONS
    layout, kind = layout_of(material), _kind(material, variant)
    slots, pawns = 2 * layout.size, min(material.pawns, 2)
    rate = kind.nanoseconds[pawns] + (_NANOSECONDS_TO_PACK if packs else 0)
    seconds = 0.02 + slots * 1e-9 * rate * 2 / min(threads, 2)
    disk = _size(layout, kind.bytes_per_slot(form, pawns))
    copy = copy_size(material, variant) if packs else 0
    shared = shared_memory(material)
    own = pool_memory(layout) + slots_at_work(layout, threads) * kind.workspace
    own += layout.size * (_BYTES_TO_PACK if packs else kind.accrued[pawns] * (form is AccruedForm.RUNS))
    return Estimate(material, seconds, shared + own, shared, _kept(material), disk, copy, threads)


def copy_size(material: Material, variant: Variant) -> int:
    """Return the bytes of the plain copy of a packed table, which has no accrued scores."""
    return _size(layout_of(material), _kind(material, variant).bytes_fresh[min(material.pawns, 2)])


def together(needs: Iterable[Estimate], kept: int = 0) -> int:
    """Return the peak in bytes of a process that works on some tables at once.

    :param kept: bytes of tables that it has finished before and keeps, as far as it keeps any.
    """
    own = small = 0
    for table in needs:
        own += table.memory - table.shared
        small += table.shared - BASE_MEMORY
    return BASE_MEMORY + min(max(small, kept), KEPT) + own


def copies(
    todo: Collection[Material], variant: Variant, form: AccruedForm | None = None
) -> dict[Material, int]:
    """Return by material the bytes of the plain copies of packed tables that a build makes and keeps until it
    ends.

    They are of those that promotions lead to. Of tables without pawns that it does not build itself it makes
    none, since it reads each of them once.
    """
    return {
        material: copy_size(material, variant)
        for material in {after for before in todo for after in before.successors() if after.men == before.men}
        if is_packed(material, form) and (material.pawns or material in todo)
    }


def _size(layout: Layout, bytes_per_slot: float) -> int:
    return 30_000 + int(2 * layout.size * bytes_per_slot / layout.orders)


def shared_memory(material: Material) -> int:
    """Return the bytes of what tables that are built by one process share (:class:`Sources`)."""
    return BASE_MEMORY + min(KEPT, sum(map(_kept, material.successors())))


def _kept(material: Material) -> int:
    size = fresh_bytes(layout_of(material).size)
    return size if size <= SMALL else 0


def pool_memory(layout: Layout) -> int:
    """Return the bytes of the pool, which has the table and what its moves lead to."""
    rights = len(en_passant_configs(layout)) * layout.phase_size
    smaller = [m for m in layout.material.successors() if m.men < layout.material.men]
    around = sum(2 * layout_of(m).size for m in smaller) + most_promoted_slots(layout)
    return fresh_bytes(layout.size) + BYTES_PER_SLOT * (rights + around)


def slots_at_work(layout: Layout, threads: int) -> int:
    """Return how many slots, of one side to move, the phases have that are solved at one time."""
    return layout.phase_size * (1 if is_wide(layout) else min(threads, len(layout.placements)))


_NANOSECONDS_TO_PACK: Final = 25
"""Wall time per slot."""
_BYTES_TO_PACK: Final = 8
"""Bytes of memory per slot of a side: numbers of functions, and what is coded."""


@dataclass(frozen=True)
class _Kind:
    """What materials of one balance take, each by the number of pawns: 0, 1, 2 or more."""

    nanoseconds: tuple[float, float, float]
    """Wall time per slot."""
    bytes_plain: tuple[float, float, float]
    """In the file per slot, over the orders of like men, accrued scores included."""
    bytes_fresh: tuple[float, float, float]
    """The same without accrued scores."""
    bytes_packed: tuple[float, float, float]
    """The same of packed tables."""
    workspace: int
    """Bytes of memory that solving takes per slot (of one side to move) of every phase at work."""
    accrued: tuple[int, int, int]
    """Bytes of memory that runs of accrued scores take per slot of a side, if the table stores them."""

    def bytes_per_slot(self, form: AccruedForm, pawns: int) -> float:
        """Return the bytes in a file of some form per slot, over the orders of like men."""
        rates = {
            AccruedForm.RUNS: self.bytes_plain,
            AccruedForm.NOTHING: self.bytes_fresh,
            AccruedForm.FUNCTIONS: self.bytes_packed,
        }
        return rates[form][pawns]


def _whole_game(
    nanoseconds: tuple[float, float, float], size: tuple[float, float, float], workspace: int
) -> _Kind:
    """The same in whole-game mobility, where tables have no accrued scores and are solved without layers."""
    return _Kind(nanoseconds, size, size, (0.1, 0.12, 0.15), workspace, (0, 0, 0))


_KINDS: Final = {
    Variant.R_MOBILITY: (
        _Kind(
            (38, 48, 100),
            (0.22, 0.35, 0.33),
            (0.19, 0.31, 0.30),
            (0.04, 0.09, 0.16),
            19,
            (1, 1, 1),
        ),
        _Kind(
            (75, 80, 115),
            (0.36, 0.44, 0.5),
            (0.32, 0.38, 0.45),
            (0.045, 0.12, 0.18),
            20,
            (2, 2, 4),
        ),
        _Kind(
            (95, 100, 120),
            (0.36, 0.46, 0.6),
            (0.32, 0.38, 0.45),
            (0.065, 0.14, 0.2),
            20,
            (2, 2, 8),
        ),
        _Kind(
            (195, 180, 140),
            (0.85, 1.25, 0.92),
            (0.44, 0.51, 0.51),
            (0.12, 0.2, 0.22),
            22,
            (14, 45, 18),
        ),
    ),
    Variant.WHOLE_GAME: (
        _whole_game((27, 42, 88), (0.2, 0.3, 0.3), 14),
        _whole_game((62, 70, 100), (0.28, 0.38, 0.45), 18),
        _whole_game((75, 80, 100), (0.33, 0.38, 0.45), 18),
        _whole_game((90, 90, 95), (0.43, 0.52, 0.51), 18),
    ),
}
"""By variant: a lone king, a decisive lead, a clear one, none."""


def _kind(material: Material, variant: Variant) -> _Kind:
    """How one-sided a material is: the more even, the more positions stay undecided for long."""
    lone, decisive, clear, even = _KINDS[variant]
    if material.black == "K":
        return lone
    lead = abs(_strength(material.white) - _strength(material.black))
    return decisive if lead >= 6 else clear if lead >= 4 else even


def _strength(men: str) -> float:
    return sum({"Q": 9.5, "R": 5, "B": 3.25, "N": 3.25, "P": 1}.get(man, 0) for man in men)


def pace(done: Iterable[tuple[Estimate, float]]) -> float:
    """Return how many times its estimate a table takes on this machine, by those that are done and the
    seconds they took; nearly 1 until they are worth more than a minute."""
    foreseen = taken = _SURE
    for needs, seconds in done:
        foreseen += needs.seconds
        taken += seconds
    return taken / foreseen


_SURE: Final = 60.0


def check_memory(estimates: Iterable[Estimate], cap: int | None = None, held: int = 0) -> None:
    """Check that no table needs more memory than the process may take: ``cap`` bytes, else what the machine
    has.

    :param held: bytes that the process holds already.
    :raises TbgenError: if one does.
    """
    limit = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if cap is None else cap
    too_large = [needs for needs in estimates if needs.beside(held) > limit]
    if not too_large:
        return
    first, others = too_large[0], len(too_large) - 1
    more = f", and {others} more of the tables to build exceed it" if others else ""
    besides = "" if first.beside(held) == first.memory else ", with what the process holds already,"
    whose, remedy = "this machine has", "build on a larger one"
    if cap is not None:
        whose, remedy = "--memory allows", "allow more, build with fewer --threads, or on a larger machine"
    raise TbgenError(
        f"{first.material} needs about {first.beside(held) / _MIB:,.0f} MiB of memory{besides} and {whose} "
        f"{limit / _MIB:,.0f} MiB{more}: {remedy}"
    )


def check_disk(estimates: Collection[Estimate], directory: Path, copied: Mapping[Material, int]) -> None:
    """Check that the disk has room for tables, and for those plain copies that they take.

    :param copied: as of :func:`copies`.
    :raises TbgenError: if it has not.
    """
    disk = sum(needs.disk + copied.get(needs.material, 0) for needs in estimates)
    free = shutil.disk_usage(directory).free
    if disk > free:
        names = [needs.material.name for needs in estimates]
        who = f"{names[0]} needs" if len(names) == 1 else f"the {len(names)} tables need"
        raise TbgenError(
            f"the disk is full: {who} about {disk / _MIB:,.1f} MiB and {directory} has "
            f"{free / _MIB:,.1f} MiB left; make room and build again, or choose another directory with --dir"
        )
