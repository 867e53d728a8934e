"""Reference of :mod:`tbgen.cells.wins`: which positions of a cell White wins by force; slow and obvious."""

import chess

from tbgen.cells.cell import Cell, CellPosition, side_of
from tbgen.cells.wins import WinLookup


def positions(board: chess.Board) -> dict[str, CellPosition]:
    """The positions that quiet moves of kings and pieces reach from a board, whoever begins, by their FEN."""
    found: dict[str, CellPosition] = {}
    other = board.copy(stack=False)
    other.turn = not board.turn
    waiting = [each for each in (board, other) if not each.was_into_check()]
    while waiting:
        here = waiting.pop()
        if here.epd() not in found:
            found[here.epd()] = CellPosition(here, here.occupied & ~here.pawns)
            waiting += [after(here, move) for move in here.legal_moves if is_quiet(here, move)]
    return found


def is_quiet(board: chess.Board, move: chess.Move) -> bool:
    return not board.is_zeroing(move)


def after(board: chess.Board, move: chess.Move) -> chess.Board:
    board = board.copy(stack=False)
    board.push(move)
    board.ep_square = None
    return board


def slow_wins(board: chess.Board, won_after: WinLookup) -> tuple[dict[str, CellPosition], set[str]]:
    """The positions that a board reaches, and those that White wins."""
    cell = Cell.of_board(board, chess.scan_forward(board.occupied & ~board.pawns))
    there = positions(board)
    ways = {name: _ways(cell, position.board, won_after) for name, position in there.items()}
    won: set[str] = set()
    while True:
        more = {
            name
            for name, position in there.items()
            if name not in won
            and (any if position.board.turn else all)(way is True or way in won for way in ways[name])
        }
        if not more:
            return there, won
        won |= more


def _ways(cell: Cell, board: chess.Board, won_after: WinLookup) -> list[str | bool]:
    """The results of all moves that are examined: another position of the cell, or whether White is proved to
    win."""
    if board.turn:
        return [_way(cell, board, move, won_after) for move in board.legal_moves if _counts(board, move)]
    if any(_is_unknown(board, move) for move in board.pseudo_legal_moves):
        return [False]
    if not any(board.legal_moves):
        return [board.is_check()]
    return [_way(cell, board, move, won_after) for move in board.legal_moves]


def _counts(board: chess.Board, move: chess.Move) -> bool:
    """Whether a move of White is examined."""
    return board.piece_type_at(move.from_square) != chess.PAWN


def _is_unknown(board: chess.Board, move: chess.Move) -> bool:
    """Whether a move of Black counts as an escape without examining the next moves."""
    return board.is_capture(move) and chess.PAWN in map(
        board.piece_type_at, (move.from_square, move.to_square)
    )


def _way(cell: Cell, board: chess.Board, move: chess.Move, won_after: WinLookup) -> str | bool:
    then = after(board, move)
    if is_quiet(board, move):
        return then.epd()
    if _is_known(then, move.promotion and move.to_square, won_after):
        return True
    return move.promotion is not None and any(
        _is_known(after(then, reply), None, won_after)
        for reply in then.legal_moves
        if reply.to_square == move.to_square and then.piece_type_at(reply.from_square) != chess.PAWN
    )


def _is_known(board: chess.Board, promoted: chess.Square | None, won_after: WinLookup) -> bool:
    """Whether White is proved to win after a move that leaves the cell; a promoted man is frozen."""
    mobile = board.occupied & ~board.pawns
    if promoted is not None:
        mobile &= ~chess.BB_SQUARES[promoted]
    position = CellPosition(board, mobile)
    words = won_after(position.cell, side_of(board))
    return words is not None and bool(int(words[position.slot >> 6]) >> (position.slot & 63) & 1)
