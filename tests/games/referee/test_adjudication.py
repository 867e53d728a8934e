"""Adjudication: the order of endings, values from tables, and games without a table."""

import io
import random
from typing import Any

import chess
import pytest

from tbgen.board.fen import Fen
from tbgen.board.rules import FRESH
from tbgen.board.score import GScore
from tbgen.board.scoring import Komi, Scheme, Scoring
from tbgen.board.variant import Variant
from tbgen.errors import MissingTableError
from tbgen.games.game_options import FiftyMoveRule, GameOptions
from tbgen.games.outcome import Basis, Outcome
from tbgen.games.pgn.ending import Ending
from tbgen.games.pgn.reader import Game, read_games
from tbgen.games.referee import Arbiter, adjudicate, replay
from tbgen.probe.tablebase import Tablebase
from tests.games.referee.test_arbiter import after, is_back
from tests.support.exhaustive import sample
from tests.support.random_boards import random_moves
from tests.support.refusals import refusal

R = Variant.R_MOBILITY

WHITE_FLAGGED = Ending(Basis.TIME_FORFEIT, chess.BLACK, "White loses on time")
WHITE_GIVEN_A_WIN = Ending(Basis.ADJUDICATION, chess.WHITE, "White wins by adjudication")
AGREED = Ending(None, None, "Draw by agreement")
ENDINGS = (None, WHITE_FLAGGED, WHITE_GIVEN_A_WIN, AGREED)

BISHOP = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"  # G1.5 in four plies


def said(outcome: Outcome) -> tuple[str, str, str, int | None]:
    return str(outcome.value), outcome.basis.value, str(outcome.accrued), outcome.depth


def test_mate_and_stalemate_come_first(tablebase: Tablebase) -> None:
    for fen, expected in (
        ("R6k/8/6K1/8/8/8/8/8 b - - 5 9 G3.0", ("G0.0", "mate", "G0.0", None)),
        ("8/8/8/8/8/1k1b4/8/K7 w - - 5 9", ("-G0.5", "stalemate", "-G0.5", None)),
    ):
        for ending in ENDINGS:
            assert said(adjudicate(Arbiter(fen), tablebase, ending)) == expected
            assert said(adjudicate(Arbiter(fen), None, ending)) == expected


def test_ends_on_the_board_come_before_adjudications_and_after_forfeits(tablebase: Tablebase) -> None:
    shuffle = "a1a2 h8g8 a2a1 g8h8 a1a2 h8g8 a2a1 g8h8"
    for arbiter, basis, accrued in (
        (after("7k/8/8/8/8/8/8/KB6 w - - 0 1", shuffle), "repetition", "G2.5"),
        (after("8/8/8/8/3k4/8/2B5/K7 w - - 100 80 -G12.5"), "fifty-move rule", "-G12.5"),
        (after("8/8/2k5/8/8/5K2/8/8 w - - 0 1", "f3f4"), "bare kings", "-G8.5"),
    ):
        for ending in (None, AGREED, WHITE_GIVEN_A_WIN):
            assert said(adjudicate(arbiter, tablebase, ending)) == (accrued, basis, accrued, None)
        flagged = said(adjudicate(arbiter, tablebase, WHITE_FLAGGED))
        assert flagged == ("-G0.0", "time forfeit", accrued, None)


def test_wins_off_the_board_count_as_mate(tablebase: Tablebase) -> None:
    flagged = adjudicate(Arbiter(BISHOP), tablebase, WHITE_FLAGGED)
    assert said(flagged) == ("-G0.0", "time forfeit", "G3.5", None)
    assert flagged.ending == "White loses on time"
    outcome = adjudicate(Arbiter(), tablebase, WHITE_GIVEN_A_WIN)
    assert said(outcome) == ("G0.0", "adjudication", "-G20.5", None)
    assert (outcome.classical, outcome.proven) == ("1-0", True)


def test_a_stopped_game_has_the_result_of_best_play(tablebase: Tablebase) -> None:
    for ending in (None, AGREED):
        outcome = adjudicate(Arbiter(BISHOP), tablebase, ending)
        assert said(outcome) == ("G1.5", "tablebase", "G3.5", 4)
        assert (outcome.classical, outcome.proven) == ("1/2-1/2", True)
    # With -G1.0 against him White gives the bishop up, for bare kings are worth more: G5.5.
    ahead, behind = (Arbiter(BISHOP.replace("0 1", f"3 9 {score}")) for score in ("G1.0", "-G1.0"))
    assert said(adjudicate(ahead, tablebase)) == ("G1.0", "tablebase", "G1.0", 0)
    assert said(adjudicate(behind, tablebase)) == ("G5.5", "tablebase", "-G1.0", 12)
    mirrored = chess.Board(BISHOP).mirror().fen()
    assert said(adjudicate(Arbiter(mirrored), tablebase)) == ("-G1.5", "tablebase", "-G3.5", 4)


