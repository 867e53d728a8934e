"""What spectators are told of a lead."""

import pytest

from tbgen.games.standings import standings
from tbgen.games.standings.leading import lead_of
from tests.support.tournaments import game

FOUR = ["AB", "AC", "DA", "BC", "BD", "CD"]
"""White wins each: A and B have 2 points, C and D have 1, and A has beaten B."""


@pytest.mark.parametrize(
    ("games", "told"),
    [
        ([("A", "B", "G0.0"), ("B", "A", "-G0.0")], "2 to 0 points"),
        ([("A", "B", "G1.5"), ("B", "A", "G2.0")], "1.0312 to 0.9688 points"),
        (
            [("A", "B", "G14.5"), ("B", "A", "G15.0")],
            "ahead by 0.00000000093 points, with 1 each when rounded",
        ),
        ([("A", "B", "G2.0"), ("B", "A", "G2.0")], ""),
        (
            [(each[0], each[1], "G0.0") for each in FOUR],
            "level on points (2 each), ahead by points of direct encounters (direct)",
        ),
    ],
)
def test_a_lead_is_told_however_small_it_is(games: list[tuple[str, str, str]], told: str) -> None:
    found = standings([game(*each) for each in games])
    assert lead_of(found) == told
    if told:
        assert found.players[0].name == "A"


def test_unequal_numbers_of_games_count_by_game() -> None:
    games = [game("A", "B", "G0.0"), game("C", "B", "G0.0"), game("C", "B", "-G0.0")]
    assert lead_of(standings(games)) == "1.0 to 0.5 points per game"
