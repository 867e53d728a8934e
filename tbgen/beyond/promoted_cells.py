"""Forced mates and values after promotions that leave more mobile men than an ordinary cell may have.

If there are two pieces besides the kings, a promotion leads to positions with five mobile men. There are 64
times as many of these as there are positions of an ordinary cell. They form a *whole* cell
(:mod:`tbgen.beyond.structures`). Two kinds of results are found for whole cells:

- The forced mates after a promotion to a queen. One bit for each position shows whether it is won
  (:mod:`tbgen.cells.wins`). The value of a forced mate is G0.0 with any accrued score. :class:`WonCells` is
  the exit source of these mates.
- All values, but no depths (:mod:`tbgen.cells.games`). Each end, lower or upper, is solved separately. The
  whole cells that are reached when another pawn steps or is captured are solved first.
  :class:`PromotedCells` keeps only the values directly after promotions, as bounds of the *home* of the
  promotion. This is the ordinary cell in which the promoted man is frozen on the last rank. The home gets
  bounds only with the other side to move.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, TypeAlias

import chess
import numpy as np
from numpy.typing import NDArray
from zlib_ng import zlib_ng

from tbgen.beyond.exit_sources import ExitSource
from tbgen.beyond.solved_cells import end_of
from tbgen.beyond.structures import (
    QUEEN,
    is_queening,
    postorder,
    promoter_symmetries,
    whole_cell,
    whole_cells_of,
    whole_routes,
)
from tbgen.beyond.table_source import Tables
from tbgen.board.score import NONE, Code
from tbgen.cells.bounds import (
    ENDS,
    LOWER,
    WORST,
    Block,
    Bounds,
    BoundsSource,
    CallbackBoundsSource,
    gather_block,
    side_after,
)
from tbgen.cells.cell import (
    MAX_MOBILE,
    PAWN,
    Cell,
    CellPosition,
    lineup_of_cell,
    man_of,
    mobile_squares,
    side_of,
)
from tbgen.cells.games import solve_values
from tbgen.cells.packing import legal_slots
from tbgen.cells.routes import Route, routes_of
from tbgen.cells.window import ALL_SCORES, FAR_DEPTH, Interval
from tbgen.cells.wins import Wins, cell_after_step, solve_wins, without_man, without_pawn
from tbgen.index.layout import BLACK_TO_MOVE, IMAGE, MIRROR_FILES, MIRROR_RANKS, SIDES, WHITE_TO_MOVE, Side
from tbgen.moves.kernels.words import Codes, Words

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

    def __contains__(self, cell: Cell) -> bool:
        """Return whether a whole cell has been solved, as it is or with its files mirrored."""
        return not self._wins.keys().isdisjoint((cell, cell.image(MIRROR_FILES)))

    def won_words(self, cell: Cell, side: Side) -> Words | None:
        """Return which positions of a whole cell White wins, as bits: uint64 (words,).

        None is returned if the cell is not solved.
        """
        wins = self._wins.get(cell)
        return None if wins is None else wins.won[side]

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
        return self._find_wins_image(route) is not None

    def block(self, route: Route, end: int) -> Block | None:
        """Return the forced mates among the positions that a route leads to, as bounds.

        None is returned for the end that forced mates do not bound.
        """
        image = self._find_wins_image(route)
        if image is None or end != route.side:  # White's mates bound the lower end, Black's the upper end
            return None
        wins, symmetry = image
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
        cell = Cell.of_board(board, mobile_squares(board))
        for symmetry in promoter_symmetries(winner):
            wins = self._wins.get(cell.image(symmetry))
            if wins is not None:
                image = CellPosition(board, board.occupied & ~board.pawns).image(symmetry)
                mate = wins.is_won(BLACK_TO_MOVE, image.slot)
                return Interval(_MATE_CODES[winner], _MATE_CODES[winner]) if mate else None
        return None

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

    def _find_wins_image(self, route: Route) -> "_WinsImage | None":
        """Return the forced mates of the whole cell that a route leads to; None if the cell is not solved."""
        whole = whole_cell(route.destination, route.side, self.mobile_count)
        if route.promoted_on is None or whole is None or not is_queening(route.destination):
            return None
        for symmetry in promoter_symmetries(route.side):
            wins = self._wins.get(whole.image(symmetry))
            if wins is not None:
                return _WinsImage(wins, symmetry)
        return None


class _WinsImage(NamedTuple):
    """Forced mates of a whole cell, and the symmetry that maps the positions after a route to positions of
    this cell."""

    wins: Wins
    symmetry: int


def _pack_bits(bits: Flags) -> Words:
    words: Words = np.packbits(bits, bitorder="little").view(np.uint64)
    return words


def _won_with_man_on(wins: Wins, index: int, square: int) -> Flags:
    """Return which positions with Black to move and a given man on ``square`` are won: bool (slots,).

    :param index: index of the man among the mobile men. The slots number the squares of the other men.
    """
    words, scalars = wins.won[BLACK_TO_MOVE], len(wins.cell.mobile) - 1
    if index == scalars:
        bits: Flags = (words >> np.uint64(square) & np.uint64(1)).astype(np.bool_)
        return bits
    slice_words = np.ascontiguousarray(words.reshape((64,) * scalars).take(square, index))
    flags: Flags = np.unpackbits(slice_words.view(np.uint8).ravel(), bitorder="little").view(np.bool_)
    return flags


_COMPRESSION_LEVEL: Final = 1
"""The fastest level of compression. The data is soon read again."""
_CHUNK_WORDS: Final = 1 << 20
"""Number of words that are processed at a time; a word has the bits of 64 positions."""


def _all_scores_window(_: Cell) -> Interval:
    return ALL_SCORES


class PromotedCells:
    """Finds the values of whole cells (:mod:`tbgen.beyond.structures`).

    :param tables: the tables, which contain the values after some captures and pawn steps.
    :param won_cells: the forced mates in whole cells.
    """

    def __init__(self, tables: Tables, won_cells: WonCells) -> None:
        self._tables, self._won_cells, self._mobile_count = tables, won_cells, won_cells.mobile_count
        self._solved: dict[tuple[Cell, int, int], Interval] = {}
        """Maps a whole cell, the kind of its promoted man, and an end to the window of the solution."""

    def cells_to_solve(
        self,
        home: Cell,
        window_of: Callable[[Cell], Interval] = _all_scores_window,
        ends: Sequence[int] = ENDS,
    ) -> list[Cell]:
        """Return the whole cells to solve for the home of a promotion, in the order of solution.

        Each cell comes after the cells that are reached when one of its pawns steps or is captured. Cells in
        tables are left out.

        :param window_of: returns the scores that need to be distinguished in a cell.
        :param ends: the ends to solve, as seen with White as the promoting side.
        """
        cells: dict[Cell, tuple[Cell, ...]] = {}
        for whole in whole_cells_of(home, self._mobile_count):
            kind, window = home.frozen[0].man.kind, window_of(whole)
            if not all(self._is_solved(whole, kind, end, window) for end in ends):
                cells |= postorder(whole, self._cells_below)
        return list(cells)

    def _cells_below(self, cell: Cell) -> tuple[Cell, ...]:
        routes = (route for route in whole_routes(cell, self._mobile_count) if route.promoted_on is None)
        return tuple(route.destination for route in routes if not self._tables.knows(route))

    def _is_solved(self, cell: Cell, kind: int, end: int, window: Interval) -> bool:
        images = (self._solved.get((cell.image(each), kind, end)) for each in promoter_symmetries(SIDES[0]))
        return any(solved is not None and solved.covers(window) for solved in images)

    def solve(
        self,
        cells: Sequence[Cell],
        kind: int,
        exit_bounds: BoundsSource,
        threads: int = 1,
        poll: Callable[[], object] = lambda: None,
        window_of: Callable[[Cell], Interval] = _all_scores_window,
        ends: Sequence[int] = ENDS,
    ) -> Iterator[Bounds]:
        """Solve whole cells, and yield bounds of the homes of all promotions to one kind of man.

        :param cells: whole cells in the order of :meth:`cells_to_solve`.
        :param kind: the kind of the promoted man.
        :param exit_bounds: the bounds after captures of mobile men.
        :param poll: called every few seconds. An exception that it raises ends the work.
        :param window_of: returns the scores that need to be distinguished in a cell.
        :param ends: the ends to solve. If the exact values of all exits are known, one solution serves both
            ends.
        :raises UnstorableCellError: if a cell has scores beyond G63.0.
        :raises MemoryError: if too little memory is available.
        """
        wholes: dict[Cell, _WholeCellBounds] = {}
        needed = {
            (route.destination, side_after(route))
            for cell in cells
            for route in whole_routes(cell, self._mobile_count)
        }
        for cell in cells:
            exits = self._whole_exits(exit_bounds, wholes)
            exact = all(map(exits.knows_values, routes_of(lineup_of_cell(cell))))
            window = ALL_SCORES if exact else window_of(cell)
            sides = [side for side in SIDES if (cell, side) in needed]
            codes_by_square: dict[int, dict[int, Codes]] = {
                square: {} for square in chess.SquareSet(chess.BB_RANK_8)
            }
            compressed_codes = dict[int, dict[Side, bytes]]()
            for end in ENDS[:1] if exact else ends:
                values = solve_values(cell, exits, end, threads, poll, window)
                if end == LOWER:
                    _write_wins(values, cell, self._won_cells)
                by_square = values[BLACK_TO_MOVE].reshape((64,) * len(cell.mobile))
                solved_ends = ENDS if exact else [end]
                for square, codes_by_end in codes_by_square.items():
                    codes = by_square.take(square, cell.mobile.index(man_of(WHITE_TO_MOVE, kind))).reshape(-1)
                    codes_by_end |= dict.fromkeys(solved_ends, codes)
                packed = {side: zlib_ng.compress(values[side], _COMPRESSION_LEVEL) for side in sides}
                compressed_codes |= dict.fromkeys(solved_ends, packed)
                del values, by_square
            wholes[cell] = _WholeCellBounds(compressed_codes, exact)
            for square, codes_by_end in codes_by_square.items():
                if square not in cell.standing:
                    yield _bounds_of_home(cell, kind, square, codes_by_end, window)
            self._solved |= {(cell, kind, end): window for end in compressed_codes}

    def _whole_exits(
        self, source: BoundsSource, solved_cells: "Mapping[Cell, _WholeCellBounds]"
    ) -> BoundsSource:
        """Return the bounds of the exits of a whole cell.

        The bounds of other whole cells come from tables or from ``solved_cells``. All other bounds come from
        ``source``.
        """

        def block(route: Route, end: int) -> Block | None:
            if len(route.destination.mobile) <= self._mobile_count or self._tables.knows(route):
                return source.block(route, end)
            whole, side = solved_cells.get(route.destination), side_after(route)
            # After a double step that may be captured en passant, only one end is bounded.
            if whole is None or (route.ep_square is not None and end != end_of(side)):
                return None
            return Block(whole.values(end, side), np.zeros(0, np.uint16))

        def knows_values(route: Route) -> bool:
            full = solved_cells.get(route.destination)
            return source.knows_values(route) or (full is not None and full.exact and route.ep_square is None)

        return CallbackBoundsSource(block, source.bound, knows_values)


def _bounds_of_home(
    cell: Cell, kind: int, square: int, codes_by_end: Mapping[int, Codes], window: Interval
) -> Bounds:
    """Return bounds of the canonical cell in which a promoted man is frozen on a square of the last rank.

    :param codes_by_end: for each solved end, the codes of the values with Black to move and the promoted man
        on the square. The slots number the squares of the other men.
    :param window: the window in which the values were found.
    """
    others, promoted = list(cell.mobile), man_of(WHITE_TO_MOVE, kind)
    others.remove(promoted)
    home, symmetry = Cell.of_men(others, cell.standing | {square: promoted}).canonical()
    legal, swapped = legal_slots(home), symmetry & MIRROR_RANKS
    side, men = BLACK_TO_MOVE ^ bool(swapped), [(man.colour, man.kind) for man in others]
    value = np.full((len(ENDS), len(SIDES), home.size), NONE, np.uint8)
    depth = np.zeros(value.shape, np.uint16)
    for end in ENDS:
        np.copyto(value[end], WORST[end], where=legal)
    for whole_end, codes in codes_by_end.items():
        end = 1 - whole_end if swapped else whole_end
        stored = Block(codes, np.zeros(home.size, np.uint16))
        bounds = gather_block(replace(home, frozen=()), men, symmetry, stored).value
        value[end, side] = np.where(legal[side], bounds, np.uint8(NONE))
        # Unknown depths claim as little as possible: FAR_DEPTH for White's scores at the lower end and
        # Black's at the upper end, else 0.
        depth[end, side, (bounds < NONE) if end == LOWER else (bounds > NONE)] = FAR_DEPTH
    ends = tuple(sorted(1 - end if swapped else end for end in codes_by_end))
    return Bounds(home, value, depth, ends, window.swapped if swapped else window)


@dataclass(frozen=True)
class _WholeCellBounds:
    """Bounds of all positions of a whole cell.

    :ivar compressed_codes: the compressed codes of the bounds, by end and side to move.
    :ivar exact: whether the bounds at both ends are the values.
    """

    compressed_codes: dict[int, dict[Side, bytes]]
    exact: bool

    def values(self, end: int, side: Side) -> Codes:
        """Return the codes of the lower or upper bounds with ``side`` to move, shape (slots,)."""
        return np.frombuffer(zlib_ng.decompress(self.compressed_codes[end][side]), np.uint8)


def _write_wins(values: NDArray[np.uint8], cell: Cell, won_cells: WonCells) -> None:
    """Write White's forced mates into the values of the lower end, uint8 (2, slots)."""
    for side in SIDES:
        words = won_cells.won_words(cell, side)
        if words is None:
            continue
        for first in range(0, len(words), _CHUNK_WORDS):
            part = np.unpackbits(words[first : first + _CHUNK_WORDS].view(np.uint8), bitorder="little")
            values[side, 64 * first : 64 * first + len(part)][part.view(bool)] = WORST[1]
