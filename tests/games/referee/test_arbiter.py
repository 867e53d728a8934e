"""The arbiter: games refereed by cuteRMob, an example of each rule, and rejected arguments."""

import json
import random
from collections import Counter
from functools import partial
from itertools import product
from typing import Any

import chess
import pytest

from tbgen.board.rules import FRESH
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.errors import UsageError
from tbgen.games.game_options import FiftyMoveRule
from tbgen.games.outcome import Basis
from tbgen.games.referee import Arbiter
from tests.support.exhaustive import sample
from tests.support.paths import DATA, rows
from tests.support.random_boards import random_moves
from tests.support.refusals import refusal

pytestmark = pytest.mark.filterwarnings("ignore:the seventh field")

GAMES = [json.loads(row) for row in (DATA / "referee_games.jsonl").read_text().splitlines()]
RULES = {"default": "improving", "legacy": "cutermob-legacy"}
REASONS = {
    "White mates": Basis.MATE,
    "Black mates": Basis.MATE,
    "White stalemates": Basis.STALEMATE,
    "Black stalemates": Basis.STALEMATE,
    "End by K vs K G8.5 rule": Basis.BARE_KINGS,
    "End by fifty moves rule": Basis.FIFTY_MOVES,
    "End by 3-fold repetition": Basis.REPETITION,
}
REFUSED = {
    # cuteRMob refuses these two as well, and reads something into the others.
    "8/8/8/8/3k4/8/1B6/K7 w - - 0 1": "Black is in check",
    "8/8/8/8/8/8/2B5/K7 w - - 0 1": "Black has no king",
    "8/8/8/8/3k4/8/2B5/K7 w - - 3 80 G0.0": "G0.0 ends the game",
    "8/8/8/8/3k4/8/2B5/K7 w - - 3 80 -G0.5": "-G0.5 ends the game",
    "8/8/8/8/3k4/8/2B5/K7 w - - 3 80 junk": "'junk' is not a G-score",
    "8/8/8/8/3k4/8/2B5/K7 w - - 3 80 G": "'G' is not a G-score",
}
SHORT = "8/8/8/8/3k4/8/2B5/K7 w"
"""A FEN that cuteRMob rejects as well."""


def end(arbiter: Arbiter) -> tuple[GScore, Basis] | None:
    """Return value and basis of a game that is over."""
    outcome = arbiter.outcome
    return None if outcome is None else (outcome.value, outcome.basis)


def test_starts_that_cutermob_rejects_or_misreads_are_rejected() -> None:
    fens = {game["fen"] for game in GAMES}
    invalid = {game["fen"] for game in GAMES if not game.get("valid", True)}
    assert len(GAMES) == 156
    assert fens > {*REFUSED, SHORT} > invalid == {*list(REFUSED)[:2], SHORT}
    for fen, sentence in REFUSED.items():
        assert sentence in refusal(Arbiter, fen), fen
    assert str(Arbiter(SHORT).accrued) == "-G12.5"


def test_games_of_cutermob() -> None:
    for number in [i for i, g in enumerate(GAMES) if g["fen"] not in {*REFUSED, SHORT}]:
        game: dict[str, Any] = GAMES[number]
        arbiter = Arbiter(game["fen"], fifty_move_rule=RULES[game["mode"]], cutoff=game["cutoff"])
        found, results = [(str(arbiter.accrued), arbiter.clock)], [end(arbiter)]
        for uci in game["moves"].split():
            arbiter.push_uci(uci)
            found.append((str(arbiter.accrued), arbiter.clock))
            results.append(end(arbiter))
        assert found == list(zip(game["g"], game["clock"], strict=True)), number
        if game["start_result"]:
            value, reason = game["start_result"].rstrip("}").split(" {")
            assert results[0] == (GScore.parse(value), REASONS[reason]), number
        elif results[1:]:
            assert results[0] is None, number
        assert results[1:-1] == [None] * len(results[1:-1]), number  # its games stop at the first end
        if game["result"] is None:
            assert (results[-1], game["reason"], game["classical"]) == (None, "No result", "*"), number
            continue
        assert results[-1] == (GScore.parse(game["result"]), REASONS[game["reason"]]), number
        assert arbiter.outcome is not None, number
        assert arbiter.outcome.classical == game["classical"], number


