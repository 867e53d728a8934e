"""What a build will need: time, memory and disk, before it begins."""

import os
import shutil
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from tbgen.errors import TbgenError
from tbgen.index.layout import Layout, layout_of
from tbgen.index.source import BYTES_PER_SLOT
from tbgen.index.zeroing import en_passant_configs, is_wide, most_promoted_slots
from tbgen.material import Material
from tbgen.store.sources import KEPT

_MIB: Final = 1 << 20
_BASE_MEMORY: Final = 512 * _MIB
"""The interpreter, numba and its compiler."""


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


@cache
def estimate(material: Material, threads: int = 2) -> Estimate:
    """Estimate one table from its size and kind; rates measured with ``scripts/bench_build.py`` on two
    cores."""
    layout = layout_of(material)
    slots, pawns, balance = 2 * layout.size, min(material.pawns, 2), _balance(material)
    seconds = 0.02 + slots * 1e-9 * _NANOSECONDS[balance][pawns] * 2 / min(threads, 2)
    disk = 30_000 + int(slots * _BYTES[balance][pawns])
    return Estimate(material, seconds, _memory(layout, threads), disk)


def _memory(layout: Layout, threads: int) -> int:
    """Return the peak of memory in bytes: the pool, the room to solve phases in, the runs."""
    rights = len(en_passant_configs(layout)) * layout.phase_size
    smaller = [m for m in layout.material.successors() if m.men < layout.material.men]
    around = sum(2 * layout_of(m).size for m in smaller) + most_promoted_slots(layout)
    pool = BYTES_PER_SLOT * (2 * layout.size + rights + around)
    at_once = 1 if is_wide(layout) else min(threads, len(layout.placements))
    runs = int(layout.size * _RUNS[_balance(layout.material)])
    return _BASE_MEMORY + KEPT + pool + at_once * layout.phase_size * _WORKSPACE + runs * _BYTES_PER_RUN


_WORKSPACE: Final = 54
"""Bytes that solving takes per slot (of one side to move) of every phase at work."""

_RUNS: Final = {"lone king": 0.2, "decisive": 0.3, "even": 0.5}
"""Most runs of accrued scores per slot of a side, before a table of five men goes without them."""

_BYTES_PER_RUN: Final = 8

_NANOSECONDS: Final = {"lone king": (60, 90, 180), "decisive": (105, 110, 150), "even": (230, 220, 250)}
"""Wall time per slot by balance and number of pawns (0, 1, 2 or more)."""

_BYTES: Final = {"lone king": (0.22, 0.33, 0.3), "decisive": (0.33, 0.42, 0.5), "even": (0.6, 0.5, 0.9)}
"""Bytes in the file per slot, likewise."""


def _balance(material: Material) -> str:
    """Whether one side is alone, clearly stronger, or neither: the more even, the more layers stay alive."""
    if material.black == "K":
        return "lone king"
    lead = _strength(material.white) - _strength(material.black)
    return "decisive" if lead >= 4 else "even"


def _strength(men: str) -> float:
    return sum({"Q": 9.5, "R": 5, "B": 3.25, "N": 3.25, "P": 1}.get(man, 0) for man in men)


def pace(done: Iterable[tuple[Estimate, float]]) -> float:
    """Return how many times its estimate a table takes on this machine, by those that are done and the
    seconds they took; nearly 1 until they are worth more than a minute."""
    foreseen = taken = _SURE
    for needs, seconds in done:
        foreseen += needs.seconds
        taken += seconds
    return taken / foreseen


_SURE: Final = 60.0


def check_memory(estimates: Iterable[Estimate], cap: int | None = None) -> None:
    """Check that no table needs more memory than it may have: ``cap`` bytes, else what the machine has.

    :raises TbgenError: if one does.
    """
    limit = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if cap is None else cap
    too_large = [needs for needs in estimates if needs.memory > limit]
    if not too_large:
        return
    first, others = too_large[0], len(too_large) - 1
    more = f", and {others} more of the tables to build exceed it" if others else ""
    whose, remedy = "this machine has", "build on a larger one"
    if cap is not None:
        whose, remedy = "--memory allows", "allow more, build with fewer --threads, or on a larger machine"
    raise TbgenError(
        f"{first.material} needs about {first.memory / _MIB:,.0f} MiB of memory and {whose} "
        f"{limit / _MIB:,.0f} MiB{more}: {remedy}"
    )


def check_disk(estimates: Collection[Estimate], directory: Path) -> None:
    """Check that the disk has room for tables.

    :raises TbgenError: if it has not.
    """
    disk = sum(needs.disk for needs in estimates)
    free = shutil.disk_usage(directory).free
    if disk > free:
        names = [needs.material.name for needs in estimates]
        who = f"{names[0]} needs" if len(names) == 1 else f"the {len(names)} tables need"
        raise TbgenError(
            f"the disk is full: {who} about {disk / _MIB:,.1f} MiB and {directory} has "
            f"{free / _MIB:,.1f} MiB left; make room and build again, or choose another directory with --dir"
        )
