"""Building missing tables: in order, several at once, as far as memory allows; one build at a time.

One at a time per directory and variant, which a lock sees to.
"""

import contextlib
import errno
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from tbgen.board.material import Material, closure
from tbgen.board.variant import Variant
from tbgen.errors import MissingTableError, TbgenError
from tbgen.generator.estimate import Estimate, check_disk, copies, estimate
from tbgen.generator.one_table import (
    BuildReporter,
    Built,
    available,
    compile_kernels,
    has_room,
    make_room,
    solve_and_write,
)
from tbgen.generator.schedule import BuildCourse, BuildSchedule, Limits
from tbgen.progress import Reporter
from tbgen.store.format import table_path
from tbgen.store.table_file import StoredFile
from tbgen.system.files import remove_leftovers, remove_own
from tbgen.system.locks import NoLocksError, lock, try_lock

LOCK_NAME: Final = ".tbgen.lock"
"""The lock file for r-mobility; it stays, empty locks cost nothing, and the system releases it when its
holder ends."""


@contextlib.contextmanager
def build_lock(directory: Path, on_wait: Callable[[str], None], variant: Variant) -> Iterator[None]:
    """Hold the directory's build lock for a variant, waiting for another build of it to end.

    ``on_wait`` is told once, in a sentence, if there is something to wait for, or if the file system has no
    locks: then two builds would do the same work twice and harm nothing, since tables appear by renaming.

    :raises TbgenError: if the directory cannot be written.
    """
    path = directory / (LOCK_NAME if variant is Variant.R_MOBILITY else f".tbgen.{variant}.lock")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise TbgenError(f"the disk is full: nothing can be written to {directory}; make room") from error
        raise TbgenError(
            f"no tables can be written to {directory} ({os.strerror(error.errno or 0)}); "
            "choose another directory with --dir"
        ) from error
    try:
        try:
            if not try_lock(descriptor):
                holder = os.read(descriptor, 32).decode(errors="replace").strip()
                on_wait(
                    f"another build is at work in {directory} (process {holder or 'unknown'}): waiting for it"
                )
                lock(descriptor)
        except NoLocksError:
            on_wait(f"{directory} has no file locks: see to it that no other build is at work there")
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.lseek(descriptor, 0, os.SEEK_SET)
            os.write(descriptor, str(os.getpid()).encode())
        yield
    finally:
        os.close(descriptor)


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
    reporter: BuildReporter,
    *,
    variant: Variant,
    force: bool = False,
    jobs: int = 1,
    threads: int = 2,
    memory: int | None = None,
) -> list[Built]:
    """Build tables and whatever sub-tables they need; finished ones are skipped.

    An interrupted build loses the tables at work and nothing else: the next build goes on from there.

    :param variant: what the tables and their sub-tables are for.
    :param force: build the named materials anew even if their tables are there.
    :param jobs: how many tables may be at work at once. One that would not fit into memory beside the others
        waits for them.
    :param threads: how many the tables at work share.
    :param memory: bytes that the process may take, which between tables keeps what it has had within them;
        None for what its largest table needs, if the machine has as much, and with several at once for what
        they were foreseen to take together.
    :returns: the tables in the order in which they were finished.
    :raises TbgenError: if there is too little memory or room on the disk, or something cannot be read or
        written; tables finished before are kept, and those at work are finished first.
    """
    wanted = list(materials)
    if not force and is_done(wanted, directory, reporter, variant):
        return []
    with locked(wanted, directory, reporter, variant, force) as todo:
        if not todo:
            return []
        schedule = schedule_of(todo, variant)
        needs = [schedule.estimate(material, threads) for material in todo]
        make_room(needs, memory)
        check_disk(needs, directory, schedule.copies)
        compile_kernels(reporter, todo)
        from tbgen.packed.sources import Sources

        with Sources(directory, variant, threads) as sources:
            task = partial(
                solve_and_write, directory=directory, sources=sources, variant=variant, copied=schedule.copies
            )
            limits = partial(limits_of, jobs, threads, memory)
            return _LocalBuild(schedule, directory, variant, reporter, task, limits, memory).run()


def is_done(wanted: list[Material], directory: Path, reporter: Reporter, variant: Variant) -> bool:
    """Return whether all tables are there, even where nothing can be written; then tidy the directory."""
    if missing(wanted, directory, variant):
        return False
    _tidy(directory, reporter)
    return True


@contextmanager
def locked(
    wanted: list[Material], directory: Path, reporter: Reporter, variant: Variant, force: bool
) -> Iterator[list[Material]]:
    """Give what is to be built, with the directory locked and tidied; plain copies are removed at the end.

    :param force: build the named materials anew even if their tables are there.
    """
    with build_lock(directory, reporter.note, variant):
        _tidy(directory, reporter)
        todo = missing(wanted, directory, variant, force=wanted if force else ())
        try:
            yield todo
        finally:
            if todo:
                from tbgen.packed.copies import remove_copies

                remove_copies(directory)


