"""The lead of the first player in words, and who has won an event by its rules."""

from dataclasses import replace

from tbgen.games.standings import standings
from tbgen.games.standings.encounters import event_result, with_result
from tbgen.games.standings.knockout import played_stages
from tbgen.games.standings.orders import ORDERS
from tbgen.games.standings.record import EventFormat, Format
from tbgen.games.standings.tables import lead_text, overview_keys, tables
from tests.support.tournaments import games, knockout


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


def test_who_has_won_an_event_by_its_rules() -> None:
    """B has most points, but A has won the final; only a knockout is decided by its final."""
    names = ("A", "B", "C", "D; 50%")
    stated, first = EventFormat(Format.KNOCKOUT, names, 1, 2), "B is first: 2.8438 to 2.3125 points."
    for told in (stated, EventFormat(Format.GAUNTLET, names, 3, 1, 2)):
        assert EventFormat.of({"Tournament": str(told)}) == told
    won = "A has won the knockout, in the final against B: 1.1562 to 0.8438 points."
    unknown, robin = EventFormat(), replace(stated, form=Format.ROUND_ROBIN)
    whole = knockout(names)
    for played, event, sentence, winner in (
        (whole, stated, won, "A"),
        (whole[:-1], stated, "The games do not decide", None),
        (whole, replace(stated, rounds=10**9), "The games do not", None),
        (whole, unknown, "No winner is named: the games do not state", None),
        (whole[2:4], unknown, "B is first: 2 to 0 points.", None),
        (whole, robin, first, None),
        (whole, None, first, None),
        (whole, replace(robin, games=1), "B wins: 2.8438 to 2.3125 points.", "B"),  # all games are played
        (whole * 2, robin, "B is first", None),  # two events
        (whole * 2, stated, "No winner is named: the games do not all", None),
    ):
        found = standings([replace(game, event=event) for game in played])
        result = event_result(found)
        assert (result.sentence[: len(sentence)], result.winner) == (sentence, winner)
        summary = next(tables(with_result(found, result), {"standings"})).summary
        assert summary.startswith(sentence) == ("is first" not in sentence)
    earlier = [replace(game, event=stated if game.round > "2" else unknown) for game in whole]
    assert event_result(standings(earlier)).winner == "A"
    for rest in (whole[:1], earlier[:1]):  # a game of no event, and one of another knockout
        found = standings([replace(game, event=stated) for game in whole] + rest * 2)
        assert event_result(found).decision is None
    assert event_result(standings(whole), stated).winner == "A"
    assert event_result(standings(whole), robin, is_over=True).winner == "B"


def test_the_bracket_of_a_knockout_and_its_places() -> None:
    """In the semi-finals A beats D by r-mobility and B beats C; half of the final decides nothing yet."""
    event = EventFormat(Format.KNOCKOUT, ("A", "B", "C", "D"), 1, 2)
    whole = [replace(game, event=event) for game in knockout(event.players)]
    found = standings(whole)
    over = with_result(found, event_result(found))
    (bracket,) = tables(over, {"bracket"})
    assert bracket.formatted_rows() == [
        ["semi-final", "A - D", "1.1562 - 0.8438", "1.1 w= b=", "A"],
        ["semi-final", "B - C", "2.0000 - 0.0000", "1.2 w1 b1", "B"],
        ["final", "A - B", "1.1562 - 0.8438", "2.1 w= b=", "A"],
    ]
    assert [(player.place, player.name) for player in over.players] == [
        (1, "A"),
        (2, "B"),
        (3, "D"),
        (3, "C"),
    ]
    assert overview_keys(found) - overview_keys(over) == {
        "standings", "rounds", "crosstable", "crosspoints", "bounds", "scorings"
    }  # fmt: skip
    half = standings(whole[:-1])
    begun = with_result(half, event_result(half))
    assert [duel.winner for stage in event_result(half).bracket for duel in stage] == ["A", "B", None]
    assert {player.place for player in begun.players} == {1, 3}
    three = EventFormat(Format.KNOCKOUT, ("A", "B", "C"), 1, 1)
    bye, duel = played_stages(three, [])[0]
    assert (bye.winner, bye.decision, duel.players, duel.winner) == ("A", "bye", ("B", "C"), None)
