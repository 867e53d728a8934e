"""Reports from their JSON documents: what :mod:`tbgen.report.data.documents` writes, read again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.report.data.documents import ACCRUED_FIELDS, SIDES
from tbgen.report.facts.difference import Difference, Differing
from tbgen.report.model import (
    AccruedCounts,
    AccruedView,
    Counts,
    Depths,
    Distribution,
    Endgame,
    KingMap,
    MatingPotential,
    MatingRule,
    MatingTruth,
    Record,
    TableReport,
    Typical,
    UnusualValue,
    Verdict,
    WikiExample,
)

Found = Mapping[str, Any]
"""What stands in a document, or in a part of it."""

_T = TypeVar("_T")


def table_report(found: Found, records: Iterable[Record]) -> TableReport:
    """Return what :func:`tbgen.report.data.documents.document` has made a document of.

    :param records: those of the document (:func:`record`), with their lines.
    :raises KeyError: if something is missing, and other errors if something is not what it should be.
    """
    material, variant = Material.parse(found["material"]), Variant(found["rules"])
    return TableReport(
        material=material,
        variant=variant,
        digest=found["digest"],
        tbgen_version=found["tbgen_version"],
        bytes=found["bytes"],
        form=found["form"],
        max_depth=found["max_depth"],
        distribution=_distribution(found["distribution"]),
        records=tuple(records),
        accrued=None if found["accrued"] is None else _accrued(found["accrued"]),
        endgame=_endgame(material, variant, found["endgame"]),
        mating=_mating(material, variant, found["mating"]),
        black_king=KingMap(
            _pair(found["black_king"], lambda squares: tuple(_counts(square) for square in squares))
        ),
        seconds=0.0,
    )


def record(found: Found) -> Record:
    """Return a record without its line."""
    return Record(
        material=Material.parse(found["material"]),
        variant=Variant(found["rules"]),
        value=GScore(found["value"]),
        depth=found["depth"],
        ties=found["ties"],
        fen=found["fen"],
        white_to_move=_is_white(found["to_move"]),
        line=(),
        pgn="",
        verified=False,
    )


def difference(found: Found) -> Difference:
    """Return what :func:`tbgen.report.data.documents.difference_document` has made a document of."""
    return Difference(
        material=Material.parse(found["material"]),
        positions=_pair(found, lambda side: side["positions"]),
        differing=_pair(found, lambda side: side["differing"]),
        sides=_pair(
            found,
            lambda side: {(GScore(at["r"]), GScore(at["wg"])): at["count"] for at in side["pairs"]},
        ),
        examples=tuple(
            Differing(
                GScore(at["r"]),
                GScore(at["wg"]),
                _is_white(at["to_move"]),
                at["count"],
                at["fen"],
                at["r_depth"],
                at["wg_depth"],
            )
            for at in found["examples"]
        ),
    )


def _distribution(found: Found) -> Distribution:
    return Distribution(
        board=_pair(found["board"], _counts),
        canonical=_pair(found["canonical"], _counts),
        en_passant=_pair(found["en_passant"], _counts),
        depths=_pair(found["depths"], _depths),
    )


def _accrued(found: Found) -> AccruedView:
    board, canonical = (
        {
            (side, _is_white(holder)): AccruedCounts(
                **{name: count for name, count in states.items() if name in _STATES}
            )
            for side, to_move in enumerate(SIDES)
            for holder, states in found[name][to_move].items()
        }
        for name in ("board", "canonical")
    )
    return AccruedView(board, canonical)


_STATES = frozenset(ACCRUED_FIELDS) & AccruedCounts.__dataclass_fields__.keys()
"""The numbers of :class:`AccruedCounts` that are not made of others."""


def _endgame(material: Material, variant: Variant, found: Found) -> Endgame:
    return Endgame(
        material,
        variant,
        sides=_pair(found, _typical),
        unusual=tuple(
            UnusualValue(
                GScore(at["value"]),
                _is_white(at["to_move"]),
                at["count"],
                at["share"],
                at["fen"],
                at["depth"],
            )
            for at in found["unusual"]
        ),
        sentence=found["sentence"],
        examples=tuple(
            WikiExample(
                at["fen"],
                _is_white(at["to_move"]),
                GScore(at["value"]),
                at["line"],
                at["source"],
                at["share"],
                at["typical"],
            )
            for at in found["examples"]
        ),
    )


def _typical(found: Found) -> Typical:
    return Typical(
        positions=found["positions"],
        over=found["over"],
        captures=found["captures"],
        quiet=_counts(found["quiet"]),
        mode=_score(found["mode"]),
        median=_score(found["median"]),
        best=_score(found["best"]),
        worst=_score(found["worst"]),
    )


def _mating(material: Material, variant: Variant, found: Found) -> MatingPotential:
    rule, like = found["rule"], found["like_bishops"]
    return MatingPotential(
        material,
        variant,
        rule=MatingRule(
            None if rule["leader"] is None else _is_white(rule["leader"]),
            rule["advantage"],
            rule["divisor"],
            rule["wins"],
            rule["reason"],
        ),
        truth=_truths(found["truth"]),
        like_bishops=None if like is None else _truths(like),
        agrees=found["agrees"],
        sentence=found["sentence"],
    )


def _truths(found: Found) -> tuple[MatingTruth, MatingTruth]:
    white, black = (_truth(name == SIDES[0], found[name]) for name in SIDES)
    return white, black


def _truth(white: bool, found: Found) -> MatingTruth:
    first, second = found["to_move"], found["waiting"]
    return MatingTruth(
        white,
        open=(first["open"], second["open"]),
        forced=(first["forced"], second["forced"]),
        mates=found["mates"],
        verdict=Verdict(found["verdict"]),
        best=(_score(first["best"]), _score(second["best"])),
    )


def _pair(found: Found, read: Callable[[Any], _T]) -> tuple[_T, _T]:
    white, black = (read(found[name]) for name in SIDES)
    return white, black


def _counts(found: Found) -> Counts:
    return {GScore(value): count for value, count in found.items()}


def _depths(found: Found) -> Depths:
    return {
        GScore(value): {int(depth): count for depth, count in row.items()} for value, row in found.items()
    }


def _score(text: str | None) -> GScore | None:
    return None if text is None else GScore(text)


def _is_white(name: str) -> bool:
    return name == SIDES[0]
