"""Reading the various spellings of results and characters in PGN.

Programs and sites write results in these ways:

=====================  ==============================================================================
source                 results
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

from tbgen.board.kinds import MEN
from tbgen.text import UNUSUAL_CHARACTER, LegibleTable, sanitise

_FIGURINES: Final = {figurine: man.name.strip("P") for man in MEN for figurine in man.figurines}
_SYMBOLS: Final = {"\xd7": "x", "\u2236": ":", "\u2044": "/", "\u2215": "/", "\u0394": "\u25b3"}
_SIGNS: Final = {"\u203c": "!!", "\u2047": "??", "\u2048": "?!", "\u2049": "!?"}
_LETTERS_O: Final = "\u041e\u039f"
"""The Cyrillic and the Greek letter O."""
_USUAL: Final = LegibleTable(str.maketrans(dict.fromkeys(_LETTERS_O, "O") | _FIGURINES | _SYMBOLS | _SIGNS))
_COMMENT_OR_MOVES: Final = re.compile(r"\{[^}]*\}?|;[^\r\n]*|[^{;]+")

BOTH_FORFEIT: Final = "0-0"
"""The result of a game that both sides have lost."""
UNFINISHED: Final = "*"

_WON, _LOST, _HALF = r"1(?:[.,]0+)?", r"0(?:[.,]0+)?", r"(?:1\s*/\s*2|½|0?[.,]50*)"
_SEPARATOR: Final = r"\s*[-:_]\s*"
_SPELLINGS: Final = {
    result: re.compile(pattern)
    for result, pattern in {
        "1-0": rf"(?:{_WON}|\+){_SEPARATOR}(?:{_LOST}|-)",
        "0-1": rf"(?:{_LOST}|-){_SEPARATOR}(?:{_WON}|\+)",
        "1/2-1/2": rf"(?:{_HALF}|=){_SEPARATOR}(?:{_HALF}|=)|1/2|½",
        BOTH_FORFEIT: rf"(?:{_LOST}|-){_SEPARATOR}(?:{_LOST}|-)",
        UNFINISHED: r"\*",
    }.items()
}
_CLEAR_RESULT: Final = (
    rf"(?:{_WON}{_SEPARATOR}{_LOST}|{_LOST}{_SEPARATOR}{_WON}|{_HALF}{_SEPARATOR}{_HALF}|1/2|½|\*"
    rf"|(?!0-0){_LOST}{_SEPARATOR}{_LOST}|\+\s*:\s*-|-\s*:\s*[-+]|=\s*:\s*=)(?!\w|[/.,]\w|\s*[-:]\s*[\d½])"
)
_POINTS: Final = r"[\d½](?:[\d½.,/]{0,6}[\d½])?"
RESULT_IN_MOVETEXT: Final = (
    rf"(?:{_CLEAR_RESULT}|(?:\(\s*{_CLEAR_RESULT}\s*\)|(?<!\S)[-+=]\s+-\s+[-+=](?!\S)"
    rf"|(?!(?:\d+[.…]+)?(?:0-0(?![.,\d])|{_CLEAR_RESULT})){_POINTS}{_SEPARATOR}{_POINTS}|[01]\s+[01])"
    rf"(?=(?>\s|\*|\{{[^}}]*\}}|;[^\r\n]*)*+\Z))"
)
"""A pattern for results in plain movetext, except ``0-0`` (maybe castling) and ``+-`` (an annotation).

At the end of the movetext, it also matches ``(1-0)``, ``+ - -`` and ``1.5-0.5``, which elsewhere could be a
variation, an annotation or a number. The matched text need not be a result that :func:`read_result`
recognizes.
"""
_RESULT_AT_END: Final = re.compile(
    rf"(?:(?:\A|[\s)}}]|(?=\*)){_CLEAR_RESULT}|\(\s*{_CLEAR_RESULT}\s*\))[^\w(){{}}\[\]]*\Z"
)
TAIL_BYTES: Final = 64
"""Number of bytes at the end of a movetext in which a result is sought."""


def _as_latin_1(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error("tbgen.latin-1", _as_latin_1)


def decode(data: bytes) -> str:
    """Decode UTF-8. Bytes that are not valid UTF-8 are decoded as Latin-1, the old encoding of PGN."""
    return data.decode("utf-8", "tbgen.latin-1")


def usual_text(text: str) -> str:
    """Return a string with hyphens for dashes, letters for figurines, and spaces for control characters.

    Invisible characters are removed.

    >>> usual_text("♘f3\\u200b 0–1\\x1a")
    'Nf3 0-1 '
    """
    return sanitise(text, _USUAL)


def usual_movetext(data: bytes) -> str:
    """Decode a movetext, and apply :func:`usual_text` outside of comments. The number of lines stays."""
    text = decode(data)
    if not UNUSUAL_CHARACTER.search(text):
        return text
    # If an invisible character between CR and LF is removed, they would become one line break.
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _COMMENT_OR_MOVES.sub(lambda part: part[0] if part[0][0] in "{;" else usual_text(part[0]), text)


def read_result(text: str) -> str | None:
    """Return the result that a string stands for, in PGN's spelling or as :data:`BOTH_FORFEIT`; else None.

    >>> read_result("1 : 0"), read_result("0,5–0,5"), read_result("+:-"), read_result("0 - 0")
    ('1-0', '1/2-1/2', '1-0', '0-0')
    >>> read_result("1/2-0") is None
    True
    """
    text = usual_text(text).strip().strip("()").strip()
    return next((result for result, spelling in _SPELLINGS.items() if spelling.fullmatch(text)), None)


def ends_with_result(movetext: bytes) -> bool:
    """Return whether a movetext, from which comments have been removed, ends with a result."""
    return _RESULT_AT_END.search(usual_text(decode(movetext[-TAIL_BYTES:]))) is not None
