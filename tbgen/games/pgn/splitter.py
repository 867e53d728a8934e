"""From a stream of bytes to the bytes of single games, nothing lost and nothing changed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol

from tbgen.errors import quote
from tbgen.games.pgn import tags
from tbgen.games.pgn.spelling import TAIL, decode, ends_with_result, plain

MOST_BYTES: Final = 1 << 24
MOST_TAGS: Final = 10_000
"""The most that is read of one game."""
_BLOCK: Final = 1 << 18
_QUOTE: Final = rb"(?:\"|\xe2\x80[\x9c-\x9f])"
"""A quotation mark, straight or curved."""
_TAG: Final = re.compile(rb"\s*\[\s*([A-Za-z0-9_]+)(?:\s+%b(.*)%b)?\s*\]" % (_QUOTE, _QUOTE))
"""A tag pair; its value may be missing, as in cuteRMob's ``[Legacy]``."""
_NEXT: Final = re.compile(rb"\"\s*\]\s*\[|\[\s*[A-Za-z0-9_]+\s+\"")
"""What a value holds if another tag follows in the line, or is all that has been written of it."""
_NEEDED: Final = re.compile(rb"\s*\[\s*(?:FEN|Variant)\b", re.IGNORECASE)
"""The begin of tags without which a game would be another one."""
_EVENT: Final = re.compile(rb'\[\s*Event\b|Event\s+"')
"""The begin of a tag ``Event``, one of whose brackets may be missing."""
_EVENT_AT_END: Final = re.compile(
    rb'\[Event[^!-~]+"(?:(?!"[^!-~]*\]|\[Event\b).)*"[^!-~]*\][^!-~]*\Z', re.DOTALL
)
"""One that is the last of a line, whatever quotes are in its value; nothing else that is visible follows."""
_COMMENT: Final = re.compile(rb"\{[^}]*\}|;[^\r\n]*")
_PLIES: Final = re.compile(r"\d{1,6}", re.ASCII)
_WHO_AND_WHAT: Final = frozenset({"White", "Black", "Result"})
_COME_AND_GO: Final = frozenset({tags.KOMI}).union(*tags.REPLACED.values())
"""The tags that tagging adds and replaces, so that they do not tell games apart."""
_NAMES: Final = {name.lower(): name for name in tags.READ}
_BOM: Final = b"\xef\xbb\xbf"
"""A mark of byte order, which stands wherever files were joined."""
_ODD: Final = re.compile(rb"[^\t-\r -~]")
_QUOTED: Final = re.compile(rb"%b.*%b" % (_QUOTE, _QUOTE), re.DOTALL)
_TOO_LONG: Final = (
    f"it has more than {MOST_BYTES >> 20} MiB or {MOST_TAGS:,} tags, the most that is read of one game"
)
_CUT: Final = "its tags are cut off by those of the next game, so nobody knows how it went"
_EMPTY: Final = re.compile(rb"[^\w:*\[\](){};%$\x80-\xff]*\Z")
"""A line that says nothing."""


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
    flaw: str = ""
    """Why it cannot be read, whatever its moves are: its tags are of two games, or it is too long; empty
    if it can."""
    malformed: bool = False
    """Whether a line among the tags is none."""
    other_case: bool = False
    """Whether the name of a tag that is read has been written in other upper and lower case."""
    rest: bool = False
    """Whether these are more bytes of the game before, which is too long."""

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
        return self.rest or (not self.tags and not self.malformed and self.movetext == len(self.data))


def split_games(stream: LineStream) -> Iterator[RawGame]:
    """Yield the games of a PGN stream.

    A game begins with a tag after moves, with a tag after an empty line that has stood before, or with moves
    after a result and an empty line; so an empty line among tags or among moves, and a tag that stands twice
    (all exist in practice), tear no game apart. A line that begins with a tag ``Event`` ends a comment that
    is open, and begins a game after moves even where a bracket of it is missing. The tags that tagging adds
    tell no games apart, so that a game ends where it did before it was tagged. Bytes before the first game go
    with it. A stream without any game yields nothing, or one ``RawGame`` without tags and moves, if it has
    bytes.

    A tag ``Event`` at the end of a line that begins with something else begins a game as well: a program was
    ended while it wrote there, and went on in the same file. A game whose tags are cut off so has a flaw, and
    so has one of more than ``MOST_BYTES`` or ``MOST_TAGS``; what goes beyond that follows as :attr:`rest`.
    """
    game, number = _GrowingGame(1, 1), 1
    for line in lines(stream):
        if line.isspace():
            game.skip(line)
        else:
            begin = game.cut_within(line)
            if begin:
                game.add(line[:begin])
            if begin or game.ends_before(line):
                yield from game.taken(game.in_tags)
                game = _GrowingGame(game.number + 1, number)
            game.add(line[begin:])
        if game.too_long:
            yield from game.taken()
        number += line.endswith((b"\n", b"\r"))
    yield from game.taken()


def lines(stream: LineStream) -> Iterator[bytes]:
    """Yield lines with their breaks, which may be of all three kinds; those of ``MOST_BYTES`` in parts."""
    rest = bytearray()
    while block := stream.read(_BLOCK):
        if rest.endswith(b"\n") or (rest.endswith(b"\r") and not block.startswith(b"\n")):
            yield bytes(rest)
            rest.clear()
        *whole, last = block.splitlines(keepends=True)
        if whole:
            yield bytes(rest + whole[0])
            yield from whole[1:]
            rest.clear()
        rest += last
        if len(rest) >= MOST_BYTES:
            yield bytes(rest)
            rest.clear()
    if rest:
        yield bytes(rest)


