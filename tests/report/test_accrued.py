"""Counts of accrued scores: every state is counted again, by probing and from the file format."""

from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np

from tbgen.board.score import NONE, GScore
from tbgen.board.variant import Variant
from tbgen.index.position import locate
from tbgen.report.model import AccruedCounts, AccruedView, Sides, TableReport
from tbgen.store.format import table_path
from tbgen.tables.files import open_table, write_table
from tests.support.report_positions import Position
from tests.support.reports import report_table
from tests.support.table_states import layers_of

KINDS = ("states", "stored", "survives", "improved", "worsened", "lost", "lost_by_reset", "fresh")

Counts = Counter[tuple[int, bool, str]]


def kinds(accrued: GScore, value: GScore, fresh: GScore) -> list[str]:
    """Return the columns that count a state, directly from the definitions."""
    found = ["states"]
    if accrued.rank <= fresh.rank:
        found.append("stored")
    if value == fresh:
        found.append("fresh")
    if value == accrued:
        found.append("survives")
    elif value.white == accrued.white:
        better = value > accrued if accrued.white else value < accrued
        found.append("improved" if better else "worsened")
    else:
        found.append("lost" if value.rank < accrued.rank else "lost_by_reset")
    return found


def assert_same(counts: Counts, view: Sides[Sides[AccruedCounts]]) -> None:
    for side, white, kind in product((0, 1), (True, False), KINDS):
        assert getattr(view[side][not white], kind) == counts[side, white, kind], (side, white, kind)


def view_of(directory: Path, name: str) -> AccruedView:
    view = report_table(directory, name).accrued
    assert view is not None
    return view


def check_states(directory: Path, name: str, found: list[Position], report: TableReport) -> None:
    """Check every state, with position scores from python-chess, and runs read as in docs/format.md."""
    with open_table(table_path(directory, name, Variant.R_MOBILITY)) as file:
        table = file.read()
    score = np.full(table.value.shape, NONE, np.uint8)
    images, shares = (np.zeros(table.value.shape) for _ in range(2))
    for position in found:
        place = position.side, locate(position.board).slot
        score[place] = position.own.code
        images[place] += position.images
        shares[place] += position.share
    board, canonical = Counts(), Counts()
    rank = np.minimum(score, 255 - score)
    for code, value, _ in layers_of(table, score):
        accrued = GScore.from_code(code)
        states = (score != NONE) & (rank >= accrued.rank) & (rank > 1) & (score != code)
        for side in (0, 1):
            here = states[side]
            triples = np.stack([value[side][here], table.value[side][here]]).astype(np.int64)
            which, where = np.unique(triples, axis=1, return_inverse=True)
            for number, (own, fresh) in enumerate(which.T.tolist()):
                for kind in kinds(accrued, GScore.from_code(own), GScore.from_code(fresh)):
                    chosen = where.reshape(-1) == number
                    board[side, accrued.white, kind] += int(images[side][here][chosen].sum())
                    canonical[side, accrued.white, kind] += int(shares[side][here][chosen].sum())
    assert report.accrued is not None
    assert_same(board, report.accrued.board)
    assert_same(canonical, report.accrued.canonical)


def rows(view: AccruedView) -> list[AccruedCounts]:
    return [counts for holders in view.board for counts in holders]


def test_wiping_out(three_men: Path) -> None:
    """Accrued scores are counted with and without possible captures."""
    for found in rows(view_of(three_men, "KvK")):
        assert found.wiped_out == 0
        assert found.survives == found.stored
    knights = rows(view_of(three_men, "KNvK"))
    # KNvK: V = A in 3.17 of 5.02 million states with rank(A) <= rank(W), A = g(P) included (docs/theory.md).
    stored, survives = (sum(getattr(c, kind) for c in knights) for kind in ("stored", "survives"))
    assert 4_970_000 < stored < 5_020_000
    assert 3_120_000 < survives < 3_170_000
    assert stored - survives == sum(found.wiped_out for found in knights) == 1_840_956
    for found in knights:
        assert found.states == found.survives + found.improved + found.lost + found.wiped_out


def test_tables_without_accrued_scores(three_men: Path, tmp_path: Path) -> None:
    """The report of such a table lacks the view, and is otherwise unchanged."""
    with open_table(table_path(three_men, "KNvK", Variant.R_MOBILITY)) as file:
        table = file.read()
    table.run_mask = np.zeros((2, 2, 0), np.uint64)
    for name in ("run_rank", "run_value", "run_depth"):
        setattr(table, name, getattr(table, name)[:0])
    write_table(table, table_path(tmp_path, "KNvK", Variant.R_MOBILITY), version="0.1.0", build_seconds=1.0)
    report, whole = (report_table(directory, "KNvK") for directory in (tmp_path, three_men))
    assert report.accrued is None
    assert (report.distribution, report.endgame) == (whole.distribution, whole.endgame)
