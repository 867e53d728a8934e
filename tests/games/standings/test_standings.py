"""Standings: places and tiebreaks, pairs of games, and players without a name."""

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
from tbgen.documents import UNSET, EndsDocument
from tbgen.games.outcome import Basis
from tbgen.games.standings import GameRecord, Standings, standings
from tbgen.games.standings.elo import EloModel, elo, sprt
from tbgen.games.standings.json_files import StandingsDocument, StandingsGame
from tbgen.games.standings.orders import ranked_players
from tbgen.games.standings.players import Player
from tbgen.games.standings.record import find_pairs
from tbgen.games.standings.tiebreaks import OrderBy, Tiebreak, TieData
from tbgen.games.tagging import tag_games
from tests.support.exhaustive import sample
from tests.support.refusals import refusal
from tests.support.tournaments import game, games


def places(
    records: Sequence[GameRecord], scheme: Scheme = Scheme.EXPONENTIAL, order: str = "percent"
) -> list[tuple[int, str]]:
    return [(player.place, player.name) for player in standings(records, scheme, order).players]


def by_name(found: Standings) -> dict[str, Player]:
    return {player.name: player for player in found.players}


def test_points_decide_and_level_players_share_a_place() -> None:
    assert places(games("AB G0.5, CD -G3.5")) == [(1, "A"), (2, "D"), (3, "C"), (4, "B")]
    assert places(games("AB G1.0, CD G1.0")) == [(1, "A"), (1, "C"), (3, "B"), (3, "D")]


def test_direct_encounters_break_ties() -> None:
    found = standings(games("AB G0.5, AC -G0.0, BC G0.0, BC -G0.5"), Scheme.CLASSICAL)
    points = [(player.name, player.points[Scheme.CLASSICAL]) for player in found.players]
    assert points == [("B", 2.0), ("C", 1.5), ("A", 0.5)]
    ordered = by_name(standings(games("AB G0.0, BC G0.0, DA G0.0, CD G0.5"), Scheme.CLASSICAL))
    assert ordered["A"].points[Scheme.CLASSICAL] == ordered["B"].points[Scheme.CLASSICAL] == 1
    assert (ordered["A"].tiebreaks["direct"], ordered["B"].tiebreaks["direct"]) == (1, 0)
    assert standings(games("AB G0.0")).players[0].tiebreaks["direct"] is None
    assert ordered["A"].place < ordered["B"].place


def test_stalemates_and_then_g_1_0_break_ties() -> None:
    found = places(games("AX G1.0, BX G0.5, CX G1.5, DX G1.5"), Scheme.CLASSICAL, "points")
    assert found == [(1, "X"), (2, "B"), (3, "A"), (4, "C"), (4, "D")]
    # Equal exponential points: one stalemate and three times the opponent's G1.5, or nothing of either kind.
    alike = by_name(standings(games("AX G0.5, AX -G1.5 4, BY G20.0, BY -G20.0 4"), Scheme.CLASSICAL))
    assert (alike["A"].tiebreaks["stalemates"], alike["A"].tiebreaks["g1.5"]) == (1, -4)


def test_a_tiebreak_is_order_and_column() -> None:
    found = standings(games("AB G9.0, BA G9.0, CA G9.0, BC G9.0"))
    field = TieData.of(found.players, OrderBy.CHESS, Scheme.EXPONENTIAL)
    blacks = Tiebreak("blacks", "B", "as Black", lambda player, _, __: player.by_side[False].results.games)
    level = [(player.place, player.name) for player in ranked_players(found.players, [], field)]
    assert level == [(1, "A"), (1, "B"), (3, "C")]
    parted = ranked_players(found.players, [blacks], field)
    assert [(player.place, player.name) for player in parted] == [(1, "A"), (2, "B"), (3, "C")]
    assert [blacks.column.cell(player) for player in parted] == [2, 1, 1]
    told = StandingsDocument.of_standings(replace(found, players=parted)).players
    assert {player.name: player.tiebreaks["blacks"] for player in told} == {"A": 2, "B": 1, "C": 1}


def test_each_tiebreak_alone_decides() -> None:
    classical = Scheme.CLASSICAL
    # Three with a point each, of whom B alone has played a second game against another of them.
    found = by_name(standings(games("AX G0.0, BC G9.0, CB G9.0, CX -G0.0, XA G0.0"), classical, "points"))
    assert [found[name].points[classical] for name in "ABC"] == [1, 1, 1]
    assert [found[name].tiebreaks["direct"] for name in "ABC"] == [0, 1, 1]
    assert found["B"].place < found["A"].place
    # No games among those tied, and A's exponential points are more though B has given more stalemates.
    found = by_name(standings(games("AX G1.0 2, BY G0.5, BY -G3.5, AX G1.5, BY -G20.0"), classical))
    assert (found["A"].place, found["B"].place) == (1, 2)
    # Exponential points alike: one stalemate (1/4) against two G1.0 (1/8 each), losses filled up alike.
    # And one G1.0 (1/8) against two G1.5 (1/16 each).
    for values in ("AX G0.5, BY G1.0 2", "AX G1.0, BY G1.5 2"):
        equal = by_name(standings(games(f"{values}, AX G20.0 2, BY G20.0"), classical))
        a, b = (equal[name].points[Scheme.EXPONENTIAL] for name in "AB")
        assert a == pytest.approx(b, abs=1e-9)
        assert equal["A"].place == equal["B"].place - 1


