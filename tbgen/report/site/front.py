"""What the first page of a report begins with: a line to be seen, and three facts with their positions.

Pages about tables have such a fact too, for previews of links to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import chess

from tbgen.html.cards import Caption, Shown, card
from tbgen.report.facts.mating_rule import mating_rule
from tbgen.report.facts.wording import NAMES, meaning
from tbgen.report.model import OverallRecord, Record, TableReport
from tbgen.report.parts import SIDES
from tbgen.report.site.filters import anchor, stem
from tbgen.text import counted, plies


class Fact(NamedTuple):
    """A fact with its position."""

    headline: str
    """Short, such as ``136 plies``."""
    sentence: str
    fen: str
    variant: str
    address: str
    """Of what tells more."""

    def picture(self) -> bytes:
        """Return it as PNG, to be shared."""
        board = chess.Board(self.fen)
        return card(Shown(board), Caption(self.headline, self.sentence, f"{NAMES[not board.turn]} to move."))


def strangest(reports: Sequence[TableReport]) -> Record | None:
    """Return the record whose line is the strangest: the longest one by which the side with less gets a score
    other than mate, or else the longest one; None if there are no lines."""
    lines = [record for report in reports for record in report.records if record.line]

    def strangeness(record: Record) -> tuple[bool, int]:
        behind = mating_rule(record.material).leader == SIDES[record.value.white]
        return behind and record.value.rank > 0, record.depth

    return max(lines, key=strangeness, default=None)


def facts(reports: Sequence[TableReport], records: Sequence[OverallRecord]) -> list[Fact]:
    """Return at most three facts about tables of the same variant."""
    found = (_longest(records, mates=True), _longest(records, mates=False), _seldom(reports))
    return [fact for facts in found for fact in facts]


def longest(report: TableReport) -> Fact | None:
    """Return the fact that pictures a table: its longest line; None if it has none."""
    record = max(report.records, key=lambda record: record.depth, default=None)
    if record is None or not record.depth:
        return None
    sentence = (
        f"The longest way by {report.variant.label} takes {plies(record.depth)}, to {meaning(record.value)}."
    )
    return Fact(str(record.material), sentence, record.fen, record.variant, f"#{anchor(record)}")


def _longest(records: Sequence[OverallRecord], *, mates: bool) -> Iterator[Fact]:
    """Yield the longest way to mate, or to anything else."""
    of_kind = [overall for overall in records if overall.depth and (overall.g.rank == 0) == mates]
    if of_kind:
        longest = max(of_kind, key=lambda overall: overall.depth)
        record = longest.holders[0]
        what = "The longest way to mate" if mates else "Without mate, the longest way"
        to = "" if mates else f" to {meaning(record.value)}"
        sentence = f"{what}{to} takes {plies(record.depth)}, in {record.material}."
        yield Fact(
            plies(record.depth), sentence, record.fen, record.variant, f"records.html#{anchor(record)}"
        )


def _seldom(reports: Sequence[TableReport]) -> Iterator[Fact]:
    """Yield the value that is rarest among the exceptions."""
    every = [(entry, report) for report in reports for entry in report.endgame.unusual]
    if every:
        entry, report = min(every, key=lambda found: found[0].count)
        where = f"{counted(entry.count, 'quiet position')} with {entry.to_move.capitalize()} to move"
        sentence = f"{report.material} is worth {meaning(entry.value)} in {where}."
        yield Fact(str(entry.value), sentence, entry.fen, report.variant, f"tables/{stem(report)}.html#gives")
