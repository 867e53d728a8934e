"""A game as PGN: tags and comments of Cute Chess and cuteRMob, and the outcome as ``tbgen tag`` writes it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

import chess

from tbgen.board.san import move_number
from tbgen.errors import printable
from tbgen.games.pgn import tags
from tbgen.games.tagging.outcome_tags import tags_of
from tbgen.match.game import PlayedGame
from tbgen.match.settings import EventSettings

SCHEDULE: Final = "Schedule"
"""The tag with the digest of the schedule that a game belongs to."""
_COLUMNS: Final = 80


def game_text(game: PlayedGame, settings: EventSettings, digest: str) -> bytes:
    """Return the PGN of a game, with an empty line at its end.

    :param digest: of the event's schedule.
    """
    told = dict(_tags(game, settings, digest))
    lines = [f'[{name} "{_escape(value)}"]' for name, value in told.items()]
    return "\n".join([*lines, "", *_wrap(_words(game)), "", ""]).encode()


def _tags(game: PlayedGame, settings: EventSettings, digest: str) -> Iterator[tuple[str, str]]:
    fixture, opening = game.fixture, game.fixture.opening
    yield "Event", settings.event
    yield "Site", settings.site
    yield "Date", time.strftime("%Y.%m.%d", time.localtime(game.began))
    yield "Round", str(fixture.key)
    yield "White", fixture.white
    yield "Black", fixture.black
    yield "Result", game.outcome.classical
    yield from tags_of(game.outcome).items()
    if opening.komi:
        yield tags.KOMI, opening.komi
    if not opening.standard:
        yield "FEN", opening.start.board.fen()
        yield "SetUp", "1"
        if opening.start.accrued is not None:
            yield tags.ACCRUED_BEFORE, str(opening.start.accrued)
    if opening.start.board.chess960:
        yield "Variant", "fischerandom"
    yield "GameDuration", time.strftime("%H:%M:%S", time.gmtime(game.ended - game.began))
    yield "GameEndTime", _moment(game.ended)
    yield "GameStartTime", _moment(game.began)
    yield "PlyCount", str(len(game.plies))
    yield SCHEDULE, digest
    if game.termination:
        yield "Termination", game.termination
    controls = {engine.name: str(engine.control) for engine in settings.engines}
    white, black = controls[fixture.white], controls[fixture.black]
    if white == black:
        yield "TimeControl", white
    else:
        yield "WhiteTimeControl", white
        yield "BlackTimeControl", black


def _words(game: PlayedGame) -> Iterator[str]:
    """Yield each move with its comment, and the result: what no line break is to part."""
    board = game.fixture.opening.start.board
    number, white = board.fullmove_number, board.turn == chess.WHITE
    if not game.plies:
        yield f"{{{game.reason}}}"
    for at, ply in enumerate(game.plies, 1):
        label = f"{move_number(number, white)} " if white or at == 1 else ""
        comment = f"{ply.comment}, {game.reason}" if at == len(game.plies) else ply.comment
        yield f"{label}{ply.san} {{{comment}}}"
        number, white = number + (not white), not white
    yield game.outcome.classical


def _wrap(words: Iterator[str]) -> Iterator[str]:
    """Yield lines of as many words as they have room for."""
    line = next(words)
    for word in words:
        if len(line) + 1 + len(word) > _COLUMNS:
            yield line
            line = word
        else:
            line = f"{line} {word}"
    yield line


def _moment(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
    return f"{moment.isoformat(timespec='milliseconds')} UTC"


def _escape(value: str) -> str:
    """Return a value without what readers of PGN stumble over; names of players have none of it."""
    return printable(value).replace("\\", "/").replace('"', "'")
