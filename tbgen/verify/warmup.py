"""Compiling all kernels of the proof in one go, so that it is a step of its own and not part of a table."""

from collections.abc import Callable
from typing import Final

import numpy as np

from tbgen.board.material import Material
from tbgen.board.score import NONE
from tbgen.board.variant import Variant
from tbgen.compiler.cache import compiling, mark_compiled
from tbgen.index.layout import layout_of
from tbgen.index.table import Table
from tbgen.verify.kernels.keys import Accrued, inherits, key_of, worth_of
from tbgen.verify.proof import Proof
from tbgen.verify.sub_tables import Fresh, SubTables
from tbgen.verify.threads import ProofThreads

FAMILY: Final = __name__
"""Name of these kernels in the cache."""


def compile_kernels() -> None:
    """Compile every kernel by running it on no slots at all, then mark the cache."""
    with ProofThreads(1) as threads:
        table = _empty_table()
        proof = Proof(table, SubTables(table.layout, dict[Material, Fresh]().__getitem__), threads)
        proof.survey([(0, 0)])
        proof.survey_runs([(0, 0)])
        proof.prove_window((0, 0))
        proof.enter(Accrued(2, 2), proof.no_claims())
    # What probes of packed tables are compared by.
    inherits(2, 2, Accrued(2, 2), 0)
    key_of(2, 0, worth_of(2))
    mark_compiled(FAMILY)


def ensure_compiled(note: Callable[[str], object]) -> None:
    """Compile the kernels if that is still to do, and tell ``note`` first."""
    with compiling(FAMILY, "of the proof", "about ten seconds", note) as needed:
        if needed:
            compile_kernels()


def _empty_table() -> Table:
    layout = layout_of(Material.parse("KvK"))
    value, depth = np.full((2, layout.size), NONE, np.uint8), np.zeros((2, layout.size), np.uint16)
    mask, config = np.zeros((2, 2, layout.size // 64), np.uint64), np.zeros((0, 2), np.int32)
    codes, plies = np.zeros((0, layout.phase_size), np.uint8), np.zeros((0, layout.phase_size), np.uint16)
    runs = mask, codes.ravel(), codes.ravel(), plies.ravel()
    return Table(layout.material, Variant.R_MOBILITY, value, depth, *runs, config, codes, plies)
