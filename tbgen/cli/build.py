"""``tbgen build``: make tables."""

import argparse
import json
from collections.abc import Callable, Sequence
from typing import Any

from tbgen.board.material import MAX_MEN, Material, all_materials
from tbgen.cli.journal import Journal
from tbgen.cli.options import (
    MOST_JOBS,
    add_directory,
    add_json,
    add_rules,
    processors,
    size_in_bytes,
    whole_number,
)
from tbgen.errors import UsageError, needs_extra
from tbgen.generator import Built, Estimate, build, check_memory, missing
from tbgen.generator.runner import limits_of, schedule_of
from tbgen.generator.schedule import Outlook
from tbgen.store.format import default_directory
from tbgen.text import counted, duration, size_text

_DESCRIPTION = """\
Build the tables of the named materials, or of all with up to N men, and before them whatever sub-tables
captures and promotions lead to. Tables that are there are skipped, so a build that was interrupted (by
Ctrl-C or SIGTERM) goes on where it was; the tables at work are lost and nothing else. A line per finished
table goes to stdout, progress to stderr: if that is no terminal, in lines with date and time, for a log.
"""
_EPILOG = """\
examples:
  tbgen build KBvK
  tbgen build --men 4 --estimate
  nohup tbgen build --men 5 > tables.txt 2> build.log &
  tbgen build --men 5 --memory 12G
  tbgen build --men 5 --jobs 2 --memory 16G
  tbgen build --men 4 --rules wg
  tbgen build --men 5 --scheduler tcp://host:8786 --dir /shared/tables
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    parser.add_argument("materials", nargs="*", metavar="MATERIAL", help="material such as KBvK")
    parser.add_argument(
        "--men", type=whole_number(2, MAX_MEN), metavar="N", help="all materials of 2 to N men"
    )
    parser.add_argument(
        "--force", action="store_true", help="build the named materials anew even if their tables are there"
    )
    parser.add_argument(
        "--jobs",
        type=_job_count,
        metavar="N|auto",
        help="tables that may be at work at once, as far as memory allows (default: auto, one per thread)",
    )
    parser.add_argument(
        "--threads",
        type=whole_number(1),
        metavar="N",
        help="threads, which the tables at work share (default: all cores); with --scheduler of each table",
    )
    add_rules(parser)
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="build on the workers of this Dask scheduler, such as tcp://host:8786 (docs/cluster.md)",
    )
    parser.add_argument(
        "--estimate", action="store_true", help="print the time, memory and disk needed, and stop"
    )
    parser.add_argument(
        "--memory",
        type=size_in_bytes,
        metavar="SIZE",
        help="build nothing if the process would need more memory than this, such as 12G, 8GiB or 4096M "
        "(default: what the machine has, and what it has free for several tables at once; with --scheduler, "
        "what its workers offer); within it, memory is kept from table to table, which saves some time",
    )
    add_json(parser, "one JSON document about the tables built (or to build)")
    add_directory(parser)


def run(arguments: argparse.Namespace) -> int:
    """Build, or say what a build would take."""
    materials = _materials(arguments)
    threads = arguments.threads or processors()
    jobs = _jobs(arguments, threads)
    memory: int | None = arguments.memory
    directory = default_directory() if arguments.dir is None else arguments.dir
    forced = materials if arguments.force else []
    variant = arguments.variant
    if arguments.estimate:
        todo = missing(materials, directory, variant, force=forced)
        schedule = schedule_of(todo, variant)
        estimates = [schedule.estimate(material, threads) for material in todo]
        outlook = schedule.outlook(limits_of(jobs, threads, memory))
        _print_estimates(estimates, outlook, sum(schedule.copies.values()), arguments.json)
        if memory is not None:
            check_memory(estimates, memory)
        return 0
    journal = Journal(directory, quiet=arguments.json)
    try:
        if arguments.scheduler is None:
            built = build(
                materials,
                directory,
                journal,
                force=arguments.force,
                jobs=jobs,
                threads=threads,
                memory=memory,
                variant=variant,
            )
        else:
            built = _build_on_cluster()(
                materials,
                directory,
                journal,
                arguments.scheduler,
                force=arguments.force,
                threads=arguments.threads,
                memory=memory,
                variant=variant,
            )
    finally:
        journal.close()
    if arguments.json:
        print(
            json.dumps(
                {"directory": str(directory), "built": [_document(table) for table in built]}, indent=2
            )
        )
    elif not built:
        print(f"nothing to build: the tables asked for are in {directory}")
    return 0


def _job_count(text: str) -> int | None:
    """Read ``--jobs``; None stands for auto."""
    return None if text == "auto" else whole_number(1, MOST_JOBS)(text)


def _jobs(arguments: argparse.Namespace, threads: int) -> int:
    """Return how many tables may be at work at once.

    :raises UsageError: if the question is asked of a cluster.
    """
    if arguments.jobs is not None and arguments.scheduler is not None:
        raise UsageError(
            f"--jobs {arguments.jobs} means nothing with --scheduler: --nthreads of a worker says how many "
            "tables it does at once (docs/cluster.md)"
        )
    return min(threads, MOST_JOBS) if arguments.jobs is None else arguments.jobs


def _build_on_cluster() -> Callable[..., list[Built]]:
    with needs_extra("a build with --scheduler", "cluster"):
        from tbgen.generator.cluster.client import build_on_cluster
    return build_on_cluster


def _materials(arguments: argparse.Namespace) -> list[Material]:
    named = [Material.parse(name) for name in arguments.materials]
    if arguments.men is None and not named:
        raise UsageError("nothing to build: name materials such as KBvK, or give --men N")
    return named + (all_materials(arguments.men) if arguments.men is not None else [])


def _print_estimates(estimates: Sequence[Estimate], outlook: Outlook, copies: int, as_json: bool) -> None:
    """Print what every table takes alone, and what the build of all takes; ``copies`` bytes of disk until it
    ends."""
    disk = sum(entry.disk for entry in estimates)
    if as_json:
        tables = [
            {"material": e.material.name, "seconds": e.seconds, "memory": e.memory, "disk": e.disk}
            for e in estimates
        ]
        whole = {
            "jobs": outlook.jobs,
            "seconds": outlook.seconds,
            "memory": outlook.memory,
            "disk": disk,
            "copies": copies,
        }
        print(json.dumps({"tables": tables, **whole}, indent=2))
        return
    if estimates:
        print(f"{'material':10} {'time':>10} {'memory':>11} {'disk':>11}")
    for entry in estimates:
        print(
            f"{entry.material.name:10} {duration(entry.seconds):>10} {size_text(entry.memory):>11} "
            f"{size_text(entry.disk):>11}"
        )
    at_once = f", up to {outlook.jobs} at once" if outlook.jobs > 1 else ""
    needs = f"at most {size_text(outlook.memory)} of memory, {size_text(disk)} of disk"
    if copies:
        needs += f" and, until it ends, {size_text(copies)} for plain copies"
    print(f"{counted(len(estimates), 'table')} to build{at_once}: about {duration(outlook.seconds)}, {needs}")


def _document(built: Built) -> dict[str, Any]:
    info = built.info
    return {
        "material": info.material,
        "rules": info.variant,
        "positions": sum(info.positions) + info.ep_positions,
        "layers": built.layers,
        "max_depth": info.max_depth,
        "seconds": built.seconds,
        "stages": dict(built.stages),
        "peak_memory": built.process_peak,
        "bytes": info.bytes,
        "accrued": info.stores_accrued,
        "digest": info.digest,
    }
