"""A report as a static site: pages, plots and data that need no server and nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tbgen.board.variant import Variant
from tbgen.errors import TbgenError
from tbgen.files import remove_leftovers, write_file
from tbgen.html.diagrams import diagram, sprites
from tbgen.html.environment import environment
from tbgen.html.style import style_sheet
from tbgen.report.data import files as data
from tbgen.report.facts.difference import Difference
from tbgen.report.facts.endgames import UNUSUAL_SHARE
from tbgen.report.facts.mating import ENOUGH, GENERAL_SHARE, PIECE_VALUES
from tbgen.report.facts.overview_highlights import (
    difference_highlights,
    endgame_highlights,
    index_highlights,
    mating_highlights,
    record_highlights,
)
from tbgen.report.facts.table_highlights import table_highlights
from tbgen.report.model import Distribution, OverallRecord, TableReport
from tbgen.report.site import filters
from tbgen.report.site.plots import Plot, depth_plot, king_plot, value_plot
from tbgen.report.site.value_groups import VALUE_GROUPS, by_group

PAGES: Final = (
    ("index", "All materials"),
    ("records", "Records"),
    ("endgames", "What every endgame gives"),
    ("mating", "Mating potential"),
)
"""Names of the pages about all tables, and how links to them read."""

DIFFERENCES: Final = ("differences", "Where the rules differ")
"""One more, of sites about tables for both rules."""

_TITLES: Final = {
    "index": "All materials: exact results of every position",
    "records": "Records: the longest ways to every score",
    "endgames": "What every endgame gives: typical values and exceptions",
    "mating": "Mating potential: the rule of thumb and the truth",
    "differences": "Where the rules differ: r-mobility and whole-game mobility",
}
"""What the pages about all tables are."""

TABLES: Final = "tables"
"""Folder of the pages about single tables."""

_SHOWN_RANKS: Final = {0: "mate", 1: "G0.5", 2: "G1.0", 3: "G1.5"}
"""Ranks whose longest depths stand in the table of all materials."""

Groups = Mapping[Variant, Sequence[TableReport]]
"""Reports in build order by variant."""


class Site:
    """Writes a site file by file; a file under its final name is complete.

    The same reports give the same bytes.

    :param compares: whether there will be a page about where the rules differ.

    :raises TbgenError: if the directory cannot be made, or is none.
    """

    def __init__(self, directory: Path, version: str, *, compares: bool = False) -> None:
        self._directory = directory
        self._version = version
        self.pages = (*PAGES, DIFFERENCES) if compares else PAGES
        self.written: list[Path] = []
        """The pages that are there."""
        self._environment = environment("tbgen.report.site")
        self._environment.filters |= {
            "positions": filters.positions,
            "spelled": filters.spelled,
            "stem": filters.stem,
            "anchor": filters.anchor,
            "movetext": filters.movetext,
            "longest": filters.longest,
            "diagram": diagram,
        }
        self._environment.globals |= {
            "sides": filters.SIDES,
            "variants": list(Variant),
            "piece_values": PIECE_VALUES,
            "enough": ENOUGH,
            "general_share": GENERAL_SHARE,
            "unusual_share": UNUSUAL_SHARE,
        }
        try:
            (directory / TABLES).mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise TbgenError(
                f"cannot make the directory {directory}: a file is in the way; choose another with --out"
            ) from error
        except OSError as error:
            raise TbgenError(f"cannot make the directory {directory}: {error.strerror}") from error
        for folder in (directory, directory / TABLES):
            remove_leftovers(folder)

    def write_style(self) -> None:
        """Write what all pages look like."""
        self._write("style.css", style_sheet().encode())

    def write_table(self, report: TableReport, other: Variant | None = None) -> None:
        """Write page, plots, lines and data of one table.

        :param other: the other variant of which the site has the table, if it has it.
        """
        stem = filters.stem(report)
        name = f"{report.material} by {report.variant.label}"
        heading = f"{report.material}: {filters.against(report.material)}"
        for kind, plot in _plots(name, report):
            self._write(f"{TABLES}/{stem}.{kind}.svg", plot.svg)
            self._write(f"{TABLES}/{stem}.{kind}.png", plot.png)
        files = self._write_data(f"{TABLES}/{stem}", data.table_files(report))
        games = "\n".join(record.pgn.rstrip("\n") + "\n" for record in report.records if record.pgn)
        if games:
            self._write(f"{TABLES}/{stem}.pgn", games.encode())
            files.append((f"{stem}.pgn", "lines as PGN"))
        own = report.distribution
        self._write_page(
            f"{TABLES}/{stem}",
            "material",
            title=f"{heading}, by {report.variant.label}",
            heading=heading,
            highlights=table_highlights(report),
            report=report,
            variant_name=report.variant.label,
            other=other and f"{report.material}.{other}",
            other_name=other and other.label,
            stem=stem,
            files=files,
            has_pgn=bool(games),
            sprites=sprites(),
            values=filters.all_values([*own.board, *own.en_passant]),
            en_passant=sum(sum(counts.values()) for counts in own.en_passant),
            outcomes=[filters.outcomes(own.outcomes(side)) for side in (0, 1)],
            groups=VALUE_GROUPS,
            depths=list(_depth_rows(own)),
        )

    def write_overview(self, groups: Groups, records: Mapping[Variant, Sequence[OverallRecord]]) -> None:
        """Write the pages about all tables.

        :param records: what :func:`tbgen.report.facts.records.overall_records` has found, by variant.
        """
        every = [report for reports in groups.values() for report in reports]
        pawnless = {
            variant: [report for report in reports if not report.material.pawns]
            for variant, reports in groups.items()
        }
        self._write_page(
            "index",
            "index",
            files=self._write_data("index", data.overview_files(every)),
            highlights={variant: index_highlights(reports) for variant, reports in groups.items()},
            groups=groups,
            count=len(every),
            names=[variant.label for variant in groups],
            positions=sum(report.distribution.total(side) for report in every for side in (0, 1)),
            shown_ranks=_SHOWN_RANKS,
        )
        self._write_page(
            "records",
            "records",
            files=self._write_data("records", data.record_files(every, records)),
            highlights={variant: record_highlights(found) for variant, found in records.items()},
            groups=records,
            sprites=sprites(),
        )
        self._write_page(
            "endgames",
            "endgames",
            files=self._write_data("endgames", data.endgame_files(every)),
            highlights={variant: endgame_highlights(reports) for variant, reports in groups.items()},
            groups=groups,
            sprites=sprites(),
        )
        self._write_page(
            "mating",
            "mating",
            files=self._write_data(
                "mating", data.mating_files([report for report in every if not report.material.pawns])
            ),
            groups=pawnless,
            highlights={variant: mating_highlights(reports) for variant, reports in pawnless.items()},
        )

    def write_differences(self, differences: Sequence[Difference]) -> None:
        """Write the page about where the rules differ."""
        self._write_page(
            "differences",
            "differences",
            files=self._write_data("differences", data.difference_files(differences)),
            differences=differences,
            highlights=difference_highlights(differences),
            sprites=sprites(),
        )

    def _write_page(self, name: str, template: str, *, title: str = "", **context: Any) -> None:
        html = self._environment.get_template(f"{template}.html.jinja").render(
            title=title or _TITLES[name],
            page=name,
            pages=self.pages,
            top="../" * name.count("/"),
            version=self._version,
            **context,
        )
        self._write(f"{name}.html", html.encode())
        self.written.append(self._directory / f"{name}.html")

    def _write_data(self, stem: str, files: Mapping[str, str]) -> list[tuple[str, str]]:
        """Write files of data by their endings, and return their names within the folder, and labels."""
        for ending, content in files.items():
            self._write(f"{stem}.{ending}", content.encode())
        name = Path(stem).name
        return [(f"{name}.{ending}", _label(ending)) for ending in files]

    def _write(self, name: str, content: bytes) -> None:
        write_file(self._directory / name, content, remedy="choose another directory with --out")


def _plots(title: str, report: TableReport) -> Iterator[tuple[str, Plot]]:
    yield "values", value_plot(title, report.distribution)
    yield "depths", depth_plot(title, report.distribution)
    yield "king", king_plot(title, report.black_king)


def _depth_rows(distribution: Distribution) -> Iterator[tuple[int, list[list[int]]]]:
    """Yield each depth with its positions by side to move and group of values."""
    sides = [by_group(depths) for depths in distribution.depths]
    for depth in sorted({depth for groups in sides for group in groups for depth in group}):
        yield depth, [[group.get(depth, 0) for group in groups] for groups in sides]


def _label(ending: str) -> str:
    """Return how a link to a file of data reads.

    >>> _label("json"), _label("records.csv")
    ('JSON', 'records as CSV')
    """
    what, _, form = ending.rpartition(".")
    return f"{what} as {form.upper()}" if what else form.upper()
