#!/usr/bin/env python3
"""Build tables one by one, each in its own process, and compare their memory with the estimate.

    scripts/measure_memory.py data KBvKN KQRvKR
    scripts/measure_memory.py data KQRvKR --threads 1 --rules wg

DIR must contain the sub-tables. It is not changed, because tables are built in a temporary folder. Further
options are passed to `tbgen build`.

Prints a line per table: the estimate, the peak of the process, the ratio of the peak to the estimate, and the
bytes per slot of the phases that are solved at once. The last number excludes the pool and the fixed memory
of a build. It determines `workspace` and `runs_memory` in tbgen/costs.toml. Exit code 0 if all estimates are
near the peak, else 1.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tbgen.board.material import Material
from tbgen.costs import concurrent_slots, pool_memory
from tbgen.errors import TbgenError
from tbgen.generator.estimate import shared_bytes_of
from tbgen.index.layout import layout_of
from tbgen.store.format import SUFFIX

TOLERANCE: Final = 0.1
"""Allowed error of an estimate as a share of the peak."""

MIB: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Measured:
    """The memory of the build of one table."""

    material: Material
    estimated: int
    """Estimated bytes."""
    peak: int
    """Peak of the process in bytes."""
    at_work: int
    """Number of slots of the phases that are solved at once."""

    @property
    def ratio(self) -> float:
        """The peak as a multiple of the estimate."""
        return self.peak / self.estimated

    @property
    def is_good(self) -> bool:
        """Whether the estimate is near the peak."""
        return abs(self.estimated - self.peak) <= TOLERANCE * self.peak

    @property
    def rest(self) -> float:
        """Bytes per slot of these phases, without the pool and the fixed memory of a build."""
        expected = shared_bytes_of(self.material) + pool_memory(layout_of(self.material))
        return (self.peak - expected) / self.at_work

    def __str__(self) -> str:
        return (
            f"{self.material.name:8} {self.estimated / MIB:10,.0f} MiB {self.peak / MIB:10,.0f} MiB "
            f"{self.ratio:7.2f} {self.rest:10.1f}"
        )


def main(arguments: Sequence[str]) -> int:
    """Measure the named tables, and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("directory", type=Path, metavar="DIR", help="directory of the sub-tables")
    parser.add_argument("materials", nargs="+", metavar="MATERIAL")
    parser.add_argument("--threads", type=int, default=2, metavar="N", help="threads (default: 2)")
    known, options = parser.parse_known_args(arguments)
    try:
        return run(known.directory, known.materials, known.threads, options)
    except TbgenError as error:
        print(f"measure_memory: {error}", file=sys.stderr)
        return error.exit_code


def run(directory: Path, names: Sequence[str], threads: int, options: Sequence[str] = ()) -> int:
    """Measure tables, and print a line for each. Return 0 if all estimates are good, else 1."""
    print(f"{'material':8} {'estimate':>14} {'peak':>14} {'ratio':>7} {'bytes/slot':>10}")
    all_good = True
    for measured in measurements(directory, names, threads, options):
        print(measured, flush=True)
        all_good &= measured.is_good
    return 0 if all_good else 1


def measurements(
    directory: Path, names: Sequence[str], threads: int, options: Sequence[str] = ()
) -> Iterator[Measured]:
    """Build the tables of some materials, each in a separate process and folder.

    :raises TbgenError: if a build fails.
    """
    for material in map(Material.parse, names):
        with tempfile.TemporaryDirectory(prefix="tbgen-memory-") as folder:
            for path in directory.resolve().glob(f"*{SUFFIX}"):
                if path.name.split(".")[0] != material.name:
                    Path(folder, path.name).symlink_to(path)
            words = [material.name, "--dir", folder, "--threads", str(threads), "--json", *options]
            (estimate,) = build_document(words, "--estimate")["tables"]
            (built,) = build_document(words)["built"]
        at_work = concurrent_slots(layout_of(material), threads)
        yield Measured(material, estimate["memory"], built["peak_memory"], at_work)


def build_document(words: Sequence[str], *options: str) -> dict[str, Any]:
    """Return the document that ``tbgen build`` prints.

    :raises TbgenError: if the command fails, with its message, or if sub-tables are missing.
    """
    command = [sys.executable, "-m", "tbgen", "build", *words, *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise TbgenError(done.stderr.splitlines()[-1].removeprefix("tbgen: "))
    document: dict[str, Any] = json.loads(done.stdout)
    if len(document.get("tables", ())) > 1:
        missing = ", ".join(table["material"] for table in document["tables"][:-1])
        raise TbgenError(f"sub-tables of {words[0]} are missing, build them first: {missing}")
    return document


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
