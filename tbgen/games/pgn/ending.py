"""The ending of a game that did not end on the board, read from the tags and the last comment of its PGN.

======================  =================================================================================
program                 endings
======================  =================================================================================
Cute Chess 1.5          ``Termination``: adjudication, time forfeit, abandoned, stalled connection, illegal
                        move, unterminated; none for a resignation or an end on the board. Last comment,
                        after the engine's data: ``Black loses on time``, ``Black makes an illegal move:
                        e2e5``, ``Black disconnects``, ``Black's connection stalls``, ``Black resigns``,
                        ``White wins by adjudication: SyzygyTB``; without a side if the opponent cannot win:
                        ``Draw by timeout``
cuteRMob (August 2021)  those of Cute Chess, but ``Result "1/2-1/2"`` for all ends that are not on the board,
                        even if there is a winner; ``RMobilityResult`` is then ``G0.0`` or ``-G0.0``
fastchess 1.8           the sentences of Cute Chess (``Black loses on time (12ms overrun)``), ``Termination``
                        also normal; a stalled connection counts as abandoned; versions up to 0.9 write
                        names instead of colours; in September 2024 the comma before the sentence is missing
TCEC (seasons 1 to 29)  ``TerminationDetails``: TCEC win rule, TCEC draw rule, SyzygyTB, TB position, Manual
                        adjudication, or the sentence of Cute Chess; ``Termination`` of old games: GUI
                        adjudication, User adjudication, GUI TB Mate in 30, time, resign
lichess                 ``Termination``: Normal, Time forfeit, Abandoned, Rules infraction, Insufficient
                        material, Unterminated, Unknown. Time forfeit is a draw against bare material
chess.com               ``Termination``: NAME won by resignation, NAME won on time, NAME won - game abandoned,
                        Game drawn by agreement, Game drawn by timeout vs insufficient material
PGN standard (1994)     ``Termination``: abandoned, adjudication, death, emergency, normal, rules infraction,
                        time forfeit, unterminated
======================  =================================================================================
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import chess
from msgspec import Struct

from tbgen.errors import printable
from tbgen.games.outcome import Basis
from tbgen.games.pgn.spelling import BOTH_FORFEIT
from tbgen.text import composed, sanitise

_MAX_TEXT_LENGTH: Final = 80

_WINNERS: Final = {"1-0": chess.WHITE, "0-1": chess.BLACK}
_MATE_WINNERS: Final = {"G0.0": chess.WHITE, "-G0.0": chess.BLACK}

_SENTENCE: Final = re.compile(
    r"(?P<text>(?P<side>white|black)"
    r"(?P<action> loses on time| makes an illegal move| disconnects|['’]s connection stalls| resigns"
    r"| wins by (?:adjudication|agreement))"
    r"(?:: .*| \(.*\))?)[.!]*",
    re.IGNORECASE,
)
"""A sentence of Cute Chess that names the loser or the winner, and the cause."""

_FREE_SENTENCE: Final = re.compile(
    r"(?P<side>white|black)(?:['’]s (?:engine|program|connection|clock|flag|time))?(?: has| is| was)? "
    r"(?P<action>wins|won|los(?:es|t)|forfeit(?:s|ed)|resign(?:s|ed)|disconnect(?:s|ed)|crash(?:es|ed)"
    r"|stall(?:s|ed)|(?:times|timed|ran|runs) out|(?:makes|made|plays|played) an? (?:illegal|invalid) move"
    r"|abandon(?:s|ed)|quits?|exit(?:s|ed)|died|hangs|hung|left the game|fell|falls|(?:check)?mated"
    r"|terminate[sd] unexpectedly|stop(?:s|ped) responding)\b",
    re.IGNORECASE,
)
"""A sentence of another program that names the loser or the winner, and the cause."""

COMMENT_COMMAND: Final = re.compile(r"\[%[^\[\]]*\]")
"""A command in a comment, such as ``[%clk 0:00:05]``, which says nothing about the ending."""
_LEADING_DATA: Final = re.compile(
    r"\A(?:(?:\(?[-+]?[M#]?\d[\d.]*(?:/\d+)+\)?(?:\s+\d+(?=\s))?"  # an evaluation, its depths, a number
    r"|\d[\d.]*m?s|\d+(?::\d\d)+(?:\.\d+)?"  # a time: 0.003s, 12ms, 0:00:05
    r"|\w+=\S+|book|[01]-[01]|1/2-1/2)[;:|.]?\s+(?:-\s+)?)+",  # a named value, a book move, a result
    re.IGNORECASE,
)
"""Data of an engine or a clock before a sentence, without a comma between data and sentence."""
_QUOTED_TEXT: Final = re.compile(r'="[^"]*"')
"""Text that an engine has put in quotation marks. It is ignored, because it may contain any words."""

_REMARK: Final = re.compile(
    r"(?:white|black|draw|drawn|end|no|game|adjudication|forfeit|xboard)\b[\w :'’().-]{0,60}"
    r"|(?:(?:lost|loses|won|wins) )?(?:on time|(?:on |by )?(?:time[- ]?out|time (?:forfeit|loss)|illegal move"
    r"|resignation))|resign(?:s|ed)"
    r"|(?:engine )?(?:crash(?:es|ed)?|disconnect(?:s|ed|ion)?|stall(?:s|ed)?|abandoned)",
    re.IGNORECASE,
)
"""Other remarks on an ending, as programs write them."""

_ADJUDICATION_WORDS: Final = re.compile(
    r"\badjudicat|\b(?:eg|syzygy)?tbs?\b|\bsyzygy\b|\btablebases?\b|\btcec (?:win|resign) rule\b",
    re.IGNORECASE,
)
_ADJUDICATION_STEM: Final = re.compile(r"\badjudicat", re.IGNORECASE)
_DRAW_WORD: Final = re.compile(r"\bdrawn?\b", re.IGNORECASE)
_CAUSES: Final = {
    cause: re.compile(rf"\b(?:{words})", re.IGNORECASE)
    for cause, words in (
        (Basis.ILLEGAL_MOVE, "illegal|invalid move"),
        (Basis.TIME_FORFEIT, r"(?<!connection )time(?:d|-?outs?|s out)?\b(?! trouble)|flag|clock expired"),
        (
            Basis.ABANDONED,
            r"abandon|disconnect|connection|stalls?\b|stalled|crash|exit(?:s|ed)\b|quits?\b|died\b|hangs\b|hung\b"
            r"|left the game|terminate[sd] unexpectedly|stop(?:s|ped) responding",
        ),
        (Basis.RESIGNATION, r"resign|g(?:ave|ives) up\b|surrender|conced"),
    )
}
"""For each cause of a loss, a pattern for the words that name it. The first cause that matches counts."""
_NORMAL_TEXT: Final = re.compile(r"\W*normal\W*", re.IGNORECASE)
"""The text that servers write if a player has resigned."""
_WINNER_NAME: Final = re.compile(r"\A.* (?=won (?:by|on|-) )", re.IGNORECASE)
"""The winner's name in a termination of chess.com. It is removed, because it may contain any words."""


