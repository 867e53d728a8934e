"""What a position comes to, in words; ``tbgen/web/page/score.js`` has the same ones."""

from typing import Final

import chess

from tbgen.board.score import GScore
from tbgen.board.scoring import EXPONENTIAL
from tbgen.text import plies

_NUMBERS: Final = (
    *("no", "one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)
_AMOUNTS: Final = ((0.25, "clearly"), (0.06, "by a little"), (0.0, "by very little"))
"""What a lead in points comes to, by the least one of which it is said."""


def sentence(turn: chess.Color, own: GScore, accrued: GScore, value: GScore, depth: int | None) -> str:
    """Return what best play comes to.

    :param turn: the side to move.
    :param own: the score of the position alone.
    :param depth: plies until the value is reached; None if that is not known.

    >>> sentence(chess.BLACK, GScore("G3.5"), GScore("G3.5"), GScore("G1.5"), 4)
    'White wins by a little: Black gets down to one move in 4 plies (0.56 : 0.44).'
    """
    mover = _side(turn)
    holder, opponent = _side(value.white), _side(not value.white)
    soon = "" if depth is None else f" in {plies(depth)}"
    if own.rank < 2:
        return f"{mover} is {'stalemated' if own.rank else 'mated'}."
    if value.rank == 0:
        return f"{holder} mates{soon}."
    if value.rank == 1:
        return f"{holder} stalemates {opponent}{soon}."
    if depth == 0 or value == accrued:
        kept = f"{holder} keeps {value} and wins {_amount(value)}"
        return f"{kept}: that has accrued, and best play leaves it at that{_shares(value)}."
    return f"{holder} wins {_amount(value)}: {opponent} gets {_leaves(value)}{soon}{_shares(value)}."


def _side(white: bool) -> str:
    return "White" if white else "Black"


def _amount(value: GScore) -> str:
    """Return how much is won by, in TCEC's points."""
    white, black = EXPONENTIAL.points(value)
    return next(words for least, words in _AMOUNTS if abs(white - black) >= least)


def _shares(value: GScore) -> str:
    """Return TCEC's points as a sentence ends with them.

    They have two digits or, where three are all, three; nothing is said where both sides would have the same.
    """
    white, black = (
        f"{points:.2f}" if 1000 * points % 1 else f"{float(points)}" for points in EXPONENTIAL.points(value)
    )
    return "" if white == black else f" ({white} : {black})"


def unknown(accrued: GScore) -> str:
    """Return what is said where no table says a value: what has accrued is known all the same."""
    return f"No table says what this is worth. {accrued} has accrued so far."


def _leaves(value: GScore) -> str:
    """Return what a score leaves to its holder's opponent."""
    number = value.rank // 2
    name = _NUMBERS[number] if number < len(_NUMBERS) else str(number)
    moves = f"down to {name} {'move' if number == 1 else 'moves'}"
    return moves if value.rank % 2 else f"in check and {moves}"
