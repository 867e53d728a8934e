"""How numbers, materials and lines look on the pages of a report."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup, escape

from tbgen.board.material import Material
from tbgen.report.model import Record, TableReport
from tbgen.report.parts import Sides
from tbgen.text import number

SIDES: Final = Sides("White to move", "Black to move")

_MEN: Final = {"K": "king", "Q": "queen", "R": "rook", "B": "bishop", "N": "knight", "P": "pawn"}
_NUMBERS: Final = ("", "", "two ", "three ", "four ")


def spelled(material: Material) -> str:
    """Return a material in words.

    >>> spelled(Material.parse("KNNvKP"))
    'White has king and two knights, Black has king and pawn'
    """
    return f"White has {_side(material.white)}, Black has {_side(material.black)}"


def against(material: Material) -> str:
    """Return a material as a title.

    >>> against(Material.parse("KRvKB")), against(Material.parse("KBvK"))
    ('king and rook against king and bishop', 'king and bishop against the bare king')
    """
    return f"{_side(material.white)} against {_side(material.black)}"


def _side(men: str) -> str:
    if men == "K":
        return "the bare king"
    kinds = [
        f"{_NUMBERS[men.count(man)]}{_MEN[man]}{'s' if men.count(man) > 1 else ''}"
        for man in dict.fromkeys(men)
    ]
    return f"{', '.join(kinds[:-1])} and {kinds[-1]}"


def stem(thing: TableReport | Record) -> str:
    """Return the name of all files about the table of a report or record, without their endings."""
    return f"{thing.material}.{thing.variant}"


def anchor(record: Record) -> str:
    """Return the name of a record within a page."""
    return f"record-{record.material}-{record.variant}-{record.value}"


def movetext(record: Record) -> Markup:
    """Return a record's line with the accrued score after every move."""
    fields = record.fen.split()
    move, white = int(fields[5]), fields[1] == "w"
    parts = []
    for ply, point in enumerate(record.line):
        turn = f"{move}.{'' if white else '..'}\N{NO-BREAK SPACE}" if white or not ply else ""
        parts.append(f"{turn}{escape(point.san)} <small>{point.accrued}</small>")
        move, white = move + (not white), not white
    return Markup(" ".join(parts))


def longest(report: TableReport, rank: int | None = None) -> str:
    """Return the greatest depth of the records of a rank, of either holder, or of all."""
    depths = [entry.depth for entry in report.records if rank is None or entry.value.rank == rank]
    return number(max(depths)) if depths else "–"


FILTERS: Final = (spelled, against, stem, anchor, movetext, longest)
"""What templates call by these names."""
