"""The searches, compiled and in Python, play by the rules of r-mobility and soundly."""

import operator
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeAlias

import chess
import pytest

from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.engine.compiled_search import CompiledSearch
from tbgen.engine.game import SearchGame
from tbgen.engine.room import SearchRoom
from tbgen.engine.scale import mate_plies, nearest, worth
from tbgen.engine.table_advice import EngineTables
from tbgen.engine.tree_search import Memory, RootLine, TreeSearch, estimate
from tbgen.probe.tablebase import open_tablebase
from tests.support.depths import known
from tests.support.engines import game
from tests.support.exhaustive import sample
from tests.support.random_boards import random_board


def unknown(_: SearchGame) -> None:
    """What is known where there are no tables."""


def in_python(arbiter: SearchGame, depth: int, tables: EngineTables | None = None) -> RootLine:
    """What the search in Python finds by so many plies."""
    moves, known_value = list(arbiter.live.legal_moves), tables.known if tables else unknown
    search = TreeSearch(arbiter, moves, known_value, Memory(16), lambda _: False)
    return search.run(depth, lambda: False, lambda _: None)


def in_machine_code(arbiter: SearchGame, depth: int, tables: EngineTables | None = None) -> RootLine:
    """What the compiled search finds by half as many plies more, for it searches late moves less; what tables
    say of the first plies is waited for."""
    moves = list(arbiter.live.legal_moves)
    search = CompiledSearch(arbiter, moves, Memory(1).room, tables, lambda _: False, patience=600)
    return search.run(depth + depth // 2, lambda: False, lambda _: None)


Searched: TypeAlias = Callable[..., RootLine]


@pytest.fixture(params=[in_python, in_machine_code])
def searched(request: pytest.FixtureRequest) -> Searched:
    """A search, which leaves the game as it was."""

    def run(arbiter: SearchGame, depth: int, tables: EngineTables | None = None) -> RootLine:
        before = arbiter.live.fen(), arbiter.accrued, arbiter.length
        found: RootLine = request.param(arbiter, depth, tables)
        assert (arbiter.live.fen(), arbiter.accrued, arbiter.length) == before
        return found

    return run


def positions(seed: int, count: int, men: int) -> Iterator[chess.Board]:
    """Positions of random games with so many men or fewer, but more than five."""
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


def test_it_mates(searched: Searched) -> None:
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


def test_stalemate_is_better_than_a_low_count(searched: Searched) -> None:
    """Black has no way to mate, and the fewer moves he leaves the better: none without check is G0.5."""
    arbiter = game("7k/8/6K1/8/8/8/8/5B2 w - - 6 80 G4.0")
    found = searched(arbiter, 4)
    assert nearest(found.value) == GScore("G0.5")


def test_a_lower_count_of_moves_is_better(searched: Searched) -> None:
    """The bare bishop cannot mate, and its line comes to what the table promises."""
    arbiter = game("8/8/8/4KBk1/8/8/8/8 b - - 0 1")
    for move in searched(arbiter, 4).line:
        arbiter.play(move)
    assert arbiter.accrued == GScore("G1.5")


SHUFFLED = ["e1e2", "d5c5", "e2e1", "c5d5", "e1e2", "d5c5", "e2e1", "c5d5"]


def test_who_holds_the_score_repeats_and_the_other_one_does_not(searched: Searched) -> None:
    """The third time a position comes up the game is over, and Black has what has accrued."""
    fen, held = "8/8/8/3k4/8/8/8/R3K3 w - - 9 9 -G2.5", GScore("-G2.5")
    found = searched(game(fen, *SHUFFLED[:7]), 2)
    assert (found.line[0].uci(), found.value) == ("c5d5", worth(held))
    found = searched(game(fen, *SHUFFLED[:6]), 2)
    assert found.line[0].uci() != "e2e1"
    assert found.value > 0


def test_it_plays_on_where_the_game_is_over_and_nobody_has_said_so(searched: Searched) -> None:
    arbiter = game("8/8/8/3k4/8/8/8/R3K3 w - - 9 9", *SHUFFLED)
    assert arbiter.outcome is not None
    assert arbiter.live.is_legal(searched(arbiter, 2).line[0])


def test_the_value_of_a_search_with_tables_is_that_of_the_tables(searched: Searched, small: Path) -> None:
    """Where one decides, the search has its value, exactly and as soon."""
    leaves, decided = EngineTables([small], print), 0
    leaves.load(wait=True)
    rng = random.Random(8)
    with open_tablebase(small) as truth:
        for number in range(sample(16, 60)):
            board = random_board(rng, Material.parse(("KRvK", "KQvK", "KPvK", "KNvK")[number % 4]))
            if not any(board.legal_moves):
                continue
            found = searched(game(board.fen()), 1, leaves)
            promised = truth.probe(board)
            assert nearest(found.value) == promised.value
            if promised.depth and promised.value.rank == 0:
                assert mate_plies(found.value) == promised.depth
                decided += 1
    assert decided > 5


CAPTURE = "8/8/8/8/3k4/8/1r6/K1R5 w - - 0 1"
"""Four men in no table; the capture of the rook leads to one of three."""


def test_what_was_asked_before_tables_could_tell_is_told_later(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search that begins while their code is loaded."""
    leaves, room, arbiter = EngineTables([small], print), SearchRoom.of(1), game(CAPTURE)
    leaves.load(wait=True)
    moves = list(arbiter.live.legal_moves)
    for loaded in (False, True):
        monkeypatch.setattr(EngineTables, "can_tell", loaded)
        patience = 600.0 if loaded else 0.01
        search = CompiledSearch(arbiter, moves, room, leaves, lambda _: False, patience=patience)
        found = search.run(3, lambda: False, lambda _: None)
        assert (search.hits > 0) == loaded
    with open_tablebase(small) as truth:
        promised = truth.probe("8/8/8/8/3k4/8/1K6/2R5 b - - 0 1")
    assert (found.line[0].uci(), mate_plies(found.value)) == ("a1b2", 1 + known(promised.depth))


def test_moves_are_legal_and_lines_can_be_played(searched: Searched) -> None:
    for board in positions(1, 12, 12):
        found = searched(game(board.fen()), 2)
        for move in found.line:
            assert board.is_legal(move)
            board.push(move)


def test_colours_swapped_the_game_is_the_same() -> None:
    for board in positions(2, 6, 9):
        both = estimate(game(board.fen())) + estimate(game(board.mirror().fen()))
        assert abs(both) < 10  # of a thousand millions: rounded down


def test_more_men_and_a_king_at_the_edge_are_better() -> None:
    ahead = estimate(game("8/8/8/3k4/8/8/1P5P/R6K w - - 0 1"))
    assert ahead > estimate(game("8/8/8/3k4/8/8/7P/R6K w - - 0 1")) > 0
    assert estimate(game("3k4/8/8/8/8/8/1P5P/R6K w - - 0 1")) > ahead


def test_the_accrued_score_counts_more_with_fewer_men() -> None:
    def difference(pieces: str) -> int:
        return estimate(game(f"{pieces} w - - 9 9 G2.5")) - estimate(game(f"{pieces} w - - 9 9 -G2.5"))

    few, many = difference("4k3/r7/8/8/8/8/R7/4K3"), difference("4k3/rppp4/8/8/8/8/RPPP4/4K3")
    assert few > many > 0


def test_a_stopped_search_has_a_move() -> None:
    arbiter = game(chess.STARTING_FEN)
    for nodes in (1, 2, 25, 300):
        over = partial(operator.le, nodes)
        search = TreeSearch(arbiter, list(arbiter.live.legal_moves), unknown, Memory(1), over)
        told: list[RootLine] = []
        found = search.run(None, lambda: False, told.append)
        assert arbiter.live.is_legal(found.line[0])
        assert arbiter.length == 1
        assert told[-1] == found
        assert nodes <= search.nodes < nodes + 60
