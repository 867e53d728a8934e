"""What a build will need: time, memory and disk, before it begins."""

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
    """What one table needs; for whole sets good to about 30 %."""

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
    threads: int
    """How many threads work on it."""

    def beside(self, held: int) -> int:
        """Return the peak in bytes of a process that already holds some bytes and uses none of them again."""
        return self.memory + max(0, held - self.shared)


@cache
def estimate(material: Material, variant: Variant, threads: int = 2) -> Estimate:
    """Estimate one table of a variant."""
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


def together(needs: Iterable[Estimate], kept: int = 0) -> int:
    """Return the peak in bytes of a process that works on some tables at once.

    :param kept: bytes of tables that it has finished before and keeps, as far as it keeps any.
    """
    own = small = 0
    for table in needs:
        own += table.memory - table.shared
        small += table.shared - BASE_MEMORY
    return BASE_MEMORY + min(max(small, kept), KEPT) + own


def copies(todo: Collection[Material], variant: Variant) -> dict[Material, int]:
    """Return by material the bytes of the plain copies of packed tables that a build makes and keeps until it
    ends.

    They are of those that promotions lead to. Of tables without pawns that it does not build itself it makes
    none, since it reads each of them once.
    """
    return {
        material: copy_size(material, variant)
        for material in {after for before in todo for after in before.successors() if after.men == before.men}
        if is_packed(material) and (material.pawns or material in todo)
    }


def shared_memory(material: Material) -> int:
    """Return the bytes of what tables that are built by one process share (:class:`Sources`)."""
    return BASE_MEMORY + min(KEPT, sum(map(_kept, material.successors())))


def _kept(material: Material) -> int:
    size = fresh_bytes(layout_of(material).size)
    return size if size <= SMALL else 0


def check_memory(estimates: Iterable[Estimate], cap: int | None = None, held: int = 0) -> None:
    """Check that no table needs more memory than the process may take: ``cap`` bytes, else what the machine
    has.

    :param held: bytes that the process holds already.
    :raises TbgenError: if one does.
    """
    limit = total_memory() if cap is None else cap
    too_large = [needs for needs in estimates if needs.beside(held) > limit]
    if not too_large:
        return
    first, others = too_large[0], len(too_large) - 1
    more = f", and {others} more of the tables to build exceed it" if others else ""
    besides = "" if first.beside(held) == first.memory else ", with what the process holds already,"
    owner, remedy = "this machine has", "build on a larger one"
    if cap is not None:
        owner, remedy = "--memory allows", "allow more, build with fewer --threads, or on a larger machine"
    raise TbgenError(
        f"{first.material} needs about {first.beside(held) / _MIB:,.0f} MiB of memory{besides} and {owner} "
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
        subject = f"{names[0]} needs" if len(names) == 1 else f"the {len(names)} tables need"
        raise TbgenError(
            f"the disk is full: {subject} about {disk / _MIB:,.1f} MiB and {directory} has "
            f"{free / _MIB:,.1f} MiB left; make room and build again, or choose another directory with --dir"
        )
