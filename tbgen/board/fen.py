"""Parsing of FENs with an optional seventh field, the accrued score; also of EPDs.

A FEN may contain described men (docs/glossary.md), in brackets. Boards of python-chess support only the six
piece types of chess. ``DescribedBoard`` therefore represents positions with described men; it has the
attributes and methods that look-ups in tables use.
"""

import functools
import re
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

import chess
from msgspec import Struct

from tbgen.board.kinds import FEN_LETTERS, KIND_LETTERS, KINDS, Kind, attacks
from tbgen.board.material import described_kind
from tbgen.board.score import GScore
from tbgen.board.variant import Resets, Variant, unlisted_error
from tbgen.errors import UsageError, quote
from tbgen.text import LegibleTable, sanitise

_EXPECTED_FIELDS: Final = (
    "expected pieces and side to move, then optionally castling, en passant square, halfmove clock, "
    "move number and accrued score"
)
_COUNTER_PATTERN: Final = re.compile(r"[0-9]+")
_COUNTERS_PATTERN: Final = re.compile(r"([0-9]+)\s+([0-9]+)(?:\s+(-?m?G[0-9.]+))?(?:\s*;|\s+|\Z)", re.I)
"""Matches the halfmove clock and the move number in an EPD, optionally followed by an accrued score."""
_OPERATION_PATTERN: Final = re.compile(r"""[\s;]*([A-Za-z]\w*+)((?:[^;"]|"[^"]*")*+)(?:;|\Z)""")
"""Matches an operation of an EPD: opcode, operands and semicolon. Some programs omit the last semicolon."""
_LEGIBLE_TABLE: Final = LegibleTable({code: chr(code) for code in range(0xFF0E, 0xFF5F)})
"""The translation of :func:`tbgen.text.sanitise` without full-width letters, digits and most signs."""
_TRAILING_CHARACTERS: Final = "; \t\r\n"
_EPD_WITHOUT_SEMICOLON: Final = re.compile(
    r"(?:\S+\s+){4}(?:[0-9]+\s+[0-9]+\s+(?:-?m?G[0-9.]+\s+)?|"
    r"(?=(?:ac[dns]|ce|dm|eco|fmvn|hmvc|id|nic|noop|rc|tc(?:gs|[rs]i)|[cv][0-9])\s)|"
    r"(?!\S+\s+[0-9]+(?:\s|\Z)))[a-z][a-z0-9_]+\s+\S"
)
"""Matches an EPD without any semicolon. An opcode whose operand is a number does not match, unless it is a
standard one, because it may be a mistyped halfmove clock."""
_MAX_COUNTER_DIGITS: Final = 9
_TURNS: Final = {"w": chess.WHITE, "b": chess.BLACK}
_EP_SQUARES: Final = {"-": None} | {name: square for square, name in enumerate(chess.SQUARE_NAMES)}
_ROW_SYMBOLS: Final = rf"(?:[1-8{FEN_LETTERS}]|\[[A-Za-z0-9-]*\])+"
_FEN_BEGINNING: Final = re.compile(rf"{_ROW_SYMBOLS}(/{_ROW_SYMBOLS}){{2,}}([\s_]|\Z)")
_ROW_PATTERN: Final = re.compile(f"([1-8](?![1-8])|[{FEN_LETTERS}]){{1,8}}")

Man: TypeAlias = tuple[str, chess.Color]
"""A man: the name of its kind, and its colour."""

_SYMBOL_PATTERN: Final = re.compile(rf"\[[^][]*\]|[{KIND_LETTERS}{KIND_LETTERS.lower()}]|[1-8]")
_CHESS_KINDS: Final = {kind.name: kind for kind in KINDS}
_EXPECTED_DESCRIBED_FIELDS: Final = (
    "expected pieces and side to move, then optionally - for castling and en passant, halfmove clock, "
    "move number and accrued score"
)


def is_fen(text: str) -> bool:
    """Return whether a string looks like a FEN (possibly with described men) rather than a file name.

    >>> is_fen("8/8/8/4KBk1/8/8/8/8 b - -"), is_fen("games/positions.fen")
    (True, False)
    """
    return bool(_FEN_BEGINNING.match(text))


