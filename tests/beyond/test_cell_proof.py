"""The proof of cells: correct bounds pass, and every wrong one is found."""

import random
from functools import cache
from itertools import repeat

import chess
import numpy as np
import pytest

from tbgen.beyond.cell_proof import CellProof, WrongBoundError, proof_routes
from tbgen.board.score import NONE, GScore
from tbgen.cells.bounds import Bounds, CallbackBoundsSource
from tbgen.cells.cell import Cell, side_of
from tbgen.cells.frames import frame_of_cell
from tbgen.cells.games import Games
from tbgen.cells.routes import Route, routes_of
from tbgen.index.layout import SIDES
from tbgen.verify.kernels.best import NO_RANK
from tests.support.exhaustive import exhaustive, sample
from tests.support.made_up_exits import MadeUp, cells

SEEDS = [5, 12, *exhaustive([1, 6])]
LOCKED = Cell.of_board(chess.Board("4k3/8/5p1p/7P/4K1P1/8/8/8 w - - 0 1"), [chess.E8, chess.E4])


@cache
def solved(seed: int) -> tuple[Cell, Bounds, CellProof]:
    """A random cell with made-up exits, its bounds and its proof."""
    (cell,) = cells(seed, 1)
    return cell, Games(cell, MadeUp()).solve(), CellProof(cell)


@pytest.mark.parametrize("seed", SEEDS)
def test_solved_cells_are_proved(seed: int) -> None:
    cell, bounds, proof = solved(seed)
    states = proof.prove(bounds, MadeUp())
    assert states > 2 * np.count_nonzero(proof.rank >= 2) - np.count_nonzero(proof.rank == NO_RANK)
    for score in map(GScore, ("G2.0", "-G3.5", "G4.5", "-G8.0")):
        assert (
            proof.prove_layer(bounds, Games(cell, MadeUp()).accrued_bounds(bounds, score), score, MadeUp())
            <= states
        )


@pytest.mark.parametrize("seed", SEEDS)
def test_ranks_and_positions_are_those_of_python_chess(seed: int) -> None:
    (cell, _, proof), rng = solved(seed), random.Random(seed)
    rank = proof.rank
    for _ in range(150):
        side, slot = rng.choice(SIDES), rng.randrange(cell.size)
        board = cell.board_of(side, slot)
        if board is None or board.was_into_check():
            assert rank[side, slot] == NO_RANK
        else:
            assert cell.slot(cell.squares_of(board)) == slot or len(set(cell.mobile)) < len(cell.mobile)
            assert rank[side_of(board), slot] == GScore.of_board(board).rank, board.fen()


def test_routes_are_those_of_the_solver() -> None:
    def key(route: Route) -> tuple[object, ...]:
        return route.side, route.destination, route.promoted_on, route.is_quiet, route.ep_square

    for (cell,) in map(cells, range(sample(6, 20)), repeat(1)):
        assert {key(each.route) for each in proof_routes(cell)} == {
            key(route.without_landing) for route in routes_of(frame_of_cell(cell))
        }


def changed(bounds: Bounds, rng: random.Random) -> Bounds:
    """Return bounds with one value or depth changed."""
    value, depth = bounds.value.copy(), bounds.depth.copy()
    places = np.argwhere(value != NONE)
    at = tuple(places[rng.randrange(len(places))])
    kind = rng.randrange(5)
    if kind == 0:
        depth[at] += 1
    elif kind == 1 and depth[at]:
        depth[at] -= 1
    elif kind == 2:
        value[at] = NONE
    else:
        codes = {*np.unique(value).tolist(), 2, 3, 252, 253} - {int(value[at]), NONE}
        value[at] = rng.choice(sorted(codes)) if kind == 3 else 255 - value[at]
    assert (value[at], depth[at]) != (bounds.value[at], bounds.depth[at]) or kind == 1
    return Bounds(bounds.cell, value, depth)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_wrong_entry_is_found(seed: int) -> None:
    (_, bounds, proof), rng = solved(seed), random.Random(seed)
    for _ in range(sample(3, 12)):
        wrong = changed(bounds, rng)
        if np.array_equal(wrong.depth, bounds.depth) and np.array_equal(wrong.value, bounds.value):
            continue
        with pytest.raises(WrongBoundError, match=r"^[1-8a-zA-Z/]+ [wb] - - 0 1: the (lower|upper) bound"):
            proof.prove(wrong, MadeUp())


def says_more(wrong: Bounds, right: Bounds, accrued: GScore) -> bool:
    """Whether a layer in which one entry differs has none there, or says more than the right one: a better
    end, or the same one sooner where it is better than the accrued score, and later where it is worse."""
    differs = (wrong.value != right.value) | (wrong.depth != right.depth)
    if not differs.any():
        return False
    ((end, side, slot),) = np.argwhere(differs)
    code, before = int(wrong.value[end, side, slot]), int(right.value[end, side, slot])
    if code == NONE:
        return True
    if code != before:
        return (code < before) == (end == 0)
    if code == accrued.code:
        return False
    sooner = wrong.depth[end, side, slot] < right.depth[end, side, slot]
    favours_white = code < accrued.code
    return bool(sooner) == (favours_white == (end == 0))


@pytest.mark.parametrize("seed", SEEDS)
def test_every_entry_of_a_layer_that_says_too_much_is_found(seed: int) -> None:
    (cell, bounds, proof), rng = solved(seed), random.Random(seed)
    accrued = GScore(rng.randrange(2, 8), rng.random() < 0.5)
    layer = Games(cell, MadeUp()).accrued_bounds(bounds, accrued)
    found = 0
    for _ in range(sample(15, 30)):
        wrong = changed(layer, rng)
        if says_more(wrong, layer, accrued):
            found += 1
            with pytest.raises(WrongBoundError, match=f"with {accrued} accrued"):
                proof.prove_layer(bounds, wrong, accrued, MadeUp())
    assert found > sample(2, 5)


def test_a_share_of_the_positions() -> None:
    cell, bounds, proof = solved(5)
    every, some = proof.prove(bounds, MadeUp()), CellProof(cell, sample_divisor=16).prove(bounds, MadeUp())
    assert every / 32 < some < every / 8


def test_bounds_without_values() -> None:
    """No bounds of the exits are available."""
    bounds = Games(LOCKED, CallbackBoundsSource()).solve()
    assert CellProof(LOCKED).prove(bounds, CallbackBoundsSource()) > 10_000
    better = bounds.value.copy()
    better[0][better[0] == 255] = 254
    with pytest.raises(WrongBoundError):
        CellProof(LOCKED).prove(Bounds(LOCKED, better, bounds.depth), CallbackBoundsSource())
