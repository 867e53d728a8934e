"""The cells whose thresholds have been tried (:mod:`tbgen.cells.threshold`), as an exit source.

A bit for each position of a canonical cell says whether a score is proved as a bound of its value at one end.
docs/glossary.md explains cells, routes and homes.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter
from threading import Lock
from typing import Final

import numpy as np

from tbgen.beyond.exit_sources import ExitSource, combine_blocks
from tbgen.beyond.kept import MIN_KEPT_SLOTS, KeptCells
from tbgen.beyond.solved_cells import end_of
from tbgen.board.score import NONE
from tbgen.cells.bounds import LOWER, WORST, Block, places_of, side_after
from tbgen.cells.cell import Cell, CellPosition, Man, side_of
from tbgen.cells.frames import frame_of_cell, threaded_map
from tbgen.cells.interval import FAR_DEPTH, Interval
from tbgen.cells.kernels.values import gather_bits
from tbgen.cells.packing import pack_threshold, unpack_threshold
from tbgen.cells.routes import Route, home_of_route, routes_of
from tbgen.cells.threshold import (
    CellRanks,
    ProofLookup,
    Threshold,
    ThresholdSolution,
    find_cell_ranks,
    solve_threshold,
)
from tbgen.index.layout import MIRROR_RANKS, SIDES
from tbgen.moves.kernels.words import Words
from tbgen.store.cache import LruCache

_MAX_RANKED_BYTES: Final = 1 << 30
"""Maximum memory of the solutions with ranks. The others answer only for fresh states."""
_MAX_RANKS_BYTES: Final = 1 << 29
"""Maximum memory of the ranks of cells, which further thresholds need."""
_NO_SOLUTIONS: Final[Mapping[Threshold, ThresholdSolution]] = {}


class ThresholdSource(ExitSource):
    """An exit source of thresholds: it says for which positions after a route they are proved."""

    proved = True

    @abstractmethod
    def proofs_after(self, route: Route, end: int) -> Iterator[tuple[Threshold, Words]]:
        """Yield the thresholds at one end that have been tried after a route, and the positions of the
        route's block for which each is proved, one bit for each slot, at least 64 bits."""

    def block(self, route: Route, end: int) -> Block | None:
        """Return the lower or upper bounds of the positions that a route leads to; None if unavailable."""
        block = None
        for threshold, words in self.proofs_after(route, end):
            proved = np.unpackbits(words.view(np.uint8), bitorder="little").view(bool)[: route.subcell.size]
            value = np.where(proved, np.uint8(threshold.bound), np.uint8(NONE))
            depth = np.full(len(value), _weakest_depth(threshold), np.uint16)
            block = combine_blocks(block, Block(value, depth), end)
        return block

    def proofs(self, route: Route, threshold: Threshold) -> Words | bool:
        """Return the positions of a route's block for which a threshold is proved (``ProofLookup``)."""
        proved: Words | bool = False
        for stronger, words in self.proofs_after(route, threshold.end):
            if threshold.follows_from(stronger.bound):
                proved = words if isinstance(proved, bool) else proved | words
        return proved


