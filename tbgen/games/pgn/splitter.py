"""Splitting a PGN stream into the bytes of single games, without losing or changing any byte."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Protocol

from msgspec import Struct, field

from tbgen.errors import quote
from tbgen.games.pgn import tags
from tbgen.games.pgn.spelling import TAIL_BYTES, decode, ends_with_result, usual_text
from tbgen.text import composed

MAX_BYTES: Final = 1 << 24
"""Maximum size of one game in bytes."""
MAX_TAGS: Final = 10_000
"""Maximum number of tags of one game."""
_MAX_OPEN_LINES: Final = 4
"""Maximum number of lines of a tag before its last line."""
_BLOCK_BYTES: Final = 1 << 18
_QUOTE: Final = rb"(?:\"|\xe2\x80[\x9c-\x9f])"
"""A straight or curved quotation mark."""
_NAME: Final = rb"[A-Za-z0-9_][A-Za-z0-9_+#=:-]*+(?<![=:])"
"""A tag's name, a symbol of the PGN standard (section 7). It does not end with a colon or an equals sign:
``[White: "A"]`` is a slip."""
_TAG: Final = re.compile(
    rb"\s*\[\s*(%b(?=\s*%b)|[A-Za-z0-9_]+)(?:\s*%b(.*)%b)?\s*\]" % (_NAME, _QUOTE, _QUOTE, _QUOTE), re.DOTALL
)
"""A tag; its value may be missing, as in cuteRMob's ``[Legacy]``, and may contain quotation marks."""
_GAP: Final = rb"(?:(?!%b)[^!-~])*+" % _QUOTE
"""Blanks, line breaks and invisible characters."""
_CHARACTERS: Final = rb"(?:\\.|(?!%b)[^\\\r\n])*+" % _QUOTE
_STRING: Final = rb"%b%b(?:[\r\n]++(?!\[)%b)?%b" % (_QUOTE, _CHARACTERS, _CHARACTERS, _QUOTE)
"""A value in quotation marks, which a program may have wrapped once."""
_VALUED_TAG: Final = rb"%b\[%b%b%b%b%b\]" % (_GAP, _GAP, _NAME, _GAP, _STRING, _GAP)
_WHOLE_TAG: Final = re.compile(rb"%b|%b\[%b[A-Za-z0-9_]++%b\]" % (_VALUED_TAG, _GAP, _GAP, _GAP))
"""A tag, on one or more lines, in the strict syntax of the standard. Only tags in this syntax share lines."""
_TAG_BEFORE_TEXT: Final = re.compile(rb"(?:%b)%b(?=[\[{;*0-9])" % (_WHOLE_TAG.pattern, _GAP))
"""A tag that another tag, a comment or moves follow on the same line."""
_LAST_RESULT: Final = rb"(?<=[\s)}])(?:1-0|0-1|1/2-1/2|\*)%b(?=%b)" % (_GAP, _VALUED_TAG)
_RESULT_BEFORE_TAG: Final = re.compile(
    rb"(?:[^;{%%\"*01]++|\{[^{}]*+\}|(?!%b)[*01])*+%b" % (_LAST_RESULT, _LAST_RESULT)
)
"""Moves up to a result, outside of comments, that a tag of the next game follows on the same line."""
_OPEN_TAG: Final = re.compile(
    rb"%b\[%b(?:%b%b(?:%b%b|%b%b[\r\n]++)?)?" % (_GAP, _GAP, _NAME, _GAP, _STRING, _GAP, _QUOTE, _CHARACTERS)
)
"""The beginning of a tag that continues on the next line."""
_SECOND_TAG: Final = re.compile(rb"\"\s*\]\s*\[|\[\s*%b\s*\"" % _NAME)
"""The beginning of a second tag within a tag."""
_ESSENTIAL_TAG: Final = re.compile(rb"\s*\[\s*(?:FEN|Variant)\b", re.IGNORECASE)
"""The beginning of a tag on which the meaning of the moves depends."""
_EVENT_TAG: Final = re.compile(rb'\[\s*Event(?![\w+#-]|[=:]+\w)|Event\s*"')
"""The beginning of a tag ``Event``. One of its brackets may be missing."""
_EVENT_AT_END: Final = re.compile(
    rb'\[Event[^!-~]*"(?:(?!"[^!-~]*\]|\[Event\b).)*"[^!-~]*\][^!-~]*\Z', re.DOTALL
)
"""A tag ``Event`` at the end of a line; its value may contain quotation marks, and only invisible characters
may follow."""
_EVENT_IN_COMMENT: Final = re.compile(rb'\[Event(?: "|\s*"[^"]*"\s*\]\s*\Z)')
"""A tag that begins a game even within a comment, whose closing brace must be missing."""
_COMMENT: Final = re.compile(rb"\{[^}]*\}|;[^\r\n]*")
_PLY_COUNT: Final = re.compile(r"\d{1,6}", re.ASCII)
_IDENTIFYING_TAGS: Final = frozenset({"White", "Black", "Result"})
_PLAYER_TAGS: Final = ("White", "Black")
_NO_NAMES: Final = frozenset({"", "?", "-"})
"""Values that stand for an unknown player."""
_REPLACED_TAGS: Final = frozenset({tags.KOMI}).union(*tags.REPLACED_NAMES.values())
"""The tags that tagging adds and replaces. They never mark the beginning of a game."""
_USUAL_NAMES: Final = {name.lower(): name for name in tags.READ_NAMES}
_BOM: Final = b"\xef\xbb\xbf"
"""The byte order mark. After files have been concatenated, it may occur anywhere."""
_BLANKS: Final = b" \t" + _BOM
_ODD_CHARACTER: Final = re.compile(rb"[^\t-\r -~]")
_QUOTED: Final = re.compile(rb"%b.*%b" % (_QUOTE, _QUOTE), re.DOTALL)
_SIZE_FLAW: Final = f"it has more than {MAX_BYTES >> 20} MiB or {MAX_TAGS:,} tags, the maximum for one game"
_CUT_FLAW: Final = "its tags are cut off by those of the next game, so its moves are unknown"
_TWO_PLAYERS_FLAW: Final = "its tags name two players of one colour, so they may be those of two games"
_EMPTY_LINE: Final = re.compile(rb"[^\w:*\[\](){};%$\x80-\xff]*\Z")
"""A line without content."""


