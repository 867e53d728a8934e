"""Which cells to solve: the cells below a cell, whole cells after promotions, and the sets of mobile men.

The *homes* of a cell are the canonical cells that its captures and pawn moves lead to. The cells *below* a
cell are its homes, their homes, and so on. Captures and pawn moves cannot be undone, so these cells form an
acyclic graph. Each cell can be solved once, after its homes.

A promotion may leave more mobile men than an ordinary cell can have. The promoted man is then frozen in the
home of the promotion. In the *whole* cell of the promotion it is mobile too. All kings and pieces of a whole
cell are mobile, and White is the side that has promoted.

Small sets of mobile men are tried first. A bound is proved by one side, the prover. Men of the prover may be
frozen, because the prover can leave them on their squares. A frozen man of the other side may move, and its
moves leave the cell for positions that mostly have no bounds. So all men of the other side that can move
should be mobile.
"""

import functools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import combinations, islice
from typing import Final, Literal, TypeAlias, TypeVar

import chess

from tbgen.beyond.budget import memory_needed
from tbgen.board.kinds import QUEEN
from tbgen.board.material import MAX_MEN
from tbgen.cells.cell import MAX_MOBILE, SYMMETRIES, Cell, lineup_of_cell, mobile_squares
from tbgen.cells.routes import Route, home_of_route, routes_of
from tbgen.costs import RATES, memory_of, seconds_of
from tbgen.errors import UsageError
from tbgen.index.layout import MIRROR_FILES, MIRROR_RANKS, SIDES, WHITE_TO_MOVE, Side
from tbgen.text import counted, size_text

_Node = TypeVar("_Node")


def cells_below(
    root: Cell, is_available: Callable[[Cell], bool], *, promotions: bool = False, limit: int | None = None
) -> dict[Cell, tuple[Cell, ...]]:
    """Return the cells below a cell that still have to be solved, each after its homes.

    The cell itself is last.

    The result maps each cell to its homes that must be solved, small ones first.

    :param root: a canonical cell.
    :param is_available: returns whether the bounds of a cell are available elsewhere, such as in tables. Such
        a cell is left out, with the cells that only it depends on. The root itself is never left out.
    :param promotions: whether to include the cells that promotions lead to.
    :param limit: maximum number of cells; None for no limit. If there are more, the root and other cells are
        missing.
    """
    return dict(islice(iterate_cells_below(root, is_available, promotions=promotions), limit))


def iterate_cells_below(
    root: Cell, is_available: Callable[[Cell], bool], *, promotions: bool = False
) -> Iterator[tuple[Cell, tuple[Cell, ...]]]:
    """Yield the items of :func:`cells_below` one by one."""

    def needed_homes(cell: Cell) -> tuple[Cell, ...]:
        return tuple(home for home in homes_of(cell, promotions=promotions) if not is_available(home))

    return postorder(root, needed_homes)


def seconds_to_solve(cells: Iterable[Cell], threads: int = 2) -> float:
    """Estimate the wall time in seconds to solve each cell once, from the rates of :mod:`tbgen.costs`."""
    sizes = Counter(cell.size for cell in cells)
    return sum(count * seconds_of("cell", size, threads) for size, count in sizes.items())


def cells_ahead(root: Cell, side: Side, is_available: Callable[[Cell], bool]) -> Iterator[tuple[Cell, Side]]:
    """Yield the cells *ahead* of a cell: those below it that can be reached if the other side moves no pawns.

    The moves include captures, but no promotions. Each cell comes after its homes; the root is last. Each
    cell is yielded with the side whose pawns move, as seen in the canonical cell. The solutions of these
    cells show which score the other side can be sure of without moving its pawns.

    :param is_available: as in :func:`cells_below`.
    """
    ordered = postorder(
        (root, side), lambda node: tuple(home for home in _homes_ahead(*node) if not is_available(home[0]))
    )
    return (node for node, _ in ordered)


def postorder(
    root: _Node, children_of: Callable[[_Node], tuple[_Node, ...]]
) -> Iterator[tuple[_Node, tuple[_Node, ...]]]:
    """Yield the nodes of an acyclic graph in depth-first postorder, each with its children.

    :param children_of: returns the children of a node.
    """
    seen = {root}

    def entry(node: _Node) -> tuple[_Node, tuple[_Node, ...], Iterator[_Node]]:
        children = children_of(node)
        return node, children, iter(children)

    path = [entry(root)]
    while path:
        node, children, unvisited = path[-1]
        unseen = next((child for child in unvisited if child not in seen), None)
        if unseen is None:
            path.pop()
            yield node, children
        else:
            seen.add(unseen)
            path.append(entry(unseen))


