"""Standings as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from tbgen.games.standings.table import StandingsTable
from tbgen.games.standings.tournament import Standings
from tbgen.html.environment import environment
from tbgen.text import counted

_FIRST = ("standings", "crosstable", "crosspoints")
"""The tables before the plots of points and Elo."""


def page(
    result: Standings, tables: Sequence[StandingsTable], title: str, plots: Mapping[str, Sequence[Markup]]
) -> str:
    """Return the page: standings and crosstables, plots of points and Elo, then the other tables.

    :param plots: those of :func:`tbgen.games.standings.plots.plots`, or none.
    """
    summary = (
        f"{counted(len(result.games), 'game')} of {counted(len(result.players), 'player')}, scored by "
        f"r-mobility ({result.scheme.value} points)."
    )
    template = environment("tbgen.games.standings").get_template("standings.html.jinja")
    before, behind = ([table for table in tables if (table.key in _FIRST) is each] for each in (True, False))
    return template.render(title=title, summary=summary, before=before, behind=behind, plots=plots)
