"""Games of a PGN stream: tags, start position, moves and last comment of the main line."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import chess
import chess.pgn

from tbgen.errors import UsageError, quote
from tbgen.pgn import tags
from tbgen.pgn.san import parse_san
from tbgen.pgn.splitter import RawGame, Stream, split_games
from tbgen.rules.fen import Fen, parse_fen
from tbgen.rules.validity import validate
from tbgen.score import GScore

_TOKEN: Final = re.compile(
    r"""
    (?P<comment>\{[^}]*\}?|;[^\r\n]*)
    |(?P<escape>(?<![^\r\n])%[^\r\n]*)
    |(?P<open>\()
    |(?P<close>\))
    |(?P<result>(?:1-0|0-1|1/2-1/2|\*)(?![^\s{;(]))
    |(?P<number>\d+\.+|\d+(?=\s)|\.+)
    |(?P<mark>\$\d+|e\.p\.|(?!--)[-!?+#=/]+(?=[\s){(;]|\Z))
    |(?P<move>[^\s{}();]+)
    """,
    re.VERBOSE,
)
_BREAK: Final = re.compile(rb"\r\n|\n|\r")
_MARKS: Final = "+#!?"
_RESULTS: Final = ("1-0", "0-1", "1/2-1/2")


@dataclass(slots=True)
class Game:
    """One game of a PGN stream."""

    number: int
    """Counted from 1."""
    line: int
    """The line that it begins in, counted from 1."""
    tags: dict[str, str] = field(default_factory=dict)
    """In the order of the file; of a tag that stands twice the first."""
    start: Fen = field(default_factory=lambda: Fen(chess.Board(), None))
    """The start position, with the accrued score of a seventh field or a tag."""
    board: chess.Board = field(default_factory=chess.Board)
    """The final position, with the moves of the main line up to the first that cannot be made."""
    comment: str = ""
    """The last comment of the main line."""
    result: str = "*"
    """The classical result: that of the tag, else that of the movetext."""
    error: UsageError | None = None
    """What is wrong with the game, saying where; None for a sound one."""

    @property
    def moves(self) -> list[chess.Move]:
        """The main line, up to the first move that cannot be made."""
        return self.board.move_stack


def read_games(stream: Stream) -> Iterator[Game]:
    """Yield the games of a PGN stream; a broken one has an ``error``, and the next ones follow.

    Chess960 is read; games of other variants are broken ones. FENs of seven fields and ``[Legacy]`` without
    a value are understood, which plain PGN readers do not.
    """
    for raw in split_games(stream):
        if not raw.empty:
            yield read_game(raw)


def read_game(raw: RawGame) -> Game:
    """Return the game that its bytes mean."""
    game = Game(raw.number, raw.line)
    for tag in raw.tags:
        game.tags.setdefault(tag.name, tag.value)
    game.result = game.tags.get("Result", "*").strip()
    try:
        game.start = _start(game.tags)
    except UsageError as error:
        game.error = UsageError(f"game {game.number}, line {game.line}: {error}")
        return game
    game.board = game.start.board.copy(stack=False)
    text = raw.data[raw.movetext :].decode("utf-8", "replace")
    wrong = _play(game, text)
    if wrong is not None:
        before = raw.data[: raw.movetext] + text[: wrong.start()].encode()
        line = raw.line + len(_BREAK.findall(before))
        game.error = UsageError(
            f"game {game.number}, line {line}, ply {len(game.moves) + 1}: "
            f"{quote(wrong[0])} is not a legal move"
        )
    return game


def _play(game: Game, text: str) -> re.Match[str] | None:
    """Make the moves of the main line; return what is no legal move, None if all went well."""
    board, depth, over = game.board, 0, False
    for token in _TOKEN.finditer(text):
        match token.lastgroup:
            case "open":
                depth += 1
            case "close":
                depth = max(depth - 1, 0)
            case "comment" if not depth:
                game.comment = token[0].strip("{};").strip()
            case "result" if not depth:
                over = True
                if game.result not in _RESULTS:
                    game.result = token[0]
            case "move" if not (depth or over):
                try:
                    board.push(parse_san(board, token[0].rstrip(_MARKS)))
                except ValueError:
                    return token
    return None


def _start(given: dict[str, str]) -> Fen:
    """Return the start position of a game.

    :raises UsageError: if it is of a variant, or means nothing.
    """
    if "Variant" in given:
        try:
            known = chess.pgn.Headers({"Variant": given["Variant"]}).variant() is chess.Board
        except ValueError:
            known = False
        if not known:
            raise UsageError(f"the variant {quote(given['Variant'])} is not refereed here")
    fen = parse_fen(given.get("FEN", chess.STARTING_FEN))
    validate(fen.board)
    accrued = given.get(tags.ACCRUED_BEFORE)
    return fen if accrued is None else Fen(fen.board, GScore.parse(accrued))
