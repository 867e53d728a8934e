"""The search, and its substitute until it is loaded, play soundly by the rules of r-mobility."""

import random
from collections.abc import Iterator
from pathlib import Path

import chess
import pytest

from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.engine.compiled_search import CompiledSearch
from tbgen.engine.first_move import immediate_moves
from tbgen.engine.game import RootLine, SearchGame
from tbgen.engine.scale import mate_plies, nearest_score, worth
from tbgen.engine.table_advice import EngineTables
from tbgen.engine.workspace import SearchWorkspace
from tbgen.probe.tablebase import open_tablebase
from tests.support.depths import known
from tests.support.engines import game
from tests.support.exhaustive import sample
from tests.support.random_boards import random_board


def searched(arbiter: SearchGame, depth: int, tables: EngineTables | None = None) -> RootLine:
    """Return the result of a search, half deeper than ``depth`` because of late move reductions.

    The search waits for tables in the first iterations. Check that the game is unchanged afterwards.
    """
    before, moves = (arbiter.live.fen(), arbiter.accrued, arbiter.position_count), [*arbiter.live.legal_moves]
    work = SearchWorkspace.with_table_size(1)
    search = CompiledSearch(arbiter, moves, work, tables, lambda _: False, patience=600)
    found = search.run(depth + depth // 2, lambda: False, lambda _: None)
    assert (arbiter.live.fen(), arbiter.accrued, arbiter.position_count) == before
    return found


def positions(seed: int, count: int, men: int) -> Iterator[chess.Board]:
    """Yield positions of random games with more than five men, but at most a number of men."""
    rng = random.Random(seed)
    while count:
        board = chess.Board()
        while any(board.legal_moves) and not 5 < len(board.piece_map()) <= men:
            captures = list(board.generate_legal_captures())
            board.push(rng.choice(captures if captures and rng.random() < 0.7 else list(board.legal_moves)))
            if board.ply() > 400:
                break
        if any(board.legal_moves) and 5 < len(board.piece_map()) <= men:
            count -= 1
            yield board


def test_it_mates() -> None:
    for fen, plies, depths in (
        ("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", 1, (1, 2, 3)),
        ("r5k1/5ppp/8/8/8/8/1q3PPP/6K1 b - - 0 1", 1, (1, 2, 3)),
        ("r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4", 1, (1, 2, 3)),
        ("7k/8/8/8/8/8/R6P/1R5K w - - 0 1", 3, (4,)),
    ):
        for depth in depths:
            found, board = searched(game(fen), depth), game(fen).board
            assert (mate_plies(found.value), len(found.line)) == (plies, plies)
            assert (found.value > 0) == board.turn
            for move in found.line:
                board.push(move)
            assert board.is_checkmate()


def test_stalemate_is_better_than_a_low_count() -> None:
    """Black cannot mate, so he should leave as few moves as possible: none without check is G0.5."""
    arbiter = game("7k/8/6K1/8/8/8/8/5B2 w - - 6 80 G4.0")
    found = searched(arbiter, 4)
    assert nearest_score(found.value) == GScore("G0.5")


def test_a_lower_count_of_moves_is_better() -> None:
    """The bare bishop cannot mate; its line reaches the value of the table."""
    arbiter = game("8/8/8/4KBk1/8/8/8/8 b - - 0 1")
    for move in searched(arbiter, 4).line:
        arbiter.play(move)
    assert arbiter.accrued == GScore("G1.5")


SHUFFLED = ["e1e2", "d5c5", "e2e1", "c5d5", "e1e2", "d5c5", "e2e1", "c5d5"]


def test_the_holder_of_the_score_repeats_and_the_other_side_does_not() -> None:
    """The third occurrence of a position ends the game, and Black keeps the accrued score."""
    fen, held = "8/8/8/3k4/8/8/8/R3K3 w - - 9 9 -G2.5", GScore("-G2.5")
    found = searched(game(fen, *SHUFFLED[:7]), 2)
    assert (found.line[0].uci(), found.value) == ("c5d5", worth(held))
    found = searched(game(fen, *SHUFFLED[:6]), 2)
    assert found.line[0].uci() != "e2e1"
    assert found.value > 0


def test_it_plays_on_after_the_end_of_a_game() -> None:
    arbiter = game("8/8/8/3k4/8/8/8/R3K3 w - - 9 9", *SHUFFLED)
    assert arbiter.outcome is not None
    assert arbiter.live.is_legal(searched(arbiter, 2).line[0])


def test_the_value_of_a_search_with_tables_is_that_of_the_tables(small: Path) -> None:
    """If a table decides, the search finds its exact value and its number of plies."""
    leaves, decided = EngineTables([small], print), 0
    leaves.wait(print)
    rng = random.Random(8)
    with open_tablebase(small) as truth:
        for number in range(sample(16, 60)):
            board = random_board(rng, Material.parse(("KRvK", "KQvK", "KPvK", "KNvK")[number % 4]))
            if not any(board.legal_moves):
                continue
            found = searched(game(board.fen()), 1, leaves)
            promised = truth.probe(board)
            assert nearest_score(found.value) == promised.value
            if promised.depth and promised.value.rank == 0:
                assert mate_plies(found.value) == promised.depth
                decided += 1
    assert decided > 5


CAPTURE = "8/8/8/8/3k4/8/1r6/K1R5 w - - 0 1"
"""Four men without a table; the capture of the rook leads to a table of three men."""


def test_requests_from_before_the_tables_are_ready_are_answered_later(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search begins while the code of the tables is being loaded."""
    leaves, work, arbiter = EngineTables([small], print), SearchWorkspace.with_table_size(1), game(CAPTURE)
    leaves.wait(print)
    moves = list(arbiter.live.legal_moves)
    for loaded in (False, True):
        monkeypatch.setattr(EngineTables, "try_loading", [lambda _: False, lambda _: True][loaded])
        patience = 600.0 if loaded else 0.01
        search = CompiledSearch(arbiter, moves, work, leaves, lambda _: False, patience=patience)
        found = search.run(3, lambda: False, lambda _: None)
        assert (search.counts.table_hits > 0) == loaded
    with open_tablebase(small) as truth:
        promised = truth.probe("8/8/8/8/3k4/8/1K6/2R5 b - - 0 1")
    assert (found.line[0].uci(), mate_plies(found.value)) == ("a1b2", 1 + known(promised.depth))


def test_moves_are_legal_and_lines_can_be_played() -> None:
    for board in positions(1, 12, 12):
        found = searched(game(board.fen()), 2)
        for move in found.line:
            assert board.is_legal(move)
            board.push(move)


def test_a_first_move_captures_unguarded_men_and_leaves_none_en_prise(small: Path) -> None:
    """First moves are made until the search is loaded; existing tables decide them."""
    for fen, moves in (
        ("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", {"d1d8"}),  # mates
        ("6k1/5ppp/8/3r4/8/8/5PPP/3Q2K1 w - - 0 1", {"d1d5"}),
        ("6k1/5ppp/4p3/3r4/8/2N5/5PPP/3Q2K1 w - - 0 1", {"c3d5"}),
        ("6k1/5p1p/4p1p1/3q4/8/4P3/5PPP/3Q2K1 b - - 0 1", {"d5d1"}),
        (CAPTURE, {"a1b2"}),
    ):
        arbiter = game(fen)
        known_value = EngineTables([small], print).look_up
        told, counts = immediate_moves(arbiter, list(arbiter.live.legal_moves), known_value, 2)
        best = told[0]
        assert best.line[0].uci() in moves, fen
        assert [line.place for line in told] == [1, 2]
        assert (arbiter.live.fen(), counts.nodes) == (fen, arbiter.live.legal_moves.count())
    assert mate_plies(best.value) == 1 + known(choice_depth(small))


def choice_depth(small: Path) -> int | None:
    with open_tablebase(small) as truth:
        return truth.probe("8/8/8/8/3k4/8/1K6/2R5 b - - 0 1").depth
