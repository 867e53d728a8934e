"""Plots of a table: values, depths, and the squares of the defending king.

They are readable without colours. Bars of White's scores are plain, and bars of Black's scores are hatched.
Lines differ in dashes and markers. Heat maps have a number on every square.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from tbgen.board.score import GScore
from tbgen.board.scoring import points
from tbgen.html.charts import (
    FIRST_FILL,
    FIRST_INK,
    GREY,
    INK,
    SECOND_FILL,
    SECOND_INK,
    figure,
    png,
    set_log_scale,
    svg,
    top_above,
)
from tbgen.report.model import Counts, Depths, Distribution, Sides, TableReport
from tbgen.report.wording import TO_MOVE_WORDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


VALUE_GROUPS: Final = {
    "White mates": ("-", "o", FIRST_INK),
    "White stalemates": ("--", "s", FIRST_INK),
    "White, G1.0 or more": (":", "^", FIRST_INK),
    "Black, G1.0 or more": (":", "v", SECOND_INK),
    "Black stalemates": ("--", "D", SECOND_INK),
    "Black mates": ("-", "X", SECOND_INK),
}
"""Six groups of values, best for White first, each with the dashes, marker and colour of its line. One line
for each value would be unreadable."""
_FILLS: Final[tuple[dict[str, Any], ...]] = ({"color": FIRST_FILL}, {"color": SECOND_FILL, "hatch": "////"})
"""Styles of the bars, for White's scores and for Black's."""
_LABEL_RATIO: Final = 1.3
"""Height of a label's lower edge relative to the height of its bar; the axis is logarithmic."""
_HEAT_MAP_COUNT: Final = 2
"""Number of values that have a heat map: the most frequent ones."""


def draw_plots(title: str, report: TableReport) -> Iterator[tuple[str, bytes]]:
    """Draw all plots of a table, and yield the suffix and the content of each SVG and PNG file."""
    drawings: tuple[tuple[str, str, Callable[[Figure, Any], None], Any], ...] = (
        ("values", "positions by value", draw_values, report.distribution),
        ("depths", "positions by depth", draw_depths, report.distribution.depths),
        ("king", "by the square of Black's king, per cent", draw_king, report.black_king),
    )
    for kind, subject, draw, counts in drawings:
        with figure(9, 6.4 if kind == "king" else 6) as drawing:
            drawing.suptitle(f"{title}: {subject}")
            draw(drawing, counts)
            yield f"{kind}.svg", svg(drawing)
            yield f"{kind}.png", png(drawing)


def draw_values(drawing: Figure, distribution: Distribution) -> None:
    """Draw the numbers of positions by value and side to move, on a logarithmic scale.

    Each position counts with all its symmetric images.
    """
    values = sorted({value for counts in distribution.board for value in counts}, reverse=True)
    axes = drawing.subplots(2, 1, sharex=True)
    drawing.subplots_adjust(left=0.13, right=0.98, top=0.9, bottom=0.14, hspace=0.22)
    for side, panel in enumerate(axes):
        _draw_bars(panel, values, distribution, side)
    axes[1].set_xticks(range(len(values)), [str(value) for value in values], rotation=90)
    axes[1].tick_params(axis="x", labelsize=9 if len(values) <= 40 else 6.5, length=2)
    axes[1].set_xlabel("value, best for White at the left (plain: White holds it; hatched: Black)")
    axes[1].set_xlim(-0.7, len(values) - 0.3)


def _draw_bars(panel: Axes, values: Sequence[GScore], distribution: Distribution, side: int) -> None:
    counts = [distribution.board[side].get(value, 0) for value in values]
    for white in (True, False):
        bars = [bar for bar, value in enumerate(values) if value.white is white and counts[bar]]
        heights = [counts[bar] for bar in bars]
        panel.bar(bars, heights, width=0.8, edgecolor=INK, linewidth=0.6, **_FILLS[not white])
    upright = len(values) > 16
    set_log_scale(panel, top_above(max([*counts, 1]) * _LABEL_RATIO, 0.2 if upright else 0.1))
    size = 7.5 if len(values) <= 24 else 6
    angle = 90 if upright else 0
    for bar, value in enumerate(values):
        share = distribution.share(side, value)
        height = counts[bar] * _LABEL_RATIO
        if share >= 0.0005:
            panel.text(bar, height, f"{share:.1%}", ha="center", va="bottom", fontsize=size, rotation=angle)
    _set_labels(panel, f"{TO_MOVE_WORDS[side]}, {distribution.positions[side].board:,} positions")


def _set_labels(panel: Axes, title: str) -> None:
    panel.set_title(title, fontsize=10, loc="left")
    panel.set_ylabel("positions on the board")


