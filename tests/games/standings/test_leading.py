"""The lead of the first player in words."""

from tbgen.games.standings import standings
from tbgen.games.standings.orders import ORDERS
from tbgen.games.standings.tables import lead_text
from tests.support.tournaments import games


def test_even_a_very_small_lead_is_shown() -> None:
    """In the last row White wins each: A and B have 2 points, C and D have 1, and A has beaten B."""
    for played, told in (
        ("AB G0.0, BA -G0.0", "2 to 0 points"),
        ("AB G1.5, BA G2.0", "1.0312 to 0.9688 points"),
        ("AB G14.5, BA G15.0", "ahead by 0.00000000093 points, with 1 each when rounded"),
        ("AB G2.0, BA G2.0", ""),
        (
            "AB G0.0, AC G0.0, DA G0.0, BC G0.0, BD G0.0, CD G0.0",
            "level on points (2 each), ahead by points of direct encounters (direct)",
        ),
        ("AB G0.0, CB G0.0, CB -G0.0", "1.0 to 0.5 points per game"),
    ):
        found = standings(games(played))
        assert (lead_text(found), found.players[0].name) == (told, "A")
    balances = standings(games("AX G1.0, CY G9.0"), order=ORDERS["tcec"].with_tiebreaks(("balances",)))
    assert lead_text(balances) == "level on points in chess (0.5 each), ahead by G1.0 given minus suffered"
