"""Games of a PGN stream: tags, start position, moves and last comment of the main line."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import chess

from tbgen.board.fen import Fen, parse_fen
from tbgen.board.san import parse_san
from tbgen.board.score import GScore
from tbgen.board.validity import validate
from tbgen.errors import UsageError, quote
from tbgen.games.outcome import RESULTS, Basis
from tbgen.games.pgn import tags
from tbgen.games.pgn.doubts import Doubt
from tbgen.games.pgn.ending import Ending, read_ending
from tbgen.games.pgn.splitter import LineStream, RawGame, split_games

TOKEN: Final = re.compile(
    r"""
    (?:\d+(?:[.…]+|(?=\s|\Z))|[.…]+)                      # a move's number
    |\$\d+|(?:e\.p\.|(?!--)[-!?+#=/]+|[ND]|[±∓∞⩲⩱□⟳↑→]+)(?=[\s)({;$]|\Z)  # what is said of a move
    |(?P<comment>\{[^}]*\}|;[^\r\n]*)
    |(?<![^\r\n])%[^\r\n]*                                # an escaped line
    |(?P<open>[({])
    |(?P<close>\))
    |(?P<result>(?:1-0|0-1|1/2(?:-1/2)?|½-½|\*)(?=[\s{;(]|\Z))
    |(?P<move>[^\s{}();$*]+|[}*$])
    """,
    re.VERBOSE,
)
"""Everything that stands in movetext; only the parts with a name matter. An open brace never closes."""
_BREAK: Final = re.compile(rb"\r\n|\n|\r")
_MARKS: Final = "+#!?"
_NO_PGN: Final = "no PGN, as it has neither tags nor moves"
_REPLACED: Final = frozenset().union(*tags.REPLACED.values())
_OFF_BOARD: Final = frozenset(basis.value for basis in Basis if basis.off_board)
"""The grounds of a result that was won off the board."""
_UNKNOWN: Final = ("", "?")
"""Values of a tag that say as much as no tag."""


@dataclass(eq=False, repr=False)
class BrokenGameError(UsageError):
    """What makes it impossible to play a game of a stream.

    :ivar place: where in the stream that is: the game and the line.
    :ivar reason: what is wrong.
    :ivar ply: the number of the move that cannot be made; None where it is no move.
    """

    place: str
    reason: str
    ply: int | None = None

    @property
    def alone(self) -> str:
        """What is wrong, for those to whom the game is not one of a stream."""
        return self.reason if self.ply is None else f"ply {self.ply}: {self.reason}"

    def __str__(self) -> str:
        return f"{self.place}{': ' if self.ply is None else ', '}{self.alone}"


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
    """The last comment after the last move of the main line, or before the first if there are no moves."""
    result: str = "*"
    """The classical result: that of the tag, else that of the movetext."""
    doubts: tuple[Doubt, ...] = ()
    """What is doubtful about a game that can be read."""
    error: BrokenGameError | None = None
    """What is wrong with the game; None for a sound one."""

    @property
    def moves(self) -> list[chess.Move]:
        """The main line, up to the first move that cannot be made."""
        return self.board.move_stack

    @property
    def ending(self) -> Ending:
        """How it ended off the board."""
        told = {**self.tags, "Result": self.result}
        basis = told.get(tags.R.basis)
        if basis is not None and basis not in _OFF_BOARD:
            told.pop(tags.R.result, None)  # a mate that we found, and not how cuteRMob writes a forfeit
        return read_ending(told, self.comment)


def read_games(stream: LineStream) -> Iterator[Game]:
    """Yield the games of a PGN stream; a broken one has an ``error``, and the next ones follow.

    Chess960 is read; games of other variants are broken ones. FENs of seven fields and ``[Legacy]`` without
    a value are understood, which plain PGN readers do not.
    """
    for raw in split_games(stream):
        if not raw.empty:
            yield read_game(raw)


def read_game(raw: RawGame) -> Game:
    """Return the game that its bytes mean."""
    game = Game(raw.number, raw.line, raw.values)
    game.result = game.tags.get("Result", "*").strip()
    try:
        if raw.unreadable:
            raise UsageError(
                f'{quote(raw.unreadable)} is not a tag: expected one in a line, as [Name "value"]'
            )
        if not raw.tags and raw.movetext == len(raw.data):
            raise UsageError(_NO_PGN)
        game.start = _start(game.tags)
    except UsageError as error:
        game.error = BrokenGameError(_place(game, game.line), str(error))
        return game
    game.board = game.start.board.copy(stack=False)
    text = raw.data[raw.movetext :].decode("utf-8", "replace")
    try:
        _doubt(game, raw, *_play(game, text))
    except _Broken as broken:
        before = raw.data[: raw.movetext] + text[: broken.token.start()].encode()
        line = raw.line + len(_BREAK.findall(before))
        if game.tags or game.moves:
            game.error = BrokenGameError(_place(game, line), str(broken), len(game.moves) + 1)
        else:
            game.error = BrokenGameError(_place(game, line), _NO_PGN)
    return game


def _place(game: Game, line: int) -> str:
    return f"game {game.number}, line {line}"


class _Broken(Exception):  # noqa: N818
    """What is wrong with movetext, and where."""

    def __init__(self, token: re.Match[str], reason: str) -> None:
        super().__init__(f"{quote(token[0])} {reason}")
        self.token = token


def _play(game: Game, text: str) -> tuple[str, bool]:
    """Make the moves of the main line; return the result after them, and whether all comments are closed.

    :raises _Broken: at the first text that is not one.
    """
    board, over = game.board, ""
    variations: list[re.Match[str]] = []
    for token in TOKEN.finditer(text):
        kind = token.lastgroup
        if kind is None:
            continue
        if kind == "move":
            if variations:
                continue
            if over:
                raise _Broken(token, "follows the result")
            try:
                board.push(move_of(board, token))
            except ValueError:
                raise _Broken(token, "is not a legal move") from None
            game.comment = ""
        elif kind == "comment":
            if not variations:
                game.comment = token[0].strip("{};").strip()
        elif kind == "result":
            if not variations:
                over = token[0] if token[0] in (*RESULTS, "*") else "1/2-1/2"
                if game.result not in RESULTS:
                    game.result = over
        elif kind == "close":
            if not variations:
                raise _Broken(token, "closes no variation")
            variations.pop()
        elif token[0] == "(":
            variations.append(token)
        elif game.tags or game.moves:
            return over, False
        else:
            raise _Broken(token, "opens a comment that is not closed")
    if variations:
        raise _Broken(variations[0], "opens a variation that is not closed")
    return over, True


def move_of(board: chess.Board, token: re.Match[str]) -> chess.Move:
    """Return the move that a token of movetext means.

    :raises ValueError: if it is not legal.
    """
    return parse_san(board, token[0].removesuffix("e.p.").rstrip(_MARKS))


def _doubt(game: Game, raw: RawGame, over: str, closed: bool) -> None:
    """Note what is doubtful about a game.

    :param over: the result after its moves; empty if there is none.
    :param closed: whether all comments are.
    """
    said, plies, moves = game.tags.get("Result", "").strip(), raw.plies, len(game.moves)
    ends = not any(game.board.generate_legal_moves())
    missing = closed and not over and said in RESULTS
    cut = missing or not (closed or over)
    truncated = not ends and (cut if plies is None else plies > moves)
    differs = bool(over) and said in (*RESULTS, "*") and said != over
    on_board = ("0-1" if game.board.turn else "1-0") if game.board.is_check() else "1/2-1/2"
    found = {
        Doubt.TRUNCATED: truncated,
        Doubt.UNCLOSED_COMMENT: not closed,
        Doubt.RESULT: differs or (missing and not truncated),
        Doubt.FINAL_POSITION: ends and game.result in RESULTS and game.result != on_board,
        Doubt.PLY_COUNT: plies not in (None, moves) and not truncated,
        Doubt.DUPLICATE_TAG: any(
            game.tags[tag.name] != tag.value for tag in raw.tags if tag.name not in _REPLACED
        ),
        Doubt.MALFORMED_TAG: raw.malformed,
    }
    game.doubts = tuple(doubt for doubt, is_so in found.items() if is_so)


def _start(given: dict[str, str]) -> Fen:
    """Return the start position of a game.

    :raises UsageError: if it is of a variant, or means nothing.
    """
    given = {name: value for name, value in given.items() if value not in _UNKNOWN}
    if "Variant" in given:
        from chess.pgn import Headers  # imports the protocols of engines, too

        try:
            known = Headers({"Variant": given["Variant"]}).variant() is chess.Board
        except ValueError:
            known = False
        if not known:
            raise UsageError(f"the variant {quote(given['Variant'])} is not refereed here")
    fen = parse_fen(given.get("FEN", chess.STARTING_FEN))
    validate(fen.board)
    accrued = given.get(tags.ACCRUED_BEFORE)
    return fen if accrued is None else Fen(fen.board, GScore.parse(accrued))
