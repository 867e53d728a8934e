"""Plots of standings, as images embedded in a page."""

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
from tbgen.html.charts import FIRST_FILL, FIRST_INK, GREY, INK, SECOND_FILL, figure, img_tag, style_panel, svg

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MAX_HISTOGRAMS: Final = 32
"""Maximum number of players, the best first, for whom a histogram of results is plotted."""
_LAST_RANK: Final = 17
"""Rank of the last bar of a histogram, which stands for G8.5 (a bare king with all its moves) and above."""
_MAX_NAME_LENGTH: Final = 26
"""Maximum length, in characters, of a name beside a plot."""
_ROW_INCHES: Final = 0.3
"""Height of a player's row, in inches."""


def plots(standings: Standings) -> dict[str, list[Markup]]:
    """Return the plots of a page by place: ``field`` for the section on all players, else the key of the
    standings table beside which the plots are shown. Plots that would show no difference are left out."""
    players = standings.players[:_MAX_HISTOGRAMS]
    return {
        "field": [*points_plot(standings), *elo_plot(standings)],
        "given": [histogram_plot(player) for player in players if _has_different_results(player)],
    }


def _has_different_results(player: Player) -> bool:
    """Whether the player's results, held or suffered, fill more than one column of a histogram."""
    return len(_bar_heights(player.held_counts + player.suffered_counts)) > 1


def points_plot(standings: Standings) -> Iterator[Markup]:
    """Yield a bar chart of each player's share of points; nothing if at most one player has points, or if all
    shares are equal."""
    players = standings.players
    total = standings.tiebreak_data.total
    shares = [float(total(player) / player.results.games) for player in players]
    if len(set(shares)) < 2 or sum(share > 0 for share in shares) < 2:
        return
    with figure(9, 1 + _ROW_INCHES * len(players)) as drawing:
        panel = _player_panel(drawing, [player.name for player in players])
        rows = range(len(players))
        bars = panel.barh(rows, shares, color=FIRST_FILL, edgecolor=INK, linewidth=0.6, height=0.6)
        panel.bar_label(bars, [f"{share:.1%}" for share in shares], padding=4, fontsize=9)
        panel.set_xlim(0, 1.08)
        panel.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
        panel.set_xlabel("share of points")
        yield _embedded_image(drawing, "Share of points of each player")


def elo_plot(standings: Standings) -> Iterator[Markup]:
    """Yield a plot of the players' Elo differences with their margins; nothing if fewer than two
    different ones are finite.

    Players without a finite difference are omitted. The line for an unbounded margin reaches from edge to
    edge.
    """
    elos = {player.name: player.elo for player in standings.players if player.elo is not None}
    elos = {name: elo for name, elo in elos.items() if math.isfinite(elo.difference)}
    if len({elo.difference for elo in elos.values()}) < 2:
        return
    margins = [elo.margin if math.isfinite(elo.margin) else 0.0 for elo in elos.values()]
    max_elo = 1.1 * max(
        20.0, *(abs(elo.difference) + margin for elo, margin in zip(elos.values(), margins, strict=True))
    )
    with figure(9, 1 + _ROW_INCHES * len(elos)) as drawing:
        panel = _player_panel(drawing, list(elos))
        panel.axvline(0, color=INK, linewidth=0.8)
        for row, elo in enumerate(elos.values()):
            difference, margin = elo.difference, elo.margin
            line_ends = max(difference - margin, -max_elo), min(difference + margin, max_elo)
            panel.plot(line_ends, (row, row), color=FIRST_INK, linewidth=2.5, solid_capstyle="butt")
            panel.plot(difference, row, marker="o", color=FIRST_INK)
            text = f"{elo_text(difference)} ± {margin_text(margin)}"
            panel.annotate(text, (1.01, row), xycoords=("axes fraction", "data"), va="center", fontsize=9)
        panel.set_xlim(-max_elo, max_elo)
        panel.set_xlabel("Elo against the field, with 95 % margins")
        yield _embedded_image(drawing, "Elo of each player against the field, with 95 % margins")


def histogram_plot(player: Player) -> Markup:
    """Return a histogram of a player's results. Bars for results that the opponent holds go down."""
    given, suffered = _bar_heights(player.held_counts), _bar_heights(player.suffered_counts)
    with figure(9, 2.6) as drawing:
        panel = drawing.subplots()
        drawing.subplots_adjust(left=0.08, right=0.99, top=0.88, bottom=0.12)
        ranks = range(_LAST_RANK + 1)
        for counts, sign, fill, hatch in ((given, 1, FIRST_FILL, None), (suffered, -1, SECOND_FILL, "////")):
            heights = [sign * counts[rank] for rank in ranks]
            bars = panel.bar(ranks, heights, color=fill, edgecolor=INK, linewidth=0.6, hatch=hatch)
            labels = [str(counts[rank]) if counts[rank] else "" for rank in ranks]
            panel.bar_label(bars, labels, padding=2, fontsize=8)
        panel.axhline(0, color=INK, linewidth=0.8)
        panel.margins(y=0.15)
        names = [f"{GScore(rank, True)}{'+' if rank == _LAST_RANK else ''}" for rank in ranks]
        panel.set_xticks(ranks, names, fontsize=8)
        panel.locator_params(axis="y", integer=True)
        panel.yaxis.set_major_formatter(lambda count, _: f"{abs(count):g}")
        panel.set_ylabel("games")
        panel.set_title(f"{_label(player.name)}: results held above, suffered below", fontsize=10, loc="left")
        style_panel(panel)
        return _embedded_image(drawing, f"Results of {player.name}, by G-score: held above, suffered below")


def _bar_heights(results: Counter[int]) -> Counter[int]:
    """Return the number of results for each bar. The last bar includes all higher ranks."""
    counts: Counter[int] = Counter()
    for rank, count in results.items():
        counts[min(rank, _LAST_RANK)] += count
    return counts


def _player_panel(drawing: Figure, names: list[str]) -> Axes:
    """Return a panel with a row for each player, the best at the top."""
    panel = drawing.subplots()
    height = 1 + _ROW_INCHES * len(names)
    drawing.subplots_adjust(left=0.24, right=0.84, top=1 - 0.15 / height, bottom=0.6 / height)
    panel.set_yticks(range(len(names)), [_label(name) for name in names])
    panel.set_ylim(len(names) - 0.5, -0.5)
    panel.grid(axis="x", color=GREY, linewidth=0.3)
    style_panel(panel)
    return panel


def _label(name: str) -> str:
    return name if len(name) <= _MAX_NAME_LENGTH else name[: _MAX_NAME_LENGTH - 1] + "…"


def _embedded_image(drawing: Figure, alt_text: str) -> Markup:
    with warnings.catch_warnings():  # the browser has the letters that matplotlib's font lacks
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        return img_tag(svg(drawing), alt_text)
