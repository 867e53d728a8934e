"""The proof of one cell: both of its games, every state from its successors.

A game of a cell is proved as a table is (docs/theory.md, section 5): fresh states, and the layers of accrued
scores, which are made on the way and proved like what is stored. What moves out of the cell are worth is
taken as known, so it has to be proved before; which moves lead where is found out here once more.
"""

import random
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np

from tbgen.board.score import NONE, GScore
from tbgen.cells.bounds import ENDS, LOWER, WORST, Block, Bounds, BoundsGame, Knowledge, side_after
from tbgen.cells.cell import Cell
from tbgen.cells.frames import frame_of_cell
from tbgen.cells.routes import Route, routes_of
from tbgen.compiler.jit import python_of
from tbgen.errors import TbgenError
from tbgen.index.layout import Side
from tbgen.solve.kernels.cell_proof import (
    CellGame,
    CellMen,
    Leaving,
    ProofLayer,
    enter_layer_of_cell,
    prove_cell,
    survey_cell,
    way_number,
)
from tbgen.solve.ways import Way, men_of_cell, ways_out
from tbgen.verify.game import new_scratch
from tbgen.verify.geometry import PAWN
from tbgen.verify.kernels.findings import BETWEEN, MISSING
from tbgen.verify.kernels.keys import MIDDLE, WHITE_WORTH, Accrued
from tbgen.verify.kernels.moves import ProofMen
from tbgen.verify.kernels.states import ProofPositions
from tbgen.verify.kernels.survey import NO_RANK
from tbgen.verify.report import entry_of, score_of
from tbgen.verify.threads import ProofThreads

_FIRST_RANK: Final = 2
"""Rank of the first layer: mates and stalemates end the game."""
_RUN: Final = 4096
"""Slots that are proved one after the other where not all are."""
_NAMES: Final = ("lower", "upper")
"""Of the ends."""


class WrongBoundError(TbgenError):
    """A bound that does not follow from what the moves lead to."""

    code = "wrong_bound"

    def __init__(self, cell: Cell, end: int, side: Side, slot: int, what: str) -> None:
        board = cell.board_of(side, slot)
        where = f"slot {slot}" if board is None else board.fen()
        super().__init__(
            f"{where}: the {_NAMES[end]} bound is not proved, {what}; prove the tables with tbgen verify, "
            "and report this if they are in order"
        )


class CellProof:
    """The proof of what is said of a cell.

    :param share: one position in so many is proved, chosen at random; 1 for all.
    """

    def __init__(self, cell: Cell, share: int = 1) -> None:
        self.cell = cell
        self.ways = list(ways_out(cell))
        self.men = _men_of(cell)
        self.rank = np.full((2, cell.size), NO_RANK, np.uint8)
        with ProofThreads(len(ENDS)) as threads:
            parts = threads.ranges(cell.size)
            threads.each(survey_cell, ((self.men, self.rank, part, new_scratch()) for part in parts))
        chosen = np.zeros((2, 0), np.bool_)
        if share > 1:
            chosen = np.random.default_rng(share).integers(share, size=self.rank.shape, dtype=np.uint8) == 0
        self.positions = ProofPositions(self.rank, chosen)

    def fresh(self, bounds: Bounds, knowledge: Knowledge) -> int:
        """Prove what is said of all positions with their own scores, and the layers that this takes; return
        the number of states proved.

        ``knowledge`` of positions outside the cell has to be proved before.

        :raises WrongBoundError: if something is wrong.
        """
        with ThreadPoolExecutor(len(ENDS)) as threads:
            return sum(threads.map(lambda end: _GameProof(self, bounds, knowledge, end).fresh(), ENDS))

    def accrued(self, bounds: Bounds, layer: Bounds, accrued: GScore, knowledge: Knowledge) -> int:
        """Prove that no more is said of positions with an accrued score than follows from fresh bounds and
        ``knowledge``, which have to be proved before; return the number of states proved.

        These may have become better since the fresh bounds were found, and then what is said need not be all
        that follows.

        :raises WrongBoundError: if something is wrong.
        """

        def prove(end: int) -> int:
            return _GameProof(self, bounds, knowledge, end).accrued(layer, accrued)

        with ThreadPoolExecutor(len(ENDS)) as threads:
            return sum(threads.map(prove, ENDS))