# Single rules.


def after(fen: str, moves: str = "", **play: Any) -> Arbiter:
    arbiter = Arbiter(fen, **play)
    for uci in moves.split():
        arbiter.push_uci(uci)
    return arbiter


def told(arbiter: Arbiter) -> tuple[str, int, str | None]:
    """Return the accrued score, the clock and the basis."""
    return str(arbiter.accrued), arbiter.clock, arbiter.basis


BISHOP = "8/8/8/8/3k4/8/2B5/K7 w - -"
"""-G12.5; after Kb2 G5.5."""
ROOK = "3k4/8/8/8/8/8/8/2R4K w - -"
"""After Rd1+ G4.0."""
MATE = "7k/8/6K1/8/8/8/8/R7 w - -"
KINGS = "8/8/2k5/8/8/5K2/8/8 w - -"
"""Ke3 leaves both kings all moves."""
FIFTY = Basis.FIFTY_MOVES


def test_single_rules() -> None:
    for fen, moves, rule, expected in rows("rules.txt", " | "):
        value, clock, reason = told(after(fen, moves, fifty_move_rule=rule))
        assert f"{value} {clock} {reason or ''}".rstrip() == expected, (fen, moves, rule)
    # Improvements at the cutoff count, but are no progress.
    for cutoff, clock, reason in (("G5.5", 100, FIFTY), ("G6", 0, None), ("G3", 100, FIFTY)):
        assert told(after(f"{BISHOP} 99 80 G9.0", "a1b2", cutoff=cutoff)) == ("G5.5", clock, reason)


def test_bare_kings() -> None:
    for rule in FiftyMoveRule:
        ends = rule in (FiftyMoveRule.IMPROVING, FiftyMoveRule.CUTERMOB_LEGACY)
        for switch in (None, True, False):
            arbiter = after(f"{KINGS} 5 9 G5.5", "f3e3", fifty_move_rule=rule, bare_kings=switch)
            over = (GScore.parse("G5.5"), Basis.BARE_KINGS)
            assert end(arbiter) == (over if (ends if switch is None else switch) else None)
    # The start counts, and so does the position of the last capture; a king at the edge is not free.
    assert told(after("8/8/2k5/4p3/5K2/8/8/8 w - - 5 9", "f4e5 c6b6")) == ("G6.5", 1, None)
    assert told(after("8/8/2k5/4p3/5K2/8/8/8 w - - 5 9", "f4e5 c6b6 e5e4")) == ("G6.5", 2, Basis.BARE_KINGS)
    assert told(after("8/8/1k6/8/8/5p2/5K2/8 w - - 0 9", "f2f3 b6c6")) == ("G8.5", 1, Basis.BARE_KINGS)
    assert after("8/8/2k5/8/8/8/8/5K2 w - - 5 9", "f1f2").outcome is None
    assert after("8/8/2k5/8/8/8/8/5K2 w - - 5 9", "f1f2 c6c5").outcome is not None
    assert after("8/8/2k5/8/8/5K2/8/7n w - - 5 9", "f3e3").outcome is None


def test_whole_game_mobility() -> None:
    for fen, moves, expected in (
        ("8/8/2k5/8/4p3/5K2/8/8 w - - 5 9 G5.5", "f3e4", ("G5.5", 0)),
        ("8/8/2k5/8/4p3/5K2/8/8 w - - 5 9 G9.0", "f3e4", ("G7.5", 0)),
        ("8/8/8/4k3/8/8/4P3/4K3 w - - 0 9 G1.5", "e2e3 e5e6", ("G1.5", 1)),
        (f"{BISHOP} 0 80 -G1.5", "", ("-G1.5", 0)),
    ):
        assert told(after(fen, moves, fifty_move_rule="legacy", rules="wg"))[:2] == expected, fen
    with pytest.raises(UsageError, match="ends the game"):
        Arbiter(f"{BISHOP} 0 80 -G0.5", rules="wg")


ROOKS = "8/8/4k3/8/8/2K5/3R3r/8 w - - 0 1", "c3c4 e6e5 c4c3 e5e6"
HOME = "4k3/8/8/8/8/8/8/R3K2R w {} - 0 1"


