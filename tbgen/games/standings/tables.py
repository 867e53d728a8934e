"""Standings as tables: what players have made, in order, against each other, and how sure it is."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, Literal, NamedTuple

from tbgen.board.score import GScore
from tbgen.board.scoring import Scheme
from tbgen.games.standings.crosstables import crosspoints, crosstable
from tbgen.games.standings.details import (
    bounds,
    changed_games,
    changed_players,
    doubtful_games,
    endings,
    game_list,
    left_out_games,
    test_table,
)
from tbgen.games.standings.elo import elo_text, margin_text
from tbgen.games.standings.players import Meeting, Player, Results
from tbgen.games.standings.table import (
    Cell,
    Column,
    StandingsTable,
    percent,
)
from tbgen.games.standings.tiebreaks import Lead
from tbgen.games.standings.tournament import Standings

_HISTOGRAM_RANKS: Final = 8
"""Ranks with a column of their own in histograms for readers; larger ones share the last."""
_MOST_PLAYERS: Final = 64
"""With more of them crosstables are not for reading."""


_PLAYER: Final = Column("player", "player", "name", word=True)
_RESULTS: Final = [
    Column("games", "games", "results.games"),
    Column("points", "points", "results.points", None),
    Column("share", "%", lambda item: item.results.share if item.results.games else None, percent),
    Column("wins", "+", "results.wins"),
    Column("draws", "=", "results.draws"),
    Column("losses", "-", "results.losses"),
]
"""Of items that have results."""
_CHESS: Final = [
    Column("classical", "points", "results.classical", None),
    Column("share", "%", lambda item: item.results.classical / item.results.games, percent),
]
"""Of players that are ordered by points in chess, in place of points and their share."""
_PAIRS: Final = Column("pairs", "pairs", "pairs.count")


class _Side(NamedTuple):
    """A player with one colour."""

    player: Player
    white: bool

    @property
    def results(self) -> Results:
        """Of the games with that colour."""
        return self.player.colours[self.white]


_SIDE: Final = [
    Column("player", "player", "player.name", word=True),
    Column("colour", "as", lambda side: "White" if side.white else "Black", word=True),
]


def _sides(result: Standings) -> list[_Side]:
    return [_Side(player, white) for player in result.players for white in (True, False)]


def _elo(source: str, prefix: str = "") -> list[Column]:
    """Return columns of an Elo difference: it, its margin, the likelihood of superiority, both normalised."""
    return [
        Column(f"{prefix}{key}", title, f"{source}.{part}", show)
        for key, title, part, show in (
            ("elo", "Elo", "difference", elo_text),
            ("elo_margin", "95 %", "margin", margin_text),
            ("los", "LOS", "superiority", "{:.1%}".format),
            ("nelo", "nElo", "normalised", elo_text),
            ("nelo_margin", "95 %", "normalised_margin", margin_text),
        )
    ]


def _places(result: Standings) -> StandingsTable:
    chess = result.order.lead is Lead.CHESS
    games, points, share, *others = _RESULTS
    if chess:
        points, share = _CHESS
    columns = [Column("place", "", word=True), _PLAYER, games, points, share, *others]
    shown = {column.key for column in columns}
    if result.scheme is Scheme.EXPONENTIAL and not chess:
        shown.add("rmobility")  # these are the points
    columns += [each.column for each in result.tiebreaks if each.title and each.key not in shown]
    columns += _elo("elo")[:3]
    table = StandingsTable.of("standings", "Standings", columns, result.players, _places_note(result))
    return replace(table, first=result.certainty.sentence)


def _places_note(result: Standings) -> str:
    least, most = result.numbers_of_games
    lead = result.order.lead
    first = "points in chess" if lead is Lead.CHESS else "points"
    ties = ", then ".join(each.words for each in result.tiebreaks if each.words)
    order = f"Players are ordered by {first}"
    if least < most:
        number = f"unequal numbers of games, {least} to {most}"
        if lead is Lead.PERCENT:
            order = f"Players have {number}: they are ordered by points per game (%), not by points"
            ties += ", all of them per game"
        else:
            order += f", although they have {number}"
    byes = [f"{player.name} {player.byes}" for player in result.players if player.byes]
    if byes:
        order += f". Byes count as won games: {', '.join(byes)}"
    if result.order.rules:
        ties += f", as by the rules of {result.order.rules}"
    return (
        f"Scoring {result.scheme.value}, {_settings(result)}. + = - are results in chess. {order}. Ties are "
        f"broken by {ties}. Points are compared exactly, and shown rounded. Elo "
        f"is by {result.scheme.value} points against the field, with 95 % margin and likelihood of "
        "superiority."
    )


def _settings(result: Standings) -> str:
    """Return by what the games were refereed and scored."""
    words = {"rules": "rules", "fifty_move_rule": "50-move rule", "cutoff": "cutoff", "komi": "komi"}
    return ", ".join(f"{words[name]} {' and '.join(found)}" for name, found in result.settings.items())


def _scorings(result: Standings) -> StandingsTable:
    columns = [_PLAYER]
    for scheme in Scheme:
        points = {player.name: player.points[scheme] for player in result.players}
        known = {name: total for name, total in points.items() if total is not None}
        if len(known) < len(points):
            known = {}
        places = {name: 1 + sum(other > own for other in known.values()) for name, own in known.items()}
        columns += [
            Column(scheme.value, scheme.value, partial(_of_player, known), None),
            Column(f"{scheme.value}_place", "", partial(_of_player, places), "({})".format),
        ]
    note = "In brackets the place by these points alone; nothing if full points lack their komi in quarters."
    return StandingsTable.of("scorings", "Points by every scoring", columns, result.players, note)


def _of_player(found: Mapping[str, Cell], player: Player) -> Cell:
    return found.get(player.name)


def _ratings(result: Standings) -> StandingsTable:
    columns = [_PLAYER, _RESULTS[0], *_elo("elo"), _PAIRS, *_elo("pairs.elo", "pairs_")]
    note = (
        "Elo against the field with 95 % margin, likelihood of superiority, and normalised Elo; first by "
        "games, then by pairs of games: from the same position with colours reversed, whose luck evens out."
    )
    return StandingsTable.of("ratings", "Elo by games and by pairs", columns, result.players, note)


def _colours(result: Standings) -> StandingsTable:
    return StandingsTable.of("colours", "Results by colour", [*_SIDE, *_RESULTS], _sides(result))


def _meetings(result: Standings) -> StandingsTable:
    met = [
        player.meetings[other.name]
        for place, player in enumerate(result.players)
        for other in result.players[place:]
        if other.name in player.meetings
    ]
    names = [Column(key, key, word=True) for key in ("player", "opponent")]
    halves = [
        Column(f"pairs_{number}_halves", title, partial(_halves, number))
        for number, title in enumerate(("0", "1/2", "1", "1 1/2", "2"))
    ]
    columns = [*names, *_RESULTS, _PAIRS, *halves, *_elo("pairs.elo")[:3]]
    note = (
        "Pairs are two games from the same position with colours reversed: how many brought 0, 1/2, 1, 1 1/2 "
        "and 2 points in chess (pentanomial), and the Elo difference by the points of pairs."
    )
    return StandingsTable.of("meetings", "Meetings", columns, met, note)


def _halves(number: int, meeting: Meeting) -> int:
    """Return how many pairs of a meeting brought so many half points in chess."""
    return meeting.pairs.halves[number]


def _histogram(kind: Literal["given", "suffered"], title: str, result: Standings) -> StandingsTable:
    """Return games by player, colour and score, of those that the player or the opponent holds."""

    def column(name: str, ranks: Sequence[int]) -> Column:
        def count(side: _Side) -> int:
            held: Mapping[int, int] = getattr(side.player, kind)[side.white]
            return sum(held.get(rank, 0) for rank in ranks)

        return Column(name, name, count)

    def table(columns: Sequence[Column]) -> StandingsTable:
        note = "Games by player, colour and G-score."
        return StandingsTable.of(kind, title, [*_SIDE, *columns], _sides(result), note)

    ranks = sorted({game.value.rank for game in result.games})
    columns = [column(str(GScore(rank, True)), [rank]) for rank in ranks]
    if len(ranks) <= _HISTOGRAM_RANKS:
        return table(columns)
    more = column("more", ranks[_HISTOGRAM_RANKS:])
    return replace(table([*columns[:_HISTOGRAM_RANKS], more]), data=table(columns))


_TABLES: Final[Mapping[str, Callable[[Standings], StandingsTable | None]]] = {
    "standings": _places,
    "crosstable": crosstable,
    "crosspoints": crosspoints,
    "bounds": bounds,
    "scorings": _scorings,
    "ratings": _ratings,
    "colours": _colours,
    "meetings": _meetings,
    "given": partial(_histogram, "given", "Results that the player holds"),
    "suffered": partial(_histogram, "suffered", "Results that the opponent holds"),
    "endings": endings,
    "left_out": left_out_games,
    "doubtful": doubtful_games,
    "changed_games": changed_games,
    "changed_players": changed_players,
    "sprt": test_table,
    "games": game_list,
}

KEYS: Final = tuple(_TABLES)
"""All tables, in order."""


def overview(result: Standings) -> set[str]:
    """Return the keys of the tables that make a page to read: without games and meetings."""
    hidden = {"games", "meetings"}
    if len(result.players) > _MOST_PLAYERS:
        hidden |= {"crosstable", "crosspoints"}
    return set(KEYS) - hidden


def tables(result: Standings, keys: Container[str] = KEYS) -> Iterator[StandingsTable]:
    """Yield tables of standings in the order of :data:`KEYS`; those without rows are left out."""
    made = (make(result) for key, make in _TABLES.items() if key in keys)
    return (table for table in made if table is not None and table.rows)
