"""The scale of the search: the order of its values is that of the game."""

import itertools

import pytest

from tbgen.board.score import GScore
from tbgen.engine.scale import (
    MAX_POSITION_RANK,
    SCALE_PLIES,
    centipawns,
    mate_plies,
    nearest_score,
    value_after,
    worth,
)

SCORES = sorted(GScore(rank, white) for rank in range(MAX_POSITION_RANK + 1) for white in (True, False))


@pytest.mark.parametrize("held", ["G0.5", "-G0.5", "G20.0", "-G3.5"])
def test_a_better_score_is_worth_more_however_soon_it_is_reached(held: str) -> None:
    first = GScore(held)
    for worse, better in itertools.pairwise(SCORES):
        worst = min(value_after(better, first, plies) for plies in (0, SCALE_PLIES, None))
        assert max(value_after(worse, first, plies) for plies in (0, SCALE_PLIES, None)) < worst


def test_the_gaining_side_hurries_and_the_other_delays() -> None:
    held = GScore("G3.5")
    for score, hurries in (("G1.5", True), ("-G1.5", False), ("G4.0", False)):
        values = [value_after(GScore(score), held, plies) for plies in range(300)]
        assert values == sorted(values, reverse=hurries)
        assert len(set(values)) == 300
    assert {value_after(held, held, plies) for plies in range(9)} == {worth(held)}


def test_conversion_back_to_scores() -> None:
    held = GScore("-G4.0")
    for score in SCORES:
        exists = score.rank <= 16 or (score.rank & 1 and score.rank <= 101)
        for plies in (0, 500, None):
            about = nearest_score(value_after(score, held, plies))
            if exists:
                assert about == score
            else:  # no check with more than eight moves, and no fifty moves and more
                assert about == (GScore(score.rank + 1, score.white) if score.rank < 101 else None)
    assert nearest_score(0) is None
    assert nearest_score(worth(GScore(MAX_POSITION_RANK + 1, True)) - 9999) is None


def test_centipawns_never_reverse_the_order() -> None:
    seen = [centipawns(worth(score)) for score in SCORES]
    assert seen == sorted(seen)
    assert seen[0] == -1000
    assert len({abs(each) for each in seen}) > 40


def test_plies_to_a_mate() -> None:
    held = GScore("G7.0")
    assert mate_plies(value_after(GScore("G0.0"), held, 7)) == 7
    assert mate_plies(value_after(GScore("-G0.0"), held, 12)) == 12
    assert mate_plies(value_after(GScore("G0.5"), held, 7)) is None
