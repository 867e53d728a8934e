"""Cells solved in a window, compared with the same cells solved for all scores."""

import random
from itertools import permutations, product

import numpy as np
import pytest
from numpy.typing import NDArray

from tbgen.board.score import NONE, Code, GScore
from tbgen.cells.bounds import ENDS, LOWER, UPPER, WORST, Bounds
from tbgen.cells.games import Games
from tbgen.cells.packing import pack, unpack
from tbgen.cells.window import ALL_SCORES, FAR_DEPTH, Interval
from tests.cells.test_cells import Exact
from tests.support.exhaustive import sample
from tests.support.made_up_exits import MadeUp, cells

CODES = [Code(code) for code in (*range(NONE), *range(NONE + 2, 256))]


def windows(seed: int, count: int) -> list[Interval]:
    rng = random.Random(seed)
    made = [Interval(*sorted(rng.sample(CODES, 2), reverse=True)) for _ in range(count)]
    near = [Interval(CODES[place + 1], CODES[place]) for place in rng.sample(range(0, 40), count)]
    return [*made, *near, *(window.swapped for window in near), Interval(Code(255), Code(11))]


def seen(value: NDArray[np.uint8], window: Interval) -> NDArray[np.uint8]:
    """Return values clamped to a window, one by one."""
    return np.array([NONE if code == NONE else window.nearest(Code(code)) for code in range(256)], np.uint8)[
        value
    ]


def test_a_window_gives_the_same_bounds_as_all_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fresh values at both ends, clamped to the window, and the depths of those inside.

    If one side holds both scores of the window, no value has a rank beyond the next one: solving ends there.
    """
    monkeypatch.setattr("tbgen.cells.games._MIN_SHARED_SLOTS", 0)
    for number, cell in enumerate(cells(7, sample(1, 3))):
        whole = Games(cell, MadeUp()).solve()
        for threads, window in product((1, 2), windows(number, sample(1, 3))):
            found = Games(cell, MadeUp(), threads, window=window).solve()
            assert found.window == window
            assert np.array_equal(seen(found.value, window), seen(whole.value, window))
            assert (np.minimum(found.value, ~found.value)[found.value != NONE] <= window.last_rank + 1).all()
            assert (found.value[LOWER] >= whole.value[LOWER]).all()
            assert (found.value[UPPER] <= whole.value[UPPER]).all()
            inside = (whole.value < window.lower) & (whole.value > window.upper)
            assert np.array_equal(found.depth[inside], whole.depth[inside])
            for end, other in permutations(ENDS):
                claimed = (found.value[end] == window[other]) & (window[other] != WORST[other])
                assert np.isin(found.depth[end][claimed], (0, FAR_DEPTH)).all()


def test_what_is_exact_is_found_for_all_scores() -> None:
    """One game then serves both ends, and also in cells that look this one up."""
    (cell,) = cells(3, 1)
    found, whole = (
        Games(cell, Exact(told=True), window=window).solve() for window in (windows(1, 1)[0], ALL_SCORES)
    )
    assert found.has_equal_ends
    assert found.window == ALL_SCORES
    assert np.array_equal(found.value, whole.value)


def with_accrued(games: Games, fresh: Bounds, accrued: GScore) -> NDArray[np.uint8]:
    layer = games.accrued_bounds(fresh, accrued).value
    return np.where(layer == NONE, fresh.value, layer)


def test_accrued_scores_in_a_window() -> None:
    """Bounds with an accrued score are the same after clamping to the window."""
    for number, cell in enumerate(cells(13, sample(1, 3))):
        games = Games(cell, MadeUp())
        fresh = games.solve()
        for window in windows(number, sample(1, 2)):
            close = Games(cell, MadeUp(), window=window)
            close_fresh = close.solve()
            for accrued in map(GScore, ("G1.5", "-G2.0", "G5.5", "-G7.5")):
                whole, found = with_accrued(games, fresh, accrued), with_accrued(close, close_fresh, accrued)
                assert np.array_equal(seen(found, window), seen(whole, window))


def test_windows_are_packed() -> None:
    (cell,) = cells(3, 1)
    found = Games(cell, MadeUp(), window=Interval(Code(250), Code(5))).solve()
    again = unpack(pack(found), cell)
    assert again.window == Interval(Code(250), Code(5))
    assert np.array_equal(again.value, found.value)
    assert unpack(pack(Games(cell, MadeUp()).solve()), cell).window == ALL_SCORES


def test_codes_of_an_interval() -> None:
    """From the worst to the best, without the code that stands for no value and its mirror image."""
    assert ALL_SCORES.codes() == CODES[::-1]
    assert Interval(Code(130), Code(125)).codes() == [130, 129, 126, 125]
    assert Interval(Code(5), Code(5)).codes() == [5]
    assert ALL_SCORES.swapped.swapped == ALL_SCORES
