"""Estimates of the time, memory and disk space of a build, and checks that the machine has enough of them."""

import shutil
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.costs import (
    BASE_MEMORY,
    file_size,
    memory_to_build,
    plain_copy_size,
    scratch_size,
    seconds_to_build,
)
from tbgen.errors import TbgenError
from tbgen.index.layout import layout_of
from tbgen.index.table import AccruedForm, fresh_bytes
from tbgen.store.format import accrued_form_of
from tbgen.system.memory import total_memory
from tbgen.tables.library import MAX_KEPT_BYTES, MAX_SMALL_TABLE_BYTES
from tbgen.text import counted, size_text


@dataclass(frozen=True)
class Estimate:
    """The estimated cost of building one table. Sums over many tables are accurate to about 30 %."""

    material: Material
    seconds: float
    """Wall time, excluding the compilation of kernels."""
    memory: int
    """Peak memory, in bytes, of a process that builds only this table."""
    shared_bytes: int
    """Bytes of ``memory`` that concurrent builds share: interpreter, kernels and small sub-tables."""
    kept_bytes: int
    """Bytes of the finished table that the process keeps in memory for tables that depend on it."""
    disk: int
    """Size of the file in bytes."""
    scratch: int
    """Size in bytes of the temporary file that exists while the table is built."""
    threads: int
    """Number of threads that build the table."""

    def process_peak(self, used_bytes: int) -> int:
        """Return the peak memory, in bytes, of a process that uses ``used_bytes`` and then builds the table.

        The process is assumed to use the shared bytes already, and to reuse none of its other memory.
        """
        return self.memory + max(0, used_bytes - self.shared_bytes)


@cache
def estimate(material: Material, variant: Variant, threads: int = 2) -> Estimate:
    """Return the estimated cost of building one table of a variant."""
    form = accrued_form_of(material)
    shared_size = shared_bytes_of(material)
    return Estimate(
        material=material,
        seconds=seconds_to_build(material, variant, form, threads),
        memory=shared_size + memory_to_build(material, variant, form, threads),
        shared_bytes=shared_size,
        kept_bytes=_kept_bytes(material),
        disk=file_size(material, variant, form),
        scratch=scratch_size(material, form),
        threads=threads,
    )


def combined_peak(estimates: Iterable[Estimate], kept_bytes: int = 0) -> int:
    """Return the peak memory, in bytes, of a process that builds several tables at once.

    :param kept_bytes: bytes of the finished small tables, of which the process keeps at most
        ``MAX_KEPT_BYTES``.
    """
    own_bytes = small_table_bytes = 0
    for table in estimates:
        own_bytes += table.memory - table.shared_bytes
        small_table_bytes += table.shared_bytes - BASE_MEMORY
    return BASE_MEMORY + min(max(small_table_bytes, kept_bytes), MAX_KEPT_BYTES) + own_bytes


def copy_sizes(todo: Collection[Material], variant: Variant) -> dict[Material, int]:
    """Return the size in bytes of each plain copy of a packed table that a build makes, keyed by material.

    The build keeps the copies until its end. Only tables that promotions lead to are copied. A table
    without pawns is copied only if this build also builds the table; a table that already exists is read only
    once, so a copy would not pay.
    """
    return {
        material: plain_copy_size(material, variant)
        for material in {child for parent in todo for child in parent.successors() if child.men == parent.men}
        if accrued_form_of(material) is AccruedForm.FUNCTIONS and (material.pawns or material in todo)
    }


def shared_bytes_of(material: Material) -> int:
    """Return the number of bytes that concurrent builds share (``Estimate.shared_bytes``)."""
    return BASE_MEMORY + min(MAX_KEPT_BYTES, sum(map(_kept_bytes, material.successors())))


def _kept_bytes(material: Material) -> int:
    size = fresh_bytes(layout_of(material).size)
    return size if size <= MAX_SMALL_TABLE_BYTES else 0


def check_memory(estimates: Iterable[Estimate], cap: int | None = None, used_bytes: int = 0) -> None:
    """Check that no table needs more memory than the process may use.

    :param cap: bytes that the process may use; None for all memory of the machine.
    :param used_bytes: bytes that the process already uses.
    :raises TbgenError: if a table needs more memory.
    """
    limit = total_memory() if cap is None else cap
    oversized_tables = [table for table in estimates if table.process_peak(used_bytes) > limit]
    if not oversized_tables:
        return
    estimate = oversized_tables[0]
    other_count = len(oversized_tables) - 1
    needed_bytes = estimate.process_peak(used_bytes)
    others_text = f" (too large as well: {counted(other_count, 'other table')})" if other_count else ""
    usage_text = "" if needed_bytes == estimate.memory else ", including what the process uses already,"
    owner, remedy = "this machine has", "build on a larger one"
    if cap is not None:
        owner, remedy = "--memory allows", "allow more, build with fewer --threads, or on a larger machine"
    raise TbgenError(
        f"{estimate.material} needs about {size_text(needed_bytes)} of memory{usage_text} and {owner} "
        f"{size_text(limit)}{others_text}: {remedy}"
    )


def check_disk(estimates: Collection[Estimate], directory: Path, copy_bytes: Mapping[Material, int]) -> None:
    """Check that the disk has space for tables, their plain copies, and the largest temporary file.

    :param copy_bytes: sizes of the plain copies, from :func:`copy_sizes`.
    :raises TbgenError: if the disk has too little space.
    """
    needed_bytes = sum(table.disk + copy_bytes.get(table.material, 0) for table in estimates)
    needed_bytes += max((table.scratch for table in estimates), default=0)
    free_bytes = shutil.disk_usage(directory).free
    if needed_bytes > free_bytes:
        names = [table.material.name for table in estimates]
        subject = f"{names[0]} needs" if len(names) == 1 else f"the {len(names)} tables need"
        raise TbgenError(
            f"the disk is full: {subject} about {size_text(needed_bytes)} and {directory} has "
            f"{size_text(free_bytes)} left; free some space and build again, or choose another "
            "directory with --dir"
        )