class ByteStream(Protocol):
    """A source of bytes, such as an open binary file."""

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes; no bytes at the end."""


class Tag(Struct, frozen=True):
    """A tag of a game."""

    name: str
    value: str
    """The text between the quotation marks, in the normal form NFC and with escapes resolved; empty if there
    are no quotation marks."""
    start: int
    """Offset of the beginning of the tag in the bytes of the game; includes blanks at the start of a line."""
    end: int
    """Offset of the next tag, comment or move on the line; if none follows, of the end of the line, after its
    line break."""


class RawGame(Struct):
    """The bytes of a game. The bytes of all games of a file, joined, are the file."""

    number: int
    """Number of the game in the file, from 1."""
    line: int
    """Number of the game's first line in the file, from 1."""
    data: bytes = b""
    """The bytes, including empty and escaped lines up to the next game or the end of the file. Those of the
    first game include any lines before it."""
    tags: list[Tag] = field(default_factory=list)
    moves_start: int = 0
    """Offset of the moves in the bytes."""
    flaw: str = ""
    """The reason why the game cannot be read, such as its size; empty if there is none. Errors in the moves
    are not included."""
    malformed: bool = False
    """Whether a line among the tags is not a tag."""
    has_unusual_case: bool = False
    """Whether the name of any tag in ``tags.READ_NAMES`` is spelled with unusual capitalisation."""
    is_rest: bool = False
    """Whether the bytes are only the rest, or a part of the rest, of a game that is too long."""

    @property
    def values(self) -> dict[str, str]:
        """The values of the tags by name, in the order of the file. The first of duplicate tags counts."""
        values: dict[str, str] = {}
        for tag in self.tags:
            values.setdefault(tag.name, tag.value)
        return values

    @property
    def place(self) -> str:
        """The number and the line of the game, for messages."""
        return f"game {self.number}, line {self.line}"

    @property
    def ply_count(self) -> int | None:
        """Number of plies according to the tag ``PlyCount``; None if the tag contains no number."""
        text = self.values.get("PlyCount", "").strip()
        return int(text) if _PLY_COUNT.fullmatch(text) else None

    @property
    def empty(self) -> bool:
        """Whether the game has neither tags nor moves, but at most comments."""
        return self.is_rest or (not self.tags and not self.malformed and self.moves_start == len(self.data))


