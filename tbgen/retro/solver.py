"""Solving a table: its phases in order, on several threads, with the values for all accrued scores.

Values for accrued scores are stored as runs or as functions (``tbgen.retro.kernels.functions``).
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from queue import SimpleQueue
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import MAX_CODED_RANK, NONE
from tbgen.board.variant import Variant
from tbgen.errors import LimitError
from tbgen.index.arrays import Part, equal_parts, parts_of_size
from tbgen.index.layout import BLACK_TO_MOVE, SIDES, Layout, Side, layout_of
from tbgen.index.table import AccruedForm, Source, Table, ValueFunctions
from tbgen.index.zeroing import en_passant_configs, phase_groups, threads_share_phase
from tbgen.moves.frames import mirrors_itself, place_pawns, to_table_order
from tbgen.moves.kernels.phases import clear_images
from tbgen.moves.kernels.words import Codes, Plies, Words
from tbgen.moves.pool import Map, PoolLoader, SolvedPhases
from tbgen.moves.structs import Phase, PhaseMoves, Pool, SpareMemory
from tbgen.progress import Progress, silent
from tbgen.retro.kernels.functions import (
    NO_STEP,
    FunctionNumbers,
    Log,
    Numbers,
    Runs,
    count_numbers,
    functions_of,
    number_fresh_paths,
    renumber,
    runs_of_entries,
    write_renumbered,
)
from tbgen.retro.kernels.layer_sweeps import FIRST_LAYER, Workspace
from tbgen.retro.kernels.numbering import MAX_NUMBERS, new_numbering
from tbgen.retro.kernels.phase import NOTHING, RUNS, SweepRecord, empty_record
from tbgen.retro.kernels.sweep import MAX_DEPTH, SweepResults
from tbgen.retro.ranks import (
    MAX_PARTS,
    Crew,
    EpConfig,
    PhaseSolver,
    StageTimes,
    WidePhaseSolver,
    find_moves,
    store_fresh,
)
from tbgen.retro.workspace import (
    give_up_results,
    make_function_numbers,
    make_workspace,
    moves_of,
    score_resets,
    spare_memory,
)
from tbgen.system.memory import discard, zeros

_INITIAL_CAPACITY: Final = 1024
"""Number of entries of functions for which memory is allocated at first."""
_SLOTS_PER_PART: Final = 1 << 22
"""Number of slots that one task counts or renumbers."""

AfterPhase = Callable[[int, PhaseMoves, Pool, SpareMemory, int, Map], None]
"""A function to call after each phase has been solved.

