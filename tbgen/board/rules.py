"""What a board says by the rules: whether it can be played on, its mobility, and its accrued score.

Legal moves are counted without making them: nine times as fast as python-chess with four men, less than
twice with a full board. The accrued score is what the moves say that a board remembers.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, Literal

import chess

from tbgen.board.score import GScore
from tbgen.board.variant import Resets, Variant, unlisted
from tbgen.errors import UsageError

_DIAGONAL: Final = tuple(zip(chess.BB_DIAG_MASKS, chess.BB_DIAG_ATTACKS, strict=True))
_FILE: Final = tuple(zip(chess.BB_FILE_MASKS, chess.BB_FILE_ATTACKS, strict=True))
_RANK: Final = tuple(zip(chess.BB_RANK_MASKS, chess.BB_RANK_ATTACKS, strict=True))


def mobility(board: chess.Board) -> tuple[int, bool]:
    """Return the number of legal moves of a valid board, and whether the side to move is in check."""
    if board.ep_square is not None:
        return board.legal_moves.count(), board.is_check()
    turn = board.turn
    us, them = board.occupied_co[turn], board.occupied_co[not turn]
    king = us & board.kings
    home = king.bit_length() - 1
    attacked, checkers, pinners = _attacks(board, them, king)
    moves = (chess.BB_KING_ATTACKS[home] & ~us & ~attacked).bit_count()
    if checkers & checkers - 1 or us == king:
        return moves, bool(checkers)
    targets = checkers | chess.between(home, checkers.bit_length() - 1) if checkers else chess.BB_ALL
    pinned = 0
    while pinners:
        between = chess.between(home, pinners.bit_length() - 1) & board.occupied
        if between & us and not between & between - 1:
            pinned |= between
        pinners ^= 1 << pinners.bit_length() - 1
    men = us ^ king
    while men:
        man = men & -men
        men ^= man
        square = man.bit_length() - 1
        allowed = targets & chess.ray(home, square) if man & pinned else targets
        if man & board.pawns:
            reached = _pawn_moves(board, square, them) & allowed
            moves += reached.bit_count() + 3 * (reached & chess.BB_BACKRANKS).bit_count()
        else:
            moves += (board.attacks_mask(square) & ~us & allowed).bit_count()
    if board.castling_rights and not checkers:
        moves += sum(1 for _ in board.generate_castling_moves())
    return moves, bool(checkers)


def own_score(board: chess.Board) -> GScore:
    """Return the score of a valid board itself, as :meth:`tbgen.board.score.GScore.of_board` does."""
    moves, check = mobility(board)
    return GScore(2 * moves + (not check), not board.turn)


def _attacks(
    board: chess.Board, attackers: chess.Bitboard, king: chess.Bitboard
) -> tuple[chess.Bitboard, chess.Bitboard, chess.Bitboard]:
    """Return what a side attacks once the other's king is off the board, which of its men give check, and
    which would if nothing stood in between."""
    attacked = checkers = pinners = 0
    occupied = board.occupied ^ king  # a king cannot hide in his own shadow
    diagonal, straight = board.bishops | board.queens, board.rooks | board.queens
    while attackers:
        man = attackers & -attackers
        attackers ^= man
        square = man.bit_length() - 1
        reached = line = 0
        if man & diagonal:
            mask, table = _DIAGONAL[square]
            reached, line = table[mask & occupied], table[0]
        if man & straight:
            mask, table = _FILE[square]
            reached |= table[mask & occupied]
            line |= table[0]
            mask, table = _RANK[square]
            reached |= table[mask & occupied]
            line |= table[0]
        if not line:
            reached = board.attacks_mask(square)
        elif line & king:
            pinners |= man
        if reached & king:
            checkers |= man
        attacked |= reached
    return attacked, checkers, pinners


def _pawn_moves(board: chess.Board, square: chess.Square, them: chess.Bitboard) -> chess.Bitboard:
    """Return where a pawn of the side to move goes, pins and checks aside."""
    empty = ~board.occupied
    if board.turn:
        step = chess.BB_SQUARES[square] << 8 & empty
        double = step << 8 & empty & chess.BB_RANK_4
    else:
        step = chess.BB_SQUARES[square] >> 8 & empty
        double = step >> 8 & empty & chess.BB_RANK_5
    return step | double | chess.BB_PAWN_ATTACKS[board.turn][square] & them


def validate(board: chess.Board) -> None:
    """Check that play can go on from a position by the rules of chess.

    Too many men, checks that no game can give, and the like are welcome.

    :raises UsageError: saying what is wrong.
    """
    if board.uci_variant != "chess":
        raise UsageError(f"r-mobility is played by the moves of chess, not of {board.uci_variant}")
    for colour, side in ((chess.WHITE, "White"), (chess.BLACK, "Black")):
        kings = (board.kings & board.occupied_co[colour]).bit_count()
        if kings != 1:
            raise UsageError(
                f"{side} has {kings or 'no'} king{'s' * (kings > 1)}; each side needs exactly one"
            )
    if board.pawns & chess.BB_BACKRANKS:
        raise UsageError("a pawn stands on the first or last rank")
    if board.was_into_check():
        king, other = board.king(chess.WHITE), board.king(chess.BLACK)
        if king is not None and other is not None and chess.square_distance(king, other) == 1:
            raise UsageError("the kings stand next to each other")
        raise UsageError(f"{_side(not board.turn)} is in check although {_side(board.turn)} is to move")
    if board.castling_rights and board.castling_rights != board.clean_castling_rights():
        raise UsageError("there are castling rights without king and rook in their places")
    if board.ep_square is not None and not _possible_double_step(board, board.ep_square):
        square = chess.square_name(board.ep_square)
        raise UsageError(f"no pawn can just have passed {square}: write - for the en passant square")


def without_impossible_en_passant(board: chess.Board) -> bool:
    """Take an en passant square away that no pawn can just have passed, and tell whether there was one.

    No capture goes there, so python-chess and Lichess play on without it.
    """
    impossible = board.ep_square is not None and not _possible_double_step(board, board.ep_square)
    if impossible:
        board.ep_square = None
    return impossible


def _possible_double_step(board: chess.Board, square: chess.Square) -> bool:
    """Tell whether the last move can have been a pawn's double step over the square."""
    rank, forward = (5, -8) if board.turn else (2, 8)
    if chess.square_rank(square) != rank:
        return False
    empty = not board.occupied & (chess.BB_SQUARES[square] | chess.BB_SQUARES[square - forward])
    passed = board.pawns & board.occupied_co[not board.turn] & chess.BB_SQUARES[square + forward]
    return empty and bool(passed)


