"""Building missing tables in order, several at once as far as memory allows.

A lock ensures that only one build at a time runs per directory and variant.
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
from tbgen.generator.estimate import Estimate, check_disk, copy_sizes, estimate
from tbgen.generator.one_table import (
    BuildReporter,
    Built,
    available,
    compile_kernels,
    ensure_memory,
    fits_memory,
    solve_and_write,
)
from tbgen.generator.schedule import BuildProgress, BuildSchedule, Limits
from tbgen.progress import Reporter
from tbgen.store.format import table_path
from tbgen.store.table_file import StoredFile
from tbgen.system.files import remove_leftovers, remove_own_leftovers
from tbgen.system.locks import NoLocksError, lock, try_lock

LOCK_NAME: Final = ".tbgen.lock"
"""Name of the lock file for r-mobility. The file is never removed; the system releases the lock when the
process that holds it ends."""


@contextlib.contextmanager
def build_lock(directory: Path, on_wait: Callable[[str], None], variant: Variant) -> Iterator[None]:
    """Hold the directory's build lock for a variant, after waiting for any other build to end.

    A file system without locks is accepted: two builds would do the same work twice, but harm nothing, since
    finished tables are renamed into place.

    :param on_wait: called once with a sentence if another build is at work, or the file system has no locks.
    :raises TbgenError: if the directory cannot be written.
    """
    path = directory / (LOCK_NAME if variant is Variant.R_MOBILITY else f".tbgen.{variant}.lock")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise TbgenError(
                f"the disk is full: nothing can be written to {directory}; free some space"
            ) from error
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
            on_wait(f"{directory} has no file locks: make sure that no other build is at work there")
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
    """Return the tables that a build of these materials in a variant has to make, in build order.

    :param force: materials to build even if their tables exist.
    :raises DamagedTableError: if an existing table cannot be used.
    """
    forced = set(force)
    return [m for m in closure(materials) if m in forced or not _exists(m, directory, variant)]


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
    """Build tables and all missing sub-tables; tables that exist are skipped.

    An interrupted build loses only the tables being built: the next build resumes from the finished ones.

    :param variant: the variant of the tables and their sub-tables.
    :param force: rebuild the named materials even if their tables exist.
    :param jobs: maximum number of tables built at once. A table that would not fit into memory beside the
        others waits for them.
    :param threads: number of threads that the tables being built share.
    :param memory: bytes that the process may use; up to this limit, it need not return unused memory to the
        system. None for the estimated peak of the build, if the machine has as much.
    :returns: the tables in the order in which they were finished.
    :raises TbgenError: if there is too little memory or disk space, or something cannot be read or written;
        tables finished before are kept, and those being built are finished first.
    """
    wanted = list(materials)
    if not force and is_done(wanted, directory, reporter, variant):
        return []
    with locked(wanted, directory, reporter, variant, force) as todo:
        if not todo:
            return []
        schedule = schedule_of(todo, variant)
        estimates = [schedule.estimate(material, threads) for material in todo]
        ensure_memory(estimates, memory)
        check_disk(estimates, directory, schedule.copies)
        compile_kernels(reporter, todo)
        from tbgen.packed.sources import Sources

        with Sources(directory, variant, threads) as sources:
            task = partial(
                solve_and_write, directory=directory, sources=sources, variant=variant, copied=schedule.copies
            )
            limits = partial(limits_of, jobs, threads, memory)
            return _LocalBuild(schedule, directory, variant, reporter, task, limits, memory).run()


def is_done(wanted: list[Material], directory: Path, reporter: Reporter, variant: Variant) -> bool:
    """Return whether all tables exist; if so, remove leftovers. The directory may be read-only."""
    if missing(wanted, directory, variant):
        return False
    _tidy(directory, reporter)
    return True


@contextmanager
def locked(
    wanted: list[Material], directory: Path, reporter: Reporter, variant: Variant, force: bool
) -> Iterator[list[Material]]:
    """Lock the directory, remove leftovers, and yield the tables to build; remove plain copies at the end.

    :param force: rebuild the named materials even if their tables exist.
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
    """Return the schedule of a build on one machine."""
    return BuildSchedule(
        todo, lambda material, threads: estimate(material, variant, threads), copy_sizes(todo, variant)
    )