@functools.lru_cache(maxsize=1 << 16)
def _homes_ahead(cell: Cell, side: Side) -> tuple[tuple[Cell, Side], ...]:
    """Return the homes that a cell has when only one side may move its pawns, without promotions.

    Each home is returned with the side whose pawns move, as seen in the home.
    """
    homes: dict[Cell, Side] = {}
    for route in routes_of(lineup_of_cell(cell)):
        if not route.is_quiet and route.promoted_on is None and (route.side == side or not route.is_by_pawn):
            home, symmetry = home_of_route(route).canonical()
            homes[home] = SIDES[1 - side] if symmetry & MIRROR_RANKS else side
    return tuple(homes.items())


@functools.lru_cache(maxsize=1 << 16)
def homes_of(cell: Cell, *, promotions: bool = False) -> tuple[Cell, ...]:
    """Return the homes of a cell, small ones first.

    :param promotions: whether to include the homes of promotions.
    """
    routes = (route for route in routes_of(lineup_of_cell(cell)) if not route.is_quiet)
    homes = {
        home_of_route(route).canonical()[0] for route in routes if promotions or route.promoted_on is None
    }
    return tuple(sorted(homes, key=lambda home: (home.size, home)))


@functools.lru_cache(maxsize=1 << 16)
def possible_colour_swaps(root: Cell, cell: Cell) -> frozenset[bool]:
    """Return whether colours may be swapped on the way from ``root`` to a canonical cell below it.

    The result contains False if moves from ``root`` may lead to the cell itself, and True if they may lead to
    the cell with swapped colours. Only a necessary condition is tested: pawns move forwards, and change files
    only by captures. So the result may contain a value that no moves reach.
    """
    possible = (symmetry for symmetry in SYMMETRIES if _may_lead_to(root, cell.image(symmetry)))
    return frozenset(bool(symmetry & MIRROR_RANKS) for symmetry in possible)


def _may_lead_to(root: Cell, cell: Cell) -> bool:
    captures = root.men - cell.men
    for root_men, cell_men in zip(root.side_letters(), cell.side_letters(), strict=True):
        if (Counter(cell_men) - Counter(root_men)).total() > root_men.count("P") - cell_men.count("P"):
            return False  # a side has more new men than pawns that may have promoted

    def can_reach(square: chess.Square, start: chess.Square, white: bool) -> bool:
        steps = chess.square_rank(square) - chess.square_rank(start)
        files = abs(chess.square_file(square) - chess.square_file(start))
        return files <= min(captures, steps if white else -steps) or square == start

    return captures >= 0 and all(
        any(can_reach(square, start, side == WHITE_TO_MOVE) for start in chess.scan_forward(root.pawns[side]))
        for side in SIDES
        for square in chess.scan_forward(cell.pawns[side])
    )


def height(cell: Cell) -> tuple[int, int]:
    """Return a sort key that is greater for a cell than for any cell below it.

    The key is the number of men, and the number of steps that the pawns can still make.
    """
    white, black = (map(chess.square_rank, chess.scan_forward(pawns)) for pawns in cell.pawns)
    return cell.men, sum(7 - rank for rank in white) + sum(black)


def whole_cell(home: Cell, side: Side, other_mobile_count: int) -> Cell | None:
    """Return the whole cell for the home of a promotion by one side. Colours are not swapped.

    None is returned if ``home`` is not the home of a promotion, or if the promoted man can be mobile in an
    ordinary cell.

    :param other_mobile_count: number of mobile men besides the promoted one.
    """
    if len(home.mobile) != other_mobile_count or len(home.frozen) != 1:
        return None
    square, man = home.frozen[0]
    last_rank = chess.BB_RANK_1 if side else chess.BB_RANK_8
    return home.with_freed([square]) if man.colour == side and man.piece and last_rank >> square & 1 else None


def whole_cells_of(home: Cell, other_mobile_count: int) -> list[Cell]:
    """Return the whole cells for the home of a promotion by White or Black.

    The colours are swapped after a promotion by Black, so that White is the promoting side. The result is
    empty if ``home`` is not the home of a promotion.

    :param other_mobile_count: number of mobile men besides the promoted one.
    """
    candidates = ((side, whole_cell(home, side, other_mobile_count)) for side in SIDES)
    return [cell.image(MIRROR_RANKS if side else 0) for side, cell in candidates if cell is not None]


def is_queening(home: Cell) -> bool:
    """Return whether the promoted man, frozen in the home of a promotion, is a queen."""
    return home.frozen[0].man.kind == QUEEN


def promoter_symmetries(promoter: Side) -> tuple[int, int]:
    """Return the symmetries that make White the promoting side: without and with mirrored files.

    :param promoter: the side that has promoted.
    """
    swap = MIRROR_RANKS if promoter else 0
    return swap, swap | MIRROR_FILES


def whole_routes(cell: Cell, other_mobile_count: int) -> list[Route]:
    """Return the routes out of a whole cell that capture no mobile man. These, too, lead to whole cells.

    :param other_mobile_count: number of mobile men besides the promoted one.
    """
    return [
        each for each in routes_of(lineup_of_cell(cell)) if len(each.destination.mobile) > other_mobile_count
    ]


