"""Start positions and book moves, from EPD and PGN files and books of Polyglot, or chosen at random."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import chess
import chess.polyglot
from msgspec import Meta, Struct

from tbgen.board.fen import Fen, parse_fen
from tbgen.documents import Count
from tbgen.errors import NamedChoice, UsageError, quote
from tbgen.games.game_options import GameOptions
from tbgen.games.outcome import Doubt
from tbgen.games.pgn import tags
from tbgen.games.pgn.files import PgnSource, open_for_reading
from tbgen.games.pgn.reader import doubts_of_start, read_games
from tbgen.games.pgn.splitter import read_lines
from tbgen.games.referee import Arbiter
from tbgen.text import counted, sanitise

_CHESS960_COUNT: Final = 960
_BOOK_MAKERS: Final = {".abk": "Arena", ".ctg": "ChessBase"}
"""For each suffix of binary opening books that cannot be read, the program whose format it is."""
_POLYGLOT: Final = "polyglot"
_POLYGLOT_SUFFIX: Final = ".bin"
_POLYGLOT_PLIES: Final = 16
"""Maximum number of plies of an opening from a book of Polyglot, unless ``plies=`` sets another."""
_PGN_SUFFIXES: Final = (".pgn", ".pgn.gz", ".pgn.bz2", ".pgn.xz", ".pgn.zst")


class StartKind(NamedChoice, noun="a match variant", fischerandom="chess960", chess="standard"):
    """The kind of start position that is used if no opening file is given."""

    STANDARD = "standard"
    CHESS960 = "chess960"
    """A start position of Chess960, the same for both sides; Cute Chess calls it ``fischerandom``."""
    DOUBLE = "dfrc"
    """Double Fischer random: each side has a start position of its own."""


class OpeningOrder(NamedChoice, noun="an order of openings"):
    """The order in which openings are played."""

    SEQUENTIAL = "sequential"
    RANDOM = "random"


class OpeningPolicy(NamedChoice, noun="a policy of openings", default="encounter"):
    """Which games share an opening: those of an encounter, or those of a round."""

    ENCOUNTER = "encounter"
    ROUND = "round"


class OpeningSettings(Struct, frozen=True):
    """Which openings of a file are played, and in which order."""

    file: Path
    format: str = ""
    """``epd``, ``pgn`` or ``polyglot``; empty if the name of the file decides."""
    order: OpeningOrder = OpeningOrder.SEQUENTIAL
    plies: Count | None = None
    """Maximum number of plies of an opening; None for whole games of a PGN file, and 16 plies of Polyglot."""
    start: Annotated[int, Meta(ge=1)] = 1
    """Number of the first opening to play, counted from 1 in the order of play."""
    policy: OpeningPolicy = OpeningPolicy.ENCOUNTER


@dataclass(frozen=True, slots=True)
class Opening:
    """A start position, with the book moves to play from it."""

    start: Fen
    moves: tuple[chess.Move, ...] = ()
    """The book moves, in the order of play."""
    komi: str = ""
    """The value of the tag ``Komi`` of a PGN game; empty if there is no such tag."""
    doubts: tuple[Doubt, ...] = ()
    """Doubts about the start position, whose doubtful parts are ignored."""

    @property
    def is_standard(self) -> bool:
        """Whether the start position is the usual start position of chess."""
        return self.start.board.fen() == chess.STARTING_FEN

    def arbiter(self, options: GameOptions) -> Arbiter:
        """Return an arbiter for a game from this opening, before the book moves are played."""
        return Arbiter.of(self.start, options.settings({tags.KOMI: self.komi} if self.komi else {}))

    @property
    def text(self) -> str:
        """String that identifies the opening; :attr:`Openings.digest` includes this string."""
        moves = " ".join(move.uci() for move in self.moves)
        return f"{self.start.board.fen()} {self.start.accrued or '-'} {self.komi or '-'} {moves}"


class Openings:
    """The openings of an event, numbered from 0. After the last opening of a book, the first one follows.

    A book may have millions of positions, so positions are kept as text and parsed only when they are played.
    """

    def __init__(
        self, settings: OpeningSettings | None, start_kind: StartKind, seed: int, options: GameOptions
    ) -> None:
        """Read the file of openings, if ``settings`` names one.

        :raises UsageError: if the file cannot be read, has no opening, or contains a broken game.
        """
        self._start_kind = start_kind
        self._seed = seed
        self._options = options
        self._first_index = 0
        self._book = list[_BookEntry]()
        self._polyglot: _PolyglotBook | None = None
        self.one_per_round = settings is not None and settings.policy is OpeningPolicy.ROUND
        """Whether all encounters of a round share one opening."""
        if settings is not None:
            self._first_index = settings.start - 1
            if _format_of(settings) == _POLYGLOT:
                self._polyglot = _PolyglotBook(settings, seed)
                return
            self._book = list(_read_entries(settings))
            if not self._book:
                raise UsageError(f"there is no opening in {quote(str(settings.file))}")
            if settings.order is OpeningOrder.RANDOM:
                random.Random(seed).shuffle(self._book)
        elif start_kind is StartKind.STANDARD:
            self._book = [_BookEntry("", Opening(Fen(chess.Board(), None)))]

    def __getitem__(self, index: int) -> Opening:
        """Return the opening with this index in the order of play.

        :raises UsageError: if its text cannot be parsed, or its moves already end the game.
        """
        index += self._first_index
        if self._polyglot is not None:
            return self._polyglot.draw(index, self._options)
        if self._book:
            location, content = self._book[index % len(self._book)]
            try:
                opening = _opening_of_text(content) if isinstance(content, str) else content
                _check_not_over(opening, self._options)
            except UsageError as error:
                raise UsageError(f"{location}: {error}") from None
            return opening
        generator = random.Random(f"{self._seed} {index}")
        white = generator.randrange(_CHESS960_COUNT)
        black = generator.randrange(_CHESS960_COUNT) if self._start_kind is StartKind.DOUBLE else white
        return chess960_opening(white, black)

    def check(self, opening_count: int, warn: Callable[[str], object] = lambda _: None) -> bool:
        """Check the first ``opening_count`` openings; return whether any of them is a Chess960 position.

        :param warn: called with a sentence about each kind of doubt.
        :raises UsageError: if an opening cannot be parsed, or its moves already end the game.
        """
        if not self._book:
            return self._polyglot is None
        any_chess960 = False
        doubts = Counter[Doubt]()
        for opening in (self[index] for index in range(min(opening_count, len(self._book)))):
            any_chess960 |= opening.start.board.chess960
            doubts.update(doubt for doubt in opening.doubts if doubt.arises_in(self._options.variant))
        for doubt, frequency in doubts.items():
            warn(f"{counted(frequency, 'opening')}: {doubt.sentence}")
        return any_chess960

    @property
    def digest(self) -> str:
        """A digest of the openings and their order."""
        texts = [content if isinstance(content, str) else content.text for _, content in self._book]
        texts = texts or [self._start_kind.value if self._polyglot is None else self._polyglot.digest]
        return hashlib.sha256("\n".join([*texts, str(self._first_index)]).encode()).hexdigest()


class _PolyglotBook:
    """A book of Polyglot. Openings are drawn from it: each move with the probability of its weight.

    :raises UsageError: if the file cannot be read, or has no move in the initial position.
    """

    def __init__(self, settings: OpeningSettings, seed: int) -> None:
        self._file = str(settings.file)
        self._seed = seed
        self._plies = _POLYGLOT_PLIES if settings.plies is None else settings.plies
        try:
            self._reader = chess.polyglot.open_reader(settings.file)
            content = settings.file.read_bytes()
        except (OSError, ValueError) as error:
            raise UsageError(f"{quote(self._file)} cannot be read as a book of Polyglot: {error}") from None
        if self._reader.get(chess.Board()) is None:
            raise UsageError(f"there is no move in the initial position in {quote(self._file)}")
        self.digest = f"{hashlib.sha256(content).hexdigest()} {self._plies}"
        """A digest of the book and of the number of plies."""

    def draw(self, index: int, options: GameOptions) -> Opening:
        """Return the opening with this index, which the seed of the event determines.

        :raises UsageError: if its moves already end the game.
        """
        generator = random.Random(f"{self._seed} {index}")
        board = chess.Board()
        with suppress(IndexError):  # raised where the book has no move
            while len(board.move_stack) < self._plies:
                board.push(self._reader.weighted_choice(board, random=generator).move)
        opening = Opening(Fen(chess.Board(), None), tuple(board.move_stack))
        try:
            _check_not_over(opening, options)
        except UsageError as error:
            raise UsageError(f"{self._file}, opening {index + 1}: {error}") from None
        return opening


class _BookEntry(NamedTuple):
    """An opening, and where it is in its file. A position is kept as text until it is played."""

    location: str
    opening: Opening | str


def chess960_opening(white_number: int, black_number: int) -> Opening:
    """Return the start position in which the back ranks of White and Black are those of the Chess960
    positions with these numbers, 0 to 959.

    >>> chess960_opening(518, 0).start.board.fen()
    'bbqnnrkr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1'
    """
    board = chess.Board.from_chess960_pos(white_number)
    black_board = chess.Board.from_chess960_pos(black_number)
    for square in chess.SquareSet(chess.BB_RANK_8):
        board.set_piece_at(square, black_board.piece_at(square))
    board.castling_rights = board.rooks & (chess.BB_RANK_1 | chess.BB_RANK_8)
    board.chess960 = board.has_chess960_castling_rights()
    return Opening(Fen(board, None))


def _format_of(settings: OpeningSettings) -> str:
    """Return the format of a file of openings: ``epd``, ``pgn`` or ``polyglot``.

    :raises UsageError: if the file does not exist, or has another format.
    """
    path = settings.file
    if str(path) != "-" and (path.is_dir() or not path.exists()):
        raise UsageError(
            f"the file of openings {quote(str(path))} does not exist: name another with --openings file=FILE "
            "or omit --openings"
        )
    name = path.name.lower()
    by_name = (
        "pgn" if name.endswith(_PGN_SUFFIXES) else _POLYGLOT if name.endswith(_POLYGLOT_SUFFIX) else "epd"
    )
    file_format = settings.format.lower() or by_name
    if maker := "" if settings.format else _BOOK_MAKERS.get(path.suffix.lower()):
        raise UsageError(
            f"{quote(str(path))} is an opening book of {maker}, which cannot be read: give openings as "
            "EPD, PGN or a book of Polyglot, with --openings file=FILE"
        )
    if file_format not in ("epd", "pgn", _POLYGLOT):
        raise UsageError(f"{quote(file_format)} is not a format of openings: expected epd, pgn or polyglot")
    return file_format


def _read_entries(settings: OpeningSettings) -> Iterator[_BookEntry]:
    path = settings.file
    with open_for_reading(str(path)) as source:
        yield from (
            _pgn_entries(source, settings) if _format_of(settings) == "pgn" else _epd_entries(source, path)
        )


def _epd_entries(source: PgnSource, path: Path) -> Iterator[_BookEntry]:
    """Yield the positions of a file whose lines are EPD records, or FENs of six or seven fields."""
    for line_number, line in enumerate(read_lines(source), 1):
        text = sanitise(line.decode("utf-8", "replace")).strip()
        if text and not text.startswith("#"):
            yield _BookEntry(f"{path}, line {line_number}", text)


def _pgn_entries(source: PgnSource, settings: OpeningSettings) -> Iterator[_BookEntry]:
    """Yield the start position and the first moves of each game in a file."""
    for game in read_games(source):
        if game.error is not None:
            raise UsageError(f"{settings.file}: {game.error}")
        if Doubt.UNCLOSED_COMMENT in game.doubts:
            sentence = Doubt.UNCLOSED_COMMENT.sentence
            raise UsageError(f"{settings.file}: game {game.number}, line {game.line}: {sentence}")
        moves = tuple(game.moves[: settings.plies])
        doubts = tuple(doubt for doubt in game.doubts if doubt.of_start)
        opening = Opening(game.start, moves, game.tags.get(tags.KOMI, ""), doubts)
        yield _BookEntry(f"{settings.file}, game {game.number}", opening)


def _opening_of_text(text: str) -> Opening:
    fen = parse_fen(text)
    return Opening(fen, doubts=doubts_of_start(fen))


def _check_not_over(opening: Opening, options: GameOptions) -> None:
    """Check that the game is not over after an opening, before the engines make their first move.

    :raises UsageError: if the game is over.
    """
    arbiter = opening.arbiter(options)
    for move in opening.moves:
        arbiter.push(move)
    if arbiter.basis is not None:
        raise UsageError(f"the game would be over after its opening, by {arbiter.basis.value}")
