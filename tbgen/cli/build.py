"""``tbgen build``: build tables. It prints a row for each finished table, and progress or a dated log."""

import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Self

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.cli.bars import ProgressLine
from tbgen.cli.options import (
    MAX_JOBS,
    AsJson,
    MaxMen,
    ParsedType,
    PositiveCount,
    Rules,
    Setting,
    Size,
    TableDirectory,
    WholeNumber,
    command,
    material_list,
)
from tbgen.cli.streams import print_document
from tbgen.documents import Document
from tbgen.errors import UsageError
from tbgen.extras import needs_extra
from tbgen.generator import BuiltTable, Estimate, build, check_memory, missing_tables
from tbgen.generator.runner import limits_of, schedule_of
from tbgen.generator.schedule import Outlook
from tbgen.system.memory import processor_count
from tbgen.text import counted, duration, size_text


class Journal(AbstractContextManager["Journal"]):
    """Reports a build to a terminal or a log. As a context manager, it prints totals at the end."""

    def __init__(self, directory: Path, quiet: bool, forced_materials: Sequence[Material] = ()) -> None:
        """If ``quiet``, nothing is printed on stdout. Tables of ``forced_materials`` are built anew."""
        self._line = ProgressLine()
        self._directory = directory
        self._quiet = quiet
        self._forced_materials = forced_materials
        self._table_start = self._expected_end = 0.0
        self._table_label = ""
        self._table_count = 0
        self._start_times: dict[Material, float] = {}
        self._built: list[BuiltTable] = []

    def note(self, text: str) -> None:
        """Print a sentence on stderr."""
        self._line.note(text)

    def begin(self, material: Material, number: int, count: int, seconds_left: float) -> None:
        """Log the start of a table, and show its progress from now on."""
        now = time.monotonic()
        self._expected_end = now + seconds_left
        self._table_label = f"{material}: {number} of {count}"
        if not self._start_times:
            self._table_count = count
            self._line.log(f"{counted(count, 'table')} to build in {self._directory}: {self._time_left()}")
        if material not in self._start_times:
            self._line.log(f"{self._table_label}, begun; {self._time_left()}")
        self._table_start = self._start_times.setdefault(material, now)
        self.progress("reading sub-tables", None, 0)

    def progress(self, step: str, done: int | None, total: int, seconds_left: float | None = None) -> None:
        """Show the table, the step, the time spent on the table, and the remaining time for all tables."""
        amount = "" if done is None else f" {done} of {total}" if total else f" {done}"
        spent = duration(time.monotonic() - self._table_start)
        self._line.show(f"{self._table_label}, {step}{amount}, at work for {spent}; {self._time_left()}")

    def finish_table(self, built: BuiltTable, seconds_left: float) -> None:
        """Print the table's row on stdout, and log it."""
        self._line.clear()
        info = built.info
        self._expected_end = time.monotonic() + seconds_left
        self._built.append(built)
        if not self._quiet:
            self._print_row(built)
        rest = f"; {self._time_left()}" if len(self._built) < self._table_count else ""
        omission = "" if info.stores_accrued or not info.variant.layered else " without accrued scores"
        sizes = f"{size_text(info.bytes)}{omission}, process peak {size_text(built.process_peak)}"
        amount = f"{len(self._built)} of {self._table_count}"
        self._line.log(f"{info.material}: {amount}, done in {duration(built.seconds)}, {sizes}{rest}")

    def __exit__(self, *_: object) -> None:
        """Print totals if any table was started."""
        self._line.clear()
        if not self._start_times:
            return
        tables = counted(self._table_count, "table")
        totals = f"built in {duration(time.monotonic() - min(self._start_times.values()))}"
        if self._built:
            size = sum(built.info.bytes for built in self._built)
            peak = max(built.process_peak for built in self._built)
            totals += f", {size_text(size)}, process peak {size_text(peak)}"
        if len(self._built) == self._table_count:
            self._line.note(f"{tables} {totals}")
        else:
            built_materials = {built.info.material for built in self._built}
            rest = [m.name for m in self._forced_materials if m.name not in built_materials]
            names = " ".join(dict.fromkeys(rest))
            advice = f"the same command continues from there{names and f' if it names only {names}'}"
            self._line.note(f"stopped: {len(self._built)} of {tables} {totals}; {advice}")

    def _print_row(self, built: BuiltTable) -> None:
        info = built.info
        if len(self._built) == 1:
            print(f"{'material':10} {'positions':>12} {'layers':>6} {'longest':>11} {'time':>9} {'size':>11}")
        table = f"{info.material:10} {sum(info.positions) + info.ep_positions:12,} {built.layer_count:6}"
        costs = f"{built.seconds:7.2f} s {size_text(info.bytes):>11}"
        print(f"{table} {info.max_depth:5} plies {costs}", flush=True)

    def _time_left(self) -> str:
        seconds_left = self._expected_end - time.monotonic()
        return f"about {duration(seconds_left)} left" if seconds_left > 0 else "taking longer than estimated"


