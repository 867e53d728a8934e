"""Reports as rows for CSV files."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from msgspec.structs import astuple

from tbgen.report.model import AccruedCounts, TableReport
from tbgen.report.parts import SIDES

Row = tuple[Any, ...]


def distribution_rows(report: TableReport) -> Iterator[Row]:
    """Yield a row per side to move and value."""
    found = report.distribution
    for side, name in enumerate(SIDES):
        for value in sorted({*found.board[side], *found.en_passant[side]}, reverse=True):
            counts = (table[side].get(value, 0) for table in (found.board, found.canonical, found.en_passant))
            yield name, value, *counts, f"{found.share(side, value):.9f}"


def depth_rows(report: TableReport) -> Iterator[Row]:
    """Yield a row per side to move, value and depth."""
    for name, depths in report.distribution.depths.items():
        for value, row in depths.items():
            for depth, count in row.items():
                yield name, value, depth, count


def record_rows(report: TableReport) -> Iterator[Row]:
    """Yield a row per value."""
    for record in report.records:
        line = " ".join(point.san for point in record.line)
        yield record.value, record.depth, record.ties, record.fen, line, int(record.verified)


def accrued_rows(report: TableReport) -> Iterator[Row]:
    """Yield a row per side to move and holder of the accrued score, counted on the board."""
    if report.accrued is not None:
        for to_move, holders in report.accrued.board.items():
            for holder, counts in holders.items():
                yield to_move, holder, *astuple(counts)


def endgame_rows(report: TableReport) -> Iterator[Row]:
    """Yield a row per side to move."""
    for name, side in report.endgame.sides.items():
        share = None if side.mode is None else f"{side.share(side.mode):.9f}"
        numbers = (side.positions, side.over, side.captures, side.total)
        yield name, *numbers, side.mode, side.median, side.best, side.worst, share


def mating_rows(report: TableReport) -> Iterator[Row]:
    """Yield a row per attacker."""
    rule, agrees = report.mating.rule, report.mating.agrees
    right = None if agrees is None else int(agrees)
    for name, truth in report.mating.truth.items():
        chances = (truth.to_move, truth.waiting)
        shares, best = [f"{chance.share:.9f}" for chance in chances], [chance.best for chance in chances]
        divisor = rule.divisor if rule.leader == name else None
        yield name, truth.verdict, truth.mates, *shares, *best, divisor, right


CSV: Final[Mapping[str, tuple[str, Callable[[TableReport], Iterator[Row]]]]] = {
    "distribution": ("to_move value board canonical en_passant share", distribution_rows),
    "depths": ("to_move value depth board", depth_rows),
    "records": ("value depth ties fen line verified", record_rows),
    "accrued": (" ".join(("to_move", "holder", *AccruedCounts.__struct_fields__)), accrued_rows),
    "endgames": ("to_move positions over captures quiet mode median best worst mode_share", endgame_rows),
    "mating": (
        "attacker verdict mates share_to_move share_waiting best_to_move best_waiting divisor rule_agrees",
        mating_rows,
    ),
}
"""By name of a file: its titles after material and rules, and what gives the rest of the rows of a report."""
