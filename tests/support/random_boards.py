"""Random positions."""

import random

import chess

from tbgen.material import Material


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
