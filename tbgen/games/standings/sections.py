"""Standings as sections with a table of text each, the same for all formats."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tbgen.games.outcome import Basis
from tbgen.games.standings.places import Player, Standings
from tbgen.games.standings.sprt import Sprt
from tbgen.score import GScore
from tbgen.scoring import Scheme

TIEBREAK_RANKS: Final = (1, 2, 3, 4)
"""Ranks with a column of their own: stalemates, G1.0, G1.5, G2.0."""

_HISTOGRAM_RANKS: Final = 8
"""Ranks with a column of their own in histograms; larger ones share the last."""


@dataclass(frozen=True, slots=True)
class Section:
    """A table with a title; cells are texts."""

    title: str
    note: str
    """What a reader has to know; may be empty."""
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    texts: int = 1
    """How many columns at the left hold words, and not numbers."""


def sections(result: Standings, test: Sprt | None = None) -> Iterator[Section]:
    """Yield everything there is to say about standings."""
    yield _places(result)
    yield _by_scheme(result)
    yield _crosstable(result)
    yield _histogram(result, "given", "Results that the player holds")
    yield _histogram(result, "suffered", "Results that the opponent holds")
    yield _bases(result)
    if result.changes:
        yield _changes(result)
        yield _changed(result)
    if test is not None:
        yield _sprt(test, result)


def number(points: float) -> str:
    """Return points without needless decimals, with no more than four.

    >>> number(7.0), number(7.5), number(2.56251)
    ('7', '7.5', '2.5625')
    """
    return f"{points:.4f}".rstrip("0").rstrip(".")


def _places(result: Standings) -> Section:
    columns = ["", "player", "games", "points", "%", "+", "=", "-", "direct"]
    columns += [f"{GScore(rank, True)} +-" for rank in TIEBREAK_RANKS] + ["Elo", "95 %", "LOS"]
    rows = [
        [
            *(str(player.place), player.name, str(player.games)),
            number(math.fsum(player.shares)),
            f"{math.fsum(player.shares) / player.games:.1%}".rstrip("%"),
            *(str(player.wins), str(player.draws), str(player.losses)),
            "" if player.direct is None else number(player.direct),
            *(f"{player.balance(rank):+d}" if player.balance(rank) else "0" for rank in TIEBREAK_RANKS),
            f"{player.elo.difference:+.1f}",
            f"{player.elo.margin:.1f}" if math.isfinite(player.elo.margin) else "unbounded",
            f"{player.elo.superiority:.1%}",
        ]
        for player in result.players
    ]
    note = (
        f"Scoring {result.scheme.value}, {_settings(result)}. + = - are results in chess. Ties are broken by "
        "points of direct encounters, by exponential points, then by stalemates given minus suffered, the "
        "same for G1.0, and so on. Elo is against the field, with 95 % margin and likelihood of superiority."
    )
    return Section("Standings", note, columns, rows, 2)


def _settings(result: Standings) -> str:
    """Return by what the games were refereed and scored."""
    words = {"rules": "rules", "fifty_move_rule": "50-move rule", "cutoff": "cutoff", "komi": "komi"}
    return ", ".join(f"{words[name]} {' and '.join(found)}" for name, found in result.settings.items())


def _by_scheme(result: Standings) -> Section:
    rows = []
    for player in result.players:
        cells = []
        for scheme in Scheme:
            points = player.points[scheme]
            others = [other.points[scheme] for other in result.players]
            if points is None or None in others:
                cells.append("-")
            else:
                better = sum((other or 0) > points + 1e-9 for other in others)
                cells.append(f"{number(points)} ({better + 1})")
        rows.append([player.name, *cells])
    return Section(
        "Points by every scoring",
        "In brackets the place by these points alone; - if a komi is not in quarters, as full points need.",
        ["player", *(scheme.value for scheme in Scheme)],
        rows,
    )


def _crosstable(result: Standings) -> Section:
    rows = []
    for player in result.players:
        cells = []
        for other in result.players:
            meeting = player.meetings.get(other.name)
            cells.append("" if meeting is None else f"{number(meeting.points)}/{meeting.games}")
        rows.append([f"{player.place} {player.name}", *cells])
    return Section(
        "Crosstable",
        "Points of games against each opponent.",
        ["player", *(str(player.place) for player in result.players)],
        rows,
    )


def _histogram(result: Standings, kind: str, title: str) -> Section:
    present = sorted(_ranks(result.players))
    shown, more = present[:_HISTOGRAM_RANKS], present[_HISTOGRAM_RANKS:]
    columns = ["player", "as", *(str(GScore(rank, True)) for rank in shown), *(["more"] if more else [])]
    rows = []
    for player in result.players:
        for white, side in ((True, "White"), (False, "Black")):
            counts = getattr(player, kind)[white]
            cells = [counts.get(rank, 0) for rank in shown]
            if more:
                cells.append(sum(counts.get(rank, 0) for rank in more))
            rows.append([player.name, side, *(str(count) for count in cells)])
    return Section(title, "Games by player, colour and G-score.", columns, rows, 2)


def _ranks(players: Sequence[Player]) -> set[int]:
    return {
        rank
        for player in players
        for held in (player.given, player.suffered)
        for counts in held.values()
        for rank in counts
    }


def _bases(result: Standings) -> Section:
    rows = [[basis.value, str(result.bases[basis])] for basis in Basis if result.bases.get(basis)]
    return Section("How games ended", "", ["basis", "games"], rows)


def _changes(result: Standings) -> Section:
    rows = [
        [
            f"{change.game.file} {change.game.number}",
            f"{change.game.white} - {change.game.black}",
            str(change.game.outcome.accrued),
            str(change.game.value),
            number(change.before.white),
            number(change.after.white),
        ]
        for change in result.changes
    ]
    return Section(
        "What tables changed: games",
        "Games whose exact result is not the score that had accrued when they stopped; points are White's.",
        ["game", "players", "accrued", "result", "points before", "points after"],
        rows,
        2,
    )


def _changed(result: Standings) -> Section:
    gains = result.gains()
    rows = [[player.name, f"{gains.get(player.name, 0.0):+.4f}"] for player in result.players]
    return Section("What tables changed: players", "Points won or lost by it.", ["player", "points"], rows)


def _sprt(test: Sprt, result: Standings) -> Section:
    first, second = result.names
    verdict = {"H1": f"elo {test.elo1:g} accepted", "H0": f"elo {test.elo0:g} accepted"}
    rows = [
        ["elo0", f"{test.elo0:g}"],
        ["elo1", f"{test.elo1:g}"],
        ["alpha", f"{test.alpha:g}"],
        ["beta", f"{test.beta:g}"],
        ["wins", number(test.wins)],
        ["losses", number(test.losses)],
        ["draws", number(test.draws)],
        ["LLR", f"{test.llr:.4f}"],
        ["bounds", f"{test.lower:.4f} to {test.upper:.4f}"],
        ["verdict", verdict.get(test.verdict, "continue")],
    ]
    note = f"{first} against {second}; shares of points count in part as wins or losses, in part as draws."
    return Section("SPRT", note, ["", ""], rows)