def test_forfeits_count_in_chess_whatever_the_tag_says() -> None:
    """cuteRMob writes 1/2-1/2 for forfeits."""
    (winner, loser) = standings([game("A", "B", "-G0.0", basis=Basis.FORFEIT, result="1/2-1/2")]).players
    results = winner.results
    assert (winner.name, results.wins, results.draws, loser.results.losses) == ("B", 1, 0, 1)


def test_a_player_sees_both_colours() -> None:
    a = by_name(standings(games("AB -G2.5, BA -G2.5")))["A"]
    as_white, as_black = a.by_side[True], a.by_side[False]
    assert (a.held_counts, as_white.held_counts, as_black.held_counts) == ({5: 1}, {}, {5: 1})
    assert (a.suffered_counts, as_white.suffered_counts, as_black.suffered_counts) == ({5: 1}, {5: 1}, {})
    assert (a.results.wins, a.results.draws, a.results.losses) == (0, 2, 0)
    assert a.meetings["B"].results == a.results
    assert (a.results.points, a.results.games) == (1, 2)
    assert (as_white.results.games, as_black.results.games) == (1, 1)
    assert as_white.results.points == 0.5 - 0.5**6


def test_bounds_decide_by_the_scoring_of_the_standings() -> None:
    """The scoring by which single games were adjudicated does not matter."""
    bounded, nearest = (
        game("A", "B", "G4.5", accrued="G3.0", basis=basis, bounds="G5.0 G4.5")
        for basis in (Basis.BOUNDED, Basis.NEAREST_BOUND)
    )
    own = replace(bounded.outcome.settings, scoring=Scoring(Scheme.WINNER))
    bounded = replace(bounded, outcome=replace(bounded.outcome, settings=own))
    records = [bounded, nearest, game("A", "B", "G1.0", accrued="G3.0", basis=Basis.SOLVED)]
    for scheme, basis, changes in (
        (Scheme.WINNER, Basis.BOUNDED, 3),
        (Scheme.EXPONENTIAL, Basis.NEAREST_BOUND, 1),
    ):
        found = standings(records, scheme)
        assert found.bases == {basis: 2, Basis.SOLVED: 1}
        assert len(found.changes) == changes
        assert [str(record.value) for record in found.games] == ["G4.5", "G4.5", "G1.0"]
    told = [
        StandingsGame.of_game(each, Scheme.WINNER).bounds for each in standings(records, Scheme.WINNER).games
    ]
    assert told == [*[EndsDocument(GScore("G5.0"), GScore("G4.5"))] * 2, UNSET]


def test_results_changed_by_tables() -> None:
    changed = game("A", "B", "-G0.5", accrued="G3.5", basis=Basis.TABLEBASE)
    same = game("A", "B", "G1.5", basis=Basis.TABLEBASE)
    found = standings([changed, same, game("A", "B", "-G0.0", accrued="G3.5", basis=Basis.FORFEIT)])
    assert [change.game for change in found.changes] == [changed]
    assert found.gains["A"] == 0.25 - (0.5 + 0.5**8)
    assert found.bases == {Basis.TABLEBASE: 2, Basis.FORFEIT: 1}


def test_komi_of_the_game_counts() -> None:
    records = [game("A", "B", "G5.5", scoring=Scoring(Scheme.EXPONENTIAL, komi=Komi.parse("G5.5")))]
    points = standings(records).players[0].points
    assert (points[Scheme.KOMI], points[Scheme.FULL]) == (0.5, None)
    assert "full points need a komi" in refusal(standings, records, Scheme.FULL)


def test_sprt_is_of_white_in_the_first_round_or_of_whom_one_names() -> None:
    """A game that ended earlier precedes it in the file."""
    rows = [("B", "A", "G1.0", "1.1.2"), ("B", "A", "G1.0", "1." + 5000 * "9"), ("A", "B", "G0.0", "1.1.1")]
    found = standings([game(*players, round_=number) for *players, number in rows])
    assert (found.names, found.test(0, 5).wins) == (["A", "B"], 1)
    other = replace(found, tested_player="B")
    assert (other.names, other.test(0, 5).losses) == (["B", "A"], 1)
    nobody = replace(found, tested_player="C")
    assert "no player is called 'C': expected one of 'A', 'B'" in refusal(nobody.test, 0, 5)
    assert "an SPRT needs two players, not 4" in refusal(standings(games("AB G0.0, CD G1.0")).test, 0, 5)