def test_repetition() -> None:
    for fen, first, round_trip, plies in (
        (*ROOKS[:1], "", ROOKS[1], 8),  # the start counts
        (HOME.format("-"), "", "e1e2 e8e7 e2e1 e7e8", 8),
        (HOME.format("KQ"), "", "e1e2 e8e7 e2e1 e7e8", 9),
        (HOME.format("K"), "", "a1b1 e8e7 b1a1 e7e8", 8),
        (HOME.format("Q"), "", "a1b1 e8e7 b1a1 e7e8", 9),
        ("8/8/8/8/2p5/8/P7/K6k w - - 0 1", "a2a4", "h1h2 a1b1 h2h1 b1a1", 9),
        ("8/8/8/8/1p6/8/P7/K6k w - - 0 1", "a2a4", "h1h2 a1b1 h2h1 b1a1", 10),  # it could be taken at first
        ("8/8/8/8/P1p5/8/8/K6k b - a3 0 1", "", "h1h2 a1b1 h2h1 b1a1", 8),
        ("8/8/8/8/Pp6/8/8/K6k b - a3 0 1", "", "h1h2 a1b1 h2h1 b1a1", 9),
        ("8/8/8/4k3/R1p5/8/1P6/K7 w - - 0 1", "b2b4", "e5e6 a1a2 e6e5 a2a1", 10),
        ("8/8/8/8/R1p1k3/8/1P6/K7 w - - 0 1", "b2b4", "e4e5 a1a2 e5e4 a2a1", 9),  # pinned
    ):
        arbiter, reasons = Arbiter(fen, fifty_move_rule="legacy"), []
        for uci in [*first.split(), *(3 * round_trip.split())][:plies]:
            arbiter.push_uci(uci)
            reasons.append(told(arbiter)[2])
        assert reasons == [None] * (plies - 1) + [Basis.REPETITION], fen


def test_play_goes_on_after_a_repetition() -> None:
    arbiter = after(ROOKS[0], 2 * f"{ROOKS[1]} ")
    assert told(arbiter) == ("G16.5", 8, Basis.REPETITION)
    assert arbiter.outcome is not None
    assert (str(arbiter.outcome.value), arbiter.outcome.classical) == ("G16.5", "1/2-1/2")
    found = []
    for uci in ("d2d8", "back", "back", "e5e6", "c3c4"):
        if uci == "back":
            arbiter.pop()
        else:
            arbiter.push_uci(uci)
        found.append(arbiter.basis)
    assert found == [None, Basis.REPETITION, None, Basis.REPETITION, Basis.REPETITION]
    arbiter = Arbiter(ROOKS[0])
    for _ in range(4):  # moves taken back do not repeat a position
        arbiter.push_uci("c3c4")
        assert arbiter.outcome is None
        assert arbiter.pop().uci() == "c3c4"
    with pytest.raises(IndexError):
        arbiter.pop()


def test_the_board_of_an_arbiter_is_a_copy() -> None:
    board = chess.Board(ROOKS[0])
    arbiter = Arbiter(board)
    arbiter.push_uci("c3c4")
    assert board.fen() == ROOKS[0]
    arbiter.board.push_uci("e6e5")
    assert [move.uci() for move in arbiter.moves] == ["c3c4"]


def random_play(seed: int) -> chess.Board:
    """Return a board with many moves, some of which go back and forth."""
    rng = random.Random(seed)
    fens = (chess.STARTING_FEN, "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 7 9", f"{KINGS} 5 9", f"{ROOK} 60 80")
    board = chess.Board(fens[seed % len(fens)])
    for move in random_moves(rng, board, rng.randrange(1, 60), is_back, 0.8):
        board.push(move)
    return board


def is_back(board: chess.Board, move: chess.Move) -> bool:
    """Return whether a move takes back the last one of the side to move."""
    last = board.move_stack[-2:-1]
    return bool(last) and (move.from_square, move.to_square) == (last[0].to_square, last[0].from_square)


