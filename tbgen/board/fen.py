"""Parsing of FENs with an optional seventh field, the accrued score; also EPD and the notation of Lichess.

A FEN may have described men in brackets. Boards of python-chess support the six types of chess only, so
``DescribedBoard`` is a board for such positions, with the attributes and methods that look-ups in tables use.
"""

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import chess

from tbgen.board.kinds import KINDS, Kind, attacks
from tbgen.board.material import described
from tbgen.board.score import GScore
from tbgen.board.variant import Resets, Variant, unlisted
from tbgen.errors import UsageError, quote
from tbgen.text import legible

_EXPECTED: Final = (
    "expected pieces and side to move, then optionally castling, en passant square, halfmove clock, "
    "move number and accrued score"
)
_COUNTER: Final = re.compile(r"[0-9]+")
_COUNTERS: Final = re.compile(r"([0-9]+)\s+([0-9]+)(?:\s+(-?m?G[0-9.]+))?(?:\s*;|\s+|\Z)", re.I)
"""Counters in an EPD, optionally followed by an accrued score."""
_OPERATION: Final = re.compile(r"""[\s;]*([A-Za-z]\w*+)((?:[^;"]|"[^"]*")*+)(?:;|\Z)""")
"""An operation of an EPD: its opcode and its operands; some programs omit the last semicolon."""
_END: Final = "; \t\r\n"
_ONLY_OPERATION: Final = re.compile(
    r"(?:\S+\s+){4}(?:[0-9]+\s+[0-9]+\s+(?:-?m?G[0-9.]+\s+)?)?[a-z][a-z0-9_]+\s+\S"
)
"""An EPD without any semicolon."""
_MAX_COUNTER_DIGITS: Final = 9
_TURNS: Final = {"w": chess.WHITE, "b": chess.BLACK}
_EP_SQUARES: Final = {"-": None} | {name: square for square, name in enumerate(chess.SQUARE_NAMES)}
_CELLS: Final = r"(?:[1-8pnbrqkPNBRQK]|\[[A-Za-z0-9-]*\])+"
_BEGIN: Final = re.compile(rf"{_CELLS}(/{_CELLS}){{2,}}([\s_]|\Z)")
_ROW: Final = re.compile("([1-8](?![1-8])|[pnbrqkPNBRQK]){1,8}")


def is_fen(text: str) -> bool:
    """Return whether a text begins like a FEN, possibly with described men, rather than a file name.

    >>> is_fen("8/8/8/4KBk1/8/8/8/8 b - -"), is_fen("games/positions.fen")
    (True, False)
    """
    return bool(_BEGIN.match(text))


@dataclass(frozen=True, slots=True)
class Fen:
    """A parsed FEN.

    :ivar board: the board as written; only the syntax is validated. If it has a castling right that cannot
        occur in standard chess (of a king off the e-file, or of a rook off the a- and h-files), ``chess960``
        is set, and castling is written as the king's move onto its rook: ``e1h1``, not ``e1g1``.
    :ivar seventh: the seventh field; None if there is none.
    """

    board: chess.Board
    seventh: GScore | None

    @property
    def accrued(self) -> GScore | None:
        """The score accrued since the last reset in r-mobility.

        The seventh field is ignored at a halfmove clock of 0, and if an en passant capture is legal: then a
        pawn has just moved.
        """
        return self.accrued_in(Variant.R_MOBILITY)

    def accrued_in(self, variant: Variant) -> GScore | None:
        """Return the accrued score in a variant: :attr:`accrued` in r-mobility; in whole-game mobility, where
        nothing resets it, the seventh field unchanged."""
        board = self.board
        is_reset = variant.is_reset_by(not board.halfmove_clock or board.has_legal_en_passant())
        return None if is_reset else self.seventh

    def note(self, variant: Variant) -> str | None:
        """Return a sentence that says why the seventh field is ignored; None if it is not, or is absent."""
        return note_on_reset(self.seventh, self.accrued_in(variant), self.board.halfmove_clock)


def note_on_reset(seventh: GScore | None, accrued: GScore | None, clock: int) -> str | None:
    """Return a sentence that says why the seventh field is ignored; None if it is not, or is absent."""
    if seventh is None or accrued is not None:
        return None
    reason = (
        "an en passant capture is legal, so a pawn move has just reset the score"
        if clock
        else "the halfmove clock is 0, so the score has just been reset; "
        "give it beside the FEN, or a higher clock"
    )
    return f"the seventh field {seventh} does not count: {reason}"


