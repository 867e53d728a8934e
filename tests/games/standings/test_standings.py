"""Places and tiebreaks, pairs of games, and players without a name."""

import io
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tbgen.board.score import GScore
from tbgen.board.scoring import Komi, Scheme, Scoring
from tbgen.errors import UsageError
from tbgen.games.outcome import Basis
from tbgen.games.standings import EloModel, GameRecord, elo, sprt, standings
from tbgen.games.standings.document import document
from tbgen.games.standings.pairs import paired
from tbgen.games.standings.places import placed
from tbgen.games.standings.tiebreaks import Field, Lead, Tiebreak
from tbgen.games.tagging import tag_games
from tests.support.exhaustive import sample
from tests.support.tournaments import game


def places(
    games: Sequence[GameRecord], scheme: Scheme = Scheme.EXPONENTIAL, order: str = "percent"
) -> list[tuple[int, str]]:
    return [(player.place, player.name) for player in standings(games, scheme, order).players]


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
    assert (ordered["A"].tiebreaks["direct"], ordered["B"].tiebreaks["direct"]) == (1, 0)
    assert standings([game("A", "B", "G0.0")]).players[0].tiebreaks["direct"] is None
    assert ordered["A"].place < ordered["B"].place


def test_stalemates_and_then_g_1_0_break_ties() -> None:
    classical = Scheme.CLASSICAL
    games = [game("A", "X", "G1.0"), game("B", "X", "G0.5"), game("C", "X", "G1.5"), game("D", "X", "G1.5")]
    assert places(games, classical, "points") == [(1, "X"), (2, "B"), (3, "A"), (4, "C"), (4, "D")]
    # Equal exponential points: one stalemate and three times the opponent's G1.5, or nothing of either kind.
    alike = [game("A", "X", "G0.5"), *(game("A", "X", "-G1.5") for _ in range(4))]
    alike += [game("B", "Y", "G20.0"), *(game("B", "Y", "-G20.0") for _ in range(4))]
    found = {player.name: player for player in standings(alike, classical).players}
    assert found["A"].tiebreaks["stalemates"] == 1
    assert found["A"].tiebreaks["g1.5"] == -4


def test_a_tiebreak_is_order_and_column() -> None:
    games = [game("A", "B", "G9.0"), game("B", "A", "G9.0"), game("C", "A", "G9.0"), game("B", "C", "G9.0")]
    players = standings(games).players
    field = Field.of(players, Lead.CHESS, Scheme.EXPONENTIAL)
    blacks = Tiebreak("blacks", "B", "games as Black", lambda player, _, __: player.colours[False].games)
    level = [(player.place, player.name) for player in placed(players, [], field)]
    assert level == [(1, "A"), (1, "B"), (3, "C")]
    parted = placed(players, [blacks], field)
    assert [(player.place, player.name) for player in parted] == [(1, "A"), (2, "B"), (3, "C")]
    assert [blacks.column.cell(player) for player in parted] == [2, 1, 1]
    found = standings(games)
    found = replace(found, players=placed(players, [blacks], field))
    told = {player["name"]: player["tiebreaks"]["blacks"] for player in document(found)["players"]}
    assert told == {"A": 2, "B": 1, "C": 1}


def test_each_tiebreak_alone_decides() -> None:
    classical = Scheme.CLASSICAL
    # Three with a point each, of whom B alone has played a second game against another of them.
    direct = [game("A", "X", "G0.0"), game("B", "C", "G9.0"), game("C", "B", "G9.0"), game("C", "X", "-G0.0")]
    direct += [game("X", "A", "G0.0")]
    found = {player.name: player for player in standings(direct, classical, "points").players}
    assert [found[name].points[classical] for name in "ABC"] == [1, 1, 1]
    assert [found[name].tiebreaks["direct"] for name in "ABC"] == [0, 1, 1]
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
    results = winner.results
    assert (winner.name, results.wins, results.draws, loser.results.losses) == ("B", 1, 0, 1)


def test_a_player_sees_both_colours() -> None:
    found = {
        player.name: player
        for player in standings([game("A", "B", "-G2.5"), game("B", "A", "-G2.5")]).players
    }
    assert found["A"].given == {True: {}, False: {5: 1}}
    assert found["A"].suffered == {True: {5: 1}, False: {}}
    results = found["A"].results
    assert (results.wins, results.draws, results.losses) == (0, 2, 0)
    assert found["A"].meetings["B"].results == results
    assert (results.points, results.games) == (1, 2)
    assert [found["A"].colours[white].games for white in (True, False)] == [1, 1]
    assert found["A"].colours[True].points == 0.5 - 0.5**6


