"""Which cells to solve: the sets of men worth letting move, and the cells that a cell rests on.

Captures and pawn moves cannot be undone, so these cells form a graph without circles: each can be solved
once, when all that its moves lead to is known.

Promotions that leave more mobile men than cells have, and the cells with the promoted man mobile too. In such
a *whole* cell all kings and pieces are mobile, and White is the side that has promoted.

Which men to let move: the sets worth trying, the small ones first. A bound is proved by one side. Its own men
may stand still: it needs them where they are. The men of the other side that stand still may make any move,
which leaves the cell for what is mostly unknown: so all of them that have somewhere to go should be mobile.
"""

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, islice
from typing import Final, Literal, TypeAlias, TypeVar

import chess

from tbgen.beyond.budget import memory_needed
from tbgen.board.kinds import PIECE_ORDER
from tbgen.board.material import MAX_MEN
from tbgen.cells.cell import IMAGES, MOST_MOBILE, Cell, lineup_of_cell, mobile_squares
from tbgen.cells.routes import Route, home_of_route, routes_of
from tbgen.costs import RATES, memory_of, seconds_of
from tbgen.errors import UsageError
from tbgen.index.layout import MIRROR_FILES, MIRROR_RANKS, SIDES, WHITE_TO_MOVE, Side
from tbgen.text import counted, size_text

_Node = TypeVar("_Node")


def cells_below(
    root: Cell, held: Callable[[Cell], bool], *, promotions: bool = False, most: int | None = None
) -> dict[Cell, tuple[Cell, ...]]:
    """Return the canonical cells below one that need solving, itself last: each after all that it rests on,
    and with those that captures and pawn moves lead to directly, small ones first.

    :param root: a canonical cell.
    :param held: whether something else says what a cell's positions are worth, such as tables: neither it
        nor what it alone rests on is among the cells. It is not asked about the root.
    :param promotions: whether to include the cells that promotions lead to.
    :param most: stop after so many cells; without the root then.
    """
    return dict(islice(each_cell_below(root, held, promotions=promotions), most))


def each_cell_below(
    root: Cell, held: Callable[[Cell], bool], *, promotions: bool = False
) -> Iterator[tuple[Cell, tuple[Cell, ...]]]:
    """Yield what :func:`cells_below` returns, one by one."""
    return each_after_its_own(
        root, lambda cell: tuple(home for home in homes_below(cell, promotions=promotions) if not held(home))
    )


def seconds_to_solve(cells: Iterable[Cell], threads: int = 2) -> float:
    """Return the wall time in which cells are solved once, by the rates of :mod:`tbgen.costs`."""
    sizes = Counter(cell.size for cell in cells)
    return sum(count * seconds_of("cell", size, threads) for size, count in sizes.items())


def cells_ahead(root: Cell, side: Side, held: Callable[[Cell], bool]) -> Iterator[tuple[Cell, Side]]:
    """Yield the cells that one side's pawn moves lead to, one after the other, while the other side's pawns
    stand still, and those that captures lead to: each after all that it rests on then, the root last, and
    with the side as the cell has it.

    They tell what the other side is sure of without moves of its pawns.
    """
    ordered = each_after_its_own(
        (root, side), lambda node: tuple(home for home in _homes_ahead(*node) if not held(home[0]))
    )
    return (node for node, _ in ordered)


