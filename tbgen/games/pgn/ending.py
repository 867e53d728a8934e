"""How a game ended that did not end on the board: what the tags and the last comment of its PGN say.

======================  =================================================================================
program                 what it writes
======================  =================================================================================
Cute Chess 1.5          ``Termination``: adjudication, time forfeit, abandoned, stalled connection, illegal
                        move, unterminated; nothing for a resignation or an end on the board. Last comment,
                        after the engine's data: ``Black loses on time``, ``Black makes an illegal move:
                        e2e5``, ``Black disconnects``, ``Black's connection stalls``, ``Black resigns``,
                        ``White wins by adjudication: SyzygyTB``; without a side if the opponent cannot win:
                        ``Draw by timeout``
cuteRMob (August 2021)  the same, but ``Result "1/2-1/2"`` for all ends that are not on the board, even those
                        with a winner; ``RMobilityResult`` is ``G0.0`` or ``-G0.0`` then
fastchess 1.8           the sentences of Cute Chess (``Black loses on time (12ms overrun)``), ``Termination``
                        also normal; a stalled connection is abandoned; up to 0.9 names instead of colours; in
                        September 2024 no comma before the sentence
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
from dataclasses import dataclass
from typing import Final

import chess

from tbgen.errors import printable
from tbgen.games.outcome import Basis
from tbgen.games.pgn.spelling import BOTH_FORFEIT
from tbgen.text import legible

_MAX_TEXT: Final = 80

_DECISIVE: Final = {"1-0": chess.WHITE, "0-1": chess.BLACK}
_MATE_SCORES: Final = {"G0.0": chess.WHITE, "-G0.0": chess.BLACK}

_SENTENCE: Final = re.compile(
    r"(?P<text>(?P<side>white|black)"
    r"(?P<deed> loses on time| makes an illegal move| disconnects|['’]s connection stalls| resigns"
    r"| wins by (?:adjudication|agreement))"
    r"(?:: .*| \(.*\))?)[.!]*",
    re.IGNORECASE,
)
"""The loser or winner, and how, in the words of Cute Chess."""

_OF_ANYBODY: Final = re.compile(
    r"(?P<side>white|black)(?:['’]s (?:engine|program|connection|clock|flag|time))?(?: has| is| was)? "
    r"(?P<deed>wins|won|los(?:es|t)|forfeit(?:s|ed)|resign(?:s|ed)|disconnect(?:s|ed)|crash(?:es|ed)"
    r"|stall(?:s|ed)|(?:times|timed|ran|runs) out|(?:makes|made|plays|played) an? (?:illegal|invalid) move"
    r"|abandon(?:s|ed)|quits?|exit(?:s|ed)|died|hangs|hung|left the game|fell|falls|(?:check)?mated"
    r"|terminate[sd] unexpectedly|stop(?:s|ped) responding)\b",
    re.IGNORECASE,
)
"""The same in the words of anybody."""

_DATA: Final = re.compile(
    r"\A(?:(?:\(?[-+]?[M#]?\d[\d.]*(?:/\d+)+\)?(?:\s+\d+(?=\s))?|\d[\d.]*m?s|\d+(?::\d\d)+(?:\.\d+)?|\w+=\S+|book"
    r"|[01]-[01]|1/2-1/2|\[%[^\]]*\])[;:|.]?\s+(?:-\s+)?)+",
    re.IGNORECASE,
)
"""What an engine or a clock tells before a sentence, if no comma follows."""
_QUOTED: Final = re.compile(r'="[^"]*"')
"""A line of an engine, which may say anything."""

_REMARK: Final = re.compile(
    r"(?:white|black|draw|drawn|end|no|game|adjudication)\b[\w :'’().-]{0,60}"
    r"|(?:(?:lost|loses|won|wins) )?(?:on time|(?:on |by )?(?:time[- ]?out|time (?:forfeit|loss)|illegal move"
    r"|resignation))|resign(?:s|ed)"
    r"|(?:engine )?(?:crash(?:es|ed)?|disconnect(?:s|ed|ion)?|stall(?:s|ed)?|abandoned)",
    re.IGNORECASE,
)
"""Anything else that a program may say of an end."""

_ADJUDICATED: Final = re.compile(
    r"\badjudicat|\b(?:eg|syzygy)?tbs?\b|\bsyzygy\b|\btablebases?\b|\btcec (?:win|resign) rule\b",
    re.IGNORECASE,
)
_ADJUDICATED_COMMENT: Final = re.compile(r"\badjudicat", re.IGNORECASE)
_DRAWN: Final = re.compile(r"\bdrawn?\b", re.IGNORECASE)
_CAUSES: Final = {
    cause: re.compile(rf"\b(?:{words})", re.IGNORECASE)
    for cause, words in (
        (Basis.ILLEGAL_MOVE, "illegal|invalid move"),
        (Basis.TIME_FORFEIT, r"timed?\b|time-?outs?\b|times out\b|flag"),
        (
            Basis.ABANDONED,
            r"abandon|disconnect|connection|stalls?\b|stalled|crash|exit(?:s|ed)\b|quits?\b|died\b|hangs\b|hung\b"
            r"|left the game|terminate[sd] unexpectedly|stop(?:s|ped) responding",
        ),
        (Basis.RESIGNATION, "resign"),
    )
}
"""What tells in what way a game was lost; the first that is there counts."""
_NORMAL: Final = re.compile(r"\W*normal\W*", re.IGNORECASE)
"""All that servers say of a game that was resigned: nothing out of the ordinary ended it."""
_NAME: Final = re.compile(r"\A.* (?=won (?:by|on|-) )", re.IGNORECASE)
"""The player's name in a termination of chess.com, which may be any word."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a game ended, as its PGN tells it."""

    cause: Basis | None
    """In what way it was won off the board; None if it was just stopped: a draw agreed, claimed or
    adjudicated, time-out against bare material, or unfinished."""
    winner: chess.Color | None
    """The winner; None exactly if there is no such cause."""
    text: str
    """What the PGN says of it, one printable line of at most 80 characters; empty if it says nothing."""


