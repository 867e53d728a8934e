"""Forced mates and thresholds after promotions that leave more mobile men than an ordinary cell may have.

If there are two pieces besides the kings, a promotion leads to positions with five mobile men. There are 64
times as many of these as there are positions of an ordinary cell. They form a *whole* cell
(:mod:`tbgen.beyond.structures`). Two kinds of results are found for whole cells:

- The forced mates after a promotion to a queen. One bit for each position shows whether it is won
  (:mod:`tbgen.cells.wins`). The value of a forced mate is G0.0 with any accrued score. :class:`WonCells` is
  the exit source of these mates.
- The positions for which a threshold is proved (:mod:`tbgen.cells.threshold`). The whole cells that are
  reached when another pawn steps or is captured are solved first. :class:`PromotedCells` keeps only the
  positions directly after promotions, with the other side to move.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias

import chess
import numpy as np
from numpy.typing import NDArray
from zlib_ng import zlib_ng

from tbgen.beyond.exit_sources import ExitSource, trivial_bound
from tbgen.beyond.solved_cells import end_of
from tbgen.beyond.structures import (
    is_queening,
    postorder,
    promoter_symmetries,
    whole_cell,
    whole_cells_of,
    whole_routes,
)
from tbgen.beyond.table_source import Tables
from tbgen.beyond.threshold_cells import ThresholdSource, gather_proofs
from tbgen.board.kinds import QUEEN
from tbgen.board.score import NONE, Code
from tbgen.cells.bounds import LOWER, WORST, Block, BoundsSource, gather_block, require_storable, side_after
from tbgen.cells.cell import (
    MAX_MOBILE,
    PAWN,
    Cell,
    CellPosition,
    Man,
    man_of,
    side_of,
)
from tbgen.cells.frames import frame_of_cell
from tbgen.cells.interval import FAR_DEPTH, Interval
from tbgen.cells.routes import Route, routes_of
from tbgen.cells.threshold import ProofLookup, Threshold, ThresholdSolution, find_cell_ranks, solve_threshold
from tbgen.cells.wins import Wins, cell_after_step, solve_wins, without_man, without_pawn
from tbgen.index.arrays import has_bit
from tbgen.index.layout import BLACK_TO_MOVE, IMAGE, MIRROR_FILES, MIRROR_RANKS, SIDES, WHITE_TO_MOVE, Side
from tbgen.moves.kernels.words import Words

Flags: TypeAlias = NDArray[np.bool_]

_MATE_CODES: Final = (Code(0), Code(255))
"""Codes of the value of a forced mate, indexed by the side that mates."""


class WonCells(ExitSource):
    """The whole cells in which forced mates have been found, as an exit source. White is the promoting side.

    :param mobile_count: number of mobile men besides the new queen.
    """

    proved = True

    def __init__(self, mobile_count: int = MAX_MOBILE) -> None:
        self.mobile_count = mobile_count
        self._wins: dict[Cell, Wins] = {}

    @property
    def nbytes(self) -> int:
        """Bytes kept in memory."""
        return sum(wins.nbytes for wins in self._wins.values())

    @property
    def version(self) -> int:
        """A number that changes whenever a whole cell has been solved."""
        return len(self._wins)

    def __contains__(self, cell: Cell) -> bool:
        """Return whether a whole cell has been solved, as it is or with its files mirrored."""
        return not self._wins.keys().isdisjoint((cell, cell.image(MIRROR_FILES)))

    def solve(
        self, cell: Cell, exit_bounds: BoundsSource, *, with_rounds: bool = False, threads: int = 1
    ) -> Wins:
        """Find and keep the positions of a whole cell in which White forces mate.

        :param exit_bounds: the bounds after captures.
        :param with_rounds: whether the result contains the round in which each position was found to be won
            (:class:`Wins`). A proof needs the rounds; they are not kept.
        """

        def find_won_words(other: Cell, side: Side) -> Words | None:
            if other in self._wins:
                words: Words = self._wins[other].won[side]
                return words
            if other.size > 64**self.mobile_count:
                return None
            promoted = other.frozen[0].square if other.frozen else None
            block = exit_bounds.block(Route(SIDES[1 - side], 0, other, promoted), LOWER)
            return None if block is None else _pack_bits(block.value == _MATE_CODES[WHITE_TO_MOVE])

        wins = solve_wins(cell, find_won_words, with_rounds=with_rounds, threads=threads)
        self._wins[cell] = replace(wins, rounds=wins.rounds[:0])
        return wins

    def knows(self, route: Route) -> bool:
        """Return whether the forced mates after a route have been searched for."""
        return self._stored(route) is not None

    def block(self, route: Route, end: int) -> Block | None:
        """Return the forced mates among the positions that a route leads to, as bounds.

        None is returned for the end that forced mates do not bound.
        """
        stored_cell = self._stored(route)
        if (
            stored_cell is None or end != route.side
        ):  # White's mates bound the lower end, Black's the upper end
            return None
        wins = self._wins[stored_cell.cell]
        symmetry = stored_cell.symmetry
        assert route.promoted_on is not None, "only promotions are searched"
        index = wins.cell.mobile.index(man_of(WHITE_TO_MOVE, QUEEN))
        won = _won_with_man_on(wins, index, IMAGE[symmetry][route.promoted_on])
        stored = Block(
            np.where(won, np.uint8(0), np.uint8(NONE)), np.where(won, np.uint16(FAR_DEPTH), np.uint16(0))
        )
        others = [(man.colour, man.kind) for number, man in enumerate(wins.cell.mobile) if number != index]
        return gather_block(replace(route.destination, frozen=()), others, symmetry, stored)

    def fresh_bounds(self, position: CellPosition) -> Interval | None:
        """Return the value of a mate if the side that has just moved forces it, else None."""
        return self.bounds_for_any_accrued(position)

    def bounds_for_any_accrued(self, position: CellPosition) -> Interval | None:
        """Return the value of a mate if the side that has just moved forces it, else None."""
        board = position.board
        if not self._wins or chess.popcount(board.occupied & ~board.pawns) <= self.mobile_count:
            return None
        winner = SIDES[board.turn]
        whole = CellPosition(board, board.occupied & ~board.pawns)
        stored = _stored_image(self._wins, whole.cell, winner)
        if stored is None or not self._wins[stored.cell].is_won(
            BLACK_TO_MOVE, whole.image(stored.symmetry).slot
        ):
            return None
        return Interval(_MATE_CODES[winner], _MATE_CODES[winner])

    def cells_to_solve(self, home: Cell) -> Iterator[Cell]:
        """Yield the whole cells to solve for the forced mates in the home of a promotion, in order."""
        for whole in whole_cells_of(home, self.mobile_count):
            if is_queening(home) and whole not in self:
                yield from self.cells_up_to(whole)

    def cells_up_to(self, cell: Cell) -> Iterator[Cell]:
        """Yield the unsolved whole cells below a whole cell in order, and then the cell itself if
        unsolved."""
        ordered = postorder(cell, self._unsolved_below)
        return (each for each, _ in ordered if each not in self._wins)

    def _unsolved_below(self, cell: Cell) -> tuple[Cell, ...]:
        """Return the unsolved cells directly below a cell.

        These are the cells after steps of Black's pawns, after captures of these pawns and, if Black has
        pawns, after captures of Black's pieces. The cells are solved even if tables contain them, because
        decoding the tables takes longer. Decoding takes many times longer than solving if pawns are about to
        promote.
        """
        below = list[Cell]()
        for pawn in chess.scan_forward(cell.black_pawns):
            below.append(without_pawn(cell, pawn))
            if pawn >= 16 and pawn - 8 not in cell.standing:
                below.append(cell_after_step(cell, pawn, pawn - 8, PAWN))
        for number, man in enumerate(cell.mobile if cell.black_pawns else ()):
            if man.piece and man.colour == BLACK_TO_MOVE:
                below.append(without_man(cell, number))
        return tuple(each for each in below if each not in self._wins)

    def is_won(self, board: chess.Board) -> bool:
        """Return whether White wins a position according to the solution of its own cell, not of an image."""
        position = CellPosition(board, board.occupied & ~board.pawns)
        wins = self._wins.get(position.cell)
        return wins is not None and wins.is_won(side_of(board), position.slot)

    def _stored(self, route: Route) -> "_StoredImage | None":
        """Return the solved whole cell of a promotion to a queen; None if there is none."""
        if route.promoted_on is None or not is_queening(route.destination):
            return None
        return _stored_image(
            self._wins, whole_cell(route.destination, route.side, self.mobile_count), route.side
        )


def _pack_bits(bits: Flags) -> Words:
    words: Words = np.packbits(bits, bitorder="little").view(np.uint64)
    return words


def _won_with_man_on(wins: Wins, index: int, square: int) -> Flags:
    """Return which positions with Black to move and a given man on ``square`` are won: bool (slots,).

    :param index: index of the man among the mobile men. The slots number the squares of the other men.
    """
    words = wins.won[BLACK_TO_MOVE]
    scalars = len(wins.cell.mobile) - 1
    if index == scalars:
        bits: Flags = (words >> np.uint64(square) & np.uint64(1)).astype(np.bool_)
        return bits
    slice_words = np.ascontiguousarray(words.reshape((64,) * scalars).take(square, index))
    flags: Flags = np.unpackbits(slice_words.view(np.uint8).ravel(), bitorder="little").view(np.bool_)
    return flags


_COMPRESSION_LEVEL: Final = 1
"""The fastest level of compression. The data is soon read again."""


class PromotionTask(NamedTuple):
    """A threshold to be tried in the whole cell of a promotion, and in the whole cells below it."""

    cells: Sequence[Cell]
    """The whole cells. Each comes after the cells that are reached when one of its pawns steps or is
    captured."""
    kind: int
    """The kind of the promoted man."""
    threshold: Threshold
    """The threshold, as seen with White as the promoting side."""


class PromotedCells(ThresholdSource):
    """The whole cells in which thresholds have been tried, as an exit source. White is the promoting side.

    :param tables: the tables, which contain the values after some captures and pawn steps.
    :param mobile_count: number of mobile men besides the promoted one.
    :ivar version: a number that changes whenever a threshold has been tried in a whole cell.
    """

    def __init__(self, tables: Tables, mobile_count: int = MAX_MOBILE) -> None:
        self.version = 0
        self._tables, self._mobile_count = tables, mobile_count
        self._proofs: dict[Cell, dict[tuple[int, Threshold], dict[int, Words]]] = {}
        """Maps a whole cell (the smaller of it and its mirror image), the kind of its promoted man, a
        threshold, and the square of the promoted man to the positions with Black to move for which the
        threshold is proved. Their slots number the squares of the other mobile men."""

    @property
    def nbytes(self) -> int:
        """Bytes kept in memory."""
        tried = (by_square for each in self._proofs.values() for by_square in each.values())
        return sum(words.nbytes for by_square in tried for words in by_square.values())

    def next_task(self, home: Cell, thresholds: Iterable[Threshold]) -> PromotionTask | None:
        """Return what to try next for the home of a promotion; None if nothing remains.

        The upper end, as the promoting side sees it, comes first, because this side may hope for it.

        :param home: any cell.
        :param thresholds: the thresholds about ``home`` that answer the question.
        """
        for side in SIDES:
            if (whole := whole_cell(home, side, self._mobile_count)) is None:
                continue
            seen = [each.swapped if side else each for each in thresholds]
            for threshold in sorted(seen, reverse=True):
                kind = home.frozen[0].man.kind
                stored = _stored_image(self._proofs, whole, side)
                if stored is None or (kind, threshold) not in self._proofs[stored.cell]:
                    cell = whole.image(promoter_symmetries(side)[0])
                    return PromotionTask(list(dict(postorder(cell, self._cells_below))), kind, threshold)
        return None

    def _cells_below(self, cell: Cell) -> tuple[Cell, ...]:
        """Return the whole cells that moves of other pawns and captures of pawns lead to, without those in
        tables."""
        routes = (route for route in whole_routes(cell, self._mobile_count) if route.promoted_on is None)
        return tuple(route.destination for route in routes if not self._tables.knows(route))

    def solve(
        self,
        task: PromotionTask,
        proofs: ProofLookup,
        threads: int = 1,
        poll: Callable[[], object] = lambda: None,
    ) -> Iterator[Cell]:
        """Try the threshold of a task, and yield each whole cell as soon as it is solved.

        :param proofs: returns after which moves the threshold is proved; asked about moves to ordinary cells
            and to tables.
        :param poll: called every few seconds. An exception that it raises ends the work.
        :raises UnstorableCellError: if a cell has scores beyond G63.0.
        :raises MemoryError: if too little memory is available.
        """
        compressed: dict[tuple[Cell, Side], bytes] = {}
        """Maps a solved whole cell and the side to move to the positions with a proved threshold."""
        needed = {
            (route.destination, side_after(route))
            for cell in task.cells
            for route in whole_routes(cell, self._mobile_count)
        }

        def proofs_of(route: Route, threshold: Threshold) -> Words | bool:
            cell, side = route.destination, side_after(route)
            if len(cell.mobile) <= self._mobile_count or self._tables.knows(route):
                return proofs(route, threshold)
            # After a double step that may be captured en passant, only one end is bounded.
            bounds_end = route.ep_square is None or threshold.end == end_of(side)
            if not bounds_end or (cell, side) not in compressed:
                return threshold.follows_from(trivial_bound(cell, threshold.end))
            words = np.frombuffer(zlib_ng.decompress(compressed[cell, side]), np.uint64)
            return words if route.landing is None else gather_proofs(route.subcell, cell.mobile, 0, words)

        for cell in task.cells:
            require_storable(cell)
            frame = frame_of_cell(cell)
            solution = solve_threshold(
                frame,
                find_cell_ranks(frame, threads),
                routes_of(frame),
                task.threshold,
                proofs_of,
                threads,
                with_joined=False,
                poll=poll,
            )
            for side in SIDES:
                if (cell, side) in needed:
                    compressed[cell, side] = zlib_ng.compress(solution.proved[side], _COMPRESSION_LEVEL)
            self._keep(cell, task.kind, solution)
            yield cell

    def _keep(self, cell: Cell, kind: int, solution: ThresholdSolution) -> None:
        """Keep the positions of a whole cell in which a man of a certain kind has just been promoted."""
        stored, symmetry = min((cell.image(symmetry), symmetry) for symmetry in (0, MIRROR_FILES))
        others, promoted = _without(cell, kind)
        self.version += 1
        self._proofs.setdefault(stored, {})[kind, solution.threshold] = {
            square: gather_proofs(
                Cell.of_men(others, {square: promoted}), cell.mobile, symmetry, solution.proved[BLACK_TO_MOVE]
            )
            for square in chess.SquareSet(chess.BB_RANK_8 & ~stored.standing_mask)
        }

    def knows(self, route: Route) -> bool:
        """Return whether any threshold has been tried in the whole cell of a promotion."""
        return route.promoted_on is not None and self._stored(route.destination, route.side) is not None

    def _stored(self, home: Cell, side: Side) -> "_StoredImage | None":
        """Return the solved whole cell for the home of a promotion by one side; None if there is none."""
        return _stored_image(self._proofs, whole_cell(home, side, self._mobile_count), side)

    def proofs_after(self, route: Route, end: int) -> Iterator[tuple[Threshold, Words]]:
        """Yield the thresholds at one end that have been tried after a promotion, and the proved
        positions."""
        home = route.destination
        stored = self._stored(route.destination, route.side)
        if route.promoted_on is None or stored is None:
            return
        cell = replace(home, frozen=())
        square = IMAGE[stored.symmetry][route.promoted_on]
        for kind, threshold, by_square in self._tried(home, stored):
            if threshold.end == end:
                others, _ = _without(stored.cell, kind)
                yield threshold, gather_proofs(cell, others, stored.symmetry, by_square[square])

    def _tried(self, home: Cell, stored: "_StoredImage") -> Iterator[tuple[int, Threshold, dict[int, Words]]]:
        """Yield what has been tried for the home of a promotion: the kind of the promoted man, the threshold
        as seen in the home, and the proved positions by square."""
        for (kind, threshold), by_square in self._proofs[stored.cell].items():
            if kind == home.frozen[0].man.kind:
                yield kind, threshold.swapped if stored.symmetry & MIRROR_RANKS else threshold, by_square

    def fresh_bounds(self, position: CellPosition) -> Interval | None:
        """Return the bounds of a position directly after a promotion; None if nothing is known about it."""
        home = position.cell
        side = SIDES[position.board.turn]
        stored = self._stored(home, side) if self._proofs else None
        if stored is None:
            return None
        bounds = list(WORST)
        slot = position.image(stored.symmetry).slot
        square = IMAGE[stored.symmetry][home.frozen[0].square]
        for _, threshold, by_square in self._tried(home, stored):
            if has_bit(by_square[square], slot):
                bounds[threshold.end] = threshold.better(bounds[threshold.end])
        return Interval(*bounds)


def _without(cell: Cell, kind: int) -> tuple[list[Man], Man]:
    """Return the mobile men of a whole cell without a promoted one of a certain kind, and the latter."""
    others, promoted = list(cell.mobile), man_of(WHITE_TO_MOVE, kind)
    others.remove(promoted)
    return others, promoted


class _StoredImage(NamedTuple):
    """A stored whole cell, and the symmetry that maps the positions after a promotion to its positions."""

    cell: Cell
    symmetry: int


def _stored_image(stored: Container[Cell], whole: Cell | None, promoter: Side) -> _StoredImage | None:
    """Return the stored image of a whole cell after a promotion by one side; None if none is stored."""
    if whole is not None:
        for symmetry in promoter_symmetries(promoter):
            if (cell := whole.image(symmetry)) in stored:
                return _StoredImage(cell, symmetry)
    return None