def draw_depths(drawing: Figure, depths: Sides[Depths]) -> None:
    """Draw the numbers of positions by depth, on a logarithmic scale.

    Each position counts with all its symmetric images.
    """
    axes = drawing.subplots(2, 1, sharex=True)
    drawing.subplots_adjust(left=0.13, right=0.78, top=0.9, bottom=0.1, hspace=0.22)
    line_by_label: dict[str, Any] = {}
    for side, panel in enumerate(axes):
        groups = by_group(depths[side])
        for (label, (dashes, marker, colour)), counts in zip(VALUE_GROUPS.items(), groups, strict=True):
            if counts:
                fill = "none" if marker in "s^v" else colour
                style = {"linestyle": dashes, "marker": marker, "color": colour, "markerfacecolor": fill}
                plies = list(counts)
                (line_by_label[label],) = panel.plot(
                    plies, list(counts.values()), markersize=4, linewidth=1.2, **style
                )
        set_log_scale(panel, 2 * max((count for counts in groups for count in counts.values()), default=1))
        _set_labels(panel, TO_MOVE_WORDS[side])
    axes[1].set_xlabel("depth in plies until the accrued score is the value")
    longest = max((max(counts) for values in depths for counts in values.values()), default=0)
    axes[1].set_xlim(-0.5 - longest / 60, longest + 0.5 + longest / 60)
    axes[1].xaxis.get_major_locator().set_params(integer=True)
    labels = [label for label in VALUE_GROUPS if label in line_by_label]
    lines = [line_by_label[label] for label in labels]
    drawing.legend(lines, labels, loc="upper left", bbox_to_anchor=(0.785, 0.88), fontsize=9)


def by_group(depths: Depths) -> tuple[Mapping[int, int], ...]:
    """Return, for each of :data:`VALUE_GROUPS`, the numbers of positions by depth, depths ascending.

    >>> from tbgen.board.score import GScore
    >>> by_group({GScore(0, True): {1: 5}, GScore(4, False): {3: 1, 5: 2}, GScore(6, False): {1: 1, 3: 7}})
    ({1: 5}, {}, {}, {1: 1, 3: 8, 5: 2}, {}, {})
    """
    groups = [Counter[int]() for _ in VALUE_GROUPS]
    for value, counts in depths.items():
        rank = min(value.rank, 2)
        groups[rank if value.white else 5 - rank].update(counts)
    return tuple(dict(sorted(group.items())) for group in groups)


def draw_king(drawing: Figure, counts_by_square: Sides[tuple[Counts, ...]]) -> None:
    """Draw White's mean points, and the shares of the most frequent values, by the square of Black's king."""
    axes = drawing.subplots(2, 1 + _HEAT_MAP_COUNT, squeeze=False)
    drawing.subplots_adjust(left=0.06, right=0.99, top=0.87, bottom=0.05, hspace=0.3, wspace=0.14)
    for panels, name, of_side in zip(axes, TO_MOVE_WORDS, counts_by_square, strict=True):
        _draw_heat_map(panels[0], [_mean_points(counts) for counts in of_side], "White's points, mean")
        panels[0].set_ylabel(name)
        frequent = _most_common(of_side)
        for panel in panels[1 + len(frequent) :]:
            panel.set_axis_off()
        for panel, value in zip(panels[1:], frequent, strict=False):
            shares = [counts.get(value, 0) / sum(counts.values()) if counts else None for counts in of_side]
            _draw_heat_map(panel, shares, f"positions with value {value}")


def _most_common(counts_by_square: Sequence[Counts]) -> list[GScore]:
    sums = Counter[GScore]()
    for counts in counts_by_square:
        sums.update(counts)
    return sorted(sums, key=lambda value: (-sums[value], value.code))[:_HEAT_MAP_COUNT]


def _mean_points(counts: Counts) -> float | None:
    if not counts:
        return None
    return sum(points(value).white * count for value, count in counts.items()) / sum(counts.values())


def _draw_heat_map(panel: Axes, shares_by_square: Sequence[float | None], title: str) -> None:
    """Draw a heat map of shares, darker for lower shares, with the share in per cent on every square."""
    from matplotlib import colormaps
    from matplotlib.collections import PolyCollection

    shares = {square: share for square, share in enumerate(shares_by_square) if share is not None}
    low, high = min(shares.values(), default=0.0), max(shares.values(), default=1.0)
    decimals = 1 if 0 < high - low < 0.1 and high < 0.9995 else 0
    cells = []
    fills = []
    for square, share in shares.items():
        row, file = divmod(square, 8)
        level = (share - low) / (high - low) if high > low else 1.0
        cells.append([(file, row), (file + 1, row), (file + 1, row + 1), (file, row + 1)])
        fills.append(colormaps["cividis"](level))
        text = f"{share * 100:.{decimals}f}"
        ink = "#fefefe" if level < 0.55 else "#101010"
        panel.text(file + 0.5, row + 0.46, text, ha="center", va="center", fontsize=7, color=ink)
    panel.add_collection(PolyCollection(cells, facecolors=fills, edgecolors=GREY, linewidths=0.4))
    panel.set(xlim=(0, 8), ylim=(0, 8), aspect="equal")
    panel.set_xticks([file + 0.5 for file in range(8)], list("abcdefgh"))
    panel.set_yticks([row + 0.5 for row in range(8)], list("12345678"))
    panel.tick_params(length=0, labelsize=8)
    panel.set_title(title, fontsize=9.5, pad=4)
