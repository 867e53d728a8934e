"""Standard algebraic notation (SAN): parsing of moves, and notation of all legal moves of a position.

Parsing an ordinary move is two to three times as fast as in python-chess. Writing the moves of a position is
five times as fast.
"""

import functools
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import chess

from tbgen.board.kinds import KIND_LETTERS

_ORDINARY_SAN: Final = re.compile(rf"([{KIND_LETTERS}]?)([a-h]?)([1-8]?)(x?)([a-h][1-8])")
"""Matches the SAN of any move except castling and promotions."""

_FILE_MASKS: Final = {"": chess.BB_ALL} | dict(zip(chess.FILE_NAMES, chess.BB_FILES, strict=True))
_RANK_MASKS: Final = {"": chess.BB_ALL} | dict(zip(chess.RANK_NAMES, chess.BB_RANKS, strict=True))
_CACHE_ENTRIES: Final = 1 << 13

_cached_move = functools.lru_cache(_CACHE_ENTRIES)(chess.Move)


class MoveWithSan:
    """A move with its notation."""

    __slots__ = ()
    move: chess.Move
    san: str

    @property
    def uci(self) -> str:
        """The move in UCI notation."""
        return self.move.uci()


def move_prefix(move_number: int, white: bool) -> str:
    """Return the text that is printed before a move: its number and dots.

    :param move_number: full-move number of the position before the move.
    :param white: whether White is to move.

    >>> move_prefix(12, True), move_prefix(12, False)
    ('12.', '12...')
    """
    return f"{move_number}." if white else f"{move_number}..."


def parse_san(board: chess.Board, san: str) -> chess.Move:
    """Parse the SAN of a move on a valid board; the text must not have check or annotation marks.

    Parsing is as lenient as in python-chess, which parses every move for which :func:`_ordinary_move` returns
    None. A null move is rejected.

    :raises ValueError: if the text matches no legal move, or more than one.
    """
    move = _ordinary_move(board, san) or board.parse_san(san)
    if not move:
        raise chess.IllegalMoveError(san)
    return move


def _ordinary_move(board: chess.Board, san: str) -> chess.Move | None:
    """Return the move if exactly one man can make it and the move is certainly legal, else None."""
    parts = _san_parts(san)
    if parts is None:
        return None
    piece_type, origins, is_pawn_step, target = parts
    turn = board.turn
    occupied = board.occupied
    target_mask = chess.BB_SQUARES[target]
    if is_pawn_step:
        movers = 0 if target_mask & occupied else _pawn_origin(target_mask, turn, occupied)
    elif target_mask & board.occupied_co[turn] or (piece_type == chess.PAWN and not target_mask & occupied):
        return None  # an en passant capture, or not a legal move
    else:
        movers = board.attackers_mask(turn, target)
    movers &= origins & board.pieces_mask(piece_type, turn)
    if not movers or movers & movers - 1:
        return None
    king_mask = target_mask if piece_type == chess.KING else board.kings & board.occupied_co[turn]
    occupied_after = (occupied ^ movers) | target_mask
    if board.attackers_mask(not turn, king_mask.bit_length() - 1, occupied_after) & ~target_mask:
        return None
    return _cached_move(movers.bit_length() - 1, target)


@functools.lru_cache(_CACHE_ENTRIES)
def _san_parts(san: str) -> tuple[chess.PieceType, chess.Bitboard, bool, chess.Square] | None:
    """Return the parts of an ordinary move, None for castling, promotions and malformed input.

    The parts are the piece type, the bitboard of possible origins, whether a pawn moves without capturing,
    and the target.
    """
    match = _ORDINARY_SAN.fullmatch(san)
    if match is None:
        return None
    letter, file, rank, capture, name = match.groups()
    target = chess.parse_square(name)
    if not letter and (rank or (capture and not file) or chess.BB_SQUARES[target] & chess.BB_BACKRANKS):
        return None
    piece_type = chess.PIECE_SYMBOLS.index(letter.lower()) if letter else chess.PAWN
    return piece_type, _FILE_MASKS[file] & _RANK_MASKS[rank], not letter and not file, target


def _pawn_origin(target_mask: chess.Bitboard, turn: chess.Color, occupied: chess.Bitboard) -> chess.Bitboard:
    """Return the origin, as a bitboard, of a pawn's single or double step to ``target_mask``."""
    if turn:
        origin = target_mask >> 8
        return origin if origin & occupied or not target_mask & chess.BB_RANK_4 else origin >> 8
    origin = target_mask << 8
    return origin if origin & occupied or not target_mask & chess.BB_RANK_5 else origin << 8


def sans_without_check_signs(board: chess.Board, moves: Sequence[chess.Move]) -> list[str]:
    """Return the SANs of all legal moves of a board, without ``+`` and ``#``.

    For each move, python-chess would generate all moves again to find ambiguities, and make the move to
    detect a check. The caller already knows which moves give check.

    :param moves: all legal moves.
    """
    keys = [(board.piece_type_at(move.from_square), move.to_square) for move in moves]
    origins = defaultdict[tuple[chess.PieceType | None, chess.Square], list[chess.Square]](list)
    for move, key in zip(moves, keys, strict=True):
        origins[key].append(move.from_square)
    return [_san(board, move, key[0], origins[key]) for move, key in zip(moves, keys, strict=True)]


def _san(
    board: chess.Board, move: chess.Move, piece_type: chess.PieceType | None, origins: list[chess.Square]
) -> str:
    if board.castling_rights and board.is_castling(move):
        return "O-O" if move.to_square > move.from_square else "O-O-O"
    target = chess.SQUARE_NAMES[move.to_square]
    origin = chess.SQUARE_NAMES[move.from_square]
    capture = "x" if board.is_capture(move) else ""
    if piece_type is None or piece_type == chess.PAWN:
        promotion = f"={chess.piece_symbol(move.promotion).upper()}" if move.promotion else ""
        return f"{origin[0] if capture else ''}{capture}{target}{promotion}"
    other_origins = [square for square in origins if square != move.from_square]
    if not other_origins:
        origin = ""
    elif all(square & 7 != move.from_square & 7 for square in other_origins):
        origin = origin[0]
    elif all(square >> 3 != move.from_square >> 3 for square in other_origins):
        origin = origin[1]
    return f"{chess.piece_symbol(piece_type).upper()}{origin}{capture}{target}"