def test_moves_of_a_board_count() -> None:
    """The arbiter of a board equals that of a game from the board's first position."""
    for rule, rules in product(FiftyMoveRule, Variant):
        ends: Counter[Basis | None] = Counter()
        for seed in range(sample(4, 16)):
            board = random_play(seed)
            played = Arbiter(board.root().fen(), fifty_move_rule=rule, rules=rules)
            for move in board.move_stack:
                played.push(move)
            moves = list(board.move_stack)
            arbiter = Arbiter(board, fifty_move_rule=rule, rules=rules)
            assert board.move_stack == moves
            assert arbiter.moves == tuple(moves)
            while True:
                assert seen(arbiter) == seen(played)
                ends[arbiter.basis] += 1
                if not played.moves:
                    break
                assert arbiter.pop() == played.pop()
        assert ends[Basis.REPETITION] > 5, (rule, rules)


def test_an_accrued_score_replaces_the_moves_of_a_board() -> None:
    board = chess.Board("7k/8/5K2/8/8/8/8/R7 w - - 0 1")
    for uci in ("a1g1", "h8h7", "g1a1"):
        board.push_uci(uci)
    assert (str(Arbiter(board).accrued), Arbiter(board).clock) == ("G1.5", 2)
    arbiter = Arbiter(board, accrued="G3.0")
    assert (str(arbiter.accrued), arbiter.moves, arbiter.board) == ("G3.0", (), board)
    fen, passed = board.fen(), "4k3/8/8/8/3pP3/8/8/4K3 b - e3 0 1"
    for start, given, expected in (
        (board, {"accrued": GScore.parse("G3.0")}, "G3.0"),
        (board, {"accrued": "-G9.5"}, "G3.5"),
        (board, {"accrued": FRESH}, "G3.5"),
        (fen, {}, "G3.5"),
        (f"{fen} G1.0", {}, "G1.0"),
        (f"{fen} G1.0", {"accrued": "G2.5"}, "G2.5"),
        (f"{fen} G1.0", {"accrued": FRESH}, "G3.5"),
        # At a clock of 0 a seventh field means nothing; a score that is given does, unless a pawn has moved.
        ("7k/8/5K2/8/8/8/8/R7 b - - 0 1", {"accrued": "-G1.0"}, "-G1.0"),
        (passed, {"accrued": "-G1.0"}, str(Arbiter(passed).accrued)),
        (passed, {"accrued": "-G1.0", "rules": "wg"}, "-G1.0"),
    ):
        assert str(Arbiter(start, **given).accrued) == expected, (start, given)


def test_invalid_histories_and_accrued_scores() -> None:
    null = chess.Board(f"{KINGS} 0 1")
    null.push(chess.Move.null())
    assert refusal(Arbiter, null).startswith(
        "the moves on the board's stack cannot have been played: 0000 is not legal in"
    )
    for accrued, sentence in (("G", "'G' is not a G-score"), ("-G0.5", "-G0.5 ends the game")):
        with pytest.raises(UsageError, match=sentence):
            Arbiter(accrued=accrued)
    with pytest.raises(TypeError, match="the accrued score cannot be int: expected a G-score, text such as"):
        Arbiter(accrued=3)  # type: ignore[arg-type]


def test_mate_and_stalemate_override_the_accrued_score() -> None:
    """Any earlier accrued score is overridden, as in :meth:`Tablebase.probe`."""
    for fen, value, reason in (
        ("R6k/8/6K1/8/8/8/8/8 b - -", "G0.0", Basis.MATE),
        ("k7/8/1QK5/8/8/8/8/8 b - -", "G0.5", Basis.STALEMATE),
    ):
        for clock, seventh in product((0, 3), ("", "G0.0", "-G0.0", "G0.5", "-G0.5", "G1.0", "-G7.5")):
            for rules in Variant:
                arbiter = Arbiter(f"{fen} {clock} 80 {seventh}", rules=rules)
                assert end(arbiter) == (GScore.parse(value), reason), (clock, seventh)


def seen(arbiter: Arbiter) -> tuple[object, ...]:
    """Return all properties of an arbiter."""
    board = arbiter.board
    position = board.fen(shredder=True), board.chess960, board.move_stack
    return arbiter.accrued, arbiter.clock, arbiter.outcome, arbiter.position_score, position