def test_positions_without_a_table_stand_as_played(tablebase: Tablebase) -> None:
    """An example are six men with castling rights."""
    for fen, accrued in ((chess.STARTING_FEN, "-G20.5"), ("4k3/pp6/8/8/8/8/P7/4K2R w K - 4 9 G2.0", "G2.0")):
        for required in (False, True):
            outcome = adjudicate(Arbiter(fen), tablebase, require_tables=required)
            assert said(outcome) == (accrued, "played", accrued, None)
            assert (outcome.proven, outcome.missing) == (False, None)


def test_a_missing_table_is_named_or_required(tablebase: Tablebase) -> None:
    arbiter = Arbiter("8/8/8/4KRk1/8/8/8/8 b - - 1 1 -G9.0")
    outcome = adjudicate(arbiter, tablebase)
    assert said(outcome) == ("G4.0", "table missing", "G4.0", None)
    assert not outcome.proven
    assert outcome.missing is not None
    assert outcome.missing.material == "KRvK"
    with pytest.raises(MissingTableError, match="tbgen build KRvK"):
        adjudicate(arbiter, tablebase, require_tables=True)
    assert adjudicate(arbiter).basis is Basis.PLAYED
    with pytest.raises(ValueError, match="tables are required, but there are none"):
        adjudicate(arbiter, None, require_tables=True)


def test_moves_of_a_board_count(tablebase: Tablebase) -> None:
    board = chess.Board("8/8/8/4KBk1/8/8/8/8 b - - 0 1")
    for uci in ("g5h6", "e5f6", "h6h5", "f6e6"):
        board.push_uci(uci)
    played_on, fresh = ("G1.5", "tablebase", "G1.5", 0), ("G1.5", "tablebase", "G3.5", 14)
    assert said(adjudicate(board, tablebase)) == said(adjudicate(Arbiter(board), tablebase)) == played_on
    assert said(adjudicate(board.fen(), tablebase)) == fresh
    assert said(adjudicate(Arbiter(board, accrued=FRESH), tablebase)) == fresh
    assert adjudicate(board).basis is Basis.PLAYED


def test_tables_for_other_rules_are_rejected(tablebase: Tablebase) -> None:
    with pytest.raises(ValueError, match="the tables are for rules r, but the game's are wg"):
        adjudicate(Arbiter(BISHOP, rules="wg"), tablebase)


def game_of(text: str) -> Game:
    (game,) = read_games(io.BytesIO(text.encode()))
    return game


def judged(game: Game, **options: Any) -> Outcome:
    """Return the outcome of a game without tables."""
    return adjudicate(replay(game, GameOptions(R, **options)), None, game.ending, recorded=game.result)


def test_tags_of_a_game_determine_its_rules() -> None:
    plain = game_of('[Event "x"]\n\n1. e4 *\n')
    default = game_of('[RMobilityCutoff "G3.5"]\n[Komi "-G6.25"]\n\n1. e4 *\n')
    legacy = game_of('[RMobilityCutoff "G6.0"]\n[Legacy]\n\n1. e4 *\n')
    options = GameOptions(R, scheme=Scheme.KOMI, komi=Komi.parse("G4.75"))
    assert [options.settings(game.tags).fifty_move_rule for game in (plain, default, legacy)] == [
        FiftyMoveRule.LEGACY,
        FiftyMoveRule.IMPROVING,
        FiftyMoveRule.LEGACY,
    ]
    assert options.settings(default.tags).scoring.cutoff == GScore.parse("G3.5")
    assert [str(options.settings(game.tags).scoring.komi) for game in (plain, default)] == ["G4.75", "-G6.25"]
    given = GameOptions(R, FiftyMoveRule.OTB, GScore.parse("G9.0"), True)
    found = replay(default, given).settings
    assert (found.fifty_move_rule, str(found.scoring.cutoff), found.bare_kings) == ("otb", "G9.0", True)
    assert str(given.settings(plain.tags).scoring.komi) == "G5.75"