class Fen(Struct, frozen=True):
    """A parsed FEN.

    :ivar board: the board as written; only the syntax is validated. ``chess960`` is set if a castling right
        exists only in Chess960, because the king is not on the e-file, or the rook not on the a- or h-file.
        Castling is then written as the king's move onto its rook: ``e1h1``, not ``e1g1``.
    :ivar seventh: the seventh field, None if it is absent.
    """

    board: chess.Board
    seventh: GScore | None

    @property
    def accrued(self) -> GScore | None:
        """The score accrued since the last reset in r-mobility, None if it is absent or ignored.

        The seventh field is ignored if the halfmove clock is 0. It is also ignored if an en passant capture
        is legal, because a pawn has then just moved.
        """
        return self.accrued_in(Variant.R_MOBILITY)

    def accrued_in(self, variant: Variant) -> GScore | None:
        """Return the accrued score in a variant, None if it is absent or ignored.

        In r-mobility, this is :attr:`accrued`. Nothing resets the score in whole-game mobility, so the
        seventh field is returned unchanged.
        """
        is_reset = variant.is_reset_by(not self.board.halfmove_clock or self.board.has_legal_en_passant())
        return None if is_reset else self.seventh

    def note(self, variant: Variant) -> str | None:
        """Return a sentence that says why the seventh field is ignored, None if it counts or is absent."""
        return note_on_reset(self.seventh, self.accrued_in(variant), self.board.halfmove_clock)


def note_on_reset(seventh: GScore | None, accrued: GScore | None, halfmove_clock: int) -> str | None:
    """Return a sentence that says why the seventh field is ignored, None if it counts or is absent."""
    if seventh is None or accrued is not None:
        return None
    reason = (
        "an en passant capture is legal, so a pawn move has just reset the score"
        if halfmove_clock
        else "the halfmove clock is 0, so the score has just been reset; "
        "give it beside the FEN, or a higher clock"
    )
    return f"the seventh field {seventh} does not count: {reason}"


def parse_fen(text: str) -> Fen:
    """Parse a FEN of up to seven fields; only the first two are required.

    Underscores may replace spaces, as in Lichess URLs, and any dash may replace a hyphen. Invisible
    characters are ignored.

    In an EPD, operations follow the counters or replace them, and a semicolon ends each operation [1].
    ``hmvc`` and ``fmvn`` set the counters; all other operations are ignored. The last semicolon may be
    missing, and extra semicolons may follow the fields.

    [1] Steven J. Edwards, *Portable Game Notation Specification and Implementation Guide* (1994), section
    16.2.

    :raises UsageError: if a field is malformed.

    >>> fen = parse_fen("8/8/5k1K/5P2/8/8/8/8 w - - 1 60 -G2.5")
    >>> print(fen.accrued)
    -G2.5
    >>> parse_fen("8/8/5k1K/5P2/8/8/8/8 w - - hmvc 1; bm Kh7;").board.halfmove_clock
    1
    """
    fields = _fields(text)
    if fields and "[" in fields[0] and "]" in fields[0]:
        raise UsageError(
            f"{quote(text)} has described men in brackets, which only tables support, while games and the "
            "engine are of chess: look it up with tbgen probe"
        )
    if not 2 <= len(fields) <= 7:
        raise UsageError(f"{quote(text)} is not a FEN: {_EXPECTED_FIELDS}")
    for name, counter in zip(("halfmove clock", "move number"), fields[4:6], strict=False):
        if not _COUNTER_PATTERN.fullmatch(counter):
            raise UsageError(
                f"{quote(text)} is not a FEN: the {name} {quote(counter)} is not a whole number from 0; "
                f"{_EXPECTED_FIELDS}"
            )
        if len(counter) > _MAX_COUNTER_DIGITS:
            raise UsageError(f"{quote(text)} is not a FEN: the {name} {quote(counter)} is too large")
    try:
        board = _board_without_castling(fields[:6]) or chess.Board(" ".join(fields[:6]))
    except ValueError as error:
        # The message of python-chess ends with the FEN itself.
        reason = str(error).split(" in fen: ")[0].split(": '")[0]
        if reason.startswith("expected 'w' or 'b'"):
            reason = "the side to move must be w or b"
        raise UsageError(f"{quote(text)} is not a FEN: {reason}") from None
    board.chess960 = bool(board.castling_rights) and board.has_chess960_castling_rights()
    return Fen(board, GScore(fields[6]) if len(fields) == 7 else None)


