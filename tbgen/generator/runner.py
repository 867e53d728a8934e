"""Building missing tables in order, several at once if memory allows.

A lock ensures that only one build runs at a time for each directory and variant.
"""

import contextlib
import errno
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from io import FileIO
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from tbgen.board.material import Material, closure
from tbgen.board.variant import Variant
from tbgen.errors import DamagedTableError, MissingTableError, TbgenError
from tbgen.generator.estimate import Estimate, check_disk, copy_sizes, estimate
from tbgen.generator.one_table import (
    BuildReporter,
    BuiltTable,
    compile_kernels,
    ensure_memory,
    fits_in_memory,
    solve_and_write,
    usable_memory,
)
from tbgen.generator.schedule import BuildProgress, BuildSchedule, Limits
from tbgen.index.layout import check_nodes, layout_of
from tbgen.progress import Reporter
from tbgen.store.format import table_path
from tbgen.system.files import remove_leftovers, remove_own_leftovers
from tbgen.system.locks import NoLocksError, lock, open_locked, try_lock
from tbgen.tables.files import open_table
from tbgen.tables.library import Library, PlainCopies, remove_copies

LOCK_NAME: Final = ".tbgen.lock"
"""Name of the lock file for r-mobility. The file is never removed; the system releases the lock when the
process that holds it ends."""


@contextlib.contextmanager
def build_lock(directory: Path, on_wait: Callable[[str], None], variant: Variant) -> Iterator[None]:
    """Wait for any other build of the variant in the directory to end, and lock the directory for the block.

    A file system without locks is accepted. Two builds would then do the same work twice, without harm,
    because finished tables are renamed into place.

    :param on_wait: called once with a sentence if another build is running, or the file system has no locks.
    :raises TbgenError: if the directory cannot be written.
    """
    path = directory / (LOCK_NAME if variant is Variant.R_MOBILITY else f".tbgen.{variant}.lock")

    def open_file() -> FileIO:
        directory.mkdir(parents=True, exist_ok=True)
        return open(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b", buffering=0)

    def acquire(descriptor: int) -> None:
        try:
            if not try_lock(descriptor):
                pid = os.read(descriptor, 32).decode(errors="replace").strip()
                on_wait(
                    f"another build is at work in {directory} (process {pid or 'unknown'}): waiting for it"
                )
                lock(descriptor)
        except NoLocksError:
            on_wait(f"{directory} has no file locks: make sure that no other build is at work there")

    try:
        file = open_locked(path, open_file, acquire)
    except OSError as error:
        advice = "free some space, or choose" if error.errno == errno.ENOSPC else "choose"
        raise TbgenError(
            f"no tables can be written to {directory} ({os.strerror(error.errno or 0)}); "
            f"{advice} another directory with --dir"
        ) from error
    with file:
        with contextlib.suppress(OSError):
            file.truncate(0)
            file.seek(0)
            file.write(str(os.getpid()).encode())
        yield


def missing_tables(
    materials: Iterable[Material], directory: Path, variant: Variant, *, forced: Iterable[Material] = ()
) -> list[Material]:
    """Return the tables that a build of these materials in a variant has to make, each after its sub-tables.

    :param forced: materials to build even if their tables exist.
    :raises DamagedTableError: if an existing table cannot be used, or replaced if it is forced.
    :raises LimitError: if a table to build has phases that are too large for the solver.
    """
    forced_tables = set(forced)
    todo = [m for m in closure(materials) if not _is_kept(m, directory, variant, m in forced_tables)]
    for material in todo:
        check_nodes(layout_of(material).slots_to_solve, material.name)
    # Tables with the same number of men on each side follow each other. Promotions lead from one to another,
    # so these sub-tables are mostly still in memory.
    return sorted(todo, key=lambda missing: (missing.men, -len(missing.sides[0])))


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
) -> list[BuiltTable]:
    """Build tables and all missing sub-tables; tables that exist are skipped.

    An interrupted build loses only the tables being built. The next build starts from the finished tables.

    :param variant: the variant of the tables and their sub-tables.
    :param force: rebuild the named materials even if their tables exist.
    :param jobs: maximum number of tables built at once. A table for which there is too little memory waits
        until others have finished.
    :param threads: number of threads that the tables being built share.
    :param memory: bytes that the process may use; None for what :func:`usable_memory` returns. If None, a
        table that is built alone may need all memory of the machine. The process returns freed memory to the
        system before it exceeds ``memory`` or, if None, the estimated peak of the build.
    :returns: the tables in the order in which they were finished.
    :raises TbgenError: if there is too little memory or disk space, or something cannot be read or written.
        The tables being built are finished first, and finished tables are kept.
    """
    targets = list(materials)
    if not force and finish_if_done(targets, directory, reporter, variant):
        return []
    with prepared_build(targets, directory, reporter, variant, force) as todo:
        if not todo:
            return []
        schedule = schedule_of(todo, variant)
        estimates = [schedule.estimate(material, threads) for material in todo]
        ensure_memory(estimates, memory)
        check_disk(estimates, directory, schedule.copies)
        compile_kernels(reporter, todo)
        with Library(directory, variant, threads=threads, copies=PlainCopies()) as library:
            build_one = partial(
                solve_and_write, directory=directory, library=library, variant=variant, copies=schedule.copies
            )
            limits = partial(limits_of, jobs, threads, memory)
            return _LocalBuild(schedule, directory, variant, reporter, build_one, limits, memory).run()


def finish_if_done(targets: list[Material], directory: Path, reporter: Reporter, variant: Variant) -> bool:
    """If all tables exist, remove leftover files and return True. The directory may be read-only."""
    if missing_tables(targets, directory, variant):
        return False
    _tidy_directory(directory, reporter)
    return True


