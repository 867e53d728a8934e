"""What a build will need: time, memory and disk, before it begins."""

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tbgen.errors import TbgenError
from tbgen.index.layout import layout_of
from tbgen.material import Material

_MIB: Final = 1 << 20
_BASE_MEMORY: Final = 200 * _MIB
"""The interpreter, numba and the kernels."""


@dataclass(frozen=True)
class Estimate:
    """What one table needs; measured rates per slot, good to about a factor of two."""

    material: Material
    seconds: float
    """Wall time on this many threads, kernels compiled."""
    memory: int
    """Peak memory in bytes."""
    disk: int
    """Size of the file in bytes."""


def estimate(material: Material, threads: int = 2) -> Estimate:
    """Estimate one table from its size and kind; rates measured with ``scripts/bench_build.py`` on two
    cores."""
    layout = layout_of(material)
    slots = 2 * layout.size
    balance = _balance(material)
    pawns = min(material.pawns, 2)
    seconds = 0.02 + slots * 1e-9 * _SECONDS[balance][pawns] * 2 / max(1, min(threads, 2))
    disk = 40_000 + int(slots * _BYTES[balance][pawns])
    sources = sum(6 * layout_of(successor).size for successor in material.successors())
    working = 40 * 2 * layout.phase_size * (1 if not material.pawns else threads)
    memory = _BASE_MEMORY + sources + 10 * slots + working + 6 * disk
    return Estimate(material, seconds, memory, disk)


_SECONDS: Final = {"lone king": (220, 450, 900), "decisive": (350, 400, 900), "even": (700, 900, 700)}
"""Nanoseconds per slot by balance and number of pawns (0, 1, 2 or more)."""

_BYTES: Final = {"lone king": (0.2, 0.5, 0.7), "decisive": (0.3, 0.6, 0.7), "even": (0.6, 1.5, 1.0)}
"""Bytes in the file per slot, likewise."""


def _balance(material: Material) -> str:
    """Whether one side is alone, clearly stronger, or neither: the more even, the more layers stay alive."""
    if material.black == "K":
        return "lone king"
    lead = _strength(material.white) - _strength(material.black)
    return "decisive" if lead >= 4 else "even"


def _strength(men: str) -> float:
    return sum({"Q": 9.5, "R": 5, "B": 3.25, "N": 3.25, "P": 1}.get(man, 0) for man in men)


def check_room(materials: Iterable[Material], directory: Path) -> None:
    """Check that the disk has room for the tables.

    :raises TbgenError: if it has not.
    """
    needed = sum(estimate(material).disk for material in materials)
    free = shutil.disk_usage(directory).free
    if needed > free:
        raise TbgenError(
            f"the disk is full: the tables need about {needed / _MIB:.0f} MiB and {directory} has "
            f"{free / _MIB:.0f} MiB left; make room or choose another directory with --dir"
        )


def physical_memory() -> int:
    """Return the memory of this machine in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
