#!/usr/bin/env python3
"""Compare the rates of tbgen/costs.toml with measurements of existing tables.

    python benchmarks/calibrate.py data KQRvKR KPPvK

Prints a line per rate and table: what costs.toml has, what was measured, and the ratio. A proof and a report
are made twice, with warm kernels the second time; build time and size are those of the files. Small tables
say little, since fixed costs outweigh their slots. scripts/measure_memory.py measures the memory of builds.
"""

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.costs import RATES, file_size, seconds_of, seconds_to_build
from tbgen.probe.values import Values
from tbgen.report import read_report
from tbgen.store.format import form_of, table_path
from tbgen.store.table_file import StoredFile
from tbgen.verify.directory import verify


class Stopwatch:
    """A reporter that adds up the seconds of every step, of one material alone."""

    def __init__(self, material: Material, measured: defaultdict[str, float]) -> None:
        self._material, self._measured = material, measured
        self._step, self._since, self._counts = "", time.perf_counter(), False

    def note(self, text: str) -> None:
        """Ignore it."""

    def begin(self, material: Material, number: int, count: int, seconds_left: float) -> None:
        """End the current step; steps of other materials do not count."""
        self.enter("")
        self._counts = material == self._material

    def progress(self, step: str, done: int | None, total: int, seconds_left: float | None = None) -> None:
        """Start a step, unless it is the current one."""
        if step != self._step:
            self.enter(step)

    def enter(self, step: str) -> None:
        """End the current step, and start another one."""
        now = time.perf_counter()
        if self._step and self._counts:
            self._measured[self._step] += now - self._since
        self._step, self._since = step, now


def measured_steps(work: Callable[[Stopwatch], object], material: Material) -> defaultdict[str, float]:
    """Return the seconds of every step that work on a material reports."""
    for _ in range(2):  # the first run also loads kernels
        measured = defaultdict[str, float](float)
        watch = Stopwatch(material, measured)
        work(watch)
        watch.enter("")
    return measured


def calibrate(directory: Path, material: Material, variant: Variant) -> None:
    """Print the rates of one table."""

    def show(name: str, foreseen: float, found: float) -> None:
        print(
            f"{material.name:8} {variant:2} {name:20} {foreseen:14.3f} {found:14.3f} {found / foreseen:6.2f}"
        )

    with StoredFile(table_path(directory, material.name, variant), material=material) as file:
        info = file.info
    form = form_of(material)
    show("build, s", seconds_to_build(material, variant, form), info.build_seconds)
    show("file, kB", file_size(material, variant, form) / 1e3, info.bytes / 1e3)
    with closing(Values([directory], variant=variant)) as tables:
        steps = measured_steps(
            lambda watch: list(verify([material], directory, tables, watch, variant=variant)), material
        )
    show("proof, s", seconds_of(f"proof {variant}", info.size), steps["positions"] + steps["states"])
    steps = measured_steps(
        lambda watch: read_report(directory, [material], rules=variant, reporter=watch), material
    )
    for step, seconds in steps.items():
        name = step.removeprefix(f"{variant}, ")
        if name in RATES.steps:
            show(f"{name}, s", seconds_of(name, info.size), seconds)


def main() -> None:
    """Calibrate by the named tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory", type=Path, metavar="DIR")
    parser.add_argument("materials", nargs="+", metavar="MATERIAL")
    parser.add_argument("--rules", type=Variant.parse, default=Variant.R_MOBILITY)
    given = parser.parse_args()
    print(f"{'material':8} {'':2} {'':20} {'costs.toml':>14} {'measured':>14} {'ratio':>6}")
    for name in given.materials:
        calibrate(given.directory, Material.parse(name), given.rules)


if __name__ == "__main__":
    main()
