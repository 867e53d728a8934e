"""The ledger of a search: its question, solutions and refusals, and the numbers of proved states.

The question of a search is where in a certain interval the value of its state lies. If the interval has two
scores, thresholds of cells answer the question. In a cell that play reaches with swapped colours, the colours
of the scores are swapped too. All parts of a search record their work in the ledger. The ledger decides
whether a cell has to be solved.
"""

from bisect import bisect
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate, product
from typing import Final

from tbgen.beyond.knowledge import ExitBounds
from tbgen.beyond.structures import homes_of, possible_colour_swaps, whole_cells_of
from tbgen.board.score import Code, rank_of_code
from tbgen.cells.bounds import ENDS, LOWER, UPPER, Bounds
from tbgen.cells.cell import Cell
from tbgen.cells.interval import ALL_SCORES, Interval
from tbgen.cells.threshold import Threshold, can_prove_thresholds
from tbgen.index.layout import MIRROR_FILES

_MIN_THRESHOLD_SLOTS: Final = 64**4
"""Minimum number of slots of a cell whose thresholds are tried. Smaller cells are solved for all scores."""
_SHARES: Final = 1 / 2, 3 / 4, 1 / 4
"""The shares of the likely values, from the worst, between which successive questions divide an interval."""
_ROUNDS_PER_SHARE: Final = 4
"""Number of successive rounds with the same question, unless the interval becomes narrower."""
_MAX_FAILURES: Final = 2
"""Number of times that a question is asked although no cell to solve is found for it."""
_LIKELY_RANK: Final = 8
"""Greatest rank of scores that are all about equally likely as values. Scores of greater ranks are rarer."""
_THRESHOLD_SPEEDUP: Final = 8
"""Speed of trying thresholds of a cell, divided by the speed of solving it for all scores."""


SAMPLE_DIVISOR: Final = 64
"""A proof of a large cell checks one position in 64, chosen at random."""


@dataclass(frozen=True, slots=True)
class ForwardProof:
    """The numbers of cells and states that have been proved forward.

    :ivar cells: number of proved solutions of cells. A cell that was solved twice counts twice.
    :ivar states: number of states proved from their successors, in the lower and the upper game.
    :ivar sampled: number of the ``cells`` that are large or were solved for thresholds; in these, only a
        random sample of the positions was proved.
    """

    cells: int = 0
    states: int = 0
    sampled: int = 0


