"""Plots of a table: what stands where."""

from itertools import pairwise

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from tbgen.board.score import GScore
from tbgen.report.model import Distribution
from tbgen.report.site.plots import value_figure


def made_up(ranks: int, most: int) -> Distribution:
    """As many values of either side, with numbers from large to small."""
    values = [GScore(rank, white) for white in (True, False) for rank in range(ranks)]
    counts = {value: max(1, most >> 2 * place) for place, value in enumerate(values)}
    return Distribution((counts, counts), (counts, counts), ({}, {}), ({}, {}))


@pytest.mark.parametrize("most", [10, 5_000, 1_000_000_000])
@pytest.mark.parametrize("ranks", [2, 8, 12, 19, 40])
def test_labels_of_bars_stay_below_the_title(ranks: int, most: int) -> None:
    with value_figure("KQRvKR by r-mobility", made_up(ranks, most)) as drawing:
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
