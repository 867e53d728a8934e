"""All numbers of the reports on three men, counted again with python-chess; totals of other reports."""

import hashlib
import json
from collections import Counter
from itertools import combinations
from pathlib import Path

import chess
import numpy as np
import pytest
from msgspec.structs import asdict

from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.report.making import table_report
from tbgen.report.model import SIDES, Distribution, Endgame, EndgameValues, TableReport
from tbgen.report.scan import scan_table
from tbgen.report.source import open_source
from tests.report.test_accrued import check_states
from tests.support.distributions import DISTRIBUTIONS, OF_A_PAWN
from tests.support.exhaustive import exhaustive
from tests.support.report_positions import (
    Position,
    images_of,
    images_of_square,
    on_board,
    positions,
    up_to_symmetry,
)
from tests.support.reports import count_table, report_table

R, WG = Variant
DIGESTS = {
    ("KNvK", R): "c58e94a68b820a25",
    ("KNvK", WG): "3c8246ed97ccf005",
    ("KPvK", R): "f34a0d0e63a6f0ae",
    ("KRvK", R): "13b6b4a1dc250864",
}
"""Digests of numbers that only exhaustive tests count again, since it takes long."""


@pytest.mark.parametrize(("name", "variant"), [("KvK", R), ("KvK", WG), *exhaustive(DIGESTS)])
def test_every_number_is_counted_anew(name: str, variant: Variant, whole_game_tables: Path) -> None:
    found = positions(whole_game_tables, name, variant)
    report = report_table(whole_game_tables, name, variant)
    check_distribution(found, report.distribution)
    check_black_king(found, report)
    check_endgame(found, report.endgame)
    check_records(found, report)
    check_mating(found, report)
    if variant is R:
        check_states(whole_game_tables, name, found, report)
    assert name == "KvK" or digest_of(report) == DIGESTS[name, variant]


def test_numbers_are_those_that_were_counted_anew(whole_game_tables: Path) -> None:
    assert {key: digest_of(report_table(whole_game_tables, *key)) for key in DIGESTS} == DIGESTS


def test_facts_beside_each_other_differ(three_men: Path) -> None:
    """Counting them again would not show that one has the place of another if both were always the same."""
    tables = [report_table(three_men, name) for name in ("KvK", *(name for name, by in DIGESTS if by is R))]
    sides = [asdict(side) for report in tables for side in report.endgame.sides]
    facts = {name: [side[name] for side in sides] for name in EndgameValues.__struct_fields__}
    assert [pair for pair in combinations(facts, 2) if facts[pair[0]] == facts[pair[1]]] == []


def digest_of(report: TableReport) -> str:
    """Return a digest of the numbers that were counted again."""
    plain = report.builtins()
    numbers: list[object] = [
        plain["distribution"],
        plain["black_king"],
        report.variant is R and plain["accrued"],
    ]
    numbers += [plain["endgame"][side] for side in ("white", "black")] + [plain["mating"]["truth"]]
    numbers += [(str(record.value), record.depth, record.ties) for record in report.records]
    return hashlib.sha256(json.dumps(numbers, sort_keys=True).encode()).hexdigest()[:16]


def check_distribution(found: list[Position], distribution: Distribution) -> None:
    for side in (0, 1):
        here = [p for p in found if p.side == side]
        board = on_board(here, lambda p: p.value)
        assert distribution.board[side] == board
        assert distribution.canonical[side] == up_to_symmetry(here, lambda p: p.value)
        assert {
            (value, depth): count
            for value, row in distribution.depths[side].items()
            for depth, count in row.items()
        } == on_board(here, lambda p: (p.value, p.depth))
        assert list(distribution.board[side]) == sorted(distribution.board[side], reverse=True)
        assert not distribution.en_passant[side]
        assert distribution.positions[side].board == board.total()
        outcomes = distribution.outcomes(side)
        assert (outcomes.won, outcomes.lost) == (board[GScore(0, True)], board[GScore(0, False)])
        assert outcomes.won + outcomes.drawn + outcomes.lost == board.total()


def check_black_king(found: list[Position], report: TableReport) -> None:
    counts: Counter[tuple[int, int, GScore]] = Counter()
    for position in found:
        square = position.board.king(chess.BLACK)
        assert square is not None
        images = images_of_square(square, pawns=bool(position.board.pawns))
        for image in images:
            counts[position.side, image, position.value] += 2 * position.images // len(images)
    assert {
        (side, square, value): 2 * count
        for side, squares in enumerate(report.black_king)
        for square, values in enumerate(squares)
        for value, count in values.items()
    } == counts