class _GrowingGame:
    """A game that grows line by line."""

    def __init__(self, number: int, line: int) -> None:
        self.number = number
        self._raw = RawGame(number, line)
        self._data = bytearray()
        self._names: set[str] = set()
        self._last = b""
        self._movetext = -1
        self._moves = self._in_comment = self._gap = self._open_tag = False

    @property
    def in_tags(self) -> bool:
        """Whether its tags have not come to an end."""
        return not (self._moves or self._gap or self._in_comment)

    @property
    def too_long(self) -> bool:
        """Whether there is more of it than is read of one game."""
        return len(self._data) > MOST_BYTES or len(self._raw.tags) > MOST_TAGS

    @property
    def _headed(self) -> bool:
        """Whether its tags tell so much that a second tag ``Event`` is of another game."""
        return "Event" in self._names and not self._names.isdisjoint(_WHO_AND_WHAT)

    def cut_within(self, line: bytes) -> int:
        """Return where in a line another game begins because this one has been cut off; 0 if none does."""
        found = _EVENT_AT_END.search(line) if b"[Event" in line else None
        head = b"" if found is None else _legible(line[: found.start()]).strip()
        if found is None or not head or head[:1] in b"%;":
            return 0
        if self._in_comment:
            return found.start()
        whole_tag = not self._moves and _TAG.fullmatch(head) and not self._headed
        commented = any(comment.startswith(b";") for comment in _COMMENT.findall(head))
        return 0 if whole_tag or commented else found.start()

    def ends_before(self, line: bytes) -> bool:
        """Tell whether a line belongs to the next game."""
        if self._in_comment:
            return b'[Event "' in line and _legible(line).startswith(b'[Event "')
        text = _legible(line)
        if text[:1] in b"%;" or _EMPTY.match(text):
            return False
        event = text[:1] in b"[E" and _EVENT.match(text) is not None
        if self.in_tags:
            return event and (self._open_tag or self._headed)
        if self._moves and event:
            return True
        if text.lstrip()[:1] != b"[":
            return self._gap and ends_with_result(self._last)
        tag = _TAG.match(text)
        return tag is not None and (self._moves or _name(tag)[0] in self._names)

    def skip(self, line: bytes) -> None:
        """Take an empty line in; files may have millions of them."""
        self._data += line
        self._gap |= not self._in_comment

    def add(self, line: bytes) -> None:
        """Take a line in."""
        self._data += line
        text, start = _legible(line), len(self._data) - len(line.removeprefix(_BOM))
        if self._in_comment:
            self._follow(line)
        elif _EMPTY.match(text):
            self._gap = True
        elif text[:1] in b"%;":
            return
        elif not self._moves and (text.lstrip()[:1] == b"[" or _EVENT.match(text)):
            self._add_tag(text, start)
        else:
            if self._movetext < 0:
                self._movetext = start
            self._gap = False
            self._follow(text)

    def _add_tag(self, text: bytes, start: int) -> None:
        self._movetext = -1  # comments may stand among tags
        raw, tag = self._raw, _TAG.match(text)
        several = tag is not None and (_NEXT.search(tag[2] or b"") or text[tag.end() :].strip())
        if several or (tag is None and _NEEDED.match(text)):
            line = quote(decode(text.strip()))
            raw.flaw = raw.flaw or f'{line} is not a tag: expected one in a line, as [Name "value"]'
        elif tag is None:
            raw.malformed = True
        self._open_tag = tag is None and not text.rstrip().endswith(b"]")
        if tag is not None and not raw.rest:
            name, other_case = _name(tag)
            value = decode(tag[2] or b"").replace('\\"', '"').replace("\\\\", "\\")
            raw.tags.append(Tag(name, value, start, len(self._data)))
            raw.other_case = raw.other_case or other_case
            if name in _COME_AND_GO:
                return
            self._names.add(name)
        self._gap = False

    def _follow(self, text: bytes) -> None:
        """Find out where moves end, and whether with an open comment."""
        if self._in_comment:
            _, brace, text = text.partition(b"}")
            if not brace:
                return
        found = _COMMENT.sub(b" ", text + b"\n}")  # the last brace ends a comment that is open, or remains
        self._in_comment = not found.endswith(b"}")
        text = found[:-1].rstrip()
        if text:
            self._moves = True
            self._last = self._last[-TAIL:] + b"\n" + text

    def taken(self, cut: bool = False) -> Iterator[RawGame]:
        """Yield the game, or the bytes of one too long that have come since; others may follow.

        :param cut: whether the tags of another one have cut off its own.
        """
        raw = self._raw
        raw.data = bytes(self._data)
        raw.movetext = len(raw.data) if self._movetext < 0 else self._movetext
        if self.too_long:
            raw.flaw = _TOO_LONG
        elif cut:
            raw.flaw = raw.flaw or _CUT
        if raw.data:
            yield raw
        self._raw, self._data, self._movetext = RawGame(raw.number, raw.line, rest=True), bytearray(), -1


def _legible(line: bytes) -> bytes:
    """Return a line without what nobody sees in it, other than in the value of a tag."""
    if not _ODD.search(line):
        return line
    quoted = _QUOTED.search(line)
    start, end = quoted.span() if quoted else (len(line), len(line))
    around = (plain(decode(part)).encode() for part in (line[:start], line[end:]))
    return line[start:end].join(around)


def _name(tag: re.Match[bytes]) -> tuple[str, bool]:
    """Return the name of a tag, and whether it has been written in other upper and lower case."""
    written = decode(tag[1])
    name = _NAMES.get(written.lower(), written)
    return name, name != written