def split_games(stream: ByteStream) -> Iterator[RawGame]:
    """Yield the games of a PGN stream.

    A game begins with one of these:

    - a tag after moves;
    - after an empty line, a tag whose name the current game already has;
    - moves after a result and an empty line;
    - a tag ``Event`` at the beginning of a line, within a comment or after moves (after moves, one of its
      brackets may be missing);
    - a tag ``Event`` at the beginning of a line among tags, if these already include ``Event`` and one of
      ``White``, ``Black`` and ``Result``, or if the last of them is incomplete;
    - a tag ``Event`` at the end of a line that begins with something else: a program was terminated while it
      wrote this line, and later appended to the same file.

    Thus a game is not split at a duplicate tag, nor at an empty line among tags or moves. All these cases
    occur in practice. The tags that tagging adds never begin a game, so tagging does not change where a game
    ends. The first game includes any bytes before it. An empty stream yields nothing. Any other stream
    without games yields one ``RawGame`` without tags and moves.

    A game has a flaw if the next game cuts off its tags, if two tags name different players of one colour, or
    if it exceeds ``MAX_BYTES`` or ``MAX_TAGS``. The bytes beyond these limits follow as games with
    :attr:`RawGame.is_rest`.
    """
    game = _GrowingGame(1, 1)
    lines = _separate_tags(read_lines(stream), lambda line: game.continues_comment(line))
    for line_number, line in lines:
        if line.isspace():
            game.add_empty_line(line)
        else:
            start = game.cut_offset(line)
            if start:
                game.add(line[:start])
            if start or game.ends_before(line):
                yield from game.flush(game.is_in_tags)
                game = _GrowingGame(game.number + 1, line_number)
            game.add(line[start:])
        if game.is_too_long:
            yield from game.flush()
    yield from game.flush()


def read_lines(stream: ByteStream) -> Iterator[bytes]:
    """Yield lines with their line breaks (LF, CR LF or CR).

    Lines longer than ``MAX_BYTES`` are yielded in parts.
    """
    open_line = bytearray()
    while block := stream.read(_BLOCK_BYTES):
        if open_line.endswith(b"\n") or (open_line.endswith(b"\r") and not block.startswith(b"\n")):
            yield bytes(open_line)
            open_line.clear()
        *complete, last_line = block.splitlines(keepends=True)
        if complete:
            yield bytes(open_line + complete[0])
            yield from complete[1:]
            open_line.clear()
        open_line += last_line
        if len(open_line) >= MAX_BYTES:
            yield bytes(open_line)
            open_line.clear()
    if open_line:
        yield bytes(open_line)


def _separate_tags(
    lines: Iterable[bytes], in_comment: Callable[[bytes], bool]
) -> Iterator[tuple[int, bytes]]:
    """Yield lines with their numbers from 1, but each tag alone: split from tags, a comment or moves that
    follow it on its line, and joined with all lines that it spans.

    :param in_comment: returns whether a line, after those that have been yielded, begins in a comment.
    """
    open_lines: list[bytes] = []
    line_number = 1
    for line in lines:
        if not open_lines and (
            (line.endswith((b"]\n", b"]\r\n", b"]\r")) and line.count(b"[") == 1)
            or b"[" not in line
            or (b'"' not in line and b"\xe2" not in line and line.lstrip(_BLANKS)[:1] != b"[")
            or in_comment(line)
        ):
            yield line_number, line  # without the slower patterns
        else:
            text = b"".join([*open_lines, line])
            first_line = line_number - len(open_lines)
            start = 0
            is_open = 0 < len(open_lines) < _MAX_OPEN_LINES and _OPEN_TAG.fullmatch(text)
            if open_lines and (
                line.isspace() or len(text) > MAX_BYTES or not (is_open or _WHOLE_TAG.match(text))
            ):
                yield from enumerate(open_lines, first_line)
                open_lines = []
                text = line
                first_line = line_number
            while part := _TAG_BEFORE_TEXT.match(text, start) or _RESULT_BEFORE_TAG.match(text, start):
                yield first_line, text[start : part.end()]
                start = part.end()
                first_line = line_number
            if _OPEN_TAG.fullmatch(text, start):
                open_lines = [text[start:]] if start else [*open_lines, line]
            else:
                yield first_line, text[start:]
                open_lines = []
        line_number += line.endswith((b"\n", b"\r"))
    yield from enumerate(open_lines, line_number - len(open_lines))


