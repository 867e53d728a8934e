"""Forced mates after promotions, compared with tables."""

import random
from collections.abc import Iterator
from pathlib import Path

import chess
import numpy as np
import pytest

import tbgen
from tbgen.beyond.cell_proof import WrongBoundError
from tbgen.beyond.knowledge import ExitBounds
from tbgen.beyond.promoted_cells import WonCells
from tbgen.beyond.sampled_proofs import MAX_PROVED_WINS, prove_wins
from tbgen.beyond.solved_cells import SolvedCells
from tbgen.beyond.table_source import Tables
from tbgen.board.kinds import QUEEN
from tbgen.board.score import NONE, GScore
from tbgen.cells.bounds import LOWER, WORST, CallbackBoundsSource
from tbgen.cells.cell import PAWN, Cell, lineup_of_cell, man_of, mobile_squares
from tbgen.cells.frames import frame_of_cell
from tbgen.cells.routes import Route, routes_of
from tbgen.cells.wins import Wins
from tbgen.index.layout import BLACK_TO_MOVE, WHITE_TO_MOVE
from tbgen.moves.kernels.frame import mark_legal
from tbgen.moves.kernels.words import Words
from tbgen.moves.structs import make_men
from tests.support.exhaustive import exhaustive
from tests.support.exit_contract import check_source, views_of

pytestmark = pytest.mark.usefixtures("compiled")

BOARDS = [
    "8/1k6/8/5p2/P7/8/8/6K1 w - - 0 1",
    "6k1/8/3b4/8/8/4p3/8/K7 w - - 0 1",
    *exhaustive(["8/1k6/8/8/P7/8/8/6KR w - - 0 1"]),
]
"""Materials with one or two pawns that may promote; a man more, and the table is needed."""


def about_to_promote(board: chess.Board) -> Iterator[chess.Board]:
    """Return the board with the pawns of either side one step before promotion."""
    for colour in chess.COLORS:
        if board.pieces(chess.PAWN, colour):
            after = board.copy(stack=False)
            for pawn in board.pieces(chess.PAWN, colour):
                after.remove_piece_at(pawn)
                rank = 6 if colour else 1
                after.set_piece_at(
                    chess.square(chess.square_file(pawn), rank), chess.Piece(chess.PAWN, colour)
                )
            yield after


@pytest.mark.parametrize("fen", BOARDS)
def test_forced_mates_after_promotions_are_those_of_tables(fen: str, small: Path, four_men: Path) -> None:
    with tbgen.open_tablebase(small) as known_tables, tbgen.open_tablebase(four_men) as all_tables:
        truth = Tables(all_tables)
        for board in about_to_promote(chess.Board(fen)):
            cell = Cell.of_board(board, mobile_squares(board))
            won = WonCells(len(cell.mobile))
            known = ExitBounds(Tables(known_tables), SolvedCells(), wins=won)
            routes = [route for route in routes_of(lineup_of_cell(cell)) if is_to_queen(route, cell)]
            assert len(routes) == 1
            (route,) = routes
            assert not won.knows(route)
            cells = list(won.cells_to_solve(route.destination))
            for each in cells:
                won.solve(each, known)
            assert cells
            assert not list(won.cells_to_solve(route.destination))
            end = route.side
            found, told = won.block(route, end), truth.block(route, end)
            assert found is not None
            assert won.block(route, 1 - end) is None
            mates = told.value == WORST[1 - end]
            claimed = found.value == WORST[1 - end]
            assert ((found.value == NONE) | claimed).all()
            assert not (claimed & ~mates).any()
            assert claimed.sum() > 0.9 * mates.sum()
            assert min(check_source(won, [route], 97, all_tables)) > 20


def test_captures_that_leave_pawns_need_no_table() -> None:
    """The cells after these captures are solved before, and White wins by some of them."""
    queen, pawn = man_of(WHITE_TO_MOVE, QUEEN), man_of(BLACK_TO_MOVE, PAWN)
    board = chess.Board("Q7/1k6/1r6/8/8/8/5p2/6K1 b - - 0 1")
    whole = Cell.of_board(board, mobile_squares(board))
    home = Cell.of_men([man for man in whole.mobile if man != queen], {chess.A8: queen, chess.F2: pawn})
    won, blind, nothing = WonCells(3), WonCells(3), CallbackBoundsSource()
    cells = list(won.cells_to_solve(home))
    assert [("".join(cell.side_letters()), bin(cell.black_pawns).count("1")) for cell in cells[-2:]] == [
        ("KQKP", 1),
        ("KQKRP", 1),
    ]
    found = [won.solve(cell, nothing) for cell in cells][-1]
    without = blind.solve(whole, nothing)
    assert not (without.won & ~found.won).any()
    assert np.bitwise_count(found.won).sum() > 1.2 * np.bitwise_count(without.won).sum()


def test_a_bare_king_has_no_mates_in_blocks(tmp_path: Path) -> None:
    """The bound against a bare king applies where no mate is found, in blocks as in single positions."""
    board = chess.Board("8/P6k/8/8/8/8/8/6K1 w - - 0 1")
    cell = Cell.of_board(board, mobile_squares(board))
    (route,) = (route for route in routes_of(lineup_of_cell(cell)) if is_to_queen(route, cell))
    with tbgen.open_tablebase(tmp_path) as tables:
        known = ExitBounds(Tables(tables), SolvedCells(), wins=WonCells(2))
        for each in list(known.wins.cells_to_solve(route.destination)):
            known.wins.solve(each, known)
        block = known.block(route, LOWER)
        assert block is not None
        views = ((slot, view) for slot in range(route.destination.size) for view in views_of(route, slot))
        found = {(int(block.value[slot]), known.fresh_bounds(view).lower) for slot, view in views}
    assert found == {(0, 0), (GScore("-G0.5").code,) * 2}


def is_to_queen(route: Route, cell: Cell) -> bool:
    """Return whether a route is a promotion to a queen without a capture."""
    frozen = route.destination.frozen
    there = len(route.destination.mobile) == len(cell.mobile)
    return route.promoted_on is not None and there and frozen[0].man.kind == QUEEN


def test_a_wrong_win_does_not_pass_the_proof(small: Path) -> None:
    board = chess.Board("8/1k6/8/8/8/5p2/8/KQ6 w - - 0 1")
    with tbgen.open_tablebase(small) as tables:
        won = WonCells(2)
        known = ExitBounds(Tables(tables), SolvedCells(), wins=won)
        wins = won.solve(Cell.of_board(board, mobile_squares(board)), known, with_rounds=True)
        assert 50 < prove_wins(wins, known, random.Random(1)) <= MAX_PROVED_WINS
        wins.won[BLACK_TO_MOVE] |= legal_words_of(wins)
        wins.rounds[wins.rounds == 0] = 200
        with pytest.raises(
            WrongBoundError, match="the forced mate is not proved, since no win is proved after"
        ):
            prove_wins(wins, known, random.Random(1))


def legal_words_of(wins: Wins) -> Words:
    """Return the legal positions with Black to move."""
    frame = frame_of_cell(wins.cell).frame
    legal = np.zeros((2, frame.words), np.uint64)
    mark_legal(frame, legal, make_men(), 0, frame.words)
    return np.asarray(legal[BLACK_TO_MOVE])
