"""Reports as rows for CSV files."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from tbgen.report.data.documents import ACCRUED_FIELDS, SIDES, side_name, states_document, text_of
from tbgen.report.model import TableReport

Row = tuple[Any, ...]


def distribution_rows(report: TableReport) -> Iterator[Row]:
    """Yield a row per side to move and value."""
    found = report.distribution
    for side, name in enumerate(SIDES):
        for value in sorted({*found.board[side], *found.en_passant[side]}, reverse=True):
            counts = (table[side].get(value, 0) for table in (found.board, found.canonical, found.en_passant))
            share = found.share(side, value)
            yield report.material.name, report.variant, name, str(value), *counts, f"{share:.9f}"


def depth_rows(report: TableReport) -> Iterator[Row]:
    """Yield a row per side to move, value and depth."""
    for name, depths in zip(SIDES, report.distribution.depths, strict=True):
        for value, row in depths.items():
            for depth, count in row.items():
                yield report.material.name, report.variant, name, str(value), depth, count


def record_rows(report: TableReport) -> Iterator[Row]:
    """Yield a row per value."""
    for record in report.records:
        line = " ".join(point.san for point in record.line)
        name, value = record.material.name, str(record.value)
        yield name, record.variant, value, record.depth, record.ties, record.fen, line, int(record.verified)


def accrued_rows(report: TableReport) -> Iterator[Row]:
    """Yield a row per side to move and holder of the accrued score, counted on the board."""
    if report.accrued is not None:
        for (side, white), counts in report.accrued.board.items():
            numbers = states_document(counts).values()
            yield report.material.name, report.variant, SIDES[side], side_name(white), *numbers


def endgame_rows(report: TableReport) -> Iterator[Row]:
    """Yield a row per side to move."""
    for name, side in zip(SIDES, report.endgame.sides, strict=True):
        share = "" if side.mode is None else f"{side.share(side.mode):.9f}"
        values = (text_of(value) or "" for value in (side.mode, side.median, side.best, side.worst))
        numbers = (side.positions, side.over, side.captures, side.total)
        yield report.material.name, report.variant, name, *numbers, *values, share


def mating_rows(report: TableReport) -> Iterator[Row]:
    """Yield a row per attacker."""
    found = report.mating
    for truth in found.truth:
        moving, waiting = truth.shares
        best = (text_of(value) or "" for value in truth.best)
        yield (
            *(report.material.name, report.variant, side_name(truth.white), truth.verdict.value, truth.mates),
            *(f"{moving:.9f}", f"{waiting:.9f}", *best),
            found.rule.divisor if found.rule.leader == truth.white else "",
            _flag(found.agrees),
        )


def _flag(agrees: bool | None) -> int | str:
    return "" if agrees is None else int(agrees)


CSV: Final[Mapping[str, tuple[tuple[str, ...], Callable[[TableReport], Iterator[Row]]]]] = {
    "distribution": (
        ("material", "rules", "to_move", "value", "board", "canonical", "en_passant", "share"),
        distribution_rows,
    ),
    "depths": (("material", "rules", "to_move", "value", "depth", "board"), depth_rows),
    "records": (("material", "rules", "value", "depth", "ties", "fen", "line", "verified"), record_rows),
    "accrued": (("material", "rules", "to_move", "holder", *ACCRUED_FIELDS), accrued_rows),
    "endgames": (
        (
            *("material", "rules", "to_move", "positions", "over", "captures", "quiet"),
            *("mode", "median", "best", "worst", "mode_share"),
        ),
        endgame_rows,
    ),
    "mating": (
        (
            *("material", "rules", "attacker", "verdict", "mates", "share_to_move", "share_waiting"),
            *("best_to_move", "best_waiting", "divisor", "rule_agrees"),
        ),
        mating_rows,
    ),
}
"""By name of a file: its head, and what gives the rows of a report."""
