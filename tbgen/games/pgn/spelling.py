"""How results and characters of PGN are spelled, and what is meant.

Programs and sites write results in these ways:

=====================  ==============================================================================
who                    what is written
=====================  ==============================================================================
PGN standard (1994)    ``1-0``, ``0-1``, ``1/2-1/2``, ``*``
lichess (scalachess)   also ``½`` for ``1/2``; a hyphen, a dash, ``_`` or ``:`` between the sides; ``+``
                       for 1; a hyphen or a dash for 0
ChessBase              also ``+:-``, ``-:+``, ``=:=`` (not played) and ``0-0`` (both lost)
FIDE, Swiss programs   also ``+ - -``, ``- - +``, ``- - -``, and points as decimals
=====================  ==============================================================================
"""

import codecs
import re
from typing import Final

from tbgen.text import ODD, Legible, legible

_FIGURINES: Final = dict(zip("♔♕♖♗♘♙♚♛♜♝♞♟", [*"KQRBN", "", *"KQRBN", ""], strict=True))
_OTHERS: Final = {"\xd7": "x", "\u2236": ":", "\u2044": "/", "\u2215": "/", "\u0394": "\u25b3"}
_SIGNS: Final = {"\u203c": "!!", "\u2047": "??", "\u2048": "?!", "\u2049": "!?"}
_LETTERS_O: Final = "\u041e\u039f"
"""The Cyrillic and the Greek one."""
_PLAIN: Final = Legible(str.maketrans(dict.fromkeys(_LETTERS_O, "O") | _FIGURINES | _OTHERS | _SIGNS))
_COMMENT_OR_NOT: Final = re.compile(r"\{[^}]*\}?|;[^\r\n]*|[^{;]+")


def _as_latin_1(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error("tbgen.latin-1", _as_latin_1)


def decode(data: bytes) -> str:
    """Return a text in UTF-8, as the export format has it; other bytes are Latin-1, as PGN once was."""
    return data.decode("utf-8", "tbgen.latin-1")


def plain(text: str) -> str:
    """Return a text with hyphens for all dashes, letters for figurines, blanks for control characters, and
    without what is invisible.

    >>> plain("♘f3\\u200b 0–1\\x1a")
    'Nf3 0-1 '
    """
    return legible(text, _PLAIN)


def plain_movetext(data: bytes) -> str:
    """Return a movetext whose comments are as they stand, and all else as :func:`plain` has it.

    It has the line breaks of the bytes.
    """
    text = decode(data)
    if not ODD.search(text):
        return text
    return _COMMENT_OR_NOT.sub(lambda part: part[0] if part[0][0] in "{;" else plain(part[0]), text)


BOTH_FORFEIT: Final = "0-0"
"""Both sides have lost."""
UNFINISHED: Final = "*"

_WON, _LOST, _HALF = r"1(?:[.,]0+)?", r"0(?:[.,]0+)?", r"(?:1\s*/\s*2|½|0?[.,]50*)"
_BETWEEN: Final = r"\s*[-:_]\s*"
_SPELLINGS: Final = {
    result: re.compile(pattern)
    for result, pattern in {
        "1-0": rf"(?:{_WON}|\+){_BETWEEN}(?:{_LOST}|-)",
        "0-1": rf"(?:{_LOST}|-){_BETWEEN}(?:{_WON}|\+)",
        "1/2-1/2": rf"(?:{_HALF}|=){_BETWEEN}(?:{_HALF}|=)|1/2|½",
        BOTH_FORFEIT: rf"(?:{_LOST}|-){_BETWEEN}(?:{_LOST}|-)",
        UNFINISHED: r"\*",
    }.items()
}
_UNMISTAKABLE: Final = (
    rf"(?:{_WON}{_BETWEEN}{_LOST}|{_LOST}{_BETWEEN}{_WON}|{_HALF}{_BETWEEN}{_HALF}|1/2|½|\*"
    rf"|(?!0-0){_LOST}{_BETWEEN}{_LOST}|\+:-|-:\+|=:=|-:-)(?!\w|[/.,]\w|\s*[-:]\s*[\d½])"
)
_POINTS: Final = r"[\d½](?:[\d½.,/]{0,6}[\d½])?"
IN_MOVETEXT: Final = (
    rf"(?:{_UNMISTAKABLE}|(?:\(\s*{_UNMISTAKABLE}\s*\)|(?<!\S)[-+=]\s+-\s+[-+=](?!\S)"
    rf"|(?!(?:\d+[.…]+)?(?:0-0(?![.,\d])|{_UNMISTAKABLE})){_POINTS}{_BETWEEN}{_POINTS}|[01]\s+[01])"
    rf"(?=(?>\s|\*|\{{[^}}]*\}}|;[^\r\n]*)*+\Z))"
)
"""A pattern of results in plain movetext, where ``0-0`` may be castling, and ``+-`` is said of a move.

At the end it is also what may be a variation, a sign or a number elsewhere, known or not: ``(1-0)``,
``+ - -``, ``1.5-0.5``.
"""
_AT_END: Final = re.compile(
    rf"(?:(?:\A|[\s)}}]|(?=\*)){_UNMISTAKABLE}|\(\s*{_UNMISTAKABLE}\s*\))[^\w(){{}}\[\]]*\Z"
)
TAIL: Final = 64
"""Bytes in which a result stands at the end of a text, with what is behind it."""


def read_result(text: str) -> str | None:
    """Return a result as PGN has it, or :data:`BOTH_FORFEIT`; None if a text is no result.

    >>> read_result("1 : 0"), read_result("0,5–0,5"), read_result("+:-"), read_result("0 - 0")
    ('1-0', '1/2-1/2', '1-0', '0-0')
    >>> read_result("1/2-0") is None
    True
    """
    text = plain(text).strip().strip("()").strip()
    return next((result for result, spelling in _SPELLINGS.items() if spelling.fullmatch(text)), None)


def ends_with_result(movetext: bytes) -> bool:
    """Tell whether a result is the last of a movetext that has no comments."""
    return _AT_END.search(plain(decode(movetext[-TAIL:]))) is not None