def limits_of(jobs: int, threads: int, memory: int | None) -> Limits:
    """Return the present limits of a build.

    :param memory: bytes that the process may use; None for what :func:`available` returns.
    """
    return Limits(jobs, threads, available() if memory is None else memory)


def _tidy(directory: Path, reporter: Reporter) -> None:
    """Remove the temporary files of killed writers of tables and layers, as far as permissions allow."""
    for path in remove_leftovers(directory):
        reporter.note(f"removed {path.name}, left by an interrupted build")


class _BuildStoppedError(Exception):
    """The build ended before this table was finished."""


@dataclass
class _LocalBuild:
    """One build; each table is built on a thread of a thread pool.

    Threads rather than processes are used for three reasons: kernels and all other long steps run without the
    interpreter lock; small sub-tables are read once and shared; and no child process can outlive the build.
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
        self._planned_memory = self.schedule.outlook(limits).memory
        self._course = BuildProgress(self.schedule, self.reporter, self.limits)
        self._pool = ThreadPoolExecutor(limits.jobs)
        self._calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        """Calls that report on tables being built, to be made on the thread of the build."""
        self._stopped = False

    def run(self) -> list[Built]:
        """Build all tables and return them in the order in which they were finished.

        :raises TbgenError: the error of the first table that failed, after the others being built have ended.
        """
        try:
            self._begin_tables()
            while self._course.at_work:
                self._calls.get()()
        finally:
            self._stop()
        return self._course.results()

    def _begin_tables(self) -> None:
        """Begin the tables that can be built now."""
        course = self._course
        for table in self.schedule.tables_to_start(course.built, course.at_work, self.limits()):
            at_work = list(course.at_work.values())
            try:
                # Other programs use the disk too, so its free space may have changed.
                check_disk([*at_work, table], self.directory, self.schedule.copies)
                if not at_work:
                    ensure_memory([table], self.memory)
                elif not fits_memory(table, at_work, self._planned_memory, self.memory):
                    return  # the table waits until another one has finished
            except TbgenError as error:
                self._fail(table.material, error)
                return
            course.begin(table)
            progress = partial(self._progress, table.material)
            future = self._pool.submit(self.task, table.material, threads=table.threads, progress=progress)
            future.add_done_callback(partial(self._queue_end, table))

    def _progress(self, material: Material, stage: str, done: int | None, total: int) -> None:
        """Queue a progress report, on the thread of the table; after a stop, end that thread."""
        if self._stopped:
            raise _BuildStoppedError
        self._calls.put(partial(self._course.progress, material, stage, done, total))

    def _queue_end(self, table: Estimate, future: "Future[Built]") -> None:
        """Queue the report that a table has ended, on the thread of the table."""
        self._calls.put(partial(self._end, table, future))

    def _end(self, table: Estimate, future: "Future[Built]") -> None:
        """Record a table that is finished or has failed, and begin the tables that can be built now."""
        error = future.exception()
        if error is None:
            self._course.finish(table, future.result())
        else:
            self._course.drop(table.material)
            self._fail(table.material, error)
        if not self._course.failure:
            self._begin_tables()

    def _fail(self, material: Material, error: BaseException) -> None:
        """Record the failure of a table; those being built are finished, and no other is started."""
        if isinstance(error, MemoryError):
            remedy = "build with fewer --jobs" if self._course.at_work else "build on a larger machine"
            error = TbgenError(f"not enough memory for {material}: {remedy}")
        self._course.fail(material, error)

    def _stop(self) -> None:
        """Stop the tables being built and remove their temporary files.

        Running kernels cannot be interrupted, so this does not wait for threads that build tables.
        """
        self._stopped = True
        at_work = self._course.at_work
        self._pool.shutdown(wait=not at_work, cancel_futures=True)
        for material in at_work:
            remove_own_leftovers(table_path(self.directory, material.name, self.variant))


def _exists(material: Material, directory: Path, variant: Variant) -> bool:
    try:
        with StoredFile(table_path(directory, material.name, variant), material=material):
            return True
    except MissingTableError:
        return False
