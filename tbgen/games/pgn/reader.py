"""Reading the games of a PGN stream: tags, start, main line and last comment; variations on request."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import chess
from msgspec import Struct, field

from tbgen.board.fen import Fen, parse_fen
from tbgen.board.kinds import PROMOTION_LETTERS
from tbgen.board.rules import position_score, remove_impossible_en_passant, validate
from tbgen.board.san import parse_san
from tbgen.board.score import GScore
from tbgen.errors import UsageError, quote
from tbgen.games.outcome import RESULTS, Basis, Doubt
from tbgen.games.pgn import tags
from tbgen.games.pgn.ending import COMMENT_COMMAND, Ending, read_ending
from tbgen.games.pgn.spelling import BOTH_FORFEIT, RESULT_IN_MOVETEXT, UNFINISHED, read_result, usual_movetext
from tbgen.games.pgn.splitter import ByteStream, RawGame, split_games
from tbgen.text import sanitise

_ANNOTATION_WORDS: Final = (
    r"(?i:e\.?\s?p|en[\s-]*passant|(?:(?:disc?|dbl)\.?\s?)?ch(?:(?:ec)?k)?(?:mate)?|mate|novelty|diagram)"
)
_PUBLISHER_CODES: Final = r"(?:T?N|D)"
"""Publishers' codes for a novelty and a diagram."""
_ANNOTATION_CHARACTER: Final = r"[^\w\s(){}\[\];$*%]"
TOKEN: Final = re.compile(
    rf"""
    (?P<result>{RESULT_IN_MOVETEXT})
    |(?:\d+(?:[.…]+|(?=\s|\Z))|[.…]+)                     # a move number
    |\$\d+|(?!--\w*(?:\s|\Z)|@@)(?=[^\s(){{}}\[\];$*%]){_ANNOTATION_CHARACTER}*+  # an annotation of a move
      (?:(?:{_ANNOTATION_WORDS}|{_PUBLISHER_CODES})(?![^\W_]){_ANNOTATION_CHARACTER}*+)*+(?=[\s(){{}};$*]|\Z)
    |(?P<comment>\{{[^}}]*\}}|;[^\r\n]*)
    |(?<![^\r\n])%[^\r\n]*                                # an escaped line
    |(?P<open>[({{])
    |(?P<close>\))
    |(?P<move>[^\s{{}}();$*]+|[}}*$])
    """,
    re.VERBOSE,
)
"""A token of plain movetext. Tokens outside the named groups are skipped. A brace in the group ``open`` is
never closed."""
_ATTACHED_ANNOTATIONS: Final = re.compile(
    rf"(?:(?<=[\W\dO{PROMOTION_LETTERS}]){_ANNOTATION_WORDS}\b|[^\w]|_)+\Z"
)
"""Annotations that follow a move without a space."""
_ATTACHED_CODE: Final = re.compile(rf"(?<=[1-8Oo0{PROMOTION_LETTERS}]|[^\w=]){_PUBLISHER_CODES}\Z")
MAX_PLIES: Final = 20_000
"""Maximum number of plies of one game. Real games of chess have a few hundred."""
_MAX_MOVE_LENGTH: Final = 64
"""Maximum number of characters of a move, including its attached annotations."""
_CASTLING: Final = re.compile(r"[Oo0]-[Oo0](?:-[Oo0])?")
_MOVE_LIKE: Final = re.compile(r"[a-h][1-8]|[Oo0]-[Oo0]|[*}]")
_RESULT_LIKE: Final = re.compile(r"[+=/.,½\d]{1,7}[-:_][+=/.,½\d]{1,7}\w{0,8}")
_REST_WITHOUT_MOVES: Final = re.compile(r"(?>\s|\{[^}]*\}|;[^\r\n]*)*+\Z")
_LINE_BREAK: Final = re.compile(rb"\r\n|\n|\r")
_NO_PGN_REASON: Final = "this is not PGN: it has neither tags nor moves"
_RETAGGED_NAMES: Final = frozenset().union(*tags.REPLACED_NAMES.values())
_OFF_BOARD_BASES: Final = frozenset(basis.value for basis in Basis if basis.off_board)
"""Values of the tag ``RMobilityBasis`` for wins off the board."""
_FINISHED_RESULTS: Final = (*RESULTS, BOTH_FORFEIT)
"""The results of finished games."""
_MISSING_VALUES: Final = ("", "?")
"""Values of a tag that mean the same as a missing tag."""