The arguments are the phase, its positions and ranks, the pool with the values, memory that the function may
use, the number of parts into which to divide the work, and a function like ``map`` that may distribute the
parts over threads."""


class FunctionNumbering:
    """The functions of a table for one side to move, and the function number of each slot.

    :param solved: where to write the numbers of each phase; None to keep those of a single phase in memory.
    """

    def __init__(self, layout: Layout, side: Side, solved: SolvedPhases | None) -> None:
        self.side = side
        self._layout = layout
        self._solved = solved
        self._kept_numbers = make_function_numbers(0)
        self._functions = new_numbering(_INITIAL_CAPACITY, NO_STEP)
        self._count = np.zeros(_INITIAL_CAPACITY, np.int64)
        self._lock = threading.Lock()

    def add(self, phase: int, sets: Phase, records: Sequence[SweepRecord], fresh: Codes, mapper: Map) -> None:
        """Convert the paths of a phase to functions, and keep their numbers.

        :param sets: the sets of the phase.
        :param records: the records of all words of the phase, with their paths. The numbering after
            :meth:`finish` depends neither on their division of the words nor on the number of threads.
        :param fresh: uint8 (phase size,): the fresh values.
        :param mapper: called like ``map``; may distribute the records over threads.
        :raises LimitError: if there are more paths or functions than can be numbered.
        :raises TbgenError: if the numbers cannot be written.
        """
        numbers = records[0].paths.path_numbers

        def convert(record: SweepRecord) -> None:
            steps = record.paths.steps
            self._check("paths", int(steps.length[0]))
            fresh_paths = number_fresh_paths(sets, record.paths, fresh, record.start, record.stop)
            with self._lock:
                self._functions, new_numbers = functions_of(fresh_paths, steps, self._functions)
                self._check("functions", int(self._functions.length[0]))
                highest = max(steps.length[0], len(new_numbers), self._functions.length[0])
            renumber(_part_of(numbers, 64 * record.start, 64 * record.stop), new_numbers, highest)

        list(mapper(convert, records))
        with self._lock:
            limit = int(self._functions.length[0])
            if limit > len(self._count):
                self._count = np.append(self._count, np.zeros(limit, np.int64))
            count_numbers(numbers, self._count[:limit])
        if self._solved is None:
            self._kept_numbers = numbers
        else:
            self._solved.write_numbers(phase, *numbers[: 1 + (limit > 1 << 16)])

    def _check(self, noun: str, count: int) -> None:
        if count > MAX_NUMBERS:
            material = self._layout.material
            raise LimitError(f"{material} has more than the {MAX_NUMBERS} {noun} that can be numbered")

    def finish(self, mapper: Map) -> ValueFunctions:
        """Return the functions of the table, numbered by falling frequency. No phase can be added after this.

        :param mapper: called like ``map``; may distribute parts of the slots over threads.
        """
        keys = self._functions.key[: self._functions.length[0]]
        count = self._count[: len(keys)]
        used_functions = [0, *(np.flatnonzero(count[1:]) + 1).tolist()]
        entries = {function: _entries(keys, function) for function in used_functions}
        order = [0, *sorted(used_functions[1:], key=lambda function: (-count[function], entries[function]))]
        new_numbers = np.zeros(len(keys), np.uint32)
        new_numbers[order] = np.arange(len(order))

        number_of_slot = self._renumbered(new_numbers, mapper)
        codes = np.frombuffer(b"".join(entries[function] for function in order), np.uint8)
        start = np.cumsum([0, *(len(entries[function]) // 2 for function in order)])
        return ValueFunctions(self.side, number_of_slot, start, codes[::2].copy(), codes[1::2].copy())

    def _renumbered(self, new_numbers: Numbers, mapper: Map) -> Numbers:
        """Return the number ``new_numbers[n]`` for the number n of every slot of the table."""
        if self._solved is not None:
            renumber_phase = partial(_renumber_phase, self._solved, self._layout.phase_size, new_numbers)
            list(mapper(renumber_phase, range(len(self._layout.placements))))
            return self._solved.numbers()
        number_of_slot = zeros(self._layout.size, np.uint32)

        def write_numbers(part: Part) -> None:
            write_renumbered(_part_of(self._kept_numbers, *part), new_numbers, number_of_slot[slice(*part)])

        list(mapper(write_numbers, parts_of_size(0, len(self._kept_numbers.low), _SLOTS_PER_PART)))
        to_table_order(self._layout, number_of_slot, 0)
        return number_of_slot


def _part_of(numbers: FunctionNumbers, start: int, stop: int) -> FunctionNumbers:
    """Return the numbers of the slots ``start`` to ``stop`` - 1."""
    return FunctionNumbers(numbers.low[start:stop], numbers.high[start:stop])


def _renumber_phase(solved: SolvedPhases, slots: int, new_numbers: Numbers, phase: int) -> None:
    """Replace every function number n of a phase by ``new_numbers[n]``, in four bytes."""
    numbers = make_function_numbers(slots)
    solved.read_numbers(phase, *numbers[: 1 + (len(new_numbers) > 1 << 16)])
    result = np.empty(slots, np.uint32)
    write_renumbered(numbers, new_numbers, result)
    solved.write_numbers(phase, result)


def _entries(keys: Words, function: int) -> bytes:
    """Return the entries of a function, two bytes each: the codes of A and V(P, A)."""
    entries = []
    while function:
        function, entry = divmod(int(keys[function]), 1 << 16)
        entries.append(entry.to_bytes(2, "big"))
    return b"".join(reversed(entries))


def solve(
    material: Material,
    sources: Mapping[Material, Source],
    variant: Variant,
    *,
    threads: int = 2,
    progress: Progress = silent,
    stages: StageTimes | None = None,
    wide: bool | None = None,
    accrued: AccruedForm = AccruedForm.RUNS,
    max_runs: int | None = None,
    side: Side = BLACK_TO_MOVE,
    after_phase: AfterPhase | None = None,
    path: Path | None = None,
) -> Table:
    """Solve the table of a material.

    :param sources: the tables of all successors, of the same variant.
    :param wide: whether all threads work on one phase at a time, rather than one thread on each phase; None
        to decide this from the size of the phases.
    :param accrued: form in which the values for accrued scores are stored; ignored in whole-game mobility.
    :param max_runs: greatest number of runs; a table that would have more runs is made without any.
    :param side: the side to move for which functions are stored.
    :param after_phase: called after each phase.
    :param path: the file to which the table will be written. A table with pawns is solved with a temporary
        file beside it (:class:`SolvedPhases`); without ``path``, in the system's temporary directory.
    :raises TbgenError: if the temporary file cannot be written.
    :raises UsageError: if the solver does not support the variant.
    :raises ValueError: if ``wide`` is true for a table with en passant positions.
    :raises LimitError: if a value has no code, a depth is too large, or there are too many positions or
        functions. Materials of up to five men are far from these limits.
    """
    layout = layout_of(material)
    stages = stages or StageTimes()
    if wide and len(en_passant_configs(layout)):
        raise ValueError(
            f"{material} has en passant positions: its phases cannot each be solved on several threads"
        )
    wide = threads_share_phase(layout) if wide is None else wide
    with stages.timed("sub-tables"), ThreadPoolExecutor(threads) as executor:
        loader = PoolLoader(layout, sources, mapper=executor.map)
    if not score_resets(variant) or max_runs == 0:
        accrued = AccruedForm.NOTHING
    with ExitStack() as files:
        solved = None
        if layout.pawns:
            solved = files.enter_context(
                closing(SolvedPhases(layout, path, accrued is AccruedForm.FUNCTIONS))
            )
        solver = _TableSolver(layout, loader, solved, variant, threads, wide, progress, stages, after_phase)
        solver.set_accrued_form(accrued, max_runs, side)
        solver.run()
        with stages.timed("assemble"):
            return solver.table()


@dataclass
class _TableSolver:
    """Solves one table, phase by phase."""

    layout: Layout
    loader: PoolLoader
    solved: SolvedPhases | None
    variant: Variant
    threads: int
    wide: bool
    progress: Progress
    stages: StageTimes
    after_phase: AfterPhase | None = None
    max_runs: int | None = None
    functions: FunctionNumbering | None = None

    def __post_init__(self) -> None:
        self.form_number = NOTHING
        self.run_count = 0
        self.runs_by_phase: dict[int, list[Runs]] = {}
        self.pool = self.loader.pool
        self.configs = en_passant_configs(self.layout)
        ep_shape = len(self.configs), self.layout.phase_size
        self.ep_value, self.ep_depth = np.empty(ep_shape, np.uint8), np.empty(ep_shape, np.uint16)
        self.crew = Crew(self.threads, self.stages)
        # A function like ``map`` for the parts of one phase, and the number of parts.
        self.phase_map: Map = self.crew.phase_threads.map if self.wide else map
        self.parts = self.crew.phase_parts if self.wide else 1
        self._lock = threading.Lock()

    def set_accrued_form(self, form: AccruedForm, max_runs: int | None, side: Side) -> None:
        """Set the form in which the values for accrued scores are stored; see :func:`solve`."""
        self.form_number = list(AccruedForm).index(form)
        self.max_runs = max_runs
        if form is AccruedForm.FUNCTIONS:
            self.functions = FunctionNumbering(self.layout, side, self.solved)

    def run(self) -> None:
        """Solve all phases. Phases with the same number of remaining pawn steps are independent of each
        other."""
        idle: SimpleQueue[Workspace] = SimpleQueue()
        phases = len(self.layout.placements)
        solved = 0
        width = self.crew.width
        for _ in range(1 if self.wide else min(width, phases)):
            parts = min(width, MAX_PARTS) if self.wide else 1
            idle.put(make_workspace(self.layout, self.variant, parts, self.pool))
        map_phases: Map = map if self.wide else self.crew.phase_threads.map
        try:
            for group in phase_groups(self.layout):
                with self.stages.timed("sub-tables"):
                    self.loader.keep_only(group)
                    self.loader.load_blocks(group, self.crew.phase_threads.map)
                for _ in map_phases(partial(self.solve_phase, idle), group):
                    solved += 1
                    self.progress("phases", solved, phases)
        finally:
            # After an interruption, do not wait for the kernels that are still running.
            self.crew.close(wait=solved == phases)

    def solve_phase(self, idle: "SimpleQueue[Workspace]", phase: int) -> None:
        """Solve one phase in an idle workspace, on one thread or on all threads."""
        workspace = idle.get()
        try:
            with self.stages.timed("moves"):
                place_pawns(workspace.frame, self.layout, phase)
                symmetric = mirrors_itself(self.layout, phase)
                find_moves(workspace, self.pool, symmetric, self.parts, self.phase_map)
            self._solve_ranks(phase, workspace)
            if self.after_phase is not None:
                with self.stages.timed("one ply"):
                    spare = spare_memory(workspace)
                    self.after_phase(phase, moves_of(workspace), self.pool, spare, self.parts, self.phase_map)
            with self.stages.timed("assemble"):
                self._keep_canonical(phase, workspace.phase.canonical)
            if self.layout.pawns:  # without pawns, the results are those of the pool
                give_up_results(workspace)
        finally:
            idle.put(workspace)

    def _solve_ranks(self, phase: int, workspace: Workspace) -> None:
        """Solve all ranks of a phase, and store its runs or functions."""
        arguments = workspace, self.pool, self._empty_records()
        rows = np.flatnonzero(self.configs[:, 0] == phase).tolist()
        # The stages of a wide phase are timed one by one.
        with nullcontext() if self.wide else self.stages.timed("layers"):
            solver = WidePhaseSolver(*arguments, self.crew) if self.wide else PhaseSolver(*arguments)
            if not (self.wide or rows):
                solver.solve()
            else:
                for rank in solver.solve_ranks([EpConfig(row, int(self.configs[row, 1])) for row in rows]):
                    if self.wide:
                        self._check_runs(rank, solver)
            self._check(workspace, solver.rank)
            store_fresh(workspace, self.loader, phase, self.parts, self.phase_map)
        with self.stages.timed("accrued scores"):
            self._store_accrued(phase, workspace, solver.records)

    def _check_runs(self, rank: int, solver: PhaseSolver) -> None:
        """Report a solved rank, and discard the runs if there are too many."""
        self.progress("layer" if self.variant.layered else "rank", rank, 0)
        logs = [log for record in solver.records for log in record.logs]
        if not self._admit_runs(sum(int(log.length[0]) for log in logs)):
            solver.records = self._empty_records()

    def _check(self, workspace: Workspace, rank: int) -> None:
        """Check the depths and ranks of a phase, and count its layers; ``rank`` - 1 is its last rank."""
        if max(attacker.scratch.max_depth[0] for attacker in workspace.attackers) > MAX_DEPTH:
            raise LimitError(f"{self.layout.material}: depths beyond {MAX_DEPTH} plies cannot be stored")
        if rank > MAX_CODED_RANK + 1:
            raise LimitError(f"{self.layout.material}: scores of rank {rank - 1} have no code in a table")
        if self.variant.layered:
            with self._lock:
                self.stages.layer_count = max(self.stages.layer_count, 2 * (rank - FIRST_LAYER))

    def _empty_records(self) -> list[SweepRecord]:
        """Return empty records for the inner sweeps of a phase: one for each part of the words if functions
        are stored, else one for all words."""
        slots = self.layout.slots_to_solve
        if self.functions is None:
            return [empty_record(0, slots // 64, self.form_number, make_function_numbers(0), 0)]
        numbers = make_function_numbers(slots)
        side = int(self.functions.side)
        parts = equal_parts(slots // 64, self.crew.rank_parts if self.wide else 1)
        return [empty_record(*part, self.form_number, numbers, side) for part in parts]

    def _admit_runs(self, added: int) -> bool:
        """Return whether ``added`` more runs may be stored; if not, discard all runs."""
        if self.form_number == RUNS and self.max_runs is not None and self.run_count + added > self.max_runs:
            self.form_number = NOTHING
            self.runs_by_phase.clear()
        return self.form_number != NOTHING

    def _store_accrued(self, phase: int, workspace: Workspace, records: Sequence[SweepRecord]) -> None:
        """Store the runs or functions of a solved phase."""
        words, fresh = workspace.frame.words, workspace.fresh
        if self.functions is not None:
            start = fresh.starts[self.functions.side]
            values = fresh.value[start : start + 64 * words]
            self.functions.add(phase, workspace.phase, records, values, self.phase_map)
        elif self.form_number == RUNS:
            # White's accrued scores come first. Black's inner sweeps solve their layers.
            [record] = records
            runs = list(self.phase_map(lambda log: runs_of(log, words, fresh), reversed(record.logs)))
            with self._lock:
                added = sum(len(each.rank) for each in runs)
                if self._admit_runs(added):
                    self.run_count += added
                    self.runs_by_phase[phase] = runs

    def _keep_canonical(self, phase: int, canonical: Words) -> None:
        """Store the results of a solved phase at the canonical slots, and clear the other slots.

        With pawns, the pool keeps the results at all slots, because other phases need them.
        """
        pool, solved = self.pool, self.solved
        for row in np.flatnonzero(self.configs[:, 0] == phase).tolist():
            start = pool.targets.ep_offset + row * self.layout.phase_size
            ep_slots = slice(start, start + self.layout.phase_size)
            self.ep_value[row], self.ep_depth[row] = pool.value[ep_slots], pool.depth[ep_slots]
            clear_images(canonical, self.ep_value[row], self.ep_depth[row])

        def keep(side_and_part: tuple[Side, Part]) -> None:
            side, (begin, stop) = side_and_part
            start = int(pool.targets.start[phase, side])
            value, depth = pool.value[start + begin : start + stop], pool.depth[start + begin : start + stop]
            if solved is not None:
                value, depth = value.copy(), depth.copy()
            clear_images(canonical[begin // 64 : stop // 64], value, depth)
            if solved is not None:
                solved.write(phase, side, begin, value, depth)

        parts = parts_of_size(0, 64 * len(canonical), _SLOTS_PER_PART)
        list(self.phase_map(keep, product(SIDES, parts)))

    def _results(self) -> tuple[Codes, Plies]:
        """Return the values and depths of the table, shape (2, size)."""
        if self.solved is not None:
            return self.solved.results()
        # The slots of the table itself come first in the pool, in the solver's order.
        size, solved = self.layout.size, self.layout.slots_to_solve
        value, depth = self.pool.value[: 2 * size], self.pool.depth[: 2 * size]
        discard(self.pool.value[2 * size :])
        discard(self.pool.depth[2 * size :])
        for array, filler in ((value, NONE), (depth, 0)):
            to_table_order(self.layout, array[size:], filler, array[solved : 2 * solved])
            to_table_order(self.layout, array[:size], filler)
        return value.reshape(2, size), depth.reshape(2, size)

    def table(self) -> Table:
        """Return the table, assembled from the results at the canonical slots."""
        layout = self.layout
        phases = len(self.layout.placements)
        functions = None
        with ThreadPoolExecutor(self.threads) as executor:
            results = executor.submit(self._results)
            if self.functions is not None:
                functions = self.functions.finish(executor.map)
        value, depth = results.result()
        mask = np.zeros((2, 2, phases, layout.phase_size // 64 if self.form_number == RUNS else 0), np.uint64)
        runs: list[tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint16]]] = []
        for holder, side, phase in product((0, 1), (0, 1), sorted(self.runs_by_phase)):
            of_phase = self.runs_by_phase[phase][holder]
            mask[holder, side, phase, : of_phase.mask.shape[1]] = of_phase.mask[side]
            to_table_order(layout, mask[holder, side, phase], 0)
            part = slice(of_phase.white_count, None) if side else slice(of_phase.white_count)
            runs.append((of_phase.rank[part], of_phase.value[part], of_phase.depth[part]))
        no_runs = np.empty(0, np.uint8), np.empty(0, np.uint8), np.empty(0, np.uint16)
        rank, run_value, run_depth = map(np.concatenate, zip(no_runs, *runs, strict=True))
        return Table(
            material=layout.material,
            variant=self.variant,
            value=value,
            depth=depth,
            run_mask=mask.reshape(2, 2, -1),
            run_rank=rank,
            run_value=run_value,
            run_depth=run_depth,
            ep_config=self.configs,
            ep_value=self.ep_value,
            ep_depth=self.ep_depth,
            functions=functions,
        )


def runs_of(log: Log, words: int, fresh: SweepResults) -> Runs:
    """Sort a log in place, and return its changes as runs.

    :param words: number of words of the phase for one side to move.
    :param fresh: fresh values and depths of the phase.
    """
    entries = log.entry[: log.length[0]]
    entries.sort(kind="stable")  # fast, because the entries of each layer are already in order
    return runs_of_entries(entries, words, fresh)