def test_bounds_decide_by_the_scoring_of_the_standings() -> None:
    """Whatever the scoring by which games were adjudicated one by one."""
    games = [
        game("A", "B", "G4.5", accrued="G3.0", basis=Basis.BOUNDED, bounds="G5.0 G4.5"),
        game("A", "B", "G4.5", accrued="G3.0", basis=Basis.NEAREST_BOUND, bounds="G5.0 G4.5"),
        game("A", "B", "G1.0", accrued="G3.0", basis=Basis.SOLVED),
    ]
    own = games[0].outcome.settings
    tagged = replace(games[0].outcome, settings=replace(own, scoring=Scoring(Scheme.WINNER)))
    games[0] = replace(games[0], outcome=tagged)
    by_winner, exponential = standings(games, Scheme.WINNER), standings(games, Scheme.EXPONENTIAL)
    assert by_winner.bases == {Basis.BOUNDED: 2, Basis.SOLVED: 1}
    assert exponential.bases == {Basis.NEAREST_BOUND: 2, Basis.SOLVED: 1}
    assert [len(found.changes) for found in (by_winner, exponential)] == [3, 1]
    assert [str(record.value) for record in by_winner.games] == ["G4.5", "G4.5", "G1.0"]
    assert [str(record.value) for record in exponential.games] == ["G4.5", "G4.5", "G1.0"]
    told = document(by_winner)["games"]
    assert [record.get("bounds") for record in told] == [*[{"lower": "G5.0", "upper": "G4.5"}] * 2, None]


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
    with pytest.raises(UsageError, match="an SPRT needs two players, and there are 4"):
        standings([game("A", "B", "G0.0"), game("C", "D", "G1.0")]).test(0, 5)


def test_sprt_is_of_white_in_the_first_round_or_of_whom_one_names() -> None:
    """A game that has ended earlier stands before it in the file."""
    games = [("B", "A", "G1.0", "1.1.2"), ("B", "A", "G1.0", "1.10.1"), ("A", "B", "G0.0", "1.1.1")]
    found = standings([game(*players, round_=number) for *players, number in games])
    assert (found.names, found.test(0, 5).wins) == (["A", "B"], 1)
    other = replace(found, tested="B")
    assert (other.names, other.test(0, 5).losses) == (["B", "A"], 1)
    with pytest.raises(UsageError, match="no player is called 'C': expected one of 'A', 'B'"):
        replace(found, tested="C").test(0, 5)


values = st.builds(lambda rank, white: str(GScore(rank, white)), st.integers(0, 20), st.booleans())
played = st.lists(st.tuples(st.sampled_from("ABCD"), st.sampled_from("ABCD"), values), min_size=1)


@settings(max_examples=sample(40, 100))
@given(played, st.sampled_from([scheme for scheme in Scheme if scheme is not Scheme.FULL]))
def test_sums(pairings: list[tuple[str, str, str]], scheme: Scheme) -> None:
    games = [game(white, black, value) for white, black, value in pairings if white != black]
    assume(games)
    found = standings(games, scheme)
    for each in Scheme:
        assert math.fsum(player.points[each] or 0 for player in found.players) == pytest.approx(len(games))
    for order, first in {
        "percent": lambda results: results.points / results.games,
        "points": lambda results: results.points,
        "tcec": lambda results: results.wins + results.draws / 2,
    }.items():
        ordered = [player.results for player in standings(games, scheme, order).players]
        assert all(first(one) >= first(other) for one, other in pairwise(ordered))
    assert sum(player.results.games for player in found.players) == 2 * len(games)
    for player in found.players:
        for split in (player.meetings.values(), None):
            parts = (
                [player.colours[white] for white in (True, False)]
                if split is None
                else [meeting.results for meeting in split]
            )
            for name in ("games", "points", "wins", "draws", "losses"):
                assert sum(getattr(part, name) for part in parts) == getattr(player.results, name)
        held = [counts for held in (player.given, player.suffered) for counts in held.values()]
        assert sum(sum(counts.values()) for counts in held) == player.results.games
        assert sum(player.pairs.halves) == len(player.pairs.shares) <= player.results.games / 2
    assert standings(games[::-1], scheme).bases == found.bases
    assert {p.name: p.place for p in standings(games[::-1], scheme).players} == {
        p.name: p.place for p in found.players
    }


