"""Start positions and book moves: from EPD and PGN files, or drawn by lot."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

import chess

from tbgen.board.fen import Fen, parse_fen
from tbgen.errors import UsageError, quote
from tbgen.games.pgn import tags
from tbgen.games.pgn.files import reading
from tbgen.games.pgn.reader import read_games
from tbgen.games.referee.arbiter import Arbiter
from tbgen.games.settings import GameOptions

__all__ = ["ChessVariant", "Opening", "OpeningOrder", "OpeningSettings", "Openings"]

_POSITIONS: Final = 960
_PGN: Final = (".pgn", ".pgn.gz", ".pgn.bz2", ".pgn.xz", ".pgn.zst")


class ChessVariant(StrEnum):
    """Where games start if no file says."""

    STANDARD = "standard"
    CHESS960 = "chess960"
    """A start position of Chess960, the same for both sides; Cute Chess calls it ``fischerandom``."""
    DOUBLE = "dfrc"
    """Double Fischer random: each side has a start position of its own."""

    @classmethod
    def parse(cls, text: str) -> ChessVariant:
        """Read a name, also one of those that Cute Chess has.

        :raises UsageError: if there is no variant of that name.
        """
        known = {**{each.value: each for each in cls}, "fischerandom": cls.CHESS960, "chess": cls.STANDARD}
        if text.lower() not in known:
            raise UsageError(f"{quote(text)} is no variant of matches: expected one of {', '.join(known)}")
        return known[text.lower()]


class OpeningOrder(StrEnum):
    """In which order openings come."""

    SEQUENTIAL = "sequential"
    RANDOM = "random"


@dataclass(frozen=True, slots=True)
class OpeningSettings:
    """Which openings are played."""

    file: Path | None = None
    format: str = ""
    """``epd`` or ``pgn``; empty to go by the name of the file."""
    order: OpeningOrder = OpeningOrder.SEQUENTIAL
    plies: int | None = None
    """Most plies that are taken of a PGN game; None for all."""
    start: int = 1
    """The first opening that is played, counted from 1 in the order of play."""


@dataclass(frozen=True, slots=True)
class Opening:
    """Where a game begins."""

    start: Fen
    moves: tuple[chess.Move, ...] = ()
    """Those of the book."""
    komi: str = ""
    """The tag ``Komi`` of a PGN opening."""

    @property
    def standard(self) -> bool:
        """Whether the start position is the usual one."""
        return self.start.board.fen() == chess.STARTING_FEN

    def arbiter(self, options: GameOptions) -> Arbiter:
        """Return an arbiter at the start position, before the moves of the book."""
        given = {tags.KOMI: self.komi} if self.komi else {}
        return Arbiter.of(self.start, options.settings(given))

    @property
    def text(self) -> str:
        """Everything that makes it differ from others."""
        moves = " ".join(move.uci() for move in self.moves)
        return f"{self.start.board.fen()} {self.start.accrued or '-'} {self.komi or '-'} {moves}"


class Openings:
    """The openings of an event, numbered from 0 without end: after the last one the first comes again.

    Books of millions of positions are kept as lines, and read where they are needed.
    """

    def __init__(
        self, settings: OpeningSettings, variant: ChessVariant, seed: int, options: GameOptions
    ) -> None:
        """Read the file.

        :raises UsageError: if it cannot be read, has no opening, or a game of it is broken.
        """
        self._variant, self._seed, self._options = variant, seed, options
        self._first, self._file = settings.start - 1, settings.file
        self._known: list[_Line | _Beginning] = []
        if settings.file is not None:
            self._known = list(_read(settings.file, settings))
            if not self._known:
                raise UsageError(f"there is no opening in {quote(str(settings.file))}")
            if settings.order is OpeningOrder.RANDOM:
                random.Random(seed).shuffle(self._known)
        elif variant is ChessVariant.STANDARD:
            self._known = [_Beginning("", Opening(Fen(chess.Board(), None)))]

    def __getitem__(self, number: int) -> Opening:
        """Return an opening by its number in the order of play.

        :raises UsageError: if it means nothing, or a game is over where it begins.
        """
        number += self._first
        if self._known:
            found = self._known[number % len(self._known)]
            try:
                opening = found.opening if isinstance(found, _Beginning) else Opening(parse_fen(found.text))
                _check(opening, self._options)
            except UsageError as error:
                raise UsageError(f"{self._file}, {found.place}: {error}") from None
            return opening
        lot = random.Random(f"{self._seed} {number}")
        white = lot.randrange(_POSITIONS)
        return shuffled(white, lot.randrange(_POSITIONS) if self._variant is ChessVariant.DOUBLE else white)

    def check(self, count: int) -> bool:
        """Check the first openings that are going to be played, and tell whether some are of Chess960.

        :raises UsageError: if one means nothing, or a game is over where it begins.
        """
        if not self._known:
            return True
        shuffles = [self[number].start.board.chess960 for number in range(min(count, len(self._known)))]
        return any(shuffles)

    @property
    def digest(self) -> str:
        """What tells these openings from others."""
        texts = [
            found.opening.text if isinstance(found, _Beginning) else found.text for found in self._known
        ] or [self._variant.value]
        return hashlib.sha256("\n".join([*texts, str(self._first)]).encode()).hexdigest()


class _Line(NamedTuple):
    """A position in a file."""

    place: str
    text: str


class _Beginning(NamedTuple):
    """The beginning of a game in a file."""

    place: str
    opening: Opening


def shuffled(white: int, black: int) -> Opening:
    """Return the start position of Chess960 of two numbers, from 0 to 959, one for each side.

    >>> shuffled(518, 0).start.board.fen()
    'bbqnnrkr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1'
    """
    board = chess.Board.from_chess960_pos(white)
    other = chess.Board.from_chess960_pos(black)
    for square in chess.SquareSet(chess.BB_RANK_8):
        board.set_piece_at(square, other.piece_at(square))
    board.castling_rights = board.rooks & (chess.BB_RANK_1 | chess.BB_RANK_8)
    board.chess960 = board.has_chess960_castling_rights()
    return Opening(Fen(board, None))


def _read(path: Path, settings: OpeningSettings) -> Iterator[_Line | _Beginning]:
    form = settings.format.lower() or ("pgn" if path.name.lower().endswith(_PGN) else "epd")
    if form not in ("epd", "pgn"):
        raise UsageError(f"{quote(form)} is no format of openings: expected epd or pgn")
    return _of_pgn(path, settings.plies) if form == "pgn" else _of_epd(path)


def _of_epd(path: Path) -> Iterator[_Line]:
    """Yield the positions of a file with a FEN, of six or seven fields, or an EPD in each line."""
    with reading(str(path)) as source:
        data = bytearray()
        while block := source.read(1 << 20):
            data += block
    for number, line in enumerate(data.decode("utf-8-sig", "replace").splitlines(), 1):
        text = line.strip()
        if text and not text.startswith("#"):
            yield _Line(f"line {number}", text)


def _of_pgn(path: Path, plies: int | None) -> Iterator[_Beginning]:
    """Yield the beginnings of the games of a file."""
    with reading(str(path)) as source:
        for game in read_games(source):
            if game.error is not None:
                raise UsageError(f"{path}: {game.error}")
            moves = tuple(game.moves[:plies])
            opening = Opening(game.start, moves, game.tags.get(tags.KOMI, ""))
            yield _Beginning(f"game {game.number}", opening)


def _check(opening: Opening, options: GameOptions) -> None:
    """Check that a game can begin so.

    :raises UsageError: if not.
    """
    arbiter = opening.arbiter(options)
    for move in opening.moves:
        arbiter.push(move)
    if arbiter.basis is not None:
        raise UsageError(f"the game would be over where it begins, by {arbiter.basis.value}")