values = st.builds(lambda rank, white: str(GScore(rank, white)), st.integers(0, 20), st.booleans())
played = st.lists(st.tuples(st.sampled_from("ABCD"), st.sampled_from("ABCD"), values), min_size=1)


@settings(max_examples=sample(30, 100))
@given(played, st.sampled_from([scheme for scheme in Scheme if scheme is not Scheme.FULL]))
def test_sums(pairings: list[tuple[str, str, str]], scheme: Scheme) -> None:
    records = [game(white, black, value) for white, black, value in pairings if white != black]
    assume(records)
    found = standings(records, scheme)
    for each in Scheme:
        assert math.fsum(player.points[each] or 0 for player in found.players) == pytest.approx(len(records))
    for order, first in {
        "percent": lambda results: results.points / results.games,
        "points": lambda results: results.points,
        "tcec": lambda results: results.wins + results.draws / 2,
    }.items():
        ordered = [player.results for player in standings(records, scheme, order).players]
        assert all(first(one) >= first(other) for one, other in pairwise(ordered))
    assert sum(player.results.games for player in found.players) == 2 * len(records)
    for player in found.players:
        for parts in (player.by_side.values(), player.meetings.values()):
            for name in ("games", "points", "wins", "draws", "losses"):
                assert sum(getattr(part.results, name) for part in parts) == getattr(player.results, name)
        assert (player.held_counts + player.suffered_counts).total() == player.results.games
        assert sum(player.pairs.pentanomial) == len(player.pairs.shares) <= player.results.games / 2
    turned = standings(records[::-1], scheme)
    assert turned.bases == found.bases
    assert {p.name: p.place for p in turned.players} == {p.name: p.place for p in found.players}


def test_unequal_numbers_of_games_are_ordered_by_percentage() -> None:
    """A has won its only game; B has won two games and lost to C."""
    records = games("AD G0.0, BD G0.0, BC G0.0, CB G0.0")
    assert places(records)[:2] == [(1, "A"), (2, "B")]
    assert places(records, order="points")[0] == (1, "B")
    assert standings(records).game_count_range == (1, 3)


def test_percentages_do_not_depend_on_numbers_of_games() -> None:
    """Half of the points in direct encounters counts the same for any number of games."""
    level = games("AB G0.0 2, BA G0.0 2, CA G0.0, AD G0.0, DC G0.0")
    assert places(level) == [(1, "A"), (1, "B"), (1, "C"), (1, "D")]
    assert {player.tiebreaks["direct"] for player in standings(level).players} == {Fraction(1, 2)}
    assert places(level, order="points") == [(1, "A"), (2, "B"), (3, "D"), (4, "C")]
    assert places(level[:5]) == [(1, "C"), (2, "B"), (3, "A")]


def test_direct_encounters_by_percentage_are_shares() -> None:
    """All four have half of their points; A has most of those against B and C, B has most games, D none."""
    records = games("AB G0.0, AV -G0.0, BC G0.0, CB G0.0 2, BC G0.0, BX G0.0, DY G0.0, DZ -G0.0")
    found = by_name(standings(records))
    assert {found[name].results.share for name in "ABCD"} == {Fraction(1, 2)}
    assert [found[name].tiebreaks["direct"] for name in "ABCD"] == [1, Fraction(2, 5), Fraction(1, 2), None]
    assert [found[name].place for name in "ACDB"] == [3, 4, 4, 6]


def test_balances_by_percentage_are_per_game() -> None:
    """One stalemate in two games equals two in four."""
    records = games("AC G0.5, AD G1.0, BE G0.5 2, BF G1.0 2")
    assert places(records, Scheme.CLASSICAL)[:2] == [(1, "A"), (1, "B")]


def test_tcec_orders_by_chess_then_direct_encounters_then_points() -> None:
    # More points by r-mobility count for less than half a point in chess.
    chess = standings(games("AX G0.5 2, BY G0.0, BY -G20.0"), order="tcec").players
    assert [(player.place, player.name) for player in chess][:2] == [(1, "B"), (2, "A")]
    assert chess[1].results.classical == 1
    # Level in chess: B has won against A, whose points are more.
    found = by_name(standings(games("BA G0.0, BX -G0.0, AX G0.0, BX -G0.5, AX G0.5"), order="tcec"))
    assert found["A"].results.classical == found["B"].results.classical
    assert found["A"].results.points > found["B"].results.points
    assert found["B"].place < found["A"].place
    assert (found["A"].tiebreaks["direct"], found["B"].tiebreaks["direct"]) == (0, 1)
    # Level in both: the sum of points decides, also where results in chess differ from scores.
    for first, second in (("G1.0", "G1.5"), ("G0.0", "G0.5")):
        drawn = [game("A", "B", first, result="1/2-1/2"), game("B", "A", second, result="1/2-1/2")]
        assert places(drawn, order="tcec") == [(1, "A"), (2, "B")]


