"""Tables of games: results by score, ends, what best play changed, tests, and the games themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final, Literal

from tbgen.board.score import GScore
from tbgen.games.outcome import Basis
from tbgen.games.standings.players import Player
from tbgen.games.standings.sprt import Model, Sprt
from tbgen.games.standings.table import Cell, Column, Table, telling_apart
from tbgen.games.standings.tournament import LeftOut, Standings
from tbgen.text import counted

_HISTOGRAM_RANKS: Final = 8
"""Ranks with a column of their own in histograms; larger ones share the last."""


def histogram(result: Standings, kind: Literal["given", "suffered"], title: str) -> Table:
    """Return games by player, colour and score, of those that the player or the opponent holds."""
    present = sorted(_ranks(result.players))
    shown, more = present[:_HISTOGRAM_RANKS], present[_HISTOGRAM_RANKS:]
    columns = [Column("player", "player", word=True), Column("colour", "as", word=True)]
    columns += [Column(str(GScore(rank, True)), str(GScore(rank, True))) for rank in shown]
    columns += [Column("more", "more")] if more else []
    rows: list[list[Cell]] = []
    for player in result.players:
        held: Mapping[bool, Mapping[int, int]] = player.given if kind == "given" else player.suffered
        for white in (True, False):
            row: list[Cell] = [player.name, "White" if white else "Black"]
            row += [held[white].get(rank, 0) for rank in shown]
            row += [sum(held[white].get(rank, 0) for rank in more)] if more else []
            rows.append(row)
    return Table(kind, title, "Games by player, colour and G-score.", columns, rows)


def _ranks(players: Sequence[Player]) -> set[int]:
    return {
        rank
        for player in players
        for held in (player.given, player.suffered)
        for counts in held.values()
        for rank in counts
    }


def endings(result: Standings) -> Table:
    """Return the grounds on which results rest."""
    columns = [Column("basis", "basis", word=True), Column("games", "games")]
    rows: list[list[Cell]] = [
        [basis.value, result.bases[basis]] for basis in Basis if result.bases.get(basis)
    ]
    return Table("endings", "How games ended", "", columns, rows)


def left_out_games(left_out: LeftOut) -> Table:
    """Return how many games do not count, and why."""
    columns = [Column("reason", "reason", word=True), Column("games", "games")]
    rows: list[list[Cell]] = [["no result (*)", left_out.unfinished], ["broken", left_out.broken]]
    return Table("left_out", "Games left out", "These count nowhere.", columns, rows)


def changed_games(result: Standings) -> Table:
    """Return the games whose result is proved not to be what they had accrued."""
    changes = result.changes
    show = telling_apart([points for change in changes for points in (change.before, change.after)])
    columns = [
        Column("game", "game", word=True),
        Column("players", "players", word=True),
        Column("accrued", "accrued"),
        Column("result", "result"),
        Column("points_before", "points before", show),
        Column("points_after", "points after", show),
    ]
    rows: list[list[Cell]] = [
        [
            f"{change.game.file} {change.game.number}",
            f"{change.game.white} - {change.game.black}",
            str(change.game.outcome.accrued),
            str(change.game.value),
            change.before,
            change.after,
        ]
        for change in changes
    ]
    note = "Games that are proved not to be worth the score accrued when they stopped; points are White's."
    return Table("changed_games", "What best play changed: games", note, columns, rows)


def changed_players(result: Standings) -> Table:
    """Return the points that players have won or lost by it."""
    gains = result.gains()
    columns = [
        Column("player", "player", word=True),
        Column("gain", "points", lambda gain: f"{float(gain):+.4f}"),
    ]
    rows: list[list[Cell]] = [[player.name, gains.get(player.name, Fraction())] for player in result.players]
    return Table(
        "changed_players", "What best play changed: players", "Points won or lost by it.", columns, rows
    )


def test_table(test: Sprt, result: Standings) -> Table:
    """Return a test and where it stands."""
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
    if test.model is not Model.BAYESIAN:
        note += " This model does not go by them but by the points themselves."
    elif test.wins < 1 or test.losses < 1:
        note += " There is no ratio before one win and one loss; the other models have one."
    if test.pairs:
        alone = sum(player.results.games - 2 * len(player.pairs.shares) for player in result.players) // 2
        note += f" {counted(alone, 'game')} without a partner left aside."
    columns = [Column("quantity", "quantity", word=True), Column("value", "value", _plain)]
    return Table("sprt", "SPRT", note, columns, list(facts.items()))


def _plain(fact: str | float) -> str:
    """Return a word as it is, and a number with four decimals or fewer, and small ones as they are."""
    if isinstance(fact, str):
        return fact
    return f"{fact:g}" if abs(fact) < _SMALL else f"{fact:.4f}".rstrip("0").rstrip(".")


_SMALL: Final = 0.001

_FRACTIONS: Final = "2p - 1 wins and 2(1 - p) draws if p is 1/2 or more, else 1 - 2p losses and 2p draws"

_ELO: Final = {
    Model.LOGISTIC: "logistic, as usual",
    Model.NORMALISED: "normalised",
    Model.BAYESIAN: "as usual, and Bayes-Elo with the draws of these games",
}


def game_list(result: Standings) -> Table:
    """Return all games, with White's points."""
    shares = [game.share(result.scheme) for game in result.games]
    show = telling_apart([*shares, *(1 - share for share in shares)])
    columns = [
        Column("file", "file", word=True),
        Column("number", "game", word=True),
        Column("round", "round"),
        *(Column(side, side, word=True) for side in ("white", "black")),
        *(Column(name, name) for name in ("classical", "accrued", "result")),
        Column("basis", "basis", word=True),
        Column("points", "points", show),
    ]
    rows: list[list[Cell]] = [
        [
            *(game.file, game.number, game.round, game.white, game.black),
            *(game.classical, str(game.outcome.accrued), str(game.value), game.outcome.basis.value),
            share,
        ]
        for game, share in zip(result.games, shares, strict=True)
    ]
    return Table("games", "Games", "Points are White's.", columns, rows)
