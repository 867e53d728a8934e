"""Standings as tables: places, crosstables, statistics of games, and the certainty of places."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from math import ceil, sqrt
from typing import Final, Literal

from tbgen.board.score import GScore
from tbgen.board.scoring import Scheme
from tbgen.games.outcome import Basis
from tbgen.games.standings.elo import EloModel, elo_text, margin_text
from tbgen.games.standings.players import GamesOfPlayer, Player
from tbgen.games.standings.record import GameRecord
from tbgen.games.standings.table import Cell, Column, Link, StandingsTable, formatter, percent
from tbgen.games.standings.tiebreaks import TIEBREAKS, Lead, tiebreak
from tbgen.games.standings.tournament import Standings
from tbgen.text import counted

_MARKS: Final = "0=1"
"""The marks of a game, by its half points in chess."""
_MAX_MARKS: Final = 24
"""Maximum number of games of two players to show one by one. With more, all cells count games."""
_OWN_CELL: Final = ""
"""The cell of a player against himself. The cell of players who have not met is None."""
_NUMBERS_NOTE: Final = "the columns have the numbers of the rows"


def crosstable(result: Standings) -> StandingsTable:
    """Return the crosstable with each game of every two players, in the form of TCEC's crosstables.

    This is the form of ``*_crosstable.txt`` of TCEC's cutechess-cli and of TCEC's page, as of 2021
    (github.com/TCEC-Chess, tceccutechess and tcecgui).
    """
    meetings = [meeting for player in result.players for meeting in player.meetings.values()]
    most = max(len(meeting.seats) for meeting in meetings)
    note, per_line, show = "Games in order of play: 1 won, = drawn, 0 lost", 2 * ceil(sqrt(most) / 2), _marks
    if most > _MAX_MARKS:
        note, per_line, show = "Games won (+), drawn (=) and lost (-)", 0, _counts
    dots = "·" * max(len(show(meeting)) for meeting in meetings)
    total = Column("classical", "sum", "results.classical", None)
    column = Column("", "", show=lambda text: text or dots, word=True, marks_per_line=per_line)
    note += f"; the sum is points in chess, and {_NUMBERS_NOTE}."
    return _crosstable(result, "crosstable", "Crosstable", note, total, column, show)


def crosspoints(result: Standings) -> StandingsTable:
    """Return the crosstable with the points of each player against each other player."""
    show = formatter(met.results.points for player in result.players for met in player.meetings.values())
    total = Column("points", "sum", "results.points", None)
    column = Column("", "", show=lambda value: _OWN_CELL if value == _OWN_CELL else show(value))
    note = f"Points by the scoring {result.scheme.value} against each opponent; {_NUMBERS_NOTE}."
    title = "Crosstable of points"
    return _crosstable(result, "crosspoints", title, note, total, column, lambda met: met.results.points)


def _crosstable(
    result: Standings,
    key: str,
    title: str,
    note: str,
    total: Column,
    form: Column,
    cell_of: Callable[[GamesOfPlayer], Cell],
) -> StandingsTable:
    """Return a crosstable.

    :param form: the column to be copied for each opponent.
    :param cell_of: returns the cell for a player's games against an opponent.
    """
    numbers = {player.name: number for number, player in enumerate(result.players, 1)}

    def cell(opponent: str, player: Player) -> Cell:
        met = player.meetings.get(opponent)
        if met is None:
            return _OWN_CELL if opponent == player.name else None
        return cell_of(met)

    row_heads = [Column("number", "", lambda player: numbers[player.name], word=True), _PLAYER_COLUMN, total]
    opponents = [
        replace(form, key=name, title=str(number), source=partial(cell, name))
        for name, number in numbers.items()
    ]
    return replace(StandingsTable.of(key, title, [*row_heads, *opponents], result.players, note), gap=1)


def _marks(met: GamesOfPlayer) -> str:
    """Return a mark for the result in chess of each game."""
    return "".join(_MARKS[seat.halves] for seat in met.seats)


def _counts(met: GamesOfPlayer) -> str:
    return f"+{met.results.wins} ={met.results.draws} -{met.results.losses}"


def endings(result: Standings) -> StandingsTable:
    """Return the numbers of games by basis."""
    columns = [
        Column("basis", "basis", "value", word=True),
        Column("games", "games", lambda basis: result.bases[basis]),
    ]
    bases = [basis for basis in Basis if basis in result.bases]
    return StandingsTable.of("endings", "How games ended", columns, bases)


def bounds(result: Standings) -> StandingsTable:
    """Return the possible places and sums of players; no rows if all values are proved."""
    certainty, chess = result.certainty, result.order.lead is Lead.CHESS
    points = TIEBREAKS["rmobility" if chess else "points"]

    def total(player: Player) -> Cell:
        return points.value(player, (), result.field)

    players = result.players if certainty.unproven else ()
    show = formatter(each for player in players for each in (total(player), *certainty.sums(points, player)))
    columns = [
        Column("place", "", word=True),
        _PLAYER_COLUMN,
        Column("best", "best", lambda player: certainty.places[player.name].best),
        Column("worst", "worst", lambda player: certainty.places[player.name].worst),
        Column("unproven", "unproven", certainty.unproven_count),
        Column(points.key, points.title, total, show),
        Column("least", "at least", lambda player: certainty.sums(points, player).least, show),
        Column("most", "at most", lambda player: certainty.sums(points, player).most, show),
    ]
    note = (
        f"{certainty.sentence} Best and worst are places, at least and at most are sums, over all values "
        "that are not disproved."
    )
    return StandingsTable.of("bounds", "Proved bounds of places and sums", columns, players, note)


def left_out_games(result: Standings) -> StandingsTable:
    """Return the numbers of games that do not count, by reason; no rows if all games count."""
    left_out = result.left_out
    columns = [Column("reason", "reason", word=True), Column("games", "games")]
    rows: list[list[Cell]] = [["no result (*)", left_out.unfinished], ["broken", left_out.broken]]
    rows.append(["lost by both sides (0-0)", left_out.lost_by_both])
    rows = rows if left_out.total else []
    return StandingsTable("left_out", "Games left out", "These games do not count.", columns, rows)


def doubtful_games(result: Standings) -> StandingsTable:
    """Return the doubtful games; no rows if none is doubtful."""
    columns = [
        Column("game", "game", "place", word=True),
        Column("players", "players", word=True),
        Column("doubts", "doubts", lambda game: ", ".join(game.outcome.doubts), word=True),
        Column("classical", "classical", word=True),
        Column("result", "result", lambda game: str(game.value)),
        Column("basis", "basis", "outcome.basis.value", word=True),
    ]
    games = [game for game in result.games if game.outcome.doubts]
    kinds = dict.fromkeys(doubt for game in games for doubt in game.outcome.doubts)
    note = " ".join(f"{doubt.capitalize()}: {doubt.sentence}." for doubt in kinds)
    return StandingsTable.of("doubtful", "Doubtful games", columns, games, note)


def changed_games(result: Standings) -> StandingsTable:
    """Return the games whose proved results differ from their accrued scores."""
    show = formatter(points for change in result.changes for points in (change.before, change.after))
    columns = [
        Column("game", "game", "game.place", word=True),
        Column("players", "players", "game.players", word=True),
        Column("accrued", "accrued", lambda change: str(change.game.outcome.accrued)),
        Column("result", "result", lambda change: _result_cell(change.game)),
        Column("points_before", "points before", "before", show),
        Column("points_after", "points after", "after", show),
    ]
    note = "Games whose proved results differ from the score accrued when they stopped; points are White's."
    title = "What best play changed: games"
    return StandingsTable.of("changed_games", title, columns, result.changes, note)


def changed_players(result: Standings) -> StandingsTable:
    """Return the points that players have won or lost by changed results; no rows without changes."""
    gains = result.gains()
    columns = [
        _PLAYER_COLUMN,
        Column("gain", "points", lambda player: float(gains.get(player.name, 0)), "{:+.4f}".format),
    ]
    title, note = "What best play changed: players", "Points won or lost by these changes."
    return StandingsTable.of("changed_players", title, columns, result.players if gains else (), note)


def test_table(result: Standings) -> StandingsTable | None:
    """Return the state of the test as a table; None without a test."""
    test = result.sprt
    if test is None:
        return None
    first, second = result.names
    verdict = {"H1": f"elo {test.elo1:g} accepted", "H0": f"elo {test.elo0:g} accepted"}
    unit = "pairs" if test.pairs else "games"
    facts: dict[str, Cell] = {
        "model": test.model.value,
        **{name: getattr(test, name) for name in ("elo0", "elo1", "alpha", "beta")},
        unit: test.count,
        **{name: getattr(test, name) for name in ("wins", "losses", "draws")},
        "LLR": test.llr,
        "lower bound": test.lower,
        "upper bound": test.upper,
        "verdict": verdict.get(test.verdict, "continue"),
    }
    note = f"{first} against {second}, by {unit}; Elo is {_ELO_WORDS[test.model]}."
    result_of = "pair of p points per game" if test.pairs else "game of p points"
    note += f" Wins, losses and draws have fractions, as points do: a {result_of} is {_FRACTION_WORDS}."
    if test.model is not EloModel.BAYESIAN:
        note += " This model uses the points themselves instead."
    elif test.wins < 1 or test.losses < 1:
        note += " The ratio is undefined before one win and one loss; other models have a ratio."
    paired = 2 * len(result.players[0].pairs.shares)
    if test.pairs:
        note += f" {counted(len(result.games) - paired, 'game')} without a partner left out."
    elif 2 * paired > test.count:
        note += f" {paired:,} of these games form pairs of reversed colours; tbgen score --pairs tests these."
    columns = [Column("quantity", "quantity", word=True), Column("value", "value", show=_fact_text)]
    return StandingsTable("sprt", "SPRT", note, columns, list(facts.items()))


def _fact_text(fact: str | float) -> str:
    """Return words unchanged, small numbers in general format, and others with at most four decimals."""
    if isinstance(fact, str):
        return fact
    return f"{fact:g}" if abs(fact) < _SMALL_NUMBER else f"{fact:.4f}".rstrip("0").rstrip(".")


_SMALL_NUMBER: Final = 0.001
"""Bound below which numbers are shown in general format."""

_FRACTION_WORDS: Final = "2p - 1 wins and 2(1 - p) draws if p is 1/2 or more, else 1 - 2p losses and 2p draws"

_ELO_WORDS: Final = {
    EloModel.LOGISTIC: "logistic, as usual",
    EloModel.NORMALISED: "normalised",
    EloModel.BAYESIAN: "as usual, and Bayes-Elo with the draws of these games",
}


def game_list(result: Standings) -> StandingsTable:
    """Return all games, with White's points. Readers see no file names if all games are from one file."""
    columns = [
        Column("number", "game", word=True),
        Column("round", "round", lambda game: game.round or None),
        Column("white", "white", word=True),
        Column("black", "black", word=True),
        Column("classical", "classical"),
        Column("accrued", "accrued", lambda game: str(game.outcome.accrued)),
        Column("result", "result", _result_cell),
        Column("basis", "basis", "outcome.basis.value", word=True),
        Column("points", "points", lambda game: game.share(result.scheme), None),
    ]
    file = Column("file", "file", word=True)
    note = "Points are White's."
    full = StandingsTable.of("games", "Games", [file, *columns], result.games, note)
    if len({game.file for game in result.games}) > 1:
        return full
    return replace(StandingsTable.of("games", "Games", columns, result.games, note), data=full)


