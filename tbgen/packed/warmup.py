"""Compiling the kernels of the packed form in one go, so that it is a step of its own."""

import tempfile
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Final

from tbgen.accelerate import mark_compiled
from tbgen.errors import TbgenError
from tbgen.index.exits import BestExit
from tbgen.index.layout import SIDES, Side, Slot, layout_of
from tbgen.index.source import ArraySource
from tbgen.index.table import NO_SCORE, AccruedForm
from tbgen.material import Material
from tbgen.packed.file import PackedFile
from tbgen.packed.pack import NeedFinder
from tbgen.packed.unpack import unpack
from tbgen.packed.writer import write_packed
from tbgen.retro.solver import solve
from tbgen.score import Code
from tbgen.variant import Variant

FAMILY: Final = "packed"
"""Name of these kernels in the cache."""


def compile_kernels() -> None:
    """Compile every kernel by packing a small table, asking for positions alone and together, and unpacking
    it; then mark the cache."""
    smallest, kings = Material.parse("KNvK"), Material.parse("KvK")
    rest = solve(kings, {}, Variant.R_MOBILITY, accrued=AccruedForm.NOTHING)
    sources = {kings: ArraySource(rest.value, rest.depth)}
    finder = NeedFinder(layout_of(smallest))
    table = solve(
        smallest,
        sources,
        Variant.R_MOBILITY,
        accrued=AccruedForm.FUNCTIONS,
        side=finder.side,
        after_phase=finder,
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "KNvK.r.h5")
        write_packed(table, finder.needed(), path, version="", build_seconds=0.0, threads=1)
        with PackedFile(path, exits=_no_exits) as file:
            layout = layout_of(smallest)
            alone, together = layout.slot([0, 20, 40]), layout.slot([0, 20, 41])
            file.learn(product(SIDES, [together], [NO_SCORE, 2]), _no_exits_of_many)
            for side in SIDES:
                file.fresh(side, alone)
                file.accrued(side, alone, Code(2))
            unpack(file, sources, threads=1)
    mark_compiled(FAMILY)


def _no_exits(side: Side, slot: Slot, ep_square: int = -1, *, captures_only: bool = False) -> BestExit | None:
    return None


def _no_exits_of_many(
    side: Side, slots: Sequence[Slot], *, captures_only: bool = False
) -> list[BestExit | TbgenError | None]:
    return [None] * len(slots)