class _GrowingGame:
    """A game to which lines are added one by one."""

    def __init__(self, number: int, line: int) -> None:
        self.number = number
        self._raw = RawGame(number, line)
        self._data = bytearray()
        self._first_indices: dict[str, int] = {}  # by name, the index of the first tag
        self._repeat_index = -1  # the index of the last tag whose name an earlier one has
        self._last_text = b""
        self._text_start = -1
        self._has_moves = self._is_in_comment = self._is_after_gap = self._is_tag_open = False

    @property
    def is_in_tags(self) -> bool:
        """Whether the game is still in its tags: no moves, empty line or open comment since the last tag."""
        return not (self._has_moves or self._is_after_gap or self._is_in_comment)

    @property
    def is_too_long(self) -> bool:
        """Whether the game exceeds the maximum number of bytes or tags."""
        return len(self._data) > MAX_BYTES or len(self._raw.tags) > MAX_TAGS

    @property
    def _is_identified(self) -> bool:
        """Whether the game has enough tags for a second tag ``Event`` to begin another game."""
        return "Event" in self._first_indices and not _IDENTIFYING_TAGS.isdisjoint(self._first_indices)

    def cut_offset(self, line: bytes) -> int:
        """Return the offset in a line at which the next game cuts off this game; 0 if it is not cut off."""
        event = _EVENT_AT_END.search(line) if b"[Event" in line else None
        head = b"" if event is None else _usual_line(line[: event.start()]).strip()
        if event is None or not head or head[:1] in b"%;":
            return 0
        if self._is_in_comment:
            return event.start()
        return 0 if any(comment.startswith(b";") for comment in _COMMENT.findall(head)) else event.start()

    def ends_before(self, line: bytes) -> bool:
        """Return whether a line belongs to the next game."""
        if self._is_in_comment:
            return b"[Event" in line and _EVENT_IN_COMMENT.match(_usual_line(line)) is not None
        text = _usual_line(line)
        if text[:1] in b"%;" or _EMPTY_LINE.match(text):
            return False
        event = text[:1] in b"[E" and _EVENT_TAG.match(text) is not None
        if self.is_in_tags:
            return event and (self._is_tag_open or self._is_identified)
        if self._has_moves and event:
            return True
        if text.lstrip()[:1] != b"[":
            return self._is_after_gap and ends_with_result(self._last_text)
        tag = _TAG.match(text)
        return tag is not None and (self._has_moves or _usual_name(tag)[0] in self._first_indices)

    def continues_comment(self, line: bytes) -> bool:
        """Return whether a line begins within a comment of this game."""
        return self._is_in_comment and not self.ends_before(line)

    def add_empty_line(self, line: bytes) -> None:
        """Append an empty line. This must be fast, because files may have millions of empty lines."""
        self._data += line
        self._is_after_gap |= not self._is_in_comment

    def add(self, line: bytes) -> None:
        """Append a line."""
        self._data += line
        text = _usual_line(line)
        start = len(self._data) - len(line.removeprefix(_BOM))
        if self._is_in_comment:
            self._track_comments(line)
        elif _EMPTY_LINE.match(text):
            self._is_after_gap = True
        elif text[:1] in b"%;":
            return
        elif not self._has_moves and (text.lstrip()[:1] == b"[" or _EVENT_TAG.match(text)):
            self._add_tag(text, start)
        else:
            if self._text_start < 0:
                self._text_start = start
            self._is_after_gap = False
            self._track_comments(text)

    def _add_tag(self, text: bytes, start: int) -> None:
        self._text_start = -1  # a comment before this tag does not begin the movetext
        raw = self._raw
        tag = _TAG.match(text)
        has_second_tag = _SECOND_TAG.search(text[1:] if tag is None else tag[2] or b"")
        has_rest = tag is not None and text[tag.end() :].strip()
        if has_second_tag or has_rest or (tag is None and _ESSENTIAL_TAG.match(text)):
            raw.flaw = raw.flaw or f'{quote(decode(text.strip()))} is not a tag: expected [Name "value"]'
        elif tag is None:
            raw.malformed = True
        self._is_tag_open = tag is None and not text.rstrip().endswith(b"]")
        if tag is not None and not raw.is_rest:
            name, has_unusual_case = _usual_name(tag)
            value = decode(tag[2] or b"")
            if "\\" in value or not (value.isascii() and value.isprintable()):
                value = composed(decode(b" ".join(tag[2].splitlines())))
                value = value.replace('\\"', '"').replace("\\\\", "\\")
            raw.tags.append(Tag(name, value, start, len(self._data)))
            raw.has_unusual_case = raw.has_unusual_case or has_unusual_case
            if name in _REPLACED_TAGS:
                return
            index = len(raw.tags) - 1
            first_index = self._first_indices.setdefault(name, index)
            if first_index < index:
                is_another = raw.tags[self._repeat_index].name != name
                is_another_repeated = first_index < self._repeat_index and is_another
                players = {" ".join(raw.tags[i].value.split()) for i in (first_index, index)} - _NO_NAMES
                if is_another_repeated and name in _PLAYER_TAGS and len(players) > 1:
                    raw.flaw = raw.flaw or _TWO_PLAYERS_FLAW
                self._repeat_index = index
        self._is_after_gap = False

    def _track_comments(self, text: bytes) -> None:
        """Note from a line whether a comment is open, and the last text outside of comments."""
        if self._is_in_comment:
            _, brace, text = text.partition(b"}")
            if not brace:
                return
        # The appended brace closes an open comment. If no comment is open, the brace remains.
        outside = _COMMENT.sub(b" ", text + b"\n}")
        self._is_in_comment = not outside.endswith(b"}")
        text = outside[:-1].rstrip()
        if text:
            self._has_moves = True
            self._last_text = self._last_text[-TAIL_BYTES:] + b"\n" + text

    def flush(self, is_cut_off: bool = False) -> Iterator[RawGame]:
        """Yield the game, or the next part of a game that is too long, and drop the bytes yielded.

        :param is_cut_off: whether the next game has cut off the tags of this game.
        """
        raw = self._raw
        raw.data = bytes(self._data)
        has_text = bool(self._has_moves or self._is_in_comment or raw.tags)  # not only comments
        raw.moves_start = self._text_start if has_text and self._text_start >= 0 else len(raw.data)
        if self.is_too_long:
            raw.flaw = _SIZE_FLAW
        elif is_cut_off:
            raw.flaw = raw.flaw or _CUT_FLAW
        if raw.data:
            yield raw
        self._raw = RawGame(raw.number, raw.line, is_rest=True)
        self._data = bytearray()
        self._text_start = -1


def _usual_line(line: bytes) -> bytes:
    """Return a line with :func:`usual_text` applied to everything except the quoted value of a tag."""
    if not _ODD_CHARACTER.search(line):
        return line
    quotation = _QUOTED.search(line)
    start, end = quotation.span() if quotation else (len(line), len(line))
    return line[start:end].join(usual_text(decode(part)).encode() for part in (line[:start], line[end:]))


def _usual_name(tag: re.Match[bytes]) -> tuple[str, bool]:
    """Return the name of a tag in its usual spelling, and whether the file spells it in another case."""
    written_name = decode(tag[1])
    name = _USUAL_NAMES.get(written_name.lower(), written_name)
    return name, name != written_name
