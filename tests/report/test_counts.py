"""Every number of the reports on three men, counted anew with python-chess; totals of others."""

from collections import Counter
from pathlib import Path

import chess
import pytest

from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.report.facts.table_report import table_report
from tbgen.report.model import TableReport
from tbgen.report.parts import SIDES
from tbgen.report.scan.counting import count_source
from tbgen.report.scan.source import open_source
from tbgen.report.scan.table_counts import TableCounts
from tests.support.exhaustive import exhaustive
from tests.support.report_positions import images_of, images_of_square, on_board, positions, up_to_symmetry
from tests.support.reports import count_table, report_table

NAMES = ["KvK", "KNvK", *exhaustive(["KPvK"])]


@pytest.mark.parametrize("name", NAMES)
def test_distribution(name: str, three_men: Path) -> None:
    found, distribution = (
        positions(three_men, name),
        report_table(three_men, name).distribution,
    )
    board = on_board(found, lambda p: (p.side, p.value))
    canonical = up_to_symmetry(found, lambda p: (p.side, p.value))
    depths = on_board(found, lambda p: (p.side, p.value, p.depth))
    for side in (0, 1):
        assert {(side, value): count for value, count in distribution.board[side].items()} == {
            key: count for key, count in board.items() if key[0] == side
        }
        assert {(side, value): count for value, count in distribution.canonical[side].items()} == {
            key: count for key, count in canonical.items() if key[0] == side
        }
        assert {
            (side, value, depth): count
            for value, row in distribution.depths[side].items()
            for depth, count in row.items()
        } == {key: count for key, count in depths.items() if key[0] == side}
        assert list(distribution.board[side]) == sorted(distribution.board[side], reverse=True)
        assert not distribution.en_passant[side]
        assert distribution.positions[side].board == sum(p.images for p in found if p.side == side)
        won = board[side, GScore(0, True)]
        outcomes = distribution.outcomes(side)
        assert (outcomes.won, outcomes.lost) == (won, board[side, GScore(0, False)])
        assert outcomes.won + outcomes.drawn + outcomes.lost == distribution.positions[side].board


@pytest.mark.parametrize("name", NAMES)
def test_black_king(name: str, three_men: Path) -> None:
    counts: Counter[tuple[int, int, GScore]] = Counter()
    for position in positions(three_men, name):
        square = position.board.king(chess.BLACK)
        assert square is not None
        images = images_of_square(square, pawns=bool(position.board.pawns))
        for image in images:
            counts[position.side, image, position.value] += 2 * position.images // len(images)
    kings = report_table(three_men, name).black_king
    assert {
        (side, square, value): 2 * count
        for side in (0, 1)
        for square in range(64)
        for value, count in kings[side][square].items()
    } == counts


@pytest.mark.parametrize("name", NAMES)
def test_endgame(name: str, three_men: Path) -> None:
    found, endgame = positions(three_men, name), report_table(three_men, name).endgame
    for side, typical in enumerate(endgame.sides):
        here = [p for p in found if p.side == side]
        quiet = on_board([p for p in here if not (p.captures or p.over)], lambda p: p.value)
        assert typical.quiet == quiet
        assert typical.positions == sum(p.images for p in here)
        assert typical.over == sum(p.images for p in here if p.over)
        assert typical.captures == sum(p.images for p in here if p.captures)
        assert typical.best == max(p.value for p in here)
        assert typical.worst == min(p.value for p in here)
        assert typical.mode is not None
        assert quiet[typical.mode] == max(quiet.values())
        in_order = sorted(quiet.elements(), reverse=True)
        assert typical.median == in_order[(len(in_order) - 1) // 2]
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


@pytest.mark.parametrize("name", NAMES)
def test_records(name: str, three_men: Path) -> None:
    found, report = positions(three_men, name), report_table(three_men, name)
    ties = up_to_symmetry(found, lambda p: (p.value, p.depth))
    assert [record.value for record in report.records] == sorted({p.value for p in found}, reverse=True)
    for record in report.records:
        assert record.depth == max(p.depth for p in found if p.value == record.value)
        assert record.ties == ties[record.value, record.depth]
        longest = [p for p in found if (p.value, p.depth) == (record.value, record.depth)]
        assert record.fen in {image.fen() for p in longest for image in images_of(p.board)}


@pytest.mark.parametrize("name", NAMES)
def test_mating(name: str, three_men: Path) -> None:
    found, mating = positions(three_men, name), report_table(three_men, name).mating
    assert mating.like_bishops is None
    for attacker, truth in enumerate(mating.truth):
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
            better, as_good = (
                sum(p.images for p in here if worth(p.value, white) > worth(best, white)),
                sum(p.images for p in here if worth(p.value, white) >= worth(best, white)),
            )
            assert better < 0.75 * total <= as_good


def worth(value: GScore, white: bool) -> GScore:
    return value if white else -value


# Totals, and whether the scan depends on how it is done


@pytest.mark.slow
@pytest.mark.parametrize("name", ["KBBvK", "KRvKN", "KPvKP", *exhaustive(["KBNvK", "KPPvK", "KNvKP"])])
def test_totals_of_four_men(name: str, tables: Path) -> None:
    """Up to symmetry as the file says; on the board twice that with pawns, almost eight times without."""
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
    """The same numbers, with one thread and with three."""
    seen: list[tuple[str, float]] = []
    with open_source(three_men, Material.parse("KPvK"), Variant.R_MOBILITY) as source:
        one = count_source(source, threads=1, progress=lambda *step: seen.append(step))
    three = count_table(three_men, "KPvK", threads=3)
    assert numbers(one) == numbers(three)
    assert seen == sorted(seen)
    assert seen[-1] == ("counted", 98304, 98304)


def numbers(scanned: TableCounts) -> list[object]:
    arrays = (scanned.counts, scanned.king, scanned.states)
    return [*(array.tobytes() for array in arrays), scanned.longest]


# What the reference solver found


DISTRIBUTIONS = {
    ("KvK", 0): "G1.5 44, G2.5 124, G3.5 404, G4.5 32, G5.5 988, "
    "-G8.5 396, -G5.5 1216, -G4.5 32, -G3.5 332, -G2.5 28, -G1.5 16",
    ("KNvK", 0): "G0.5 2844, G1.0 16, G1.5 14992, G2.0 360, G2.5 10972, G3.0 292, G3.5 175972, G5.5 48",
    ("KNvK", 1): "G0.5 512, G1.0 16, G1.5 4352, G2.0 96, G2.5 4624, G3.0 640, G3.5 193476, G4.5 160, "
    "G5.5 6220, -G8.5 3168, -G5.5 8224, -G4.5 224, -G3.5 2012, -G2.5 148, -G1.5 72",
    ("KBvK", 0): "G0.5 7360, G1.5 185924",
}


def text(report: TableReport, side: int) -> str:
    return ", ".join(f"{value} {count}" for value, count in report.distribution.board[side].items())


@pytest.mark.parametrize(("name", "side"), DISTRIBUTIONS)
def test_published_distribution(name: str, side: int, three_men: Path) -> None:
    assert text(report_table(three_men, name), side) == DISTRIBUTIONS[name, side]


def test_published_distribution_of_a_pawn(three_men: Path) -> None:
    found = {
        str(value): count for value, count in report_table(three_men, "KPvK").distribution.board[1].items()
    }
    expected = {"G0.0": 97604, "G0.5": 18984, "G5.5": 27400, "-G8.5": 6986, "-G0.5": 14}
    assert {value: found[value] for value in expected} == expected