def wholes_cost(cells: Collection[Cell], other_mobile_count: int, threads: int = 2) -> tuple[float, int]:
    """Estimate the cost of trying a threshold in whole cells: seconds, and bytes of memory.

    :param cells: whole cells.
    :param other_mobile_count: number of mobile men besides the promoted one.
    """
    seconds, memory = 0.0, 0
    for cell in cells:
        further = (r for r in whole_routes(cell, other_mobile_count) if r.promoted_on is None)
        exit_bytes = sum(route.subcell.size // 8 for route in further)
        seconds += seconds_of("whole cell", cell.size, threads)
        memory = max(memory, memory_of("whole cell", cell.size) + exit_bytes)
    return seconds, memory + (RATES.min_mib["cells"] << 20)


MobileChoice: TypeAlias = Iterable[chess.Square] | Literal["auto"] | None
"""Choice of the mobile men: certain squares, several sets in turn ("auto"), or the default (None)."""
_MIN_MOBILE: Final = 2
"""Minimum number of mobile men that memory must suffice for: the two kings."""


def mobile_sets_for_each_prover(board: chess.Board, max_mobile: int) -> Iterator[tuple[chess.Square, ...]]:
    """Yield sets of squares of at most ``max_mobile`` men, small sets first.

    Each side is considered as the prover. A set consists of all kings and pieces of the other side that are
    not shut in, and of any number of the prover's kings and pieces. If there is no such set, the two kings
    are the only set.
    """
    sets: dict[tuple[chess.Square, ...], None] = {}
    for prover in chess.COLORS:
        other_men = [square for square in mobile_squares(board) if board.color_at(square) != prover]
        needed_men = [square for square in other_men if not is_shut_in(board, square)]
        own_men = [square for square in mobile_squares(board) if board.color_at(square) == prover]
        for count in range(min(len(own_men), max_mobile - len(needed_men)) + 1):
            for chosen_men in combinations(own_men, count):
                sets[tuple(sorted((*needed_men, *chosen_men)))] = None
    if not sets:
        kings = (board.king(colour) for colour in chess.COLORS)
        sets[tuple(sorted(king for king in kings if king is not None))] = None
    yield from sorted(sets, key=lambda squares: (len(squares), squares))


def is_shut_in(board: chess.Board, square: chess.Square) -> bool:
    """Return whether pawns alone prevent all moves of a king or piece, except captures of pawns."""
    without_pieces = board.copy(stack=False)
    for other in mobile_squares(board):
        if other != square:
            without_pieces.remove_piece_at(other)
    return not without_pieces.attacks_mask(square) & ~board.pawns


def mobile_sets_to_try(
    board: chess.Board, memory: int, mobile: MobileChoice
) -> tuple[list[tuple[chess.Square, ...]], bool]:
    """Return the sets of mobile men to try, in order, and whether memory allows all of them.

    :param memory: bytes that may be used.
    :raises UsageError: if the position has castling rights, if a chosen mobile man is not a king or
        piece, or if more men are chosen than memory or a cell allows.
    """
    if board.clean_castling_rights():
        raise UsageError(
            f"the position has castling rights, and such positions are solved with at most {MAX_MEN} men, "
            "for which tables are needed"
        )
    men = tuple(mobile_squares(board))
    if mobile is None or mobile == "auto":
        _check_memory(_MIN_MOBILE, memory)
        max_mobile = max(count for count in range(MAX_MOBILE + 1) if _bytes_needed(count) <= memory)
        if mobile is None and len(men) <= max_mobile:
            return [men], True
        return list(mobile_sets_for_each_prover(board, max_mobile)), max_mobile >= min(len(men), MAX_MOBILE)
    squares = tuple(mobile)
    if len(squares) > MAX_MOBILE:
        raise UsageError(
            f"{_men_text(len(squares))} are more than the {MAX_MOBILE} that a cell can have: choose fewer "
            "with --mobile (the others stand still), or leave the choice to --mobile auto"
        )
    Cell.of_board(board, squares)
    _check_memory(len(squares), memory)
    return [squares], True


def _bytes_needed(mobile_count: int) -> int:
    """Estimate the memory in bytes for solving a cell with the given number of mobile men."""
    return memory_needed(64**mobile_count)


def _check_memory(mobile_count: int, memory: int) -> None:
    needed = _bytes_needed(mobile_count)
    if needed > memory:
        raise UsageError(
            f"a cell with {_men_text(mobile_count)} takes {size_text(needed)} of memory, and "
            f"{size_text(memory)} are allowed: let fewer men be mobile, or allow more memory"
        )


def _men_text(mobile_count: int) -> str:
    return counted(mobile_count, "mobile man", "mobile men")
