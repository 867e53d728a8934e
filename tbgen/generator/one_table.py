"""Building one table: read what it rests on, solve, write, check."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tbgen import __version__
from tbgen.generator.accrued_storage import AccruedStorage
from tbgen.generator.estimate import estimate
from tbgen.generator.memory import make_room, process_peak
from tbgen.material import Material
from tbgen.store.format import table_path
from tbgen.store.info import TableInfo
from tbgen.store.sources import Sources
from tbgen.store.writer import write_table
from tbgen.variant import Variant


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


class Reporter(Protocol):
    """Told what the build is doing; nothing it does changes a table."""

    def note(self, text: str) -> None:
        """Something worth a line: a wait, leftovers removed, kernels being compiled."""

    def begin(self, material: Material, number: int, count: int, seconds_left: float) -> None:
        """Table ``number`` of ``count`` begins, or is the one that progress is told of from now on; all that
        is left should take about ``seconds_left``."""

    def progress(self, stage: str, done: int | None, total: int) -> None:
        """A stage of the table has got this far; ``done`` None if it is not counted, ``total`` 0 if nobody
        knows how far it has to go."""

    def done(self, built: Built, seconds_left: float) -> None:
        """The table is in place; the others should take about ``seconds_left``."""


Progress = Callable[[str, int | None, int], None]
"""Told how far a table has got, as :meth:`Reporter.progress` is."""


def build_table(
    material: Material,
    directory: Path,
    reporter: Reporter,
    variant: Variant,
    threads: int,
    storage: AccruedStorage = AccruedStorage.AUTO,
) -> Built:
    """Build one table whose sub-tables lie in the directory; the caller sees to locks and to the disk.

    :raises TbgenError: if there is too little memory, or something cannot be read or written.
    """
    compile_kernels(reporter)
    make_room([estimate(material, variant, threads, storage)])
    with Sources(directory, variant) as sources:
        return solve_and_write(material, directory, sources, reporter.progress, variant, threads, storage)


def compile_kernels(reporter: Reporter) -> None:
    """Compile the kernels of the solver if they are not in the cache."""
    from tbgen.accelerate import is_compiled
    from tbgen.retro import warmup

    if not is_compiled(warmup.FAMILY):
        reporter.note("compiling the kernels, once for this version of tbgen: about a minute")
        begun = time.perf_counter()
        warmup.compile_kernels()
        reporter.note(f"kernels compiled in {time.perf_counter() - begun:.0f} s")


def solve_and_write(
    material: Material,
    directory: Path,
    sources: Sources,
    progress: Progress,
    variant: Variant,
    threads: int,
    storage: AccruedStorage,
) -> Built:
    """Build one table whose sub-tables are among the sources; the caller sees to all else.

    Whatever ``progress`` raises ends the work, and nothing of the table is left.

    :raises TbgenError: if something cannot be read or written.
    """
    from tbgen.retro.solver import Stages, solve

    begun = clock = time.perf_counter()
    stages = Stages()
    needed = {successor: sources.get(successor) for successor in sorted(material.successors())}
    stages.add("sub-tables", clock)
    table = solve(
        material,
        needed,
        variant,
        threads=threads,
        progress=progress,
        stages=stages,
        max_runs=storage.max_runs(material),
    )
    clock = time.perf_counter()
    progress("writing", None, 0)
    info = write_table(
        table,
        table_path(directory, material.name, variant),
        version=__version__,
        build_seconds=clock - begun,
        parameters={"threads": threads, "layers": stages.layers},
        threads=threads,
    )
    stages.add("write", clock)
    sources.put(table)
    return Built(info, stages.layers, time.perf_counter() - begun, dict(stages.seconds), process_peak())
