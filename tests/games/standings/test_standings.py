"""Places and tiebreaks."""

import math
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tbgen.errors import UsageError
from tbgen.games.referee import Adjudication, Basis, FiftyMoveRule
from tbgen.games.standings import GameRecord, standings
from tbgen.games.tagging import Verdict
from tbgen.score import GScore
from tbgen.scoring import EXPONENTIAL, Komi, Scheme, Scoring


def game(
    white: str,
    black: str,
    value: str,
    *,
    accrued: str = "",
    basis: Basis = Basis.REPETITION,
    result: str = "",
    scoring: Scoring = EXPONENTIAL,
) -> GameRecord:
    score = GScore.parse(value)
    outcome = Adjudication(score, basis, GScore.parse(accrued or value))
    decisive = ("1-0" if score.white else "0-1") if score.rank == 0 else "1/2-1/2"
    verdict = Verdict(outcome, scoring, FiftyMoveRule.LEGACY, False, result or decisive)
    return GameRecord("x.pgn", 1, white, black, verdict)


def places(games: Sequence[GameRecord], scheme: Scheme = Scheme.EXPONENTIAL) -> list[tuple[int, str]]:
    return [(player.place, player.name) for player in standings(games, scheme).players]


def test_points_decide_and_equals_share_a_place() -> None:
    assert places([game("A", "B", "G0.5"), game("C", "D", "-G3.5")]) == [
        (1, "A"),
        (2, "D"),
        (3, "C"),
        (4, "B"),
    ]
    assert places([game("A", "B", "G1.0"), game("C", "D", "G1.0")]) == [
        (1, "A"),
        (1, "C"),
        (3, "B"),
        (3, "D"),
    ]


def test_direct_encounters_break_ties() -> None:
    games = [game("A", "B", "G0.5"), game("A", "C", "-G0.0"), game("B", "C", "G0.0"), game("B", "C", "-G0.5")]
    found = standings(games, Scheme.CLASSICAL)
    assert [(player.name, player.points[Scheme.CLASSICAL]) for player in found.players] == [
        ("B", 2.0),
        ("C", 1.5),
        ("A", 0.5),
    ]
    tied = [game("A", "B", "G0.0"), game("B", "C", "G0.0"), game("D", "A", "G0.0"), game("C", "D", "G0.5")]
    ordered = {player.name: player for player in standings(tied, Scheme.CLASSICAL).players}
    assert ordered["A"].points[Scheme.CLASSICAL] == ordered["B"].points[Scheme.CLASSICAL] == 1
    assert (ordered["A"].direct, ordered["B"].direct) == (1, 0)
    assert standings([game("A", "B", "G0.0")]).players[0].direct is None
    assert ordered["A"].place < ordered["B"].place


def test_stalemates_and_then_g_1_0_break_ties() -> None:
    classical = Scheme.CLASSICAL
    games = [game("A", "X", "G1.0"), game("B", "X", "G0.5"), game("C", "X", "G1.5"), game("D", "X", "G1.5")]
    assert places(games, classical) == [(1, "X"), (2, "B"), (3, "A"), (4, "C"), (4, "D")]
    # Equal exponential points: one stalemate and three times the opponent's G1.5, or nothing of either kind.
    alike = [game("A", "X", "G0.5"), *(game("A", "X", "-G1.5") for _ in range(4))]
    alike += [game("B", "Y", "G20.0"), *(game("B", "Y", "-G20.0") for _ in range(4))]
    found = {player.name: player for player in standings(alike, classical).players}
    assert found["A"].balance(1) == 1
    assert found["A"].balance(3) == -4


def test_each_tiebreak_alone_decides() -> None:
    classical = Scheme.CLASSICAL
    # Three with a point each, of whom B alone has played a second game against another of them.
    direct = [game("A", "X", "G0.0"), game("B", "C", "G9.0"), game("C", "B", "G9.0"), game("C", "X", "-G0.0")]
    direct += [game("X", "A", "G0.0")]
    found = {player.name: player for player in standings(direct, classical).players}
    assert [found[name].points[classical] for name in "ABC"] == [1, 1, 1]
    assert [found[name].direct for name in "ABC"] == [0, 1, 1]
    assert found["B"].place < found["A"].place
    # No games among those tied, and A's exponential points are more though B has given more stalemates.
    exponential = [
        game("A", "X", "G1.0"),
        game("A", "X", "G1.0"),
        game("B", "Y", "G0.5"),
        game("B", "Y", "-G3.5"),
    ]
    exponential += [game("A", "X", "G1.5"), game("B", "Y", "-G20.0")]
    assert [name for _, name in places(exponential, classical)][:2] == ["A", "B"]
    # Exponential points alike: one stalemate (1/4) against two G1.0 (1/8 each), losses filled up alike.
    stalemate = [
        game("A", "X", "G0.5"),
        game("A", "X", "G20.0"),
        game("B", "Y", "G1.0"),
        game("B", "Y", "G1.0"),
    ]
    stalemate += [game("B", "Y", "G20.0"), game("A", "X", "G20.0")]
    equal = {player.name: player for player in standings(stalemate, classical).players}
    points = [round(equal[name].points[Scheme.EXPONENTIAL] or 0, 9) for name in "AB"]
    assert points[0] == points[1]
    assert equal["A"].place == equal["B"].place - 1
    # And one G1.0 (1/8) against two G1.5 (1/16 each).
    after = [game("A", "X", "G1.0"), game("A", "X", "G20.0"), game("B", "Y", "G1.5"), game("B", "Y", "G1.5")]
    after += [game("B", "Y", "G20.0"), game("A", "X", "G20.0")]
    equal = {player.name: player for player in standings(after, classical).players}
    assert equal["A"].place == equal["B"].place - 1


