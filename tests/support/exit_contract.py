"""Tests of the contract of exit sources, ``tbgen.beyond.exit_sources.ExitSource``."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tbgen.beyond.exit_sources import ExitSource
from tbgen.board.material import Material
from tbgen.board.rules import FRESH
from tbgen.board.score import NONE, Code
from tbgen.cells.bounds import ENDS, LOWER, WORST, Block, side_after
from tbgen.cells.cell import SYMMETRIES, CellPosition
from tbgen.cells.routes import Route, home_of_route
from tbgen.cells.window import Interval
from tbgen.index.layout import IMAGE, MIRROR_RANKS, SIDES
from tbgen.probe.states import ProbeResult
from tbgen.probe.tablebase import Tablebase
from tests.support.same_bounds import is_same


def check_source(
    source: ExitSource, routes: Iterable[Route], step: int, tables: Tablebase | None
) -> tuple[int, int]:
    """Compare blocks with what the source says of single positions, and with tables, for all images of the
    routes that it knows.

    Return the numbers of positions of which blocks, and bounds with any accrued score, say something.

    :param step: one slot in so many is looked at.
    :param tables: tell values and depths of the positions that they hold; None for cells that rest on what
        is open, whose depths promise nothing.
    """
    told, universally = 0, 0
    held = set[Material](() if tables is None else tables.materials)
    for route in (seen(route.without_landing, symmetry) for route in routes for symmetry in SYMMETRIES):
        if not source.knows(route):
            continue
        blocks = [source.block(route, end) for end in ENDS]
        assert not source.knows_values(route) or is_same(*blocks)
        for slot in range(0, route.destination.size, step):
            views = views_of(route, slot)
            codes = [NONE if block is None else Code(int(block.value[slot])) for block in blocks]
            claims = Interval(*(WORST[end] if codes[end] == NONE else codes[end] for end in ENDS))
            worths = [source.fresh_bounds(view) or WORST for view in views]
            if route.ep_square is None:  # else single positions may say more
                assert claims in (worths or [WORST]), (route, slot)
                assert all(worth.covers(claims) for worth in worths), (route, slot)
            universal = [source.bounds_for_any_accrued(view) or WORST for view in views]
            assert all(bounds.covers(claims) for bounds in universal), (route, slot)
            told += claims != WORST
            universally += any(bounds != WORST for bounds in universal)
            if tables is not None and views and Material.of_board(views[0].board)[0] in held:
                check_claims(blocks, slot, tables.probe(views[0].board, FRESH))
    return told, universally


def check_claims(blocks: Sequence[Block | None], slot: int, truth: ProbeResult) -> None:
    """Compare what blocks of both ends claim of a position with its value and depth: neither end promises a
    side a better score, or the same one in fewer plies if it forces that, in more if it is held to it.
    """
    value = truth.value.code
    assert truth.depth is not None, "a fresh state of a table has a depth"
    for end, block in enumerate(blocks):
        code = NONE if block is None else int(block.value[slot])
        if block is None or code == NONE:
            continue
        assert code >= value if end == LOWER else code <= value, f"wrong value {code} at end {end}: {truth}"
        if code == value:
            depth, forces = int(block.depth[slot]), (value < NONE) == (end == LOWER)
            assert depth >= truth.depth if forces else depth <= truth.depth, (
                f"wrong depth {depth} at end {end}: {truth}"
            )


def seen(route: Route, symmetry: int) -> Route:
    """A route seen by a symmetry."""
    swapped, image = bool(symmetry & MIRROR_RANKS), IMAGE[symmetry]
    return replace(
        route,
        side=SIDES[route.side ^ swapped],
        destination=route.destination.image(symmetry),
        promoted_on=None if route.promoted_on is None else image[route.promoted_on],
        ep_square=None if route.ep_square is None else image[route.ep_square],
    )


def views_of(route: Route, slot: int) -> list[CellPosition]:
    """The position of a slot of a route's destination, if it is one: seen from there, and from the cell in
    which a promoted man is mobile too."""
    board = route.destination.board_of(side_after(route), slot)
    if board is None or board.was_into_check():
        return []
    board.ep_square = route.ep_square
    cells = dict.fromkeys((route.destination, home_of_route(route)))
    return [CellPosition(board, board.occupied & ~cell.standing_mask) for cell in cells]