_NAG_BY_SIGN: Final = {"!": 1, "?": 2, "!!": 3, "??": 4, "!?": 5, "?!": 6}
"""The numeric annotation glyph (NAG) for each sign (section 10 of the PGN standard)."""
_NUMBERED_GLYPH: Final = re.compile(r"\$(\d{1,3})", re.ASCII)
_MAX_NAG: Final = 255


@dataclass(eq=False, repr=False)
class BrokenGameError(UsageError):
    """The error of a game that cannot be replayed.

    :ivar place: place of the error in the stream: game and line.
    :ivar reason: description of the error.
    :ivar ply: number of the ply that cannot be made, from 1; None if the error is not in a move.
    """

    place: str
    reason: str
    ply: int | None = None

    @property
    def message_without_place(self) -> str:
        """The message without the place in the stream."""
        return self.reason if self.ply is None else f"ply {self.ply}: {self.reason}"

    def __str__(self) -> str:
        return f"{self.place}{': ' if self.ply is None else ', '}{self.message_without_place}"


class Game(Struct):
    """One game of a PGN stream."""

    number: int
    """Number of the game in the stream, from 1."""
    line: int
    """Number of the game's first line in the stream, from 1."""
    tags: dict[str, str] = field(default_factory=dict)
    """The values of the tags by name, in the order of the stream. The first of duplicate tags counts."""
    start: Fen = field(default_factory=lambda: Fen(chess.Board(), None))
    """The start position, with the accrued score from a seventh field or a tag."""
    board: chess.Board = field(default_factory=chess.Board)
    """The final position. Its move stack is the main line, up to the first move that cannot be made."""
    comment: str = ""
    """The last comment after the last move of the main line; in a game without moves, its last comment. A
    comment that only has commands, such as ``[%clk 0:00:05]``, counts only if there is no earlier one."""
    result: str = UNFINISHED
    """The classical result from the tag, else from the movetext; ``0-0`` if both sides have lost. A result
    that is not recognized keeps its original spelling."""
    doubts: tuple[Doubt, ...] = ()
    """The doubts about the game; empty for a broken game."""
    error: BrokenGameError | None = None
    """The error of a broken game; None if the game can be read."""

    @property
    def moves(self) -> list[chess.Move]:
        """The main line, up to the first move that cannot be made."""
        return self.board.move_stack

    @property
    def ending(self) -> Ending:
        """The ending of the game off the board."""
        values = {**self.tags, "Result": self.result}
        basis = values.get(tags.R_MOBILITY_TAGS.basis)
        if basis is not None and basis not in _OFF_BOARD_BASES:
            # With such a basis, a mate is real. Without a basis, it may be a forfeit written by cuteRMob.
            values.pop(tags.R_MOBILITY_TAGS.result, None)
        return read_ending(values, self.comment)


def read_games(stream: ByteStream) -> Iterator[Game]:
    """Yield the games of a PGN stream. A broken game has an ``error``, and reading continues after it.

    Chess960 is supported; games of other variants count as broken. Unlike ordinary PGN readers, this function
    understands FENs of seven fields, and ``[Legacy]`` without a value.
    """
    for raw in split_games(stream):
        if not raw.empty:
            yield read_game(raw)


