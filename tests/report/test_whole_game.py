"""Reports on whole-game mobility: published numbers, and comparison with r-mobility."""

import io
from pathlib import Path

import chess.pgn

from tbgen.board.variant import Variant
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
"""Number of positions of KNvK with White to move, on the board, by value in whole-game mobility
(docs/theory.md)."""


def test_published_distribution(whole_game_tables: Path) -> None:
    distribution = report_table(whole_game_tables, "KNvK", Variant.WHOLE_GAME).distribution
    assert {str(value): count for value, count in distribution.board[0].items()} == KNVK_WHITE


def test_lines_of_records_replay(whole_game_tables: Path) -> None:
    for name in ("KPvK", "KQvK"):
        report = report_with_lines(whole_game_tables, name, Variant.WHOLE_GAME)
        assert report.records
        for record in report.records:
            assert record.verified, record
            assert len(record.line) == record.depth
            game = chess.pgn.read_game(io.StringIO(record.pgn))
            assert game is not None
            assert game.headers["WGMobilityResult"] == str(record.value)
            assert len(list(game.mainline_moves())) == record.depth


def test_no_accrued_score_is_wiped_out(whole_game_tables: Path) -> None:
    view = report_table(whole_game_tables, "KNvK", Variant.WHOLE_GAME).accrued
    assert view is not None
    for counts in (*view.board.white, *view.board.black):
        assert counts.states
        assert counts.wiped_out == 0
