"""Highlights: sentences that agree with the numbers."""

from pathlib import Path

from msgspec.structs import replace

from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.report.difference import Difference, SideDifferences, ValuePair
from tbgen.report.highlights import (
    difference_highlights,
    endgame_highlights,
    find_rarest,
    index_highlights,
    mating_highlights,
    record_highlights,
    table_highlights,
)
from tbgen.report.model import Counts, Sides, TableReport
from tbgen.report.records import overall_records
from tests.support.commands import printed
from tests.support.reports import parsed, words


def test_highlights_of_tables_and_pages(reports: dict[str, TableReport]) -> None:
    """The numbers are those that the tests of counts have counted again."""
    every = list(reports.values())
    pawnless = [report for report in every if not report.material.pawns]
    records = overall_records(record for report in every for record in report.records)
    sections = {
        **{name: table_highlights(report) for name, report in reports.items()},
        "without accrued scores": table_highlights(replace(reports["KNvK"], accrued=None)),
        "all tables": index_highlights(every),
        "one table": index_highlights([reports["KNvK"]]),
        "records": record_highlights(records),
        "records of Black": record_highlights(
            overall_records(record for record in reports["KNvK"].records if not record.value.white)
        ),
        "endgames": endgame_highlights(every),
        "mating": mating_highlights(pawnless),
        "a rule that is wrong": mating_highlights(
            [replace(report, mating=replace(report.mating, agrees=False)) for report in pawnless[:2]]
        ),
        "nothing": [
            sentence
            for made in (index_highlights, record_highlights, endgame_highlights, mating_highlights)
            for sentence in made([])
        ],
    }
    for alone in (1, 3):
        ties = [replace(record, ties=1 if place < alone else 2) for place, record in enumerate(records)]
        sections[f"{alone} without ties"] = record_highlights(ties)
    texts = [line for name, sentences in sections.items() for line in (f"# {name}", *sentences)]
    printed("transcripts/highlights", "\n".join(texts) + "\n")


def test_the_rarest_value_of_equals_is_the_first(reports: dict[str, TableReport]) -> None:
    report = reports["KNvK"]
    values = {GScore(4, True): 3, GScore(4, False): 3, GScore(7, True): 9}
    made_up = replace(report.distribution, board=Sides(values, {GScore(0, True): 3}))
    assert find_rarest(replace(report, distribution=made_up)) == (3, 0, GScore(4, True))
    nothing = replace(report.distribution, board=Sides[Counts]({}, {}))
    assert find_rarest(replace(report, distribution=nothing)) is None


def test_differences() -> None:
    def found(name: str, *pairs: tuple[str, str, int]) -> Difference:
        found = tuple(ValuePair(GScore.parse(r), GScore.parse(wg), count) for r, wg, count in pairs)
        white = SideDifferences(1000, sum(pair.count for pair in found), found)
        return Difference(Material.parse(name), white, SideDifferences(1000, 0, ()), ())

    assert difference_highlights(
        [
            found("KvK"),
            found("KNvK", ("G3.5", "G4.5", 100), ("G3.5", "-G4.5", 1)),
            found("KPvK", ("G1.5", "-G0.5", 30)),
        ]
    ) == [
        "The rules differ most in KNvK: 5.1 % of its positions have a different value.",
        "In 30 positions of KPvK (symmetric images counted), more than anywhere else, the two rules give the "
        "score to different sides.",
        "Nothing differs in KvK.",
    ]
    assert difference_highlights([found("KvK")]) == ["Nothing differs in KvK."]
    assert difference_highlights([]) == []


def test_pages_begin_with_what_stands_out(site: Path, shown: list[TableReport]) -> None:
    """Highlights follow the titles of pages; only a striking line may come before them."""
    records = overall_records(record for report in shown for record in report.records)
    for name, sentences in {
        "tables/KRvK.r": table_highlights(shown[1]),
        "index": index_highlights(shown),
        "records": record_highlights(records),
        "endgames": endgame_highlights(shown),
        "mating": mating_highlights([report for report in shown if not report.material.pawns]),
    }.items():
        root = parsed(site / f"{name}.html")
        (main,) = root.iter("main")
        parts = [element for element in main.iter() if element.tag in ("h1", "section", "h2")]
        assert [part.get("class") for part in parts[:3] if part.get("class") != "hero"][1] == "lead"
        lead = next(part for part in parts if part.get("class") == "lead")
        assert [words(item) for item in lead.iter("li")] == sentences
        title = words(next(root.iter("title")))
        assert ": " in title
        assert len(title.split()) >= 5
    table, overview = ((site / name).read_text() for name in ("tables/KRvK.r.html", "records.html"))
    assert "KRvK: king and rook against the bare king, by r-mobility" in table
    assert '<th scope="col" class="word">material (holder)</th>' in overview
