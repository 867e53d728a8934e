"""Reports as JSON documents."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from tbgen.board.score import GScore
from tbgen.report.facts.difference import Difference
from tbgen.report.facts.table_highlights import table_highlights
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

SIDES: Final = ("white", "black")
"""Sides to move, and holders, as documents name them."""

ACCRUED_FIELDS: Final = (
    *("states", "stored", "survives", "improved", "worsened", "lost", "lost_by_reset", "wiped_out", "fresh"),
)
"""Of :class:`AccruedCounts`."""


def document(report: TableReport) -> dict[str, Any]:
    """Return a report for JSON."""
    return {
        "material": report.material.name,
        "rules": report.variant,
        "digest": report.digest,
        "tbgen_version": report.tbgen_version,
        "bytes": report.bytes,
        "form": report.form,
        "max_depth": report.max_depth,
        "highlights": table_highlights(report),
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
        "to_move": side_name(record.white_to_move),
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
            to_move: {side_name(white): states_document(counts[side, white]) for white in (True, False)}
            for side, to_move in enumerate(SIDES)
        }
        for name, counts in (("board", view.board), ("canonical", view.canonical))
    }


def states_document(counts: AccruedCounts) -> dict[str, int]:
    """Return how many states there are of each kind, for JSON."""
    return {name: getattr(counts, name) for name in ACCRUED_FIELDS}


def _endgame(found: Endgame) -> dict[str, Any]:
    return {
        "sentence": found.sentence,
        **_by_side(found.sides, _typical),
        "unusual": [
            {
                "value": str(unusual.value),
                "to_move": side_name(unusual.white_to_move),
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
                "to_move": side_name(example.white_to_move),
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
        "mode": text_of(typical.mode),
        "median": text_of(typical.median),
        "best": text_of(typical.best),
        "worst": text_of(typical.worst),
    }


def _mating(found: MatingPotential) -> dict[str, Any]:
    rule = found.rule
    return {
        "rule": {
            "leader": None if rule.leader is None else side_name(rule.leader),
            "advantage": rule.advantage,
            "divisor": rule.divisor,
            "wins": rule.wins,
            "reason": rule.reason,
        },
        "truth": {side_name(truth.white): _truth(truth) for truth in found.truth},
        "like_bishops": found.like_bishops
        and {side_name(truth.white): _truth(truth) for truth in found.like_bishops},
        "agrees": found.agrees,
        "sentence": found.sentence,
    }


def _truth(truth: MatingTruth) -> dict[str, Any]:
    numbers = zip(("to_move", "waiting"), truth.open, truth.forced, truth.shares, truth.best, strict=True)
    return {
        "verdict": truth.verdict.value,
        "mates": truth.mates,
        **{
            name: {"open": count, "forced": forced, "share": share, "best": text_of(best)}
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


def text_of(value: GScore | None) -> str | None:
    """Return a score for JSON, None for none."""
    return None if value is None else str(value)


def side_name(white: bool) -> str:
    """Return the name of a side for JSON."""
    return SIDES[not white]


def difference_document(found: Difference) -> dict[str, Any]:
    """Return a difference for JSON."""
    return {
        "material": found.material.name,
        **{
            name: {
                "positions": found.positions[side],
                "differing": found.differing[side],
                "pairs": [
                    {"r": str(r), "wg": str(wg), "count": count}
                    for (r, wg), count in found.sides[side].items()
                ],
            }
            for side, name in enumerate(("white", "black"))
        },
        "examples": [
            {
                "r": str(example.r),
                "wg": str(example.wg),
                "to_move": "white" if example.white_to_move else "black",
                "count": example.count,
                "fen": example.fen,
                "r_depth": example.r_depth,
                "wg_depth": example.wg_depth,
            }
            for example in found.examples
        ],
    }
