"""Reports on whole-game mobility: counted anew with python-chess, and beside those on r-mobility."""

import io
import os
from collections import Counter
from pathlib import Path

import chess.pgn
import pytest

from tbgen.board.material import Material, all_materials
from tbgen.board.variant import Variant
from tbgen.generator import build
from tbgen.report.facts.difference import difference
from tbgen.report.scan.source import open_source
from tests.support.builds import Silent
from tests.support.report_positions import on_board, positions, up_to_symmetry
from tests.support.reports import report_table, report_with_lines

KNVK_WHITE = {
    "G0.5": 2844,
    "G1.0": 16,
    "G1.5": 14992,
    "G2.0": 360,
    "G2.5": 11068,
    "G3.0": 260,
    "G3.5": 175908,
    "-G3.5": 48,
}
"""Positions of KNvK with White to move, on the board, by whole-game mobility (docs/theory.md)."""


@pytest.fixture(scope="module")
def both(three_men: Path) -> Path:
    """A directory with all tables of up to three men for both rules."""
    build(all_materials(3), three_men, Silent(), threads=os.cpu_count() or 1, variant=Variant.WHOLE_GAME)
    return three_men


def test_published_distribution(both: Path) -> None:
    distribution = report_table(both, "KNvK", Variant.WHOLE_GAME).distribution
    assert {str(value): count for value, count in distribution.board[0].items()} == KNVK_WHITE


@pytest.mark.parametrize("name", ["KvK", "KNvK"])
def test_counts(name: str, both: Path) -> None:
    found, report = positions(both, name, Variant.WHOLE_GAME), report_table(both, name, Variant.WHOLE_GAME)
    board = on_board(found, lambda p: (p.side, p.value))
    canonical = up_to_symmetry(found, lambda p: (p.side, p.value))
    depths = on_board(found, lambda p: (p.side, p.value, p.depth))
    for side in (0, 1):
        assert {(side, v): n for v, n in report.distribution.board[side].items()} == {
            key: n for key, n in board.items() if key[0] == side
        }
        assert {(side, v): n for v, n in report.distribution.canonical[side].items()} == {
            key: n for key, n in canonical.items() if key[0] == side
        }
        assert {
            (side, v, d): n for v, row in report.distribution.depths[side].items() for d, n in row.items()
        } == {key: n for key, n in depths.items() if key[0] == side}
        quiet = on_board(
            [p for p in found if p.side == side and not (p.captures or p.over)], lambda p: p.value
        )
        assert report.endgame.sides[side].quiet == quiet


def test_lines_of_records_replay(both: Path) -> None:
    for name in ("KPvK", "KQvK"):
        report = report_with_lines(both, name, Variant.WHOLE_GAME)
        assert report.records
        for record in report.records:
            assert record.verified, record
            assert len(record.line) == record.depth
            game = chess.pgn.read_game(io.StringIO(record.pgn))
            assert game is not None
            assert game.headers["WGMobilityResult"] == str(record.value)
            assert len(list(game.mainline_moves())) == record.depth


def test_no_accrued_score_is_wiped_out(both: Path) -> None:
    view = report_table(both, "KNvK", Variant.WHOLE_GAME).accrued
    assert view is not None
    for counts in (*view.board.white, *view.board.black):
        assert counts.states
        assert counts.wiped_out == 0


@pytest.mark.parametrize("name", ["KvK", "KNvK"])
def test_where_the_rules_differ(name: str, both: Path) -> None:
    material = Material.parse(name)
    with (
        open_source(both, material, Variant.R_MOBILITY) as r,
        open_source(both, material, Variant.WHOLE_GAME) as wg,
    ):
        found = difference(r, wg)
    resets = {position.board.fen(): position.value for position in positions(both, name)}
    other: Counter[int] = Counter()
    for position in positions(both, name, Variant.WHOLE_GAME):
        if position.value != resets[position.board.fen()]:
            other[position.side] += position.images
    assert [side.differing for side in found.sides] == [other[0], other[1]]
    assert (name == "KvK") == (other.total() == 0)
