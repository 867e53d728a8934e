"""Games of a PGN stream: tags, start position, moves and last comment of the main line."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Protocol, TextIO, cast

import chess
import chess.pgn

from tbgen.errors import UsageError, quote
from tbgen.pgn import tags
from tbgen.rules.fen import Fen, parse_fen
from tbgen.rules.validity import validate
from tbgen.score import GScore

_LEGACY: Final = f"[{tags.LEGACY}]"
"""A tag without value, as cuteRMob writes it."""


class Lines(Protocol):
    """Where lines come from: an open text file."""

    def readline(self) -> str:
        """Return the next line with its end, or an empty text."""


@dataclass(slots=True)
class Game:
    """One game of a PGN stream."""

    number: int
    """Counted from 1."""
    line: int = 0
    """The line that it begins in, counted from 1."""
    tags: dict[str, str] = field(default_factory=dict)
    """In the order of the file; of a tag that stands twice the last."""
    start: Fen = field(default_factory=lambda: Fen(chess.Board(), None))
    """The start position, with the accrued score of a seventh field or a tag."""
    moves: list[chess.Move] = field(default_factory=list)
    """The main line, up to the first move that cannot be made."""
    comment: str = ""
    """The last comment of the main line."""
    result: str = "*"
    """The classical result: that of the tag, else that of the movetext."""
    error: UsageError | None = None
    """What is wrong with the game, saying where; None for a sound one."""


def read_games(lines: Lines) -> Iterator[Game]:
    """Yield the games of a PGN stream; a broken one has an ``error``, and the next ones follow.

    Chess960 is read; games of other variants are broken ones. FENs of seven fields and ``[Legacy]`` without
    a value are understood, which plain PGN readers do not.
    """
    counted = _CountedLines(lines)
    for number in itertools.count(1):
        game = chess.pgn.read_game(cast(TextIO, counted), Visitor=partial(_Visitor, number, counted))
        if game is None:
            return
        yield game


class _CountedLines:
    """Hands lines on, counting them, tags without value made legal."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self.count = 0

    def readline(self) -> str:
        line = self._lines.readline()
        self.count += 1
        return line.replace(_LEGACY, f'[{tags.LEGACY} ""]') if line.startswith(_LEGACY) else line


class _Visitor(chess.pgn.BaseVisitor[Game]):
    """Collects a game while python-chess reads it."""

    def __init__(self, number: int, lines: _CountedLines) -> None:
        self._game = Game(number)
        self._lines = lines
        self._headers = chess.pgn.Headers({})

    def begin_game(self) -> None:
        self._game.line = self._lines.count

    def begin_headers(self) -> chess.pgn.Headers:
        return self._headers

    def visit_header(self, tagname: str, tagvalue: str) -> None:
        self._game.tags[tagname] = tagvalue
        # The seventh field would cost the game its moves.
        self._headers[tagname] = " ".join(tagvalue.split()[:6]) if tagname == "FEN" else tagvalue

    def end_headers(self) -> chess.pgn.SkipType | None:
        game = self._game
        game.result = game.tags.get("Result", "*")
        try:
            game.start = _start(game.tags, self._headers)
        except UsageError as error:
            game.error = UsageError(f"game {game.number}, line {game.line}: {error}")
            return chess.pgn.SKIP
        return None

    def begin_variation(self) -> chess.pgn.SkipType:
        return chess.pgn.SKIP

    def parse_san(self, board: chess.Board, san: str) -> chess.Move:
        move = super().parse_san(board, san)
        if not move:
            raise chess.IllegalMoveError(san)
        return move

    def begin_parse_san(self, board: chess.Board, san: str) -> chess.pgn.SkipType | None:
        if self._game.error is not None:
            return chess.pgn.SKIP
        self._san = san
        return None

    def visit_move(self, board: chess.Board, move: chess.Move) -> None:
        self._game.moves.append(move)

    def visit_comment(self, comment: str) -> None:
        self._game.comment = comment

    def visit_result(self, result: str) -> None:
        if self._game.result not in ("1-0", "0-1", "1/2-1/2"):
            self._game.result = result

    def handle_error(self, error: Exception) -> None:
        game = self._game
        if game.error is None:
            game.error = UsageError(
                f"game {game.number}, line {self._lines.count}, ply {len(game.moves) + 1}: "
                f"{quote(self._san)} is not a legal move"
            )

    def result(self) -> Game:
        return self._game


def _start(given: dict[str, str], headers: chess.pgn.Headers) -> Fen:
    """Return the start position of a game.

    :raises UsageError: if it is of a variant, or means nothing.
    """
    try:
        if headers.variant() is not chess.Board:
            raise ValueError
    except ValueError:
        raise UsageError(f"the variant {quote(given['Variant'])} is not refereed here") from None
    fen = parse_fen(given.get("FEN", chess.STARTING_FEN))
    validate(fen.board)
    accrued = given.get(tags.ACCRUED)
    return fen if accrued is None else Fen(fen.board, GScore.parse(accrued))
