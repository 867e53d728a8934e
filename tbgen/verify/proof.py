"""The proof of one table: legality and ranks first, then every state of every layer from its successors.

What is proved, and why that is enough, stands in docs/theory.md: the fresh state of every position, the
states (P, A) with rank(A) at most that of g(P) and of W(P), and that V(P, A) lies between A and W(P) there.
In whole-game mobility the fresh states are all.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.errors import DamagedTableError
from tbgen.index.table import LAST_RUN, AccruedForm, Table
from tbgen.progress import Progress, silent
from tbgen.verify.consistency import inconsistency
from tbgen.verify.en_passant import rows_of_rights
from tbgen.verify.game import men_of, new_scratch, resets_of
from tbgen.verify.kernels.best import ProofTable, Range
from tbgen.verify.kernels.keys import MIDDLE, WHITE_WORTH, Accrued
from tbgen.verify.kernels.layers import Claims, begin, copy_images, enter_claims, enter_layer
from tbgen.verify.kernels.runs import ProofRuns, survey_runs
from tbgen.verify.kernels.states import ProofPositions, prove, prove_en_passant
from tbgen.verify.kernels.survey import NO_RANK, survey, survey_en_passant
from tbgen.verify.packed import Probes, Reader, Rows, said_of
from tbgen.verify.report import VerifyResult, describe
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

_FIRST_RANK: Final = 2
"""Rank of the first layer: mates and stalemates end the game."""


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


class Proof:
    """One proof at work; :func:`verify_table` is what runs it."""

    def __init__(
        self,
        table: Table,
        sub_tables: SubTables,
        threads: ProofThreads,
        progress: Progress,
        layers: LayerMaker | None = None,
        reader: Reader | None = None,
    ) -> None:
        self.has_runs = table.accrued_form is AccruedForm.RUNS
        if table.variant.resets and not self.has_runs and layers is None:
            raise ValueError(f"{table.material} has no runs of accrued scores, and nobody makes its layers")
        self.layers, self.reader = layers, reader
        self.probes: Probes | None = None
        layout = table.layout
        men = men_of(layout)
        self.table, self.layout, self.threads, self.progress = table, layout, threads, progress
        self.game = ProofTable(
            men,
            resets_of(layout, men, sub_tables),
            table.value,
            table.depth,
            rows_of_rights(layout, table.ep_config),
            table.ep_value,
            table.ep_depth,
            table.variant.resets,
            0,
            np.empty((2, 0), np.int32),
        )
        self.rank = np.full((2, layout.size), NO_RANK, np.uint8)
        self.ep_rank = np.full(table.ep_value.shape, NO_RANK, np.uint8)
        self.chosen, self.ep_chosen = np.zeros((2, 2, 0), np.bool_)
        self.first_runs = np.concatenate([[0], 1 + np.flatnonzero(table.run_rank & LAST_RUN)])

    def run(self, sample: int | None, random: np.random.Generator) -> int:
        """Return the number of states proved; none if values are missing or misplaced."""
        self.survey(self.layout.size)
        if self.threads.wrong:
            return 0
        if self.has_runs:
            self.survey_runs(self.layout.size)
        if self.reader is not None:
            self.probes = Probes(self.table, self.rank, self.reader, random)
            self._add(self.probes.compare_fresh())
        if sample is not None:
            self._choose(sample, random)
        return sum(self.prove(window) for window in self._windows())

    def _windows(self) -> Sequence[Range]:
        """All phases, as ranges that are proved one after the other."""
        every = len(self.layout.placements)
        if self._made is not None:
            windows = self._made.windows
            if [phase for window in windows for phase in range(*window)] != list(range(every)):
                raise ValueError(f"the layers are not those of all {every} phases")
            return windows
        phases = max(1, _WINDOW_SLOTS // self.layout.phase_size)
        return [(first, min(first + phases, every)) for first in range(0, every, phases)]

    @property
    def _made(self) -> LayerMaker | None:
        """What makes layers on the way, if anything has to."""
        return self.layers if self.table.variant.resets and not self.has_runs else None

    def survey(self, stop: int) -> None:
        """Find the positions before slot ``stop`` and their ranks."""
        ranges = self.threads.ranges(stop)
        self.progress("positions", 0, 1)
        self.threads.inspect(survey, ((self.game, self.rank, part) for part in ranges))
        self.threads.inspect(survey_en_passant, [(self.game, self.table.ep_config, self.ep_rank)])

    def survey_runs(self, stop: int) -> None:
        """Check all about the runs of the slots before ``stop`` that needs no successors."""
        ranges = self.threads.ranges(stop)
        for holder in range(2):
            for side in range(2):
                runs, entries = self._runs(holder, side), self._entries(holder, side, ranges)
                parts = zip(ranges, entries, strict=True)
                self.threads.inspect(
                    survey_runs, ((self.game, self.rank, part, runs, entry) for part, entry in parts)
                )

    def _choose(self, sample: int, random: np.random.Generator) -> None:
        """Mark random positions, both sides and en passant rights together."""
        ranks = np.concatenate([self.rank.ravel(), self.ep_rank.ravel()])
        positions = np.flatnonzero(ranks != NO_RANK)
        marks = np.zeros(len(ranks), np.bool_)
        marks[random.choice(positions, min(sample, len(positions)), replace=False)] = True
        self.chosen = marks[: self.rank.size].reshape(self.rank.shape)
        self.ep_chosen = marks[self.rank.size :].reshape(self.ep_rank.shape)

    def prove(self, window: Range) -> int:
        """Prove all states of some phases and return their number."""
        first, last = window
        base, stop = first * self.layout.phase_size, last * self.layout.phase_size
        made = None if self._made is None else _Ahead(self.threads, self._made.layers(window))
        self.game = self.game._replace(base=base, key=np.zeros((2, stop - base), np.int32))
        ranges = self.threads.ranges(stop - base)
        images = self.threads.each(self._begin, ((part,) for part in ranges))
        if not self.table.variant.resets:
            self.progress("states", first, len(self.layout.placements))
            return self._prove_layer(ranges, Accrued(_FIRST_RANK, MIDDLE))
        lengths = [len(originals) for _, originals in images]
        top, states = self._top_rank(base, stop), 0
        # Beyond the greatest rank of a value no state keeps an inherited score, and all keys are alike.
        for accrued, claims in self._layers(made, top):
            if claims is None:
                self._enter(ranges, accrued)
            else:
                self.enter_claims(ranges, accrued, claims)
                self._compare_probes(accrued, claims)
            copies = zip(images, lengths, strict=True)
            lengths = self.threads.each(
                copy_images, ((self.game, accrued.rank, *pair, n) for pair, n in copies)
            )
            states += self._prove_layer(ranges, accrued)
            done = first * top + (last - first) * (accrued.rank - 1)
            self.progress("states", done, top * len(self.layout.placements))
        return states

    def _layers(self, made: "_Ahead | None", top: int) -> Iterator[tuple[Accrued, Claims | None]]:
        """Yield the layers of a window, with what is said of them if they are made on the way."""
        for rank in range(_FIRST_RANK, top + 1):
            claims: list[Claims | None] = [None, None]
            if made is not None:
                pair = made.take()
                claims = [self._no_claims() if pair is None else self._claims(pair[each]) for each in (0, 1)]
            for level in (WHITE_WORTH - rank, rank):
                yield Accrued(rank, level), claims.pop(0)
        if made is not None:
            made.finish()
        yield Accrued(top + 1, MIDDLE), None if made is None else self._no_claims()

    def _begin(self, part: Range) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Set the first keys of a range; return its slots that are not canonical, and the canonical ones."""
        images, originals = np.empty((2, 2 * (part[1] - part[0])), np.int32)
        count = begin(self.game, part, new_scratch(), images, originals)
        return images[:count].copy(), originals[:count].copy()

    def _top_rank(self, base: int, stop: int) -> int:
        """Return the greatest rank of a value in the window, 1 if all are smaller."""
        code = np.arange(256)
        rank = np.where(code == NONE, 0, np.minimum(code, 255 - code)).astype(np.uint8)
        values = *self.table.value[:, base:stop], self.table.ep_value
        return max(int(rank[each].max(initial=_FIRST_RANK - 1)) for each in values)

    def _enter(self, ranges: list[Range], accrued: Accrued) -> None:
        """Bring the keys of the canonical positions of the window to the layer of an accrued score."""
        holder = int(accrued.level <= MIDDLE)
        moved = [(self.game.base + start, self.game.base + stop) for start, stop in ranges]
        for side in range(2):
            runs = self._runs(holder, side)
            parts = zip(ranges, self._entries(holder, side, moved), strict=True)
            self.threads.each(
                enter_layer, ((self.game, self.rank, accrued, part, runs, entry) for part, entry in parts)
            )

    def _claims(self, layer: Sequence[Any]) -> Claims:
        claims, slots = Claims(*layer), self.game.key.shape[1]
        if [array.shape for array in claims] != [(2, slots), (2, slots), (2, slots // 64)]:
            raise ValueError(f"a layer is not that of {slots} slots")
        return claims

    def _no_claims(self) -> Claims:
        sides, slots = self.game.key.shape
        nothing = np.zeros((sides, -(-slots // 64)), np.uint64)
        return Claims(np.empty((sides, slots), np.uint8), np.empty((sides, slots), np.uint16), nothing)

    def _compare_probes(self, accrued: Accrued, claims: Claims) -> None:
        """Compare a layer that has been made with probes."""
        if self.probes is not None and accrued.level != MIDDLE:
            self._add(self.probes.compare_accrued(accrued, self.game.base, claims))

    def _add(self, rows: Rows) -> None:
        self.threads.add(rows, len(rows))

    def enter_claims(self, ranges: list[Range], accrued: Accrued, claims: Claims) -> None:
        """The same where the layers are made on the way."""
        said = said_of(self.table, accrued)
        for side in range(2):
            self.threads.inspect(
                enter_claims, ((self.game, self.rank, accrued, side, part, claims, said) for part in ranges)
            )

    def _prove_layer(self, ranges: list[Range], accrued: Accrued) -> int:
        """Prove the states of the layer that has been entered and return their number."""
        positions = ProofPositions(self.rank, self.chosen)
        with_right = ProofPositions(self.ep_rank, self.ep_chosen)
        states = self.threads.inspect(prove, ((self.game, positions, accrued, part) for part in ranges))
        return states + self.threads.inspect(
            prove_en_passant, [(self.game, self.table.ep_config, with_right, accrued)]
        )

    def _runs(self, holder: int, side: int) -> ProofRuns:
        table = self.table
        mask = table.run_mask[holder, side]
        return ProofRuns(holder, side, mask, table.run_rank, table.run_value, table.run_depth)

    def _entries(self, holder: int, side: int, ranges: list[Range]) -> list[int]:
        """Return the number of the first run of each range of slots."""
        mask, row = self.table.run_mask.reshape(4, -1), 2 * holder + side
        before = np.bitwise_count(mask[:row]).sum(dtype=np.int64)
        counts = np.concatenate([[0], np.cumsum(np.bitwise_count(mask[row]), dtype=np.int64)])
        return [int(self.first_runs[before + counts[start // 64]]) for start, _ in ranges]


class _Ahead:
    """Takes pairs of layers, each being made while the one before is proved."""

    def __init__(self, threads: ProofThreads, pairs: Iterator[_Pair]) -> None:
        self._threads, self._pairs = threads, pairs
        self._ahead = threads.ahead(self._make)

    def take(self) -> _Pair | None:
        """Return the next pair, None if there is none."""
        pair = self._ahead.result()
        if pair is not None:
            self._ahead = self._threads.ahead(self._make)
        return pair

    def _make(self) -> _Pair | None:
        return next(self._pairs, None)

    def finish(self) -> None:
        """Have all pairs that are left made."""
        while self.take() is not None:
            pass