def _fields(text: str) -> list[str]:
    """Return the fields of a FEN or an EPD; the operations of an EPD are replaced by counters.

    :raises UsageError: if the operations of an EPD are malformed.
    """
    text = sanitise(text, _LEGIBLE_TABLE).strip()
    if "_" in text.partition(" ")[0]:
        text = text.replace("_", " ")
    body = text.rstrip(_TRAILING_CHARACTERS)
    fields = body.split()
    if ";" not in body and (len(fields) < 5 or (len(fields) == 5 and _COUNTER_PATTERN.fullmatch(fields[4]))):
        return fields
    return _fields_of_epd(text) if ";" in text or _EPD_WITHOUT_SEMICOLON.match(text) else fields


def _fields_of_epd(text: str) -> list[str]:
    *fields, operations = text.split(None, 4)
    match = _COUNTERS_PATTERN.match(operations)
    clock, move_number, accrued = match.groups() if match else ("0", "1", None)
    counters = {"hmvc": clock, "fmvn": move_number}
    offset = match.end() if match else 0
    while operation := _OPERATION_PATTERN.match(operations, offset):
        opcode, operand = operation.groups()
        if opcode in counters:
            counters[opcode] = operand.strip()
        offset = operation.end()
    if len(fields) < 4 or operations[offset:].strip(_TRAILING_CHARACTERS):
        raise UsageError(
            f"{quote(text)} is not an EPD: expected pieces, side to move, castling, en passant square, then "
            "opcodes, each with its operands and a semicolon"
        )
    return [*fields, *counters.values(), *([accrued] if accrued else [])]


def _board_without_castling(fields: list[str]) -> chess.Board | None:
    """Return the board for the six fields of a FEN without castling rights.

    The result is None if python-chess has to parse the fields or report what is wrong. Rows are cached,
    because the same rows occur again and again. This is three times as fast as python-chess.
    """
    rows = fields[0].split("/")
    if len(fields) < 6 or len(rows) != 8 or fields[1] not in _TURNS or fields[2] != "-":
        return None
    if fields[3] not in _EP_SQUARES:
        return None
    kind_masks = [0] * 7
    side_masks = [0, 0]
    for rank, row in enumerate(reversed(rows)):
        if row != "8":
            row_men = _men_of_row(row) if len(row) <= 8 else None
            if row_men is None:
                return None
            for kind, is_white, file_bit in row_men:
                kind_masks[kind] |= file_bit << 8 * rank
                side_masks[is_white] |= file_bit << 8 * rank
    board = chess.Board(None)
    _, board.pawns, board.knights, board.bishops, board.rooks, board.queens, board.kings = kind_masks
    board.occupied_co = side_masks
    board.occupied = side_masks[chess.WHITE] | side_masks[chess.BLACK]
    board.turn = _TURNS[fields[1]]
    board.ep_square = _EP_SQUARES[fields[3]]
    board.halfmove_clock = int(fields[4])
    board.fullmove_number = int(fields[5]) or 1
    return board


@functools.lru_cache(1 << 12)
def _men_of_row(row: str) -> tuple[tuple[chess.PieceType, chess.Color, chess.Bitboard], ...] | None:
    """Return the type, colour and file of each man in a row, None if the row is malformed.

    The file is given as a bit of the first rank.
    """
    if not _ROW_PATTERN.fullmatch(row):
        return None
    files = "".join("." * int(letter) if letter.isdigit() else letter for letter in row)
    if len(files) != 8:
        return None
    return tuple(
        (chess.PIECE_SYMBOLS.index(letter.lower()), letter.isupper(), 1 << file)
        for file, letter in enumerate(files)
        if letter != "."
    )


