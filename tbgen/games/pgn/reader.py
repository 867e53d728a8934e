"""Games of a PGN stream: tags, start, main line and last comment; variations and comments when asked for."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import chess

from tbgen.board.fen import Fen, parse_fen
from tbgen.board.rules import position_score, validate, without_impossible_en_passant
from tbgen.board.san import parse_san
from tbgen.board.score import GScore
from tbgen.errors import UsageError, quote
from tbgen.games.outcome import RESULTS, Basis, Doubt
from tbgen.games.pgn import tags
from tbgen.games.pgn.ending import Ending, read_ending
from tbgen.games.pgn.spelling import BOTH_FORFEIT, IN_MOVETEXT, UNFINISHED, plain_movetext, read_result
from tbgen.games.pgn.splitter import LineStream, RawGame, split_games
from tbgen.text import legible

_WORDS: Final = (
    r"(?i:e\.?\s?p|en[\s-]*passant|(?:(?:disc?|dbl)\.?\s?)?ch(?:(?:ec)?k)?(?:mate)?|mate|novelty|diagram)"
)
_CODES: Final = r"(?:T?N|D)"
"""Of publishers: a novelty, a diagram."""
_SIGNS_OF: Final = r"[^\w\s(){}\[\];$*%]"
TOKEN: Final = re.compile(
    rf"""
    (?P<result>{IN_MOVETEXT})
    |(?:\d+(?:[.…]+|(?=\s|\Z))|[.…]+)                     # a move's number
    |\$\d+|(?!--\w*(?:\s|\Z)|@@)(?=[^\s(){{}}\[\];$*%]){_SIGNS_OF}*+  # what is said of a move
      (?:(?:{_WORDS}|{_CODES})(?![^\W_]){_SIGNS_OF}*+)*+(?=[\s(){{}};$*]|\Z)
    |(?P<comment>\{{[^}}]*\}}|;[^\r\n]*)
    |(?<![^\r\n])%[^\r\n]*                                # an escaped line
    |(?P<open>[({{])
    |(?P<close>\))
    |(?P<move>[^\s{{}}();$*]+|[}}*$])
    """,
    re.VERBOSE,
)
"""Everything that stands in plain movetext; only the parts with a name matter. An open brace never closes."""
_GLUED: Final = re.compile(rf"(?:(?<=[\W\dOQRBN]){_WORDS}\b|[^\w]|_)+\Z")
"""What is said of a move in one word with it."""
_CODED: Final = re.compile(rf"(?<=[1-8Oo0QRBN]|[^\w=]){_CODES}\Z")
MOST_PLIES: Final = 20_000
"""The most that is read of one game; those of chess have had some hundreds."""
_LONGEST: Final = 64
"""Characters of a move with all that is said of it."""
_CASTLING: Final = re.compile(r"[Oo0]-[Oo0](?:-[Oo0])?")
_LIKE_A_MOVE: Final = re.compile(r"[a-h][1-8]|[Oo0]-[Oo0]|[*}]")
_LIKE_A_RESULT: Final = re.compile(r"[+=/.,½\d]{1,7}[-:_][+=/.,½\d]{1,7}\w{0,8}")
_AT_END: Final = re.compile(r"(?>\s|\{[^}]*\}|;[^\r\n]*)*+\Z")
_BREAK: Final = re.compile(rb"\r\n|\n|\r")
_NO_PGN: Final = "no PGN, as it has neither tags nor moves"
_REPLACED: Final = frozenset().union(*tags.REPLACED.values())
_OFF_BOARD: Final = frozenset(basis.value for basis in Basis if basis.off_board)
"""The grounds of a result that was won off the board."""
_DECIDED: Final = (*RESULTS, BOTH_FORFEIT)
"""The results of games that are over."""
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
    result: str = UNFINISHED
    """The classical result: that of the tag, else that of the movetext; ``0-0`` if both have lost, and as it
    stands if neither is known."""
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
    said = game.tags.get("Result", "").strip()
    game.result = read_result(said) or (UNFINISHED if said in _UNKNOWN else said)
    try:
        if raw.flaw:
            raise UsageError(raw.flaw)
        if not raw.tags and raw.movetext == len(raw.data):
            raise UsageError(_NO_PGN)
        game.start = _start(game.tags)
        doubts = doubts_of_start(game.start)
    except UsageError as error:
        game.error = BrokenGameError(_place(game, game.line), str(error))
        return game
    game.board = game.start.board.copy(stack=False)
    text = plain_movetext(raw.data[raw.movetext :])
    try:
        _doubt(game, raw, _play(game, text))
        game.doubts += doubts
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


@dataclass(slots=True)
class _Told:
    """What a movetext tells beside moves."""

    results: list[str] = field(default_factory=list)
    """Those after the moves, as they stand where nobody knows them."""
    closed: bool = True
    """Whether all comments are."""
    doubts: set[Doubt] = field(default_factory=set)


def _play(game: Game, text: str) -> _Told:
    """Make the moves of the main line, and return what else is told.

    :raises _Broken: at the first text that is not one.
    """
    told = _Told()
    outer: re.Match[str] | None = None
    depth = 0
    for token in TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == "open" and token[0] == "{":
            if not (game.tags or game.moves):
                raise _Broken(token, "opens a comment that is not closed")
            told.closed = False
            return told
        if kind == "open":
            outer = outer or token
            depth += 1
        elif kind == "close":
            if not depth:
                raise _Broken(token, "closes no variation")
            depth -= 1
            outer = outer if depth else None
        elif kind is None or depth:
            continue
        elif kind == "comment":
            game.comment = token[0].strip("{};").strip()
        elif kind == "result":
            told.results.append(read_result(token[0]) or token[0])
        elif not told.results:
            _move(game, token, told)
        elif _LIKE_A_MOVE.search(token[0]):
            raise _Broken(token, "follows the result")
        else:
            told.doubts.add(Doubt.STRAY_TEXT)
    if outer is not None:
        raise _Broken(outer, "opens a variation that is not closed")
    return told


def _move(game: Game, token: re.Match[str], told: _Told) -> None:
    """Make a move of the main line; or take down the last word of a game, if it is a result and no move.

    ``0-0`` may be both: it is castling if the tag ``Result`` does not say it, and castling is legal.

    :raises _Broken: if it is neither.
    """
    last = _LIKE_A_RESULT.fullmatch(token[0]) and _AT_END.match(token.string, token.end())
    if last and game.result == BOTH_FORFEIT and read_result(token[0]):
        told.results.append(read_result(token[0]) or token[0])
        return
    if len(game.moves) >= MOST_PLIES:
        raise _Broken(token, f"goes beyond {MOST_PLIES:,} plies, the most that is read of one game")
    try:
        game.board.push(move_of(game.board, token))
    except ValueError:
        if not last:
            raise _Broken(token, "is not a legal move") from None
        told.results.append(read_result(token[0]) or token[0])
        return
    game.comment = ""
    numbered = last and token.string[: token.start()].rstrip().endswith((".", "…"))
    if last and not numbered and game.result not in RESULTS:
        told.doubts.add(Doubt.CASTLING)


def move_of(board: chess.Board, token: re.Match[str]) -> chess.Move:
    """Return the move that a token of movetext means.

    :raises ValueError: if it is not legal.
    """
    if len(token[0]) > _LONGEST:
        raise chess.InvalidMoveError(quote(token[0]))
    san = _GLUED.sub("", token[0])
    without = _GLUED.sub("", _CODED.sub("", san))
    try:
        return parse_san(board, _with_letters(san))
    except ValueError:
        if without == san:
            raise
        return parse_san(board, _with_letters(without))  # e8N is a promotion, and h3N a novelty


def _with_letters(san: str) -> str:
    """Return a move with letters for the zeros of castling."""
    return san.upper().replace("0", "O") if _CASTLING.fullmatch(san) else san


def _doubt(game: Game, raw: RawGame, told: _Told) -> None:
    """Note the result of a game, and what is doubtful about it."""
    text = game.tags.get("Result", "").strip()
    said, plies, moves, over = read_result(text), raw.plies, len(game.moves), bool(told.results)
    if game.result not in _DECIDED and over:
        game.result = next((one for one in told.results if one in _DECIDED), told.results[0])
    every = {*told.results, *([said] if said else [])}
    unknown = text not in _UNKNOWN and said is None
    ends = not any(game.board.generate_legal_moves())
    missing = told.closed and not over and said in _DECIDED
    cut = missing or not (told.closed or over)
    truncated = not ends and (cut if plies is None else plies > moves)
    on_board = ("0-1" if game.board.turn else "1-0") if game.board.is_check() else "1/2-1/2"
    found = {
        Doubt.TRUNCATED: truncated,
        Doubt.UNCLOSED_COMMENT: not told.closed,
        Doubt.RESULT: (over and len(every) > 1) or (missing and not truncated),
        Doubt.UNKNOWN_RESULT: unknown or any(read_result(one) is None for one in told.results),
        Doubt.BOTH_FORFEIT: game.result == BOTH_FORFEIT,
        Doubt.CASTLING: Doubt.CASTLING in told.doubts,
        Doubt.FINAL_POSITION: ends and game.result in _DECIDED and game.result != on_board,
        Doubt.PLY_COUNT: plies not in (None, moves) and not truncated,
        Doubt.STRAY_TEXT: Doubt.STRAY_TEXT in told.doubts,
        Doubt.DUPLICATE_TAG: any(
            game.tags[tag.name] != tag.value for tag in raw.tags if tag.name not in _REPLACED
        ),
        Doubt.MALFORMED_TAG: raw.malformed,
        Doubt.TAG_NAME: raw.other_case,
    }
    game.doubts = tuple(doubt for doubt, is_so in found.items() if is_so)


def _start(given: dict[str, str]) -> Fen:
    """Return the start position of a game.

    :raises UsageError: if it is of a variant, or means nothing.
    """
    given = {name: legible(value).strip() for name, value in given.items() if value not in _UNKNOWN}
    if "Variant" in given:
        from chess.pgn import Headers  # imports the protocols of engines, too

        try:
            known = Headers({"Variant": given["Variant"]}).variant() is chess.Board
        except ValueError:
            known = False
        if not known:
            raise UsageError(f"the variant {quote(given['Variant'])} is not refereed here")
    fen = parse_fen(given.get("FEN", chess.STARTING_FEN))
    accrued = given.get(tags.ACCRUED_BEFORE)
    return fen if accrued is None else Fen(fen.board, GScore.parse(accrued))


def doubts_of_start(start: Fen) -> tuple[Doubt, ...]:
    """Take away an en passant square that no pawn has passed, and return what does not count of a start.

    A seventh field no better than the position's own score changes nothing, such as cuteRMob's ``G218.0``.

    :raises UsageError: if the position is not valid.
    """
    impossible = without_impossible_en_passant(start.board)
    validate(start.board)
    seventh, unheard = start.seventh, False
    if seventh is not None and start.accrued is None:
        own = position_score(start.board)
        unheard = seventh.rank <= own.rank and seventh != own
    return (Doubt.EN_PASSANT,) * impossible + (Doubt.SEVENTH_FIELD,) * unheard


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
