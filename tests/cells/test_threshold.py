"""Thresholds about cells, compared with the same cells solved for all scores."""

import random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tbgen.board.score import NONE, Code, GScore
from tbgen.cells.bounds import ENDS, LOWER, NO_RANK, WORST, Block, BoundsGame, pools_of_ends
from tbgen.cells.frames import frame_of_cell
from tbgen.cells.routes import Route, routes_of
from tbgen.cells.threshold import (
    Threshold,
    ThresholdSolution,
    can_prove_thresholds,
    find_cell_ranks,
    proved_after,
    solve_threshold,
)
from tbgen.index.layout import SIDES
from tbgen.moves.kernels.words import Words
from tests.support.exhaustive import exhaustive, sample
from tests.support.made_up_exits import MadeUp, cells

CODES = [Code(code) for code in (*range(NONE), *range(NONE + 2, 256))]


class Partly(MadeUp):
    """Made-up exits of which a third of the routes, and two sevenths of the other positions, are unknown."""

    def block(self, route: Route, end: int) -> Block | None:
        block = super().block(route, end)
        if block is None or route.number % 3 == 0:
            return None
        unknown = np.arange(len(block.value)) % 7 < 2
        return block._replace(value=np.where(unknown, np.uint8(NONE), block.value))

    def bound(self, route: Route, end: int) -> Code:
        return Code(WORST[end]) if route.number % 2 else (Code(254), Code(1))[end]


def follows(value: NDArray[np.uint8], threshold: Threshold) -> Any:
    return (value != NONE) & (
        value <= threshold.bound if threshold.end == LOWER else value >= threshold.bound
    )


def proved_slots(solution: ThresholdSolution) -> NDArray[np.bool_]:
    return np.unpackbits(solution.proved.view(np.uint8), axis=-1, bitorder="little").view(bool)


@pytest.mark.parametrize(
    ("end", "seed", "exits"),
    [
        (0, 5, MadeUp()),
        (1, 5, MadeUp()),
        (0, 8, Partly()),
        (1, 8, Partly()),
        *exhaustive(
            [(end, seed, exits) for end in ENDS for seed in range(10, 22) for exits in (MadeUp(), Partly())]
        ),
    ],
)
def test_thresholds_are_those_of_all_scores(end: int, seed: int, exits: MadeUp) -> None:
    """All fresh states, and some states with every accrued score of either holder. What is not known after a
    move counts against the threshold."""
    rng, asked, proved = random.Random(seed), 0, 0
    cell = next(cell for cell in cells(seed, 20) if can_prove_thresholds(cell))
    frame = frame_of_cell(cell)
    routes = list(routes_of(frame))
    (pool,) = pools_of_ends(frame, routes, exits, [end])
    game = BoundsGame(frame, pool)
    fresh, ranks = game.solve(), game.ranks()
    last = int(ranks[ranks != NO_RANK].max())
    scores = [
        GScore(rank, white)
        for rank in rng.sample(range(2, last + 1), min(last - 1, sample(4, 12)))
        for white in (True, False)
    ]
    layers = {score: game.layer(fresh, score).value for score in scores}
    places = rng.sample(np.flatnonzero(ranks != NO_RANK).tolist(), 400)

    def proofs(route: Route, threshold: Threshold) -> Words | bool:
        block = exits.block(route, threshold.end)
        return proved_after(
            route, threshold, block, WORST[threshold.end] if block else exits.bound(route, threshold.end)
        )

    for bound in (0, 1, 254, 255, *rng.sample(CODES[2:24], 3), *rng.sample(CODES[-24:-2], 3)):
        threshold = Threshold(end, Code(bound))
        if bound == WORST[end]:
            continue
        solution = solve_threshold(frame, find_cell_ranks(frame), routes, threshold, proofs)
        assert np.array_equal(proved_slots(solution), follows(fresh.value, threshold)), threshold
        for score, layer in layers.items():
            expected = follows(np.where(layer == NONE, fresh.value, layer), threshold)
            for side, slot in (divmod(place, ranks.shape[1]) for place in places):
                if ranks[side, slot] >= score.rank:
                    assert solution.is_proved(SIDES[side], slot, score.code) == expected[side, slot]
                    asked, proved = asked + 1, proved + bool(expected[side, slot])
    assert 0 < proved < asked
