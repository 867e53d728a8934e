"""The proof of one table: legality and ranks first, then every state of every layer from its successors.

What is proved, and why that is enough, stands in docs/theory.md: the fresh state of every position, the
states (P, A) with rank(A) at most that of g(P) and of W(P), and that V(P, A) lies between A and W(P) there.
In whole-game mobility the fresh states are all.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

import numpy as np

from tbgen.errors import DamagedTableError
from tbgen.index.table import AccruedForm, Table
from tbgen.progress import Progress, silent
from tbgen.verify.consistency import first_runs, inconsistency
from tbgen.verify.game import game_of_table
from tbgen.verify.kernels.best import Range
from tbgen.verify.kernels.keys import MIDDLE, Accrued
from tbgen.verify.kernels.layers import Claims, enter_layer
from tbgen.verify.kernels.runs import ProofRuns, survey_runs
from tbgen.verify.kernels.states import ProofPositions, prove_en_passant
from tbgen.verify.kernels.survey import NO_RANK, survey_en_passant
from tbgen.verify.packed import Probes, Reader, said_of
from tbgen.verify.report import VerifyResult, describe
from tbgen.verify.states import FIRST_RANK, StateProof, accrued_scores, top_rank
from tbgen.verify.sub_tables import SubTables
from tbgen.verify.threads import ProofThreads

_Pair = tuple[Sequence[Any], Sequence[Any]]
"""The layers of White's and of Black's accrued score, each with the arrays of ``Claims``."""


class LayerMaker(Protocol):
    """Makes the layers of a table without runs. It is called by other threads, by one at a time."""

    @property
    def windows(self) -> Sequence[Range]:
        """All phases, from the first on, as the ranges whose layers are to be asked for in turn."""

    def layers(self, window: Range) -> Iterator[_Pair]:
        """Yield the layers of a range of phases, rank by rank from 2 on.

        A pair stays as it is until the second one after it is asked for, and all have to be asked for.
        """


_WINDOW_SLOTS: Final = 1 << 27
"""Most slots per side of a window, unless one phase has more: its keys take eight bytes each."""


def verify_table(
    table: Table,
    sub_tables: SubTables,
    *,
    sample: int | None = None,
    seed: int = 0,
    threads: int = 2,
    limit: int = 10,
    progress: Progress = silent,
    layers: LayerMaker | None = None,
    reader: Reader | None = None,
) -> VerifyResult:
    """Prove a table from its sub-tables, which must have been proved before.

    :param sub_tables: those of the table's layout.
    :param sample: prove the states of that many random positions only; legality is checked everywhere.
    :param seed: of the random choice.
    :param limit: describe that many wrong states at most; all are counted.
    :param layers: makes the layers of a table without runs; what it says is proved like what is stored, and
        functions are compared with it.
    :param reader: reads single positions; what it says of random ones is compared with what is proved.
    :raises KeyError: if a sub-table is missing.
    :raises DamagedTableError: if the arrays of the table do not fit together.
    """
    started = time.perf_counter()
    problem = inconsistency(table)
    if problem is not None:
        raise DamagedTableError(f"table {table.material}: {problem}")
    with ProofThreads(threads) as pool:
        proof = Proof(table, sub_tables, pool, progress, layers, reader)
        states = proof.run(sample, np.random.default_rng(seed))
    return VerifyResult(
        table.material,
        sum(table.positions) + table.ep_positions,
        states,
        sample,
        pool.wrong,
        describe(table, pool.rows, limit),
        time.perf_counter() - started,
    )


class Proof(StateProof):
    """One proof of a table at work; :func:`verify_table` is what runs it."""

    def __init__(
        self,
        table: Table,
        sub_tables: SubTables,
        threads: ProofThreads,
        progress: Progress,
        layers: LayerMaker | None = None,
        reader: Reader | None = None,
    ) -> None:
        self.layout = layout = table.layout
        rank = np.full((2, layout.size), NO_RANK, np.uint8)
        super().__init__(game_of_table(table, sub_tables), threads, rank, np.zeros((2, 0), np.bool_))
        self.has_runs = table.accrued_form is AccruedForm.RUNS
        self.layers = layers if table.variant.resets and not self.has_runs else None
        """What makes layers on the way, if anything has to."""
        if table.variant.resets and not self.has_runs and layers is None:
            raise ValueError(f"{table.material} has no runs of accrued scores, and nobody makes its layers")
        self.table, self.progress, self.reader = table, progress, reader
        self.probes: Probes | None = None
        self.with_right = ProofPositions(np.full(table.ep_value.shape, NO_RANK, np.uint8), self.chosen)
        self.first_runs = first_runs(table)

    def run(self, sample: int | None, random: np.random.Generator) -> int:
        """Return the number of states proved; none if values are missing or misplaced."""
        parts = self.threads.ranges(self.layout.size)
        self.survey(parts)
        if self.threads.wrong:
            return 0
        if self.has_runs:
            self.survey_runs(parts)
        if self.reader is not None:
            self.probes = Probes(self.table, self.rank, self.reader, random)
            self.threads.add(self.probes.compare_fresh())
        if sample is not None:
            self._choose(sample, random)
        return sum(self.prove_window(window) for window in self._windows())

    def _windows(self) -> Sequence[Range]:
        """All phases, as ranges that are proved one after the other."""
        every = len(self.layout.placements)
        if self.layers is not None:
            windows = self.layers.windows
            if [phase for window in windows for phase in range(*window)] != list(range(every)):
                raise ValueError(f"the layers are not those of all {every} phases")
            return windows
        phases = max(1, _WINDOW_SLOTS // self.layout.phase_size)
        return [(first, min(first + phases, every)) for first in range(0, every, phases)]

    def survey(self, parts: list[Range]) -> None:
        """Find the positions in ranges of slots, en passant too, and check where there are values."""
        self.progress("positions", 0, 1)
        super().survey(parts)
        self.compare(parts)
        self.threads.inspect(survey_en_passant, [(self.game, self.table.ep_config, self.with_right.rank)])

    def survey_runs(self, ranges: list[Range]) -> None:
        """Check all about the runs in ranges of slots that needs no successors."""
        for holder in range(2):
            for side in range(2):
                runs, entries = self._runs(holder, side), self._entries(holder, side, ranges)
                parts = zip(ranges, entries, strict=True)
                self.threads.inspect(
                    survey_runs, ((self.game, self.rank, part, runs, entry) for part, entry in parts)
                )

    def _choose(self, sample: int, random: np.random.Generator) -> None:
        """Mark random positions, both sides and en passant rights together."""
        ep_rank = self.with_right.rank
        ranks = np.concatenate([self.rank.ravel(), ep_rank.ravel()])
        positions = np.flatnonzero(ranks != NO_RANK)
        marks = np.zeros(len(ranks), np.bool_)
        marks[random.choice(positions, min(sample, len(positions)), replace=False)] = True
        self.chosen = marks[: self.rank.size].reshape(self.rank.shape)
        self.with_right = ProofPositions(ep_rank, marks[self.rank.size :].reshape(ep_rank.shape))

    def prove_window(self, window: Range) -> int:
        """Prove all states of some phases and return their number."""
        first, last = window
        base, stop = first * self.layout.phase_size, last * self.layout.phase_size
        made = None if self.layers is None else _Ahead(self.threads, self.layers.layers(window))
        self.game = replace(self.game, base=base, key=np.zeros((2, stop - base), np.int32))
        self.begin()
        phases = len(self.layout.placements)
        if not self.table.variant.resets:
            self.progress("states", first, phases)
            return self.prove(Accrued(FIRST_RANK, MIDDLE))
        top, states = top_rank(*self.table.value[:, base:stop], self.table.ep_value), 0
        for accrued in accrued_scores(top):
            if made is None:
                self._enter_runs(accrued)
            else:
                claims = self._claims(made, accrued)
                self.enter(accrued, claims, said_of(self.table, accrued))
                if self.probes is not None and accrued.level != MIDDLE:
                    self.threads.add(self.probes.compare_accrued(accrued, base, claims))
            states += self.prove(accrued)
            self.progress("states", first * top + (last - first) * (accrued.rank - 1), top * phases)
        return states

    def _claims(self, made: "_Ahead", accrued: Accrued) -> Claims:
        """Return what is made of a layer; each pair is White's and then Black's."""
        if accrued.level == MIDDLE:
            made.finish()
            return self.no_claims()
        pair = made.take() if accrued.level > MIDDLE else made.taken
        if pair is None:
            return self.no_claims()
        claims, slots = Claims(*pair[accrued.level < MIDDLE]), self.game.key.shape[1]
        if [array.shape for array in claims] != [(2, slots), (2, slots), (2, slots // 64)]:
            raise ValueError(f"a layer is not that of {slots} slots")
        return claims

    def _enter_runs(self, accrued: Accrued) -> None:
        """Bring the keys of the canonical positions of the window to the layer of an accrued score."""
        holder, base = int(accrued.level <= MIDDLE), self.game.base
        moved = [(base + start, base + stop) for start, stop in self.ranges]
        for side in range(2):
            runs = self._runs(holder, side)
            parts = zip(self.ranges, self._entries(holder, side, moved), strict=True)
            self.threads.each(
                enter_layer, ((self.game, self.rank, accrued, part, runs, entry) for part, entry in parts)
            )

    def prove(self, accrued: Accrued) -> int:
        """Prove the states of the layer that has been entered, en passant too; return their number."""
        states = super().prove(accrued)
        return states + self.threads.inspect(
            prove_en_passant, [(self.game, self.table.ep_config, self.with_right, accrued)]
        )

    def _runs(self, holder: int, side: int) -> ProofRuns:
        table = self.table
        mask = table.run_mask[holder, side]
        return ProofRuns(holder, side, mask, table.run_rank, table.run_value, table.run_depth)

    def _entries(self, holder: int, side: int, ranges: list[Range]) -> list[int]:
        """Return the number of the first run of each range of slots."""
        return [int(self.first_runs[holder, side, start // 64]) for start, _ in ranges]


class _Ahead:
    """Takes pairs of layers, each being made while the one before is proved."""

    def __init__(self, threads: ProofThreads, pairs: Iterator[_Pair]) -> None:
        self._threads, self._pairs = threads, pairs
        self._ahead = threads.ahead(self._make)
        self.taken: _Pair | None = None
        """The pair that was taken last."""

    def take(self) -> _Pair | None:
        """Return the next pair, None if there is none."""
        self.taken = self._ahead.result()
        if self.taken is not None:
            self._ahead = self._threads.ahead(self._make)
        return self.taken

    def _make(self) -> _Pair | None:
        return next(self._pairs, None)

    def finish(self) -> None:
        """Have all pairs that are left made."""
        while self.take() is not None:
            pass
