"""Start positions and book moves: from EPD and PGN files, or drawn by lot."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import chess
from msgspec import Meta, Struct

from tbgen.board.fen import Fen, parse_fen
from tbgen.documents import Count
from tbgen.errors import NamedChoice, UsageError, quote
from tbgen.games.outcome import Doubt
from tbgen.games.pgn import tags
from tbgen.games.pgn.files import PgnSource, reading
from tbgen.games.pgn.reader import doubts_of_start, read_games
from tbgen.games.pgn.splitter import lines
from tbgen.games.referee import Arbiter
from tbgen.games.settings import GameOptions
from tbgen.text import counted, legible

_POSITIONS: Final = 960
_PGN: Final = (".pgn", ".pgn.gz", ".pgn.bz2", ".pgn.xz", ".pgn.zst")


class ChessVariant(NamedChoice, what="a variant of matches", fischerandom="chess960", chess="standard"):
    """Where games start if no file says."""

    STANDARD = "standard"
    CHESS960 = "chess960"
    """A start position of Chess960, the same for both sides; Cute Chess calls it ``fischerandom``."""
    DOUBLE = "dfrc"
    """Double Fischer random: each side has a start position of its own."""


class OpeningOrder(NamedChoice, what="an order of openings"):
    """In which order openings come."""

    SEQUENTIAL = "sequential"
    RANDOM = "random"


class OpeningPolicy(NamedChoice, what="a policy of openings", default="encounter"):
    """What shares an opening: each encounter has its own, or those of a round have one."""

    ENCOUNTER = "encounter"
    ROUND = "round"


class OpeningSettings(Struct, frozen=True):
    """Which openings of a file are played."""

    file: Path
    format: str = ""
    """``epd`` or ``pgn``; empty to go by the name of the file."""
    order: OpeningOrder = OpeningOrder.SEQUENTIAL
    plies: Count | None = None
    """Most plies that are taken of a PGN game; None for all."""
    start: Annotated[int, Meta(ge=1)] = 1
    """The first opening that is played, counted from 1 in the order of play."""
    policy: OpeningPolicy = OpeningPolicy.ENCOUNTER


@dataclass(frozen=True, slots=True)
class Opening:
    """Where a game begins."""

    start: Fen
    moves: tuple[chess.Move, ...] = ()
    """Those of the book."""
    komi: str = ""
    """The tag ``Komi`` of a PGN opening."""
    doubts: tuple[Doubt, ...] = ()
    """What of the start position does not count."""

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
        self, settings: OpeningSettings | None, variant: ChessVariant, seed: int, options: GameOptions
    ) -> None:
        """Read the file.

        :raises UsageError: if it cannot be read, has no opening, or a game of it is broken.
        """
        self._variant, self._seed, self._options = variant, seed, options
        self._first, self._known = 0, list[_BookEntry]()
        self.shared = settings is not None and settings.policy is OpeningPolicy.ROUND
        """Whether all encounters of a round play the same opening, and not each its own."""
        if settings is not None:
            self._first, self._known = settings.start - 1, list(_read(settings))
            if not self._known:
                raise UsageError(f"there is no opening in {quote(str(settings.file))}")
            if settings.order is OpeningOrder.RANDOM:
                random.Random(seed).shuffle(self._known)
        elif variant is ChessVariant.STANDARD:
            self._known = [_BookEntry("", Opening(Fen(chess.Board(), None)))]

    def __getitem__(self, number: int) -> Opening:
        """Return an opening by its number in the order of play.

        :raises UsageError: if it means nothing, or a game is over where it begins.
        """
        number += self._first
        if self._known:
            place, found = self._known[number % len(self._known)]
            try:
                opening = _of_text(found) if isinstance(found, str) else found
                _check(opening, self._options)
            except UsageError as error:
                raise UsageError(f"{place}: {error}") from None
            return opening
        lot = random.Random(f"{self._seed} {number}")
        white = lot.randrange(_POSITIONS)
        return shuffle(white, lot.randrange(_POSITIONS) if self._variant is ChessVariant.DOUBLE else white)

    def check(self, count: int, note: Callable[[str], object] = lambda _: None) -> bool:
        """Check the first openings that are going to be played, and tell whether some are of Chess960.

        :param note: is told of what is doubtful about them.
        :raises UsageError: if one means nothing, or a game is over where it begins.
        """
        if not self._known:
            return True
        shuffles, doubts = False, Counter[Doubt]()
        for opening in map(self.__getitem__, range(min(count, len(self._known)))):
            shuffles |= opening.start.board.chess960
            doubts.update(doubt for doubt in opening.doubts if doubt.arises_in(self._options.variant))
        for doubt, count in doubts.items():
            note(f"{counted(count, 'opening')}: {doubt.sentence}")
        return shuffles

    @property
    def digest(self) -> str:
        """What tells these openings from others."""
        texts = [found if isinstance(found, str) else found.text for _, found in self._known]
        texts = texts or [self._variant.value]
        return hashlib.sha256("\n".join([*texts, str(self._first)]).encode()).hexdigest()


class _BookEntry(NamedTuple):
    """An opening and its place in a file; positions stay text until they are played."""

    place: str
    opening: Opening | str


def shuffle(white: int, black: int) -> Opening:
    """Return the start position of Chess960 of two numbers, from 0 to 959, one for each side.

    >>> shuffle(518, 0).start.board.fen()
    'bbqnnrkr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1'
    """
    board = chess.Board.from_chess960_pos(white)
    other = chess.Board.from_chess960_pos(black)
    for square in chess.SquareSet(chess.BB_RANK_8):
        board.set_piece_at(square, other.piece_at(square))
    board.castling_rights = board.rooks & (chess.BB_RANK_1 | chess.BB_RANK_8)
    board.chess960 = board.has_chess960_castling_rights()
    return Opening(Fen(board, None))


def _read(settings: OpeningSettings) -> Iterator[_BookEntry]:
    path = settings.file
    if str(path) != "-" and (path.is_dir() or not path.exists()):
        raise UsageError(
            f"there is no file of openings {quote(str(path))}: name another with --openings file=FILE, or "
            "leave --openings out"
        )
    form = settings.format.lower() or ("pgn" if path.name.lower().endswith(_PGN) else "epd")
    if form not in ("epd", "pgn"):
        raise UsageError(f"{quote(form)} is no format of openings: expected epd or pgn")
    with reading(str(path)) as source:
        yield from _of_pgn(source, settings) if form == "pgn" else _of_epd(source, path)


def _of_epd(source: PgnSource, path: Path) -> Iterator[_BookEntry]:
    """Yield the positions of a file with a FEN, of six or seven fields, or an EPD in each line."""
    for number, line in enumerate(lines(source), 1):
        text = legible(line.decode("utf-8", "replace")).strip()
        if text and not text.startswith("#"):
            yield _BookEntry(f"{path}, line {number}", text)


def _of_pgn(source: PgnSource, settings: OpeningSettings) -> Iterator[_BookEntry]:
    """Yield the beginnings of the games of a file."""
    for game in read_games(source):
        if game.error is not None:
            raise UsageError(f"{settings.file}: {game.error}")
        if Doubt.UNCLOSED_COMMENT in game.doubts:
            what = Doubt.UNCLOSED_COMMENT.sentence
            raise UsageError(f"{settings.file}: game {game.number}, line {game.line}: {what}")
        moves = tuple(game.moves[: settings.plies])
        doubts = tuple(doubt for doubt in game.doubts if doubt.of_start)
        opening = Opening(game.start, moves, game.tags.get(tags.KOMI, ""), doubts)
        yield _BookEntry(f"{settings.file}, game {game.number}", opening)


def _of_text(text: str) -> Opening:
    fen = parse_fen(text)
    return Opening(fen, doubts=doubts_of_start(fen))


def _check(opening: Opening, options: GameOptions) -> None:
    """Check that a game can begin so.

    :raises UsageError: if not.
    """
    arbiter = opening.arbiter(options)
    for move in opening.moves:
        arbiter.push(move)
    if arbiter.basis is not None:
        raise UsageError(f"the game would be over where it begins, by {arbiter.basis.value}")
