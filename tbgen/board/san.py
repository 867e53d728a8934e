"""Standard algebraic notation (SAN): parsing of moves, and notation of all legal moves of a position.

Parsing an ordinary move is two to three times as fast as with python-chess, notation is five times as fast.
"""

import functools
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import chess

_ORDINARY: Final = re.compile(r"([NBRQK]?)([a-h]?)([1-8]?)(x?)([a-h][1-8])")
"""SAN of any move except castling and promotions."""

_FILES: Final = {"": chess.BB_ALL} | dict(zip(chess.FILE_NAMES, chess.BB_FILES, strict=True))
_RANKS: Final = {"": chess.BB_ALL} | dict(zip(chess.RANK_NAMES, chess.BB_RANKS, strict=True))
_CACHE_ENTRIES: Final = 1 << 13


class MoveWithSan:
    """A move with its notation."""

    __slots__ = ()
    move: chess.Move
    san: str

    @property
    def uci(self) -> str:
        """The move in UCI notation."""
        return self.move.uci()


def move_number(number: int, white: bool) -> str:
    """Return the number of a move as it is printed before the move.

    :param number: full-move number of the position before the move.
    :param white: whether White moves.

    >>> move_number(12, True), move_number(12, False)
    ('12.', '12...')
    """
    return f"{number}." if white else f"{number}..."


def parse_san(board: chess.Board, san: str) -> chess.Move:
    """Parse a SAN without check and annotation marks on a valid board.

    Parsing is as lenient as in python-chess, which decides all but ordinary moves. A null move is rejected.

    :raises ValueError: if the text matches no legal move, or more than one.
    """
    move = _ordinary(board, san) or board.parse_san(san)
    if not move:
        raise chess.IllegalMoveError(san)
    return move


def _ordinary(board: chess.Board, san: str) -> chess.Move | None:
    """Return the move if exactly one man can make it and it is certainly legal, else None."""
    parts = _parts(san)
    if parts is None:
        return None
    kind, origins, step, target = parts
    turn, occupied, mask = board.turn, board.occupied, chess.BB_SQUARES[target]
    if step:
        movers = 0 if mask & occupied else _pawn_before(mask, turn, occupied)
    elif mask & board.occupied_co[turn] or (kind == chess.PAWN and not mask & occupied):
        return None  # an en passant capture, or not a legal move
    else:
        movers = board.attackers_mask(turn, target)
    movers &= origins & board.pieces_mask(kind, turn)
    if not movers or movers & movers - 1:
        return None
    king = mask if kind == chess.KING else board.kings & board.occupied_co[turn]
    after = (occupied ^ movers) | mask
    if board.attackers_mask(not turn, king.bit_length() - 1, after) & ~mask:
        return None
    return _move(movers.bit_length() - 1, target)


@functools.lru_cache(_CACHE_ENTRIES)
def _parts(san: str) -> tuple[chess.PieceType, chess.Bitboard, bool, chess.Square] | None:
    """Return type, possible origins, whether a pawn moves without capturing, and target of an ordinary move.

    The result is None for castling, promotions and malformed texts.
    """
    match = _ORDINARY.fullmatch(san)
    if match is None:
        return None
    letter, file, rank, capture, name = match.groups()
    target = chess.parse_square(name)
    if not letter and (rank or (capture and not file) or chess.BB_SQUARES[target] & chess.BB_BACKRANKS):
        return None
    kind = chess.PIECE_SYMBOLS.index(letter.lower()) if letter else chess.PAWN
    return kind, _FILES[file] & _RANKS[rank], not letter and not file, target


_move = functools.lru_cache(_CACHE_ENTRIES)(chess.Move)


def _pawn_before(mask: chess.Bitboard, turn: chess.Color, occupied: chess.Bitboard) -> chess.Bitboard:
    """Return the origin of a pawn's single or double step to the square in ``mask``."""
    if turn:
        near = mask >> 8
        return near if near & occupied or not mask & chess.BB_RANK_4 else near >> 8
    near = mask << 8
    return near if near & occupied or not mask & chess.BB_RANK_5 else near << 8


def sans_without_check(board: chess.Board, moves: Sequence[chess.Move]) -> list[str]:
    """Return the notation of all legal moves of a board, without ``+`` and ``#``.

    For each move, python-chess would generate all moves again to find ambiguities, and make the move to find
    whether it gives check, which the caller already knows.
    """
    men = [(board.piece_type_at(move.from_square), move.to_square) for move in moves]
    sources = defaultdict[tuple[chess.PieceType | None, chess.Square], list[chess.Square]](list)
    for move, man in zip(moves, men, strict=True):
        sources[man].append(move.from_square)
    return [_san(board, move, man[0], sources[man]) for move, man in zip(moves, men, strict=True)]


def _san(
    board: chess.Board, move: chess.Move, kind: chess.PieceType | None, sources: list[chess.Square]
) -> str:
    if board.castling_rights and board.is_castling(move):
        return "O-O" if move.to_square > move.from_square else "O-O-O"
    target = chess.SQUARE_NAMES[move.to_square]
    source = chess.SQUARE_NAMES[move.from_square]
    capture = "x" if board.is_capture(move) else ""
    if kind is None or kind == chess.PAWN:
        promotion = f"={chess.piece_symbol(move.promotion).upper()}" if move.promotion else ""
        return f"{source[0] if capture else ''}{capture}{target}{promotion}"
    others = [square for square in sources if square != move.from_square]
    if not others:
        source = ""
    elif all(square & 7 != move.from_square & 7 for square in others):
        source = source[0]
    elif all(square >> 3 != move.from_square >> 3 for square in others):
        source = source[1]
    return f"{chess.piece_symbol(kind).upper()}{source}{capture}{target}"