def test_forfeits_count_in_chess_whatever_the_tag_says() -> None:
    """cuteRMob writes 1/2-1/2 there."""
    (winner, loser) = standings([game("A", "B", "-G0.0", basis=Basis.FORFEIT, result="1/2-1/2")]).players
    assert (winner.name, winner.wins, winner.draws, loser.losses) == ("B", 1, 0, 1)


def test_a_player_sees_both_colours() -> None:
    found = {
        player.name: player
        for player in standings([game("A", "B", "-G2.5"), game("B", "A", "-G2.5")]).players
    }
    assert found["A"].given == {True: {}, False: {5: 1}}
    assert found["A"].suffered == {True: {5: 1}, False: {}}
    assert (found["A"].wins, found["A"].draws, found["A"].losses) == (0, 2, 0)
    assert found["A"].meetings["B"].points == 1.0
    assert found["A"].meetings["B"].games == 2


def test_what_tables_changed() -> None:
    changed = game("A", "B", "-G0.5", accrued="G3.5", basis=Basis.TABLEBASE)
    same = game("A", "B", "G1.5", basis=Basis.TABLEBASE)
    lost = game("A", "B", "-G0.0", accrued="G3.5", basis=Basis.FORFEIT)
    found = standings([changed, same, lost])
    assert [change.game for change in found.changes] == [changed]
    assert found.gains()["A"] == 0.25 - (0.5 + 0.5**8)
    assert found.bases == {Basis.TABLEBASE: 2, Basis.FORFEIT: 1}


def test_komi_of_the_game_counts() -> None:
    full = Scoring(Scheme.EXPONENTIAL, komi=Komi.parse("G5.5"))
    games = [game("A", "B", "G5.5", scoring=full)]
    found = standings(games)
    assert found.players[0].points[Scheme.KOMI] == 0.5
    assert found.players[0].points[Scheme.FULL] is None
    with pytest.raises(UsageError, match="full points need a komi"):
        standings(games, Scheme.FULL)


def test_sprt_is_between_two() -> None:
    two = standings([game("A", "B", "G0.0"), game("B", "A", "G1.0")])
    assert two.test(0, 5).wins == 1
    with pytest.raises(UsageError, match="an SPRT is between two players, and here are 4"):
        standings([game("A", "B", "G0.0"), game("C", "D", "G1.0")]).test(0, 5)


values = st.builds(lambda rank, white: str(GScore(rank, white)), st.integers(0, 20), st.booleans())
played = st.lists(st.tuples(st.sampled_from("ABCD"), st.sampled_from("ABCD"), values), min_size=1)


@given(played, st.sampled_from([scheme for scheme in Scheme if scheme is not Scheme.FULL]))
def test_sums(pairings: list[tuple[str, str, str]], scheme: Scheme) -> None:
    games = [game(white, black, value) for white, black, value in pairings if white != black]
    assume(games)
    found = standings(games, scheme)
    for each in Scheme:
        assert math.fsum(player.points[each] or 0 for player in found.players) == pytest.approx(len(games))
    points = [player.points[scheme] or 0 for player in found.players]
    assert all(one >= other - 1e-9 for one, other in pairwise(points))
    assert sum(player.games for player in found.players) == 2 * len(games)
    for player in found.players:
        assert sum(meeting.games for meeting in player.meetings.values()) == player.games
        assert (
            sum(sum(c.values()) for held in (player.given, player.suffered) for c in held.values())
            == player.games
        )
    assert standings(games[::-1], scheme).bases == found.bases
    assert {p.name: p.place for p in standings(games[::-1], scheme).players} == {
        p.name: p.place for p in found.players
    }
