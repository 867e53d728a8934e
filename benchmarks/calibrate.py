#!/usr/bin/env python3
"""Compare the rates of tbgen/costs.toml with measurements of existing tables.

    python benchmarks/calibrate.py data KQRvKR KPPvK

Prints a line per rate and table: the value by costs.toml, the measured value, and their ratio. A proof and a
report are made twice. The second time counts, because the kernels are loaded then. Build time and size are
read from the files. Small tables are not meaningful, because fixed costs outweigh the costs of their slots.
scripts/measure_memory.py measures the memory of builds.
"""

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.costs import RATES, file_size, seconds_of, seconds_to_build
from tbgen.report import read_report
from tbgen.store.format import accrued_form_of, table_path
from tbgen.tables.files import open_table
from tbgen.tables.library import Library
from tbgen.verify.directory import verify


class Stopwatch:
    """A reporter that adds up the seconds of every step of one material."""

    def __init__(self, material: Material, measured: defaultdict[str, float]) -> None:
        self._material = material
        self._seconds = measured
        self._step = ""
        self._step_start = time.perf_counter()
        self._is_counted = False

    def note(self, text: str) -> None:
        """Ignore an event."""

    def begin(self, material: Material, number: int, count: int, seconds_left: float) -> None:
        """End the current step. Steps of other materials do not count."""
        self.enter("")
        self._is_counted = material == self._material

    def progress(self, step: str, done: int | None, total: int, seconds_left: float | None = None) -> None:
        """Start a step, unless it is the current one."""
        if step != self._step:
            self.enter(step)

    def enter(self, step: str) -> None:
        """End the current step, and start the step of this name."""
        now = time.perf_counter()
        if self._step and self._is_counted:
            self._seconds[self._step] += now - self._step_start
        self._step, self._step_start = step, now


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

    def show(name: str, estimate: float, found: float) -> None:
        print(
            f"{material.name:8} {variant:2} {name:20} {estimate:14.3f} {found:14.3f} {found / estimate:6.2f}"
        )

    with open_table(table_path(directory, material.name, variant), material=material) as file:
        info = file.info
    form = accrued_form_of(material)
    show("build, s", seconds_to_build(material, variant, form), info.build_seconds)
    show("file, kB", file_size(material, variant, form) / 1e3, info.bytes / 1e3)
    with Library(directory, variant) as tables:
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
    """Compare the rates for the named tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory", type=Path, metavar="DIR")
    parser.add_argument("materials", nargs="+", metavar="MATERIAL")
    parser.add_argument("--rules", type=Variant, default=Variant.R_MOBILITY)
    arguments = parser.parse_args()
    print(f"{'material':8} {'':2} {'':20} {'costs.toml':>14} {'measured':>14} {'ratio':>6}")
    for name in arguments.materials:
        calibrate(arguments.directory, Material.parse(name), arguments.rules)


if __name__ == "__main__":
    main()
