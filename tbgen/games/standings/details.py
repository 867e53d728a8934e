"""Tables of games: ends, what best play changed, tests, and the games themselves."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tbgen.games.outcome import Basis
from tbgen.games.standings.players import Player
from tbgen.games.standings.record import GameRecord
from tbgen.games.standings.sprt import EloModel
from tbgen.games.standings.table import Cell, Column, Link, StandingsTable, aligned
from tbgen.games.standings.tiebreaks import TIEBREAKS, Lead
from tbgen.games.standings.tournament import Standings
from tbgen.text import counted


def endings(result: Standings) -> StandingsTable:
    """Return the grounds on which results rest."""
    columns = [
        Column("basis", "basis", "value", word=True),
        Column("games", "games", lambda basis: result.bases[basis]),
    ]
    found = [basis for basis in Basis if basis in result.bases]
    return StandingsTable.of("endings", "How games ended", columns, found)


def bounds(result: Standings) -> StandingsTable:
    """Return what sums and places may be by values that are not proved; no rows if all are."""
    certainty, chess = result.certainty, result.order.lead is Lead.CHESS
    row = TIEBREAKS["rmobility" if chess else "points"]

    def total(player: Player) -> Cell:
        return row.value(player, (), certainty.field)

    shown = result.players if certainty.unproven else ()
    show = aligned(each for player in shown for each in (total(player), *certainty.sums(row, player)))
    columns = [
        Column("place", "", word=True),
        Column("player", "player", "name", word=True),
        Column("best", "best", lambda player: certainty.places[player.name].best),
        Column("worst", "worst", lambda player: certainty.places[player.name].worst),
        Column("unproven", "unproven", certainty.count),
        Column(row.key, row.title, total, show),
        Column("least", "at least", lambda player: certainty.sums(row, player).least, show),
        Column("most", "at most", lambda player: certainty.sums(row, player).most, show),
    ]
    note = (
        f"{certainty.sentence} Best and worst are places, at least and at most are sums, by all values that "
        "are not disproved."
    )
    return StandingsTable.of("bounds", "What is proved of places and sums", columns, shown, note)


def left_out_games(result: Standings) -> StandingsTable:
    """Return how many games do not count, and why; no rows if all do."""
    left_out = result.left_out
    columns = [Column("reason", "reason", word=True), Column("games", "games")]
    rows: list[list[Cell]] = [["no result (*)", left_out.unfinished], ["broken", left_out.broken]]
    shown = rows if left_out.total else []
    return StandingsTable("left_out", "Games left out", "These count nowhere.", columns, shown)


def doubtful_games(result: Standings) -> StandingsTable:
    """Return the games that contradict themselves or lack a part; no rows if none does."""
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
    """Return the games whose result is proved not to be what they had accrued."""
    show = aligned(points for change in result.changes for points in (change.before, change.after))
    columns = [
        Column("game", "game", "game.place", word=True),
        Column("players", "players", "game.players", word=True),
        Column("accrued", "accrued", lambda change: str(change.game.outcome.accrued)),
        Column("result", "result", lambda change: _result(change.game)),
        Column("points_before", "points before", "before", show),
        Column("points_after", "points after", "after", show),
    ]
    note = "Games that are proved not to be worth the score accrued when they stopped; points are White's."
    title = "What best play changed: games"
    return StandingsTable.of("changed_games", title, columns, result.changes, note)


def changed_players(result: Standings) -> StandingsTable:
    """Return the points that players have won or lost by it; no rows if nothing has changed."""
    gains = result.gains()
    columns = [
        Column("player", "player", "name", word=True),
        Column("gain", "points", lambda player: float(gains.get(player.name, 0)), "{:+.4f}".format),
    ]
    title, note = "What best play changed: players", "Points won or lost by it."
    return StandingsTable.of("changed_players", title, columns, result.players if gains else (), note)


def test_table(result: Standings) -> StandingsTable | None:
    """Return the test and where it stands; None without one."""
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
    note = f"{first} against {second}, by {unit}; Elo is {_ELO[test.model]}."
    result_of = "pair of p points per game" if test.pairs else "game of p points"
    note += f" Wins, losses and draws have fractions as points have: a {result_of} is {_FRACTIONS}."
    if test.model is not EloModel.BAYESIAN:
        note += " This model does not go by them but by the points themselves."
    elif test.wins < 1 or test.losses < 1:
        note += " There is no ratio before one win and one loss; the other models have one."
    paired = 2 * len(result.players[0].pairs.shares)
    if test.pairs:
        note += f" {counted(len(result.games) - paired, 'game')} without a partner left aside."
    elif 2 * paired > test.count:
        note += f" {paired:,} of these games make pairs of reversed colours; tbgen score --pairs tests these."
    columns = [Column("quantity", "quantity", word=True), Column("value", "value", show=_plain)]
    return StandingsTable("sprt", "SPRT", note, columns, list(facts.items()))


def _plain(fact: str | float) -> str:
    """Return a word as it is, and a number with four decimals or fewer, and small ones as they are."""
    if isinstance(fact, str):
        return fact
    return f"{fact:g}" if abs(fact) < _SMALL else f"{fact:.4f}".rstrip("0").rstrip(".")


_SMALL: Final = 0.001

_FRACTIONS: Final = "2p - 1 wins and 2(1 - p) draws if p is 1/2 or more, else 1 - 2p losses and 2p draws"

_ELO: Final = {
    EloModel.LOGISTIC: "logistic, as usual",
    EloModel.NORMALISED: "normalised",
    EloModel.BAYESIAN: "as usual, and Bayes-Elo with the draws of these games",
}


def game_list(result: Standings) -> StandingsTable:
    """Return all games, with White's points; readers see no file if there is only one."""
    columns = [
        Column("number", "game", word=True),
        Column("round", "round", lambda game: game.round or None),
        Column("white", "white", word=True),
        Column("black", "black", word=True),
        Column("classical", "classical"),
        Column("accrued", "accrued", lambda game: str(game.outcome.accrued)),
        Column("result", "result", _result),
        Column("basis", "basis", "outcome.basis.value", word=True),
        Column("points", "points", lambda game: game.share(result.scheme), None),
    ]
    file = Column("file", "file", word=True)
    note = "Points are White's."
    full = StandingsTable.of("games", "Games", [file, *columns], result.games, note)
    if len({game.file for game in result.games}) > 1:
        return full
    return replace(StandingsTable.of("games", "Games", columns, result.games, note), data=full)


def _result(game: GameRecord) -> Cell:
    """Return the result of a game, with the link to the game if there is one."""
    return Link(str(game.value), game.link) if game.link else str(game.value)