def parse_fen(text: str) -> Fen:
    """Parse a FEN of six or seven fields; fields after the side to move may be omitted.

    Underscores are accepted for spaces, as in addresses of Lichess, and any dash for a hyphen. Invisible
    characters are ignored. An EPD has operations instead of the counters or after them, each ended by a
    semicolon: ``hmvc`` and ``fmvn`` set the counters, and all others are ignored [1]. The last semicolon may
    be missing, and further semicolons may follow the fields.

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
        raise UsageError(f"{quote(text)} is not a FEN: {_EXPECTED}")
    for name, counter in zip(("halfmove clock", "move number"), fields[4:6], strict=False):
        if not _COUNTER.fullmatch(counter):
            raise UsageError(
                f"{quote(text)} is not a FEN: the {name} {quote(counter)} is not a number; {_EXPECTED}"
            )
        if len(counter) > _MAX_COUNTER_DIGITS:
            raise UsageError(f"{quote(text)} is not a FEN: the {name} {quote(counter)} is too large")
    try:
        board = _plain_board(fields[:6]) or chess.Board(" ".join(fields[:6]))
    except ValueError as error:
        # The message of python-chess ends with the FEN itself.
        reason = str(error).split(" in fen: ")[0].split(": '")[0]
        if reason.startswith("expected 'w' or 'b'"):
            reason = "the side to move must be w or b"
        raise UsageError(f"{quote(text)} is not a FEN: {reason}") from None
    board.chess960 = bool(board.castling_rights) and board.has_chess960_castling_rights()
    return Fen(board, GScore(fields[6]) if len(fields) == 7 else None)


def _fields(text: str) -> list[str]:
    """Return the fields of a FEN or an EPD; operations of an EPD are converted to counters.

    :raises UsageError: if the operations of an EPD are malformed.
    """
    text = legible(text).strip()
    if "_" in text.partition(" ")[0]:
        text = text.replace("_", " ")
    ended = text.rstrip(_END)
    fields = ended.split()
    if ";" not in ended and (len(fields) < 5 or (len(fields) == 5 and _COUNTER.fullmatch(fields[4]))):
        return fields
    return _fields_of_epd(text) if ";" in text or _ONLY_OPERATION.match(text) else fields


def _fields_of_epd(text: str) -> list[str]:
    *fields, operations = text.split(None, 4)
    match = _COUNTERS.match(operations)
    clock, number, accrued = match.groups() if match else ("0", "1", None)
    counters, at = {"hmvc": clock, "fmvn": number}, match.end() if match else 0
    while operation := _OPERATION.match(operations, at):
        opcode, operand = operation.groups()
        if opcode in counters:
            counters[opcode] = operand.strip()
        at = operation.end()
    if len(fields) < 4 or operations[at:].strip(_END):
        raise UsageError(
            f"{quote(text)} is not an EPD: expected pieces, side to move, castling, en passant square, then "
            "opcodes, each with its operands and a semicolon"
        )
    return [*fields, *counters.values(), *([accrued] if accrued else [])]


def _plain_board(fields: list[str]) -> chess.Board | None:
    """Return the board of six fields; None if python-chess has to parse them, or report what is wrong.

    This is three times as fast as python-chess, since the same rows occur again and again.
    """
    rows = fields[0].split("/")
    if len(fields) < 6 or len(rows) != 8 or fields[1] not in _TURNS or fields[2] != "-":
        return None
    if fields[3] not in _EP_SQUARES:
        return None
    men, sides = [0] * 7, [0, 0]
    for rank, row in enumerate(reversed(rows)):
        if row != "8":
            found = _men_of_row(row) if len(row) <= 8 else None
            if found is None:
                return None
            for kind, is_white, file in found:
                men[kind] |= file << 8 * rank
                sides[is_white] |= file << 8 * rank
    board = chess.Board(None)
    _, board.pawns, board.knights, board.bishops, board.rooks, board.queens, board.kings = men
    board.occupied_co = sides
    board.occupied = sides[chess.WHITE] | sides[chess.BLACK]
    board.turn = _TURNS[fields[1]]
    board.ep_square = _EP_SQUARES[fields[3]]
    board.halfmove_clock, board.fullmove_number = int(fields[4]), int(fields[5]) or 1
    return board


@functools.lru_cache(1 << 12)
def _men_of_row(row: str) -> tuple[tuple[chess.PieceType, chess.Color, chess.Bitboard], ...] | None:
    """Return type, colour and file (as a bit of the first rank) of the men in a row; None if malformed."""
    if not _ROW.fullmatch(row):
        return None
    files = "".join("." * int(letter) if letter.isdigit() else letter for letter in row)
    if len(files) != 8:
        return None
    return tuple(
        (chess.PIECE_SYMBOLS.index(letter.lower()), letter.isupper(), 1 << file)
        for file, letter in enumerate(files)
        if letter != "."
    )


Man: TypeAlias = tuple[str, chess.Color]
"""Name of the kind, and colour."""

_CELL: Final = re.compile(r"\[[^][]*\]|[KQRBNkqrbn]|[1-8]")
_KINDS: Final = {kind.name: kind for kind in KINDS}
_EXPECTED_FIELDS: Final = (
    "expected pieces and side to move, then optionally - for castling and en passant, halfmove clock, "
    "move number and accrued score"
)


class DescribedBoard:
    """A board with described men, without pawns; moves can be made and undone.

    :ivar men: name and colour of each man, by square.
    :ivar turn: the side to move, ``chess.WHITE`` or ``chess.BLACK``.
    :ivar move_stack: the moves made.
    """

    castling_rights: Final = chess.BB_EMPTY
    """Castling rights, as an attribute of all boards: there are none."""

    def __init__(
        self, men: Mapping[chess.Square, Man], turn: chess.Color, halfmove_clock: int = 0, number: int = 1
    ) -> None:
        self.men = dict(men)
        self.turn = turn
        self.halfmove_clock, self.fullmove_number = halfmove_clock, number
        self.move_stack: list[chess.Move] = []
        self._before: list[tuple[Man | None, int]] = []

    def __str__(self) -> str:
        return self.fen()

    def fen(self) -> str:
        """Return the FEN, with described men in brackets."""
        rows = []
        for rank in reversed(range(8)):
            cells = [self._cell(chess.square(file, rank)) for file in range(8)]
            rows.append(re.sub("1+", lambda empty: str(len(empty[0])), "".join(cells)))
        turn = "w" if self.turn else "b"
        return f"{'/'.join(rows)} {turn} - - {self.halfmove_clock} {self.fullmove_number}"

    def _cell(self, square: chess.Square) -> str:
        return self.symbol_at(square) or "1"

    def symbol_at(self, square: chess.Square) -> str:
        """Return the man on a square in the notation of FENs, an empty text for an empty square."""
        name, white = self.men.get(square, ("", True))
        return name if white else name.lower()

    def has_legal_en_passant(self) -> bool:
        """Return whether an en passant capture is legal: never, since there are no pawns."""
        return False

    def is_insufficient_material(self) -> bool:
        """Return whether neither side has more than its king."""
        return len(self.men) == 2

    def copy(self, *, stack: bool = False) -> "DescribedBoard":
        """Return a copy without the move stack."""
        assert not stack
        return DescribedBoard(self.men, self.turn, self.halfmove_clock, self.fullmove_number)

    @property
    def occupied(self) -> int:
        """The set of the squares of all men."""
        return sum(1 << square for square in self.men)

    def king(self, colour: chess.Color) -> chess.Square | None:
        """Return the square of a king."""
        return next((square for square, man in self.men.items() if man == ("K", colour)), None)

    def is_attacked_by(self, colour: chess.Color, square: chess.Square | None) -> bool:
        """Return whether a man of a colour attacks a square."""
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
        """Return the score accrued in the moves made, including the position score.

        In a variant with resets, only positions since the last capture count."""
        best, undone = self.position_score(), list[chess.Move]()
        match variant.resets:
            case Resets.ZEROING_MOVES:
                plies = min(self.halfmove_clock, len(self.move_stack))
            case Resets.NOTHING:
                plies = len(self.move_stack)
            case other:
                raise unlisted(other)
        for _ in range(plies):
            undone.append(self.pop())
            score = self.position_score()
            if score.rank <= best.rank:  # on equal ranks, the earlier score counts
                best = score
        for move in reversed(undone):
            self.push(move)
        return best

    @property
    def legal_moves(self) -> Iterator[chess.Move]:
        """The legal moves."""
        occupied, turn = self.occupied, self.turn
        for origin, (name, white) in list(self.men.items()):
            if white == turn:
                for target in chess.scan_forward(attacks(_kind(name), origin, occupied)):
                    move = chess.Move(origin, target)
                    if self.men.get(target, ("", not turn))[1] != turn and not self._leaves_king(move):
                        yield move

    def _leaves_king(self, move: chess.Move) -> bool:
        """Return whether a move leaves the mover's king attacked."""
        self.push(move)
        attacked = self.was_into_check()
        self.pop()
        return attacked

    def is_zeroing(self, move: chess.Move) -> bool:
        """Return whether a move is a capture."""
        return move.to_square in self.men

    def push(self, move: chess.Move) -> None:
        """Make a move."""
        captured = self.men.pop(move.to_square, None)
        self._before.append((captured, self.halfmove_clock))
        self.men[move.to_square] = self.men.pop(move.from_square)
        self.halfmove_clock = 0 if captured else self.halfmove_clock + 1
        self.fullmove_number += not self.turn
        self.turn = not self.turn
        self.move_stack.append(move)

    def pop(self) -> chess.Move:
        """Undo the last move."""
        move, (captured, self.halfmove_clock) = self.move_stack.pop(), self._before.pop()
        self.men[move.from_square] = self.men.pop(move.to_square)
        if captured:
            self.men[move.to_square] = captured
        self.turn = not self.turn
        self.fullmove_number -= not self.turn
        return move


