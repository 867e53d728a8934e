"""LineMaker of solved positions, replayed by the arbiter."""

import random
from collections import Counter
from pathlib import Path

import chess
import pytest

import tbgen
from tbgen.beyond.budget import Meter
from tbgen.beyond.knowledge import ExitBounds
from tbgen.beyond.lines import EndProof, Line, LineMaker
from tbgen.beyond.search import Search
from tbgen.beyond.solution import Solution
from tbgen.beyond.solved_cells import SolvedCells
from tbgen.beyond.solver import solve
from tbgen.beyond.table_source import Tables
from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.cells.bounds import ENDS
from tbgen.cells.cell import CellPosition, CellState
from tbgen.games.referee import Arbiter
from tests.support.exhaustive import sample
from tests.support.random_boards import en_passant_board, random_board
from tests.support.solving import of_cells

MATERIALS = ("KBvKP", "KNvKP", "KRvKP", "KQvKP", "KBPvK", "KRPvK", "KQPvK")
FINE = "8/k7/3p4/p2P1p2/P2P1P2/8/8/K7 w - - 0 1"
BLOCKED = "4k3/8/p1p1p1p1/P1P1P1P1/8/8/8/RN2K2B w - - 0 1"


def played(board: chess.Board, accrued: GScore | None, line: Line) -> Arbiter:
    """Return the game after a line, and check the accrued score of every move against the arbiter."""
    arbiter = Arbiter(board.fen() if accrued is None else f"{board.fen()} {accrued}", fifty_move_rule="none")
    for left, ply in enumerate(reversed(line)):
        assert ply.depth == left
    for ply in line:
        assert arbiter.outcome is None
        assert ply.san == arbiter.board.san(ply.move)
        arbiter.push(ply.move)
        assert arbiter.accrued == ply.accrued
    return arbiter


def check_exact(board: chess.Board, accrued: GScore | None, found: Solution) -> None:
    """Check that the accrued score becomes the value at the end of the line, after ``depth`` plies.

    Without a depth, the line may end earlier, and repeats no position.
    """
    assert found.line is not None
    assert found.lines is None
    arbiter = played(board, accrued, found.line)
    assert arbiter.accrued == found.value or (found.depth is None and not arbiter.board.is_repetition(2))
    before = [found.accrued, *(ply.accrued for ply in found.line)][:-1]
    assert found.depth is None or len(found.line) == found.depth
    assert found.depth is None or found.value not in before


def blocked_board(rng: random.Random) -> chess.Board:
    """Return kings and two pawns that block each other; tables of three men have all exits."""
    while True:
        board, pawn, *kings = chess.Board.empty(), *rng.sample(range(8, 48), 1), *rng.sample(range(64), 2)
        board.turn = rng.random() < 0.5
        men = zip((pawn, pawn + 8, *kings), map(chess.Piece.from_symbol, "PpKk"), strict=True)
        for square, man in men:
            board.set_piece_at(square, man)
        if len(board.piece_map()) == 4 and board.is_valid() and any(board.legal_moves):
            return board


def test_lines_end_in_the_value_after_as_many_plies_as_the_depth(small: Path) -> None:
    rng, kinds = random.Random(1), Counter[str]()
    for number in range(sample(5, 21)):
        material = Material.parse(MATERIALS[number % len(MATERIALS)])
        board = blocked_board(rng) if number % 3 else random_board(rng, material)
        board.halfmove_clock = 9
        score = GScore(rng.randrange(2, 14), rng.random() < 0.5) if number % 2 else None
        found = solve(board, score, tables=small, budget=of_cells(sample(6, 25)), line=True)
        if found.value is not None:
            kinds["depth" if found.depth else "none"] += 1
            check_exact(board, score, found)
    assert kinds["depth"] > sample(1, 9)


def test_en_passant(small: Path) -> None:
    rng = random.Random(3)
    for _ in range(sample(2, 6)):
        board = en_passant_board(rng)
        found = solve(board, tables=small, budget=of_cells(25), line=True)
        if found.value is not None:
            check_exact(board, None, found)


def test_lines_of_positions_in_tables_are_those_of_the_tables(small: Path) -> None:
    board, accrued = chess.Board("8/8/5k1K/5P2/8/8/8/8 w - - 1 60"), "-G2.5"
    found = solve(board, accrued, tables=small, line=True)
    with tbgen.open_tablebase(small) as tables:
        assert list(found.line or ()) == tables.line(board, accrued)
    assert found.depth == len(found.line or ()) == 4


@pytest.mark.parametrize(
    ("fen", "mobile"),
    [(FINE, "a1 a7"), (BLOCKED, "e1 e8"), ("6k1/5ppp/8/8/8/2b5/5PPP/3R2K1 w - - 0 1", "d1 g8")],
)
def test_lines_of_the_games_of_one_cell(fen: str, mobile: str, small: Path) -> None:
    """With one cell solved, the line of each game keeps its value and has as many plies as its depth."""
    board = chess.Board(fen)
    squares = chess.SquareSet(chess.parse_square(name) for name in mobile.split())
    root = CellPosition(board, int(squares))
    with tbgen.open_tablebase(small) as tables:
        known = ExitBounds(Tables(tables), SolvedCells())
        search = Search(known, CellState.fresh(root), Meter(of_cells(1)), lambda *_: None)
        search.run()
        answer = search.probe(CellState.fresh(root))
        assert answer.depths is not None
        lines = LineMaker([EndProof(search)] * 2, root.position_score, exact=False)
        for end in ENDS:
            line = lines.line(end)
            played(board, None, line)
            assert len(line) == answer.depths[end]
            position = root
            for ply in line[:-1]:
                (step,) = (step for step in position.moves() if step.move == ply.move)
                position = step.after
                assert search.probe(CellState(position, ply.accrued.code)).bounds[end] == answer.bounds[end]


def test_lines_of_an_interval(small: Path) -> None:
    found = solve(BLOCKED, tables=small, mobile="auto", budget=of_cells(5), line=True)
    assert found.value is None
    assert found.line is None
    assert found.lines is not None
    for line in found.lines:
        played(chess.Board(BLOCKED), None, line)