def read_game(raw: RawGame) -> Game:
    """Parse the bytes of a game."""
    game = Game(raw.number, raw.line, raw.values)
    result = game.tags.get("Result", "").strip()
    game.result = read_result(result) or (UNFINISHED if result in _MISSING_VALUES else result)
    try:
        if raw.flaw:
            raise UsageError(raw.flaw)
        if not raw.tags and raw.moves_start == len(raw.data):
            raise UsageError(_NO_PGN_REASON)
        game.start = _start_position(game.tags)
        doubts = doubts_of_start(game.start)
    except UsageError as error:
        game.error = BrokenGameError(_place(game, game.line), str(error))
        return game
    game.board = game.start.board.copy(stack=False)
    text = usual_movetext(raw.data[raw.moves_start :])
    try:
        _set_result_and_doubts(game, raw, _play(game, text))
        game.doubts += doubts
    except _MovetextError as error:
        data_before = raw.data[: raw.moves_start] + text[: error.token.start()].encode()
        line = raw.line + len(_LINE_BREAK.findall(data_before))
        if game.tags or game.moves:
            game.error = BrokenGameError(_place(game, line), str(error), len(game.moves) + 1)
        else:
            game.error = BrokenGameError(_place(game, line), _NO_PGN_REASON)
    return game


def _place(game: Game, line: int) -> str:
    return f"game {game.number}, line {line}"


class _MovetextError(Exception):
    """An error in movetext, with the token that causes it."""

    def __init__(self, token: re.Match[str], reason: str) -> None:
        super().__init__(f"{quote(token[0])} {reason}")
        self.token = token


class _Remainder(Struct):
    """The parts of a movetext other than moves."""

    results: list[str] = field(default_factory=list)
    """The results after the moves. A result in an unknown spelling keeps this spelling."""
    has_closed_comments: bool = True
    """Whether all comments are closed."""
    doubts: set[Doubt] = field(default_factory=set)


def _play(game: Game, text: str) -> _Remainder:
    """Make the moves of the main line, and return what else the movetext contains.

    :raises _MovetextError: at the first token that is out of place.
    """
    remainder = _Remainder()
    outer_parenthesis: re.Match[str] | None = None
    depth = 0
    for token in TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == "open" and token[0] == "{":
            if not (game.tags or game.moves):
                raise _MovetextError(token, "opens a comment that is not closed")
            remainder.has_closed_comments = False
            return remainder
        if kind == "open":
            outer_parenthesis = outer_parenthesis or token
            depth += 1
        elif kind == "close":
            if not depth:
                raise _MovetextError(token, "closes no variation")
            depth -= 1
            outer_parenthesis = outer_parenthesis if depth else None
        elif kind is None or depth:
            continue
        elif kind == "comment":
            comment = token[0].strip("{};").strip()
            if not game.comment or COMMENT_COMMAND.sub("", comment).strip():
                game.comment = comment
        elif kind == "result":
            remainder.results.append(read_result(token[0]) or token[0])
        elif not remainder.results:
            _make_move(game, token, remainder)
        elif _MOVE_LIKE.search(token[0]):
            raise _MovetextError(token, "follows the result")
        else:
            remainder.doubts.add(Doubt.STRAY_TEXT)
    if outer_parenthesis is not None:
        raise _MovetextError(outer_parenthesis, "opens a variation that is not closed")
    return remainder


def _make_move(game: Game, token: re.Match[str], remainder: _Remainder) -> None:
    """Make a move of the main line, or record a final result that is spelled like a move.

    ``0-0`` may be a move or a result. It is castling if castling is legal and the tag ``Result`` is not
    ``0-0``.

    :raises _MovetextError: if the token is neither a legal move nor a result.
    """
    last_word = _RESULT_LIKE.fullmatch(token[0]) and _REST_WITHOUT_MOVES.match(token.string, token.end())
    if last_word and game.result == BOTH_FORFEIT and read_result(token[0]):
        remainder.results.append(read_result(token[0]) or token[0])
        return
    if len(game.moves) >= MAX_PLIES:
        raise _MovetextError(token, f"exceeds {MAX_PLIES:,} plies, the maximum for one game")
    try:
        game.board.push(move_of(game.board, token))
    except ValueError:
        if not last_word:
            raise _MovetextError(token, "is not a legal move") from None
        remainder.results.append(read_result(token[0]) or token[0])
        return
    game.comment = ""
    numbered = last_word and token.string[: token.start()].rstrip().endswith((".", "…"))
    if last_word and not numbered and game.result not in RESULTS:
        remainder.doubts.add(Doubt.CASTLING)