class _GameProof:
    """The proof of one of the two games."""

    def __init__(self, proof: CellProof, bounds: Bounds, knowledge: Knowledge, end: int) -> None:
        self._proof, self._knowledge, self._end = proof, knowledge, end
        value, depth = bounds.value[end], bounds.depth[end]
        leaving = _leaving(proof.men, proof.ways, knowledge, end)
        self._game = CellGame(proof.men, end, leaving, value, depth, np.zeros(value.shape, np.int32))

    def fresh(self) -> int:
        """Prove fresh values and depths, and all layers."""
        proof, (value, depth) = self._proof, (self._game.value, self._game.depth)
        self._check_places()
        there = proof.rank != NO_RANK
        ranks = np.minimum(value, 255 - value)[there]
        top = int(ranks.max(initial=_FIRST_RANK - 1))
        alive = int(np.minimum(ranks, proof.rank[there]).max(initial=0))
        frame = frame_of_cell(proof.cell)
        solver = BoundsGame(frame, list(routes_of(frame)), self._knowledge, self._end)
        solver.recall(value, depth)
        nothing = ProofLayer(np.full_like(value, NONE), np.zeros_like(depth), True)
        states = 0
        for rank in range(_FIRST_RANK, top + 2):
            # Beyond the greatest rank of a value all accrued scores are alike.
            for level in (WHITE_WORTH - rank, rank) if rank <= top else (MIDDLE,):
                layer = nothing
                if rank <= alive:
                    layer = ProofLayer(*solver.layer(GScore(rank, level > MIDDLE)), True)
                states += self._prove(layer, Accrued(rank, level))
        return states

    def accrued(self, layer: Bounds, accrued: GScore) -> int:
        """Prove one layer from the fresh values."""
        level = WHITE_WORTH - accrued.rank if accrued.white else accrued.rank
        claims = ProofLayer(layer.value[self._end], layer.depth[self._end], False)
        return self._prove(claims, Accrued(accrued.rank, level))

    def _check_places(self) -> None:
        """Check that there are values where there are positions, and what mates and stalemates are worth."""
        rank, value = self._proof.rank, self._game.value
        there = rank != NO_RANK
        own = np.stack([255 - rank[0], rank[1]])
        over = there & (rank < _FIRST_RANK)
        for wrong, what in (
            (there & (value == NONE), "there is none"),
            (~there & (value != NONE), "there is no such position"),
            (over & ((value != own) | (self._game.depth != 0)), "the game has ended here"),
        ):
            if wrong.any():
                side, slot = np.argwhere(wrong)[0].tolist()
                raise WrongBoundError(self._proof.cell, self._end, Side(side), slot, what)

    def _prove(self, layer: ProofLayer, accrued: Accrued) -> int:
        """Prove the states of one accrued score."""
        proof, game = self._proof, self._game
        with ProofThreads(1) as threads:
            parts = threads.ranges(proof.cell.size)
            threads.inspect(enter_layer_of_cell, ((game, proof.rank, accrued, part, layer) for part in parts))
            states = threads.inspect(
                prove_cell, ((game, proof.positions, accrued, part, layer.with_fresh) for part in parts)
            )
        if threads.wrong:
            raise _wrong(proof.cell, self._end, threads.rows[0].tolist())
        return states