def read_ending(tags: Mapping[str, str], last_comment: str = "") -> Ending:
    """Read how a game ended that did not end on the board; ask the board about mates and the like before.

    A decisive ``Result`` has that winner, whatever the texts say; they only tell the cause. A game was
    resigned if they say so, or if ``normal`` is all they say; it is a forfeit in a way that nobody tells if
    they say nothing, or if a sentence names the other winner. ``0-0`` has no winner. Any other ``Result`` is
    what cuteRMob may have written for a win: then the comment's end, after its last comma or an engine's
    data, ``TerminationDetails`` or ``Termination`` names the winner in a sentence of Cute Chess, else an
    ``RMobilityResult`` of a mate does. The game counts as stopped all the same if two sentences contradict
    each other, if a tag speaks of a draw, or if a tag speaks of adjudication and no sentence does: so
    arbiters of TCEC overruled a crash.

    :param tags: the tags of the game; ``Result``, ``Termination``, ``TerminationDetails`` and
        ``RMobilityResult`` are looked at, and any of them may be missing or nonsense.
    :param last_comment: the comment after the last move, or before the first if there are no moves.

    >>> read_ending({"Result": "1/2-1/2"}, "+0.48/9 0.003s, Black loses on time")
    Ending(cause=<Basis.TIME_FORFEIT: 'time forfeit'>, winner=True, text='Black loses on time')
    >>> read_ending({"Result": "1/2-1/2", "Termination": "Time forfeit"}).cause is None
    True
    """
    remark = _last_remark(last_comment)
    details = _one_line(tags.get("TerminationDetails", ""))
    termination = _one_line(tags.get("Termination", ""))
    tagged = f"{details}; {_NAME.sub('', termination, count=1)}"
    adjudicated = _ADJUDICATED.search(tagged) is not None

    result = tags.get("Result", "").strip()
    winner = _DECISIVE.get(result)
    sentences = [said for text in (remark, details, termination) if (said := _SENTENCE.fullmatch(text))]
    if winner is not None:
        adjudicated = adjudicated or _ADJUDICATED_COMMENT.search(last_comment) is not None
        remark = _with_colour(remark, tags)
    elif result != BOTH_FORFEIT and not _DRAWN.search(tagged):
        if not sentences:
            winner = _MATE_SCORES.get(tags.get("RMobilityResult", "").strip())
        elif len(winners := {_winner(said) for said in sentences}) == 1:
            given = any(_ADJUDICATED_COMMENT.search(said["deed"]) for said in sentences)
            winner = winners.pop() if given or not adjudicated else None
            adjudicated = given

    told = _remark_of(remark, winner)
    cause = None
    if winner is not None and adjudicated:
        cause = Basis.ADJUDICATION
    elif winner is not None:
        contradicted = any(_names_other(text, winner) for text in (remark, details, termination))
        cause = Basis.FORFEIT if contradicted else _cause((told, tagged))
    return Ending(cause, winner, _show(told or details or termination))


def _last_remark(comment: str) -> str:
    """Return the last part of a comment that is not only data, without the data before it."""
    for part in reversed(_QUOTED.sub("=-", legible(comment)).split(",")):
        if remark := _DATA.sub("", f"{_one_line(part)} ", count=1).rstrip("! "):
            return remark
    return ""


def _cause(texts: Sequence[str]) -> Basis:
    """Return in what way a game was lost, by all that is said of it; the first text that tells counts."""
    for text in texts:
        for cause, sign in _CAUSES.items():
            if sign.search(text):
                return cause
    return Basis.RESIGNATION if _NORMAL.fullmatch("".join(texts)) else Basis.FORFEIT


def _winner(said: re.Match[str]) -> chess.Color:
    """Return the winner according to a sentence."""
    white = said["side"].lower() == "white"
    return white if said["deed"].strip().lower().startswith(("wins", "won")) else not white


def _names_other(text: str, winner: chess.Color) -> bool:
    """Tell whether a text names another winner."""
    said = _OF_ANYBODY.match(text)
    return said is not None and _winner(said) is not winner


def _with_colour(remark: str, tags: Mapping[str, str]) -> str:
    """Return a remark with a colour for the name that it begins with, if it is that of one player."""
    names = {side: _one_line(tags.get(side, "")) for side in ("White", "Black")}
    sides = [side for side, name in names.items() if name and remark.startswith(f"{name} ")]
    return sides[0] + remark[len(names[sides[0]]) :] if len(sides) == 1 else remark


def _remark_of(remark: str, winner: chess.Color | None) -> str:
    """Return what the end of a comment says of the game's end; nothing if it names another winner."""
    if sentence := _SENTENCE.fullmatch(remark):
        return sentence["text"] if _winner(sentence) is winner else ""
    told = _REMARK.fullmatch(remark) and (winner is None or not _names_other(remark, winner))
    return remark if told else ""


def _one_line(text: str) -> str:
    """Return a text without the line breaks of the file: they may be anywhere between two words."""
    return " ".join(text.split())


def _show(text: str) -> str:
    """Return a text that is safe to print, and short."""
    text = printable(text)
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 1] + "…"