def _result_cell(game: GameRecord) -> Cell:
    """Return the result of a game, with the link to the game if it has one."""
    return Link(str(game.value), game.link) if game.link else str(game.value)


_HISTOGRAM_RANKS: Final = 8
"""Number of ranks with their own column in histograms for readers. Higher ranks share a last column."""
_MAX_CROSSTABLE_PLAYERS: Final = 64
"""Maximum number of players for whom a page shows crosstables."""


_PLAYER_COLUMN: Final = Column("player", "player", "name", word=True)
_RESULT_COLUMNS: Final = [
    Column("games", "games", "results.games"),
    Column("points", "points", "results.points", None),
    Column("share", "%", lambda item: item.results.share if item.results.games else None, percent),
    Column("wins", "+", "results.wins"),
    Column("draws", "=", "results.draws"),
    Column("losses", "-", "results.losses"),
]
"""Columns for items with an attribute ``results``."""
_CHESS_COLUMNS: Final = [
    Column("classical", "points", "results.classical", None),
    Column("share", "%", lambda item: item.results.classical / item.results.games, percent),
]
"""Columns that replace points and their share if players are ordered by points in chess."""
_PAIR_COLUMN: Final = Column("pairs", "pairs", "pairs.count")


_SIDE_HEADS: Final = [_PLAYER_COLUMN, Column("colour", "as", "common", word=True)]


