"""Crosstables: what players have made against each other, game by game and in points."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import ceil, sqrt
from operator import itemgetter
from typing import Final

from tbgen.games.standings.players import Player
from tbgen.games.standings.table import Cell, Column, StandingsTable, aligned
from tbgen.games.standings.tournament import Standings

_MARKS: Final = "0=1"
"""A game, by its half points in chess."""
_MOST_MARKS: Final = 24
"""Where two players have met more often, cells count games."""
_OWN: Final = ""
"""The cell of a player against itself; None is that of players who have not met."""
_NUMBERS: Final = "the numbers above are those at the left"


def crosstable(result: Standings) -> StandingsTable:
    """Return the games of each two players one by one, in the form of TCEC's crosstables.

    That is the form of ``*_crosstable.txt`` of TCEC's cutechess-cli and of the page with its games, as of
    2021: github.com/TCEC-Chess, tceccutechess and tcecgui.
    """
    games = [_games(player) for player in result.players]
    most = max(len(marks) for met in games for marks in met.values())
    note, line = "Games in order of play: 1 won, = drawn, 0 lost", 2 * ceil(sqrt(most) / 2)
    if most > _MOST_MARKS:
        games = [{name: _counts(marks) for name, marks in met.items()} for met in games]
        note, line = "Games won (+), drawn (=) and lost (-)", 0
    dots = "·" * max(len(text) for met in games for text in met.values())
    total = Column("classical", "sum", lambda row: row[1].results.classical, None)
    column = Column("", "", show=lambda text: text or dots, word=True, line=line)
    note += f"; the sum is points in chess, and {_NUMBERS}."
    return _table(result, "crosstable", "Crosstable", note, [total, column], games)


def crosspoints(result: Standings) -> StandingsTable:
    """Return the points of each player against each other."""
    points = [
        {name: meeting.results.points for name, meeting in player.meetings.items()}
        for player in result.players
    ]
    show = aligned(value for met in points for value in met.values())
    total = Column("points", "sum", lambda row: row[1].results.points, None)
    column = Column("", "", show=lambda value: _OWN if value == _OWN else show(value))
    note = f"Points by the scoring {result.scheme.value} against each opponent; {_NUMBERS}."
    return _table(result, "crosspoints", "Crosstable of points", note, [total, column], points)


def _table(
    result: Standings,
    key: str,
    title: str,
    note: str,
    columns: Sequence[Column],
    met: Sequence[Mapping[str, Cell]],
) -> StandingsTable:
    """Return a crosstable.

    :param columns: that of the sum, and the form of those of opponents.
    :param met: the cells of each player, by opponent.
    """
    total, form = columns

    def cell(name: str, row: tuple[int, Player, Mapping[str, Cell]]) -> Cell:
        return row[2].get(name, _OWN if name == row[1].name else None)

    left = [
        Column("number", "", itemgetter(0), word=True),
        Column("player", "player", lambda row: row[1].name, word=True),
        total,
    ]
    opponents = [
        replace(form, key=player.name, title=str(number), source=partial(cell, player.name))
        for number, player in enumerate(result.players, 1)
    ]
    rows = [(number, player, met[number - 1]) for number, player in enumerate(result.players, 1)]
    table = StandingsTable.of(key, title, [*left, *opponents], rows, note)
    return replace(table, gap=1)


def _games(player: Player) -> dict[str, str]:
    """Return the results of a player's games in chess, a mark each, by opponent."""
    marks = defaultdict[str, str](str)
    for seat in player.seats:
        marks[seat.opponent] += _MARKS[seat.halves]
    return dict(marks)


def _counts(marks: str) -> str:
    count = Counter(marks)
    return f"+{count['1']} ={count['=']} -{count['0']}"
