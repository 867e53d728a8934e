"""Everything about one table, in one report."""

import time
from dataclasses import replace
from os import PathLike
from pathlib import Path

from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.probe.tablebase import Tablebase
from tbgen.progress import Progress, silent
from tbgen.report.facts.accrued import accrued_view
from tbgen.report.facts.endgames import by_score, endgame
from tbgen.report.facts.mating import mating_potential
from tbgen.report.facts.records import records_of, with_line
from tbgen.report.model import Distribution, KingMap, TableReport
from tbgen.report.scan.counting import count_source
from tbgen.report.scan.source import TableSource, open_source
from tbgen.report.scan.table_counts import Counts, TableCounts


def report_table(
    directory: str | PathLike[str],
    material: Material | str,
    variant: Variant,
    *,
    threads: int = 2,
    lines: Tablebase | None = None,
) -> TableReport:
    """Open a table and return its report; see :func:`report_source`.

    :param lines: the tables that best play from the records is taken from; None leaves the lines out.

    :raises UsageError: if the name means nothing.
    :raises MissingTableError: if the table has not been built.
    :raises DamagedTableError: if its file cannot be used.
    """
    if isinstance(material, str):
        material = Material.parse(material)
    with open_source(Path(directory), material, variant, threads=threads) as source:
        report = report_source(source, threads=threads)
    if lines is None:
        return report
    return replace(report, records=tuple(with_line(record, lines) for record in report.records))


def report_source(
    source: TableSource, *, threads: int = 2, layers: bool = False, progress: Progress = silent
) -> TableReport:
    """Read a table once and return its report, without lines.

    :param layers: as :func:`tbgen.report.scan.counting.count_source` takes it.
    :param progress: told the steps.

    :raises DamagedTableError: if the table cannot be used.
    """
    begin = time.perf_counter()
    material, variant = source.layout.material, source.info.variant
    scanned = count_source(source, threads=threads, layers=layers, progress=progress)
    view = accrued_view(scanned.states_on_board(), scanned.states) if scanned.has_accrued else None
    return TableReport(
        material=material,
        variant=variant,
        digest=scanned.info.digest,
        tbgen_version=scanned.info.tbgen_version,
        bytes=scanned.info.bytes,
        form=scanned.info.form,
        max_depth=scanned.info.max_depth,
        distribution=distribution(scanned),
        records=tuple(records_of(scanned)),
        accrued=view,
        endgame=endgame(scanned),
        mating=mating_potential(material, scanned, rules=variant),
        black_king=king_map(scanned),
        seconds=time.perf_counter() - begin,
    )


def distribution(scanned: TableCounts) -> Distribution:
    """Return how many positions have which value and depth."""
    board, canonical = scanned.on_board().sum(axis=1), scanned.counts.sum(axis=1)
    pairs = [
        (by_score(table[0].sum(axis=1)), by_score(table[1].sum(axis=1)))
        for table in (board, canonical, scanned.en_passant)
    ]
    return Distribution(pairs[0], pairs[1], pairs[2], (_depths(board[0]), _depths(board[1])))


def king_map(scanned: TableCounts) -> KingMap:
    """Return where Black's king stands against what it gives."""
    white, black = (tuple(by_score(square) for square in side) for side in scanned.king_on_board())
    return KingMap((white, black))


def _depths(by_code: Counts) -> dict[GScore, dict[int, int]]:
    return {
        value: {depth: number for depth, number in enumerate(by_code[value.code].tolist()) if number}
        for value in by_score(by_code.sum(axis=1))
    }
