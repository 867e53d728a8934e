"""Formatting and parsing of numbers, shares, sizes and times; CSV; and removal of invisible characters."""

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

from tbgen.errors import UsageError, quote

_DURATION_PATTERN: Final = re.compile(r"(\d{1,9}(?:\.\d+)?) ?([smh])", re.IGNORECASE | re.ASCII)
_SIZE_PATTERN: Final = re.compile(r"(-?\d+(?:\.\d+)?) ?(?:([KMGT])(i?B)?)?", re.IGNORECASE | re.ASCII)

_FORMULA_START: Final = re.compile(r"[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]")
"""Matches the first character of a field that a spreadsheet may interpret as a formula. The last four
characters are full-width."""
_NEGATIVE_SCORE: Final = re.compile(r"-G\d+\.[05]", re.ASCII)
"""A negative G-score: it is not a valid formula, and programs must be able to parse it."""


UNUSUAL_CHARACTER: Final = re.compile(r"[^\t-\r -~]")
"""A character that is neither visible ASCII nor a blank, tab or line break."""
_SOFT_HYPHEN: Final = re.compile(r"(?<=[\dOo½])\xad(?=[\dOo½])")
"""A soft hyphen that stands for a hyphen, as in results and castling. Other soft hyphens are removed."""
_FULL_WIDTH_CODES: Final = range(0xFF01, 0xFF5F)
_PGN_SYNTAX: Final = '(){}[]<>;*$%"\\'
"""Characters with a meaning in the syntax of PGN."""


class LegibleTable(dict[int, str]):
    """A translation table for ``str.translate`` that computes entries from Unicode categories on demand.

    It maps all dashes to a hyphen, blanks of any width and control characters to a blank, full-width letters
    and signs to ASCII, and other invisible characters to nothing. Line breaks are unchanged, and so are
    full-width signs whose ASCII form has a meaning in the syntax of PGN.
    """

    def __missing__(self, code: int) -> str:
        """Compute and store the replacement of a character."""
        letter = chr(code)
        category = unicodedata.category(chr(code))
        if category == "Cf" or letter in "\u034f\u2800" or 0xFE00 <= code <= 0xFE0F:  # variation selectors
            self[code] = ""
        elif category == "Pd" or letter in "\u2043\u2212\x96\x97":  # the last two are from Windows-1252
            self[code] = "-"
        elif category[0] == "Z" or (category == "Cc" and not 9 <= code <= 13):
            self[code] = " "
        elif code in _FULL_WIDTH_CODES and chr(code - 0xFEE0) not in _PGN_SYNTAX:
            self[code] = chr(code - 0xFEE0)
        else:
            self[code] = letter
        return self[code]


_LEGIBLE_TABLE: Final = LegibleTable()


def sanitise(text: str, table: LegibleTable = _LEGIBLE_TABLE) -> str:
    """Return a string translated by a table, without invisible characters.

    >>> sanitise("1\u20140\u200b\x1a")
    '1-0 '
    """
    return _SOFT_HYPHEN.sub("-", text).translate(table) if UNUSUAL_CHARACTER.search(text) else text


def composed(text: str) -> str:
    r"""Return a string in Unicode's normal form NFC, in which names are compared.

    >>> composed("Zoe\u0308") == "Zoë"
    True
    """
    return unicodedata.normalize("NFC", text)


def decode(data: bytes) -> str:
    r"""Decode text in UTF-8, with or without a byte order mark.

    >>> decode(b"\xef\xbb\xbfrounds = 2")
    'rounds = 2'

    :raises UsageError: if the bytes are not UTF-8; the message names the line.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise UsageError(f"line {line} is not text in UTF-8") from None


def number(count: int) -> str:
    """Return a number with thousands separators.

    >>> number(1234567)
    '1,234,567'
    """
    return f"{count:,}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun.

    >>> counted(1, "table"), counted(1200, "table"), counted(2, "ply", "plies")
    ('1 table', '1,200 tables', '2 plies')
    """
    return f"{number(count)} {noun if count == 1 else plural or noun + 's'}"


def join_words(words: Sequence[str]) -> str:
    """Return words as a list in a sentence.

    >>> join_words(["KvK"]), join_words(["KvK", "KBvK", "KNvK"]), join_words([])
    ('KvK', 'KvK, KBvK and KNvK', '')
    """
    return " and ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)


def screen_width(text: str) -> int:
    """Return the width of a string in columns of a terminal.

    East Asian letters and emoji take up two columns, combining marks none.

    >>> screen_width("Zoë"), screen_width("Zoe\u0308"), screen_width("象棋")
    (3, 3, 4)
    """
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(unicodedata.category(letter) in ("Mn", "Me", "Cf") for letter in text)


def pad(text: str, width: int, *, pad_left: bool) -> str:
    """Return a string padded with spaces to ``width`` columns of a terminal, at its left or right end."""
    spaces = " " * (width - screen_width(text))
    return spaces + text if pad_left else text + spaces


