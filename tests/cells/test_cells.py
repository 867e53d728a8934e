"""Both games of cells, compared with the slow solver position by position."""

from concurrent.futures import CancelledError
from itertools import permutations
from threading import Event

import chess
import numpy as np
import pytest

from tbgen.board.score import NONE, GScore
from tbgen.cells.bounds import (
    ENDS,
    LOWER,
    WORST,
    Block,
    Bounds,
    BoundsGame,
    gather_block,
    part_of,
    pools_of_ends,
)
from tbgen.cells.cell import Cell, CellPosition, lineup_of_cell, side_of
from tbgen.cells.frames import frame_of_cell, workspace_for_cell
from tbgen.cells.games import Games
from tbgen.cells.routes import Route, routes_of
from tbgen.compiler.jit import python_of
from tbgen.moves.kernels.moves import move_buffer
from tbgen.system import memory
from tests.support.exhaustive import exhaustive, sample
from tests.support.made_up_exits import MadeUp, boards, cells, made_up
from tests.support.reference_cell import Cell as ReferenceCell
from tests.support.reference_cell import End
from tests.support.reference_cell import solve_cell as solve_slowly
from tests.support.same_bounds import is_same

NAMES: tuple[End, End] = ("lower", "upper")


def slowly(board: chess.Board, mobile: list[chess.Square], accrued: int | None = None) -> ReferenceCell:
    moving = chess.SquareSet(mobile)
    kinds = {board.piece_at(square) for square in moving}
    still = {square: piece for square, piece in board.piece_map().items() if square not in moving}

    def worth(before: chess.Board, move: chess.Move, end: End, _: int) -> tuple[int, int]:
        after = before.copy(stack=False)
        after.push(move)
        frozen = {square for square, piece in still.items() if before.piece_at(square) == piece}
        frozen.discard(move.to_square)
        if move.from_square in frozen:
            frozen.discard(move.from_square)
            frozen.add(move.to_square)
        free = [
            square
            for square, piece in after.piece_map().items()
            if square not in frozen and piece.piece_type != chess.PAWN
        ]
        assert {after.piece_at(square) for square in free} <= kinds
        then = CellPosition(after, int(chess.SquareSet(free)))
        return made_up(then.cell, not after.turn, then.slot)[NAMES.index(end)]

    return solve_slowly(board, mobile, worth, accrued)


def found_in(bounds: Bounds, position: CellPosition, end: int) -> tuple[int, int]:
    """Return code and depth of a position in one game."""
    at = end, side_of(position.board), position.slot
    return int(bounds.value[at]), int(bounds.depth[at])


