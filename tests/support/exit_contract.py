"""What every exit source promises (``tbgen.beyond.exit_sources.ExitSource``), tried on one."""

from collections.abc import Iterable
from dataclasses import replace

from tbgen.beyond.exit_sources import ExitSource
from tbgen.board.score import NONE, Code
from tbgen.cells.bounds import ENDS, WORST, side_after
from tbgen.cells.cell import IMAGES, CellPosition
from tbgen.cells.routes import Route, home_of_route
from tbgen.cells.window import Interval
from tbgen.index.layout import IMAGE, MIRROR_RANKS, SIDES
from tests.support.same_bounds import is_same


def check_source(source: ExitSource, routes: Iterable[Route], step: int) -> int:
    """Compare blocks with what the source says of single positions, for all images of the routes that it
    knows; return of how many positions it says more than nothing.

    :param step: one slot in so many is looked at.
    """
    told = 0
    for route in (seen(route.whole, symmetry) for route in routes for symmetry in IMAGES):
        if not source.knows(route):
            continue
        blocks = [source.block(route, end) for end in ENDS]
        assert not source.same_ends(route) or is_same(*blocks)
        for slot in range(0, route.destination.size, step):
            views = views_of(route, slot)
            codes = [NONE if block is None else Code(int(block.value[slot])) for block in blocks]
            claims = Interval(*(WORST[end] if codes[end] == NONE else codes[end] for end in ENDS))
            worths = [source.worth(view) or WORST for view in views]
            if route.passed is None:  # else single positions may say more
                assert claims in (worths or [WORST]), (route, slot)
                assert all(worth.covers(claims) for worth in worths), (route, slot)
            assert all((source.sure(view) or WORST).covers(claims) for view in views), (route, slot)
            told += claims != WORST
    return told


def seen(route: Route, symmetry: int) -> Route:
    """A route seen by a symmetry."""
    swapped, image = bool(symmetry & MIRROR_RANKS), IMAGE[symmetry]
    return replace(
        route,
        side=SIDES[route.side ^ swapped],
        destination=route.destination.image(symmetry),
        promoted=None if route.promoted is None else image[route.promoted],
        passed=None if route.passed is None else image[route.passed],
    )


def views_of(route: Route, slot: int) -> list[CellPosition]:
    """The position of a slot of a route's destination, if it is one: seen from there, and from the cell in
    which a promoted man is mobile too."""
    board = route.destination.board_of(side_after(route), slot)
    if board is None or board.was_into_check():
        return []
    board.ep_square = route.passed
    cells = dict.fromkeys((route.destination, home_of_route(route)))
    return [CellPosition(board, board.occupied & ~cell.still) for cell in cells]