class Ledger:
    """The question of a search, and its solutions. Solutions are numbered from 1.

    All cells are canonical. The colours of the question are those of the state's canonical cell.

    :param exits: the tables, and the solutions of earlier searches.
    :param root: the cell of the state.
    :ivar last_number: number of the last solution. Searches for forced mates and solutions of whole cells are
        also numbered.
    :ivar asks_threshold: whether the question has only two scores, so that thresholds of cells answer it.
    :ivar refused_cells: cells that need too much time or memory, or whose scores cannot be stored.
    :ivar homes_refused_for_mates: homes of promotions whose forced mates need too much time or memory.
    :ivar homes_refused_for_thresholds: homes of promotions whose thresholds need too much time or memory.
    """

    def __init__(self, exits: ExitBounds, root: Cell) -> None:
        self._exits, self._root = exits, root
        self._question = ALL_SCORES
        self.asks_threshold = False
        self._scores_by_cell: dict[Cell, Interval] = {}
        """Maps each cell requested so far to the scores that the current question distinguishes in it."""
        self._round = ALL_SCORES, 0
        """The interval of the state, and the number of rounds of questions since it last changed."""
        self._failures = Counter[Interval]()
        """For each question, how often no cell to solve was found."""
        self.last_number = 0
        self._last_solution: dict[tuple[Cell, int], int] = {}
        """Maps a cell and an end to the number of the last solution of the cell at this end for all
        scores."""
        self._last_trial: dict[tuple[Cell, Threshold], int] = {}
        """Maps a cell and a threshold to the number of the solution that last tried the threshold."""
        self._whole_cell_number: dict[Cell, int] = {}
        """Maps each whole cell, and its mirror image, to the number of its last solution."""
        self._solved_ahead: set[tuple[Cell, int]] = set()
        """Ends of cells that have been solved only with the pawns of one side standing still."""
        self.refused_cells: set[Cell] = set()
        self.homes_refused_for_mates: set[Cell] = set()
        self.homes_refused_for_thresholds: set[Cell] = set()

    def set_question(self, interval: Interval, *, use_thresholds: bool = True) -> None:
        """Set the question: where in an interval the value of the state lies.

        :param use_thresholds: whether thresholds, which give no depths, may answer the question.
        """
        self._question = interval
        self.asks_threshold = use_thresholds and len(interval.codes()) == 2
        self._scores_by_cell.clear()

    def questions(self, interval: Interval, accrued: Code) -> Iterator[Interval]:
        """Yield successive questions that thresholds of cells can answer: intervals of two scores.

        The first question is whether the value is at least the accrued score, the next whether it is better.
        Further questions divide the likely values. They take turns, because a question is answered sooner,
        the farther it is from the value. A question for which the caller has found no cell to solve, so that
        it asked for the next one, comes after the others, and only once more.

        :param interval: the interval in which the value lies.
        """
        codes = interval.codes()
        places = list[int]()
        if accrued in codes:
            places = [codes.index(accrued), codes.index(accrued) + 1]
        self._round = (interval, self._round[1] + 1 if self._round[0] == interval else 0)
        first = self._round[1] // _ROUNDS_PER_SHARE % len(_SHARES)
        places += [_place_of_share(codes, share) for share in _SHARES[first:] + _SHARES[:first]]
        questions = [Interval(codes[i - 1], codes[i]) for i in dict.fromkeys(places) if 0 < i < len(codes)]
        while any(self._failures[each] < _MAX_FAILURES for each in questions):
            question = min(questions, key=self._failures.__getitem__)
            yield question
            self._failures[question] += 1

    def retry_questions(self) -> None:
        """Forget for which questions no cell to solve was found, because more is known now."""
        self._failures.clear()

    @property
    def is_retried(self) -> bool:
        """Whether no cell to solve was found when the question was last asked."""
        return self._failures[self._question] > 0

    def relevant_scores(self, cell: Cell) -> Interval:
        """Return the interval of scores that the question needs to distinguish in a cell."""
        if cell not in self._scores_by_cell:
            self._scores_by_cell[cell] = self._seen_from(cell, self._question)
        return self._scores_by_cell[cell]

    def _colour_swaps(self, cell: Cell) -> Collection[bool]:
        """Return the possible answers to whether colours are swapped on the way from the root to a cell."""
        return {False} if cell == self._root else possible_colour_swaps(self._root, cell)

    def _seen_from(self, cell: Cell, interval: Interval) -> Interval:
        """Return the scores that a cell has to distinguish so that the root distinguishes an interval's."""
        seen = [interval.swapped if swapped else interval for swapped in self._colour_swaps(cell)]
        return reduce(Interval.hull, seen) if seen else ALL_SCORES

    def thresholds(self, cell: Cell, ends: Sequence[int] = ENDS) -> tuple[Threshold, ...]:
        """Return the thresholds about a cell that answer the question; none if the cell is to be solved for
        all scores instead.

        :param ends: the ends of the thresholds.
        """
        may_ask = self.asks_threshold and cell.size >= _MIN_THRESHOLD_SLOTS and can_prove_thresholds(cell)
        return self.question_thresholds(cell, ends) if may_ask else ()

    def question_thresholds(self, cell: Cell, ends: Sequence[int] = ENDS) -> tuple[Threshold, ...]:
        """Return the thresholds about a cell that show that the value is at an end of the question."""
        thresholds = Threshold(LOWER, self._question.upper), Threshold(UPPER, self._question.lower)
        swaps = sorted(self._colour_swaps(cell))
        seen = [each.swapped if swapped else each for swapped in swaps for each in thresholds]
        return tuple(each for each in dict.fromkeys(seen) if each.end in ends)

    def work_slots(self, cell: Cell) -> int:
        """Return the work of solving a cell for the question, in slots of cells solved for all scores."""
        return cell.size // _THRESHOLD_SPEEDUP if self.thresholds(cell) else cell.size

    def add_solution(self, bounds: Bounds) -> None:
        """Record a solution for all scores."""
        self.last_number += 1
        self._last_solution |= dict.fromkeys(product([bounds.cell], bounds.ends), self.last_number)

    def add_thresholds(self, cell: Cell, thresholds: Iterable[Threshold]) -> None:
        """Record that thresholds about a cell have been tried."""
        self.last_number += 1
        self._last_trial |= {(cell, threshold): self.last_number for threshold in thresholds}

    def lacks_depths(self, cell: Cell) -> bool:
        """Return whether only thresholds about a cell have been tried since its last solution with depths."""
        numbers = (self._last_solution.get((cell, end), 0) for end in ENDS)
        trials = (
            self._last_trial.get((cell, threshold), 0)
            for threshold in self._exits.threshold_cells.thresholds(cell)
        )
        return max(trials, default=0) > max(numbers, default=0)

    def add_whole_cell(self, whole_cell: Cell) -> None:
        """Record that forced mates, or a threshold, have been searched for in a whole cell."""
        self.last_number += 1
        self._whole_cell_number |= dict.fromkeys(
            (whole_cell, whole_cell.image(MIRROR_FILES)), self.last_number
        )

    def add_table_cells(self, cells: Iterable[Cell]) -> None:
        """Record that cells are now looked up in tables. Cells above them may then be solved again."""
        self._last_solution |= dict.fromkeys(product(cells, ENDS), self.last_number + 1)

    def add_ends_ahead(self, cell: Cell, ends: Iterable[int]) -> None:
        """Record that a cell has been solved at some ends with the pawns of one side standing still."""
        self._solved_ahead |= {(cell, end) for end in ends}

    def add_complete_cell(self, cell: Cell) -> None:
        """Record that a cell has been solved after all cells that it depends on."""
        self._solved_ahead -= {(cell, end) for end in ENDS}

    def has_solved(self, cell: Cell) -> bool:
        """Return whether this search has solved any end of a cell."""
        return any((cell, end) in self._last_solution for end in ENDS)

    def is_answered(self, cell: Cell, end: int) -> bool:
        """Return whether one end of a cell is solved for all scores, or for the thresholds of the question.

        If only the other end has been solved, the result depends on which search has solved it. If it was an
        earlier search, the result is False. If it was this search, the result may be True, because
        :class:`tbgen.beyond.choices.Chooser` and the search for promotions then take care of this end.
        """
        thresholds = self.thresholds(cell, [end])
        if thresholds and self._exits.threshold_cells.thresholds(cell).issuperset(thresholds):
            return True
        return self.has_solved(cell) or end in self._exits.cells.ends(cell)

    def is_solved(self, cell: Cell) -> bool:
        """Return whether a canonical cell is solved for the question, with moves of all pawns."""
        if any((cell, end) in self._solved_ahead for end in ENDS) or not self._exits.has_solved(cell):
            return False
        return all(self.is_answered(cell, end) for end in ENDS)

    def is_solved_ahead(self, cell: Cell, end: int) -> bool:
        """Return whether a canonical cell is solved at one end, with moves of at least one side's pawns."""
        is_known = (cell, end) in self._solved_ahead or self._exits.has_solved(cell)
        return is_known and self.is_answered(cell, end)

    def is_done(self, cell: Cell) -> bool:
        """Return whether a canonical cell is solved, refused, or contained in a table."""
        return self.is_solved(cell) or cell in self.refused_cells or self._exits.has_table_of(cell)

    def is_due(self, cell: Cell, threshold: Threshold) -> bool:
        """Return whether trying a threshold about a cell may prove more than the last trial."""
        last = self._last_trial.get((cell, threshold), 0)
        homes = set(homes_of(cell, promotions=True))
        homes = homes.union(*(homes_of(home, promotions=True) for home in homes))  # one ply of lookahead
        below = ((home, swapped) for home in homes for swapped in possible_colour_swaps(cell, home))
        return not last or any(
            self._number_below(home, threshold.end ^ swapped) > last for home, swapped in below
        )

    def is_stale(self, cell: Cell, end: int, home: Cell, swapped: bool) -> bool:
        """Return whether solving one end of a cell again may narrow its bounds.

        This is possible in two cases: this search has not solved this end for the question, or the bounds of
        ``home`` have become narrower since the last solution of ``cell``.

        :param home: a cell that moves from the cell lead to.
        :param swapped: whether these moves lead to ``home`` with swapped colours.
        """
        last = min(self._numbers(cell, end))
        return not last or self._number_below(home, end ^ swapped) > last

    def _number_below(self, home: Cell, end: int) -> int:
        """Return the number of the last solution that may have narrowed the bounds of a home at one end."""
        numbers = [
            self._whole_cell_number.get(whole, 0)
            for whole in whole_cells_of(home, self._exits.wins.mobile_count)
        ]
        thresholds = self.thresholds(home, [end]) or self._exits.threshold_cells.thresholds(home)
        numbers += [self._last_trial.get((home, each), 0) for each in thresholds if each.end == end]
        return max([*numbers, self._last_solution.get((home, end), 0)])

    def _numbers(self, cell: Cell, end: int) -> list[int]:
        """Return the numbers of the solutions that last answered the question at one end of a cell.

        There is one number for each threshold of the question, or one if it has no thresholds. The number is
        0 if this search has found no answer.
        """
        number = self._last_solution.get((cell, end), 0)
        thresholds = self.thresholds(cell, [end])
        return [max(number, self._last_trial.get((cell, threshold), 0)) for threshold in thresholds] or [
            number
        ]


def _place_of_share(codes: Sequence[Code], share: float) -> int:
    """Return the place before which a share of the likely values lies among scores, worst first."""
    weights = list(accumulate(max(rank_of_code(code), _LIKELY_RANK) ** -4 for code in codes))
    return min(max(bisect(weights, weights[-1] * share), 1), len(codes) - 1)
