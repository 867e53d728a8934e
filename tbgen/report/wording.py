"""Words for values, shares, numbers, materials and lines, in sentences and on pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from markupsafe import Markup, escape

from tbgen.board.kinds import MEN
from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.report.model import Record, Sides, TableReport, Verdict
from tbgen.text import number, share_text

COLOURS: Final = ("White", "Black")
"""Names of the colours, White first."""

NO_MATE_TEXT: Final[Mapping[Verdict, str]] = {
    Verdict.NO_HELP_MATE: "cannot mate even with help",
    Verdict.NEVER: "never mates by force",
}
"""Maps a verdict to words for a side that does not mate by force."""

TO_MOVE_WORDS: Final = Sides("White to move", "Black to move")
"""Words for each side to move."""

MAN_WORDS: Final = {man.name: man.noun for man in MEN}
"""The name in texts of each man of chess, by letter."""
_NUMBER_WORDS: Final = ("", "", "two ", "three ", "four ")


def score_text(value: GScore) -> str:
    """Return a score, with its meaning if it is mate or stalemate.

    >>> score_text(GScore.parse("-G0.5"))
    '-G0.5 (Black stalemates)'
    """
    if value.rank > 1:
        return str(value)
    return f"{value} ({'White' if value.white else 'Black'} {'stalemates' if value.rank else 'mates'})"


def pawn_lead_text(advantage: float) -> str:
    """Return, in words, a lead measured in pawns.

    >>> pawn_lead_text(1.0), pawn_lead_text(3.25)
    ('1 pawn', '3.25 pawns')
    """
    return f"{advantage:g} {'pawn' if advantage == 1 else 'pawns'}"


def percent(share: float) -> str:
    """Return a share as a percentage; only exact shares of 0 and 1 are shown as 0 % and 100 %.

    >>> percent(0.99999), percent(1.0), percent(0.123)
    ('more than 99.9 %', '100 %', '12.3 %')
    """
    text = share_text(share).replace("\N{NO-BREAK SPACE}", " ")
    return text.replace("<", "less than ").replace(">", "more than ")


def in_words(material: Material) -> str:
    """Return a material in words.

    >>> in_words(Material.parse("KNNvKP"))
    'White has king and two knights, Black has king and pawn'
    """
    return f"White has {_men_in_words(material.white)}, Black has {_men_in_words(material.black)}"


def material_title(material: Material) -> str:
    """Return a material as a title.

    >>> material_title(Material.parse("KRvKB")), material_title(Material.parse("KBvK"))
    ('king and rook against king and bishop', 'king and bishop against the bare king')
    """
    return f"{_men_in_words(material.white)} against {_men_in_words(material.black)}"


def _men_in_words(men: str) -> str:
    if men == "K":
        return "the bare king"
    kinds = [
        f"{_NUMBER_WORDS[men.count(man)]}{MAN_WORDS[man]}{'s' if men.count(man) > 1 else ''}"
        for man in dict.fromkeys(men)
    ]
    return f"{', '.join(kinds[:-1])} and {kinds[-1]}"


def stem(entry: TableReport | Record) -> str:
    """Return the stem that all files about the table of an entry share in their names."""
    return f"{entry.material}.{entry.variant}"


def anchor(record: Record) -> str:
    """Return the name by which links within a page refer to a record."""
    return f"record-{record.material}-{record.variant}-{record.value}"


def movetext(record: Record) -> Markup:
    """Return a record's line with the accrued score after every move."""
    parts = [
        f"{label}{label and chr(0xA0)}{escape(point.san)} <small>{point.accrued}</small>"
        for label, point in zip(_labels(record), record.line, strict=True)
    ]
    return Markup(" ".join(parts))


def line_steps(record: Record) -> str:
    """Return a record's line for ``boards.js``: the squares of each move, with the word for a promotion, the
    SAN, and the accrued score."""
    return " ".join(
        f"{point.uci[:4]}{MAN_WORDS.get(point.uci[4:].upper(), '')}|{label}{point.san}|{point.accrued}"
        for label, point in zip(_labels(record), record.line, strict=True)
    )


def _labels(record: Record) -> Iterator[str]:
    """Yield the label of each move of a record's line: the move number, or an empty string."""
    fields = record.fen.split()
    move = int(fields[5])
    white = fields[1] == "w"
    for ply in range(len(record.line)):
        yield f"{move}.{'' if white else '..'}" if white or not ply else ""
        move = move + (not white)
        white = not white


def max_depth_text(report: TableReport, rank: int | None = None) -> str:
    """Return the greatest depth of a table's records as a string; a dash if there are no records.

    :param rank: rank of the records to consider, whichever side holds the value; None for all records.
    """
    depths = [record.depth for record in report.records if rank is None or record.value.rank == rank]
    return number(max(depths)) if depths else "–"


FILTERS: Final = (in_words, material_title, stem, anchor, movetext, line_steps, max_depth_text)
"""Functions that templates use as filters."""
