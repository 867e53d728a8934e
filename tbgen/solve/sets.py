"""Which men to let move: the sets worth trying, the small ones first.

A bound is proved by one side. Its own men may stand still: it needs them where they are. The men of the other
side that stand still may make any move, which leaves the cell for what is mostly unknown: so all of them that
have somewhere to go should be mobile.
"""

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Final, Literal, TypeAlias

import chess

from tbgen.board.material import MAX_MEN
from tbgen.cells.cell import MOST_MOBILE, Cell, mobile_squares
from tbgen.errors import UsageError
from tbgen.solve.meter import memory_needed
from tbgen.text import counted, size_text

Mobile: TypeAlias = Iterable[chess.Square] | Literal["auto"] | None
"""Which men may move: those on some squares, one set after the other, or the usual ones."""
_LEAST_MOBILE: Final = 2
"""Men that there has to be memory for, whichever are chosen: the kings."""


def sets_worth_trying(board: chess.Board, most: int) -> Iterator[tuple[chess.Square, ...]]:
    """Yield sets of squares of up to ``most`` men, by size; the first has no more men than any other.

    For either side that may prove a bound: all men of the other side that are not shut in, with none of its
    own, with each of its own, with any two... Where that is nothing, the kings.
    """
    found: dict[tuple[chess.Square, ...], None] = {}
    for prover in chess.COLORS:
        others = [square for square in mobile_squares(board) if board.color_at(square) != prover]
        needed = [square for square in others if not is_shut_in(board, square)]
        own = [square for square in mobile_squares(board) if board.color_at(square) == prover]
        for count in range(min(len(own), most - len(needed)) + 1):
            for some in combinations(own, count):
                found[tuple(sorted((*needed, *some)))] = None
    if not found:
        kings = (board.king(colour) for colour in chess.COLORS)
        found[tuple(sorted(king for king in kings if king is not None))] = None
    yield from sorted(found, key=lambda squares: (len(squares), squares))


def is_shut_in(board: chess.Board, square: chess.Square) -> bool:
    """Whether pawns leave a piece no square to go to; it may be captured, and capture, where it stands."""
    alone = board.copy(stack=False)
    for other in mobile_squares(board):
        if other != square:
            alone.remove_piece_at(other)
    return not alone.attacks_mask(square) & ~board.pawns


def sets_to_try(
    board: chess.Board, memory: int, mobile: Mobile
) -> tuple[list[tuple[chess.Square, ...]], bool]:
    """Return the sets of men to let move, one after the other, and whether memory allows all of them.

    :param memory: bytes that may be taken.
    :raises UsageError: if the position has castling rights, or if the mobile men mean nothing, or are more
        than memory allows.
    """
    if board.clean_castling_rights():
        raise UsageError(
            f"the position has castling rights, and it takes at most {MAX_MEN} men, and their "
            "tables, to solve it with them"
        )
    men = tuple(mobile_squares(board))
    if mobile is None or mobile == "auto":
        _check_memory(_LEAST_MOBILE, memory)
        room = max(number for number in range(MOST_MOBILE + 1) if _memory(number) <= memory)
        if mobile is None and len(men) <= room:
            return [men], True
        return list(sets_worth_trying(board, room)), room >= min(len(men), MOST_MOBILE)
    squares = tuple(mobile)
    if len(squares) > MOST_MOBILE:
        raise UsageError(
            f"{_men(len(squares))} are more than the {MOST_MOBILE} that there is room for: choose them with "
            "--mobile, the others stand still, or leave the choice to --mobile auto"
        )
    _check_memory(len(squares), memory)
    Cell.of_board(board, squares)
    return [squares], True


def _memory(number: int) -> int:
    """Return about how many bytes a cell with a number of mobile men takes."""
    return memory_needed(64**number)


def _check_memory(number: int, memory: int) -> None:
    needed = _memory(number)
    if needed > memory:
        raise UsageError(
            f"a cell with {_men(number)} takes {size_text(needed)} of memory, and {size_text(memory)} "
            "are allowed: let fewer men be mobile, or allow more memory"
        )


def _men(number: int) -> str:
    return counted(number, "mobile man", "mobile men")