def move_of(board: chess.Board, token: re.Match[str]) -> chess.Move:
    """Return the move that a token of movetext stands for.

    :raises ValueError: if the move is not legal.
    """
    if len(token[0]) > _MAX_MOVE_LENGTH:
        raise chess.InvalidMoveError(quote(token[0]))
    san = _ATTACHED_ANNOTATIONS.sub("", token[0])
    san_without_code = _ATTACHED_ANNOTATIONS.sub("", _ATTACHED_CODE.sub("", san))
    try:
        return parse_san(board, _castling_with_letters(san))
    except ValueError:
        if san_without_code == san:
            raise
        return parse_san(board, _castling_with_letters(san_without_code))  # e8N is a promotion, h3N a novelty


def _castling_with_letters(san: str) -> str:
    """Return a move, with the zeros of castling replaced by letters."""
    return san.upper().replace("0", "O") if _CASTLING.fullmatch(san) else san


def _set_result_and_doubts(game: Game, raw: RawGame, remainder: _Remainder) -> None:
    """Set the result of a game, and the doubts about it."""
    tag_text = game.tags.get("Result", "").strip()
    results = remainder.results
    recorded_result = read_result(tag_text)
    plies = raw.ply_count
    moves = len(game.moves)
    has_result = bool(results)
    if game.result not in _FINISHED_RESULTS and has_result:
        game.result = next((result for result in results if result in _FINISHED_RESULTS), results[0])
    distinct_results = {*results, *([recorded_result] if recorded_result else [])}
    is_unknown = tag_text not in _MISSING_VALUES and recorded_result is None
    terminal = not any(game.board.generate_legal_moves())
    is_missing = remainder.has_closed_comments and not has_result and recorded_result in _FINISHED_RESULTS
    cut_off = is_missing or not (remainder.has_closed_comments or has_result)
    truncated = not terminal and (cut_off if plies is None else plies > moves)
    board_result = ("0-1" if game.board.turn else "1-0") if game.board.is_check() else "1/2-1/2"
    conditions = {
        Doubt.TRUNCATED: truncated,
        Doubt.UNCLOSED_COMMENT: not remainder.has_closed_comments,
        Doubt.RESULT: (has_result and len(distinct_results) > 1) or (is_missing and not truncated),
        Doubt.UNKNOWN_RESULT: is_unknown or any(read_result(result) is None for result in results),
        Doubt.BOTH_FORFEIT: game.result == BOTH_FORFEIT,
        Doubt.CASTLING: Doubt.CASTLING in remainder.doubts,
        Doubt.FINAL_POSITION: terminal and game.result in _FINISHED_RESULTS and game.result != board_result,
        Doubt.PLY_COUNT: plies not in (None, moves) and not truncated,
        Doubt.STRAY_TEXT: Doubt.STRAY_TEXT in remainder.doubts,
        Doubt.DUPLICATE_TAG: any(
            game.tags[tag.name] != tag.value for tag in raw.tags if tag.name not in _RETAGGED_NAMES
        ),
        Doubt.MALFORMED_TAG: raw.malformed,
        Doubt.TAG_NAME: raw.has_unusual_case,
    }
    game.doubts = tuple(doubt for doubt, applies in conditions.items() if applies)


def _start_position(values: dict[str, str]) -> Fen:
    """Return the start position of a game from the values of its tags.

    :raises UsageError: if a value is invalid, or the variant is not chess.
    """
    values = {name: sanitise(value).strip() for name, value in values.items() if value not in _MISSING_VALUES}
    if "Variant" in values:
        from chess.pgn import Headers  # here, because it also imports chess.engine, which is slow

        try:
            is_chess = Headers({"Variant": values["Variant"]}).variant() is chess.Board
        except ValueError:
            is_chess = False
        if not is_chess:
            raise UsageError(f"the variant {quote(values['Variant'])} is not refereed here")
    fen = parse_fen(values.get("FEN", chess.STARTING_FEN))
    accrued = values.get(tags.START_ACCRUED)
    return fen if accrued is None else Fen(fen.board, GScore.parse(accrued))


