"""Building one table: checking memory, reading sub-tables, solving, writing and checking the file."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Protocol

from tbgen import __version__
from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.generator.estimate import Estimate, check_memory, combined_peak, estimate
from tbgen.index.layout import BLACK_TO_MOVE, layout_of
from tbgen.index.table import AccruedForm
from tbgen.progress import Progress, Reporter
from tbgen.store.format import TableInfo, accrued_form_of, table_path
from tbgen.system.memory import available_memory, peak_memory, resident_memory, trim_memory
from tbgen.tables.files import write_table
from tbgen.tables.library import Library, PlainCopies


def ensure_memory(estimates: Sequence[Estimate], cap: int | None = None) -> None:
    """Ensure that there is enough memory to build each table alone.

    If the peak might exceed ``cap``, or the estimate of the largest table if ``cap`` is None, unused memory
    of the process is first returned to the system.

    :param cap: bytes that the process may use; None for all memory of the machine.
    :raises TbgenError: if a table still needs more memory than the process may use.
    """
    allowed_bytes = max(estimate.memory for estimate in estimates) if cap is None else cap
    if any(estimate.process_peak(resident_memory()) > allowed_bytes for estimate in estimates):
        trim_memory()
    check_memory(estimates, cap, resident_memory())


def fits_in_memory(table: Estimate, others: Sequence[Estimate], peak: int, cap: int | None = None) -> bool:
    """Return whether there is enough memory to start a table in addition to the tables being built.

    :param table: estimate of the table to start.
    :param others: estimates of the tables being built.
    :param peak: estimated peak of the build in bytes. Without ``cap``, unused memory is returned to
        the system before the build exceeds this peak.
    :param cap: bytes that the process may use; None for what :func:`usable_memory` returns.
    """
    allowed_bytes = usable_memory() if cap is None else cap

    def expected_peak() -> int:
        return combined_peak([*others, table]) + max(0, resident_memory() - combined_peak(others))

    if expected_peak() > (min(peak, allowed_bytes) if cap is None else cap):
        trim_memory()
    return expected_peak() <= allowed_bytes


def usable_memory() -> int:
    """Return the bytes that the process may use: those already in use, and nine tenths of the free memory."""
    return resident_memory() + available_memory() // 10 * 9


@dataclass(frozen=True)
class BuiltTable:
    """A table that this build has finished, and its cost."""

    info: TableInfo
    layer_count: int
    """Number of accrued scores solved, for both holders; 0 in whole-game mobility."""
    seconds: float
    """Wall time, including reading sub-tables and writing."""
    stages: Mapping[str, float]
    """Seconds per stage; stages of several threads overlap."""
    process_peak: int
    """Peak memory of the process in bytes since its start; another table may have caused the peak."""


class BuildReporter(Reporter, Protocol):
    """Receives reports on a build."""

    def finish_table(self, built: BuiltTable, seconds_left: float) -> None:
        """Report a finished table; the remaining tables should take about ``seconds_left``."""


def build_table(
    material: Material, directory: Path, reporter: Reporter, variant: Variant, threads: int
) -> BuiltTable:
    """Build one table whose sub-tables are in a directory.

    The caller has locked the directory and checked the disk space.

    :raises TbgenError: if there is too little memory, or something cannot be read or written.
    """
    compile_kernels(reporter, [material])
    ensure_memory([estimate(material, variant, threads)])
    with Library(directory, variant, threads=threads, copies=PlainCopies()) as library:
        return solve_and_write(material, directory, library, reporter.progress, variant, threads)


def compile_kernels(reporter: Reporter, materials: Collection[Material]) -> None:
    """Compile the kernels that solve tables of these materials, unless the kernels are in the cache."""
    from tbgen.generator import packed_warmup
    from tbgen.retro import described_warmup, solver_warmup

    solver_warmup.ensure_compiled(reporter.note)
    if any(material.is_described for material in materials):
        described_warmup.ensure_compiled(reporter.note)
    if any(accrued_form_of(material) is AccruedForm.FUNCTIONS for material in materials):
        packed_warmup.ensure_compiled(reporter.note)


def solve_and_write(
    material: Material,
    directory: Path,
    library: Library,
    progress: Progress,
    variant: Variant,
    threads: int,
    copies: Collection[Material] = (),
) -> BuiltTable:
    """Build one table from a library that contains its sub-tables.

    The caller checks locks, memory and disk space.

    :param progress: called with the progress of the table. If the call raises an exception, the build of the
        table ends, and no part of the table remains.
    :param copies: packed tables whose plain copies are kept until the end of the build.
    :raises TbgenError: if something cannot be read or written.
    """
    from tbgen.retro.ranks import StageTimes
    from tbgen.retro.solver import solve
    from tbgen.tables.coding import stored_side
    from tbgen.tables.encode import packed_content
    from tbgen.tables.pack import NeedFinder

    start = perf_counter()
    times = StageTimes()
    with times.timed("sub-tables"):
        sub_tables = library.sub_tables_of(material)
    form = accrued_form_of(material)
    layout = layout_of(material)
    path = table_path(directory, material.name, variant)
    finder = NeedFinder(layout) if form is AccruedForm.FUNCTIONS else None
    table = solve(
        material,
        sub_tables,
        variant,
        threads=threads,
        progress=progress,
        stages=times,
        accrued=form,
        side=BLACK_TO_MOVE if finder is None else stored_side(layout),
        after_phase=finder,
        path=path,
    )
    seconds = perf_counter() - start
    progress("writing", None, 0)
    with times.timed("write"):
        info = write_table(
            table,
            path,
            version=__version__,
            build_seconds=seconds,
            parameters={"threads": threads, "layers": times.layer_count},
            threads=threads,
            content=None if finder is None else packed_content(table, finder.stored_positions(), threads),
        )
        if finder is not None and material in copies:
            library.copies.write(table, info, threads)
    library.put(table)
    return BuiltTable(info, times.layer_count, perf_counter() - start, dict(times.seconds), peak_memory())