class Ending(Struct, frozen=True):
    """The ending of a game as its PGN states it."""

    cause: Basis | None
    """The way in which the game was won off the board. None if nobody won, because a draw was agreed, claimed
    or adjudicated, time ran out against bare material, or the game is unfinished."""
    winner: chess.Color | None
    """The winner; None if and only if the cause is None."""
    text: str
    """The words of the PGN about the ending: one printable line of at most 80 characters, or empty."""


def read_ending(tags: Mapping[str, str], last_comment: str = "") -> Ending:
    """Return the ending of a game that did not end on the board.

    Callers must check for mate and other ends on the board first. Three texts describe the ending: the end of
    the comment (after its last comma or an engine's data), ``TerminationDetails`` and ``Termination``.

    If ``Result`` is decisive, it determines the winner, and the texts determine only the cause. The cause is
    an adjudication if they mention one, else the first cause that they name. It is a resignation if they say
    only ``normal``. It is a forfeit if they do not name a cause, or if a sentence names the other side as the
    winner. ``0-0`` means that nobody has won.

    With any other ``Result``, the game may be a win that cuteRMob has recorded as a draw. The winner is then
    named by a sentence of Cute Chess in one of the texts, or otherwise by an ``RMobilityResult`` of mate.
    Nevertheless, there is no winner in three cases: if two sentences contradict each other, if a tag mentions
    a draw, or if a tag mentions adjudication and a sentence names a winner without mentioning it (as when
    TCEC's arbiters overruled a crash).

    :param tags: the tags of the game, any of which may be missing or invalid. The function reads the players'
        names, ``Result``, ``Termination``, ``TerminationDetails`` and ``RMobilityResult``.
    :param last_comment: the comment after the last move; in a game without moves, the last comment. Commands
        in it are ignored.

    >>> read_ending({"Result": "1/2-1/2"}, "+0.48/9 0.003s, Black loses on time")
    Ending(cause=<Basis.TIME_FORFEIT: 'time forfeit'>, winner=True, text='Black loses on time')
    >>> read_ending({"Result": "1/2-1/2", "Termination": "Time forfeit"}).cause is None
    True
    """
    remark = _last_remark(last_comment)
    details = _as_one_line(tags.get("TerminationDetails", ""))
    termination = _as_one_line(tags.get("Termination", ""))
    tag_text = f"{details}; {_WINNER_NAME.sub('', termination, count=1)}"
    is_adjudicated = _ADJUDICATION_WORDS.search(tag_text) is not None

    result = tags.get("Result", "").strip()
    winner = _WINNERS.get(result)
    sentences = [match for text in (remark, details, termination) if (match := _SENTENCE.fullmatch(text))]
    if winner is not None:
        is_adjudicated = is_adjudicated or _ADJUDICATION_STEM.search(last_comment) is not None
        remark = _with_colour(remark, tags)
    elif result != BOTH_FORFEIT and not _DRAW_WORD.search(tag_text):
        if not sentences:
            winner = _MATE_WINNERS.get(tags.get("RMobilityResult", "").strip())
        elif len(winners := {_winner_of(sentence) for sentence in sentences}) == 1:
            says_adjudicated = any(_ADJUDICATION_STEM.search(sentence["action"]) for sentence in sentences)
            winner = winners.pop() if says_adjudicated or not is_adjudicated else None
            is_adjudicated = says_adjudicated

    consistent_remark = _consistent_remark(remark, winner)
    cause = None
    if winner is not None and is_adjudicated:
        cause = Basis.ADJUDICATION
    elif winner is not None:
        is_contradicted = any(_names_other_winner(text, winner) for text in (remark, details, termination))
        cause = Basis.FORFEIT if is_contradicted else _cause_of_loss((consistent_remark, tag_text))
    return Ending(cause, winner, _as_short_printable(consistent_remark or details or termination))