def _sides(result: Standings) -> list[GamesOfPlayer]:
    """Return the games of each player by colour, White first."""
    return [player.colours[white] for player in result.players for white in (True, False)]


def _elo(source: str, prefix: str = "") -> list[Column]:
    """Return the columns of an Elo difference: difference, margin, LOS, and both in normalised Elo.

    :param source: attribute of items that contains the difference.
    :param prefix: prefix of the columns' keys.
    """
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
    games, points, share, *others = _RESULT_COLUMNS
    if chess:
        points, share = _CHESS_COLUMNS
    columns = [Column("place", "", word=True), _PLAYER_COLUMN, games, points, share, *others]
    shown_keys = {column.key for column in columns}
    if result.scheme is Scheme.EXPONENTIAL and not chess:
        shown_keys.add("rmobility")  # equal to the points
    columns += [each.column for each in result.tiebreaks if each.title and each.key not in shown_keys]
    columns += _elo("elo")[:3]
    table = StandingsTable.of("standings", "Standings", columns, result.players, _places_note(result))
    return replace(table, summary=result.certainty.sentence)


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
        ties += f", by the rules of {result.order.rules}"
    return (
        f"Scoring {result.scheme.value}, {_settings(result)}. + = - are results in chess. {order}. Ties are "
        f"broken by {ties}. Points are compared exactly, and shown rounded. Elo "
        f"is by {result.scheme.value} points against the field, with 95 % margin and likelihood of "
        "superiority."
    )