def check_endgame(found: list[Position], endgame: Endgame) -> None:
    for side, typical in enumerate(endgame.sides):
        here = [p for p in found if p.side == side]
        quiet = on_board([p for p in here if not (p.captures or p.over)], lambda p: p.value)
        in_order = sorted(quiet.elements(), reverse=True)
        assert asdict(typical) == {
            "positions": sum(p.images for p in here),
            "over": sum(p.images for p in here if p.over),
            "captures": sum(p.images for p in here if p.captures),
            "quiet": quiet,
            "mode": max(sorted(quiet, reverse=True), key=quiet.__getitem__),
            "median": in_order[(len(in_order) - 1) // 2],
            "best": max(p.value for p in here),
            "worst": min(p.value for p in here),
        }
        unusual = [u for u in endgame.unusual if u.to_move == SIDES[side]]
        assert [u.value for u in unusual] == [
            value
            for value in sorted(quiet, reverse=True)
            if quiet[value] < 0.05 * quiet.total()  # type: ignore[operator]
        ]
        for one in unusual:
            assert (one.count, one.share) == (quiet[one.value], quiet[one.value] / quiet.total())
            alike = [p for p in here if p.value == one.value and not (p.captures or p.over)]
            assert one.depth == max(p.depth for p in alike)
            assert any(image.fen() == one.fen for p in alike for image in images_of(p.board))


def check_records(found: list[Position], report: TableReport) -> None:
    ties = up_to_symmetry(found, lambda p: (p.value, p.depth))
    assert [record.value for record in report.records] == sorted({p.value for p in found}, reverse=True)
    for record in report.records:
        assert record.depth == max(p.depth for p in found if p.value == record.value)
        assert record.ties == ties[record.value, record.depth]
        longest = [p for p in found if (p.value, p.depth) == (record.value, record.depth)]
        assert record.fen in {image.fen() for p in longest for image in images_of(p.board)}


def check_mating(found: list[Position], report: TableReport) -> None:
    assert report.mating.like_bishops is None
    for attacker, truth in enumerate(report.mating.truth):
        white = attacker == 0
        mate = GScore(0, white)
        mates = [p for p in found if p.side != attacker and p.over and p.value == mate]
        assert truth.mates == sum(p.images for p in mates)
        for chance, side in ((truth.to_move, attacker), (truth.waiting, 1 - attacker)):
            at_once = (GScore(0, side == 0), 1)
            here = [p for p in found if p.side == side and not (p.captures or p.over)]
            here = [p for p in here if (p.value, p.depth) != at_once]
            total = sum(p.images for p in here)
            assert chance.open == total
            assert chance.forced == sum(p.images for p in here if p.value == mate)
            best = chance.best
            assert best is not None
            worth = [(p.value if white else -p.value, p.images) for p in here]
            aim = best if white else -best
            better, as_good = (
                sum(images for value, images in worth if value > aim),
                sum(images for value, images in worth if value >= aim),
            )
            assert better < 0.75 * total <= as_good


@pytest.mark.slow
@pytest.mark.parametrize("name", ["KBBvK", "KPvKP", *exhaustive(["KRvKN", "KBNvK", "KPPvK", "KNvKP"])])
def test_totals_of_four_men(name: str, tables: Path) -> None:
    """Totals up to symmetry are those of the file; on the board they are twice as large with pawns, and
    almost eight times as large without."""
    scanned = count_table(tables, name)
    report = table_report(scanned)
    found = report.distribution
    assert tuple(found.positions[side].canonical for side in (0, 1)) == scanned.info.positions
    assert sum(sum(side.values()) for side in found.en_passant) == scanned.info.ep_positions
    for side in (0, 1):
        assert sum(sum(row.values()) for row in found.depths[side].values()) == found.positions[side].board
        squares = report.black_king[side]
        assert sum(sum(counts.values()) for counts in squares) == found.positions[side].board
        typical = report.endgame.sides[side]
        assert (
            typical.over + typical.captures + typical.total
            == typical.positions
            == found.positions[side].board
        )
        if "P" in name:
            assert found.positions[side].board == 2 * found.positions[side].canonical
    if name == "KBBvK":
        assert [found.positions[side].board for side in (0, 1)] == [10_164_056 // 2, 13_660_584 // 2]


def test_threads_and_progress(three_men: Path) -> None:
    """One and three threads count the same numbers."""
    seen: list[tuple[str, float]] = []
    with open_source((three_men,), Material.parse("KPvK"), Variant.R_MOBILITY) as source:
        one = scan_table(source, threads=1, progress=lambda *step: seen.append(step))
    three = count_table(three_men, "KPvK", threads=3)
    assert one.deepest == three.deepest
    for name in ("counts", "king", "states"):
        assert np.array_equal(getattr(one, name), getattr(three, name)), name
    assert seen == sorted(seen)
    assert seen[-1] == ("counted", 98304, 98304)


def test_published_distributions(three_men: Path) -> None:
    for (name, side), expected in DISTRIBUTIONS.items():
        board = report_table(three_men, name).distribution.board[side]
        assert ", ".join(f"{value} {count}" for value, count in board.items()) == expected, (name, side)
    pawn = report_table(three_men, "KPvK").distribution.board[1]
    assert {value: pawn[GScore(value)] for value in OF_A_PAWN} == OF_A_PAWN
