"""The cells that a cell rests on, directly or by way of others, in an order in which they can be solved.

Captures and pawn moves cannot be undone, so these cells form a graph without circles: each can be solved
once, when all that its moves lead to is known.
"""

import functools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Self, TypeVar

import chess

from tbgen.cells.cell import IMAGES, Cell
from tbgen.cells.lineup import lineup_of_cell
from tbgen.cells.routes import home_of_route, routes_of
from tbgen.costs import memory_of, seconds_of
from tbgen.index.layout import SIDES, WHITE_TO_MOVE, Side
from tbgen.index.symmetry import MIRROR_RANKS

_Node = TypeVar("_Node")


@dataclass(frozen=True)
class Structures:
    """A cell and those below it; all are canonical.

    :ivar root: the cell that all the others lie below.
    :ivar below: the cells that captures and pawn moves lead to directly, by cell: small ones first. A cell
        comes after all that it rests on, so the root is last.
    """

    root: Cell
    below: dict[Cell, tuple[Cell, ...]]

    @classmethod
    def of(
        cls, root: Cell, held: Callable[[Cell], bool], *, promotions: bool = False, most: int | None = None
    ) -> Self:
        """Return the cells below one that need solving, itself among them.

        :param root: a canonical cell.
        :param held: whether something else says what a cell's positions are worth, such as tables: neither
            it nor what it alone rests on is among the cells. It is not asked about the root.
        :param promotions: whether to include the cells that promotions lead to.
        :param most: stop after so many cells; without the root then.
        """
        return cls(root, dict(islice(cells_below(root, held, promotions=promotions), most)))

    @property
    def complete(self) -> bool:
        """Whether all cells below the root are there."""
        return self.root in self.below

    @property
    def sizes(self) -> Counter[int]:
        """How many cells there are, by slots for one side to move."""
        return Counter(cell.size for cell in self.below)

    def seconds(self, threads: int = 2) -> float:
        """Return the wall time in which all of them are solved, by the rates of :mod:`tbgen.costs`."""
        return sum(count * seconds_of("cell", size, threads) for size, count in self.sizes.items())

    @property
    def memory(self) -> int:
        """Bytes of memory that the largest of them takes while it is solved."""
        return memory_of("cell", max(self.sizes, default=0))


def cells_below(
    root: Cell, held: Callable[[Cell], bool], *, promotions: bool = False
) -> Iterator[tuple[Cell, tuple[Cell, ...]]]:
    """Yield the cells of :class:`Structures` one by one, each with those directly below it: each after all
    that it rests on, the root last."""
    return _each_after_its_own(
        root, lambda cell: tuple(home for home in homes_below(cell, promotions=promotions) if not held(home))
    )


def cells_ahead(root: Cell, side: Side, held: Callable[[Cell], bool]) -> Iterator[tuple[Cell, Side]]:
    """Yield the cells that one side's pawn moves lead to, one after the other, while the other side's pawns
    stand still, and those that captures lead to: each after all that it rests on then, the root last, and
    with the side as the cell has it.

    They tell what the other side is sure of without moves of its pawns.
    """
    ordered = _each_after_its_own(
        (root, side), lambda node: tuple(home for home in _homes_ahead(*node) if not held(home[0]))
    )
    return (node for node, _ in ordered)


def _each_after_its_own(
    root: _Node, below: Callable[[_Node], tuple[_Node, ...]]
) -> Iterator[tuple[_Node, tuple[_Node, ...]]]:
    """Yield the nodes of a graph without circles, each with those directly below it, and after them."""
    seen = {root}

    def begun(node: _Node) -> tuple[_Node, tuple[_Node, ...], Iterator[_Node]]:
        own = below(node)
        return node, own, iter(own)

    way = [begun(root)]
    while way:
        node, own, left = way[-1]
        new = next((other for other in left if other not in seen), None)
        if new is None:
            way.pop()
            yield node, own
        else:
            seen.add(new)
            way.append(begun(new))


@functools.lru_cache(maxsize=1 << 16)
def _homes_ahead(cell: Cell, side: Side) -> tuple[tuple[Cell, Side], ...]:
    """Return the canonical cells that captures, and pawn moves of one side, lead to directly, without
    promotions, and the side as they have it."""
    homes: dict[Cell, Side] = {}
    for route in routes_of(lineup_of_cell(cell)):
        if not route.quiet and route.promoted is None and (route.side == side or not route.by_pawn):
            home, symmetry = home_of_route(route).canonical()
            homes[home] = SIDES[1 - side] if symmetry & MIRROR_RANKS else side
    return tuple(homes.items())


@functools.lru_cache(maxsize=1 << 16)
def homes_below(cell: Cell, *, promotions: bool = False) -> tuple[Cell, ...]:
    """Return the canonical cells that captures and pawn moves of a cell lead to directly, small ones first.

    :param promotions: whether to include those that promotions lead to.
    """
    zeroing = (route for route in routes_of(lineup_of_cell(cell)) if not route.quiet)
    homes = {home_of_route(route).canonical()[0] for route in zeroing if promotions or route.promoted is None}
    return tuple(sorted(homes, key=lambda home: (home.size, home)))


@functools.lru_cache(maxsize=1 << 16)
def colours_below(root: Cell, cell: Cell) -> frozenset[bool]:
    """Return how the colours of a canonical cell may be swapped against a cell that it lies below: this tells
    no, if they may be as they are, yes, if swapped; one of them at least, where moves do lead there.

    Pawns only go ahead, and change their files by captures only.
    """
    ways = (symmetry for symmetry in IMAGES if _may_lead_to(root, cell.image(symmetry)))
    return frozenset(bool(symmetry & MIRROR_RANKS) for symmetry in ways)


def _may_lead_to(root: Cell, cell: Cell) -> bool:
    captures = root.men - cell.men
    for before, now in zip(root.sides(), cell.sides(), strict=True):
        if (Counter(now) - Counter(before)).total() > before.count("P") - now.count("P"):
            return False  # more men than pawns have become

    def has_come(square: chess.Square, start: chess.Square, white: bool) -> bool:
        steps = chess.square_rank(square) - chess.square_rank(start)
        aside = abs(chess.square_file(square) - chess.square_file(start))
        return aside <= min(captures, steps if white else -steps) or square == start

    return captures >= 0 and all(
        any(has_come(square, start, side == WHITE_TO_MOVE) for start in chess.scan_forward(root.pawns[side]))
        for side in SIDES
        for square in chess.scan_forward(cell.pawns[side])
    )


def height(cell: Cell) -> tuple[int, int]:
    """Return a measure of a cell that is greater than that of any cell below it: the men, and the steps that
    the pawns have before them."""
    white, black = (map(chess.square_rank, chess.scan_forward(pawns)) for pawns in cell.pawns)
    return cell.men, sum(7 - rank for rank in white) + sum(black)