def schedule_of(todo: list[Material], variant: Variant) -> BuildSchedule:
    """Return the order in which to build what is missing, on one machine."""
    return BuildSchedule(
        todo, lambda material, threads: estimate(material, variant, threads), copies(todo, variant)
    )


def limits_of(jobs: int, threads: int, memory: int | None) -> Limits:
    """Return what the tables of a build may take together at present.

    :param memory: bytes that the process may take; None for what the machine has free.
    """
    return Limits(jobs, threads, available() if memory is None else memory)


def _tidy(directory: Path, reporter: Reporter) -> None:
    """Remove what killed writers of tables and layers have left, as far as that is allowed."""
    for path in remove_leftovers(directory):
        reporter.note(f"removed {path.name}, left by an interrupted build")


class _BuildStoppedError(Exception):
    """The build has ended before the table at work."""


@dataclass
class _LocalBuild:
    """One build: begins each table on a thread of a pool when its turn has come.

    Threads and not processes: the kernels and all that takes long run without the interpreter lock, small
    sub-tables are read once for all, and nothing is left when the process ends, however it ends.
    """

    schedule: BuildSchedule
    directory: Path
    variant: Variant
    reporter: BuildReporter
    task: Callable[..., Built]
    limits: Callable[[], Limits]
    memory: int | None

    def __post_init__(self) -> None:
        limits = self.limits()
        self._foreseen = self.schedule.outlook(limits).memory
        self._course = BuildCourse(self.schedule, self.reporter, self.limits)
        self._pool = ThreadPoolExecutor(limits.jobs)
        self._news: SimpleQueue[Callable[[], None]] = SimpleQueue()
        """What tables at work have to tell, to be called on the thread of the build."""
        self._stopped = False

    def run(self) -> list[Built]:
        """Build all; return it in the order in which it was finished.

        :raises TbgenError: of the first table that failed, when the others at work have ended.
        """
        try:
            self._begin_what_can()
            while self._course.at_work:
                self._news.get()()
        finally:
            self._stop()
        return self._course.outcome()

    def _begin_what_can(self) -> None:
        course = self._course
        for need in self.schedule.to_begin(course.built, course.at_work, self.limits()):
            at_work = list(course.at_work.values())
            try:
                check_disk([*at_work, need], self.directory, self.schedule.copies)  # others use it too
                if not at_work:
                    make_room([need], self.memory)
                elif not has_room(need, at_work, self._foreseen, self.memory):
                    return  # it waits for them
            except TbgenError as error:
                self._fail(need.material, error)
                return
            course.begin(need)
            progress = partial(self._progress, need.material)
            future = self._pool.submit(self.task, need.material, threads=need.threads, progress=progress)
            future.add_done_callback(partial(self._hear_end, need))

    def _progress(self, material: Material, stage: str, done: int | None, total: int) -> None:
        """Hand on how far a table has got, on a thread of its own, and end it there after a stop."""
        if self._stopped:
            raise _BuildStoppedError
        self._news.put(partial(self._course.progress, material, stage, done, total))

    def _hear_end(self, need: Estimate, future: "Future[Built]") -> None:
        """Hand on that a table has ended, on a thread of its own."""
        self._news.put(partial(self._end, need, future))

    def _end(self, need: Estimate, future: "Future[Built]") -> None:
        """Take note of a table that is finished or failed, and begin what can be done now."""
        error = future.exception()
        if error is None:
            self._course.finish(need, future.result())
        else:
            self._course.drop(need.material)
            self._fail(need.material, error)
        if not self._course.failure:
            self._begin_what_can()

    def _fail(self, material: Material, error: BaseException) -> None:
        """Remember why the build fails; the tables at work are finished, and no other begins."""
        if isinstance(error, MemoryError):
            remedy = "build with fewer --jobs" if self._course.at_work else "build on a larger machine"
            error = TbgenError(f"not enough memory for {material}: {remedy}")
        self._course.fail(material, error)

    def _stop(self) -> None:
        """Leave nothing at work, and nothing of it on the disk; kernels that run cannot be interrupted."""
        self._stopped = True
        at_work = self._course.at_work
        self._pool.shutdown(wait=not at_work, cancel_futures=True)
        for material in at_work:
            remove_own(table_path(self.directory, material.name, self.variant))


def _is_there(material: Material, directory: Path, variant: Variant) -> bool:
    try:
        with StoredFile(table_path(directory, material.name, variant), material=material):
            return True
    except MissingTableError:
        return False