def _side(colour: chess.Color) -> str:
    return "White" if colour else "Black"


class Fresh(Enum):
    """The type of :data:`FRESH`."""

    FRESH = "fresh"

    def __repr__(self) -> str:
        return "tbgen.FRESH"


FRESH: Final[Literal[Fresh.FRESH]] = Fresh.FRESH
"""Given as an accrued score: that of the position alone, whatever moves the board remembers."""


def accrued_score(board: chess.Board, variant: Variant) -> GScore | None:
    """Return the score that has accrued in the moves of a board's stack, the position's own included.

    It is the best since the last capture or pawn move (since the first position in whole-game mobility) or,
    if the board does not go back so far, since the first position it remembers. The board is not changed.
    What this does not know is the 50-move rule: it is the accrued score as tables and adjudication see it.

    :param board: a valid one (:func:`tbgen.board.rules.validate`).

    :returns: None if the board remembers no moves.

    :raises UsageError: if the moves are no play by the rules of chess, as null moves are none.

    >>> board = chess.Board("8/8/8/2K3k1/8/8/8/8 w - - 0 1")
    >>> for uci in ("c5d5", "g5h5", "d5e5", "h5g6"):
    ...     _ = board.push_uci(uci)
    >>> print(accrued_score(board, Variant.R_MOBILITY), own_score(board))
    G5.5 -G6.5
    """
    moves = len(board.move_stack)
    if not moves:
        return None
    match variant.resets:
        case Resets.ZEROING_MOVES:
            plies = min(board.halfmove_clock, moves)
        case Resets.NOTHING:
            plies = moves
        case other:
            raise unlisted(other)
    accrued, past = own_score(board), board.copy(stack=max(plies, 1))
    move = past.pop()
    past.push(move)
    if past.fen() != board.fen():
        raise no_play(f"{move.uci()} does not lead to {board.fen()}")
    for _ in range(plies):
        move = past.pop()
        if not past.is_legal(move):
            raise no_play(f"{move.uci()} is not legal in {past.fen()}")
        score = own_score(past)
        if score.rank <= accrued.rank:  # the first holder keeps it
            accrued = score
    validate(past)
    return accrued


def no_play(reason: str) -> UsageError:
    """Return the error about moves on a board's stack that nobody can have played."""
    return UsageError(
        f"the history of the board is no play: {reason}; clear it with board.clear_stack(), "
        "or give an accrued score"
    )
