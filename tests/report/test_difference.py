"""Differences between two tables of a material, and the page about them."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import chess
import numpy as np
import pytest
from msgspec import structs
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import NONE, GScore
from tbgen.board.variant import Variant
from tbgen.errors import TbgenError
from tbgen.report.difference import MAX_EXAMPLES, Difference, compare_tables
from tbgen.report.model import SIDES
from tbgen.report.site import Site
from tbgen.report.source import open_source
from tbgen.store.format import table_path
from tbgen.tables.files import open_table, write_table
from tests.support.report_positions import positions
from tests.support.reports import parsed, report_table

KINGS = Material.parse("KvK")


def other_table(source: Path, directory: Path, change: Callable[[NDArray[np.uint8]], None]) -> Path:
    """A directory with a table of KvK in which some values have been changed."""
    with open_table(table_path(source, "KvK", Variant.R_MOBILITY), material=KINGS) as file:
        table = file.read()
    value = table.value.copy()
    change(value)
    path = table_path(directory, "KvK", Variant.R_MOBILITY)
    write_table(replace(table, value=value), path, version="0.1.0", build_seconds=1.0)
    return directory


@pytest.fixture(scope="module")
def altered(three_men: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    def change(value: NDArray[np.uint8]) -> None:
        random = np.random.default_rng(7)
        some = (random.random(value.shape) < 0.3) & np.isin(value, [7, 11, 255 - 11])  # G3.5, G5.5 and -G5.5
        value[some] = random.choice([4, 5, 255 - 8], int(some.sum()))

    return other_table(three_men, tmp_path_factory.mktemp("altered"), change)


def compared(first: Path, second: Path) -> Difference:
    with (
        open_source((first,), KINGS, Variant.R_MOBILITY) as r,
        open_source((second,), KINGS, Variant.R_MOBILITY) as wg,
    ):
        return compare_tables(r, wg)


def test_a_table_does_not_differ_from_itself(three_men: Path) -> None:
    found = compared(three_men, three_men)
    assert [(side.positions, side.differing) for side in found.sides] == [(3612, 0), (3612, 0)]
    assert found.share == 0
    assert found.examples == ()


def test_counts_are_those_of_probing(three_men: Path, altered: Path) -> None:
    found = compared(three_men, altered)
    pairs: Counter[tuple[int, GScore, GScore]] = Counter()
    longest: dict[tuple[int, GScore, GScore], int] = {}
    values = {}
    for one, other in zip(positions(three_men, "KvK"), positions(altered, "KvK"), strict=True):
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
    assert len(found.examples) == min(len(pairs), MAX_EXAMPLES)
    most_frequent = sorted(pairs.values(), reverse=True)[:MAX_EXAMPLES]
    assert [example.count for example in found.examples] == most_frequent
    for example in found.examples:
        assert values[example.fen] == (example.r, example.wg, example.r_depth, example.wg_depth)
        key = SIDES.index(example.to_move), example.r, example.wg
        assert (example.count, example.r_depth) == (pairs[key], longest[key])
        assert chess.COLOR_NAMES[chess.Board(example.fen).turn] == example.to_move


def test_tables_of_other_positions_are_refused(three_men: Path, tmp_path: Path) -> None:
    def change(value: NDArray[np.uint8]) -> None:
        value[0, np.flatnonzero(value[0] != NONE)[0]] = NONE

    other = other_table(three_men, tmp_path, change)
    with pytest.raises(TbgenError, match="the tables of KvK do not hold the same positions"):
        compared(three_men, other)


def test_the_page(three_men: Path, altered: Path, tmp_path: Path) -> None:
    found = compared(three_men, altered)
    report = report_table(three_men, "KvK")
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
        targets = {(link.get("href") or "").partition("#")[0] for link in parsed(tmp_path / name).iter("a")}
        missing = [each for each in targets if each and not ((tmp_path / name).parent / each).is_file()]
        assert missing == [], name
        assert any(target.endswith("differences.html") for target in targets), name
    page = parsed(tmp_path / "differences.html")
    cells = ["".join(cell.itertext()) for cell in page.iter("td")]
    assert cells[:2] == [f"{found.white.positions:,}", f"{found.white.differing:,}"]
    assert cells[3:5] == [f"{found.black.positions:,}", f"{found.black.differing:,}"]
    assert [code.text for code in page.iter("code")] == [example.fen for example in found.examples]
    (written,) = json.loads((tmp_path / "differences.json").read_text())
    assert written == json.loads(json.dumps(found.builtins()))
    assert sum(pair["count"] for pair in written["white"]["pairs"]) == found.white.differing
