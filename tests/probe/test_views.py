"""Views: positions of three men against an independent solver, and python-chess's conventions."""

import random
from collections.abc import Iterator
from pathlib import Path

import chess
import chess.gaviota
import numpy as np
import pytest

from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.errors import MissingTableError, PositionError, TbgenError, UsageError
from tbgen.index.position import locate
from tbgen.probe.tablebase import Tablebase, open_tablebase
from tbgen.probe.views import ClassicalTables, View
from tests.support.exhaustive import exhaustive, sample
from tests.support.random_boards import random_board
from tests.support.view_solver import solve_view

THREE_MEN = ["KvK", "KQvK", "KRvK", "KBvK", "KNvK", "KPvK"]
SEEN = [("KRvK", View.CLASSICAL), ("KBvK", View.STALEMATE_WINS), ("KBvK", View.LASKER)]
OTHERS = [(name, view) for name in THREE_MEN for view in View if (name, view) not in SEEN]
GOALS = {View.CLASSICAL: (1.0, 0.5), View.STALEMATE_WINS: (1.0, 1.0), View.LASKER: (1.0, 0.75)}


@pytest.fixture(scope="module")
def tablebase(three_men: Path) -> Iterator[Tablebase]:
    """All tables of up to three men."""
    with open_tablebase(three_men) as tablebase:
        yield tablebase


@pytest.fixture(scope="module")
def classical(tablebase: Tablebase) -> ClassicalTables:
    """Three men, as classical chess has it."""
    return tablebase.view("classical")


@pytest.mark.parametrize(("name", "view"), [*SEEN, *exhaustive(OTHERS)])
def test_what_a_view_says(name: str, view: View, tablebase: Tablebase) -> None:
    """Boards of either colouring and their moves, against the solver."""
    rng = random.Random(name)
    seen = tablebase.view(view.value)

    def expected(board: chess.Board) -> tuple[float, int | None]:
        material, swapped = Material.of_board(board)
        position = locate(board)
        squares = tablebase.table(material).board(position.side, position.slot)
        assert isinstance(squares, chess.Board)
        place = place_of(squares, material)
        solved = solve_view(material.name, *GOALS[view])
        points = float(solved.points[place])
        depth = int(solved.plies[place]) if view is View.CLASSICAL else None
        return 1 - points if swapped else points, depth

    boards = [random_board(rng, Material.parse(name)) for _ in range(sample(25, 200))]
    results = list(seen.probe_many(boards))
    for board, result in zip(boards, results, strict=True):
        assert not isinstance(result, TbgenError)
        assert result == seen.probe(board) == seen.get(board.fen())
        assert (result.points.white, result.depth) == expected(board)
        assert (result.view, result.material.name, sum(result.points)) == (view, name, 1)
        assert (result.winner is None) == (result.points.white == 0.5)
        moves = seen.moves(board)
        assert {move.move for move in moves} == set(board.legal_moves)
        for move in moves:
            after = board.copy()
            after.push_san(move.san)
            assert (move.points.white, move.depth) == expected(after)
            assert move.zeroing == board.is_zeroing(move.move)
            assert move.position_score == GScore.of_board(after)
        if moves:
            best = [move.points[not board.turn] for move in moves]
            assert best == sorted(best, reverse=True)
            assert moves[0].points == result.points
            if result.depth:
                assert moves[0].depth == result.depth - 1
                assert moves[0].winner == result.winner


def place_of(board: chess.Board, material: Material) -> int:
    """The number of a position in the arrays of the solver."""
    men = [board.king(chess.WHITE), board.king(chess.BLACK)]
    men += list(chess.scan_forward(board.occupied & ~board.kings))
    return int(np.ravel_multi_index((int(not board.turn), *men), (2,) + (64,) * material.men))  # type: ignore[arg-type]


