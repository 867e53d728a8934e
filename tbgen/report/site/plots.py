"""Plots of a table: values, depths, and where the defending king stands.

They are readable without colours: what White holds is plain, what Black holds is hatched, lines differ in
dashes and markers, heat maps have numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tbgen.board.score import GScore
from tbgen.board.scoring import points
from tbgen.html.plots import (
    FIRST,
    FIRST_FILL,
    INK,
    SECOND,
    SECOND_FILL,
    SOFT,
    figure,
    logarithmic,
    png,
    svg,
    top_above,
)
from tbgen.report.model import Counts, Distribution, KingMap
from tbgen.report.site.value_groups import VALUE_GROUPS, by_group

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LINES: Final = (
    ("-", "o", FIRST),
    ("--", "s", FIRST),
    (":", "^", FIRST),
    (":", "v", SECOND),
    ("--", "D", SECOND),
    ("-", "X", SECOND),
)
"""Dashes, marker and colour of the line of each group of values."""
_SIDES: Final = ("White to move", "Black to move")
_GAP: Final = 1.3
"""How much higher than its bar a label begins, on a logarithmic scale."""
_MAPPED: Final = 2
"""Values with a heat map of their own."""


@dataclass(frozen=True, slots=True)
class Plot:
    """A drawn plot in two formats."""

    svg: bytes
    png: bytes


def value_plot(title: str, distribution: Distribution) -> Plot:
    """Draw how many positions on the board have which value, per side to move, on a logarithmic scale."""
    with value_figure(title, distribution) as drawing:
        return _drawn(drawing)


@contextmanager
def value_figure(title: str, distribution: Distribution) -> Iterator[Figure]:
    """Give the plot of :func:`value_plot` before it is rendered."""
    values = sorted({value for counts in distribution.board for value in counts}, reverse=True)
    with figure(9, 6) as drawing:
        axes = drawing.subplots(2, 1, sharex=True)
        drawing.subplots_adjust(left=0.13, right=0.98, top=0.9, bottom=0.14, hspace=0.22)
        drawing.suptitle(f"{title}: positions by value")
        for side, panel in enumerate(axes):
            _value_bars(panel, values, distribution, side)
        axes[1].set_xticks(range(len(values)), [str(value) for value in values], rotation=90)
        axes[1].tick_params(axis="x", labelsize=9 if len(values) <= 40 else 6.5, length=2)
        axes[1].set_xlabel("value, best for White at the left (plain: White holds it; hatched: Black)")
        axes[1].set_xlim(-0.7, len(values) - 0.3)
        yield drawing


def _value_bars(panel: Axes, values: Sequence[GScore], distribution: Distribution, side: int) -> None:
    counts = [distribution.board[side].get(value, 0) for value in values]
    for white in (True, False):
        places = [place for place, value in enumerate(values) if value.white is white and counts[place]]
        panel.bar(
            places,
            [counts[place] for place in places],
            width=0.8,
            color=FIRST_FILL if white else SECOND_FILL,
            edgecolor=INK,
            linewidth=0.6,
            hatch=None if white else "////",
        )
    upright = len(values) > 16
    logarithmic(panel, top_above(max([*counts, 1]) * _GAP, 0.2 if upright else 0.1))
    for place, value in enumerate(values):
        share = distribution.share(side, value)
        if share >= 0.0005:
            panel.text(
                place,
                counts[place] * _GAP,
                f"{share:.1%}",
                ha="center",
                va="bottom",
                fontsize=7.5 if len(values) <= 24 else 6,
                rotation=90 if upright else 0,
            )
    panel.set_title(f"{_SIDES[side]}, {distribution.total(side):,} positions", fontsize=10, loc="left")
    panel.set_ylabel("positions on the board")


def depth_plot(title: str, distribution: Distribution) -> Plot:
    """Draw how many positions on the board take how many plies to their value, on a logarithmic scale."""
    with figure(9, 6) as drawing:
        axes = drawing.subplots(2, 1, sharex=True)
        drawing.subplots_adjust(left=0.13, right=0.78, top=0.9, bottom=0.1, hspace=0.22)
        drawing.suptitle(f"{title}: positions by depth")
        shown: dict[str, Any] = {}
        for side, panel in enumerate(axes):
            most = 1
            groups = by_group(distribution.depths[side])
            for label, depths, (dashes, marker, colour) in zip(VALUE_GROUPS, groups, _LINES, strict=True):
                if not depths:
                    continue
                most = max(most, *depths.values())
                (shown[label],) = panel.plot(
                    list(depths),
                    list(depths.values()),
                    linestyle=dashes,
                    marker=marker,
                    markersize=4,
                    linewidth=1.2,
                    color=colour,
                    markerfacecolor="none" if marker in "s^v" else colour,
                )
            logarithmic(panel, most * 2)
            panel.set_title(_SIDES[side], fontsize=10, loc="left")
            panel.set_ylabel("positions on the board")
        axes[1].set_xlabel("depth in plies until the accrued score is the value")
        longest = max((max(depths) for by in distribution.depths for depths in by.values()), default=0)
        axes[1].set_xlim(-0.5 - longest / 60, longest + 0.5 + longest / 60)
        axes[1].xaxis.get_major_locator().set_params(integer=True)
        drawing.legend(
            [shown[label] for label in VALUE_GROUPS if label in shown],
            [label for label in VALUE_GROUPS if label in shown],
            loc="upper left",
            bbox_to_anchor=(0.785, 0.88),
            fontsize=9,
        )
        return _drawn(drawing)


def king_plot(title: str, kings: KingMap) -> Plot:
    """Draw White's mean points, and the shares of the most frequent values, by the square of Black's king."""
    with figure(9, 6.4) as drawing:
        axes = drawing.subplots(2, 1 + _MAPPED, squeeze=False)
        drawing.subplots_adjust(left=0.06, right=0.99, top=0.87, bottom=0.05, hspace=0.3, wspace=0.14)
        drawing.suptitle(f"{title}: by the square of Black's king, per cent")
        for side, squares in enumerate(kings.counts):
            means = [_mean_points(counts) for counts in squares]
            _map(axes[side][0], means, "White's points, mean")
            axes[side][0].set_ylabel(_SIDES[side])
            common = _most_common(squares)
            for panel in axes[side][1 + len(common) :]:
                panel.set_axis_off()
            for panel, value in zip(axes[side][1:], common, strict=False):
                shares = [_share(counts, value) for counts in squares]
                _map(panel, shares, f"positions worth {value}")
        return _drawn(drawing)


def _most_common(squares: Sequence[Counts]) -> list[GScore]:
    sums: dict[GScore, int] = {}
    for counts in squares:
        for value, count in counts.items():
            sums[value] = sums.get(value, 0) + count
    return sorted(sums, key=lambda value: (-sums[value], value.code))[:_MAPPED]


def _mean_points(counts: Counts) -> float | None:
    total = sum(counts.values())
    if not total:
        return None
    return sum(points(value).white * count for value, count in counts.items()) / total


def _share(counts: Counts, value: GScore) -> float | None:
    total = sum(counts.values())
    return counts.get(value, 0) / total if total else None


def _map(panel: Axes, squares: Sequence[float | None], title: str) -> None:
    """Draw a board of shares: the darker the lower, with its number in per cent on every square."""
    from matplotlib import colormaps
    from matplotlib.collections import PolyCollection

    known = [share for share in squares if share is not None]
    low, high = min(known, default=0.0), max(known, default=1.0)
    decimals = 1 if 0 < high - low < 0.1 and high < 0.9995 else 0
    colours = colormaps["cividis"]
    cells, fills = [], []
    for square, share in enumerate(squares):
        if share is None:
            continue
        row, file = divmod(square, 8)
        level = (share - low) / (high - low) if high > low else 1.0
        cells.append([(file, row), (file + 1, row), (file + 1, row + 1), (file, row + 1)])
        fills.append(colours(level))
        text = f"{share * 100:.{decimals}f}"
        colour = "#fefefe" if level < 0.55 else "#101010"
        panel.text(file + 0.5, row + 0.46, text, ha="center", va="center", fontsize=7, color=colour)
    panel.add_collection(PolyCollection(cells, facecolors=fills, edgecolors=SOFT, linewidths=0.4))
    panel.set_xlim(0, 8)
    panel.set_ylim(0, 8)
    panel.set_aspect("equal")
    panel.set_xticks([file + 0.5 for file in range(8)], list("abcdefgh"))
    panel.set_yticks([row + 0.5 for row in range(8)], list("12345678"))
    panel.tick_params(length=0, labelsize=8)
    panel.set_title(title, fontsize=9.5, pad=4)


def _drawn(drawing: Figure) -> Plot:
    return Plot(svg(drawing), png(drawing))
