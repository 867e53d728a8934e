"""A report as a static site: pages, plots and data that need no server and nothing from other sites.

The first page begins with a striking line and up to three facts, each with a position. The page about a table
also has a fact, which previews of links to the page show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import chess

from tbgen.board.kinds import PIECE_VALUES
from tbgen.board.variant import Variant
from tbgen.html.cards import CARD_SIZE, Caption, ShownPosition, card_png
from tbgen.html.diagrams import diagram, sprites, with_links
from tbgen.html.style import scheme_script, style_sheet, template_environment
from tbgen.report import data
from tbgen.report.difference import Difference
from tbgen.report.highlights import (
    difference_highlights,
    endgame_highlights,
    index_highlights,
    mating_highlights,
    record_highlights,
)
from tbgen.report.mating import GENERAL_SHARE, MIN_MATING_LEAD, mating_rule
from tbgen.report.model import SIDES, Distribution, OverallRecord, Record, TableReport
from tbgen.report.plots import VALUE_GROUPS, by_group, draw_plots
from tbgen.report.wording import COLOURS, FILTERS, TO_MOVE_WORDS, anchor, material_title, score_text, stem
from tbgen.system.files import make_directory, remove_leftovers, write_file
from tbgen.text import counted, plies

PAGES: Final = {
    "index": ("Materials", "exact results of every position"),
    "records": ("Records", "the longest lines to every score"),
    "endgames": ("What every endgame gives", "typical values and exceptions"),
    "mating": ("Mating potential", "the rule of thumb and the facts"),
    "differences": ("Where the rules differ", "r-mobility and whole-game mobility"),
}
"""Maps the file name of each page about all tables to the text of links to the page, and its subtitle. Only
sites with tables for both variants have the last page."""

TABLES_FOLDER: Final = "tables"
"""Folder of the pages about single tables, within the site."""

_REMEDY: Final = "choose another directory with --out"

_SHOWN_RANKS: Final = {0: "mate", 1: "G0.5", 2: "G1.0", 3: "G1.5"}
"""Maps each rank with a column of greatest depths in the list of all materials to the title of the column."""

T = TypeVar("T")

ReportMap = Mapping[Variant, Sequence[TableReport]]
"""Maps each variant to its reports, in build order."""


class Fact(NamedTuple):
    """A striking fact, with a position that shows it."""

    headline: str
    """A short text, such as ``136 plies``."""
    sentence: str
    fen: str
    variant: str
    address: str
    """Relative address of the details about the fact."""

    def draw_picture(self) -> bytes:
        """Return the fact as a PNG picture for sharing."""
        board = chess.Board(self.fen)
        return card_png(
            ShownPosition(board), Caption(self.headline, self.sentence, f"{COLOURS[not board.turn]} to move.")
        )


def find_strangest_record(reports: Sequence[TableReport]) -> Record | None:
    """Return the record with the strangest line, None if there are no lines.

    The strangest line is the longest one in which the weaker side gets a score other than mate.
    If there is no such line, it is the longest line of all.
    """
    lines = [record for report in reports for record in report.records if record.line]

    def strangeness(record: Record) -> tuple[bool, int]:
        behind = mating_rule(record.material).leader == SIDES[record.value.white]
        return behind and record.value.rank > 0, record.depth

    return max(lines, key=strangeness, default=None)


def first_page_facts(reports: Sequence[TableReport], records: Sequence[OverallRecord]) -> list[Fact]:
    """Return at most three facts about tables of the same variant."""
    groups = (_longest_fact(records, mates=True), _longest_fact(records, mates=False), _rarest_fact(reports))
    return [fact for facts in groups for fact in facts]


def table_fact(report: TableReport) -> Fact | None:
    """Return a fact about the longest line of a table, for previews; None if all depths are 0."""
    longest = max(report.records, key=lambda record: record.depth, default=None)
    if longest is None or not longest.depth:
        return None
    length_text = f"{plies(longest.depth)}, to {score_text(longest.value)}"
    sentence = f"The longest line by {report.variant.label} takes {length_text}."
    return Fact(str(longest.material), sentence, longest.fen, longest.variant, f"#{anchor(longest)}")


def _longest_fact(records: Sequence[OverallRecord], *, mates: bool) -> Iterator[Fact]:
    """Yield a fact about the longest line to mate, or to another score, if there is one."""
    of_kind = [overall for overall in records if overall.depth and (overall.g.rank == 0) == mates]
    if of_kind:
        record = max(of_kind, key=lambda overall: overall.depth).holders[0]
        what = "The longest line to mate" if mates else "Without mate, the longest line"
        to = "" if mates else f" to {score_text(record.value)}"
        sentence = f"{what}{to} takes {plies(record.depth)}, in {record.material}."
        yield Fact(
            plies(record.depth), sentence, record.fen, record.variant, f"records.html#{anchor(record)}"
        )


def _rarest_fact(reports: Sequence[TableReport]) -> Iterator[Fact]:
    """Yield a fact about the rarest of the unusual values, if there is one."""
    entries = [(entry, report) for report in reports for entry in report.endgame.unusual]
    if entries:
        entry, report = min(entries, key=lambda pair: pair[0].count)
        count_text = f"{counted(entry.count, 'quiet position')} with {entry.to_move.capitalize()} to move"
        sentence = f"{report.material} has the value {score_text(entry.value)} in {count_text}."
        yield Fact(str(entry.value), sentence, entry.fen, report.variant, f"tables/{stem(report)}.html#gives")


class Site:
    """A site that is written file by file. Files are written under temporary names and renamed when complete.

    Equal reports give identical files.

    :param compares: whether the site has a page about the differences between the rules.
    :param explorer: the address of an explorer, or its path from the first page; diagrams link to it.
    :param address: the future address of the site, which some previews need to show pictures.

    :raises TbgenError: if the directory cannot be created.
    """

    def __init__(
        self,
        directory: Path,
        version: str,
        *,
        compares: bool = False,
        explorer: str | None = None,
        address: str | None = None,
    ) -> None:
        self._directory = directory
        self._explorer = explorer
        self._picture = ""
        """Name of the picture that previews of the pages about all tables show; empty if there is none."""
        self.written: list[Path] = []
        """Paths of the written pages."""
        links = [(name, label) for name, (label, _) in PAGES.items()]
        self._environment = template_environment("tbgen.report")
        self._environment.filters |= {function.__name__: function for function in (diagram, *FILTERS)}
        self._environment.globals |= {
            "pages": links if compares else links[:-1],
            "address": address and f"{address.rstrip('/')}/",
            "version": version,
            "picture_size": CARD_SIZE,
            "sides": TO_MOVE_WORDS,
            "sprites": sprites(),
            "variants": list(Variant),
            "shown_ranks": _SHOWN_RANKS,
            "piece_values": PIECE_VALUES,
            "min_mating_lead": MIN_MATING_LEAD,
            "general_share": GENERAL_SHARE,
        }
        for folder in (directory, directory / TABLES_FOLDER):
            make_directory(folder, remedy=_REMEDY)
            remove_leftovers(folder)

    def write_style(self) -> None:
        """Write the style sheet and the scripts that all pages share."""
        self._write("style.css", style_sheet().encode())
        self._write("scheme.js", scheme_script().encode())
        self._write("boards.js", files("tbgen.report").joinpath("boards.js").read_bytes())

    def write_table(self, report: TableReport, other_variant: Variant | None = None) -> None:
        """Write the page, the plots, the lines and the data of one table.

        :param other_variant: the other variant, if the site also has the table for it.
        """
        name = f"{TABLES_FOLDER}/{stem(report)}"
        for suffix, plot in draw_plots(f"{report.material} by {report.variant.label}", report):
            self._write(f"{name}.{suffix}", plot)
        links = self._write_data(name, data.table_files(report))
        games = "\n".join(record.pgn.rstrip("\n") + "\n" for record in report.records if record.pgn)
        if games:
            self._write(f"{name}.pgn", games.encode())
            links.append((f"{Path(name).name}.pgn", "lines as PGN"))
        fact = table_fact(report)
        if fact:
            self._write(f"{name}.png", fact.draw_picture())
        distribution = report.distribution
        self._write_page(
            name,
            template="material",
            title=f"{report.material}: {material_title(report.material)}, by {report.variant.label}",
            description=(*report.highlights, report.endgame.sentence)[0],
            picture=f"{name}.png" if fact else "",
            report=report,
            other=other_variant,
            files=links,
            has_pgn=bool(games),
            values=sorted(
                {value for side in (*distribution.board, *distribution.en_passant) for value in side}
            )[::-1],
            en_passant=sum(sum(counts.values()) for counts in distribution.en_passant),
            groups=VALUE_GROUPS,
            depths=list(_depth_rows(distribution)),
        )

    def write_overview(self, groups: ReportMap, records: Mapping[Variant, Sequence[OverallRecord]]) -> None:
        """Write the pages about all tables. The first page begins with a line and facts about the first
        variant.

        :param records: the results of :func:`tbgen.report.records.overall_records` for each variant.
        """
        variant, reports = next(iter(groups.items()))
        facts = first_page_facts(reports, records[variant])
        for fact_number, fact in enumerate(facts, 1):
            self._write(f"fact-{fact_number}.png", fact.draw_picture())
        self._picture = "fact-1.png" if facts else ""
        opening = {"hero": find_strangest_record(reports), "facts": facts}
        pawnless = {
            variant: [report for report in reports if not report.material.pawns]
            for variant, reports in groups.items()
        }
        all_reports = list(chain.from_iterable(groups.values()))
        pawnless_only = list(chain.from_iterable(pawnless.values()))
        self._write_topic("index", groups, index_highlights, data.overview_files(all_reports), **opening)
        self._write_topic("records", records, record_highlights, data.record_files(all_reports, records))
        endgames = data.part_files("endgame", "endgames", all_reports)
        mating = data.part_files("mating", "mating", pawnless_only)
        self._write_topic("endgames", groups, endgame_highlights, endgames)
        self._write_topic("mating", pawnless, mating_highlights, mating)

    def _write_topic(
        self,
        name: str,
        groups: Mapping[Variant, Sequence[T]],
        make_highlights: Callable[[Sequence[T]], list[str]],
        contents: Mapping[str, str],
        **context: Any,
    ) -> None:
        """Write a page about all tables, which begins with the highlights of each variant."""
        sentences = {variant: make_highlights(of_variant) for variant, of_variant in groups.items()}
        links = self._write_data(name, contents)
        self._write_page(name, files=links, groups=groups, highlights=sentences, **context)

    def write_differences(self, differences: Sequence[Difference]) -> None:
        """Write the page about the differences between the rules."""
        links = self._write_data("differences", data.difference_files(differences))
        sentences = difference_highlights(differences)
        self._write_page("differences", files=links, differences=differences, highlights=sentences)

    def _write_page(
        self,
        name: str,
        *,
        template: str = "",
        title: str = "",
        description: str = "Exact results of every position in r-mobility chess",
        picture: str | None = None,
        **context: Any,
    ) -> None:
        top = "../" * name.count("/")
        html = self._environment.get_template(f"{template or name}.html.jinja").render(
            title=title or ": ".join(PAGES[name]),
            page=name,
            top=top,
            description=description,
            picture=self._picture if picture is None else picture,
            **context,
        )
        if self._explorer:
            html = with_links(html, _relative_address(top, self._explorer))
        self._write(f"{name}.html", html.encode())
        self.written.append(self._directory / f"{name}.html")

    def _write_data(self, stem: str, contents: Mapping[str, str]) -> list[tuple[str, str]]:
        """Write files of data, and return the name within the folder and the label of each.

        :param stem: the common stem of the names.
        :param contents: contents of the files by suffix.
        """
        for suffix, content in contents.items():
            self._write(f"{stem}.{suffix}", content.encode())
        name = Path(stem).name
        return [(f"{name}.{suffix}", _label(suffix)) for suffix in contents]

    def _write(self, name: str, content: bytes) -> None:
        write_file(self._directory / name, content, remedy=_REMEDY)


def _relative_address(top: str, target: str) -> str:
    """Return the address by which a page links to a target.

    :param top: path from the page to the first page.
    :param target: an address, or a path from the first page.
    """
    return target if target.startswith("/") or ":" in target else top + target


def _depth_rows(distribution: Distribution) -> Iterator[tuple[int, list[list[int]]]]:
    """Yield each depth, and how many positions of each side to move and group of values have it."""
    sides = [by_group(depths) for depths in distribution.depths]
    for depth in sorted({depth for groups in sides for group in groups for depth in group}):
        yield depth, [[group.get(depth, 0) for group in groups] for groups in sides]


def _label(suffix: str) -> str:
    """Return the text of a link to a file of data.

    >>> _label("json"), _label("records.csv")
    ('JSON', 'records as CSV')
    """
    content, _, form = suffix.rpartition(".")
    return f"{content} as {form.upper()}" if content else form.upper()