def gather_proofs(cell: Cell, men: Sequence[Man], symmetry: int, proved: Words) -> Words:
    """Return for which positions of a cell a threshold is proved, one bit for each slot, at least 64 bits.

    :param cell: a cell whose images under a symmetry are positions of a stored cell.
    :param men: the mobile men of the stored cell.
    :param proved: uint64 (words,): the same bits for the stored cell.
    """
    letters = [(man.colour, man.kind) for man in men]
    swapped = bool(symmetry & MIRROR_RANKS)
    shifts, squares = np.array(list(places_of(cell, letters, swapped)), np.int64).T.copy()
    words: Words = np.empty(max(cell.size // 64, 1), np.uint64)
    gather_bits(proved, shifts, squares, symmetry, words)
    return words


class ThresholdCells(ThresholdSource):
    """The solutions of canonical cells. Solutions are replaced when their cell is solved again.

    :param kept: the thresholds on disk; None for thresholds in memory only.
    """

    def __init__(self, kept: KeptCells | None = None) -> None:
        self._kept = kept
        self._solutions: dict[Cell, dict[Threshold, ThresholdSolution]] = {}
        self._versions: dict[Cell, int] = {}
        self._lock = Lock()
        self._ranked = LruCache[ThresholdSolution](_MAX_RANKED_BYTES, attrgetter("nbytes"))
        """The solutions with ranks, by cell and threshold."""
        self._ranks = LruCache[CellRanks](_MAX_RANKS_BYTES, attrgetter("nbytes"))

    @property
    def nbytes(self) -> int:
        """Bytes kept in memory."""
        fresh = sum(solution.proved.nbytes for each in self._solutions.values() for solution in each.values())
        return fresh + self._ranked.size + self._ranks.size

    def forget(self) -> None:
        """Drop everything that can be computed again."""
        self._ranked.clear()
        self._ranks.clear()

    def __contains__(self, cell: Cell) -> bool:
        """Return whether any threshold has been tried in a canonical cell."""
        return bool(self.solutions(cell))

    def solutions(self, cell: Cell) -> Mapping[Threshold, ThresholdSolution]:
        """Return the solutions of a canonical cell, a new mapping whenever they have changed.

        Those on disk are read when they are first needed.
        """
        if self._kept is not None and cell.size >= MIN_KEPT_SLOTS and cell not in self._solutions:
            found = {each.threshold: each for each in self._read(self._kept, cell)}
            self._solutions.setdefault(cell, found)  # another thread may have added a solution
        return self._solutions.get(cell, _NO_SOLUTIONS)

    @staticmethod
    def _read(kept: KeptCells, cell: Cell) -> Iterator[ThresholdSolution]:
        for packed in kept.thresholds(cell):
            try:
                yield unpack_threshold(packed, cell)
            except ValueError as error:
                kept.mark_unusable(cell, str(error), (packed.end, packed.bound))

    def thresholds(self, cell: Cell) -> set[Threshold]:
        """Return the thresholds that have been tried in a canonical cell."""
        return set(self.solutions(cell))

    def version(self, cell: Cell) -> int:
        """Return a number that changes whenever a threshold has been tried in a cell, canonical or not."""
        return self._versions.get(cell.canonical()[0], 0)

    def solve(
        self,
        asked: Mapping[Cell, Iterable[Threshold]],
        proofs: ProofLookup,
        threads: int = 1,
        *,
        with_rounds: bool = False,
    ) -> list[ThresholdSolution]:
        """Find, keep and return the positions of canonical cells for which thresholds are proved.

        :param asked: the thresholds by cell; no cell may depend on another.
        :param threads: number of threads that share the work.
        :param with_rounds: whether the result contains ``ThresholdSolution.rounds``, which are not kept.
        """
        questions = [(cell, threshold) for cell, thresholds in asked.items() for threshold in thresholds]
        ranks = {
            cell: self._ranks.get_or_make(cell, partial(find_cell_ranks, frame_of_cell(cell), threads))
            for cell in asked
        }

        at_once = min(threads, max(len(questions), 1))

        def solve(question: tuple[Cell, Threshold]) -> ThresholdSolution:
            cell, threshold = question
            frame = frame_of_cell(cell)
            return solve_threshold(
                frame,
                ranks[cell],
                routes_of(frame),
                threshold,
                proofs,
                threads // at_once,
                with_rounds=with_rounds,
            )

        slots = sum(cell.size for cell in asked)
        with threaded_map(at_once, slots) as thread_map:
            solutions = list(thread_map(solve, questions))
        for (cell, _), solution in zip(questions, solutions, strict=True):
            self.add(cell, solution.without_rounds)
            if self._kept is not None and cell.size >= MIN_KEPT_SLOTS:
                self._kept.put(cell, pack_threshold(self.solution(cell, solution.threshold)))
        return solutions

    def add(self, cell: Cell, solution: ThresholdSolution) -> None:
        """Keep a solution about a canonical cell. Thread-safe."""
        self._ranked.put((cell, solution.threshold), solution)
        earlier = self.solutions(cell).get(solution.threshold)
        proved = solution.proved if earlier is None else solution.proved | earlier.proved
        fresh = ThresholdSolution(solution.threshold, proved, np.empty((2, 0), np.uint8))
        with self._lock:
            self._solutions[cell] = {**self.solutions(cell), solution.threshold: fresh}
            self._versions[cell] = self.version(cell) + 1

    def solution(self, cell: Cell, threshold: Threshold) -> ThresholdSolution:
        """Return the solution of a threshold that has been tried in a canonical cell, without its ranks."""
        return self.solutions(cell)[threshold]

    def ranked(self, cell: Cell, threshold: Threshold) -> ThresholdSolution | None:
        """Return the solution of a threshold with its ranks; None if they are no longer kept."""
        return self._ranked.get((cell, threshold))

    def knows(self, route: Route) -> bool:
        """Return whether any threshold has been tried in the home of a route."""
        return home_of_route(route).canonical()[0] in self

    def has_tried(self, route: Route, threshold: Threshold) -> bool:
        """Return whether a threshold has been tried in the home of a route."""
        home, symmetry = home_of_route(route).canonical()
        stored = threshold.swapped if symmetry & MIRROR_RANKS else threshold
        return stored in self.solutions(home)

    def proofs_after(self, route: Route, end: int) -> Iterator[tuple[Threshold, Words]]:
        """Yield the thresholds at one end that have been tried after a route, and the proved positions."""
        side = side_after(route)
        home, symmetry = home_of_route(route).canonical()
        if home not in self or (route.ep_square is not None and end != end_of(side)):
            return  # a possible en passant capture leaves only one end, as in SolvedCells.block
        swapped = bool(symmetry & MIRROR_RANKS)
        cell = route.subcell.minus_frozen(home_of_route(route))
        for stored_threshold, solution in self.solutions(home).items():
            threshold = stored_threshold.swapped if swapped else stored_threshold
            if threshold.end == end:
                yield (
                    threshold,
                    gather_proofs(cell, home.mobile, symmetry, solution.proved[SIDES[side ^ swapped]]),
                )

    def fresh_bounds(self, position: CellPosition) -> Interval | None:
        """Return the bounds of a position in its fresh state; None if its cell has no thresholds."""
        home, symmetry = position.cell.canonical()
        if home not in self:
            return None
        swapped = bool(symmetry & MIRROR_RANKS)
        image = position.image(symmetry)
        bounds = list(WORST)
        for stored_threshold, solution in self.solutions(home).items():
            threshold = stored_threshold.swapped if swapped else stored_threshold
            if solution.is_proved(side_of(image.board), image.slot):
                bounds[threshold.end] = threshold.better(bounds[threshold.end])
        if position.board.has_legal_en_passant():
            end = 1 - end_of(side_of(position.board))
            bounds[end] = WORST[end]
        return Interval(*bounds)


def _weakest_depth(threshold: Threshold) -> int:
    """Return the depth in plies that makes the weakest claim about an unknown depth."""
    return FAR_DEPTH if (threshold.bound < NONE) == (threshold.end == LOWER) else 0