def test_unequal_numbers_of_games_are_ordered_by_percentage() -> None:
    """A has won its only game; B has won two, and lost to C."""
    games = [game("A", "D", "G0.0"), game("B", "D", "G0.0"), game("B", "C", "G0.0"), game("C", "B", "G0.0")]
    assert places(games)[:2] == [(1, "A"), (2, "B")]
    assert places(games, order="points")[0] == (1, "B")
    assert standings(games).numbers_of_games == (1, 3)


def test_numbers_of_games_place_nobody_by_percentage() -> None:
    """Half of the points in direct encounters is as good as half of more or fewer games."""
    four = [game("A", "B", "G0.0"), game("A", "B", "G0.0"), game("B", "A", "G0.0"), game("B", "A", "G0.0")]
    level = [*four, game("C", "A", "G0.0"), game("A", "D", "G0.0"), game("D", "C", "G0.0")]
    assert places(level) == [(1, "A"), (1, "B"), (1, "C"), (1, "D")]
    assert {player.tiebreaks["direct"] for player in standings(level).players} == {Fraction(1, 2)}
    assert places(level, order="points") == [(1, "A"), (2, "B"), (3, "D"), (4, "C")]
    assert places([*four, game("C", "A", "G0.0")]) == [(1, "C"), (2, "B"), (3, "A")]


def test_direct_encounters_by_percentage_are_shares() -> None:
    """All four have half of their points; A has most of those against B and C, B has most games, D none."""
    games = [game("A", "B", "G0.0"), game("A", "V", "-G0.0")]
    games += [game("B", "C", "G0.0"), game("C", "B", "G0.0"), game("C", "B", "G0.0"), game("B", "C", "G0.0")]
    games += [game("B", "X", "G0.0"), game("D", "Y", "G0.0"), game("D", "Z", "-G0.0")]
    found = {player.name: player for player in standings(games).players if player.name in "ABCD"}
    assert {player.results.share for player in found.values()} == {Fraction(1, 2)}
    assert {name: player.tiebreaks["direct"] for name, player in found.items()} == {
        "A": 1,
        "B": Fraction(2, 5),
        "C": Fraction(1, 2),
        "D": None,
    }
    assert [found[name].place for name in "ACDB"] == [3, 4, 4, 6]


def test_balances_by_percentage_are_per_game() -> None:
    """One stalemate in two games is as much as two in four."""
    once = [game("A", "C", "G0.5"), game("A", "D", "G1.0")]
    twice = [game("B", "E", "G0.5"), game("B", "F", "G1.0")] * 2
    assert places([*once, *map(replace, twice)], Scheme.CLASSICAL)[:2] == [(1, "A"), (1, "B")]


def test_tcec_orders_by_chess_then_direct_encounters_then_points() -> None:
    tcec = "tcec"
    # More points by r-mobility count for less than half a point in chess.
    chess = [game("A", "X", "G0.5"), game("A", "X", "G0.5"), game("B", "Y", "G0.0"), game("B", "Y", "-G20.0")]
    assert places(chess, order=tcec)[:2] == [(1, "B"), (2, "A")]
    assert standings(chess, order=tcec).players[1].results.classical == 1
    # Level in chess: B has won against A, whose points are more.
    direct = [
        game("B", "A", "G0.0"),
        game("B", "X", "-G0.0"),
        game("A", "X", "G0.0"),
        game("B", "X", "-G0.5"),
    ]
    direct += [game("A", "X", "G0.5")]
    found = {player.name: player for player in standings(direct, order=tcec).players}
    assert found["A"].results.classical == found["B"].results.classical
    assert found["A"].results.points > found["B"].results.points
    assert found["B"].place < found["A"].place
    assert (found["A"].tiebreaks["direct"], found["B"].tiebreaks["direct"]) == (0, 1)
    # Level in both: the sum of points decides, also where results in chess differ from scores.
    drawn = [game("A", "B", "G1.0"), game("B", "A", "G1.5", result="1/2-1/2")]
    assert places(drawn, order=tcec) == [(1, "A"), (2, "B")]
    assert places([game("A", "B", "G0.0", result="1/2-1/2"), game("B", "A", "G0.5")], order=tcec) == [
        (1, "A"),
        (2, "B"),
    ]


def test_sums_are_exact() -> None:
    """Floating-point numbers no longer tell these results from a half."""
    found = standings([game("A", "B", "-G30.5")]).players
    assert [(player.place, player.name) for player in found] == [(1, "B"), (2, "A")]
    assert found[0].results.points - found[1].results.points == Fraction(1, 2**61)


