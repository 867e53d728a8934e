"""Highlights: sentences that agree with the numbers."""

import json
import re
from itertools import chain
from pathlib import Path
from typing import Any

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
from tbgen.report.wording import percent
from tbgen.text import plies
from tests.support.reports import parsed, words


def said(report: TableReport) -> str:
    return " ".join(table_highlights(report))


def data(report: TableReport) -> Any:
    return json.loads(json.dumps(report.builtins()))


def test_what_each_table_is_said_to_have(reports: dict[str, TableReport]) -> None:
    """Longest line, rarest value and share of draws in chess agree with the data."""
    for report in reports.values():
        found, text = data(report), said(report)
        longest = max(found["records"], key=lambda record: record["depth"])
        assert (
            f"The longest line from a fresh state takes {plies(longest['depth'])}, to {longest['value']}"
            in text
        )
        board = found["distribution"]["board"]
        counts = list(chain(*(side.items() for side in board.values())))
        least = min(count for _, count in counts)
        ties = sum(count == least for _, count in counts)
        where = f"{least:,} position{'s' * (least != 1)} (symmetric images counted)"
        many = f"The rarest values occur in only {where}. Counting each side to move separately, there are "
        begin = "The rarest value is " if ties == 1 else f"{many}{ties} of them; one is "
        end = f", in {where}." if ties == 1 else "."
        match = re.search(
            rf"{re.escape(begin)}(-?G[\d.]+)[^.]*? with (White|Black) to move{re.escape(end)}", text
        )
        assert match
        assert board[match[2].lower()][match[1]] == least
        drawn = [(value, count) for value, count in counts if value not in ("G0.0", "-G0.0")]
        total, number = sum(count for _, count in counts), sum(count for _, count in drawn)
        white = sum(count for value, count in drawn if not value.startswith("-"))
        assert (
            f"Chess calls {percent(number / total)} of the positions drawn; here every one is decided: White "
            f"holds the score in {percent(white / number)} of them, Black in {percent(1 - white / number)}."
        ) in text


def test_what_contradicts_chess(reports: dict[str, TableReport]) -> None:
    """The highlight that contradicts chess comes first."""
    first = {name: table_highlights(report)[0] for name, report in reports.items()}
    assert first["KvK"] == (
        "The move is a burden: the typical value is -G5.5 with White to move, G5.5 with Black to move."
    )
    assert first["KBvK"] == (
        "White cannot mate even with help, but can generally force G1.5 with either side to move."
    )
    board = data(reports["KRvK"])["distribution"]["board"]["black"]
    held = sum(count for value, count in board.items() if value.startswith("-"))
    assert first["KRvK"] == (
        f"Black is 5 pawns behind, and yet holds the score in {percent(held / sum(board.values()))} of the "
        f"positions with Black to move."
    )
    assert "pawns behind" not in said(reports["KvK"])


def test_exceptions_and_accrued_scores(reports: dict[str, TableReport]) -> None:
    for report in reports.values():
        found, text = data(report), said(report)
        unusual = found["endgame"]["unusual"]
        values = {entry["value"] for entry in unusual}
        assert (f"{len(values)} values are exceptions, in less than 5 %" in text) == (len(values) > 1)
        if unusual:
            assert f" in {plies(max(entry['depth'] for entry in unusual))}." in text
        rows = [row for side in found["accrued"]["board"].values() for row in side.values()]
        wiped, states = sum(row["wiped_out"] for row in rows), sum(row["states"] for row in rows)
        assert (f"captures and pawn moves wipe out {percent(wiped / (states or 1))}." in text) == bool(wiped)
    assert "accrued" not in said(replace(reports["KNvK"], accrued=None))


def test_the_rarest_value_of_equals_is_the_first(reports: dict[str, TableReport]) -> None:
    report = reports["KNvK"]
    values = {GScore(4, True): 3, GScore(4, False): 3, GScore(7, True): 9}
    made_up = replace(report.distribution, board=Sides(values, {GScore(0, True): 3}))
    assert find_rarest(replace(report, distribution=made_up)) == (3, 0, GScore(4, True))
    nothing = replace(report.distribution, board=Sides[Counts]({}, {}))
    assert find_rarest(replace(report, distribution=nothing)) is None


def test_all_tables_together(reports: dict[str, TableReport]) -> None:
    every = list(reports.values())
    text = " ".join(index_highlights(every))
    longest = max((record for report in every for record in report.records), key=lambda record: record.depth)
    assert longest.material.name == "KPvK"
    way = f"leads to G0.0 (White mates): {plies(longest.depth)}, in KPvK."
    assert f"The longest line of all from a fresh state {way}" in text
    board = [count for report in every for side in report.distribution.board for count in side.values()]
    assert min(filter(None, board)) == 4
    assert board.count(4) == 2
    assert (
        "The rarest values occur in only 4 positions (symmetric images counted). Counting each table and "
        "side to move separately, there are 2 of them; one is -G1.5 in KPvK with White to move."
    ) in text
    alone = " ".join(index_highlights([reports["KNvK"]]))
    counts = [count for side in reports["KNvK"].distribution.board for count in side.values() if count]
    assert ("The rarest values" in alone) == (counts.count(min(counts)) > 1)
    assert "The move is a burden in KvK:" in text
    assert "The weaker side gains most from draws in KPvK: with " in text
    assert index_highlights([]) == []


def test_records(reports: dict[str, TableReport]) -> None:
    records = overall_records(record for report in reports.values() for record in report.records)
    text = " ".join(record_highlights(records))
    assert "The longest line of all from a fresh state takes 56 plies, to G0.0 (mate), in KPvK." in text
    assert "from one position alone" not in text
    for number, begin in ((1, "1 record is"), (3, "3 records are")):
        some = [replace(record, ties=1 if place < number else 2) for place, record in enumerate(records)]
        assert f"{begin} reached from one position alone, up to symmetry." in record_highlights(some)
    less = overall_records(record for record in reports["KNvK"].records if not record.value.white)
    assert (
        f"The records have {len(less)} examples, one for each material that reaches a record; in {len(less)} "
        "of them the score belongs to the weaker side."
    ) in record_highlights(less)
    assert record_highlights([]) == []


def test_endgames_and_mating_potential(reports: dict[str, TableReport]) -> None:
    every = list(reports.values())
    text = " ".join(endgame_highlights(every))
    shares = {
        (share, report.material.name)
        for report in every
        for side in report.endgame.sides
        if side.mode is not None and (share := side.share(side.mode))
    }
    share, name = min(shares)
    assert f"least frequent in {name}: " in text
    assert f"in only {percent(share)} of the quiet positions" in text
    wiki = "Of the 6 positions in the article of the TCEC wiki on the rules"
    assert f"{wiki}, 3 have the typical value of the endgame." in text
    assert endgame_highlights([]) == []
    pawnless = [report for report in every if not report.material.pawns]
    text = " ".join(mating_highlights(pawnless))
    assert text == (
        "The rule of thumb is correct wherever it applies. "
        "In KBvK mate cannot generally be forced, but G1.5 can."
    )
    wrong = [replace(report, mating=replace(report.mating, agrees=False)) for report in pawnless[:2]]
    assert mating_highlights(wrong)[0] == "The rule of thumb is wrong for KvK and KQvK."
    assert mating_highlights([]) == []


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