def test_the_conventions_of_python_chess(tablebase: Tablebase, classical: ClassicalTables) -> None:
    """The examples of chess.gaviota, its methods, and mates that play finds in as many plies."""
    assert classical.probe_dtm(chess.Board("8/8/8/8/8/8/8/K2kr3 w - - 0 1")) == -10
    assert classical.probe_wdl(chess.Board("8/4k3/8/B7/8/8/8/4K3 w - - 0 1")) == 0
    for method in ("probe_dtm", "get_dtm", "probe_wdl", "get_wdl", "close", "__enter__", "__exit__"):
        assert hasattr(chess.gaviota.PythonTablebase, method)
        assert hasattr(classical, method)
    rng, mates = random.Random("gaviota"), 0
    for _ in range(sample(60, 150)):
        board = random_board(rng, Material.parse(rng.choice(["KQvK", "KRvK", "KPvK"])))
        dtm, wdl = classical.probe_dtm(board), classical.probe_wdl(board)
        assert type(dtm) is type(wdl) is int
        assert (classical.get_dtm(board), classical.get_wdl(board)) == (dtm, wdl)
        assert wdl == (dtm > 0) - (dtm < 0) or (board.is_checkmate() and (dtm, wdl) == (0, -1))
        side, left = board.turn, dtm
        while left:
            board.push(classical.moves(board)[0].move)
            after = classical.probe_dtm(board)
            assert (after > 0) != (left > 0)
            assert abs(after) == abs(left) - 1
            left = after
        if dtm:
            assert board.is_checkmate()
            assert (board.turn == side) == (dtm < 0)
            mates += 1
    assert mates > sample(20, 50)


def test_positions_that_tables_do_not_hold(tablebase: Tablebase, classical: ClassicalTables) -> None:
    """A KeyError and a default, as in python-chess; in other methods the errors of the tablebase."""
    for board in (chess.Board(), chess.Board("4k3/8/8/8/8/8/PPP5/4K2R w K - 0 1")):
        for probe, get in (
            (classical.probe_dtm, classical.get_dtm),
            (classical.probe_wdl, classical.get_wdl),
        ):
            with pytest.raises(KeyError) as caught:
                probe(board)
            assert isinstance(caught.value, PositionError)
            assert str(caught.value).startswith("the position has ")
            assert get(board) is None
            assert get(board, 7) == 7
        with pytest.raises(UsageError):
            classical.probe(board)
        assert classical.get(board) is None
    with pytest.raises(UsageError, match="'suicide' is not a view: expected one of classical, "):
        tablebase.view("suicide")
    with pytest.raises(TypeError, match=r"the position cannot be float: expected a chess\.Board or a FEN"):
        classical.probe(1.5)  # type: ignore[arg-type]


def test_missing_tables(tmp_path: Path) -> None:
    board = chess.Board("8/8/8/8/8/8/8/K2kr3 w - - 0 1")
    with open_tablebase(tmp_path) as tables, tables.view("classical") as classical:
        with pytest.raises(KeyError) as caught:
            classical.probe_dtm(board)
        assert isinstance(caught.value, MissingTableError)
        assert (classical.get_dtm(board), classical.get_wdl(board, 5)) == (None, 5)
        assert tables.view("lasker").get(board) is None
    with pytest.raises(ValueError, match="closed"):
        tables.probe(board)


def test_a_history_counts_for_nothing(tablebase: Tablebase) -> None:
    board = chess.Board("8/8/8/4KBk1/8/8/8/8 b - - 0 1")
    for san in ("Kh5", "Kf4"):
        board.push_san(san)
    assert tablebase.view("lasker").probe(board) == tablebase.view("lasker").probe(board.fen())


def test_whole_game_tables_say_the_same(whole_game_tables: Path) -> None:
    """Mates and stalemates that can be forced are the same in both games."""
    rng = random.Random("whole games")
    with open_tablebase(whole_game_tables) as one, open_tablebase(whole_game_tables, rules="wg") as other:
        for name in ("KQvKR", "KPvKP", "KBNvK", "KRvKN", "KNvKP"):
            boards = [random_board(rng, Material.parse(name)) for _ in range(sample(25, 100))]
            for view in View:
                found = [list(tables.view(view.value).probe_many(boards)) for tables in (one, other)]
                assert found[0] == found[1]
