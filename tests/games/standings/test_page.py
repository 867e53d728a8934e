"""The page of standings: the order of its parts, and its plots."""

from base64 import b64decode
from collections.abc import Sequence
from itertools import permutations

import html5lib
import pytest

from tbgen.games.standings import standings
from tbgen.games.standings.render import page
from tbgen.games.standings.result_charts import plots
from tbgen.games.standings.tables import overview_keys, tables
from tests.support.tournaments import game


@pytest.fixture(autouse=True)
def _one_histogram(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw only one histogram, because drawing is slow."""
    monkeypatch.setattr("tbgen.games.standings.result_charts._MAX_HISTOGRAMS", 1)


def test_standings_come_first_then_crosstables_then_plots() -> None:
    """The page is that of twelve players who have met four times."""
    names = [f"Engine v0.7_dev2-net_15.0-{number:02}" for number in range(12)]
    values = ("G0.0", "G1.5", "-G3.5", "G12.5", "-G0.0")
    games = [game(*pair, values[number % 5]) for number, pair in enumerate(2 * list(permutations(names, 2)))]
    result = standings(games, order="tcec")
    made = page(result, list(tables(result, overview_keys(result))), "Twelve players", plots(result))
    root = html5lib.parse(made, namespaceHTMLElements=False)
    parts = [part for part in root.iter() if part.tag in ("h2", "table", "img")]
    assert [part.get("class") or part.text or part.tag for part in parts][:9] == [
        *("Standings", "standings", "Crosstable", "crosstable", "Crosstable of points", "crosspoints"),
        *("Points and Elo", "img", "img"),
    ]
    rows = next(table for table in root.iter("table") if table.get("class") == "crosstable").iter("tr")
    cells = [["".join(cell.itertext()).strip() for cell in row] for row in rows]
    assert cells[0] == ["#", "player", "sum", *map(str, range(1, 13))]
    assert [len(cell) for cell in cells[1][3:]] == [0] + [4] * 11
    assert cells[1][3] == ""


def test_plots_have_full_names_and_the_points_of_the_order() -> None:
    games = [game("iCE 4.0.853", "Minic 2.17", value) for value in ("G1.5", "G0.0")]
    for order, share in (("tcec", "75.0%"), ("points", "78.1%")):
        result = standings(games, order=order)
        root = html5lib.parse(page(result, list(tables(result, {"standings"})), "Two players", plots(result)))
        image = next(part for part in root.iter() if part.tag.endswith("}img"))
        found = b64decode(image.get("src", "").partition(",")[2]).decode()
        assert ">iCE 4.0.853<" in found
        assert f">{share}<" in found


@pytest.mark.parametrize(
    ("values", "counts"),
    [
        (("G0.0", "-G0.0"), {"field": 0, "given": 0}),  # all are equal
        (("G0.0", "G0.0"), {"field": 0, "given": 0}),  # one player has all points
        (("G0.0", "G1.5"), {"field": 2, "given": 1}),
    ],
)
def test_plots_that_would_show_no_difference_are_left_out(
    values: Sequence[str], counts: dict[str, int]
) -> None:
    result = standings([game("A", "B", value) for value in values])
    assert {place: len(images) for place, images in plots(result).items()} == counts
    made = page(result, list(tables(result, {"standings"})), "Two players", plots(result))
    assert ("Points and Elo" in made) == (counts["field"] > 0)
