"""``tbgen build``: make tables."""

import argparse
import json
import os
from collections.abc import Callable, Sequence
from typing import Any

from tbgen.cli.journal import Journal
from tbgen.cli.options import add_directory, add_json, add_rules, size_in_bytes, whole_number
from tbgen.errors import UsageError, needs_extra
from tbgen.generator import AccruedStorage, Built, Estimate, build, check_memory, estimate, missing
from tbgen.generator.memory import keep_memory_for
from tbgen.material import MAX_MEN, Material, all_materials
from tbgen.store.format import default_directory
from tbgen.text import counted, duration, size_text

_DESCRIPTION = """\
Build the tables of the named materials, or of all with up to N men, and before them whatever sub-tables
captures and promotions lead to. Tables that are there are skipped, so a build that was interrupted (by
Ctrl-C or SIGTERM) goes on where it was; the table at work is lost and nothing else. A line per finished table
goes to stdout, progress to stderr: if that is no terminal, in lines with date and time, for a log.
"""
_EPILOG = """\
examples:
  tbgen build KBvK
  tbgen build --men 4 --estimate
  nohup tbgen build --men 5 > tables.txt 2> build.log &
  tbgen build --men 5 --accrued none --memory 12G
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
    parser.add_argument("--threads", type=whole_number(1), metavar="N", help="threads (default: all cores)")
    parser.add_argument(
        "--accrued",
        choices=[choice.value for choice in AccruedStorage],
        help="whether tables store the values of accrued scores: all, none, or auto (default), which leaves "
        "them out of those tables of five men where they would take more room than the fresh values; what is "
        "left out is worked out on demand; tables that are there stay as they are",
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
        "(default: what the machine has; with --scheduler, what its workers offer); within it, memory is "
        "kept from table to table, which saves some time",
    )
    add_json(parser, "one JSON document about the tables built (or to build)")
    add_directory(parser)


def run(arguments: argparse.Namespace) -> int:
    """Build, or say what a build would take."""
    materials = _materials(arguments)
    threads = arguments.threads or os.cpu_count() or 1
    memory: int | None = arguments.memory
    directory = default_directory() if arguments.dir is None else arguments.dir
    forced = materials if arguments.force else []
    storage, variant = _storage(arguments), arguments.variant
    if arguments.estimate:
        todo = missing(materials, directory, variant, force=forced)
        estimates = [estimate(material, variant, threads, storage) for material in todo]
        _print_estimates(estimates, arguments.json)
        if memory is not None:
            check_memory(estimates, memory)
        return 0
    journal = Journal(directory, quiet=arguments.json)
    try:
        if arguments.scheduler is None:
            keep_memory_for(missing(materials, directory, variant, force=forced), variant, threads)
            built = build(
                materials,
                directory,
                journal,
                force=arguments.force,
                threads=threads,
                storage=storage,
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
                storage=storage,
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


def _storage(arguments: argparse.Namespace) -> AccruedStorage:
    """Return what tables are to store.

    :raises UsageError: if the question is asked of tables for which there is nothing to choose.
    """
    if arguments.accrued is None:
        return AccruedStorage.AUTO
    if not arguments.variant.resets:
        raise UsageError(
            f"--accrued {arguments.accrued} means nothing with --rules {arguments.variant}: in "
            "whole-game mobility the values of accrued scores follow from the fresh ones, and no table "
            "stores them"
        )
    return AccruedStorage(arguments.accrued)


def _build_on_cluster() -> Callable[..., list[Built]]:
    with needs_extra("a build with --scheduler", "cluster"):
        from tbgen.generator.cluster.client import build_on_cluster
    return build_on_cluster


def _materials(arguments: argparse.Namespace) -> list[Material]:
    named = [Material.parse(name) for name in arguments.materials]
    if arguments.men is None and not named:
        raise UsageError("nothing to build: name materials such as KBvK, or give --men N")
    return named + (all_materials(arguments.men) if arguments.men is not None else [])


def _print_estimates(estimates: Sequence[Estimate], as_json: bool) -> None:
    seconds = sum(entry.seconds for entry in estimates)
    memory = max((entry.memory for entry in estimates), default=0)
    disk = sum(entry.disk for entry in estimates)
    if as_json:
        tables = [
            {"material": e.material.name, "seconds": e.seconds, "memory": e.memory, "disk": e.disk}
            for e in estimates
        ]
        print(json.dumps({"tables": tables, "seconds": seconds, "memory": memory, "disk": disk}, indent=2))
        return
    if estimates:
        print(f"{'material':10} {'time':>10} {'memory':>11} {'disk':>11}")
    for entry in estimates:
        print(
            f"{entry.material.name:10} {duration(entry.seconds):>10} {size_text(entry.memory):>11} "
            f"{size_text(entry.disk):>11}"
        )
    needs = f"at most {size_text(memory)} of memory, {size_text(disk)} of disk"
    print(f"{counted(len(estimates), 'table')} to build: about {duration(seconds)}, {needs}")


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