def plies(count: int) -> str:
    """Return a number of plies as text."""
    return counted(count, "ply", "plies")


def share_text(part: float, decimals: int = 1) -> str:
    """Return a share as text, in per cent. Only shares of exactly 0 and 1 are printed as 0 % and 100 %.

    >>> [share_text(part).replace("\\xa0", " ") for part in (0.5, 1, 0.9999, 0.00001, 0)]
    ['50.0 %', '100 %', '>99.9 %', '<0.1 %', '0 %']
    >>> [share_text(part, 2).replace("\\xa0", " ") for part in (0.9608, 0.9999, 0.99999)]
    ['96.08 %', '99.99 %', '>99.99 %']
    """
    least = 10.0**-decimals
    margin = least / 200  # shares closer to 0 or 1 would be rounded to 0 % or 100 %
    if part in (0, 1):
        text = f"{part * 100:.0f}"
    elif part >= 1 - margin:
        text = f">{100 - least:.{decimals}f}"
    else:
        text = f"<{least:.{decimals}f}" if part < margin else f"{part * 100:.{decimals}f}"
    return f"{text}\N{NO-BREAK SPACE}%"


def part_text(count: int, total: int) -> str:
    """Return the share of a count in a total, in per cent; 0 % if the total is 0.

    >>> [part_text(*counts).replace("\\xa0", " ") for counts in ((1, 4), (0, 0))]
    ['25.0 %', '0 %']
    """
    return share_text(count / total if total else 0)


def size_text(size: int) -> str:
    """Return a number of bytes as text.

    >>> size_text(40_000), size_text(3 << 20), size_text(5 << 29)
    ('39.1 KiB', '3.00 MiB', '2.50 GiB')
    """
    if size >= 2**30:
        return f"{size / 2**30:.2f} GiB"
    return f"{size / 2**20:.2f} MiB" if size >= 2**20 else f"{size / 2**10:.1f} KiB"


def parse_size(text: str) -> int:
    """Parse a size in bytes: K, M, G, T and KiB to TiB are powers of 1024; KB to TB are powers of 1000.

    >>> parse_size("12G"), parse_size("4096MiB"), parse_size("1.5gb")
    (12884901888, 4294967296, 1500000000)

    :raises UsageError: if the text is not a size.
    """
    match = _SIZE_PATTERN.fullmatch(text.strip())
    example = "give one such as 12G, 8GiB or 4096M"
    if match is None:
        raise UsageError(f"{quote(text)} is not a size: {example}")
    if float(match[1]) <= 0:
        raise UsageError(f"{quote(text)} is too small a size: {example}")
    if match[2] is None:
        raise UsageError(f"{quote(text)} is a size without a unit: {example}")
    base = 1000 if (match[3] or "").upper() == "B" else 1024
    size = float(match[1]) * base ** ("KMGT".index(match[2].upper()) + 1)
    if not 1 <= size < math.inf:
        raise UsageError(f"{quote(text)} is too {'small' if size < 1 else 'great'} a size: {example}")
    return int(size)


def parse_duration(text: str) -> float:
    """Parse a time in seconds, minutes or hours, and return it in seconds.

    >>> parse_duration("60s"), parse_duration("1.5m"), parse_duration("2h")
    (60.0, 90.0, 7200.0)

    :raises UsageError: if the text is not a time.
    """
    match = _DURATION_PATTERN.fullmatch(text.strip())
    if match is None or float(match[1]) <= 0:
        raise UsageError(f"{quote(text)} is not a time: give one such as 60s, 5m or 2h")
    return float(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2].lower()]


def duration(seconds: float) -> str:
    """Return a time as text.

    >>> duration(7.25), duration(95), duration(5000)
    ('7.2 s', '1 min 35 s', '1 h 23 min')
    """
    if seconds < 59.5:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


def csv_text(header: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """Return the text of a CSV file with a header line. None becomes an empty field; numbers are not rounded.

    A string that a spreadsheet would interpret as a formula is prefixed with an apostrophe, which marks it as
    text.

    >>> csv_text(["name", "score", "points"], [["=1+1", "-G3.5", -0.25], ["a, b", None, 2]]).splitlines()
    ['name,score,points', "'=1+1,-G3.5,-0.25", '"a, b",,2']
    >>> csv_text(["\\uff1d1+1"], [])[0]
    "'"
    """
    import csv  # imported here because every command loads this module, but few write CSV
    import io

    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerows([_escape_formula(field) for field in row] for row in (header, *rows))
    return file.getvalue()


def _escape_formula(field: object) -> object:
    """Return a field, prefixed with an apostrophe if it might be interpreted as a formula."""
    formula = isinstance(field, str) and _FORMULA_START.match(field) and not _NEGATIVE_SCORE.fullmatch(field)
    return f"'{field}" if formula else field
