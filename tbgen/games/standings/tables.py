"""Standings as tables: places, crosstables, statistics of games, and the certainty of places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from math import ceil, isfinite, isnan, sqrt
from typing import Final, Literal

from tbgen.board.score import GScore
from tbgen.board.scoring import Scheme
from tbgen.games.outcome import RESULTS, Basis
from tbgen.games.standings.elo import DEFAULT_ANCHOR, EloModel, elo_text, margin_text
from tbgen.games.standings.knockout import Duel, DuelDecision
from tbgen.games.standings.players import GamesOfPlayer, Player, Results
from tbgen.games.standings.record import GameRecord
from tbgen.games.standings.table import Cell, Column, Link, StandingsTable, make_show, percent_text
from tbgen.games.standings.tiebreaks import TIEBREAKS, OrderBy, tiebreak
from tbgen.games.standings.tournament import Decision, Standings
from tbgen.text import join_words

_SIGNS: Final = "0=1"
"""The signs of games with 0, 1 and 2 half points in chess."""
_MAX_SIGNS: Final = 24
"""Maximum number of games between two players to show one by one. Above it, all cells show counts."""
_OWN_CELL: Final = ""
"""The cell of a player against himself. The cell for players who have not met is None."""
_NUMBERS_NOTE: Final = "the columns have the numbers of the rows"

_SMALL_NUMBER: Final = 0.001
"""Bound below which absolute values are shown in general format."""

_FRACTION_WORDS: Final = "2p - 1 wins and 2 - 2p draws if p is 1/2 or more, else 1 - 2p losses and 2p draws"

_ELO_WORDS: Final = {
    EloModel.LOGISTIC: "logistic, as usual",
    EloModel.NORMALISED: "normalised",
    EloModel.BAYESIAN: "as usual, and Bayes-Elo with the draws of these games",
}

_HISTOGRAM_RANKS: Final = 8
"""Number of ranks with their own columns in histograms outside CSV files. Higher ranks share the last
column."""
_MAX_CROSSTABLE_PLAYERS: Final = 64
"""Maximum number of players in the crosstables of a page. If there are more, the page has no crosstables."""

_MAX_ROUNDS: Final = 64
"""Maximum number of rounds in the table of rounds."""
_MIN_JOINT_PLAYERS: Final = 3
"""Minimum number of players for joint ratings; two players have their Elo difference."""

_PLAYER_COLUMN: Final = Column("player", "player", "name", is_text=True)
_RESULT_COLUMNS: Final = [
    Column("games", "games", "results.games"),
    Column("points", "points", "results.points", None),
    Column("share", "%", lambda item: item.results.share if item.results.games else None, percent_text),
    Column("wins", "+", "results.wins"),
    Column("draws", "=", "results.draws"),
    Column("losses", "-", "results.losses"),
]
"""Columns for items with an attribute ``results``."""

_PAIR_COLUMN: Final = Column("pairs", "pairs", "pairs.count")

_LABELS: Final = [_PLAYER_COLUMN, Column("colour", "as", "selection", is_text=True)]
"""The columns that name player and colour."""


def _classical_share(results: Results) -> Fraction | None:
    return results.classical / results.games if results.games else None


_CHESS_COLUMNS: Final = [
    Column("classical", "points", "results.classical", None),
    Column("share", "%", lambda item: _classical_share(item.results), percent_text),
]
"""Columns that replace points and share of points if players are ordered by points in chess."""


def crosstable(standings: Standings) -> StandingsTable:
    """Return the games against each opponent one by one (``1=0=``), by round, as TCEC prints them, and the
    points in chess; pages omit the table if there are more than 64 players.

    TCEC's cutechess-cli (``*_crosstable.txt``) and TCEC's page used this form in 2021
    (github.com/TCEC-Chess, tceccutechess and tcecgui).
    """
    meetings = [meeting for player in standings.players for meeting in player.meetings.values()]
    max_games = max(len(meeting.seats) for meeting in meetings)
    note = "Games by round: 1 won, = drawn, 0 lost"
    per_line = 2 * ceil(sqrt(max_games) / 2)
    show = _signs_text
    if max_games > _MAX_SIGNS:
        note = "Games won (+), drawn (=) and lost (-)"
        per_line = 0
        show = _counts_text
    dots = "·" * max(len(show(meeting)) for meeting in meetings)
    total = Column("classical", "sum", "results.classical", None)
    column = Column("", "", show=lambda text: text or dots, is_text=True, marks_per_line=per_line)
    note += f"; the sum is points in chess, and {_NUMBERS_NOTE}."
    columns = _crosstable_columns(standings, total, column, show)
    return replace(StandingsTable.of("crosstable", "Crosstable", columns, standings.players, note), gap=1)


def _rounds(standings: Standings) -> StandingsTable | None:
    """Return each player's opponent by round, with colours and results in chess. Shown for Swiss events and
    round robins: rounds are numbered, and some round has all players but at most one."""
    rounds = standings.tiebreak_data.rounds
    numbers = {player.name: number for number, player in enumerate(standings.players, 1)}
    players_of_round = [{name for game in games for name in (game.white, game.black)} for games in rounds]
    player_count = len(numbers)
    missing = player_count - max(map(len, players_of_round), default=0)
    if player_count < _MIN_JOINT_PLAYERS or not 1 < len(rounds) <= _MAX_ROUNDS or missing > 1:
        return None

    def cell(index: int, player: Player) -> str:
        game_ids = {id(game) for game in rounds[index]}
        seats = [seat for seat in player.seats if id(seat.game) in game_ids]
        if not seats:
            return "bye" if len(players_of_round[index]) == player_count - 1 else ""
        seats.sort(key=lambda seat: seat.game.round_numbers())
        signs = "".join(_SIGNS[seat.half_points] for seat in seats)
        return f"{numbers[seats[0].opponent]}{'w' if seats[0].is_white else 'b'}{signs}"

    columns = [Column("number", "", lambda player: numbers[player.name], is_text=True), _PLAYER_COLUMN]
    columns += _CHESS_COLUMNS[:1] if standings.order.order_by is OrderBy.CHESS else _RESULT_COLUMNS[1:2]
    for index in range(len(rounds)):
        columns.append(Column(f"round_{index + 1}", str(index + 1), partial(cell, index), is_text=True))
    note = (
        "For each round the number of the opponent, the colour in the first game (w or b), and 1 for a win "
        "in chess, = for a draw, 0 for a loss."
    )
    return StandingsTable.of("rounds", "Round by round", columns, standings.players, note)


def crosspoints(standings: Standings) -> StandingsTable:
    """Return the points against each opponent, by the scoring; pages omit the table if there are more than 64
    players."""
    meetings = [meeting for player in standings.players for meeting in player.meetings.values()]
    show = make_show(meeting.results.points for meeting in meetings)
    total = Column("points", "sum", "results.points", None)
    column = Column("", "", show=lambda value: _OWN_CELL if value == _OWN_CELL else show(value))
    note = f"Points by the scoring {standings.scheme.value} against each opponent; {_NUMBERS_NOTE}."
    columns = _crosstable_columns(standings, total, column, lambda meeting: meeting.results.points)
    title = "Crosstable of points"
    return replace(StandingsTable.of("crosspoints", title, columns, standings.players, note), gap=1)


def _crosstable_columns(
    standings: Standings, total: Column, template_column: Column, cell_of: Callable[[GamesOfPlayer], Cell]
) -> list[Column]:
    """Return the columns of a crosstable.

    :param template_column: the column to copy for each opponent.
    :param cell_of: returns the cell for a player's games against an opponent.
    """
    numbers = {player.name: number for number, player in enumerate(standings.players, 1)}

    def cell(opponent: str, player: Player) -> Cell:
        meeting = player.meetings.get(opponent)
        if meeting is None:
            return _OWN_CELL if opponent == player.name else None
        return cell_of(meeting)

    heads = [Column("number", "", lambda player: numbers[player.name], is_text=True), _PLAYER_COLUMN, total]
    return heads + [
        replace(template_column, key=name, title=str(number), source=partial(cell, name))
        for name, number in numbers.items()
    ]


def _signs_text(meeting: GamesOfPlayer) -> str:
    """Return one sign per game, which shows its result in chess.

    Games are ordered by round, and within a round as in the files: games that are played at once may end, and
    so be written, in any order.
    """
    seats = sorted(meeting.seats, key=lambda seat: seat.game.round_numbers())
    return "".join(_SIGNS[seat.half_points] for seat in seats)


def _counts_text(meeting: GamesOfPlayer) -> str:
    return f"+{meeting.results.wins} ={meeting.results.draws} -{meeting.results.losses}"


def _bracket(standings: Standings) -> StandingsTable | None:
    """Return the duels of a knockout of ``tbgen match``: the points by the scoring of the event, the games
    with the colour and the result in chess of the first player, and who has advanced."""
    stages = () if standings.result is None else standings.result.bracket
    duels = [duel for stage in stages for duel in stage if duel.decision is not DuelDecision.BYE]
    show = make_show(points for duel in duels for points in duel.points)
    columns = [
        Column("stage", "stage", is_text=True),
        Column(
            "players", "players", lambda duel: " - ".join(name or "?" for name in duel.players), is_text=True
        ),
        Column("points", "points", lambda duel: " - ".join(map(show, duel.points)), is_text=True),
        Column("games", "games", _games_text, is_text=True),
        Column("winner", "winner", _winner_text, is_text=True),
    ]
    note = (
        "Points are by the scoring of the event. Games are those of the first player, by encounter: his "
        "colour (w or b), and 1 for a win in chess, = for a draw, 0 for a loss."
    )
    summary = "" if standings.result is None else standings.result.sentence
    return replace(StandingsTable.of("bracket", "Bracket", columns, duels, note), summary=summary)


def _games_text(duel: Duel) -> str:
    encounters: dict[str, list[str]] = {}
    for game in duel.games:
        has_white = game.white == duel.players[0]
        half_points = RESULTS[game.classical]
        sign = _SIGNS[half_points if has_white else 2 - half_points]
        encounters.setdefault(game.key.rpartition(".")[0], []).append(f"{'w' if has_white else 'b'}{sign}")
    return ", ".join(f"{key} {' '.join(signs)}" for key, signs in encounters.items())


def _winner_text(duel: Duel) -> str:
    return f"{duel.winner or ''}{' by seeding' if duel.decision is DuelDecision.SEEDING else ''}"


def basis_counts(standings: Standings) -> StandingsTable:
    """Return the bases of the results, with the number of games of each."""
    columns = [
        Column("basis", "basis", "value", is_text=True),
        Column("games", "games", lambda basis: standings.bases[basis]),
    ]
    bases = [basis for basis in Basis if basis in standings.bases]
    return StandingsTable.of("endings", "How games ended", columns, bases)


def possible_places(standings: Standings) -> StandingsTable:
    """Return the proved bounds of places and sums, if there are unproven games."""
    certainty = standings.certainty
    tie = TIEBREAKS["rmobility" if standings.order.order_by is OrderBy.CHESS else "points"]

    def total(player: Player) -> Cell:
        return tie.number_of(player, (), standings.tiebreak_data)

    players = standings.players if certainty.unproven_games else ()
    show = make_show(cell for player in players for cell in (total(player), *certainty.sums(tie, player)))
    columns = [
        Column("place", "", is_text=True),
        _PLAYER_COLUMN,
        Column("best", "best", lambda player: certainty.places[player.name].best),
        Column("worst", "worst", lambda player: certainty.places[player.name].worst),
        Column("unproven", "unproven", certainty.unproven_count),
        Column(tie.key, tie.title, total, show),
        Column("least", "at least", lambda player: certainty.sums(tie, player).least, show),
        Column("most", "at most", lambda player: certainty.sums(tie, player).most, show),
    ]
    note = (
        f"{certainty.sentence} Best and worst are places, at least and at most are sums, over all values "
        "that are not disproved."
    )
    return StandingsTable.of("bounds", "Proved bounds of places and sums", columns, players, note)


def left_out_games(standings: Standings) -> StandingsTable:
    """Return the number of games that do not count, for each reason, if there are any."""
    left_out = standings.left_out
    columns = [Column("reason", "reason", is_text=True), Column("games", "games")]
    rows: list[list[Cell]] = [["no result (*)", left_out.unfinished], ["broken", left_out.broken]]
    rows.append(["lost by both sides (0-0)", left_out.lost_by_both])
    rows = rows if left_out.total else []
    return StandingsTable("left_out", "Games left out", "These games do not count.", columns, rows)


def doubtful_games(standings: Standings) -> StandingsTable:
    """Return the games that contradict themselves or lack a part, if there are any."""
    columns = [
        Column("game", "game", "location", is_text=True),
        Column("players", "players", is_text=True),
        Column("doubts", "doubts", lambda game: ", ".join(game.outcome.doubts), is_text=True),
        Column("classical", "classical", is_text=True),
        Column("result", "result", lambda game: str(game.value)),
        Column("basis", "basis", "outcome.basis.value", is_text=True),
    ]
    games = [game for game in standings.games if game.outcome.doubts]
    doubts = dict.fromkeys(doubt for game in games for doubt in game.outcome.doubts)
    note = " ".join(f"{doubt.capitalize()}: {doubt.sentence}." for doubt in doubts)
    return StandingsTable.of("doubtful", "Doubtful games", columns, games, note)


def changed_games(standings: Standings) -> StandingsTable:
    """Return the games in which best play would have given another result, as proved by tables, Syzygy files
    or solving, if there are any."""
    show = make_show(cell for change in standings.changes for cell in (change.old_points, change.new_points))
    columns = [
        Column("game", "game", "game.location", is_text=True),
        Column("players", "players", "game.players", is_text=True),
        Column("accrued", "accrued", lambda change: str(change.game.outcome.accrued)),
        Column("result", "result", lambda change: _result_cell(change.game)),
        Column("points_before", "points before", "old_points", show),
        Column("points_after", "points after", "new_points", show),
    ]
    note = "Games whose proved results differ from the score accrued when they stopped; points are White's."
    title = "What best play changed: games"
    return StandingsTable.of("changed_games", title, columns, standings.changes, note)


def changed_players(standings: Standings) -> StandingsTable:
    """Return the points that players have won or lost through changed results, if there are any."""
    gains = standings.gains
    columns = [
        _PLAYER_COLUMN,
        Column("gain", "points", lambda player: float(gains.get(player.name, 0)), "{:+.4f}".format),
    ]
    title = "What best play changed: players"
    note = "Points that players won or lost because results changed."
    return StandingsTable.of("changed_players", title, columns, standings.players if gains else (), note)


def sprt_table(standings: Standings) -> StandingsTable | None:
    """Return the state of the test, if there is one."""
    test = standings.sprt
    if test is None:
        return None
    player, opponent = standings.names
    verdict = {"H1": f"elo {test.elo1:g} accepted", "H0": f"elo {test.elo0:g} accepted"}
    unit = "pairs" if test.pairs else "games"
    quantities: dict[str, Cell] = {
        "model": test.model.value,
        **{name: getattr(test, name) for name in ("elo0", "elo1", "alpha", "beta")},
        unit: test.count,
        **{name: getattr(test, name) for name in ("wins", "losses", "draws")},
        "LLR": test.llr,
        "lower bound": test.lower,
        "upper bound": test.upper,
        "verdict": verdict.get(test.verdict, "continue"),
    }
    note = f"{player} against {opponent}, by {unit}; Elo is {_ELO_WORDS[test.model]}."
    subject = "pair of p points per game" if test.pairs else "game of p points"
    note += f" Wins, losses and draws have fractions, as points do: a {subject} counts as {_FRACTION_WORDS}."
    if test.model is not EloModel.BAYESIAN:
        note += " This model uses the points themselves instead."
    elif test.wins < 1 or test.losses < 1:
        note += " This model has no ratio before one win and one loss; the other models do."
    pair_games = 2 * len(standings.players[0].pairs.shares)
    if test.pairs:
        note += f" Games without a partner are left out: {len(standings.games) - pair_games:,}."
    elif 2 * pair_games > test.count:
        pairs = f"{pair_games:,} of these games form pairs of reversed colours"
        note += f" {pairs}; tbgen score --pairs tests these."
    columns = [Column("quantity", "quantity", is_text=True), Column("value", "value", show=_quantity_text)]
    return StandingsTable("sprt", "SPRT", note, columns, list(quantities.items()))


def _quantity_text(quantity: str | float) -> str:
    """Return words unchanged, small numbers in general format, larger ones with at most four decimals."""
    if isinstance(quantity, str):
        return quantity
    return f"{quantity:g}" if abs(quantity) < _SMALL_NUMBER else f"{quantity:.4f}".rstrip("0").rstrip(".")


def game_list(standings: Standings) -> StandingsTable:
    """Return all games, with White's points; by default only in CSV.

    If all games are from one file, only the CSV version of the table contains the name of the file.
    """
    columns = [
        Column("number", "game", is_text=True),
        Column("round", "round", lambda game: game.round or None),
        Column("white", "white", is_text=True),
        Column("black", "black", is_text=True),
        Column("classical", "classical"),
        Column("accrued", "accrued", lambda game: str(game.outcome.accrued)),
        Column("result", "result", _result_cell),
        Column("basis", "basis", "outcome.basis.value", is_text=True),
        Column("points", "points", lambda game: game.points_by(standings.scheme), None),
    ]
    file = Column("file", "file", is_text=True)
    note = "Points are White's."
    full = StandingsTable.of("games", "Games", [file, *columns], standings.games, note)
    if len({game.file for game in standings.games}) > 1:
        return full
    return replace(StandingsTable.of("games", "Games", columns, standings.games, note), csv_table=full)


def _result_cell(game: GameRecord) -> Cell:
    """Return the result of a game, with a link to the game if its address is known."""
    return Link(str(game.value), game.link) if game.link else str(game.value)


def _sides(standings: Standings) -> list[GamesOfPlayer]:
    """Return the games of each player as White, then as Black."""
    return [player.by_side[white] for player in standings.players for white in (True, False)]


def _elo_columns(source: str, prefix: str = "") -> list[Column]:
    """Return the columns of an Elo difference: difference, margin, LOS, normalised Elo and its margin.

    :param source: attribute of the items that contains the :class:`Elo`.
    :param prefix: prefix of the columns' keys.
    """
    return [
        Column(f"{prefix}{key}", title, f"{source}.{attribute}", show)
        for key, title, attribute, show in (
            ("elo", "Elo", "difference", elo_text),
            ("elo_margin", "95 %", "margin", margin_text),
            ("los", "LOS", "superiority", "{:.1%}".format),
            ("nelo", "nElo", "normalised", elo_text),
            ("nelo_margin", "95 %", "normalised_margin", margin_text),
        )
    ]


def _places_table(standings: Standings) -> StandingsTable:
    """Return the players in order, with all tiebreaks. For a finished event of ``tbgen match``, and for any
    knockout, the table begins with a sentence about the winner."""
    is_by_chess = standings.order.order_by is OrderBy.CHESS
    games, points, share, *others = _RESULT_COLUMNS
    if is_by_chess:
        points, share = _CHESS_COLUMNS
    columns = [Column("place", "", is_text=True), _PLAYER_COLUMN, games, points, share, *others]
    shown_keys = {column.key for column in columns}
    if standings.scheme is Scheme.EXPONENTIAL and not is_by_chess:
        shown_keys.add("rmobility")  # equal to the points
    columns += [tie.column for tie in standings.tiebreaks if tie.title and tie.key not in shown_keys]
    columns += _elo_columns("elo")[:3]
    table = StandingsTable.of("standings", "Standings", columns, standings.players, _places_note(standings))
    result = standings.result
    summary = standings.certainty.sentence
    if result is not None and (result.winner is not None or result.decision is not Decision.STANDINGS):
        summary = f"{result.sentence} {summary}"
    return replace(table, summary=summary)


def _places_note(standings: Standings) -> str:
    least, most = standings.game_count_range
    order_by = standings.order.order_by
    criterion = "points in chess" if order_by is OrderBy.CHESS else "points"
    tiebreak_text = ", then ".join(tie.words for tie in standings.tiebreaks if tie.words)
    order_text = f"Players are ordered by {criterion}"
    if standings.result is not None and standings.result.bracket:
        order_text = f"Places are those of the bracket; players who share one are ordered by {criterion}"
    elif least < most:
        game_counts = f"unequal numbers of games, {least} to {most}"
        if order_by is OrderBy.PERCENT:
            order_text = f"Players have {game_counts}: they are ordered by points per game (%), not by points"
            tiebreak_text += ", all of them per game"
        else:
            order_text += f", although they have {game_counts}"
    byes = [f"{player.name} {player.byes}" for player in standings.players if player.byes]
    if byes:
        order_text += f". Byes count as won games: {', '.join(byes)}"
    if standings.order.rules:
        tiebreak_text += f", by the rules of {standings.order.rules}"
    return (
        f"Scoring {standings.scheme.value}, {_settings_text(standings)}. + = - are results in chess. "
        f"{order_text}. Ties are broken by {tiebreak_text}. Points are compared exactly, and shown rounded. "
        f"Elo is by {standings.scheme.value} points against the field, with 95 % margin and likelihood of "
        "superiority."
    )


def _settings_text(standings: Standings) -> str:
    """Return the rules, cutoffs and komis of the games as part of a sentence."""
    words = {"rules": "rules", "fifty_move_rule": "50-move rule", "cutoff": "cutoff", "komi": "komi"}
    return ", ".join(f"{words[name]} {join_words(values)}" for name, values in standings.settings.items())


def _scorings(standings: Standings) -> StandingsTable:
    """Return the points by every scoring, with the place that each scoring would give."""
    columns = [_PLAYER_COLUMN]
    for scheme in Scheme:
        points = {player.name: player.points[scheme] for player in standings.players}
        totals = {name: total for name, total in points.items() if total is not None}
        if len(totals) < len(points):
            totals = {}
        places = {name: 1 + sum(other > own for other in totals.values()) for name, own in totals.items()}
        columns += [
            Column(scheme.value, scheme.value, partial(_cell_of_player, totals), None),
            Column(f"{scheme.value}_place", "", partial(_cell_of_player, places), "({})".format),
        ]
    note = "In brackets: the place by these points alone. Empty if the komi of a game allows no such points."
    return StandingsTable.of("scorings", "Points by every scoring", columns, standings.players, note)


def _cell_of_player(cells: Mapping[str, Cell], player: Player) -> Cell:
    return cells.get(player.name)


def _ratings(standings: Standings) -> StandingsTable:
    """Return Elo with margin and likelihood of superiority, and normalised Elo: by games, and by pairs of
    games."""
    columns = [_PLAYER_COLUMN, _RESULT_COLUMNS[0], *_elo_columns("elo")]
    columns += [_PAIR_COLUMN, *_elo_columns("pairs.elo", "pairs_")]
    note = (
        "Elo against the field with 95 % margin, likelihood of superiority, and normalised Elo; first by "
        "games, then by pairs of games from the same position with colours reversed, which cancels its luck."
    )
    return StandingsTable.of("ratings", "Elo by games and by pairs", columns, standings.players, note)


def _joint_ratings(standings: Standings) -> StandingsTable | None:
    """Return joint ratings of all players, those that make the results likeliest, if there are three players
    or more, or an anchor. Everybody is expected to score what he has scored. Ordo's ratings are the same on
    another scale: 202 points stand for 76 %. BayesElo also counts a draw as a win and a loss, which brings
    ratings closer together. A player who has won all points, or none, has no rating. Players are rated in
    separate groups if no chain of points connects them both ways. Pairs of games count as one result in the
    margins."""
    if len(standings.players) < _MIN_JOINT_PLAYERS and standings.anchor == DEFAULT_ANCHOR:
        return None
    ratings = standings.ratings
    players = sorted(
        (player for player in standings.players if player.name in ratings),
        key=lambda player: (ratings[player.name].group, -ratings[player.name].rating),
    )
    sizes = Counter(rating.group for rating in ratings.values())

    def shown(attribute: str, title: str, show: Callable[[float], str]) -> Column:
        return Column(attribute, title, lambda player: getattr(ratings[player.name], attribute), show)

    columns = [
        _PLAYER_COLUMN,
        shown("rating", "rating", _rating_text),
        shown("margin", "95 %", lambda margin: f"{margin:.1f}" if isfinite(margin) else ""),
        shown("superiority", "LOS", lambda los: "" if isnan(los) else f"{los:.1%}"),
        _RESULT_COLUMNS[0],
        *(_CHESS_COLUMNS if standings.order.order_by is OrderBy.CHESS else _RESULT_COLUMNS[1:3]),
    ]
    if sum(size > 1 for size in sizes.values()) > 1:
        columns.insert(1, Column("group", "group", lambda player: ratings[player.name].group))
    anchor = standings.anchor
    note = (
        "The ratings under which all results together are likeliest: everybody is expected to score what he "
        f"has scored. {anchor.player or 'The mean'} is fixed at {anchor.rating:g}; margins are those of the "
        "distance to it. LOS is the likelihood of being stronger than the next player of the table. The two "
        "games of a pair count as one result."
    )
    problem = "Some players cannot be compared: one side has taken all points, or there are no games."
    summary = problem if len(sizes) > 1 else ""
    return replace(StandingsTable.of("joint", "Joint ratings", columns, players, note), summary=summary)


def _rating_text(rating: float) -> str:
    """Return a rating as text; for a player who is alone in his group, the reason why he has none."""
    if isfinite(rating):
        return f"{rating:z.1f}"
    return "not comparable" if isnan(rating) else "all points" if rating > 0 else "no points"


def _colours(standings: Standings) -> StandingsTable:
    """Return the results as White and as Black."""
    return StandingsTable.of("colours", "Results by colour", [*_LABELS, *_RESULT_COLUMNS], _sides(standings))


def _meetings(standings: Standings) -> StandingsTable:
    """Return the results, pairs of games (pentanomial) and Elo of each pair of opponents; by default only in
    CSV."""
    meetings = [
        player.meetings[other.name]
        for index, player in enumerate(standings.players)
        for other in standings.players[index:]
        if other.name in player.meetings
    ]
    half_point_columns = [
        Column(f"pairs_{half_points}_halves", title, partial(_pair_count, half_points))
        for half_points, title in enumerate(("0", "1/2", "1", "1 1/2", "2"))
    ]
    opponent = Column("opponent", "opponent", "selection", is_text=True)
    columns = [_PLAYER_COLUMN, opponent, *_RESULT_COLUMNS, _PAIR_COLUMN]
    columns += [*half_point_columns, *_elo_columns("pairs.elo")[:3]]
    note = (
        "Pairs are two games from the same position with colours reversed: the numbers of pairs with 0, 1/2, "
        "1, 1 1/2 and 2 points in chess (pentanomial), and the Elo difference by the points of pairs."
    )
    return StandingsTable.of("meetings", "Meetings", columns, meetings, note)


def _pair_count(half_points: int, meeting: GamesOfPlayer) -> int:
    """Return the number of pairs of a meeting that brought so many half points in chess."""
    return meeting.pairs.pentanomial[half_points]


def _histogram(kind: Literal["given", "suffered"], title: str, standings: Standings) -> StandingsTable:
    """Return the number of results with each score, for each colour, held by the player (``given``) or by the
    opponent (``suffered``). CSV files have a column for each score that occurs, other formats for the eight
    lowest."""

    def column(name: str, ranks: Sequence[int]) -> Column:
        def count(side: GamesOfPlayer) -> int:
            counts = side.held_counts if kind == "given" else side.suffered_counts
            return sum(counts[rank] for rank in ranks)

        return Column(name, name, count)

    def table(columns: Sequence[Column]) -> StandingsTable:
        note = "Games by player, colour and G-score."
        return StandingsTable.of(kind, title, [*_LABELS, *columns], _sides(standings), note)

    ranks = sorted({game.value.rank for game in standings.games})
    columns = [column(str(GScore(rank, True)), [rank]) for rank in ranks]
    if len(ranks) <= _HISTOGRAM_RANKS:
        return table(columns)
    rest = column("more", ranks[_HISTOGRAM_RANKS:])
    return replace(table([*columns[:_HISTOGRAM_RANKS], rest]), csv_table=table(columns))


TABLES: Final[Mapping[str, Callable[[Standings], StandingsTable | None]]] = {
    "bracket": _bracket,
    "standings": _places_table,
    "rounds": _rounds,
    "crosstable": crosstable,
    "crosspoints": crosspoints,
    "bounds": possible_places,
    "scorings": _scorings,
    "ratings": _ratings,
    "joint": _joint_ratings,
    "colours": _colours,
    "meetings": _meetings,
    "given": partial(_histogram, "given", "Results that the player holds"),
    "suffered": partial(_histogram, "suffered", "Results that the opponent holds"),
    "endings": basis_counts,
    "left_out": left_out_games,
    "doubtful": doubtful_games,
    "changed_games": changed_games,
    "changed_players": changed_players,
    "sprt": sprt_table,
    "games": game_list,
}
"""The functions that make the tables, by key. docs/scoring.md shows their docstrings."""

KEYS: Final = tuple(TABLES)
"""Keys of all tables, in the order in which they are shown."""


def overview_keys(standings: Standings) -> set[str]:
    """Return the keys of the tables for a page: all but games, meetings and very large crosstables. In a
    knockout, tables that add up rounds decide nothing, so the bracket replaces them.
    """
    hidden = {"games", "meetings"}
    is_knockout = standings.result is not None and bool(standings.result.bracket)
    if is_knockout:
        hidden |= {"standings", "rounds", "bounds", "scorings"}
    if is_knockout or len(standings.players) > _MAX_CROSSTABLE_PLAYERS:
        hidden |= {"crosstable", "crosspoints"}
    return set(KEYS) - hidden


def tables(standings: Standings, keys: Container[str] = KEYS) -> Iterator[StandingsTable]:
    """Yield the tables with the given keys, in the order of :data:`KEYS`, omitting tables without rows."""
    built = (build(standings) for key, build in TABLES.items() if key in keys)
    return (table for table in built if table is not None and table.rows)


def lead_text(standings: Standings) -> str:
    """Return the first player's lead in words, such as ``2.5 to 1.5 points``; empty if nobody leads.

    If rounded points do not show the lead, the text contains the difference. If the points are equal, the
    text names the tiebreak that decides.
    """
    leader, *others = standings.players
    if not others or others[0].place == 1:
        return ""
    runner_up = others[0]
    data = standings.tiebreak_data
    ours, theirs = data.total(leader), data.total(runner_up)
    unit = "points in chess" if data.order_by is OrderBy.CHESS else "points"
    if data.order_by is OrderBy.PERCENT and leader.results.games != runner_up.results.games:
        ours = leader.results.share
        theirs = runner_up.results.share
        unit = "points per game"
    show = make_show([ours, theirs])
    if show(ours) != show(theirs):
        return f"{show(ours)} to {show(theirs)} {unit}"
    if ours != theirs:
        return f"ahead by {_two_digits(ours - theirs)} {unit}, with {show(ours)} each when rounded"

    tie = next(tie for tie in standings.tiebreaks if tie.compare(leader, runner_up, data))
    # ``tie.words`` cannot be used here: it may be empty, or refer to an earlier tiebreak.
    return f"level on {unit} ({show(ours)} each), ahead by {tiebreak(tie.key).words}"


def _two_digits(lead: Fraction) -> str:
    """Return a number as text, rounded to two significant digits.

    >>> _two_digits(Fraction(1, 2**30)), _two_digits(Fraction(1, 20_000))
    ('0.00000000093', '0.00005')
    """
    return f"{Decimal(f'{float(lead):.1e}').normalize():f}"
