"""Where two tables of a material differ, and the page about it."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import chess
import html5lib
import numpy as np
import pytest
from msgspec import structs

from tbgen.board.material import Material
from tbgen.board.score import NONE, GScore
from tbgen.board.variant import Variant
from tbgen.errors import TbgenError
from tbgen.report.facts.difference import EXAMPLES, Difference, difference
from tbgen.report.parts import SIDES
from tbgen.report.scan.source import open_source
from tbgen.report.site.site import Site
from tbgen.store.format import table_path
from tbgen.store.reader import TableFile
from tbgen.store.writer import write_table
from tests.support.report_positions import positions
from tests.support.reports import report_table

KNVK = Material.parse("KNvK")


@pytest.fixture(scope="module")
def altered(three_men: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a table of KNvK in which some values are others."""
    directory = tmp_path_factory.mktemp("altered")
    with TableFile(table_path(three_men, "KNvK", Variant.R_MOBILITY), material=KNVK) as file:
        table = file.read()
    value = table.value.copy()
    random = np.random.default_rng(7)
    some = (random.random(value.shape) < 0.1) & np.isin(value, [7, 255 - 7])  # G3.5 and -G3.5
    value[some] = random.choice([4, 5, 255 - 8], int(some.sum()))
    write_table(
        replace(table, value=value),
        table_path(directory, "KNvK", Variant.R_MOBILITY),
        version="0.1.0",
        build_seconds=1.0,
    )
    return directory


def compared(first: Path, second: Path) -> Difference:
    with (
        open_source(first, KNVK, Variant.R_MOBILITY) as r,
        open_source(second, KNVK, Variant.R_MOBILITY) as wg,
    ):
        return difference(r, wg)


def test_a_table_does_not_differ_from_itself(three_men: Path) -> None:
    found = compared(three_men, three_men)
    assert [(side.positions, side.differing) for side in found.sides] == [(205496, 0), (223944, 0)]
    assert found.share == 0
    assert found.examples == ()


def test_counts_are_those_of_probing(three_men: Path, altered: Path) -> None:
    found = compared(three_men, altered)
    pairs: Counter[tuple[int, GScore, GScore]] = Counter()
    longest: dict[tuple[int, GScore, GScore], int] = {}
    values = {}
    for one, other in zip(positions(three_men, "KNvK"), positions(altered, "KNvK"), strict=True):
        if one.value != other.value:
            key = one.side, one.value, other.value
            pairs[key] += one.images
            longest[key] = max(longest.get(key, 0), one.depth)
            values[one.board.fen()] = one.value, other.value, one.depth, other.depth
    assert len(pairs) > 5
    assert {
        (side, pair.r, pair.wg): pair.count for side in (0, 1) for pair in found.sides[side].pairs
    } == pairs
    for side in found.sides:
        counts = [pair.count for pair in side.pairs]
        assert counts == sorted(counts, reverse=True)
        assert side.differing == sum(counts)
    assert found.share == sum(pairs.values()) / sum(side.positions for side in found.sides)
    assert len(found.examples) == min(len(pairs), EXAMPLES)
    assert [example.count for example in found.examples] == sorted(pairs.values(), reverse=True)[:EXAMPLES]
    for example in found.examples:
        assert values[example.fen] == (example.r, example.wg, example.r_depth, example.wg_depth)
        key = SIDES.index(example.to_move), example.r, example.wg
        assert (example.count, example.r_depth) == (pairs[key], longest[key])
        assert chess.COLOR_NAMES[chess.Board(example.fen).turn] == example.to_move


def test_tables_of_other_positions_are_refused(three_men: Path, tmp_path: Path) -> None:
    with TableFile(table_path(three_men, "KNvK", Variant.R_MOBILITY), material=KNVK) as file:
        table = file.read()
    value = table.value.copy()
    value[0, np.flatnonzero(value[0] != NONE)[0]] = NONE
    write_table(
        replace(table, value=value),
        table_path(tmp_path, "KNvK", Variant.R_MOBILITY),
        version="0.1.0",
        build_seconds=1.0,
    )
    with pytest.raises(TbgenError, match="the tables of KNvK do not hold the same positions"):
        compared(three_men, tmp_path)


def test_the_page(three_men: Path, altered: Path, tmp_path: Path) -> None:
    found = compared(three_men, altered)
    report = report_table(three_men, "KNvK")
    other = structs.replace(
        report,
        variant=Variant.WHOLE_GAME,
        records=tuple(structs.replace(record, variant=Variant.WHOLE_GAME) for record in report.records),
    )
    site = Site(tmp_path, "0.1.0", compares=True)
    site.write_style()
    site.write_table(report, Variant.WHOLE_GAME)
    site.write_table(other, Variant.R_MOBILITY)
    site.write_differences([found])
    r, wg = Variant
    site.write_overview({r: [report], wg: [other]}, {r: [], wg: []})
    pages = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.html")}
    assert len(pages) == 7
    for name in pages:
        text = (tmp_path / name).read_text()
        page = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(text)
        for link in page.iter("a"):
            target = link.get("href").partition("#")[0]
            assert not target or ((tmp_path / name).parent / target).is_file(), (name, target)
        assert "differences.html" in text
    page = html5lib.parse((tmp_path / "differences.html").read_text(), namespaceHTMLElements=False)
    cells = ["".join(cell.itertext()) for cell in page.iter("td")]
    assert cells[:2] == [f"{found.white.positions:,}", f"{found.white.differing:,}"]
    assert cells[3:5] == [f"{found.black.positions:,}", f"{found.black.differing:,}"]
    assert [code.text for code in page.iter("code")] == [example.fen for example in found.examples]
    (written,) = json.loads((tmp_path / "differences.json").read_text())
    assert written == json.loads(json.dumps(found.plain()))
    assert sum(pair["count"] for pair in written["white"]["pairs"]) == found.white.differing
