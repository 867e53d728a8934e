"""Standings as one HTML page that needs nothing else."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from markupsafe import Markup

from tbgen.games.standings.plots import elo_plot, histogram_plot, points_plot
from tbgen.games.standings.table import StandingsTable
from tbgen.games.standings.tournament import Standings
from tbgen.html.environment import environment
from tbgen.text import counted

_MOST_HISTOGRAMS = 32
"""The most players that have a histogram of their results, the best first."""
_FIRST = ("standings", "crosstable", "crosspoints")
"""The tables before the plots of points and Elo."""


def page(result: Standings, tables: Sequence[StandingsTable], title: str) -> str:
    """Return the page: standings and crosstables, plots of points and Elo, then the other tables.

    :raises MissingExtraError: without the packages of the extra ``report``.
    """
    plots: dict[str, list[Markup]] = defaultdict(list)
    plots["field"] = [points_plot(result), *elo_plot(result)]
    plots["given"] = [histogram_plot(player) for player in result.players[:_MOST_HISTOGRAMS]]
    summary = (
        f"{counted(len(result.games), 'game')} of {counted(len(result.players), 'player')}, scored by "
        f"r-mobility ({result.scheme.value} points)."
    )
    template = environment("tbgen.games.standings").get_template("standings.html.jinja")
    before, behind = ([table for table in tables if (table.key in _FIRST) is each] for each in (True, False))
    return template.render(title=title, summary=summary, before=before, behind=behind, plots=plots)
