"""Random positions."""

import random
from collections.abc import Callable, Iterator, Sequence

import chess

from tbgen.board.material import Material
from tbgen.board.score import GScore


def random_board(rng: random.Random, material: Material) -> chess.Board:
    """A legal position of the material in either colouring."""
    while True:
        board = chess.Board(None)
        board.turn = rng.random() < 0.5
        swapped = rng.random() < 0.5
        for names, white in ((material.white, True), (material.black, False)):
            for name in names:
                empty = [s for s in range(64) if not board.piece_at(s) and (name != "P" or 8 <= s < 56)]
                piece = chess.Piece(chess.PIECE_SYMBOLS.index(name.lower()), white != swapped)
                board.set_piece_at(rng.choice(empty), piece)
        if not board.was_into_check():
            return board


def en_passant_board(rng: random.Random) -> chess.Board:
    """A position of KPvKP with an en passant right, without the moves that have led to it."""
    while True:
        board = random_board(rng, Material.parse("KPvKP"))
        for move in list(board.legal_moves):
            board.push(move)
            if board.has_legal_en_passant():
                return board.copy(stack=False)
            board.pop()


def random_moves(
    rng: random.Random,
    board: chess.Board,
    count: int,
    prefers: Callable[[chess.Board, chess.Move], bool] = lambda *_: False,
    share: float = 1.0,
) -> Iterator[chess.Move]:
    """Random moves in the positions that the board has by then: whoever asks makes them on it.

    :param count: how many of them, if the game does not end before.
    :param prefers: the moves from which to choose, with a probability of ``share``, if any is legal.
    """
    for _ in range(count):
        moves = list(board.legal_moves)
        preferred = [move for move in moves if prefers(board, move)]
        if not moves:
            return
        yield rng.choice(preferred if preferred and rng.random() < share else moves)


def starts(
    seed: str, count: int, materials: Sequence[Material]
) -> Iterator[tuple[chess.Board, GScore | None]]:
    """Random positions that go on, half of them with an accrued score, some with an en passant right."""
    rng = random.Random(seed)
    for number in range(count):
        if number % 20 == 0:
            yield en_passant_board(rng), None  # first of its phase, it has no earlier score
            continue
        board = random_board(rng, materials[number % len(materials)])
        rank = GScore.of_board(board).rank
        if rank < 2 or rng.random() < 0.5:
            yield board, None
        else:
            board.halfmove_clock = rng.randrange(1, 100)
            yield board, GScore(rng.randrange(2, rank + 3), rng.random() < 0.5)