def _settings(result: Standings) -> str:
    """Return the rules and scorings of the games as part of a sentence."""
    words = {"rules": "rules", "fifty_move_rule": "50-move rule", "cutoff": "cutoff", "komi": "komi"}
    return ", ".join(f"{words[name]} {' and '.join(values)}" for name, values in result.settings.items())


def _scorings(result: Standings) -> StandingsTable:
    columns = [_PLAYER_COLUMN]
    for scheme in Scheme:
        points = {player.name: player.points[scheme] for player in result.players}
        totals = {name: total for name, total in points.items() if total is not None}
        if len(totals) < len(points):
            totals = {}
        places = {name: 1 + sum(other > own for other in totals.values()) for name, own in totals.items()}
        columns += [
            Column(scheme.value, scheme.value, partial(_cell_of_player, totals), None),
            Column(f"{scheme.value}_place", "", partial(_cell_of_player, places), "({})".format),
        ]
    note = "In brackets: the place by these points alone. Empty if the komi of a game allows no such points."
    return StandingsTable.of("scorings", "Points by every scoring", columns, result.players, note)


def _cell_of_player(cells: Mapping[str, Cell], player: Player) -> Cell:
    return cells.get(player.name)


def _ratings(result: Standings) -> StandingsTable:
    columns = [_PLAYER_COLUMN, _RESULT_COLUMNS[0], *_elo("elo"), _PAIR_COLUMN, *_elo("pairs.elo", "pairs_")]
    note = (
        "Elo against the field with 95 % margin, likelihood of superiority, and normalised Elo; first by "
        "games, then by pairs of games from the same position with colours reversed, which cancels its luck."
    )
    return StandingsTable.of("ratings", "Elo by games and by pairs", columns, result.players, note)


def _colours(result: Standings) -> StandingsTable:
    return StandingsTable.of("colours", "Results by colour", [*_SIDE_HEADS, *_RESULT_COLUMNS], _sides(result))


