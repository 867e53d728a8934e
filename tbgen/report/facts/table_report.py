"""Everything about one table, in one report."""

import numpy as np
from numpy.typing import NDArray

from tbgen.progress import Progress, silent
from tbgen.report.facts.endgames import by_score, endgame
from tbgen.report.facts.mating import mating_facts
from tbgen.report.facts.records import records_of
from tbgen.report.facts.table_highlights import with_highlights
from tbgen.report.model import AccruedCounts, AccruedView, Depths, Distribution, TableReport, Totals
from tbgen.report.parts import Sides
from tbgen.report.scan.counting import count_source
from tbgen.report.scan.source import TableSource
from tbgen.report.scan.table_counts import Counts, TableCounts, images


def report_source(
    source: TableSource, *, threads: int = 2, layers: bool = False, progress: Progress = silent
) -> TableReport:
    """Read a table once and return its report, without lines.

    :param layers: as :func:`tbgen.report.scan.counting.count_source` takes it.
    :param progress: told the steps.

    :raises DamagedTableError: if the table cannot be used.
    """
    return table_report(count_source(source, threads=threads, layers=layers, progress=progress))


def table_report(scanned: TableCounts) -> TableReport:
    """Return the report of a table, without lines, from its counts."""
    info = scanned.info
    report = TableReport(
        material=scanned.material,
        variant=info.variant,
        digest=info.digest,
        tbgen_version=info.tbgen_version,
        bytes=info.bytes,
        form=info.form,
        max_depth=info.max_depth,
        distribution=distribution(scanned),
        records=tuple(records_of(scanned)),
        accrued=accrued_view(scanned) if scanned.has_accrued else None,
        endgame=endgame(scanned),
        mating=mating_facts(scanned),
        black_king=Sides(*(tuple(map(by_score, squares)) for squares in scanned.king_on_board())),
    )
    return with_highlights(report)


def distribution(scanned: TableCounts) -> Distribution:
    """Return how many positions have which value and depth."""
    numbers = scanned.on_board().sum(axis=1), scanned.counts[0].sum(axis=1), scanned.en_passant
    board, canonical, _ = numbers
    values = [Sides(*(by_score(side.sum(axis=1)) for side in sides)) for sides in numbers]
    totals = zip(board.sum(axis=(1, 2)).tolist(), canonical.sum(axis=(1, 2)).tolist(), strict=True)
    positions, depths = Sides(*(Totals(*both) for both in totals)), Sides(*map(_depths, board))
    return Distribution(values[0], values[1], values[2], positions, depths)


def _depths(by_code: Counts) -> Depths:
    return {
        value: {depth: number for depth, number in enumerate(by_code[value.code].tolist()) if number}
        for value in by_score(by_code.sum(axis=1))
    }


def accrued_view(scanned: TableCounts) -> AccruedView:
    """Return what becomes of accrued scores."""
    return AccruedView(_states(images(scanned.layout, scanned.states)), _states(scanned.states[0]))


def _states(numbers: NDArray[np.int64]) -> Sides[Sides[AccruedCounts]]:
    """Return numbers, shape (2 sides, 2 holders, columns of :mod:`tbgen.report.scan.accrued`), by name."""
    return Sides(*(Sides(*(_counts(*row) for row in holders)) for holders in numbers.tolist()))


def _counts(
    states: int, stored: int, improved: int, worsened: int, lost: int, lost_by_reset: int, fresh: int
) -> AccruedCounts:
    wiped_out = worsened + lost_by_reset
    survives = states - improved - lost - wiped_out
    return AccruedCounts(states, stored, survives, improved, worsened, lost, lost_by_reset, wiped_out, fresh)