def _parse_job_count(text: str) -> int | None:
    return None if text == "auto" else int(WholeNumber(1, MAX_JOBS)(text))


@command
def run(
    *materials: Material,
    men: MaxMen,
    force: bool,
    jobs: Annotated[int | None, ParsedType("N|auto", _parse_job_count)],
    threads: PositiveCount | None,
    variant: Rules = Variant.R_MOBILITY,
    scheduler: Annotated[str | None, Setting(metavar="ADDRESS")],
    estimate: bool,
    memory: Size | None,
    json: AsJson,
    directory: TableDirectory,
) -> None:
    """Build the tables of the named materials, or of all materials with up to N men.

    The sub-tables that captures and promotions lead to are built first. Existing tables are skipped. So the
    same command resumes an interrupted build (Ctrl-C or SIGTERM); only the tables that were being built are
    lost. A line per finished table goes to stdout, progress to stderr. If stderr is not a terminal, progress
    is a log, with date and time in each line. For tables of up to four men, the longest depth is the greatest
    depth of all states; for larger tables, the greatest depth of all fresh states. tbgen info NAME names a
    state with this depth.

    \b
    For example:
      tbgen build KBvK
      tbgen build --men 4 --estimate
      nohup tbgen build --men 5 > tables.txt 2> build.log &
      tbgen build --men 5 --memory 12G
      tbgen build --men 5 --jobs 2 --memory 16G
      tbgen build --men 4 --rules wg
      tbgen build --men 5 --scheduler tcp://host:8786 --dir /shared/tables

    :param materials: materials such as KBvK
    :param force: build the tables of the named materials again even if they exist
    :param jobs: tables to build at once, as far as memory allows (default: auto, one per thread)
    :param threads: threads, shared by the tables being built (default: one per core); with --scheduler,
        threads of each table
    :param scheduler: build on the workers of this Dask scheduler, such as tcp://host:8786 (docs/cluster.md)
    :param estimate: print the time, memory and disk needed, and stop
    :param memory: refuse the build if it needs more memory than this, such as 12G, 8GiB or 4096M (default:
        the memory of the machine, or its free memory for several tables at once; with --scheduler, the
        memory of the workers); within this limit, memory is reused from table to table, which saves time
    :param json: print one JSON document about the tables built (or to build)
    """
    targets = material_list(materials, men)
    if targets is None:
        raise UsageError("nothing to build: name materials such as KBvK, or give --men N")
    if jobs is not None and scheduler is not None:
        raise UsageError(
            "--jobs has no effect with --scheduler: see --nthreads of workers in docs/cluster.md"
        )
    thread_count = threads or processor_count()
    job_count = min(thread_count, MAX_JOBS) if jobs is None else jobs
    if estimate:
        missing = missing_tables(targets, directory, variant, forced=targets if force else ())
        schedule = schedule_of(missing, variant)
        estimates = [schedule.estimate(material, thread_count) for material in missing]
        limits = limits_of(job_count, thread_count, memory)
        outlook = schedule.outlook(limits)
        concurrency_text = f", up to {outlook.jobs} at once" if outlook.jobs > 1 else ""
        if outlook != schedule.outlook(replace(limits, memory=sys.maxsize)):
            concurrency_text = f"{concurrency_text or ', one at a time'}, as memory allows"
        conditions = f" on {counted(thread_count, 'thread')}{concurrency_text}"
        _print_estimates(estimates, outlook, conditions, sum(schedule.copies.values()), json)
        if memory is not None:
            check_memory(estimates, memory)
        return
    options: dict[str, Any] = {"force": force, "memory": memory, "variant": variant}
    with Journal(directory, json, targets if force else ()) as journal:
        if scheduler is None:
            built = build(targets, directory, journal, jobs=job_count, threads=thread_count, **options)
        else:
            with needs_extra("a build with --scheduler", "cluster"):
                from tbgen.generator.cluster_build import build_on_cluster
            built = build_on_cluster(targets, directory, journal, scheduler, threads=threads, **options)
    if json:
        print_document(BuildDocument(directory, list(map(BuiltDocument.of_table, built))))
    elif not built:
        print(f"nothing to build: the requested tables are already in {directory}")