class DescribedBoard:
    """A board with described men and without pawns. Moves can be made and undone.

    :ivar men: name and colour of each man, by square.
    :ivar turn: the side to move, ``chess.WHITE`` or ``chess.BLACK``.
    :ivar move_stack: the moves made.
    """

    castling_rights: Final = chess.BB_EMPTY
    """No castling rights. Boards of python-chess also have this attribute."""

    def __init__(
        self, men: Mapping[chess.Square, Man], turn: chess.Color, halfmove_clock: int = 0, fullmove: int = 1
    ) -> None:
        self.men = dict(men)
        self.turn = turn
        self.halfmove_clock = halfmove_clock
        self.fullmove_number = fullmove
        self.move_stack: list[chess.Move] = []
        self._undo_stack: list[tuple[Man | None, int]] = []

    def __str__(self) -> str:
        return self.fen()

    def fen(self) -> str:
        """Return the FEN, with described men in brackets."""
        rows = []
        for rank in reversed(range(8)):
            symbols = [self.symbol_at(chess.square(file, rank)) or "1" for file in range(8)]
            rows.append(re.sub("1+", lambda empty: str(len(empty[0])), "".join(symbols)))
        turn = "w" if self.turn else "b"
        return f"{'/'.join(rows)} {turn} - - {self.halfmove_clock} {self.fullmove_number}"

    def symbol_at(self, square: chess.Square) -> str:
        """Return the FEN symbol of the man on a square, an empty string if the square is empty."""
        name, white = self.men.get(square, ("", True))
        return name if white else name.lower()

    def has_legal_en_passant(self) -> bool:
        """Return False: without pawns, no en passant capture is legal."""
        return False

    def is_insufficient_material(self) -> bool:
        """Return whether the board has only two men, the kings."""
        return len(self.men) == 2

    def copy(self, *, stack: bool = False) -> "DescribedBoard":
        """Return a copy without the move stack."""
        assert not stack
        return DescribedBoard(self.men, self.turn, self.halfmove_clock, self.fullmove_number)

    @property
    def occupied(self) -> int:
        """The bitboard of all men."""
        return sum(1 << square for square in self.men)

    def king(self, colour: chess.Color) -> chess.Square | None:
        """Return the square of a side's king, None if it has no king."""
        return next((square for square, man in self.men.items() if man == ("K", colour)), None)

    def is_attacked_by(self, colour: chess.Color, square: chess.Square | None) -> bool:
        """Return whether a man of the given colour attacks a square."""
        occupied = self.occupied
        return square is not None and any(
            white == colour and attacks(_kind(name), origin, occupied) >> square & 1
            for origin, (name, white) in self.men.items()
        )

    def is_check(self) -> bool:
        """Return whether the side to move is in check."""
        return self.is_attacked_by(not self.turn, self.king(self.turn))

    def was_into_check(self) -> bool:
        """Return whether the side that is not to move is in check."""
        return self.is_attacked_by(self.turn, self.king(not self.turn))

    def position_score(self) -> GScore:
        """Return the position score."""
        return GScore(2 * sum(1 for _ in self.legal_moves) + (not self.is_check()), not self.turn)

    def accrued_score(self, variant: Variant) -> GScore:
        """Return the score accrued over the moves made on the board; the current position also counts.

        In a variant with resets, only the positions since the last capture count.
        """
        accrued = self.position_score()
        undone_moves = list[chess.Move]()
        match variant.resets:
            case Resets.ZEROING_MOVES:
                plies = min(self.halfmove_clock, len(self.move_stack))
            case Resets.NOTHING:
                plies = len(self.move_stack)
            case other:
                raise unlisted_error(other, variant)
        for _ in range(plies):
            undone_moves.append(self.pop())
            score = self.position_score()
            if score.rank <= accrued.rank:  # on equal ranks, the earlier score counts
                accrued = score
        for move in reversed(undone_moves):
            self.push(move)
        return accrued

    @property
    def legal_moves(self) -> Iterator[chess.Move]:
        """The legal moves."""
        occupied = self.occupied
        turn = self.turn
        for origin, (name, white) in list(self.men.items()):
            if white == turn:
                for target in chess.scan_forward(attacks(_kind(name), origin, occupied)):
                    move = chess.Move(origin, target)
                    if self.men.get(target, ("", not turn))[1] != turn and not self._exposes_king(move):
                        yield move

    def _exposes_king(self, move: chess.Move) -> bool:
        """Return whether a move leaves the mover's king attacked."""
        self.push(move)
        is_attacked = self.was_into_check()
        self.pop()
        return is_attacked

    def is_zeroing(self, move: chess.Move) -> bool:
        """Return whether a move is a capture."""
        return move.to_square in self.men

    def push(self, move: chess.Move) -> None:
        """Make a move."""
        captured_man = self.men.pop(move.to_square, None)
        self._undo_stack.append((captured_man, self.halfmove_clock))
        self.men[move.to_square] = self.men.pop(move.from_square)
        self.halfmove_clock = 0 if captured_man else self.halfmove_clock + 1
        self.fullmove_number += not self.turn
        self.turn = not self.turn
        self.move_stack.append(move)

    def pop(self) -> chess.Move:
        """Undo the last move."""
        move = self.move_stack.pop()
        captured_man, self.halfmove_clock = self._undo_stack.pop()
        self.men[move.from_square] = self.men.pop(move.to_square)
        if captured_man:
            self.men[move.to_square] = captured_man
        self.turn = not self.turn
        self.fullmove_number -= not self.turn
        return move


