#!/usr/bin/env python3
"""Build tables in an empty directory and print what each took.

    scripts/bench_build.py --men 4
    scripts/bench_build.py KRvKR KPvKP --threads 1
    scripts/bench_build.py KNNvKP --sub-tables data
    scripts/bench_build.py --men 4 --rules wg

Per table: positions, layers, wall seconds in all and per stage, peak memory of the process while it was
built, bytes of the file. The stages of a table with pawns are summed over the threads that solve its phases
side by side. The kernels are compiled before, as a line of its own.
"""

import argparse
import contextlib
import os
import platform
import resource
import tempfile
import time
from pathlib import Path

from tbgen.accelerate import is_compiled
from tbgen.cli.options import add_rules
from tbgen.generator import Built, build
from tbgen.generator.memory import keep_memory_for
from tbgen.material import Material, all_materials, closure
from tbgen.retro.warmup import FAMILY, compile_kernels
from tbgen.store.format import table_path, tables_in

STAGES = (
    "sub-tables",
    "moves",
    "events",
    "outer sweeps",
    "inner sweeps",
    "settling",
    "weaving",
    "layers",
    "assemble",
    "write",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("materials", nargs="*", metavar="MATERIAL")
    parser.add_argument("--men", type=int, metavar="N", help="all materials of 2 to N men")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, metavar="N")
    parser.add_argument(
        "--sub-tables", type=Path, metavar="DIR", help="take sub-tables from here, rather than build them too"
    )
    add_rules(parser)
    arguments = parser.parse_args()
    wanted = [Material.parse(name) for name in arguments.materials]
    if arguments.men:
        wanted += all_materials(arguments.men)
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    print(f"{machine}, {arguments.threads} threads")
    if not is_compiled(FAMILY):
        begun = time.perf_counter()
        compile_kernels()
        print(f"compiling the kernels, once: {time.perf_counter() - begun:.1f} s")
    report = Report(set(wanted))
    threads, variant = arguments.threads, arguments.variant
    keep_memory_for(wanted, variant, threads)
    with tempfile.TemporaryDirectory() as folder:
        for material in tables_in(arguments.sub_tables, variant) if arguments.sub_tables else ():
            if material not in wanted:
                path = table_path(arguments.sub_tables, material.name, variant)
                Path(folder, path.name).symlink_to(path.resolve())
        build(closure(wanted), Path(folder), report, threads=threads, variant=variant)
    print(
        f"{'all':8} {report.positions:>11,}        {report.seconds:8.2f} "
        + " ".join(f"{report.stages.get(stage, 0):10.2f}" for stage in STAGES)
        + f" {report.peak:8.0f} {report.bytes:>11,}"
    )


class Report:
    """Prints a line per table that was asked for, and sums over them."""

    def __init__(self, wanted: set[Material]) -> None:
        self.wanted = wanted
        self.positions = self.bytes = 0
        self.seconds = self.peak = 0.0
        self.stages: dict[str, float] = {}
        print(
            f"{'material':8} {'positions':>11} {'layers':>6} {'seconds':>8} "
            + " ".join(f"{stage:>10.10}" for stage in STAGES)
            + f" {'peak MiB':>8} {'bytes':>11}"
        )

    def note(self, text: str) -> None:
        print(text)

    def begin(self, material: Material, number: int, count: int, seconds_left: float) -> None:
        forget_peak()

    def progress(self, stage: str, done: int | None, total: int) -> None:
        pass

    def done(self, built: Built, seconds_left: float) -> None:
        info, peak = built.info, peak_mib()
        if Material.parse(info.material) not in self.wanted:
            return
        positions = sum(info.positions) + info.ep_positions
        print(
            f"{info.material:8} {positions:>11,} {built.layers:6} {built.seconds:8.2f} "
            + " ".join(f"{built.stages.get(stage, 0):10.2f}" for stage in STAGES)
            + f" {peak:8.0f} {info.bytes:>11,}",
            flush=True,
        )
        self.positions += positions
        self.bytes += info.bytes
        self.seconds += built.seconds
        self.peak = max(self.peak, peak)
        for stage, seconds in built.stages.items():
            self.stages[stage] = self.stages.get(stage, 0.0) + seconds


def forget_peak() -> None:
    """Let Linux begin a new peak of this process's memory."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_mib() -> float:
    """Return the peak of resident memory since it was last forgotten, in MiB."""
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1024
    except (OSError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