def test_sums_are_exact() -> None:
    """Floating-point numbers cannot distinguish these results from a half."""
    found = standings(games("AB -G30.5")).players
    assert [(player.place, player.name) for player in found] == [(1, "B"), (2, "A")]
    assert found[0].results.points - found[1].results.points == Fraction(1, 2**61)


def test_pairs_have_the_same_start_and_reversed_colours() -> None:
    rows = ["AB G0.0 x", "AB G0.5", "BA G0.5 x", "AB -G0.0 x", "BA -G1.0", "AC G0.0", "CC G0.0"]
    records = []
    for number, row in enumerate(rows, 1):
        players, value, *start = row.split()
        records.append(game(players[0], players[1], value, number=number, start="".join(start)))
    assert [(one.number, other.number) for one, other in find_pairs(records)] == [(1, 3), (2, 5)]
    found = by_name(standings(records))
    pairs, others = found["A"].meetings["B"].pairs, found["B"].meetings["A"].pairs
    assert (pairs.pentanomial, others.pentanomial) == ([0, 0, 1, 1, 0], [0, 1, 1, 0, 0])
    assert pairs.shares == [0.625, (0.75 + 0.625) / 2] == [1 - share for share in others.shares]
    assert pairs.elo == elo(pairs.shares, pairs=True)


def test_the_usual_start_is_the_same_with_a_tag_and_without() -> None:
    usual = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
    other = usual.replace("KQkq", "KQ")
    mate = "1. f3 e5 2. g4 Qh4# 0-1\n\n"
    text = f'[White "A"]\n[Black "B"]\n[FEN "{usual}"]\n\n{mate}[White "B"]\n[Black "A"]\n\n{mate}'
    records = records_of(text + f'[White "B"]\n[Black "A"]\n[FEN "{other}"]\n\n{mate}')
    assert [record.start for record in records] == ["", "", " ".join(other.split()[:4])]
    assert [(one.number, other.number) for one, other in find_pairs(records)] == [(1, 2)]


def test_games_of_a_round_are_paired_first() -> None:
    """Concurrent games end in any order; the remaining games are paired in the order of the file."""
    rounds = ["AB 1.1", "AB 2.1", "BA 2.2", "BA 7", "BA "]
    records = []
    for number, row in enumerate(rounds, 1):
        records.append(game(row[0], row[1], "G0.0", number=number, round_=row[3:]))
    assert [(one.number, other.number) for one, other in find_pairs(records)] == [(2, 3), (1, 4)]


def test_a_test_of_pairs() -> None:
    found = standings(games("AB G0.0, BA G1.0, AB G0.5"))
    test = found.test(0, 5, pairs=True)
    assert (test.count, test.pairs) == (1, True)
    assert test.llr == sprt([(1 + 0.375) / 2], 0, 5, pairs=True).llr
    assert found.test(0, 5, model="bayesian").model is EloModel.BAYESIAN


def records_of(text: str) -> list[GameRecord]:
    found = [GameRecord.of("x.pgn", each) for each in tag_games(io.BytesIO(text.encode()))]
    return [record for record in found if record is not None]


def test_players_without_a_name_are_kept_apart() -> None:
    text = '[White "?"]\n[Black "A"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n\n'
    records = records_of(text + text + "\n1. f3 e5 2. g4 Qh4# 0-1\n")
    assert [record.nameless_count for record in records] == [1, 1, 2]
    first, second, *others = [player.name for player in standings(records).players]
    assert (first, second) == ("? (x.pgn 3, Black)", "A")
    assert others == [f"? (x.pgn {number}, White)" for number in (1, 2, 3)]


def test_fields_of_a_record_from_tags() -> None:
    tags = '[White " Zoe\u0308 "]\n[Black "B"]\n[Round "1.2"]\n'
    (record,) = records_of(f'{tags}[FEN "8/8/8/2K3k1/8/8/8/8  w - - 3 60 -G5.5"]\n\n*\n')
    assert (record.white, record.round, record.start) == ("Zo\xeb", "1.2", "8/8/8/2K3k1/8/8/8/8 w - -")


def test_invalid_standings() -> None:
    sentence = refusal(standings, games("AB G0.0"), Scheme.EXPONENTIAL, "elo")
    assert "'elo' is not an order: expected one of percent, points, tcec" in sentence
    assert "there are no games to score" in refusal(standings, [])