AnyBoard: TypeAlias = chess.Board | DescribedBoard
"""A board with or without described men."""


def _kind(name: str) -> Kind:
    return _CHESS_KINDS.get(name) or described_kind(name[1:-1])


class DescribedFen:
    """A parsed FEN with described men.

    :ivar board: the board as written; only the syntax is validated.
    :ivar seventh: the seventh field, None if it is absent.
    """

    def __init__(self, board: DescribedBoard, seventh: GScore | None) -> None:
        self.board = board
        self.seventh = seventh

    def accrued_in(self, variant: Variant) -> GScore | None:
        """Return the seventh field, None if it is absent or ignored in this variant."""
        return None if variant.is_reset_by(not self.board.halfmove_clock) else self.seventh

    def note(self, variant: Variant) -> str | None:
        """Return a sentence that says why the seventh field is ignored, None if it counts or is absent."""
        return note_on_reset(self.seventh, self.accrued_in(variant), 0)


def parse_described(text: str) -> DescribedFen:
    """Parse a FEN of two to seven fields with described men in brackets.

    White's men are written in capital letters.

    >>> parse_described("8/8/8/4K[WD]k1/8/8/8/8 b").board.fen()
    '8/8/8/4K[WD]k1/8/8/8/8 b - - 0 1'

    :raises UsageError: if a field is malformed.
    """
    fields = text.split() if " " in text.strip() else text.replace("_", " ").split()
    if not 2 <= len(fields) <= 7:
        raise UsageError(f"{quote(text)} is not a FEN: {_EXPECTED_DESCRIBED_FIELDS}")
    board_field, turn, *extras = fields
    checks = [
        (turn not in ("w", "b"), f"the side to move is {quote(turn)}, not w or b"),
        (any(field != "-" for field in extras[:2]), "with described men, there is no castling or en passant"),
        (any(not re.fullmatch("[0-9]{1,9}", n) for n in extras[2:4]), "a counter is not a whole number"),
    ]
    for is_wrong, reason in checks:
        if is_wrong:
            raise UsageError(f"{quote(text)} is not a FEN: {reason}; {_EXPECTED_DESCRIBED_FIELDS}")
    counters = [int(field) for field in extras[2:4]]
    board = DescribedBoard(_men_of(board_field, text), turn == "w", *counters)
    return DescribedFen(board, GScore(extras[4]) if len(extras) == 5 else None)


def _men_of(board_field: str, text: str) -> dict[chess.Square, Man]:
    """Return the men in the first field of a FEN, by square.

    :param text: the whole FEN, for error messages.
    :raises UsageError: if the field is malformed.
    """
    rows = board_field.split("/")
    men: dict[chess.Square, Man] = {}
    if len(rows) != 8:
        raise UsageError(f"{quote(text)} is not a FEN: it has {len(rows)} rows, not 8")
    for rank, row in zip(reversed(range(8)), rows, strict=True):
        symbols = _SYMBOL_PATTERN.findall(row)
        if "".join(symbols) != row:
            raise UsageError(
                f"{quote(text)} is not a FEN: a row is {quote(row)}; expected numbers, {KIND_LETTERS} for "
                f"White, {KIND_LETTERS.lower()} for Black, and other men in brackets; with "
                "described men, there are no pawns"
            )
        file = 0
        for symbol in symbols:
            if symbol.isdigit():
                file += int(symbol)
            else:
                men[chess.square(file, rank) if file < 8 else -1] = _man(symbol)
                file += 1
        if file != 8:
            raise UsageError(f"{quote(text)} is not a FEN: the row {quote(row)} has {file} squares, not 8")
    return men


def _man(symbol: str) -> Man:
    """Return the man that a symbol of a FEN stands for.

    :raises UsageError: if the symbol describes a man that tables do not support.
    """
    return (described_kind(symbol[1:-1]).name if len(symbol) > 1 else symbol.upper()), symbol.isupper()


def parse_position(text: str) -> Fen | DescribedFen:
    """Parse a FEN, which may have described men in brackets.

    :raises UsageError: if a field is malformed.
    """
    return parse_described(text) if "[" in text.partition(" ")[0] else parse_fen(text)