def test_castling() -> None:
    for fen, moves, row in (
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "e1g1 e1h1", "R4RK1"),
        ("r3k2r/8/8/8/8/8/8/R3K2R w HAha - 0 1", "e1c1 e1a1", "2KR3R"),
        ("4k3/8/8/8/8/8/8/1R2K1R1 w KQ - 0 1", "e1g1", "1R3RK1"),
        ("4k3/8/8/8/8/8/8/1R2K1R1 w GB - 0 1", "e1b1", "2KR2R1"),
        ("2k5/8/8/8/8/8/8/1K2R2R w E - 0 1", "b1e1", "5RKR"),  # the inner rook
        ("4k3/8/8/8/8/8/8/1K5R w K - 0 1", "b1h1", "5RK1"),
        ("4k3/8/8/8/8/8/8/5KR1 w G - 0 1", "f1g1", "5RK1"),
    ):
        for uci in moves.split():
            castled = after(fen, uci)
            assert castled.board.board_fen().endswith(f"/{row}"), (fen, uci)
            assert castled.board.castling_rights & chess.BB_RANK_1 == 0
            again = Arbiter(fen)
            again.push_san("O-O-O" if castled.board.king(chess.WHITE) == chess.C1 else "O-O")
            assert seen(again)[:4] == seen(castled)[:4]
            assert again.board.fen() == castled.board.fen()


NONSENSE = [
    *("", " ", "\n\x1b[1m", "x" * 5000),
    *("nonsense", "--", "0000", "Z0", "@@@@", "N@d4", "e2e5", "e7e8q", "a1a8q"),
]


def test_rejected_moves() -> None:
    arbiter = after("4k3/4P3/8/8/8/1N6/8/R3KN2 w Q - 0 1", "e1f2 e8d7 f2e1")
    before = seen(arbiter)
    for text in [*NONSENSE, "e8=Q", "Nbd4", "Nbd2", "O-O-O", "e1c1", "d7e6q", "d7d7", "d7d5"]:
        for push in (arbiter.push_uci, arbiter.push_san):
            assert "is not a legal move in" in refusal(push, text)
    for move in (chess.Move.null(), chess.Move.from_uci("d7d5"), chess.Move.from_uci("N@d4")):
        assert "is not a legal move in" in refusal(arbiter.push, move)
    assert seen(arbiter) == before
    arbiter.push_uci("d7e7")
    assert refusal(arbiter.push_san, "Nd2")
    arbiter.push_san("Nbd2")
    assert "is not a legal move in" in refusal(after(f"{MATE} 0 1", "a1a8").push_uci, "h8h7")


def test_rejected_starts() -> None:
    for fen, sentence in (
        *((text, "is not a FEN") for text in NONSENSE),
        ("4k3/8/8/8/8/8/8/8 w - - 0 1", "White has no king"),
        ("4k3/8/8/8/8/8/8/3KK3 w - - 0 1", "White has 2 kings"),
        ("8/8/8/3kK3/8/8/8/8 w - - 0 1", "the kings stand next to each other"),
        ("4k3/8/8/8/8/8/8/K3R3 w - - 0 1", "Black is in check although White is to move"),
        ("P3k3/8/8/8/8/8/8/K7 w - - 0 1", "first or last rank"),
        ("4k3/8/8/8/8/8/8/4K3 w K - 0 1", "castling rights"),
        ("4k3/8/8/8/8/8/8/4K3 w - e6 0 1", "passed e6"),
        ("4k3/8/8/8/8/8/8/4K3 w - - 1 1 G1.3", "is not a G-score"),
        ("4k3/8/8/8/8/8/8/4K3 w - - 1 1 G1.5 G1.5", "is not a FEN"),
        ("4k3/8/8/8/8/8/8/4K3 w - - -1 1", "halfmove clock"),
    ):
        assert sentence in refusal(Arbiter, fen), fen
    for text in ("", "fide", "legacy ", "x" * 5000, "\x00"):
        sentence = refusal(partial(Arbiter, fifty_move_rule=text))
        assert (
            "is not a 50-move rule: expected one of improving, legacy, cutermob-legacy, none, otb" in sentence
        )
    for text in ("", "-G6.0", "x" * 5000):
        assert "is not a cutoff" in refusal(partial(Arbiter, cutoff=text))
