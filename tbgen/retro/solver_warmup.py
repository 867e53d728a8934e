"""Compiling all kernels of the solver in a separate step, before any table is built.

The kernels for described men are another family (``tbgen.retro.described_warmup``).
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.compiler.cache import compile_side_by_side, compiling, mark_compiled
from tbgen.compiler.jit import compile_for, python_of
from tbgen.index.layout import WHITE_TO_MOVE, layout_of
from tbgen.index.table import AccruedForm, Source
from tbgen.moves.frames import expand
from tbgen.moves.pool import PoolLoader
from tbgen.moves.structs import Pool, make_men
from tbgen.retro.kernels.en_passant import find_ep_positions, solve_ep_positions
from tbgen.retro.kernels.events import Agenda, no_events
from tbgen.retro.kernels.layer_sweeps import Workspace, inner_sweep
from tbgen.retro.kernels.phase import NOTHING, empty_record, settle_rank, solve_ranks
from tbgen.retro.kernels.sweep import SweepState, assign_front, find_candidates, next_state, receive
from tbgen.retro.layer_solvers import EveryLayer
from tbgen.retro.solver import solve
from tbgen.retro.workspace import make_ep_positions, make_function_numbers, make_workspace

KERNEL_FAMILY: Final = __name__
"""Name of this family of kernels in the cache."""
SMALLEST_MATERIAL: Final = Material.parse("KvK")


def ensure_compiled(emit: Callable[[str], object]) -> None:
    """Compile the kernels unless they are in the cache; ``emit`` is first called with a message."""
    with compiling(KERNEL_FAMILY, "of the solver", "about half a minute", emit) as needed:
        if needed:
            compile_kernels()


def compile_kernels() -> None:
    """Compile all kernels, in two processes, and mark them as compiled in the cache."""
    compile_side_by_side(_compile_for_smallest_material, partial(compile_wide_kernels, SMALLEST_MATERIAL, {}))
    solve_in_all_modes(SMALLEST_MATERIAL, {})
    mark_compiled(KERNEL_FAMILY)


def _compile_for_smallest_material() -> None:
    compile_single_thread_kernels(SMALLEST_MATERIAL, {})


def compile_single_thread_kernels(material: Material, sources: Mapping[Material, Source]) -> None:
    """Compile the kernels that solve a phase on one thread, and those of en passant positions, unless they
    are in the cache.

    They are compiled for the types of arguments that occur in solving ``material``; ``sources`` are its
    sub-tables.
    """
    workspace, pool, agenda = _examples(material, sources)
    record = empty_record(0, 0, NOTHING, make_function_numbers(0), 0)
    agendas = agenda, agenda
    compile_for(solve_ranks, workspace, pool, 0, 0, agendas, record)
    compile_for(settle_rank, workspace, 0, agendas)
    positions = make_ep_positions(64)
    compile_for(find_ep_positions, workspace, pool, 0, positions, make_men())
    compile_for(solve_ep_positions, workspace.attackers[0], workspace.fresh, positions, (0, 0), pool, 0)


def compile_wide_kernels(material: Material, sources: Mapping[Material, Source]) -> None:
    """Compile the kernels of a wide solution, in which all threads share a phase, and of :func:`expand`.

    Some are compiled directly, for the types of the example arguments, and the rest by solving ``material``.
    """
    workspace, _, agenda = _examples(material, sources)
    attacker = workspace.attackers[0]
    state = SweepState(0, 0, 0, 0)
    sweep = python_of(inner_sweep)(attacker, 2, agenda)
    compile_for(find_candidates, sweep, 0, 0)
    compile_for(receive, sweep, 0)
    compile_for(assign_front, sweep, state, 0)
    compile_for(next_state, sweep, state)
    table = solve(material, sources, Variant.R_MOBILITY, wide=True)
    expand(table.layout, 0, table.value[0], table.depth[0])


def solve_in_all_modes(material: Material, sources: Mapping[Material, Source]) -> None:
    """Solve a small material in every mode (on one thread, wide, and layer by layer), so that all remaining
    kernels are compiled."""
    for wide in (False, True):
        table = solve(material, sources, Variant.R_MOBILITY, wide=wide, accrued=AccruedForm.FUNCTIONS)
    with EveryLayer(table, sources) as layer_maker:
        for batch in layer_maker.batches:
            for _ in layer_maker.ranks(batch):
                layer_maker.read(WHITE_TO_MOVE, 0)


def _examples(material: Material, sources: Mapping[Material, Source]) -> tuple[Workspace, Pool, Agenda]:
    """Return example arguments for kernels, with the types that the solver passes."""
    layout = layout_of(material)
    pool = PoolLoader(layout, sources).pool
    return make_workspace(layout, Variant.R_MOBILITY), pool, Agenda(no_events(), no_events(), 0)