def _last_remark(comment: str) -> str:
    """Return the last part of a comment, between commas, that says something; commands and the data at its
    beginning are removed."""
    for part in reversed(COMMENT_COMMAND.sub(" ", _QUOTED_TEXT.sub("=-", sanitise(comment))).split(",")):
        if remark := _LEADING_DATA.sub("", f"{_as_one_line(part)} ", count=1).rstrip("! "):
            return remark
    return ""


def _cause_of_loss(texts: Sequence[str]) -> Basis:
    """Return the cause of a loss from the first text that mentions a cause."""
    for text in texts:
        for cause, pattern in _CAUSES.items():
            if pattern.search(text):
                return cause
    return Basis.RESIGNATION if _NORMAL_TEXT.fullmatch("".join(texts)) else Basis.FORFEIT


def _winner_of(sentence: re.Match[str]) -> chess.Color:
    """Return the winner according to a sentence."""
    is_white = sentence["side"].lower() == "white"
    return is_white if sentence["action"].strip().lower().startswith(("wins", "won")) else not is_white


def _names_other_winner(text: str, winner: chess.Color) -> bool:
    """Return whether a text names the other side as the winner."""
    sentence = _FREE_SENTENCE.match(text)
    return sentence is not None and _winner_of(sentence) is not winner


def _with_colour(remark: str, tags: Mapping[str, str]) -> str:
    """Replace a player's name at the beginning of a remark with his colour, unless it fits both players."""
    names = {side: _as_one_line(tags.get(side, "")) for side in ("White", "Black")}
    sides = [side for side, name in names.items() if name and remark.startswith(f"{name} ")]
    return sides[0] + remark[len(names[sides[0]]) :] if len(sides) == 1 else remark


def _consistent_remark(remark: str, winner: chess.Color | None) -> str:
    """Return a remark if it describes an ending and does not contradict ``winner``, else an empty string."""
    if sentence := _SENTENCE.fullmatch(remark):
        return sentence["text"] if _winner_of(sentence) is winner else ""
    consistent = _REMARK.fullmatch(remark) and (winner is None or not _names_other_winner(remark, winner))
    return remark if consistent else ""


def _as_one_line(text: str) -> str:
    """Return a string as one line in the normal form NFC. In PGN files, there may be a line break between
    any two words."""
    return " ".join(composed(text).split())


def _as_short_printable(text: str) -> str:
    """Return a string made safe to print, and cut to the maximum length."""
    text = printable(text)
    return text if len(text) <= _MAX_TEXT_LENGTH else text[: _MAX_TEXT_LENGTH - 1] + "…"
