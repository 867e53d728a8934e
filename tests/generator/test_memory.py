"""The peak memory of a building process agrees with the estimate, whatever it has built before."""

import json
import sys
from pathlib import Path

import pytest

from tbgen.board.material import Material, closure
from tests.support.exhaustive import exhaustive
from tests.support.processes import started

pytestmark = [
    pytest.mark.usefixtures("compiled"),
    pytest.mark.skipif(sys.platform != "linux", reason="the peak of a table is known on Linux alone"),
]

PROGRAM = """
import ctypes, json, sys
from pathlib import Path
import numpy as np
from tbgen.generator import build, estimate
from tbgen.board.material import Material
from tbgen.board.variant import Variant

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # malloc.h

class Peaks:
    found = []
    def note(self, text): pass
    def progress(self, step, done, total, seconds_left=None): pass
    def begin(self, material, number, count, seconds_left):
        Path("/proc/self/clear_refs").write_text("5")
    def finish_table(self, built, seconds_left):
        peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) << 10
        needs = estimate(Material.parse(built.info.material), variant, 2)
        self.found.append((built.info.material, peak, needs.memory))

directory, before, variant, *names = sys.argv[1:]
variant = Variant(variant)
if before != "fresh":
    # What a larger table leaves: a GiB and a half of free memory. Whether the GNU C library keeps it depends
    # on what has been allocated before, so it is told to: nothing by mmap, nothing trimmed.
    library = ctypes.CDLL(None)
    library.mallopt(M_MMAP_MAX, 0)
    library.mallopt(M_TRIM_THRESHOLD, 2**31 - 1)
    pieces = [np.ones(1 << 22, np.uint8) for _ in range(384)]
    del pieces
    library.mallopt(M_MMAP_MAX, 1 << 16)
build([Material.parse(name) for name in names], Path(directory), Peaks(), variant=variant, force=True)
print(json.dumps(Peaks.found))
"""


def peaks(directory: Path, before: str, variant: str, *names: str) -> list[tuple[str, int, int]]:
    """Return name, peak and estimate in bytes of each table, built in a process of its own."""
    with started("-c", PROGRAM, str(directory), before, variant, *names) as running:
        output, error = running.communicate()
    assert running.returncode == 0, error
    return [(name, peak, need) for name, peak, need in json.loads(output)]


@pytest.mark.parametrize(
    ("before", "variant", "table"),
    [
        ("used", "wg", "KPvK"),
        *exhaustive((before, variant, "KBvKN") for before in ("fresh", "used") for variant in ("r", "wg")),
    ],
)
def test_the_estimate_bounds_the_peak(before: str, variant: str, table: str, tmp_path: Path) -> None:
    found = peaks(tmp_path, before, variant, table)
    assert [name for name, _, _ in found] == [each.name for each in closure([Material.parse(table)])]
    for name, peak, need in found:
        assert 100 << 20 < peak <= need, name
        assert before == "used" or need < 1.3 * peak, name
