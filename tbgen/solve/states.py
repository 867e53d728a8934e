"""What is known of single states: positions of cells with their accrued scores."""

from typing import Final

import chess

from tbgen.board.score import NONE, Code, rank_of_code
from tbgen.cells.bounds import ENDS, LOWER, UPPER, WORST
from tbgen.cells.cell import side_of
from tbgen.cells.interval import Interval
from tbgen.cells.position import CellPosition, Step
from tbgen.index.symmetry import MIRROR_RANKS
from tbgen.solve.answer import Answer
from tbgen.solve.knowledge import Known
from tbgen.solve.layers import CellLayers

_WORTH_GUESSING: Final = 64**4
"""Slots of cells from which on layers take long."""


class States:
    """Looks states up in solved cells and their layers, and beyond them in all that is known.

    :param guess: whether to guess what a layer of a large cell would say that has not been made: that a bound
        is the accrued score, if this may make it another one than fresh.
    """

    def __init__(self, known: Known, layers: CellLayers, *, guess: bool = False) -> None:
        self._known, self._layers, self._guess = known, layers, guess

    def of(self, position: CellPosition, accrued: Code) -> Answer:
        """Return what is known of any state."""
        _, symmetry = position.cell.canonical()
        found = self.canonical(position.seen_by(symmetry), seen_score(accrued, symmetry))
        return found.swapped if symmetry & MIRROR_RANKS else found

    @staticmethod
    def _matters(accrued: Code, own: Code, fresh: Code) -> bool:
        """Whether a bound may be another one with an accrued score than fresh, without it.

        What improves on the accrued score all the same is the same (docs/theory.md, fact F1).
        """
        return rank_of_code(accrued) <= min(rank_of_code(own), rank_of_code(fresh))

    def canonical(self, position: CellPosition, accrued: Code) -> Answer:
        """Return what is known of a state of a canonical cell."""
        own = position.own
        if position.over:
            return Answer(Interval(own, own), (0, 0))
        if position.board.has_legal_en_passant():
            return Answer(best_of([self.after(step, own).value for step in position.moves()], position.board))
        cell, side, slot = position.cell, side_of(position.board), position.slot
        fresh = self._known.cells.get(cell)
        if fresh is None:
            return Answer(self._known.worth(position) if accrued == own else Interval(*WORST))
        ends, depths = [], []
        for end in ENDS:
            bounds = fresh
            if accrued != own and self._matters(accrued, own, Code(int(fresh.value[end, side, slot]))):
                guess = self._guess and cell.size >= _WORTH_GUESSING
                if guess and not self._layers.is_made(cell, accrued):
                    ends.append(accrued)
                    depths.append(0)
                    continue
                layer = self._layers.layer(fresh, accrued)
                bounds = layer if layer.value[end, side, slot] != NONE else fresh
            ends.append(Code(int(bounds.value[end, side, slot])))
            depths.append(int(bounds.depth[end, side, slot]))
        return Answer(Interval(*ends), (depths[LOWER], depths[UPPER]))

    def after(self, step: Step, accrued: Code) -> Answer:
        """Return what is known of the state after a move of one with an accrued score."""
        if step.zeroing:
            return Answer(self._known.worth(step.after))
        if not step.inside:
            return Answer(Interval(*WORST))
        return self.of(step.after, carried(step, accrued))


def best_of(moves: list[Interval], board: chess.Board) -> Interval:
    """Return what a position is worth to the side to move by what its moves are worth."""
    best = min if board.turn else max
    return Interval(*(best(worth[end] for worth in moves) for end in ENDS))


def carried(step: Step, accrued: Code) -> Code:
    """Return the accrued score after a quiet move."""
    own = step.after.own
    return own if rank_of_code(own) < rank_of_code(accrued) else accrued


def seen_score(accrued: Code, symmetry: int) -> Code:
    """Return the accrued score of a position that is seen by a symmetry."""
    return Code(255 - accrued) if symmetry & MIRROR_RANKS else accrued