AnyBoard: TypeAlias = chess.Board | DescribedBoard
"""A board with or without described men."""


def _kind(name: str) -> Kind:
    return _KINDS.get(name) or described(name[1:-1])


class DescribedFen:
    """A parsed FEN with described men.

    :ivar board: the board as written; only the syntax is validated.
    :ivar seventh: the seventh field; None if there is none.
    """

    def __init__(self, board: DescribedBoard, seventh: GScore | None) -> None:
        self.board, self.seventh = board, seventh

    def accrued_in(self, variant: Variant) -> GScore | None:
        """Return the accrued score in a variant, as :meth:`Fen.accrued_in` does."""
        return None if variant.is_reset_by(not self.board.halfmove_clock) else self.seventh

    def note(self, variant: Variant) -> str | None:
        """Return a sentence about an ignored seventh field, as :meth:`Fen.note` does."""
        return note_on_reset(self.seventh, self.accrued_in(variant), 0)


def parse_described(text: str) -> DescribedFen:
    """Parse a FEN of two to seven fields with men in brackets, White's in capital letters.

    >>> parse_described("8/8/8/4K[WD]k1/8/8/8/8 b").board.fen()
    '8/8/8/4K[WD]k1/8/8/8/8 b - - 0 1'

    :raises UsageError: if a field is malformed.
    """
    fields = text.split() if " " in text.strip() else text.replace("_", " ").split()
    if not 2 <= len(fields) <= 7:
        raise UsageError(f"{quote(text)} is not a FEN: {_EXPECTED_FIELDS}")
    rows, turn, *rest = fields
    reasons = [
        (turn not in ("w", "b"), f"the side to move is {quote(turn)}, not w or b"),
        (any(field != "-" for field in rest[:2]), "with described men, there is no castling or en passant"),
        (any(not re.fullmatch("[0-9]{1,9}", field) for field in rest[2:4]), "a counter is not a number"),
    ]
    for is_wrong, reason in reasons:
        if is_wrong:
            raise UsageError(f"{quote(text)} is not a FEN: {reason}; {_EXPECTED_FIELDS}")
    counters = [int(field) for field in rest[2:4]]
    board = DescribedBoard(_men_of(rows, text), turn == "w", *counters)
    return DescribedFen(board, GScore(rest[4]) if len(rest) == 5 else None)


