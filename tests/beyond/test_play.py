"""The moves that play follows, their order, and play where bounds are inconsistent."""

from collections.abc import Callable
from itertools import cycle

import chess

from tbgen.beyond import attempt
from tbgen.beyond.exit_sources import Answer
from tbgen.beyond.play import Play, PlayFollower, followed_moves
from tbgen.beyond.state_bounds import States
from tbgen.board.score import Code
from tbgen.cells.cell import Cell, CellPosition, CellState
from tbgen.cells.interval import ALL_SCORES, Interval

KINGS = chess.Board("8/8/3k4/8/8/3K4/8/8 w - - 0 1")
KING_MOVE = chess.Move(chess.D3, chess.D4)
CLOSE = Interval(Code(247), Code(12))


def position(board: chess.Board) -> CellPosition:
    return CellPosition(board, board.kings)


def answer(lower: int, upper: int, *depths: int) -> Answer:
    return Answer(Interval(Code(lower), Code(upper)), (depths[0], depths[1]) if depths else None)


def chosen(
    answers: list[Answer], now: Answer, board: chess.Board = KINGS, *, wide: bool = False
) -> list[int]:
    """Return the indices of the moves that play follows in a close window, from their bounds."""
    moves = list(zip(position(board).moves(), answers, strict=False))
    steps = [step.move for step, _ in moves]
    kept = followed_moves(moves, now.bounds, board, CLOSE, wide=wide)
    return [steps.index(step.move) for step, _ in kept]


def test_moves_that_reach_the_hoped_for_score_soonest_come_first() -> None:
    known = [answer(250, 20, 3, 9), answer(250, 14, 0, 40), answer(251, 14, 0, 7), answer(20, 14, 1, 1)]
    assert chosen(known, answer(250, 14)) == [3, 2, 1]


def test_black_hopes_for_the_lower_end() -> None:
    board = KINGS.copy()
    board.turn = chess.BLACK
    known = [answer(245, 8, 5, 0), answer(246, 10, 30, 0), answer(246, 244, 4, 50), answer(240, 8, 1, 1)]
    assert chosen(known, answer(246, 8), board) == [2, 1]


def test_solved_moves_are_in_the_order_of_those_of_tables() -> None:
    """Who loses a score prefers the longest way, whoever moves."""
    for white, worse in ((True, 250), (False, 5)):
        answers = [answer(worse, worse, depth, depth) for depth in (3, 8)]
        quick, slow = (attempt._move_sort_key((KING_MOVE, each), white, Code(128)) for each in answers)
        assert slow < quick


def test_squares_after_moves_inside_a_cell_are_those_of_the_board() -> None:
    """Alike men are in the order of their squares, which a move may change."""
    rooks = chess.Board("4k3/8/3r4/8/2R1P3/R7/8/4K3 w - - 0 1")
    steps = list(CellPosition(rooks, rooks.kings | rooks.rooks).moves())
    assert {step.is_inside for step in steps} == {False, True}
    for step in steps:
        assert step.after.key == CellPosition(step.after.board, step.after.mobile).key


def test_moves_that_the_window_does_not_distinguish_are_left_out() -> None:
    known = [answer(250, 248, 1, 1), answer(11, 3, 1, 1), answer(250, 3, 9, 9)]
    assert chosen(known, answer(250, 3)) == [2]


def test_wide_play_follows_moves_that_may_be_better_than_what_is_sure() -> None:
    known = [answer(250, 20, 3, 9), answer(250, 14, 0, 40), answer(240, 30, 0, 7)]
    assert chosen(known, answer(25, 14), wide=True) == [1, 0]


class MadeUpStates(States):
    """States of two kings, whose bounds are better than those of all their moves."""

    def __init__(self, own: Answer, moves: Callable[[], Answer]) -> None:
        self._own, self._moves = own, moves

    def look_up(self, state: CellState) -> Answer:
        return self._own

    def answer_after(self, state: CellState, step: object) -> Answer:
        return self._moves()


def play(own: Answer, moves: list[Answer], most: int) -> Play:
    turns = cycle(moves)
    states = MadeUpStates(own, lambda: next(turns))

    def enters(cell: Cell) -> bool:
        return True

    start = CellState.fresh(position(KINGS))
    follower = PlayFollower(states, start, enters, False, lambda _: ALL_SCORES)
    return follower.follow(most, lambda: True)


def test_play_continues_where_a_bound_is_better_than_all_moves() -> None:
    """The ranks of a threshold may no longer be kept, so that the bounds after moves are wider."""
    found = play(answer(254, 8, 57, 40), [answer(251, 14, 18, 5), answer(249, 17, 60, 3)], 50)
    assert sum(map(len, found.states.values())) == 50
    assert not found.is_complete


def test_states_are_examined_once() -> None:
    found = play(answer(254, 8, 57, 40), [answer(254, 8, 18, 5)], 600)
    seen = [state.key for states in found.states.values() for state in states]
    assert len(seen) == len(set(seen)) == 600
