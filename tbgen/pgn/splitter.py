"""From a stream of bytes to the bytes of single games, nothing lost and nothing changed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol

_BLOCK: Final = 1 << 18
_TAG: Final = re.compile(rb"\s*\[\s*([A-Za-z0-9_]+)(?:\s+\"(.*)\")?\s*\]")
"""A tag pair; its value may be missing, as in cuteRMob's ``[Legacy]``."""
_COMMENT: Final = re.compile(rb"\{[^}]*\}|;[^\r\n]*")
_RESULTS: Final = (b"1-0", b"0-1", b"1/2-1/2", b"*")
_BOM: Final = b"\xef\xbb\xbf"


class Stream(Protocol):
    """Where bytes come from: an open binary file."""

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes, none at the end."""


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag pair of a game."""

    name: str
    value: str
    """As it stands between the quotation marks; empty without them."""
    start: int
    """Where its line begins in the bytes of the game."""
    end: int
    """Where its line ends, line break included."""


@dataclass(slots=True)
class RawGame:
    """The bytes of a game; those of all games together are the file's."""

    number: int
    """Counted from 1."""
    line: int
    """The line of the file that it begins in, counted from 1."""
    data: bytes = b""
    """With the empty and escaped lines before it, and those before the next game or the file's end."""
    tags: list[Tag] = field(default_factory=list)
    movetext: int = 0
    """Where in the bytes the moves begin."""

    @property
    def empty(self) -> bool:
        """Whether there are neither tags nor moves."""
        return not self.tags and self.movetext == len(self.data)


def split_games(stream: Stream) -> Iterator[RawGame]:
    """Yield the games of a PGN stream.

    A game begins with a tag after moves, with a tag after an empty line that has stood before, or with moves
    after a result and an empty line; so an empty line among tags or among moves, and a tag that stands twice,
    all of which exist, tear no game apart. Bytes before the first game go with it. A stream without any game
    yields nothing, or one ``RawGame`` without tags and moves, if it has bytes.
    """
    game = _Game(1, 1)
    for number, line in enumerate(_lines(stream), 1):
        if game.ends_before(line):
            yield game.finished()
            game = _Game(game.number + 1, number)
        game.add(line)
    if game.lines:
        yield game.finished()


def _lines(stream: Stream) -> Iterator[bytes]:
    """Yield lines with their breaks, which may be of all three kinds."""
    rest = b""
    while block := stream.read(_BLOCK):
        *whole, rest = (rest + block).splitlines(keepends=True)
        if rest.endswith(b"\n"):
            whole.append(rest)
            rest = b""
        yield from whole
    yield from rest.splitlines(keepends=True)


class _Game:
    """A game that grows line by line."""

    def __init__(self, number: int, line: int) -> None:
        self.number = number
        self.lines: list[bytes] = []
        self._line = line
        self._tags: list[Tag] = []
        self._names: set[bytes] = set()
        self._size = 0
        self._movetext = -1
        self._in_comment = False
        self._over = False
        self._gap = False

    def ends_before(self, line: bytes) -> bool:
        """Tell whether a line belongs to the next game."""
        if self._in_comment or (not self._gap and self._movetext < 0):
            return False
        text = line.removeprefix(_BOM)
        if text.isspace() or text[:1] in b"%;":
            return False
        if text.lstrip()[:1] != b"[":
            return self._over and self._gap
        tag = _TAG.match(text)
        return tag is not None and (self._movetext >= 0 or tag[1] in self._names)

    def add(self, line: bytes) -> None:
        """Take a line in."""
        start, self._size = self._size, self._size + len(line)
        self.lines.append(line)
        text = line.removeprefix(_BOM)
        if self._in_comment:
            self._follow(line)
        elif not text or text.isspace():
            self._gap = True
        elif text[:1] not in b"%;":
            self._take(text, start + len(line) - len(text))

    def _take(self, text: bytes, start: int) -> None:
        if self._movetext < 0:
            tag = _TAG.match(text)
            if tag is not None:
                self._names.add(tag[1])
                name, value = (_decoded(part or b"") for part in tag.groups())
                self._tags.append(Tag(name, value, start, self._size))
            if tag is not None or text.lstrip()[:1] == b"[":  # a malformed tag
                self._gap = False
                return
            self._movetext = start
        self._gap = False
        self._follow(text)

    def _follow(self, text: bytes) -> None:
        """Find out whether moves end with a result, and with an open comment."""
        if self._in_comment:
            _, brace, text = text.partition(b"}")
            if not brace:
                return
        text, brace, _ = _COMMENT.sub(b" ", text).partition(b"{")
        self._in_comment = bool(brace)
        text = text.rstrip()
        if text:
            self._over = text.endswith(_RESULTS)

    def finished(self) -> RawGame:
        """Return the game."""
        data = b"".join(self.lines)
        movetext = len(data) if self._movetext < 0 else self._movetext
        return RawGame(self.number, self._line, data, self._tags, movetext)


def _decoded(text: bytes) -> str:
    """Return a text in UTF-8 as the export format has it, or in Latin-1 as the standard once had."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode("latin-1")
