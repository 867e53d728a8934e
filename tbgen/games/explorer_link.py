"""Where the explorer shows a finished game: the part of its address behind the page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO
from itertools import takewhile
from typing import Final
from urllib.parse import quote

from tbgen.games.pgn.reader import Game, read_games

_MOST_IN_QUERY: Final = 4000
"""Letters of moves; longer ones go where no server and no proxy sees them."""
_MOST_HEAD: Final = 6000
_OF_START: Final = ("[FEN ", "[SetUp ", "[FENAccrued ")
_LAST_COMMENT: Final = re.compile(r"(\{[^{}]*\})[^{}]*$")


def explorer_link(text: bytes, rules: str) -> str:
    """Return query and fragment by which the explorer shows a game; ``state.js`` of its page reads them.

    :param text: the game as PGN.
    :param rules: the name of the variant.
    """
    game = next(read_games(BytesIO(text)))
    query = [f"fen={game.start.board.fen().replace(' ', '_')}", f"rules={rules}"]
    if game.start.accrued is not None:
        query.append(f"accrued={game.start.accrued}")
    fragment: list[str] = []
    line, head = quote("_".join(_sans(game))), _head(text.decode(errors="replace"))
    if line:
        (fragment if len(line) > _MOST_IN_QUERY else query).append(f"line={line}")
        if len(head) <= _MOST_HEAD:
            fragment.append(f"game={quote(head)}")
    return f"?{'&'.join(query)}" + (f"#{'&'.join(fragment)}" if fragment else "")


def _sans(game: Game) -> Iterator[str]:
    board = game.start.board.copy(stack=False)
    for move in game.moves:
        yield board.san(move).rstrip("+#")
        board.push(move)


def _head(text: str) -> str:
    """Return what decides the result besides the moves: the tags, but those of the start position, and the
    last comment."""
    tags = takewhile(str.strip, text.strip().split("\n"))
    head = [tag for tag in tags if not tag.startswith(_OF_START)]
    comment = _LAST_COMMENT.search(text)
    if comment:
        head.append(" ".join(comment[1].split()))
    return "\n".join(head)