def doubts_of_start(start: Fen) -> tuple[Doubt, ...]:
    """Return the doubts about a start position. Remove an impossible en passant square from its board.

    A seventh field that equals the position score or has a higher rank, such as cuteRMob's ``G218.0``, raises
    no doubt, because it changes nothing.

    :raises UsageError: if the position is not valid.
    """
    is_impossible = remove_impossible_en_passant(start.board)
    validate(start.board)
    seventh = start.seventh
    is_ignored = False
    if seventh is not None and start.accrued is None:
        start_score = position_score(start.board)
        is_ignored = seventh.rank <= start_score.rank and seventh != start_score
    return (Doubt.EN_PASSANT,) * is_impossible + (Doubt.SEVENTH_FIELD,) * is_ignored


class VariationMove(NamedTuple):
    """A move of a variation."""

    position_before: int
    """Number of the position before the move. The start position has number 0. The positions after the moves
    of the main line follow, then those after the moves of variations, in the order of the text."""
    move: chess.Move


class Variations(NamedTuple):
    """The variations of a game."""

    moves: list[VariationMove]
    cut_count: int
    """Number of variations that end at an illegal move."""
    comments: dict[int, str]
    """Comments, including those in the main line, by the number of the position that they follow."""
    nags: Mapping[int, list[int]]
    """The numeric annotation glyphs of a move, by the number of the position after the move."""


def read_variations(raw: RawGame, game: Game) -> Variations:
    """Return the variations, comments and glyphs of a game that has no error.

    :param raw: the game as bytes.
    """
    board = game.start.board.copy(stack=False)
    position_number = 0
    number_before: int | None = None  # number of the position before the last move, if any
    is_readable = True
    moves = list[VariationMove]()
    cut_count = 0
    comments = dict[int, str]()
    nags = defaultdict[int, list[int]](list)
    outer_states: list[tuple[chess.Board, int, int | None, bool]] = []
    for token in TOKEN.finditer(usual_movetext(raw.data[raw.moves_start :])):
        if token.lastgroup == "move" and not outer_states and position_number == len(game.moves):
            continue  # a result that looks like a move, or text after the result
        if token.lastgroup == "move" and is_readable:
            try:
                move = move_of(board, token)
            except ValueError:
                is_readable = False
                cut_count = cut_count + 1
                continue
            number_before = position_number
            if outer_states:
                moves.append(VariationMove(position_number, move))
                position_number = len(game.moves) + len(moves)
            else:
                position_number += 1
            board.push(move)
            nags[position_number] += _nags("".join(letter for letter in token[0] if letter in "!?"))
        elif token.lastgroup == "comment" and is_readable:
            words = f"{comments.get(position_number, '')} {token[0].strip('{};')}".split()
            comments[position_number] = " ".join(words)
        elif token.lastgroup is None and is_readable and number_before is not None:
            nags[position_number] += _nags(token[0])
        elif token[0] == "(":
            outer_states.append((board, position_number, number_before, is_readable))
            is_readable = is_readable and number_before is not None
            if number_before is not None:
                board = board.copy(stack=1)
                board.pop()
                position_number = number_before
                number_before = None
        elif token[0] == "{":
            break  # nothing after an unclosed comment is read
        elif token.lastgroup == "close":
            board, position_number, number_before, is_readable = outer_states.pop()
    return Variations(moves, cut_count, comments, nags)


def _nags(text: str) -> list[int]:
    """Return a list of the one glyph that a string stands for; an empty list if it stands for none."""
    numbered = _NUMBERED_GLYPH.fullmatch(text)
    glyph = int(numbered[1]) if numbered else _NAG_BY_SIGN.get(text, 0)
    return [glyph] if 0 < glyph <= _MAX_NAG else []
