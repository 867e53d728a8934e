"""Building missing tables in order: solve, write, check, go on."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tbgen import __version__
from tbgen.errors import MissingTableError
from tbgen.files import remove_leftovers
from tbgen.generator.accrued_storage import AccruedStorage
from tbgen.generator.estimate import check_disk, estimate, pace
from tbgen.generator.lock import build_lock
from tbgen.generator.memory import make_room, process_peak
from tbgen.material import Material, closure
from tbgen.store.format import table_path
from tbgen.store.info import TableInfo
from tbgen.store.reader import TableFile
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
        """Table ``number`` of ``count`` begins; all that is left should take about ``seconds_left``."""

    def progress(self, stage: str, done: int | None, total: int) -> None:
        """A stage of the table has got this far; ``done`` None if it is not counted, ``total`` 0 if nobody
        knows how far it has to go."""

    def done(self, built: Built, seconds_left: float) -> None:
        """The table is in place; the others should take about ``seconds_left``."""


def missing(
    materials: Iterable[Material], directory: Path, variant: Variant, *, force: Iterable[Material] = ()
) -> list[Material]:
    """Return what a build of these materials in a variant has to make, in build order.

    :param force: materials to make even if their table is there.
    :raises DamagedTableError: if a table that is there cannot be used.
    """
    forced = set(force)
    return [m for m in closure(materials) if m in forced or not _is_there(m, directory, variant)]


def build(
    materials: Iterable[Material],
    directory: Path,
    reporter: Reporter,
    *,
    variant: Variant,
    force: bool = False,
    threads: int = 2,
    storage: AccruedStorage = AccruedStorage.AUTO,
    memory: int | None = None,
) -> list[Built]:
    """Build tables and whatever sub-tables they need; finished ones are skipped.

    An interrupted build loses the table at work and nothing else: the next build goes on from there.

    :param variant: what the tables and their sub-tables are for.
    :param force: build the named materials anew even if their tables are there.
    :param storage: whether to store the values of accrued scores; those of whole-game mobility need none.
    :param memory: bytes that the process may take, which between tables keeps what it has had within them;
        None for what its largest table needs, if the machine has as much.
    :raises TbgenError: if there is too little memory or room on the disk, or something cannot be read or
        written; tables finished before are kept.
    """
    wanted = list(materials)
    if not force and not missing(wanted, directory, variant):
        tidy(directory, reporter)
        return []  # even where nothing can be written
    results: list[Built] = []
    with build_lock(directory, reporter.note, variant):
        tidy(directory, reporter)
        todo = missing(wanted, directory, variant, force=wanted if force else ())
        if not todo:
            return []
        needs = [estimate(material, variant, threads, storage) for material in todo]
        make_room(needs, memory)
        check_disk(needs, directory)
        _compile(reporter)

        def seconds_left() -> float:
            done = [built.seconds for built in results]
            left = sum(table.seconds for table in needs[len(done) :])
            return left * pace(zip(needs, done, strict=False))

        with Sources(directory, variant) as sources:
            for number, material in enumerate(todo):
                check_disk([needs[number]], directory)  # others use it too
                make_room([needs[number]], memory)
                reporter.begin(material, number + 1, len(todo), seconds_left())
                results.append(_build_one(material, directory, sources, reporter, variant, threads, storage))
                reporter.done(results[-1], seconds_left())
    return results


def tidy(directory: Path, reporter: Reporter) -> None:
    """Remove what killed writers of tables and layers have left, as far as that is allowed."""
    for path in remove_leftovers(directory):
        reporter.note(f"removed {path.name}, left by an interrupted build")


def build_table(
    material: Material,
    directory: Path,
    reporter: Reporter,
    variant: Variant,
    threads: int,
    storage: AccruedStorage = AccruedStorage.AUTO,
) -> Built:
    """Build one table whose sub-tables lie in the directory; the caller sees to locks and to room.

    :raises TbgenError: if something cannot be read or written.
    """
    _compile(reporter)
    make_room([estimate(material, variant, threads, storage)])
    with Sources(directory, variant) as sources:
        return _build_one(material, directory, sources, reporter, variant, threads, storage)


def _is_there(material: Material, directory: Path, variant: Variant) -> bool:
    try:
        with TableFile(table_path(directory, material.name, variant), material=material):
            return True
    except MissingTableError:
        return False


def _compile(reporter: Reporter) -> None:
    from tbgen.accelerate import is_compiled
    from tbgen.retro.warmup import FAMILY, compile_kernels

    if not is_compiled(FAMILY):
        reporter.note("compiling the kernels, once for this version of tbgen: about a minute")
        begun = time.perf_counter()
        compile_kernels()
        reporter.note(f"kernels compiled in {time.perf_counter() - begun:.0f} s")


def _build_one(
    material: Material,
    directory: Path,
    sources: Sources,
    reporter: Reporter,
    variant: Variant,
    threads: int,
    storage: AccruedStorage,
) -> Built:
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
        progress=reporter.progress,
        stages=stages,
        max_runs=storage.max_runs(material),
    )
    clock = time.perf_counter()
    reporter.progress("writing", None, 0)
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
