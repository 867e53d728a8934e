"""The proof of one table, batch by batch: legality and ranks first, then every state of every layer from its
successors.

The proof covers the fresh state of every position. It also covers all states (P, A) in which the rank of A
exceeds neither the rank of g(P) nor the rank of W(P). In these states V(P, A) must also lie between A and
W(P). docs/theory.md shows why these states are enough. In whole-game mobility there are only fresh states.

All kernels are compiled together, as a step before the first table.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import NONE
from tbgen.board.variant import Variant
from tbgen.compiler.cache import compiling, mark_compiled
from tbgen.compiler.jit import with_fixed_types
from tbgen.errors import DamagedTableError
from tbgen.index.layout import SIDES, layout_of
from tbgen.index.table import AccruedForm, Source, Table, parts_of
from tbgen.index.zeroing import batches_of
from tbgen.progress import Progress, silent
from tbgen.system.memory import unload
from tbgen.verify.consistency import ProbeComparison, Reader, first_runs, function_values, table_problem
from tbgen.verify.game import SELECT_ALL, game_of_batch, game_of_table
from tbgen.verify.kernels.best import Range
from tbgen.verify.kernels.checks import prove_en_passant, survey_en_passant
from tbgen.verify.kernels.entry_grades import (
    NO_FUNCTIONS,
    ProofRuns,
    SolvedLayer,
    set_layer_grades,
    set_run_grades,
    survey_runs,
)
from tbgen.verify.kernels.results import MIDDLE, Accrued, ProofScratch, grade_of, stores_state, worth_of
from tbgen.verify.report import VerifyResult, describe
from tbgen.verify.state_proof import FIRST_RANK, ProofThreads, StateProof, accrued_scores, top_rank
from tbgen.verify.sub_tables import SubTables

if TYPE_CHECKING:
    from tbgen.retro.layer_solvers import EveryLayer

KERNEL_FAMILY: Final = __name__
"""Name of these kernels in the cache."""


def verify_table(
    table: Table,
    sub_tables: SubTables,
    *,
    sample: int | None = None,
    seed: int = 0,
    threads: int = 2,
    limit: int = 10,
    progress: Progress = silent,
    layer_maker: "EveryLayer | None" = None,
    reader: Reader | None = None,
) -> VerifyResult:
    """Prove a table from its sub-tables, which must already have been proved.

    :param sub_tables: the sub-tables of the table's layout.
    :param sample: number of random positions whose states are proved; None for all positions. Legality is
        always checked for all positions.
    :param seed: seed of the random choice.
    :param limit: maximum number of wrong states that are described. All wrong states are counted.
    :param layer_maker: makes the layers of a table without runs. They are proved like stored layers, and the
        functions of the table, if it has any, are compared with them.
    :param reader: reads single positions. Its answers at random positions are compared with proved entries.
    :raises KeyError: if a sub-table is missing.
    :raises DamagedTableError: if the arrays of the table are inconsistent.
    :raises UsageError: if tables of this variant cannot be proved.
    :raises ValueError: if the table has no runs, and ``layer_maker`` is None.
    """
    started = time.perf_counter()
    problem = table_problem(table)
    if problem is not None:
        raise DamagedTableError(f"table {table.material}: {problem}")
    with ProofThreads(threads) as workers:
        proof = Proof(table, sub_tables, workers)
        # Without layers, the kernels would read beyond the ends of the empty arrays of runs.
        if layer_maker is None and proof.game.has_score_resets and table.accrued_form is not AccruedForm.RUNS:
            raise ValueError(f"{table.material} has no runs of accrued scores, and no layers were passed")
        proof.progress = progress
        proof.layer_maker = layer_maker
        proof.reader = reader
        states = proof.run(sample, np.random.default_rng(seed))
    count = sum(table.position_counts) + table.ep_position_count
    found = describe(table, workers.findings, limit)
    seconds = time.perf_counter() - started
    return VerifyResult(table.material, count, states, sample, workers.wrong, found, seconds)


class Proof(StateProof):
    """One proof of a table; :func:`verify_table` runs it."""

    def __init__(self, table: Table, sub_tables: SubTables, workers: ProofThreads) -> None:
        super().__init__(game_of_table(table, sub_tables), workers)
        self.table = table
        self.layout = table.layout
        self.sub_tables = sub_tables
        if table.functions is not None and not table.layout.pawns:
            table.functions.shorten_numbers()
        self.chosen: list[NDArray[np.int64]] | None = None
        """The selected slots with White and with Black to move, ascending; None if all are selected."""
        self.misplaced = False
        """Whether values are missing or misplaced in a batch that has been surveyed."""
        self.progress: Progress = silent
        self.layer_maker: EveryLayer | None = None
        """Makes the layers; None if they are stored as runs."""
        self.reader: Reader | None = None
        self.probes: ProbeComparison | None = None
        self.first_runs = first_runs(table)
        self._set_layer_grades = with_fixed_types(set_layer_grades)

    def run(self, sample: int | None, random: np.random.Generator) -> int:
        """Run the proof and return the number of proved states; 0 if values are missing or misplaced."""
        if self.reader is not None:
            self.probes = ProbeComparison(self.table, self.reader, random)
        if sample is not None:
            self._select(sample, random)
        states = sum(self.prove_batch(batch) for batch in self._batches())
        return 0 if self.misplaced else states

    def _batches(self) -> Sequence[Range]:
        """Return the ranges of phases to prove, one after the other. Together they contain all phases."""
        total = len(self.layout.placements)
        if self.layer_maker is not None:
            batches = self.layer_maker.batches
            if [phase for batch in batches for phase in range(*batch)] != list(range(total)):
                raise ValueError(f"the layers do not cover each of the {total} phases once")
            return batches
        return batches_of(self.layout)

    def survey(self, parts: list[Range]) -> None:
        """Find the positions of the batch, including those with en passant rights, and check that only they
        have values.

        :param parts: ranges that cover the batch.
        """
        super().survey(parts)
        self.check_values(parts)
        self.workers.collect(survey_en_passant, [(self.game,)])

    def survey_runs(self, parts: list[Range]) -> None:
        """Check the runs in these ranges of batch slots, as far as this needs no successors."""
        for holder, side in product(range(2), repeat=2):
            runs = self._runs(holder, side)
            self.workers.collect(survey_runs, ((self.game, part, runs) for part in parts))

    def _select(self, sample: int, random: np.random.Generator) -> None:
        """Select random positions with either side to move, among them en passant positions."""
        entries = self.game.en_passant
        count = sum(self.table.position_counts) + self.table.ep_position_count
        chosen_numbers = np.sort(random.choice(count, min(sample, count), replace=False))
        white, black, passing = places_of(chosen_numbers, [*self.table.value, entries.value.reshape(-1)])
        self.chosen = [white, black]
        selected = np.zeros(entries.value.shape, np.bool_)
        selected.reshape(-1)[passing] = True
        self.game = replace(self.game, en_passant=entries._replace(selected=selected))

    def _begin_batch(self, base: int, stop: int) -> None:
        """Make the game of a batch of slots, survey its positions, and compare fresh answers of probes."""
        selected = SELECT_ALL
        if self.chosen is not None:
            selected = np.zeros((2, stop - base), np.bool_)
            for marks, slots in zip(selected, self.chosen, strict=True):
                marks[slots[slice(*np.searchsorted(slots, (base, stop)))] - base] = True
        self.game = game_of_batch(self.game, base, stop, selected)
        wrong = self.workers.wrong
        parts = self.workers.ranges(stop - base)
        self.survey(parts)
        self.misplaced |= self.workers.wrong > wrong
        if self.table.accrued_form is AccruedForm.RUNS and not self.misplaced:
            self.survey_runs(parts)
        if self.probes is not None and not self.misplaced:
            self.workers.add(self.probes.compare_fresh(self.game))

    def prove_batch(self, batch: Range) -> int:
        """Prove all states of a batch of phases, and return their number.

        If values are missing or misplaced in this batch or an earlier one, only the survey is made.
        """
        start, stop = batch
        size = self.layout.phase_size
        self.progress("states", start, len(self.layout.placements))
        self.sub_tables.load(range(start, stop), self.workers.map)
        self._begin_batch(start * size, stop * size)
        states = 0 if self.misplaced else self._prove_states(batch)
        self._unload_table()
        return states

    def _unload_table(self) -> None:
        """Unload a mapped table from memory."""
        functions = self.table.functions
        function_numbers = [functions.function_numbers] if functions else []
        for array in (*self.table.value, *self.table.depth, *function_numbers):
            unload(array)

    def _prove_states(self, batch: Range) -> int:
        """Prove the states of all layers of the batch, and return their number."""
        self.begin()
        if not self.game.has_score_resets:
            return self.prove(Accrued(FIRST_RANK, MIDDLE))
        start, stop = batch
        phases = len(self.layout.placements)
        slots = slice(start * self.layout.phase_size, stop * self.layout.phase_size)
        ranks = iter(()) if self.layer_maker is None else self.layer_maker.ranks(batch)
        top = top_rank(*self.table.value[:, slots], self.table.ep_value)
        states = 0
        for accrued in accrued_scores(top):
            if self.layer_maker is None:
                self._set_grades_from_runs(accrued)
            else:
                if accrued.pivot >= MIDDLE:
                    next(ranks, None)  # solves the layers of both holders
                self._set_grades_from_layer(accrued, self.layer_maker)
            states += self.prove(accrued)
            self.progress("states", start * top + (stop - start) * (accrued.rank - 1), top * phases)
        return states

    def _set_grades_from_layer(self, accrued: Accrued, layer_maker: "EveryLayer") -> None:
        """Set the grades of the batch from a computed layer, and compare functions and probes with this
        layer. Only the parts of the layer in which grades change are read."""
        holder = SIDES[accrued.pivot <= MIDDLE]
        slots = layer_maker.part_slots
        functions = function_values(self.table, accrued)

        def set_part(part_number: int, scratch: ProofScratch) -> int:
            first_slot = part_number * slots
            layer = SolvedLayer(*layer_maker.read(holder, part_number), functions, first_slot)
            return self._set_layer_grades(
                self.game, accrued, (first_slot, first_slot + slots), layer, scratch
            )

        max_ranks = self.game.max_rank.reshape(-1, slots // 64).max(axis=1)
        parts = np.flatnonzero(max_ranks >= accrued.rank - 1).tolist()
        self.workers.collect(set_part, ((part,) for part in parts))
        if self.probes is not None and accrued.pivot != MIDDLE:
            self.workers.add(self.probes.compare_accrued(self.game, accrued))

    def _set_grades_from_runs(self, accrued: Accrued) -> None:
        """Set the grades of the batch's canonical positions from a layer that is stored as runs."""
        holder = int(accrued.pivot <= MIDDLE)
        for side in range(2):
            runs = self._runs(holder, side)
            self.workers.run(set_run_grades, ((self.game, accrued, part, runs) for part in self.ranges))

    def prove(self, accrued: Accrued) -> int:
        """Prove the states of the current layer, including en passant positions, and return their number."""
        return super().prove(accrued) + self.workers.collect(prove_en_passant, [(self.game, accrued)])

    def _runs(self, holder: int, side: int) -> ProofRuns:
        """Return the runs of one holder and one side to move."""
        table = self.table
        first_runs = self.first_runs[holder, side]
        arrays = table.run_mask[holder, side], table.run_rank, table.run_value, table.run_depth
        return ProofRuns(holder, side, *arrays, first_runs)