def test_pairs_have_one_start_and_both_colours() -> None:
    games = [
        game("A", "B", "G0.0", number=1, start="x"),
        game("A", "B", "G0.5", number=2),
        game("B", "A", "G0.5", number=3, start="x"),
        game("A", "B", "-G0.0", number=4, start="x"),
        game("B", "A", "-G1.0", number=5),
        game("A", "C", "G0.0", number=6),
        game("C", "C", "G0.0", number=7),
    ]
    assert [(one.number, other.number) for one, other in paired(games)] == [(1, 3), (2, 5)]
    found = standings(games)
    meeting = next(player for player in found.players if player.name == "A").meetings["B"]
    assert meeting.pairs.halves == [0, 0, 1, 1, 0]
    assert meeting.pairs.shares == [0.625, (0.75 + 0.625) / 2]
    assert meeting.pairs.elo == elo(meeting.pairs.shares, pairs=True)
    other = next(player for player in found.players if player.name == "B").meetings["A"]
    assert other.pairs.halves == [0, 1, 1, 0, 0]
    assert other.pairs.shares == [1 - share for share in meeting.pairs.shares]


def test_the_usual_start_is_the_same_with_a_tag_and_without() -> None:
    usual = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
    other = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQ - 0 1"
    mate = "1. f3 e5 2. g4 Qh4# 0-1\n\n"
    text = f'[White "A"]\n[Black "B"]\n[FEN "{usual}"]\n\n{mate}[White "B"]\n[Black "A"]\n\n{mate}'
    text += f'[White "B"]\n[Black "A"]\n[FEN "{other}"]\n\n{mate}'
    games = list(tag_games(io.BytesIO(text.encode())))
    records = [record for game in games if (record := GameRecord.of("x.pgn", game)) is not None]
    assert [record.start for record in records] == ["", "", " ".join(other.split()[:4])]
    assert [(one.number, other.number) for one, other in paired(records)] == [(1, 2)]


def test_games_of_a_round_make_a_pair_first() -> None:
    """As files of games that were played at the same time have them; what is left pairs as it comes."""
    games = [
        game("A", "B", "G0.0", number=1, round_="1.1"),
        game("A", "B", "G0.0", number=2, round_="2.1"),
        game("B", "A", "G0.0", number=3, round_="2.2"),
        game("B", "A", "G0.0", number=4, round_="7"),
        game("B", "A", "G0.0", number=5),
    ]
    assert [(one.number, other.number) for one, other in paired(games)] == [(2, 3), (1, 4)]


def test_a_test_of_pairs() -> None:
    games = [game("A", "B", "G0.0"), game("B", "A", "G1.0"), game("A", "B", "G0.5")]
    test = standings(games).test(0, 5, pairs=True)
    assert (test.count, test.pairs) == (1, True)
    assert test.llr == sprt([(1 + 0.375) / 2], 0, 5, pairs=True).llr
    assert standings(games).test(0, 5, model="bayesian").model is EloModel.BAYESIAN


def test_players_without_a_name_are_kept_apart() -> None:
    text = '[White "?"]\n[Black "A"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n\n'
    games = list(tag_games(io.BytesIO((text + text + "\n1. f3 e5 2. g4 Qh4# 0-1\n").encode())))
    records = [record for game in games if (record := GameRecord.of("x.pgn", game)) is not None]
    assert [record.nameless for record in records] == [1, 1, 2]
    assert [player.name for player in standings(records).players] == [
        "? (x.pgn 3, Black)",
        "A",
        "? (x.pgn 1, White)",
        "? (x.pgn 2, White)",
        "? (x.pgn 3, White)",
    ]


def test_what_a_record_takes_from_tags() -> None:
    text = '[White " A "]\n[Black "B"]\n[Round "1.2"]\n[FEN "8/8/8/2K3k1/8/8/8/8  w - - 3 60 -G5.5"]\n\n*\n'
    (found,) = tag_games(io.BytesIO(text.encode()))
    record = GameRecord.of("x.pgn", found)
    assert record is not None
    assert (record.white, record.round, record.start) == ("A", "1.2", "8/8/8/2K3k1/8/8/8/8 w - -")


def test_an_order_that_is_not_there() -> None:
    with pytest.raises(UsageError, match="'elo' is no order: expected one of percent, points, tcec"):
        standings([game("A", "B", "G0.0")], order="elo")


def test_no_games() -> None:
    with pytest.raises(UsageError, match="there are no games to score"):
        standings([])
