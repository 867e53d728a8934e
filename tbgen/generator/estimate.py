"""Estimates of the time, memory and disk of a build, and checks that the machine has enough."""

import shutil
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.costs import BASE_MEMORY, copy_size, file_size, memory_to_build, seconds_to_build
from tbgen.errors import TbgenError
from tbgen.index.layout import layout_of
from tbgen.index.table import KEPT, SMALL, fresh_bytes
from tbgen.store.format import form_of, is_packed
from tbgen.system.memory import total_memory

_MIB: Final = 1 << 20


@dataclass(frozen=True)
class Estimate:
    """The estimated cost of building one table; sums over whole sets are accurate to about 30 %."""

    material: Material
    seconds: float
    """Wall time, without compiling kernels."""
    memory: int
    """Peak memory, in bytes, of a process that builds only this table."""
    shared: int
    """The part of ``memory`` that concurrent builds share: interpreter, kernels and small sub-tables."""
    kept: int
    """Bytes of the finished table that the process keeps in memory for tables that depend on it."""
    disk: int
    """Size of the file in bytes."""
    threads: int
    """Number of threads that build the table."""

    def peak_beside(self, held: int) -> int:
        """Return the peak memory of a process that already uses ``held`` bytes, assuming none are reused."""
        return self.memory + max(0, held - self.shared)


@cache
def estimate(material: Material, variant: Variant, threads: int = 2) -> Estimate:
    """Return the estimated cost of building one table of a variant."""
    form, shared = form_of(material), shared_memory(material)
    return Estimate(
        material,
        seconds_to_build(material, variant, form, threads),
        shared + memory_to_build(material, variant, form, threads),
        shared,
        _kept(material),
        file_size(material, variant, form),
        threads,
    )


def combined_peak(estimates: Iterable[Estimate], kept: int = 0) -> int:
    """Return the peak memory, in bytes, of a process that builds several tables at once.

    :param kept: bytes of small tables finished before; the process keeps at most ``KEPT`` bytes of them.
    """
    own = small = 0
    for table in estimates:
        own += table.memory - table.shared
        small += table.shared - BASE_MEMORY
    return BASE_MEMORY + min(max(small, kept), KEPT) + own


def copy_sizes(todo: Collection[Material], variant: Variant) -> dict[Material, int]:
    """Return, by material, the size in bytes of the plain copies of packed tables that a build makes.

    The build keeps them until its end. Only tables that promotions lead to are copied. A table without pawns
    that the build does not make itself is read once only, and so is not copied.
    """
    return {
        material: copy_size(material, variant)
        for material in {after for before in todo for after in before.successors() if after.men == before.men}
        if is_packed(material) and (material.pawns or material in todo)
    }


def shared_memory(material: Material) -> int:
    """Return the bytes that concurrent builds of a process share, ``Estimate.shared``."""
    return BASE_MEMORY + min(KEPT, sum(map(_kept, material.successors())))


def _kept(material: Material) -> int:
    size = fresh_bytes(layout_of(material).size)
    return size if size <= SMALL else 0


def check_memory(estimates: Iterable[Estimate], cap: int | None = None, held: int = 0) -> None:
    """Check that no table needs more memory than the process may use.

    :param cap: bytes that the process may use; None for all memory of the machine.
    :param held: bytes that the process uses already.
    :raises TbgenError: if a table needs more.
    """
    limit = total_memory() if cap is None else cap
    too_large = [table for table in estimates if table.peak_beside(held) > limit]
    if not too_large:
        return
    first, others = too_large[0], len(too_large) - 1
    needed = first.peak_beside(held)
    more = f", and {others} more of the tables to build exceed it" if others else ""
    besides = "" if needed == first.memory else ", including what the process uses already,"
    owner, remedy = "this machine has", "build on a larger one"
    if cap is not None:
        owner, remedy = "--memory allows", "allow more, build with fewer --threads, or on a larger machine"
    raise TbgenError(
        f"{first.material} needs about {needed / _MIB:,.0f} MiB of memory{besides} and {owner} "
        f"{limit / _MIB:,.0f} MiB{more}: {remedy}"
    )


def check_disk(estimates: Collection[Estimate], directory: Path, copied: Mapping[Material, int]) -> None:
    """Check that the disk has space for tables and their plain copies.

    :param copied: sizes of the plain copies, from :func:`copies`.
    :raises TbgenError: if the disk has too little space.
    """
    disk = sum(table.disk + copied.get(table.material, 0) for table in estimates)
    free = shutil.disk_usage(directory).free
    if disk > free:
        names = [table.material.name for table in estimates]
        subject = f"{names[0]} needs" if len(names) == 1 else f"the {len(names)} tables need"
        raise TbgenError(
            f"the disk is full: {subject} about {disk / _MIB:,.1f} MiB and {directory} has "
            f"{free / _MIB:,.1f} MiB left; free some space and build again, or choose another directory with "
            "--dir"
        )