def _men_of(placement: str, text: str) -> dict[chess.Square, Man]:
    """Return the men of the first field of a FEN.

    :raises UsageError: if it is malformed.
    """
    rows = placement.split("/")
    men: dict[chess.Square, Man] = {}
    if len(rows) != 8:
        raise UsageError(f"{quote(text)} is not a FEN: it has {len(rows)} rows, not 8")
    for rank, row in zip(reversed(range(8)), rows, strict=True):
        cells = _CELL.findall(row)
        if "".join(cells) != row:
            raise UsageError(
                f"{quote(text)} is not a FEN: a row is {quote(row)}; expected numbers, KQRBN for White, "
                "kqrbn for Black, and other men in brackets; with described men, there are no pawns"
            )
        file = 0
        for cell in cells:
            if cell.isdigit():
                file += int(cell)
            else:
                men[chess.square(file, rank) if file < 8 else -1] = _man(cell)
                file += 1
        if file != 8:
            raise UsageError(f"{quote(text)} is not a FEN: the row {quote(row)} has {file} squares, not 8")
    return men


def _man(cell: str) -> Man:
    """Return the man that a symbol of a FEN stands for.

    :raises UsageError: if it is described, and tables do not support it.
    """
    return (described(cell[1:-1]).name if len(cell) > 1 else cell.upper()), cell.isupper()


def parse_position(text: str) -> Fen | DescribedFen:
    """Parse a FEN, which may have described men in brackets.

    :raises UsageError: if a field is malformed.
    """
    return parse_described(text) if "[" in text.partition(" ")[0] else parse_fen(text)
