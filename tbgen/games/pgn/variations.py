"""Variations, comments and glyphs of a game of a PGN stream, which its result does not depend on."""

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Final, NamedTuple

import chess

from tbgen.games.pgn.reader import TOKEN, Game, move_of
from tbgen.games.pgn.splitter import RawGame
from tbgen.games.pgn.typography import plain_movetext

_SIGNS: Final = {"!": 1, "?": 2, "!!": 3, "??": 4, "!?": 5, "?!": 6}
"""Numeric annotation glyphs (NAGs) that are written as signs: section 10 of the PGN standard."""
_NUMBERED: Final = re.compile(r"\$(\d{1,3})", re.ASCII)
_MOST_NAG: Final = 255


class VariationMove(NamedTuple):
    """A move of a variation."""

    after: int
    """The number of the position that it is made in: 0 for the first one, then those after the moves of the
    main line, then those after the moves of variations, as they stand in the text."""
    move: chess.Move


class Variations(NamedTuple):
    """Those of a game."""

    moves: list[VariationMove]
    cut: int
    """How many of them go on with what is not a legal move, and are left out from there."""
    comments: dict[int, str]
    """By the number of the position that they stand after, those of the main line included."""
    nags: Mapping[int, list[int]]
    """The numeric annotation glyphs of moves, by the number of the position that a move leads to."""


def read_variations(raw: RawGame, game: Game) -> Variations:
    """Return the variations, comments and glyphs of a sound game that was read from bytes."""
    board, here = game.start.board.copy(stack=False), 0
    before: int | None = None  # the number of the position before the last move; None if there is none
    readable, moves, cut = True, list[VariationMove](), 0
    comments, nags = dict[int, str](), defaultdict[int, list[int]](list)
    outer: list[tuple[chess.Board, int, int | None, bool]] = []
    for token in TOKEN.finditer(plain_movetext(raw.data[raw.movetext :])):
        if token.lastgroup == "move" and not outer and here == len(game.moves):
            continue  # a result that looks like a move, or text behind it
        if token.lastgroup == "move" and readable:
            try:
                move = move_of(board, token)
            except ValueError:
                readable, cut = False, cut + 1
                continue
            before = here
            if outer:
                moves.append(VariationMove(here, move))
                here = len(game.moves) + len(moves)
            else:
                here += 1
            board.push(move)
            nags[here] += _nags("".join(letter for letter in token[0] if letter in "!?"))
        elif token.lastgroup == "comment" and readable:
            comments[here] = " ".join([*comments.get(here, "").split(), *token[0].strip("{};").split()])
        elif token.lastgroup is None and readable and before is not None:
            nags[here] += _nags(token[0])
        elif token[0] == "(":
            outer.append((board, here, before, readable))
            readable = readable and before is not None
            if before is not None:
                board = board.copy(stack=1)
                board.pop()
                here, before = before, None
        elif token[0] == "{":
            break  # a comment that is not closed is the end
        elif token.lastgroup == "close":
            board, here, before, readable = outer.pop()
    return Variations(moves, cut, comments, nags)


def _nags(text: str) -> list[int]:
    """Return the number of the glyph that a text is; nothing if it is none."""
    numbered = _NUMBERED.fullmatch(text)
    number = int(numbered[1]) if numbered else _SIGNS.get(text, 0)
    return [number] if 0 < number <= _MOST_NAG else []
