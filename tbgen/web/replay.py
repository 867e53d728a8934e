"""A finished game of an event as one in play is told, so that the page of the event can show it again."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from tbgen.games.pgn.reader import read_game
from tbgen.games.pgn.splitter import split_games
from tbgen.games.pgn.variations import read_variations
from tbgen.games.referee.arbiter import Arbiter
from tbgen.games.settings import GameOptions


def replay(text: bytes, options: GameOptions) -> dict[str, Any]:
    """Return a game as a document.

    :param text: one sound game as PGN.
    :param options: by which it is scored.
    """
    raw = next(split_games(BytesIO(text)))
    game = read_game(raw)
    comments = read_variations(raw, game).comments
    arbiter = Arbiter.of(game.start, options.settings(game.tags))
    start = _reached(arbiter)
    plies = []
    for number, move in enumerate(game.moves, 1):
        told = {
            "uci": move.uci(),
            "san": arbiter.board.san(move),
            "comment": comments.get(number, ""),
            "line": "",
        }
        arbiter.push(move)
        plies.append(told | _reached(arbiter))
    return {
        "key": game.tags.get("Round", ""),
        "white": game.tags.get("White", ""),
        "black": game.tags.get("Black", ""),
        "start": start,
        "plies": plies,
        "left": {},
        "thought": None,
        "since": 0,
    }


def _reached(arbiter: Arbiter) -> dict[str, str]:
    """Return what is told of a position in a game."""
    return {
        "fen": arbiter.board.fen(),
        "accrued": str(arbiter.accrued),
        "position_score": str(arbiter.position_score),
    }