@contextmanager
def prepared_build(
    targets: list[Material], directory: Path, reporter: Reporter, variant: Variant, force: bool
) -> Iterator[list[Material]]:
    """Lock the directory for the block, remove leftover files, and yield the tables to build.

    Plain copies are removed at the end of the block.

    :param force: rebuild the target materials even if their tables exist.
    """
    with build_lock(directory, reporter.note, variant):
        _tidy_directory(directory, reporter)
        todo = missing_tables(targets, directory, variant, forced=targets if force else ())
        try:
            yield todo
        finally:
            if todo:
                remove_copies(directory, variant)


def schedule_of(todo: list[Material], variant: Variant) -> BuildSchedule:
    """Return the schedule of a build on one machine."""
    return BuildSchedule(
        todo, lambda material, threads: estimate(material, variant, threads), copy_sizes(todo, variant)
    )


def limits_of(jobs: int, threads: int, memory: int | None) -> Limits:
    """Return the present limits of a build.

    :param memory: bytes that the process may use; None for :func:`usable_memory`.
    """
    return Limits(jobs, threads, usable_memory() if memory is None else memory)


def _tidy_directory(directory: Path, reporter: Reporter) -> None:
    """Remove temporary files of killed builds, if permissions allow, and report them."""
    for path in remove_leftovers(directory):
        reporter.note(f"removed {path.name}, left by an interrupted build")


class _BuildStoppedError(Exception):
    """The build ended before this table was finished."""


@dataclass
class _LocalBuild:
    """One build on this machine, in which each table is built on a thread of a thread pool.

    Threads are used instead of processes for three reasons. Kernels and all other long steps run without the
    interpreter lock. Small sub-tables are read once and shared. And no child process can outlive the build.
    """

    schedule: BuildSchedule
    directory: Path
    variant: Variant
    reporter: BuildReporter
    build: Callable[..., BuiltTable]
    limits: Callable[[], Limits]
    memory: int | None

    def __post_init__(self) -> None:
        limits = self.limits()
        self._planned_memory = self.schedule.outlook(limits).memory
        self._tracker = BuildProgress(self.schedule, self.reporter, self.limits)
        self._pool = ThreadPoolExecutor(limits.jobs)
        self._pending_reports: SimpleQueue[Callable[[], None]] = SimpleQueue()
        """Pending reports on the tables being built: functions for the thread that called ``run`` to call."""
        self._is_stopped = False

    def run(self) -> list[BuiltTable]:
        """Build all tables and return them in the order in which they were finished.

        :raises TbgenError: the error of the first failed table, once the other tables being built have ended.
        """
        try:
            self._start_tables()
            while self._tracker.in_progress:
                self._pending_reports.get()()
        finally:
            self._stop()
        return self._tracker.results()

    def _start_tables(self) -> None:
        """Start building the tables that can be built now."""
        tracker = self._tracker
        for job in self.schedule.tables_to_start(tracker.built, tracker.in_progress, self.limits()):
            in_progress = list(tracker.in_progress.values())
            try:
                # Other programs also use the disk, so its free space may have changed.
                check_disk([*in_progress, job], self.directory, self.schedule.copies)
                if not in_progress:
                    ensure_memory([job], self.memory)
                elif not fits_in_memory(job, in_progress, self._planned_memory, self.memory):
                    return  # the table waits until another one has finished
            except TbgenError as error:
                self._record_failure(job.material, error)
                return
            tracker.begin(job)
            progress = partial(self._queue_progress, job.material)
            future = self._pool.submit(self.build, job.material, threads=job.threads, progress=progress)
            future.add_done_callback(partial(self._queue_end, job))

    def _queue_progress(self, material: Material, stage: str, done: int | None, total: int) -> None:
        """Queue a progress report; called in the thread that builds the table.

        After a stop, end this thread with an exception.
        """
        if self._is_stopped:
            raise _BuildStoppedError
        self._pending_reports.put(partial(self._tracker.progress, material, stage, done, total))

    def _queue_end(self, job: Estimate, future: "Future[BuiltTable]") -> None:
        """Queue the report that the build of a table has ended; called in the thread that built it."""
        self._pending_reports.put(partial(self._record_end, job, future))

    def _record_end(self, job: Estimate, future: "Future[BuiltTable]") -> None:
        """Record that a table is finished or has failed, and start building further tables."""
        error = future.exception()
        if error is None:
            self._tracker.finish(job, future.result())
        else:
            self._tracker.drop(job.material)
            self._record_failure(job.material, error)
        if not self._tracker.failure:
            self._start_tables()

    def _record_failure(self, material: Material, error: BaseException) -> None:
        """Record the failure of a table. Tables being built are completed, but no other table is started."""
        if isinstance(error, MemoryError):
            remedy = "build with fewer --jobs" if self._tracker.in_progress else "build on a larger machine"
            error = TbgenError(f"not enough memory for {material}: {remedy}")
        self._tracker.fail(material, error)

    def _stop(self) -> None:
        """Stop the tables being built and remove their temporary files.

        Running kernels cannot be interrupted, so this does not wait for threads that build tables.
        """
        self._is_stopped = True
        in_progress = self._tracker.in_progress
        self._pool.shutdown(wait=not in_progress, cancel_futures=True)
        for material in in_progress:
            remove_own_leftovers(table_path(self.directory, material.name, self.variant))


def _is_kept(material: Material, directory: Path, variant: Variant, forced: bool) -> bool:
    """Return whether a table exists and is not to be replaced; ``forced`` files are replaced."""
    path = table_path(directory, material.name, variant)
    try:
        with open_table(path, material):
            return not forced
    except (MissingTableError, DamagedTableError) as error:
        if isinstance(error, DamagedTableError) and (path.is_dir() or not forced):
            raise
        return False
