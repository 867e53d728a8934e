"""Standings as one HTML page that needs nothing else."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import jinja2

from tbgen.games.standings.places import Standings
from tbgen.games.standings.plots import elo_plot, histogram_plot, points_plot
from tbgen.games.standings.sections import Section


def page(result: Standings, sections: Sequence[Section], title: str) -> str:
    """Return the page: all tables, with plots of points, Elo and results."""
    plots: dict[str, list[str]] = defaultdict(list)
    plots["Standings"] = [points_plot(result), elo_plot(result)]
    plots["Results that the player holds"] = [histogram_plot(player) for player in result.players]
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tbgen.games.standings", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    players = len(result.players)
    summary = (
        f"{result.games} games of {players} players, scored by r-mobility ({result.scheme.value} points)."
    )
    return environment.get_template("page.html.jinja").render(
        title=title, summary=summary, sections=sections, plots=plots
    )