def places_of(numbers: NDArray[np.int64], values: Sequence[NDArray[np.uint8]]) -> list[NDArray[np.int64]]:
    """Return, for each row of values, the ascending indices of some of its positions.

    :param numbers: ascending numbers of the positions. All positions of the rows are numbered in order.
    """
    places: list[NDArray[np.int64]] = []
    count = 0
    for row in values:
        found = [np.zeros(0, np.int64)]
        row_start = 0
        for part in parts_of(row):
            indices = np.flatnonzero(part != NONE)
            begin, end = np.searchsorted(numbers, (count, count + len(indices)))
            found.append(row_start + indices[numbers[begin:end] - count])
            count, row_start = count + len(indices), row_start + len(part)
        places.append(np.concatenate(found))
    return places


def compile_kernels() -> None:
    """Compile every kernel by running it without any slots, then mark the cache."""
    with ProofThreads(1) as workers:
        table = _empty_table()
        proof = Proof(table, SubTables(table.layout, dict[Material, Source]().__getitem__), workers)
        proof.prove_batch((0, 0))
        for numbers in (np.zeros(0, np.uint16), np.zeros(0, np.uint32)):
            functions = NO_FUNCTIONS._replace(number=numbers)
            proof.set_grades(Accrued(2, 2), proof.empty_layer()._replace(functions=functions))
    # The comparison with probes of packed tables calls these functions from Python.
    grade_of(2, 0, worth_of(2))
    stores_state(2, 2, Accrued(2, 2), 0)
    mark_compiled(KERNEL_FAMILY)


def ensure_compiled(emit: Callable[[str], object]) -> None:
    """Compile the kernels unless they are in the cache; ``emit`` is first called with a message."""
    with compiling(KERNEL_FAMILY, "of the proof", "about ten seconds", emit) as needed:
        if needed:
            compile_kernels()


def _empty_table() -> Table:
    layout = layout_of(Material.parse("KvK"))
    value, depth = np.full((2, layout.size), NONE, np.uint8), np.zeros((2, layout.size), np.uint16)
    mask = np.zeros((2, 2, layout.size // 64), np.uint64)
    config = np.zeros((0, 2), np.int32)
    codes, plies = np.zeros((0, layout.phase_size), np.uint8), np.zeros((0, layout.phase_size), np.uint16)
    runs = mask, codes.ravel(), codes.ravel(), plies.ravel()
    return Table(layout.material, Variant.R_MOBILITY, value, depth, *runs, config, codes, plies)
