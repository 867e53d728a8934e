"""Plots of a table: what stands where."""

from itertools import pairwise

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from tbgen.board.score import GScore
from tbgen.html.plots import figure
from tbgen.report.model import Counts, Depths, Distribution, Totals
from tbgen.report.parts import Sides
from tbgen.report.site.plots import draw_values
from tests.support.exhaustive import exhaustive


def made_up(ranks: int, most: int) -> Distribution:
    """As many values of either side, with numbers from large to small."""
    values = [GScore(rank, white) for white in (True, False) for rank in range(ranks)]
    counts = {value: max(1, most >> 2 * place) for place, value in enumerate(values)}
    both, totals = Sides[Counts](counts, counts), Totals(sum(counts.values()), 0)
    return Distribution(both, both, Sides({}, {}), Sides(totals, totals), Sides[Depths]({}, {}))


@pytest.mark.parametrize(
    ("ranks", "most"),
    [
        *((8, 10), (19, 1_000_000_000)),
        *exhaustive((ranks, most) for ranks in (2, 12, 40) for most in (10, 5_000, 1_000_000_000)),
    ],
)
def test_labels_of_bars_stay_below_the_title(ranks: int, most: int) -> None:
    with figure(9, 6) as drawing:
        draw_values(drawing, made_up(ranks, most))
        FigureCanvasAgg(drawing).draw()
        for panel in drawing.axes:
            title, edge = panel.get_title(loc="left"), panel.get_window_extent()
            assert title.endswith("positions")
            boxes = [text.get_window_extent() for text in panel.texts]
            assert boxes
            assert max(box.y1 for box in boxes) <= edge.y1
            assert all(box.y0 >= edge.y0 for box in boxes)
            if ranks <= 19:
                assert all(not one.overlaps(other) for one, other in pairwise(boxes))