def each_after_its_own(
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


QUEEN: Final = PIECE_ORDER.index("Q")


def whole_cell(home: Cell, side: Side, mobile: int) -> Cell | None:
    """Return a cell with the man mobile that a side has just promoted to, the colours as they are; None if it
    is not such a cell, or one that is solved like others with that man mobile.

    :param mobile: how many men are mobile besides the promoted one.
    """
    if len(home.mobile) != mobile or len(home.frozen) != 1:
        return None
    square, man = home.frozen[0]
    last = chess.BB_RANK_1 if side else chess.BB_RANK_8
    return home.freed([square]) if man.colour == side and man.piece and last >> square & 1 else None


def wholes_of(home: Cell, mobile: int) -> list[Cell]:
    """Return the whole cell of a home of promotions, White having promoted, if it is one."""
    found = ((side, whole_cell(home, side, mobile)) for side in SIDES)
    return [cell.image(MIRROR_RANKS if side else 0) for side, cell in found if cell is not None]


def is_to_queen(home: Cell) -> bool:
    """Whether it is a queen that stands frozen in the home of a promotion."""
    return home.frozen[0].man.kind == QUEEN


def symmetries(winner: Side) -> tuple[int, int]:
    """Return the symmetries by which the side that has promoted is White."""
    swap = MIRROR_RANKS if winner else 0
    return swap, swap | MIRROR_FILES


def large_routes(whole: Cell, mobile: int) -> list[Route]:
    """Return the ways out of a whole cell on which no mobile man is captured.

    :param mobile: as :func:`whole_cell` has it.
    """
    return [route for route in routes_of(lineup_of_cell(whole)) if len(route.destination.mobile) > mobile]


def values_take(wholes: Sequence[Cell], mobile: int, threads: int = 2, ends: int = 2) -> tuple[float, int]:
    """Return about how many seconds it takes to find the values of whole cells, and bytes of memory.

    :param mobile: as :func:`whole_cell` has it.
    :param ends: how many are wanted.
    """
    seconds, memory = 0.0, 0
    for whole in wholes:
        around = sum(route.part.size for route in large_routes(whole, mobile) if route.promoted is None)
        games = ends if any(whole.pawns) else 1  # without pawns all exits are values
        seconds += games * seconds_of("values", whole.size, threads)
        memory = max(memory, memory_of("values", whole.size) + whole.size + around)
    return seconds, memory + (RATES.process["cells"] << 20)


Mobile: TypeAlias = Iterable[chess.Square] | Literal["auto"] | None
"""Which men may move: those on some squares, one set after the other, or the usual ones."""
_LEAST_MOBILE: Final = 2
"""Men that there has to be memory for, whichever are chosen: the kings."""


def sets_worth_trying(board: chess.Board, most: int) -> Iterator[tuple[chess.Square, ...]]:
    """Yield sets of squares of up to ``most`` men, by size; the first has no more men than any other.

    For either side that may prove a bound: all men of the other side that are not shut in, with none of its
    own, with each of its own, with any two... Where that is nothing, the kings.
    """
    found: dict[tuple[chess.Square, ...], None] = {}
    for prover in chess.COLORS:
        others = [square for square in mobile_squares(board) if board.color_at(square) != prover]
        needed = [square for square in others if not is_shut_in(board, square)]
        own = [square for square in mobile_squares(board) if board.color_at(square) == prover]
        for count in range(min(len(own), most - len(needed)) + 1):
            for some in combinations(own, count):
                found[tuple(sorted((*needed, *some)))] = None
    if not found:
        kings = (board.king(colour) for colour in chess.COLORS)
        found[tuple(sorted(king for king in kings if king is not None))] = None
    yield from sorted(found, key=lambda squares: (len(squares), squares))


def is_shut_in(board: chess.Board, square: chess.Square) -> bool:
    """Whether pawns leave a piece no square to go to; it may be captured, and capture, where it stands."""
    alone = board.copy(stack=False)
    for other in mobile_squares(board):
        if other != square:
            alone.remove_piece_at(other)
    return not alone.attacks_mask(square) & ~board.pawns


def sets_to_try(
    board: chess.Board, memory: int, mobile: Mobile
) -> tuple[list[tuple[chess.Square, ...]], bool]:
    """Return the sets of men to let move, one after the other, and whether memory allows all of them.

    :param memory: bytes that may be taken.
    :raises UsageError: if the position has castling rights, or if the mobile men mean nothing, or are more
        than memory allows.
    """
    if board.clean_castling_rights():
        raise UsageError(
            f"the position has castling rights, and it takes at most {MAX_MEN} men, and their "
            "tables, to solve it with them"
        )
    men = tuple(mobile_squares(board))
    if mobile is None or mobile == "auto":
        _check_memory(_LEAST_MOBILE, memory)
        room = max(number for number in range(MOST_MOBILE + 1) if _memory(number) <= memory)
        if mobile is None and len(men) <= room:
            return [men], True
        return list(sets_worth_trying(board, room)), room >= min(len(men), MOST_MOBILE)
    squares = tuple(mobile)
    if len(squares) > MOST_MOBILE:
        raise UsageError(
            f"{_men(len(squares))} are more than the {MOST_MOBILE} that there is room for: choose them with "
            "--mobile, the others stand still, or leave the choice to --mobile auto"
        )
    _check_memory(len(squares), memory)
    Cell.of_board(board, squares)
    return [squares], True


def _memory(number: int) -> int:
    """Return about how many bytes a cell with a number of mobile men takes."""
    return memory_needed(64**number)


def _check_memory(number: int, memory: int) -> None:
    needed = _memory(number)
    if needed > memory:
        raise UsageError(
            f"a cell with {_men(number)} takes {size_text(needed)} of memory, and {size_text(memory)} "
            "are allowed: let fewer men be mobile, or allow more memory"
        )


def _men(number: int) -> str:
    return counted(number, "mobile man", "mobile men")
