"""Standings as tables: what players have made, in order, against each other, and how sure it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from tbgen.board.score import GScore
from tbgen.board.scoring import Scheme
from tbgen.games.standings.details import (
    changed_games,
    changed_players,
    endings,
    game_list,
    histogram,
    left_out_games,
    test_table,
)
from tbgen.games.standings.elo import Elo
from tbgen.games.standings.places import Order
from tbgen.games.standings.players import Meeting, Player, Results
from tbgen.games.standings.sprt import Sprt
from tbgen.games.standings.table import (
    Cell,
    Column,
    Part,
    Table,
    decimal,
    elo_text,
    margin_text,
    percent,
    signed,
    telling_apart,
)
from tbgen.games.standings.tournament import LeftOut, Standings

TIEBREAK_RANKS: Final = (1, 2, 3, 4)
"""Ranks with a column of their own: stalemates, G1.0, G1.5, G2.0."""

KEYS: Final = (
    *("standings", "scorings", "ratings", "colours", "crosstable", "meetings", "given", "suffered"),
    *("endings", "left_out", "changed_games", "changed_players", "sprt", "games"),
)
"""All tables, in order."""

_MOST_PLAYERS: Final = 64
"""With more of them a crosstable is not for reading."""


def overview(result: Standings) -> set[str]:
    """Return the keys of the tables that make a page to read: neither the games nor all who have met."""
    hidden = {"games", "meetings"}
    if len(result.players) > _MOST_PLAYERS:
        hidden.add("crosstable")
    return set(KEYS) - hidden


def tables(result: Standings, left_out: LeftOut, test: Sprt | None = None) -> Iterator[Table]:
    """Yield everything there is to say about standings, in the order of :data:`KEYS`."""
    yield _places(result)
    yield _scorings(result)
    yield _ratings(result)
    yield _colours(result)
    yield _crosstable(result)
    yield _meetings(result)
    yield histogram(result, "given", "Results that the player holds")
    yield histogram(result, "suffered", "Results that the opponent holds")
    yield endings(result)
    if left_out.total:
        yield left_out_games(left_out)
    if result.changes:
        yield changed_games(result)
        yield changed_players(result)
    if test is not None:
        yield test_table(test, result)
    yield game_list(result)


_PLACE: Final = Column("place", "", word=True)
_PLAYER: Final = Column("player", "player", word=True)
_GAMES: Final = Column("games", "games")
_SHARE: Final = Column("share", "%", percent)
_CHESS: Final = (Column("wins", "+"), Column("draws", "="), Column("losses", "-"))


def _places(result: Standings) -> Table:
    tcec = result.order is Order.TCEC
    results = [player.results for player in result.players]
    points = Column("points", "points", telling_apart([each.points for each in results]))
    direct = Column("direct", "direct", telling_apart([player.direct for player in result.players]))
    columns = [_PLACE, _PLAYER, _GAMES]
    columns += [Column("classical", "classical", decimal), direct] if tcec else []
    columns += [points, _SHARE, *_CHESS]
    columns += [] if tcec else [direct]
    columns += [Column(f"balance_{_g(rank)}", f"{_g(rank)} +-", signed) for rank in TIEBREAK_RANKS]
    columns += _elo_columns("")[:3]
    rows: list[list[Cell]] = []
    for player in result.players:
        found: dict[str, Cell] = {
            "place": player.place,
            "player": player.name,
            "classical": player.results.classical,
            "direct": player.direct,
            **_counts(player.results),
            **{f"balance_{_g(rank)}": player.balance(rank) for rank in TIEBREAK_RANKS},
            **dict(zip(("elo", "elo_margin", "los"), _elo_cells(player.elo), strict=False)),
        }
        rows.append([found[column.key] for column in columns])
    return Table("standings", "Standings", _places_note(result), columns, rows)


def _places_note(result: Standings) -> str:
    least, most = result.numbers_of_games
    first, then = {
        Order.PERCENT: ("points", "exponential points"),
        Order.POINTS: ("points", "exponential points"),
        Order.TCEC: ("points in chess (classical)", f"{result.scheme.value} points"),
    }[result.order]
    by_percent = result.order is Order.PERCENT
    direct = "points per game of direct encounters" if by_percent else "points of direct encounters"
    rest = "the same for G1.0, and so on"
    if least < most:
        number = f"unequal numbers of games, {least} to {most}"
        if by_percent:
            order = f"Players have {number}: they are ordered by points per game (%), not by points"
            rest += ", all of them per game"
        else:
            order = f"Players are ordered by {first}, although they have {number}"
    else:
        order = f"Players are ordered by {first}"
    return (
        f"Scoring {result.scheme.value}, {_settings(result)}. + = - are results in chess. {order}. Ties are "
        f"broken by {direct} (direct), by {then}, then by stalemates given minus suffered, {rest}. Elo is "
        "against the field, with 95 % margin and likelihood of superiority."
    )


def _settings(result: Standings) -> str:
    """Return by what the games were refereed and scored."""
    words = {"rules": "rules", "fifty_move_rule": "50-move rule", "cutoff": "cutoff", "komi": "komi"}
    return ", ".join(f"{words[name]} {' and '.join(found)}" for name, found in result.settings.items())


def _g(rank: int) -> str:
    return str(GScore(rank, True))


def _counts(results: Results) -> dict[str, Cell]:
    """Return what :data:`_GAMES`, points, :data:`_SHARE` and :data:`_CHESS` show."""
    return {
        "games": results.games,
        "points": results.points,
        "share": float(results.share) if results.games else None,
        "wins": results.wins,
        "draws": results.draws,
        "losses": results.losses,
    }


def _scorings(result: Standings) -> Table:
    players = result.players
    columns = [_PLAYER]
    rows: list[list[Cell]] = [[player.name] for player in players]
    for scheme in Scheme:
        totals = [player.points[scheme] for player in players]
        known = [total for total in totals if total is not None]
        whole = len(known) == len(players)
        places = [None if total is None else 1 + sum(other > total for other in known) for total in totals]
        columns += [
            Column(scheme.value, scheme.value, telling_apart(totals)),
            Column(f"{scheme.value}_place", "", lambda place: f"({place})"),
        ]
        for row, total, place in zip(rows, totals, places, strict=True):
            row += [total, place] if whole else [None, None]
    note = "In brackets the place by these points alone; nothing if full points lack their komi in quarters."
    return Table("scorings", "Points by every scoring", note, columns, rows)


def _elo_columns(prefix: str) -> list[Column]:
    return [
        Column(f"{prefix}elo", "Elo", elo_text),
        Column(f"{prefix}elo_margin", "95 %", margin_text),
        Column(f"{prefix}los", "LOS", lambda chance: f"{chance:.1%}"),
        Column(f"{prefix}nelo", "nElo", elo_text),
        Column(f"{prefix}nelo_margin", "95 %", margin_text),
    ]


def _elo_cells(found: Elo | None) -> list[Cell]:
    """Return the cells of :func:`_elo_columns`."""
    if found is None:
        return [None] * 5
    measured = (found.difference, found.margin, found.superiority)
    return [*measured, found.normalised, found.normalised_margin]


def _ratings(result: Standings) -> Table:
    columns = [_PLAYER, _GAMES, *_elo_columns(""), Column("pairs", "pairs"), *_elo_columns("pairs_")]
    rows: list[list[Cell]] = []
    for player in result.players:
        row: list[Cell] = [player.name]
        for number, found in (
            (player.results.games, player.elo),
            (len(player.pairs.shares), player.pairs.elo),
        ):
            row += [number, *_elo_cells(found)]
        rows.append(row)
    note = (
        "Elo against the field with 95 % margin, likelihood of superiority, and normalised Elo; first by "
        "games, then by pairs of games: from the same position with colours reversed, whose luck evens out."
    )
    return Table("ratings", "Elo by games and by pairs", note, columns, rows)


def _colours(result: Standings) -> Table:
    split = [(player, white) for player in result.players for white in (True, False)]
    points = [player.colours[white].points for player, white in split]
    columns = [_PLAYER, Column("colour", "as", word=True), _GAMES]
    columns += [Column("points", "points", telling_apart(points)), _SHARE, *_CHESS]
    rows: list[list[Cell]] = [
        [player.name, "White" if white else "Black", *_counts(player.colours[white]).values()]
        for player, white in split
    ]
    return Table("colours", "Results by colour", "", columns, rows)


def _crosstable(result: Standings) -> Table:
    players = result.players
    parts = [[_part(player, other) for other in players] for player in players]
    show = telling_apart([part for row in parts for part in row])
    columns = [
        Column("number", "", word=True),
        _PLAYER,
        *(
            Column(player.name, str(number), lambda part: f"{show(part.points)} of {part.games}")
            for number, player in enumerate(players, 1)
        ),
    ]
    rows: list[list[Cell]] = [
        [number, player.name, *row]
        for number, (player, row) in enumerate(zip(players, parts, strict=True), 1)
    ]
    note = "Points of games against each opponent; the numbers above are those at the left."
    return Table("crosstable", "Crosstable", note, columns, rows)


def _part(player: Player, other: Player) -> Part | None:
    meeting = player.meetings.get(other.name)
    return None if meeting is None else Part(meeting.results.points, meeting.results.games)


def _meetings(result: Standings) -> Table:
    met: list[tuple[Player, Player, Meeting]] = [
        (player, other, player.meetings[other.name])
        for place, player in enumerate(result.players)
        for other in result.players[place:]
        if other.name in player.meetings
    ]
    show: Callable[..., str] = telling_apart([meeting.results.points for _, _, meeting in met])
    halves = ("0", "1/2", "1", "1 1/2", "2")
    columns = [_PLAYER, Column("opponent", "opponent", word=True), _GAMES, Column("points", "points", show)]
    columns += [_SHARE, *_CHESS, Column("pairs", "pairs")]
    columns += [Column(f"pairs_{half}_halves", title) for half, title in enumerate(halves)]
    columns += _elo_columns("")[:3]
    rows: list[list[Cell]] = []
    for player, other, meeting in met:
        pairs = meeting.pairs
        row: list[Cell] = [player.name, other.name, *_counts(meeting.results).values(), len(pairs.shares)]
        rows.append([*row, *pairs.halves, *_elo_cells(pairs.elo)[:3]])
    note = (
        "Pairs are two games from the same position with colours reversed: how many brought 0, 1/2, 1, 1 1/2 "
        "and 2 points in chess (pentanomial), and the Elo difference by the points of pairs."
    )
    return Table("meetings", "Who met whom", note, columns, rows)
