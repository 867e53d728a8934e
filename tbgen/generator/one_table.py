"""Building one table: make room in memory, read what it rests on, solve, write, check."""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tbgen import __version__
from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.generator.estimate import Estimate, check_memory, estimate, together
from tbgen.index.layout import BLACK_TO_MOVE, layout_of
from tbgen.index.table import AccruedForm
from tbgen.progress import Progress, Reporter
from tbgen.store.format import TableInfo, form_of, is_packed, table_path
from tbgen.store.writer import write_table
from tbgen.system.memory import free_memory, give_back, held, peak

if TYPE_CHECKING:
    from tbgen.packed.sources import Sources


def make_room(needs: Sequence[Estimate], cap: int | None = None) -> None:
    """Give memory back if the process might else take more than the next tables need, or than ``cap`` bytes.

    :raises TbgenError: if it would all the same, and takes more than ``cap`` or than the machine has.
    """
    allowed = max(table.memory for table in needs) if cap is None else cap
    if any(table.beside(held()) > allowed for table in needs):
        give_back()
    check_memory(needs, cap, held())


def has_room(need: Estimate, at_work: Sequence[Estimate], foreseen: int, cap: int | None = None) -> bool:
    """Whether a table may begin beside those at work, without the process taking more than ``cap`` bytes, or
    than the machine has free.

    :param foreseen: bytes that the build was said to take: without ``cap`` none beyond them are kept.
    """
    allowed = available() if cap is None else cap

    def taken() -> int:
        return together([*at_work, need]) + max(0, held() - together(at_work))

    if taken() > (min(foreseen, allowed) if cap is None else cap):
        give_back()
    return taken() <= allowed


def available() -> int:
    """Return the bytes that the process may take, those that it holds among them, before the machine runs
    short: a tenth of what is free stays so. Where the system does not say, of all it has."""
    return held() + free_memory() // 10 * 9


@dataclass(frozen=True)
class Built:
    """What a finished table of this build is and took."""

    info: TableInfo
    layers: int
    """Accrued scores solved, of both holders; none in whole-game mobility."""
    seconds: float
    """Wall time, reading of sub-tables and writing included."""
    stages: Mapping[str, float]
    """Seconds per stage; stages of several threads overlap."""
    process_peak: int
    """Most memory that the process has held at once since it began, in bytes: not for this table alone."""


class BuildReporter(Reporter, Protocol):
    """Receives the news of a build."""

    def done(self, built: Built, seconds_left: float) -> None:
        """The table is in place; the others should take about ``seconds_left``."""


def build_table(
    material: Material, directory: Path, reporter: Reporter, variant: Variant, threads: int
) -> Built:
    """Build one table whose sub-tables lie in the directory; the caller sees to locks and to the disk.

    :raises TbgenError: if there is too little memory, or something cannot be read or written.
    """
    from tbgen.packed.sources import Sources

    compile_kernels(reporter, [material])
    make_room([estimate(material, variant, threads)])
    with Sources(directory, variant, threads) as sources:
        return solve_and_write(material, directory, sources, reporter.progress, variant, threads)


def compile_kernels(reporter: Reporter, materials: Collection[Material]) -> None:
    """Compile the kernels that tables of some materials are solved by, as far as they are not in the
    cache."""
    from tbgen.packed import packed_warmup
    from tbgen.retro import described_warmup, solver_warmup

    solver_warmup.ensure_compiled(reporter.note)
    if any(material.is_described for material in materials):
        described_warmup.ensure_compiled(reporter.note)
    if any(map(is_packed, materials)):
        packed_warmup.ensure_compiled(reporter.note)


def solve_and_write(
    material: Material,
    directory: Path,
    sources: "Sources",
    progress: Progress,
    variant: Variant,
    threads: int,
    copied: Collection[Material] = (),
) -> Built:
    """Build one table whose sub-tables are among the sources; the caller sees to all else.

    A packed table that is among ``copied`` is kept plain too, until the build ends.
    Whatever ``progress`` raises ends the work, and nothing of the table is left.

    :raises TbgenError: if something cannot be read or written.
    """
    from tbgen.packed.encode import packed_content
    from tbgen.packed.pack import NeedFinder, stored_side
    from tbgen.retro.ranks import Stages
    from tbgen.retro.solver import solve

    begun, stages = time.perf_counter(), Stages()
    with stages.timed("sub-tables"):
        around = sources.around(material)
    form, layout = form_of(material), layout_of(material)
    finder = NeedFinder(layout) if form is AccruedForm.FUNCTIONS else None
    table = solve(
        material,
        around,
        variant,
        threads=threads,
        progress=progress,
        stages=stages,
        accrued=form,
        side=BLACK_TO_MOVE if finder is None else stored_side(layout),
        after_phase=finder,
    )
    seconds = time.perf_counter() - begun
    progress("writing", None, 0)
    with stages.timed("write"):
        info = write_table(
            table,
            table_path(directory, material.name, variant),
            version=__version__,
            build_seconds=seconds,
            parameters={"threads": threads, "layers": stages.layers},
            threads=threads,
            content=None if finder is None else packed_content(table, finder.needed(), threads),
        )
        if finder is not None and material in copied:
            sources.copies.keep(table, info, threads)
    sources.put(table)
    return Built(info, stages.layers, time.perf_counter() - begun, dict(stages.seconds), peak())
