"""Positions that are to be solved, all of them known before the first one is begun, and what each costs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple

import chess

from tbgen.board.interval import ProvedValue, ScoreInterval
from tbgen.board.material import MAX_MEN
from tbgen.board.score import GScore
from tbgen.board.signed import to_gscore
from tbgen.board.validity import validate
from tbgen.board.variant import Variant
from tbgen.cells.cell import Cell
from tbgen.costs import seconds_of
from tbgen.errors import UsageError
from tbgen.probe.states import accrued_in_r, read_chess
from tbgen.probe.tablebase import Tablebase
from tbgen.solve.results import StateName
from tbgen.solve.sets import Mobile, sets_to_try
from tbgen.solve.structures import Structures

_MOST_CELLS: Final = 300
"""Cells up to which those that a position rests on are counted: that takes a tenth of a second."""


def never(_bounds: ScoreInterval) -> bool:
    """Tell that no bounds but exact ones are enough."""
    return False


@dataclass(frozen=True)
class Job:
    """A position to solve, with its accrued score.

    :ivar tables: by which it is solved.
    :ivar enough: tells of bounds whether they need not be narrower.
    :ivar name: what to call it.
    """

    board: chess.Board
    accrued: GScore
    tables: Tablebase
    enough: Callable[[ScoreInterval], bool] = never
    name: str = ""

    @cached_property
    def state(self) -> StateName:
        """What results call it."""
        return StateName.of(self.board, self.accrued)


def job_of(text: str, accrued: GScore | None, tables: Tablebase, name: str = "") -> Job:
    """Return the job to solve a position that a FEN tells of.

    :param accrued: the accrued score; None for that of the FEN, else the position's own.
    :raises UsageError: if the FEN or the score means nothing.
    """
    board, told = read_chess(text, accrued, Variant.R_MOBILITY)
    validate(board)
    return Job(board, to_gscore(accrued_in_r(board, told)), tables, name=name)


def merged(jobs: Iterable[Job]) -> list[Job]:
    """Return each state once, in the order in which they first come: its bounds are enough when they are for
    all."""
    found: dict[StateName, list[Job]] = {}
    for job in jobs:
        found.setdefault(job.state, []).append(job)
    return [replace(alike[0], enough=_enough_for_all(alike)) for alike in found.values()]


def _enough_for_all(jobs: list[Job]) -> Callable[[ScoreInterval], bool]:
    return lambda bounds: all(job.enough(bounds) for job in jobs)


class Collector:
    """Takes down what is to be solved, and solves nothing.

    :param name: tells what to call the next position.
    """

    def __init__(self, name: Callable[[], str]) -> None:
        self.jobs: list[Job] = []
        self._name = name

    def solve(
        self,
        board: chess.Board,
        accrued: GScore,
        tables: Tablebase,
        enough: Callable[[ScoreInterval], bool] = never,
    ) -> ProvedValue | None:
        """Take a position down."""
        self.jobs.append(Job(board.copy(stack=False), accrued, tables, enough, self._name()))
        return None


class JobCost(NamedTuple):
    """What a position takes; smaller ones compare as less."""

    seconds: float
    """To solve the cells that it rests on, without promotions, as far as they are not solved yet; infinite if
    they are more than are counted."""
    men: int
    size: int
    """Slots of the largest cell, its own."""


class JobCosts:
    """What positions take, one compared with another.

    :param memory: bytes to solve them with.
    :param solved: whether a canonical cell is solved.
    """

    def __init__(self, memory: int, solved: Callable[[Cell], bool]) -> None:
        self._memory, self._solved = memory, solved
        self._structures: dict[StateName, Structures | None] = {}

    def of(self, job: Job) -> JobCost:
        """Return what a position takes now."""
        if job.state not in self._structures:
            self._structures[job.state] = self._structures_of(job)
        found = self._structures[job.state]
        men = chess.popcount(job.board.occupied)
        if found is None:
            return JobCost(0.0, men, 0)
        unsolved = Counter(cell.size for cell in found.below if not self._solved(cell))
        seconds = sum(number * seconds_of("cell", size) for size, number in unsolved.items())
        return JobCost(seconds if found.complete else math.inf, men, found.root.size)

    def _structures_of(self, job: Job) -> Structures | None:
        """Return the cells that a position rests on; None for one that takes none, or cannot be solved."""
        try:
            root, *_ = roots_of(job.board, self._memory)
        except UsageError:
            return None
        held = held_by(job.tables)
        return None if held(root) else Structures.of(root, held, most=_MOST_CELLS)


def roots_of(board: chess.Board, memory: int, mobile: Mobile = None) -> list[Cell]:
    """Return the canonical cells in which a position is solved, one for each set of mobile men, in the order
    in which these are tried.

    :param memory: bytes to solve it with.
    :raises UsageError: if the position cannot be solved.
    """
    sets, _ = sets_to_try(board, memory, mobile)
    return [Cell.of_board(board, men).canonical()[0] for men in sets]


def held_by(tables: Tablebase) -> Callable[[Cell], bool]:
    """Return what tells whether there is a table of a cell's positions now."""
    materials = frozenset(tables.materials)
    return lambda cell: cell.men <= MAX_MEN and cell.material()[0] in materials