def _meetings(result: Standings) -> StandingsTable:
    met = [
        player.meetings[other.name]
        for place, player in enumerate(result.players)
        for other in result.players[place:]
        if other.name in player.meetings
    ]
    halves = [
        Column(f"pairs_{number}_halves", title, partial(_halves, number))
        for number, title in enumerate(("0", "1/2", "1", "1 1/2", "2"))
    ]
    opponent = Column("opponent", "opponent", "common", word=True)
    columns = [_PLAYER_COLUMN, opponent, *_RESULT_COLUMNS, _PAIR_COLUMN, *halves, *_elo("pairs.elo")[:3]]
    note = (
        "Pairs are two games from the same position with colours reversed: the numbers of pairs with 0, 1/2, "
        "1, 1 1/2 and 2 points in chess (pentanomial), and the Elo difference by the points of pairs."
    )
    return StandingsTable.of("meetings", "Meetings", columns, met, note)


def _halves(number: int, meeting: GamesOfPlayer) -> int:
    """Return the number of pairs of a meeting with a number of half points in chess."""
    return meeting.pairs.halves[number]


def _histogram(kind: Literal["given", "suffered"], title: str, result: Standings) -> StandingsTable:
    """Return the numbers of games by player, colour and score, for the results that one side holds."""

    def column(name: str, ranks: Sequence[int]) -> Column:
        def count(side: GamesOfPlayer) -> int:
            counts = side.given if kind == "given" else side.suffered
            return sum(counts[rank] for rank in ranks)

        return Column(name, name, count)

    def table(columns: Sequence[Column]) -> StandingsTable:
        note = "Games by player, colour and G-score."
        return StandingsTable.of(kind, title, [*_SIDE_HEADS, *columns], _sides(result), note)

    ranks = sorted({game.value.rank for game in result.games})
    columns = [column(str(GScore(rank, True)), [rank]) for rank in ranks]
    if len(ranks) <= _HISTOGRAM_RANKS:
        return table(columns)
    rest = column("more", ranks[_HISTOGRAM_RANKS:])
    return replace(table([*columns[:_HISTOGRAM_RANKS], rest]), data=table(columns))


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
"""Keys of all tables, in order."""


def overview(result: Standings) -> set[str]:
    """Return the keys of the tables for a page: all except games, meetings and very large crosstables."""
    hidden = {"games", "meetings"}
    if len(result.players) > _MAX_CROSSTABLE_PLAYERS:
        hidden |= {"crosstable", "crosspoints"}
    return set(KEYS) - hidden


def tables(result: Standings, keys: Container[str] = KEYS) -> Iterator[StandingsTable]:
    """Yield tables of standings in the order of :data:`KEYS`, without tables that have no rows."""
    built = (build(result) for key, build in _TABLES.items() if key in keys)
    return (table for table in built if table is not None and table.rows)


def lead_of(result: Standings) -> str:
    """Return the lead of the first player in words, such as ``2.5 to 1.5 points``; empty without a lead.

    If rounded points do not show the lead, the words contain the difference. If the points are equal, the
    words name the tiebreak that decides.
    """
    first, *others = result.players
    if not others or others[0].place == 1:
        return ""
    second, field = others[0], result.field
    ours, theirs = field.total(first), field.total(second)
    unit = "points in chess" if field.lead is Lead.CHESS else "points"
    if field.lead is Lead.PERCENT and first.results.games != second.results.games:
        ours, theirs, unit = first.results.share, second.results.share, "points per game"
    show = formatter([ours, theirs])
    if show(ours) != show(theirs):
        return f"{show(ours)} to {show(theirs)} {unit}"
    if ours != theirs:
        return f"ahead by {_two_digits(ours - theirs)} {unit}, with {show(ours)} each when rounded"

    tie = next(each for each in result.tiebreaks if each.compare(first, second, field))
    # Not ``tie.words``, which may be empty or refer to an earlier tiebreak.
    return f"level on {unit} ({show(ours)} each), ahead by {tiebreak(tie.key).words}"


def _two_digits(lead: Fraction) -> str:
    """Return a number rounded to two significant digits.

    >>> _two_digits(Fraction(1, 2**30)), _two_digits(Fraction(1, 20_000))
    ('0.00000000093', '0.00005')
    """
    return f"{Decimal(f'{float(lead):.1e}').normalize():f}"
