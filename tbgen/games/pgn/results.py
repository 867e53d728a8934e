"""The results of chess in all spellings that programs and sites write.

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

import re
from typing import Final

from tbgen.games.pgn.typography import decode, plain

BOTH_FORFEIT: Final = "0-0"
"""Both sides have lost."""
UNFINISHED: Final = "*"

_WON, _LOST, _HALF = r"1(?:[.,]0+)?", r"0(?:[.,]0+)?", r"(?:1/2|½|0?[.,]50*)"
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
IN_MOVETEXT: Final = (
    rf"(?:{_WON}{_BETWEEN}{_LOST}|{_LOST}{_BETWEEN}{_WON}|{_HALF}{_BETWEEN}{_HALF}|1/2|½|\*"
    rf"|(?!0-0){_LOST}{_BETWEEN}{_LOST}|\+:-|-:\+|=:=)(?!\w|[/.,]\w|\s*[-:]\s*[\d½])"
)
"""A pattern of results in plain movetext, where ``0-0`` may be castling, and ``+-`` is said of a move."""
_AT_END: Final = re.compile(rf"(?:\A|[\s)}}]|(?=\*)){IN_MOVETEXT}[^\w(){{}}\[\]]*\Z")
TAIL: Final = 64
"""Bytes in which a result stands at the end of a text, with what is behind it."""


def read_result(text: str) -> str | None:
    """Return a result as PGN has it, or :data:`BOTH_FORFEIT`; None if a text is no result.

    >>> read_result("1 : 0"), read_result("0,5–0,5"), read_result("+:-"), read_result("0 - 0")
    ('1-0', '1/2-1/2', '1-0', '0-0')
    >>> read_result("1/2-0") is None
    True
    """
    text = plain(text).strip()
    return next((result for result, spelling in _SPELLINGS.items() if spelling.fullmatch(text)), None)


def ends_with_result(movetext: bytes) -> bool:
    """Tell whether a result is the last of a movetext that has no comments."""
    return _AT_END.search(plain(decode(movetext[-TAIL:]))) is not None