@pytest.mark.parametrize(
    ("threads", "worth_sharing"), [(1, 64**4), (6, 0), *exhaustive([(6, 64**4), (2, 0)])]
)
def test_any_number_of_threads_finds_the_same(
    threads: int, worth_sharing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each thread works on one game, or all threads on both. Memory that is given up is filled."""
    monkeypatch.setattr(memory, "CHECKS_MEMORY", True)
    monkeypatch.setattr("tbgen.cells.games._MIN_SHARED_SLOTS", worth_sharing)
    for cell in cells(4, sample(1, 2)):
        games, others = Games(cell, MadeUp()), Games(cell, MadeUp(), threads)
        bounds, found = games.solve(), others.solve()
        assert is_same(found, bounds)
        assert is_same(
            others.accrued_bounds(bounds, GScore("G3.0")), games.accrued_bounds(bounds, GScore("G3.0"))
        )


@pytest.mark.parametrize(("end", "threads"), [(0, 1), (1, 2), *exhaustive([(0, 2), (1, 1)])])
def test_the_game_of_one_end_agrees_with_both_games(end: int, threads: int) -> None:
    """The other end has the worst bounds until its game is added."""
    other, score = 1 - end, GScore("G3.0")
    for cell in cells(5, sample(1, 2)):
        both, one = Games(cell, MadeUp()), Games(cell, MadeUp(), threads, [end])
        bounds, found = both.solve(), one.solve()
        assert (bounds.ends, found.ends) == (tuple(ENDS), (end,))
        assert np.array_equal(found.value[end], bounds.value[end])
        assert np.array_equal(found.depth[end], bounds.depth[end])
        there = bounds.value[end] != NONE
        assert np.array_equal(found.value[other], np.where(there, WORST[other], NONE))
        assert not found.depth[other].any()
        layer, expected = one.accrued_bounds(found, score), both.accrued_bounds(bounds, score)
        assert np.array_equal(layer.value[end], expected.value[end])
        assert np.all(layer.value[other] == NONE)
        more = Games(cell, MadeUp(), threads, [other])
        more.add(one)
        assert more.ends == set(ENDS)
        assert is_same(more.accrued_bounds(bounds, score), expected)


class Exact(MadeUp):
    """Made-up exits whose upper bounds equal the lower ones."""

    def __init__(self, *, told: bool) -> None:
        self._told = told

    def block(self, route: Route, end: int) -> Block:
        block = super().block(route, LOWER)
        assert block is not None
        return block

    def knows_values(self, route: Route) -> bool:
        return self._told


@pytest.mark.parametrize("worth_sharing", [0, 64**4])
def test_one_game_is_enough_where_all_exits_are_exact(
    worth_sharing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On one thread or two. Bounds from before the exits became exact have a layer for each end, as if a
    cell was kept before the cells below it were solved."""
    monkeypatch.setattr("tbgen.cells.games._MIN_SHARED_SLOTS", worth_sharing)
    for cell in cells(7, sample(1, 3)):
        games, both = Games(cell, Exact(told=True), 2), Games(cell, Exact(told=False), 1)
        assert games.nbytes == both.nbytes
        bounds, found, before = games.solve(), both.solve(), Games(cell, MadeUp()).solve()
        assert bounds.has_equal_ends
        assert found.has_equal_ends
        assert 2 * bounds.nbytes == found.nbytes
        assert is_same(bounds, found)
        assert is_same(
            games.accrued_bounds(bounds, GScore("-G2.5")), both.accrued_bounds(found, GScore("-G2.5"))
        )
        assert not before.has_equal_ends
        for score in map(GScore, ("G3.0", "-G2.5")):
            told, untold = (each.accrued_bounds(before, score) for each in (games, both))
            assert not untold.has_equal_ends
            assert is_same(told, untold)


def test_a_cancelled_game_is_not_finished() -> None:
    """It is cancelled between two ranks, as by an interruption."""
    frame, stopped = frame_of_cell(cells(4, 1)[0]), Event()
    (pool,) = pools_of_ends(frame, routes_of(frame), MadeUp(), [LOWER])
    game = BoundsGame(frame, pool)
    stopped.set()
    with pytest.raises(CancelledError):
        game.solve(stopped)


@pytest.mark.parametrize("seed", [4, 5, *exhaustive([1, 3])])
def test_against_the_slow_solver(seed: int) -> None:
    for board, mobile in boards(seed, sample(1, 2)):
        cell = Cell.of_board(board, mobile)
        games = Games(cell, MadeUp())
        bounds = games.solve()
        layers = {code: games.accrued_bounds(bounds, GScore.from_code(code)) for code in (5, 250, 9, 246)}
        reference = slowly(board, mobile)
        still = chess.SquareSet(cell.standing_mask)
        for other in reference.boards():
            position = CellPosition(other, int(chess.SquareSet(other.occupied) - still))
            for end, name in enumerate(NAMES):
                assert found_in(bounds, position, end) == reference.fresh(other, name), (other.fen(), name)
                for code, layer in layers.items():
                    if position.is_over or position.rank < min(code, 255 - code):
                        continue
                    found = found_in(layer, position, end)
                    if found[0] == NONE:
                        found = found_in(bounds, position, end)
                    assert found == reference.state(other, code, name), (other.fen(), name, code)


def test_promotion_beside_a_frozen_man_of_the_same_kind() -> None:
    """The block of a promoted queen has the positions of that queen, not of the frozen one."""
    board = chess.Board("8/P6k/8/8/8/3Q4/8/K7 w - - 0 1")
    cell = Cell.of_board(board, [chess.A1, chess.H7])
    frame = frame_of_cell(cell)
    route = next(
        r for r in routes_of(frame) if r.promoted_on == chess.A8 and r.destination.frozen[1].man.kind == 1
    )
    home = route.destination.with_freed([chess.A8])
    size = home.size
    stored = Block(np.arange(size, dtype=np.int64).astype(np.uint8), (np.arange(size) >> 8).astype(np.uint16))
    men = [(man.colour, man.kind) for man in home.mobile]
    block = gather_block(route.destination.minus_frozen(home), men, 0, stored)
    for slot in (0, 5, 64 * 3 + 7, route.destination.size - 1):
        kings = slot >> 6, slot & 63
        at = home.slot([*kings, chess.A8])
        assert (block.value[slot], block.depth[slot]) == (at & 255, at >> 8)


def test_a_landed_man_stands_on_one_square() -> None:
    """Every capture of a pawn or frozen man leads to the part of the destination that its route has."""
    board = chess.Board("1n5k/8/1R1r2P1/3p4/8/3R4/3n4/K7 w - - 0 1")
    mobile = {chess.B6, chess.D3, chess.D6}
    cell = Cell.of_board(board, mobile)
    routes = [route for route in routes_of(lineup_of_cell(cell)) if route.landing is not None]
    captured = set()
    for turn in chess.COLORS:
        board.turn = turn
        for move in board.generate_legal_captures():
            if move.from_square not in mobile or move.to_square in mobile:
                continue
            captured.add(move.to_square)
            after, left = board.copy(stack=False), mobile - {move.from_square}
            after.push(move)
            part, whole = (Cell.of_board(after, free) for free in (left, left | {move.to_square}))
            at = {part.slot([*squares]) for squares in permuted(part, after)}
            slots = set()
            for route in routes:
                if route.subcell == part:
                    assert (route.side, route.destination) == (not turn, whole)
                    numbers = np.arange(whole.size)
                    block = part_of(Block((numbers >> 16).astype(np.uint8), numbers.astype(np.uint16)), route)
                    slots |= {int(block.value[slot]) << 16 | int(block.depth[slot]) for slot in at}
            assert slots == {whole.slot([*squares]) for squares in permuted(whole, after)}
    assert captured == {chess.B8, chess.D2, chess.D5, chess.G6}


def permuted(cell: Cell, board: chess.Board) -> set[tuple[int, ...]]:
    """Return the squares of the mobile men in a position, with men of the same kind in every order."""
    squares = cell.squares_of(board)
    return {
        tuple(squares[place] for place in order)
        for order in permutations(range(len(squares)))
        if [cell.mobile[place] for place in order] == [*cell.mobile]
    }


def test_buffers_hold_the_squares_of_a_full_board() -> None:
    """Kernels write the squares of all scalars, including frozen ones."""
    board = chess.Board("rnbqkbnr/nnnnnnnn/8/8/8/8/NNNNNNNN/RNBQKBNR w - - 0 1")
    frame = frame_of_cell(Cell.of_board(board, [chess.E1])).frame
    assert frame.scalars == 31
    scratches = [attacker.scratch for attacker in workspace_for_cell(frame).attackers]
    squares = [python_of(move_buffer)(1).squares, *(scratch.moves.squares[0] for scratch in scratches)]
    squares += [scratch.exit_buffer.men.squares for scratch in scratches]
    assert min(map(len, squares)) >= frame.scalars
