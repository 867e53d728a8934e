#!/usr/bin/env python3
"""Write docs/findings.md, the findings of the tables, with its diagrams, from the data in docs/tables.

    scripts/overview.py
    scripts/overview.py --data saved --out docs/findings.md

``tbgen report --save docs/tables`` saves the data. Every sentence and number is made from the data, by the
same code as the pages of ``tbgen report --from docs/tables``. The same data give the same bytes.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import chess
import chess.svg

from tbgen.board.kinds import PIECE_VALUES
from tbgen.board.rules import position_score
from tbgen.board.variant import Variant
from tbgen.errors import TbgenError
from tbgen.html.diagrams import board_words
from tbgen.report import Report, read_report
from tbgen.report.highlights import (
    difference_highlights,
    endgame_highlights,
    index_highlights,
    mating_highlights,
    record_highlights,
    upset_shares,
)
from tbgen.report.model import EndgameValues, OverallRecord, Record, TableReport
from tbgen.report.wording import COLOURS, pawn_lead_text, percent, score_text
from tbgen.system.files import write_file
from tbgen.text import counted, plies

ROOT: Final = Path(__file__).resolve().parent.parent
MAX_DIAGRAMS: Final = 3
"""Maximum number of diagrams in a chapter."""
MAX_UPSETS: Final = 12
"""Maximum number of listed endgames in which the weaker side does best."""
MIN_DRAWN: Final = 0.75
"""Minimum share of drawn positions in an endgame that counts as drawn in chess."""
MAX_EXAMPLES: Final = 2
"""Maximum number of endgames of the list of upsets that get a diagram."""
MAX_MOVES: Final = 12
"""Maximum number of moves of a line on the page. Longer lines end with dots."""
DIAGRAM_SIZE: Final = 260
"""Width of a board in pixels."""


class Page:
    """A page of Markdown under construction. Its diagrams are files in a folder beside it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._folder = path.with_suffix("")
        self._lines: list[str] = []
        self._diagrams: dict[str, str] = {}

    def add(self, *paragraphs: str) -> None:
        """Add paragraphs."""
        for paragraph in paragraphs:
            self._lines += [paragraph, ""]

    def add_list(self, sentences: Iterable[str]) -> None:
        """Add a list."""
        self._lines += [*(f"- {sentence}" for sentence in sentences), ""]

    def add_table(self, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Add a table."""
        rule = ["---"] * len(head)
        self._lines += [*(f"| {' | '.join(row)} |" for row in (head, rule, *rows)), ""]

    def add_diagram(self, name: str, fen: str) -> None:
        """Add a diagram, which is stored in a file of this name."""
        board = chess.Board(fen)
        self._diagrams[f"{name}.svg"] = chess.svg.board(board, size=DIAGRAM_SIZE)
        self.add(f"![{board_words(board)}]({self._folder.name}/{name}.svg)")

    def write(self) -> None:
        """Write all files, and remove diagrams that the page no longer has.

        :raises TbgenError: if a file cannot be written.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        for old in self._folder.glob("*.svg"):
            if old.name not in self._diagrams:
                old.unlink()
        for name, picture in self._diagrams.items():
            write_file(self._folder / name, f"{picture}\n".encode())
        write_file(self._path, "\n".join(self._lines).rstrip("\n").encode() + b"\n")


def write_overview(report: Report, path: Path) -> None:
    """Write the page about everything that a report contains.

    :raises TbgenError: if a file cannot be written.
    """
    page = Page(path)
    tables = report.by_variant[Variant.R_MOBILITY]
    _add_introduction(page, report)
    page.add("## What stands out")
    page.add_list(index_highlights(tables))
    _add_records(page, report.records[Variant.R_MOBILITY])
    _add_strangest(page, tables, report.records[Variant.R_MOBILITY])
    _add_upsets(page, tables)
    _add_decided(page, tables)
    page.add("## Mating potential, and other scores that can be forced")
    page.add(
        "Only materials without pawns count here. In an *open* position the game is not over, and the side "
        "to move has neither a capture nor mate in one ([terms](report.md#terms))."
    )
    page.add_list(mating_highlights([table for table in tables if not table.material.pawns]))
    _add_differences(page, report)
    _add_endgames(page, tables)
    page.write()


def _add_introduction(page: Page, report: Report) -> None:
    parts = []
    for variant, tables in report.by_variant.items():
        count = sum(
            sum(counts.values())
            for table in tables
            for counts in (*table.distribution.canonical, *table.distribution.en_passant)
        )
        parts.append(
            f"{counted(len(tables), 'table')} for {variant.label} with {count:,} positions up to symmetry"
        )
    page.add(
        "# What the tables say",
        "This page is for chess players and researchers. It shows the longest wins, the strangest "
        "positions and the typical result of every endgame in r-mobility, which has no draws. One command "
        "makes a website with all numbers, lines and plots:",
        "```\ntbgen report --from docs/tables --out site\n```",
        "A score is the number of moves that a side was left with, plus one half if it was not in check: "
        "G0.0 is mate, G0.5 stalemate, G3.5 three moves and no check. The lowest score since the last "
        "capture or pawn move, the accrued score, counts ([theory](theory.md), [words](glossary.md)). White "
        "is the side named first; scores with a minus are Black's. Lines are best play from a *fresh state*, "
        "in which counting starts, until the accrued score equals the value; the depth is their length in "
        "plies.",
        f"The numbers come from {', and '.join(parts)}. `scripts/overview.py` makes this page from the data "
        "in `docs/tables`.",
    )


def _add_records(page: Page, records: Sequence[OverallRecord]) -> None:
    page.add("## The longest lines")
    page.add_list(record_highlights(records))
    page.add(
        "Below, each line begins with the score of its position; the accrued score follows every move that "
        "changes it."
    )
    longest = sorted(records, key=lambda record: -record.depth)[:MAX_DIAGRAMS]
    for record in longest:
        _add_record(page, _way(record.holders[0]), record.holders[0])
    page.add(
        "For every score, the table gives the longest line to it and the number of positions with a line of "
        "that length; positions that differ only by symmetry or colours count once."
    )
    page.add_table(
        ("score", "plies", "positions", "material", "example"),
        (
            (
                str(record.holders[0].value),
                str(record.depth),
                str(record.ties),
                ", ".join(dict.fromkeys(holder.material.name for holder in record.holders)),
                f"`{record.holders[0].fen}`",
            )
            for record in records
        ),
    )


def _add_record(page: Page, title: str, record: Record, *sentences: str) -> None:
    page.add(f"### {record.material}: {title}", *sentences)
    page.add_diagram(f"{record.material}.{str(record.value).replace('-', 'm')}", record.fen)
    mover = record.to_move.capitalize()
    page.add(f"{mover} to move, `{record.fen}`{f': {_movetext(record)}' if record.line else ''}")
    if record.depth and not record.line:
        page.add(
            "The line is left out because it needs depths that the table does not store: "
            f'`tbgen probe "{record.fen}" --line --depths` finds it.'
        )


def _movetext(record: Record) -> str:
    """Return the first moves of a line, after the position score, with each change of the accrued score."""
    board = chess.Board(record.fen)
    accrued = position_score(board)
    parts = [f"({accrued})"]
    for ply in record.line[: 2 * MAX_MOVES]:
        if board.turn or len(parts) == 1:
            parts.append(f"{board.fullmove_number}.{'' if board.turn else '..'}")
        board.push_uci(ply.uci)
        parts.append(ply.san if ply.accrued == accrued else f"{ply.san} ({ply.accrued})")
        accrued = ply.accrued
    remaining = len(record.line) - 2 * MAX_MOVES
    return " ".join(parts) + (f" ... and {plies(remaining)} more" if remaining > 0 else "")


def _add_strangest(page: Page, tables: Sequence[TableReport], records: Sequence[OverallRecord]) -> None:
    page.add(
        "## The strangest positions",
        "These positions are the extremes among the longest lines to every value for every material:",
    )
    candidates = [
        (record.value.rank, -table.mating.rule.advantage, -record.depth, record.material, record)
        for table in tables
        for record in table.records
        if table.mating.rule.leader not in (None, record.value.holder)
    ]
    mates = [candidate for candidate in candidates if not candidate[0]]
    if mates:
        _, lead, *_, record = min(mates)
        _add_record(
            page,
            _way(record),
            record,
            f"{_holder(record)} mates here although {pawn_lead_text(-lead)} behind (a queen counts "
            f"{PIECE_VALUES['Q']:g}): more than in any other mate.",
        )
    bare_kings = [candidate for candidate in candidates if candidate[-1].material.black == "K"]
    if bare_kings:
        record = min(bare_kings)[-1]
        _add_record(
            page, _way(record), record, f"{_holder(record)} has nothing but the king, and holds the score."
        )
    highest = records[-1].holders[0]
    _add_record(page, _way(highest), highest, "Best play by both sides never ends with a higher score.")


def _way(record: Record) -> str:
    return f"{score_text(record.value)} in {plies(record.depth)}"


def _holder(record: Record) -> str:
    return COLOURS[not record.value.white]


def _add_upsets(page: Page, tables: Sequence[TableReport]) -> None:
    upsets = sorted(
        ((share, side, table) for table in tables for share, side in upset_shares(table, mates=False)),
        key=lambda upset: (-upset[0], upset[2].material, upset[1]),
    )[:MAX_UPSETS]
    if not upsets:
        return
    page.add(
        "## Where less is more",
        "In these endgames the weaker side (by the rule of thumb of [reports](report.md)) most often "
        "holds the score although the position is drawn in chess. The last two columns are shares of "
        "all positions with this side to move.",
    )
    page.add_table(
        ("material", "weaker side", "to move", "drawn positions that it holds", "mates in"),
        (
            (table.material.name, _behind(table), COLOURS[side], percent(share), _mates(table, side))
            for share, side, table in upsets
        ),
    )
    for table in [*{table.material: table for _, _, table in upsets}.values()][:MAX_EXAMPLES]:
        records = [
            record
            for record in table.records
            if record.value.rank > 1 and COLOURS[not record.value.white] == _behind(table)
        ]
        if records:
            longest = max(records, key=lambda record: record.depth)
            _add_record(page, _way(longest), longest)


def _behind(table: TableReport) -> str:
    """Return the weaker side."""
    return COLOURS[table.mating.rule.leader == "white"]


def _mates(table: TableReport, side: int) -> str:
    """Return the share of the positions in which the weaker side mates."""
    outcomes = table.distribution.outcomes(side)
    total = table.distribution.positions[side].board
    return percent((outcomes.lost if table.mating.rule.leader == "white" else outcomes.won) / total)


def _add_decided(page: Page, tables: Sequence[TableReport]) -> None:
    decided = []
    for table in tables:
        modes = [typical.mode for typical in table.endgame.sides if typical.mode is not None]
        holders = {
            score.white
            for typical in table.endgame.sides
            for score in (typical.mode, typical.median)
            if score is not None
        }
        drawn = min(_drawn(table, side) for side in (0, 1))
        if drawn >= MIN_DRAWN and len(modes) == 2 and len(holders) == 1:
            decided.append((max(mode.rank for mode in modes), -drawn, table))
    if not decided:
        return
    decided.sort(key=lambda entry: (*entry[:2], entry[2].material))
    page.add(
        "## Drawn in chess, decided here",
        f"At least {percent(MIN_DRAWN)} of the positions of these endgames are drawn in chess, with either "
        "side to move. In r-mobility one side holds the score in most quiet positions (defined below), "
        "whoever is to move. The table gives the most frequent value and its share of the quiet positions; "
        "the lowest values come first.",
    )
    page.add_table(
        ("material", "drawn in chess", "White to move", "in", "Black to move", "in"),
        (
            (
                table.material.name,
                percent(-drawn),
                *(cell for typical in table.endgame.sides for cell in _typical(typical)),
            )
            for _, drawn, table in decided[:MAX_UPSETS]
        ),
    )


def _drawn(table: TableReport, side: int) -> float:
    return table.distribution.outcomes(side).drawn / table.distribution.positions[side].board


def _add_differences(page: Page, report: Report) -> None:
    if report.differences:
        page.add(
            "## Where resetting matters",
            "Whole-game mobility never resets the score. A comparison of the two games over "
            f"{counted(len(report.differences), 'material')}:",
        )
        page.add_list(difference_highlights(report.differences))
        turned = [
            (-example.r_depth, difference.material, example.fen, example)
            for difference in report.differences
            for example in difference.examples
            if example.r.white is not example.wg.white
        ]
        if turned:
            _, material, fen, shown = min(turned)
            page.add(
                f"### {material}: {score_text(shown.r)} in {plies(shown.r_depth)}, or {score_text(shown.wg)}",
                f"Without resets the other side reaches its score in {plies(shown.wg_depth)}.",
            )
            page.add_diagram(f"{material}.rules", fen)
            page.add(f"{COLOURS[not chess.Board(fen).turn]} to move, `{fen}`")


def _add_endgames(page: Page, tables: Sequence[TableReport]) -> None:
    page.add("## What every endgame gives")
    page.add_list(endgame_highlights(tables))
    page.add(
        "The typical value is the most frequent value of quiet positions, in which the game is not over and "
        "the side to move has no capture. The table gives this value, its share of the quiet positions, and "
        "the longest line from any fresh state. In nearly half of the positions with two bishops of a side, "
        "both stand on squares of one colour; these positions count, too."
    )
    page.add_table(
        ("material", "White to move", "in", "Black to move", "in", "longest line"),
        (
            (
                table.material.name,
                *(cell for typical in table.endgame.sides for cell in _typical(typical)),
                _longest(table.records),
            )
            for table in tables
        ),
    )


def _typical(typical: EndgameValues) -> Iterator[str]:
    yield "" if typical.mode is None else str(typical.mode)
    yield "" if typical.mode is None else percent(typical.share(typical.mode))


def _longest(records: Sequence[Record]) -> str:
    longest = max(records, key=lambda record: record.depth)
    return f"{plies(longest.depth)}, to {longest.value}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=ROOT / "docs" / "tables", metavar="DIR", help="saved data"
    )
    parser.add_argument(
        "--out", type=Path, default=ROOT / "docs" / "findings.md", metavar="FILE", help="the page"
    )
    arguments = parser.parse_args()
    try:
        write_overview(read_report(arguments.data, saved=True), arguments.out)
    except TbgenError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
