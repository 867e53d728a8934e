"""From a stream of bytes to the bytes of single games, nothing lost and nothing changed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol

from tbgen.games.pgn import tags

_BLOCK: Final = 1 << 18
_TAG: Final = re.compile(rb"\s*\[\s*([A-Za-z0-9_]+)(?:\s+\"(.*)\")?\s*\]")
"""A tag pair; its value may be missing, as in cuteRMob's ``[Legacy]``."""
_NEXT: Final = re.compile(rb"\"\s*\]\s*\[")
"""What a value holds if another tag follows in the line."""
_NEEDED: Final = re.compile(rb"\s*\[\s*(?:FEN|Variant)\b")
"""The begin of tags without which a game would be another one."""
_EVENT: Final = re.compile(rb'\[\s*Event\b|Event\s+"')
"""The begin of a tag ``Event``, one of whose brackets may be missing."""
_COMMENT: Final = re.compile(rb"\{[^}]*\}|;[^\r\n]*")
_PLIES: Final = re.compile(r"\d{1,6}", re.ASCII)
_RESULTS: Final = (b"1-0", b"0-1", b"1/2-1/2", b"*")
_COME_AND_GO: Final = frozenset({tags.KOMI}).union(*tags.REPLACED.values())
"""The tags that tagging adds and replaces, so that they do not tell games apart."""
_BOM: Final = b"\xef\xbb\xbf"


class LineStream(Protocol):
    """Where bytes come from: an open binary file."""

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes, none at the end."""


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag pair of a game."""

    name: str
    value: str
    """What stands between the quotation marks, escapes resolved; empty without them."""
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
    unreadable: str = ""
    """A line among the tags without which the game would be another one, and that is no tag, or more than
    one; empty if there is none."""
    malformed: bool = False
    """Whether any other line among the tags is none."""

    @property
    def values(self) -> dict[str, str]:
        """The values of its tags by name, in the order of the file; of a tag that stands twice the first."""
        found: dict[str, str] = {}
        for tag in self.tags:
            found.setdefault(tag.name, tag.value)
        return found

    @property
    def plies(self) -> int | None:
        """How many there are by the tag ``PlyCount``; None if that says no number."""
        said = self.values.get("PlyCount", "").strip()
        return int(said) if _PLIES.fullmatch(said) else None

    @property
    def empty(self) -> bool:
        """Whether there are neither tags nor moves."""
        return not self.tags and not self.malformed and self.movetext == len(self.data)


def split_games(stream: LineStream) -> Iterator[RawGame]:
    """Yield the games of a PGN stream.

    A game begins with a tag after moves, with a tag after an empty line that has stood before, or with moves
    after a result and an empty line; so an empty line among tags or among moves, and a tag that stands twice
    (all exist in practice), tear no game apart. A line that begins with a tag ``Event`` ends a comment that
    is open, and begins a game after moves even where a bracket of it is missing. The tags that tagging adds
    tell no games apart, so that a game ends where it did before it was tagged. Bytes before the first game go
    with it. A stream without any game yields nothing, or one ``RawGame`` without tags and moves, if it has
    bytes.
    """
    games, game = 1, _GrowingGame(1, 1)
    for number, line in enumerate(lines(stream), 1):
        if game.ends_before(line):
            yield game.finished()
            games, game = games + 1, _GrowingGame(games + 1, number)
        game.add(line)
    if game.lines:
        yield game.finished()


def lines(stream: LineStream) -> Iterator[bytes]:
    """Yield lines with their breaks, which may be of all three kinds."""
    rest = b""
    while block := stream.read(max(_BLOCK, len(rest))):  # so the time that a long line takes is linear
        *whole, rest = (rest + block).splitlines(keepends=True)
        yield from whole
    if rest:
        yield rest


class _GrowingGame:
    """A game that grows line by line."""

    def __init__(self, number: int, line: int) -> None:
        self.lines: list[bytes] = []
        self._raw = RawGame(number, line)
        self._names: set[bytes] = set()
        self._size = 0
        self._movetext = -1
        self._moves = self._in_comment = self._over = self._gap = False

    def ends_before(self, line: bytes) -> bool:
        """Tell whether a line belongs to the next game."""
        if self._in_comment:
            return line.startswith(b'[Event "')
        if not (self._gap or self._moves):
            return False
        text = line.removeprefix(_BOM)
        if text.isspace() or text[:1] in b"%;":
            return False
        if self._moves and text[:1] in b"[E" and _EVENT.match(text):
            return True
        if text.lstrip()[:1] != b"[":
            return self._over and self._gap
        tag = _TAG.match(text)
        return tag is not None and (self._moves or tag[1] in self._names)

    def add(self, line: bytes) -> None:
        """Take a line in."""
        start, self._size = self._size, self._size + len(line)
        self.lines.append(line)
        text = line.removeprefix(_BOM)
        if self._in_comment:
            self._follow(line)
        elif not text or text.isspace():
            self._gap = True
        elif text[:1] in b"%;":
            return
        elif not self._moves and (text.lstrip()[:1] == b"[" or _EVENT.match(text)):
            self._add_tag(text, start + len(line) - len(text))
        else:
            if self._movetext < 0:
                self._movetext = start + len(line) - len(text)
            self._gap = False
            self._follow(text)

    def _add_tag(self, text: bytes, start: int) -> None:
        self._movetext = -1  # comments may stand among tags
        tag = _TAG.match(text)
        several = tag is not None and (_NEXT.search(tag[2] or b"") or text[tag.end() :].strip())
        if several or (tag is None and _NEEDED.match(text)):
            self._raw.unreadable = self._raw.unreadable or _decode(text.strip())
        elif tag is None:
            self._raw.malformed = True
        if tag is not None:
            name, value = (_decode(part or b"") for part in tag.groups())
            value = value.replace('\\"', '"').replace("\\\\", "\\")
            self._raw.tags.append(Tag(name, value, start, self._size))
            if name in _COME_AND_GO:
                return
            self._names.add(tag[1])
        self._gap = False

    def _follow(self, text: bytes) -> None:
        """Find out whether moves end with a result, and with an open comment."""
        if self._in_comment:
            _, brace, text = text.partition(b"}")
            if not brace:
                return
        found = _COMMENT.sub(b" ", text + b"\n}")  # the last brace ends a comment that is open, or remains
        self._in_comment = not found.endswith(b"}")
        text = found[:-1].rstrip()
        if text:
            self._moves = True
            self._over = text.endswith(_RESULTS)

    def finished(self) -> RawGame:
        """Return the game."""
        self._raw.data = b"".join(self.lines)
        self._raw.movetext = self._size if self._movetext < 0 else self._movetext
        return self._raw


def _decode(text: bytes) -> str:
    """Return a text in UTF-8 as the export format has it, or in Latin-1 as the standard once had."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode("latin-1")
