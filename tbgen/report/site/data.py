"""Reports as JSON documents and as rows for CSV files."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from tbgen.report.model import (
    AccruedCounts,
    AccruedView,
    Counts,
    Distribution,
    Endgame,
    KingMap,
    MatingPotential,
    MatingTruth,
    OverallRecord,
    Record,
    TableReport,
    Typical,
)
from tbgen.score import GScore

SIDES: Final = ("white", "black")
"""Sides to move, and holders, as documents name them."""


def document(report: TableReport) -> dict[str, Any]:
    """Return a report for JSON."""
    return {
        "material": report.material.name,
        "rules": report.variant,
        "digest": report.digest,
        "tbgen_version": report.tbgen_version,
        "bytes": report.bytes,
        "max_depth": report.max_depth,
        "distribution": _distribution(report.distribution),
        "records": [record_document(record) for record in report.records],
        "accrued": None if report.accrued is None else _accrued(report.accrued),
        "endgame": _endgame(report.endgame),
        "mating": _mating(report.mating),
        "black_king": _king(report.black_king),
    }


def record_document(record: Record) -> dict[str, Any]:
    """Return a record for JSON."""
    return {
        "material": record.material.name,
        "rules": record.variant,
        "value": str(record.value),
        "depth": record.depth,
        "ties": record.ties,
        "fen": record.fen,
        "to_move": _side(record.white_to_move),
        "line": [
            {"san": point.san, "uci": point.uci, "accrued": str(point.accrued), "depth": point.depth}
            for point in record.line
        ],
        "pgn": record.pgn,
        "verified": record.verified,
    }


def overall_document(records: Iterable[OverallRecord]) -> list[dict[str, Any]]:
    """Return the records over many tables for JSON, without their lines."""
    return [
        {
            "g": str(record.g),
            "depth": record.depth,
            "ties": record.ties,
            "holders": [
                {
                    "material": held.material.name,
                    "value": str(held.value),
                    "ties": held.ties,
                    "fen": held.fen,
                    "verified": held.verified,
                }
                for held in record.holders
            ],
        }
        for record in records
    ]


def _distribution(found: Distribution) -> dict[str, Any]:
    return {
        "board": _by_side(found.board, _counts),
        "canonical": _by_side(found.canonical, _counts),
        "en_passant": _by_side(found.en_passant, _counts),
        "positions": {
            name: {"board": found.total(side), "canonical": found.canonical_total(side)}
            for side, name in enumerate(SIDES)
        },
        "depths": _by_side(found.depths, _depths),
    }


def _accrued(view: AccruedView) -> dict[str, Any]:
    return {
        name: {
            to_move: {_side(white): _states(counts[side, white]) for white in (True, False)}
            for side, to_move in enumerate(SIDES)
        }
        for name, counts in (("board", view.board), ("canonical", view.canonical))
    }


def _states(counts: AccruedCounts) -> dict[str, int]:
    return {name: getattr(counts, name) for name in ACCRUED_FIELDS}


def _endgame(found: Endgame) -> dict[str, Any]:
    return {
        "sentence": found.sentence,
        **_by_side(found.sides, _typical),
        "unusual": [
            {
                "value": str(unusual.value),
                "to_move": _side(unusual.white_to_move),
                "count": unusual.count,
                "share": unusual.share,
                "fen": unusual.fen,
                "depth": unusual.depth,
            }
            for unusual in found.unusual
        ],
        "examples": [
            {
                "fen": example.fen,
                "to_move": _side(example.white_to_move),
                "value": str(example.value),
                "line": example.line,
                "source": example.source,
                "share": example.share,
                "typical": example.typical,
            }
            for example in found.examples
        ],
    }


def _typical(typical: Typical) -> dict[str, Any]:
    return {
        "positions": typical.positions,
        "over": typical.over,
        "captures": typical.captures,
        "quiet": _counts(typical.quiet),
        "mode": _text(typical.mode),
        "median": _text(typical.median),
        "best": _text(typical.best),
        "worst": _text(typical.worst),
    }


def _mating(found: MatingPotential) -> dict[str, Any]:
    rule = found.rule
    return {
        "rule": {
            "leader": None if rule.leader is None else _side(rule.leader),
            "advantage": rule.advantage,
            "divisor": rule.divisor,
            "wins": rule.wins,
            "reason": rule.reason,
        },
        "truth": {_side(truth.white): _truth(truth) for truth in found.truth},
        "like_bishops": found.like_bishops
        and {_side(truth.white): _truth(truth) for truth in found.like_bishops},
        "agrees": found.agrees,
        "sentence": found.sentence,
    }


def _truth(truth: MatingTruth) -> dict[str, Any]:
    numbers = zip(("to_move", "waiting"), truth.open, truth.forced, truth.shares, truth.best, strict=True)
    return {
        "verdict": truth.verdict.value,
        "mates": truth.mates,
        **{
            name: {"open": count, "forced": forced, "share": share, "best": _text(best)}
            for name, count, forced, share, best in numbers
        },
    }


def _king(found: KingMap) -> dict[str, Any]:
    return _by_side(found.counts, lambda squares: [_counts(counts) for counts in squares])


def _by_side(pair: Sequence[Any], render: Callable[[Any], Any]) -> dict[str, Any]:
    return {name: render(part) for name, part in zip(SIDES, pair, strict=True)}


def _counts(counts: Counts) -> dict[str, int]:
    return {str(value): count for value, count in counts.items()}


def _depths(depths: Mapping[GScore, Mapping[int, int]]) -> dict[str, dict[str, int]]:
    return {str(value): {str(depth): count for depth, count in row.items()} for value, row in depths.items()}


def _text(value: GScore | None) -> str | None:
    return None if value is None else str(value)


def _side(white: bool) -> str:
    return SIDES[not white]


Row = tuple[Any, ...]

ACCRUED_FIELDS: Final = (
    *("states", "stored", "survives", "improved", "worsened", "lost", "lost_by_reset", "wiped_out", "fresh"),
)


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
            numbers = _states(counts).values()
            yield report.material.name, report.variant, SIDES[side], _side(white), *numbers


def endgame_rows(report: TableReport) -> Iterator[Row]:
    """Yield a row per side to move."""
    for name, side in zip(SIDES, report.endgame.sides, strict=True):
        share = "" if side.mode is None else f"{side.share(side.mode):.9f}"
        values = (_text(value) or "" for value in (side.mode, side.median, side.best, side.worst))
        numbers = (side.positions, side.over, side.captures, side.total)
        yield report.material.name, report.variant, name, *numbers, *values, share


def mating_rows(report: TableReport) -> Iterator[Row]:
    """Yield a row per attacker."""
    found = report.mating
    for truth in found.truth:
        moving, waiting = truth.shares
        best = (_text(value) or "" for value in truth.best)
        yield (
            *(report.material.name, report.variant, _side(truth.white), truth.verdict.value, truth.mates),
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
