"""Tests of the contract of exit sources, ``tbgen.beyond.exit_sources.ExitSource``."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tbgen.beyond.exit_sources import ExitSource
from tbgen.board.material import Material
from tbgen.board.rules import FRESH
from tbgen.board.score import NONE, Code
from tbgen.cells.bounds import ENDS, LOWER, WORST, Block, side_after
from tbgen.cells.cell import SYMMETRIES, CellPosition
from tbgen.cells.interval import Interval
from tbgen.cells.routes import Route, home_of_route
from tbgen.index.layout import IMAGE, MIRROR_RANKS, SIDES
from tbgen.probe.states import ProbeResult
from tbgen.probe.tablebase import Tablebase
from tests.support.same_bounds import is_same


def check_source(
    source: ExitSource, routes: Iterable[Route], step: int, tables: Tablebase | None
) -> tuple[int, int]:
    """Compare blocks with what the source says of single positions, with each other for all images of the
    routes that it knows, and with tables.

    Return the numbers of positions of which blocks, and bounds with any accrued score, say something.

    :param step: one slot in so many is looked at.
    :param tables: tell values and depths of the positions that they hold; None for cells that rest on what
        is open, whose depths promise nothing.
    """
    told, universally = 0, 0
    held = set[Material](() if tables is None else tables.materials)
    for route in (route.without_landing for route in routes):
        images = {symmetry: seen(route, symmetry) for symmetry in SYMMETRIES}
        assert len({source.knows(image) for image in images.values()}) == 1, f"not of all images: {route}"
        if not source.knows(route):
            continue
        blocks = {symmetry: [source.block(image, end) for end in ENDS] for symmetry, image in images.items()}
        for symmetry, image in images.items():
            assert not source.knows_values(image) or is_same(*blocks[symmetry])
        for slot in range(0, route.destination.size, step):
            positions = views_of(route, slot)
            claims = claims_of(blocks[0], slot)
            assert positions or claims == WORST, (route, slot)
            told += len(SYMMETRIES) * (claims != WORST)
            for symmetry in SYMMETRIES if positions else ():
                views = [position.image(symmetry) for position in positions]
                claims = claims_of(blocks[symmetry], views[0].slot)
                assert claims_of(blocks[0], slot) == (claims.swapped if symmetry & MIRROR_RANKS else claims)
                worths = [source.fresh_bounds(view) or WORST for view in views]
                assert route.ep_square is not None or claims in worths, (
                    route,
                    slot,
                )  # else positions say more
                universal = [source.bounds_for_any_accrued(view) or WORST for view in views]
                assert all(bounds.covers(claims) for bounds in (*worths, *universal)), (route, slot)
                universally += any(bounds != WORST for bounds in universal)
                possible = route.ep_square is None or views[0].board.is_valid()  # no king in the pawn's way
                if possible and tables is not None and Material.of_board(views[0].board)[0] in held:
                    truth = tables.probe(views[0].board, FRESH)
                    check_claims(blocks[symmetry], views[0].slot, truth)
    return told, universally


def claims_of(blocks: Sequence[Block | None], slot: int) -> Interval:
    """What blocks of both ends claim of a position."""
    codes = [NONE if block is None else Code(int(block.value[slot])) for block in blocks]
    return Interval(*(WORST[end] if codes[end] == NONE else codes[end] for end in ENDS))


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