def test_settings_are_resolved_once_for_games_with_the_same_tags() -> None:
    options = GameOptions(R)
    one, two = (game_of(f'[Event "{name}"]\n[RMobilityCutoff "G3.5"]\n\n*\n') for name in "xy")
    assert options.settings(one.tags) is options.settings(two.tags)
    assert replay(one, options).settings is options.settings(one.tags)


def test_a_game_with_an_unknown_scoring_has_a_result() -> None:
    found = GameOptions(R).settings({"RMobilityScoring": "rMobilityWinner"})
    assert (found.scoring.scheme, found.unknown_scoring) == (Scheme.WINNER, None)
    for name in ("Best of three", "", "?"):
        game = game_of(f'[RMobilityScoring "{name}"]\n[RMobilityCutoff "G3.5"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n')
        outcome = judged(game)
        assert (str(outcome.value), outcome.basis) == ("-G0.0", Basis.MATE)
        assert outcome.settings.scoring == Scoring(Scheme.EXPONENTIAL, GScore.parse("G3.5"))
        assert outcome.settings.unknown_scoring == name
        asked = GameOptions(R, scheme=Scheme.HARMONIC).settings(game.tags)
        assert (asked.scoring.scheme, asked.unknown_scoring) == (Scheme.HARMONIC, None)


def test_bare_kings_ended_the_games_of_cutermob() -> None:
    tags = '[FEN "8/8/2k5/8/8/5K2/8/8 w - - 5 9 G12.5"]\n'
    for own, basis in (
        ("", "played"),
        ("[Legacy]\n", "bare kings"),
        ('[RMobilityCutoff "G6.0"]\n[Legacy]\n', "bare kings"),
        ('[RMobilityCutoff "G6.0"]\n', "bare kings"),
        ('[RMobilityCutoff "G6.0"]\n[RMobilityFiftyMoveRule "legacy"]\n', "played"),
    ):
        game = game_of(f"{tags}{own}\n1. Kf4 *\n")
        assert judged(game).basis == basis
        assert judged(game, bare_kings=False).basis == "played"


def test_a_mate_tagged_by_tbgen_is_no_forfeit() -> None:
    tags = '[Result "1/2-1/2"]\n[RMobilityResult "-G0.0"]\n'
    assert judged(game_of(f"{tags}\n1. e4 1/2-1/2\n")).basis is Basis.FORFEIT
    ours = dict.fromkeys(("tablebase", "mate", "table missing", "solved", "bounded"), Basis.PLAYED)
    for basis, expected in (ours | dict.fromkeys(("forfeit", "time forfeit"), Basis.FORFEIT)).items():
        game = game_of(f'{tags}[RMobilityBasis "{basis}"]\n\n1. e4 1/2-1/2\n')
        assert judged(game).basis is expected, basis


def random_game(seed: int) -> Game:
    """Return a game with many resets and repetitions, from a start with a clock and perhaps a score."""
    chances = random.Random(seed)
    board = chess.Board.from_chess960_pos(chances.randrange(960)) if seed % 3 == 0 else chess.Board()
    if seed % 3 == 1:
        board = chess.Board("4k3/1P4p1/8/2n5/8/5R2/1p4P1/4K3 w - - 0 1")
    board.halfmove_clock = chances.choice((0, 3, 60, 99, 120))
    accrued = chances.choice((None, GScore.parse("G9.5"), GScore.parse("-G3.0")))
    start = Fen(board.copy(), accrued)
    for move in random_moves(chances, board, chances.randrange(160), is_back, 0.6):
        board.push(move)
    return Game(1, 1, start=start, board=board)


def test_a_replay_from_the_last_reset_suffices() -> None:
    for rule in FiftyMoveRule:
        skipped = 0
        for seed in range(sample(10, 60)):
            game = random_game(seed)
            whole = Arbiter(game.start.board, accrued=game.start.accrued, fifty_move_rule=rule)
            for move in game.moves:
                whole.push(move)
            short = replay(game, GameOptions(R, rule))
            for name in ("accrued", "clock", "outcome", "position_score"):
                assert getattr(short, name) == getattr(whole, name), (rule, seed, name)
            assert short.board.fen() == whole.board.fen()
            skipped += len(short.moves) < len(game.moves)
        assert skipped > 6, rule


def test_invalid_tags_are_rejected() -> None:
    for tag, sentence in (
        ('[RMobilityCutoff "-G6.0"]', "is not a cutoff: expected"),
        ('[RMobilityCutoff "six"]', "is not a cutoff: expected"),
        ('[Komi "x"]', "is not a komi: expected"),
    ):
        assert sentence in refusal(judged, game_of(f"{tag}\n\n1. e4 *\n")), tag
