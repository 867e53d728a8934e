"""Compiling the kernels of the packed form in one go, so that it is a step of its own."""

import tempfile
from pathlib import Path
from typing import Final

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.compiler.cache import mark_compiled
from tbgen.index.layout import layout_of
from tbgen.index.source import ArraySource
from tbgen.index.table import AccruedForm
from tbgen.packed import asking, sources
from tbgen.packed.asking import ask, no_exits
from tbgen.packed.file import PackedFile
from tbgen.packed.pack import NeedFinder
from tbgen.packed.unpack import unpack
from tbgen.packed.writer import write_packed
from tbgen.retro.solver import solve

FAMILY: Final = __name__
"""Name of these kernels in the cache."""


def compile_kernels() -> None:
    """Compile every kernel by packing a small table, asking for positions alone and together, and unpacking
    it; then mark the cache."""
    smallest, kings = Material.parse("KNvK"), Material.parse("KvK")
    rest = solve(kings, {}, Variant.R_MOBILITY, accrued=AccruedForm.NOTHING)
    below = {kings: ArraySource(rest.value, rest.depth)}
    finder = NeedFinder(layout_of(smallest))
    table = solve(
        smallest,
        below,
        Variant.R_MOBILITY,
        accrued=AccruedForm.FUNCTIONS,
        side=finder.side,
        after_phase=finder,
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "KNvK.r.h5")
        write_packed(table, finder.needed(), path, version="", build_seconds=0.0, threads=1)
        with PackedFile(path, exits=no_exits) as file:
            ask(file)
            unpack(file, below, threads=1)
    for family in (FAMILY, asking.FAMILY, sources.FAMILY):
        mark_compiled(family)