def prove_by_ply(route: Route, end: int, block: Block, knowledge: Knowledge, share: int = 1) -> int:
    """Prove one end of what is said of the positions that a route leads to, where it is what the best capture
    or pawn move comes to, by ``knowledge`` that has been proved; return the number of positions.

    What holds for all of them is no more than ``knowledge.bound`` says, and needs no proof.

    :param share: one position in so many is proved, in random runs of slots; 1 for all.
    :raises WrongBoundError: if something is wrong.
    """
    cell, side = route.destination, side_after(route)
    bound, men = knowledge.bound(route, end), _men_of(cell)
    ways = [way for way in ways_out(cell) if way.route.side == side and not way.route.quiet]
    # To the side to move the worst is as if it had no other move.
    level = 0 if end == LOWER else WHITE_WORTH
    value, depth = np.full((2, cell.size), NONE, np.uint8), np.zeros((2, cell.size), np.uint16)
    value[side], depth[side] = block
    key = np.full((2, cell.size), level << 16, np.int32)
    rank = np.full((2, cell.size), NO_RANK, np.uint8)
    game = CellGame(men, end, _leaving(men, ways, knowledge, end), value, depth, key)
    parts = [(start, min(start + _RUN, cell.size)) for start in range(0, cell.size, _RUN)]
    if share > 1:
        parts = random.Random(share).sample(parts, -(-len(parts) // share))
    for part in parts:
        survey_cell(men, rank, part, new_scratch())
    more = block.value < bound if end == LOWER else block.value > bound
    rank[1 - side] = NO_RANK
    rank[side][~more] = NO_RANK
    accrued, layer = Accrued(0, level), ProofLayer(value, depth, False)
    positions = ProofPositions(rank, np.zeros((2, 0), np.bool_))
    with ProofThreads(1) as threads:
        threads.inspect(enter_layer_of_cell, ((game, rank, accrued, part, layer) for part in parts))
        proved = threads.inspect(prove_cell, ((game, positions, accrued, part, False) for part in parts))
    if threads.wrong:
        raise _wrong(cell, end, threads.rows[0].tolist())
    return proved


def _wrong(cell: Cell, end: int, row: list[int]) -> WrongBoundError:
    """Return what is wrong by a row of the findings."""
    problem, _, side, slot, level, stored, right = row
    claim, accrued = entry_of(stored, level), "any score" if level == MIDDLE else score_of(level)
    if problem == MISSING:
        what = f"there is none with {accrued} accrued"
    elif problem == BETWEEN:
        what = f"{claim} with {accrued} accrued is not between that and the bound without it"
    else:
        what = f"with {accrued} accrued it is said to be {claim}, and {entry_of(right, level)} follows"
    return WrongBoundError(cell, end, Side(side), slot, what)


def _men_of(cell: Cell) -> CellMen:
    men = men_of_cell(cell)
    mobile = [place for place, man in enumerate(men) if man.square is None]
    kinds = np.array([man.kind for man in men], np.int64)
    colours = np.array([man.colour for man in men], np.int64)
    shift = np.full(len(men), -1, np.int64)
    shift[mobile] = 6 * np.arange(len(mobile))[::-1]
    free = int(np.count_nonzero(kinds != PAWN))
    reach = kinds + (kinds == PAWN) * colours
    no_placements = np.zeros((0, 0), np.uint8)
    return CellMen(
        ProofMen(kinds, colours, reach, free, 0, no_placements),
        shift,
        np.array([man.square or 0 for man in men], np.int64),
        len(mobile),
    )


def _leaving(of_cell: CellMen, ways: Iterable[Way], knowledge: Knowledge, end: int) -> Leaving:
    """Return what moves out of a cell are worth in one of its games."""
    men, mobile = len(of_cell.still), of_cell.mobile
    number = np.zeros(python_of(way_number)(men, mobile, men + 1, 0, 0, 0), np.int32)
    begin, blocks, at = [-1 - WORST[end]], [], 0
    for way in ways:
        number[python_of(way_number)(men, mobile, *way[:4])] = len(begin)
        block = knowledge.block(way.route, end)
        if block is None:
            begin.append(-1 - knowledge.bound(way.route, end))
        else:
            begin.append(at)
            blocks.append(block)
            at += len(block.value)
    value = np.concatenate([np.zeros(0, np.uint8), *(block.value for block in blocks)])
    depth = np.concatenate([np.zeros(0, np.uint16), *(block.depth for block in blocks)])
    return Leaving(number, np.array(begin, np.int64), value, depth, int(WORST[end]))
