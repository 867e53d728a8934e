"""Plots of standings, as images within a page."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from tbgen.board.score import GScore
from tbgen.games.standings.elo import elo_text, margin_text
from tbgen.games.standings.players import Player
from tbgen.games.standings.tournament import Standings
from tbgen.html.plots import FIRST, FIRST_FILL, INK, SECOND_FILL, SOFT, bare, embedded, figure, svg

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_HISTOGRAMS: Final = 32
"""The most players that have a histogram of their results, the best first."""
_LAST: Final = 17
"""Rank of the last bar of a histogram, G8.5 and more: what a lone king gives at the least."""
_NAME: Final = 26
"""Letters of a name that have room beside a plot."""
_ROW: Final = 0.3
"""Inches for a player."""


def plots(result: Standings) -> dict[str, list[Markup]]:
    """Return the plots of a page: those of the whole field, and those beside a table by the key of it."""
    return {
        "field": [points_plot(result), *elo_plot(result)],
        "given": [histogram_plot(player) for player in result.players[:_MOST_HISTOGRAMS]],
    }


def points_plot(result: Standings) -> Markup:
    """Return bars of the share of points that each player has made."""
    players = result.players
    with figure(9, 1 + _ROW * len(players)) as drawing:
        panel = _rows(drawing, [player.name for player in players])
        total = result.field.total
        shares = [float(total(player) / player.results.games) for player in players]
        places = range(len(players))
        bars = panel.barh(places, shares, color=FIRST_FILL, edgecolor=INK, linewidth=0.6, height=0.6)
        panel.bar_label(bars, [f"{share:.1%}" for share in shares], padding=4, fontsize=9)
        panel.set_xlim(0, 1.08)
        panel.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
        panel.set_xlabel("share of points")
        return _image(drawing, "Share of points of each player")


def elo_plot(result: Standings) -> Iterator[Markup]:
    """Yield the Elo difference of each player with its margin; players without a finite one are left out.

    Nothing is drawn if there is none. An unbounded margin goes from edge to edge.
    """
    known = [player for player in result.players if math.isfinite(player.elo.difference)]
    if not known:
        return
    margins = [player.elo.margin if math.isfinite(player.elo.margin) else 0.0 for player in known]
    reach = 1.1 * max(
        20.0, *(abs(player.elo.difference) + margin for player, margin in zip(known, margins, strict=True))
    )
    with figure(9, 1 + _ROW * len(known)) as drawing:
        panel = _rows(drawing, [player.name for player in known])
        panel.axvline(0, color=INK, linewidth=0.8)
        for place, player in enumerate(known):
            difference, margin = player.elo.difference, player.elo.margin
            ends = max(difference - margin, -reach), min(difference + margin, reach)
            panel.plot(ends, (place, place), color=FIRST, linewidth=2.5, solid_capstyle="butt")
            panel.plot(difference, place, marker="o", color=FIRST)
            text = f"{elo_text(difference)} ± {margin_text(margin)}"
            panel.annotate(text, (1.01, place), xycoords=("axes fraction", "data"), va="center", fontsize=9)
        panel.set_xlim(-reach, reach)
        panel.set_xlabel("Elo against the field, with 95 % margins")
        yield _image(drawing, "Elo of each player against the field, with 95 % margins")


def histogram_plot(player: Player) -> Markup:
    """Return how often which score was the result, the player's own upwards and the opponents' downwards."""
    given, suffered = _bars(player.given), _bars(player.suffered)
    with figure(9, 2.6) as drawing:
        panel = drawing.subplots()
        drawing.subplots_adjust(left=0.08, right=0.99, top=0.88, bottom=0.12)
        ranks = range(_LAST + 1)
        for counts, way, colour, hatch in ((given, 1, FIRST_FILL, None), (suffered, -1, SECOND_FILL, "////")):
            heights = [way * counts[rank] for rank in ranks]
            bars = panel.bar(ranks, heights, color=colour, edgecolor=INK, linewidth=0.6, hatch=hatch)
            labels = [str(counts[rank]) if counts[rank] else "" for rank in ranks]
            panel.bar_label(bars, labels, padding=2, fontsize=8)
        panel.axhline(0, color=INK, linewidth=0.8)
        panel.margins(y=0.15)
        names = [f"{GScore(rank, True)}{'+' if rank == _LAST else ''}" for rank in ranks]
        panel.set_xticks(ranks, names, fontsize=8)
        panel.locator_params(axis="y", integer=True)
        panel.yaxis.set_major_formatter(lambda count, _: f"{abs(count):g}")
        panel.set_ylabel("games")
        panel.set_title(f"{_short(player.name)}: results held above, suffered below", fontsize=10, loc="left")
        bare(panel)
        return _image(drawing, f"Results of {player.name}, by G-score: held above, suffered below")


def _bars(held: Counter[int]) -> Counter[int]:
    """Return the number of results by rank; the last bar has all ranks beyond it."""
    counts: Counter[int] = Counter()
    for rank, count in held.items():
        counts[min(rank, _LAST)] += count
    return counts


def _rows(drawing: Figure, names: list[str]) -> Axes:
    """Return a panel with a row for each player, the best above."""
    panel = drawing.subplots()
    height = 1 + _ROW * len(names)
    drawing.subplots_adjust(left=0.24, right=0.84, top=1 - 0.15 / height, bottom=0.6 / height)
    panel.set_yticks(range(len(names)), [_short(name) for name in names])
    panel.set_ylim(len(names) - 0.5, -0.5)
    panel.grid(axis="x", color=SOFT, linewidth=0.3)
    bare(panel)
    return panel


def _short(name: str) -> str:
    return name if len(name) <= _NAME else name[: _NAME - 1] + "…"


def _image(drawing: Figure, alternative: str) -> Markup:
    with warnings.catch_warnings():  # letters that matplotlib's font lacks: the reader's browser has others
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        return embedded(svg(drawing), alternative)