class TableEstimate(Document):
    """The estimated cost of building one table alone; sizes are in bytes."""

    material: Material
    seconds: float
    memory: int
    disk: int


class BuildEstimate(Document):
    """The estimated cost of a build; sizes are in bytes."""

    tables: list[TableEstimate]
    jobs: int
    seconds: float
    memory: int
    disk: int
    copies: int
    scratch: int


def _print_estimates(
    estimates: Sequence[Estimate], outlook: Outlook, conditions: str, copy_bytes: int, as_json: bool
) -> None:
    """Print the estimate of each table alone and of the whole build.

    :param conditions: on how many threads, how many tables are built at once, and what limits them.
    :param copy_bytes: bytes of disk that plain copies need until the build ends.
    """
    disk = sum(entry.disk for entry in estimates)
    scratch_bytes = max((entry.scratch for entry in estimates), default=0)
    if as_json:
        tables = list(map(TableEstimate.of, estimates))
        needs_bytes = {"disk": disk, "copies": copy_bytes, "scratch": scratch_bytes}
        print_document(BuildEstimate.of(outlook, tables=tables, **needs_bytes))
        return
    if estimates:
        print(f"{'material':10} {'time':>10} {'memory':>11} {'disk':>11}")
    for entry in estimates:
        sizes = f"{size_text(entry.memory):>11} {size_text(entry.disk):>11}"
        print(f"{entry.material.name:10} {duration(entry.seconds):>10} {sizes}")
    needs = f"at most {size_text(outlook.memory)} of memory, {size_text(disk)} of disk"
    if copy_bytes:
        needs += f" and, until it ends, {size_text(copy_bytes)} for plain copies"
    if scratch_bytes:
        needs += f", and up to {size_text(scratch_bytes)} for a temporary file"
    tables_text = counted(len(estimates), "table")
    print(f"{tables_text} to build{conditions}: about {duration(outlook.seconds)}, {needs}")


class BuiltDocument(Document):
    """A table that has been built, and its cost; sizes are in bytes."""

    material: Material
    rules: Variant
    positions: int
    layers: int
    max_depth: int
    seconds: float
    stages: Mapping[str, float]
    peak_memory: int
    bytes: int
    accrued: bool
    digest: str

    @classmethod
    def of_table(cls, built: BuiltTable) -> Self:
        """Return the document of a table."""
        info = built.info
        return cls.of(
            built,
            info,
            rules=info.variant,
            positions=sum(info.positions) + info.ep_positions,
            layers=built.layer_count,
            peak_memory=built.process_peak,
            accrued=info.stores_accrued,
        )


class BuildDocument(Document):
    """The tables that a build has added to a directory."""

    directory: Path
    built: list[BuiltDocument]
