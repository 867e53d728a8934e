"""Random cells (`reference_cell`) that are small: locked pawns leave the men few squares."""

import math
import random
from collections.abc import Iterator

import chess

MOST_POSITIONS = 3000
PIECES = (chess.QUEEN, chess.ROOK, chess.BISHOP, chess.KNIGHT)
WALLS = ([1, 4, 7], [0, 3, 6], [1, 4, 6], [1, 3, 6])
"""Files of three pawns that guard or fill their row."""


def random_cells(rng: random.Random, count: int) -> Iterator[tuple[chess.Board, list[chess.Square]]]:
    """Boards of 6-9 men and the squares of those that are mobile, some of either side; they reach 3,000
    positions at most.

    Pawns stand face to face. There may be others that can move or be captured, frozen pieces, castling rights
    and an en passant right.
    """
    for _ in range(count):
        number, least = rng.randint(6, 9), rng.choice((2, 2, 2, 3))
        found = None
        while found is None:
            found = _random_cell(rng, number, least)
        yield found


def _random_cell(
    rng: random.Random, number: int, least: int
) -> tuple[chess.Board, list[chess.Square]] | None:
    """A board of so many men and its mobile men, `least` or more; None if that has not come out."""
    board = _random_board(rng, number)
    if chess.popcount(board.occupied) != number or not board.is_valid() or not any(board.legal_moves):
        return None
    board = _after_a_double_step(board) or board
    mobile = _mobile(rng, board)
    both = len({board.color_at(square) for square in mobile}) == 2
    return (board, mobile) if both and len(mobile) >= least else None


def _random_board(rng: random.Random, number: int) -> chess.Board:
    """A wall of pawns, kings and some other men, `number` or more; not always a legal position."""
    board = chess.Board(None)
    board.turn = rng.random() < 0.5
    if number < 8 or rng.random() < 0.4:
        _corner(rng, board)
    else:
        _wall(rng, board, pairs=number - rng.choice((5, 6)))
    castling = rng.random() < 0.5 if number > 7 and rng.random() < 0.3 else None
    for colour in chess.COLORS:
        if board.king(colour) is not None:
            continue
        home = chess.E1 if colour else chess.E8
        _place(rng, board, chess.Piece(chess.KING, colour), [home] if castling == colour else chess.SQUARES)
        if castling == colour:
            _place(rng, board, chess.Piece(chess.ROOK, colour), [home + 3, home - 4])
            _place(rng, board, chess.Piece(rng.choice(PIECES), colour), chess.SQUARES)
    if number > 7 and castling is None and rng.random() < 0.3:
        # A pawn that can pass another, which can then take it in passing.
        home, file = chess.A2 if board.turn else chess.A7, rng.randrange(7)
        beside = file + 1 + (16 if board.turn else -16)
        _place(rng, board, chess.Piece(chess.PAWN, board.turn), [home + file])
        _place(rng, board, chess.Piece(chess.PAWN, not board.turn), [home + beside])
    while chess.popcount(board.occupied) < number:
        kind = chess.PAWN if rng.random() < 0.2 else rng.choice(PIECES)
        squares = chess.SQUARES[8:56] if kind == chess.PAWN else chess.SQUARES
        _place(rng, board, chess.Piece(kind, rng.random() < 0.5), squares)
    board.castling_rights = board.rooks & chess.BB_CORNERS
    board.castling_rights = board.clean_castling_rights()
    return board


def _corner(rng: random.Random, board: chess.Board) -> None:
    """A king that three pawns shut in."""
    colour, flip = rng.random() < 0.5, rng.choice((0, 7))
    men = ((chess.KING, rng.choice((chess.A1, chess.B1)), True), (chess.PAWN, chess.B2, True))
    guards = ((chess.PAWN, chess.B3, False), (chess.PAWN, chess.D2, False))
    for kind, square, own in men + guards:
        board.set_piece_at(square ^ flip ^ (0 if colour else 56), chess.Piece(kind, own == colour))


def _wall(rng: random.Random, board: chess.Board, pairs: int) -> None:
    """Pawns that guard or fill a row: some in pairs face to face, the others of one colour."""
    row, straight, lone = rng.choice((1, 1, 2, 3, 4, 5, 5)), rng.random() < 0.6, rng.random() < 0.5
    files = rng.choice(WALLS)
    for done, file in enumerate(rng.sample(files, len(files))):
        shift = 0 if straight else rng.choice((-1, 0, 1))
        square = chess.square(file, min(5, max(1, row + shift)))
        for colour in chess.COLORS if done < pairs else [lone]:
            board.set_piece_at(square if colour else square + 8, chess.Piece(chess.PAWN, colour))


def _place(rng: random.Random, board: chess.Board, man: chess.Piece, squares: list[chess.Square]) -> None:
    """Put a man on whichever of some random squares leaves it the fewest others."""
    empty = [square for square in squares if not board.piece_at(square)]
    some = rng.sample(empty, min(len(empty), rng.choice((1, 4, 12))))
    if man.piece_type != chess.PAWN:
        some.sort(key=lambda square: len(_squares(board, square, man)))
    if some:
        board.set_piece_at(some[0], man)


def _after_a_double_step(board: chess.Board) -> chess.Board | None:
    """The board with an en passant right, if a pawn can make that step."""
    for move in board.legal_moves:
        child = board.copy(stack=False)
        child.push(move)
        if child.has_legal_en_passant():
            return child
    return None


def _mobile(rng: random.Random, board: chess.Board) -> list[chess.Square]:
    """Squares of random men which are sure to reach no more positions than allowed."""
    held = chess.SquareSet(board.pawns | board.castling_rights)
    for colour in chess.COLORS:
        king = board.king(colour)
        if king is not None and board.castling_rights & board.occupied_co[colour]:
            held.add(king)
    free = [square for square in chess.SquareSet(board.occupied) if square not in held]
    # Kings that move are what most cells have.
    free.sort(key=lambda square: rng.random() - 0.7 * bool(board.kings & chess.BB_SQUARES[square]))
    mobile: list[chess.Square] = []
    for square in free:
        if rng.random() < 0.9 and _at_most(board, [*mobile, square]) <= MOST_POSITIONS:
            mobile.append(square)
    return mobile


def _at_most(board: chess.Board, mobile: list[chess.Square]) -> int:
    """More positions the men cannot reach: each wherever frozen men let it go, with either side to move."""
    frozen = board.copy(stack=False)
    for square in mobile:
        frozen.remove_piece_at(square)
    men = board.piece_map()
    return 2 * math.prod(len(_squares(frozen, square, men[square])) for square in mobile)


def _squares(frozen: chess.Board, start: chess.Square, man: chess.Piece) -> chess.SquareSet:
    """Squares that a man reaches by quiet moves among frozen men alone."""
    closed = chess.SquareSet(frozen.occupied)
    if man.piece_type == chess.KING:
        for pawn in frozen.pieces(chess.PAWN, not man.color):
            closed |= chess.BB_PAWN_ATTACKS[not man.color][pawn]
    board = chess.BaseBoard(frozen.board_fen())
    found, waiting = chess.SquareSet([start]), [start]
    while waiting:
        square = waiting.pop()
        board.set_piece_at(square, man)
        reached = board.attacks(square) - closed - found
        board.remove_piece_at(square)
        found |= reached
        waiting += reached
    return found
