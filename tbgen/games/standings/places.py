"""Players in the order of their points, with everything that breaks ties."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from tbgen.errors import UsageError
from tbgen.games.outcome import Basis
from tbgen.games.standings.elo import Elo, elo
from tbgen.games.standings.record import GameRecord
from tbgen.games.standings.sprt import Sprt, sprt
from tbgen.scoring import Points, Scheme

_DECIMALS: Final = 9
"""To which sums of points are compared: harmonic ones are rounded."""

_WHITE, _BLACK = True, False


@dataclass(frozen=True, slots=True)
class Meeting:
    """What a player has made against another."""

    points: float
    games: int


@dataclass(frozen=True, slots=True)
class Player:
    """A player and all that it has made."""

    name: str
    place: int
    """Counted from 1; players whom nothing parts share one."""
    games: int
    points: Mapping[Scheme, float | None]
    """By every scheme; None where the komi of a game allows none."""
    direct: float | None
    """Points in the games between all who have equally many points; None if nobody else has."""
    wins: int
    draws: int
    losses: int
    """By the results in chess."""
    given: Mapping[bool, Mapping[int, int]]
    """How many results of which rank the player holds, as White (True) and as Black."""
    suffered: Mapping[bool, Mapping[int, int]]
    """The same for those that the opponent holds."""
    meetings: Mapping[str, Meeting]
    """By opponent."""
    shares: Sequence[float]
    """The points of each game, in order."""
    elo: Elo
    """Against the field."""

    def balance(self, rank: int) -> int:
        """Return how many results of a rank the player has given, minus those suffered."""
        return sum(
            self.given[colour].get(rank, 0) - self.suffered[colour].get(rank, 0)
            for colour in (_WHITE, _BLACK)
        )


@dataclass(frozen=True, slots=True)
class Change:
    """A game that tables have decided otherwise than by the score it had accrued."""

    game: GameRecord
    before: Points
    after: Points


@dataclass(frozen=True, slots=True)
class Standings:
    """What the games of a tournament add up to."""

    scheme: Scheme
    """What players are ordered by."""
    players: Sequence[Player]
    """The best first."""
    games: int
    bases: Mapping[Basis, int]
    """Games by the grounds of their results."""
    changes: Sequence[Change]
    names: Sequence[str]
    """The players in the order in which they appear."""
    settings: Mapping[str, Sequence[str]]
    """By what the games were refereed and scored, each of them once: rules, 50-move rule, cutoff, komi."""

    def gains(self) -> dict[str, float]:
        """Return how many points the changes have given each player whom they concern, or taken."""
        gains: dict[str, float] = defaultdict(float)
        for change in self.changes:
            gain = change.after.white - change.before.white
            gains[change.game.white] += gain
            gains[change.game.black] -= gain
        return gains

    def test(self, elo0: float, elo1: float, alpha: float = 0.05, beta: float = 0.05) -> Sprt:
        """Return the SPRT of the player that appears first against the other one.

        :raises UsageError: if there are not two players, or the numbers make no test.
        """
        if len(self.names) != 2:
            raise UsageError(f"an SPRT is between two players, and here are {len(self.names)}")
        first = next(player for player in self.players if player.name == self.names[0])
        return sprt(first.shares, elo0, elo1, alpha, beta)


def standings(games: Iterable[GameRecord], scheme: Scheme = Scheme.EXPONENTIAL) -> Standings:
    """Return the standings of games by a scheme.

    Ties are broken as the TCEC wiki has it: by the points of the games between all who are tied, then by
    exponential points, then by stalemates given minus suffered, then by the same for G1.0, G1.5, and so on.

    :raises UsageError: if the scheme has no points for the komi of a game.
    """
    records = list(games)
    rows: dict[str, _Row] = {}
    for game in records:
        points = game.points(scheme)
        for name, other, colour in (
            (game.white, game.black, _WHITE),
            (game.black, game.white, _BLACK),
        ):
            rows.setdefault(name, _Row(name)).add(game, other, colour, points)
    changes = [
        Change(game, game.points(scheme, game.outcome.accrued), game.points(scheme))
        for game in records
        if game.outcome.basis is Basis.TABLEBASE and game.value != game.outcome.accrued
    ]
    bases = Counter(game.outcome.basis for game in records)
    found = [game.outcome.settings for game in records]
    by = {
        "rules": {settings.variant.value for settings in found},
        "fifty_move_rule": {settings.fifty_move_rule.value for settings in found},
        "cutoff": {str(settings.scoring.cutoff) for settings in found},
        "komi": {str(settings.scoring.komi) for settings in found},
    }
    return Standings(
        scheme,
        _ordered(list(rows.values())),
        len(records),
        bases,
        changes,
        list(rows),
        {name: sorted(values) for name, values in by.items()},
    )


@dataclass(slots=True)
class _Row:
    """What a player has made, as games come in."""

    name: str
    games: list[tuple[GameRecord, bool]] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    meetings: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    given: dict[bool, Counter[int]] = field(default_factory=lambda: {_WHITE: Counter(), _BLACK: Counter()})
    suffered: dict[bool, Counter[int]] = field(default_factory=lambda: {_WHITE: Counter(), _BLACK: Counter()})
    results: Counter[str] = field(default_factory=Counter)
    """Classical results as the player sees them."""

    def add(self, game: GameRecord, other: str, colour: bool, points: Points) -> None:
        """Take a game in, seen by the side of a colour."""
        share = points.white if colour else points.black
        self.games.append((game, colour))
        self.shares.append(share)
        self.meetings[other].append(share)
        held = self.given if game.value.white == colour else self.suffered
        held[colour][game.value.rank] += 1
        match game.classical:
            case "1/2-1/2":
                self.results["draw"] += 1
            case "1-0" | "0-1" as decisive:
                self.results["win" if (decisive == "1-0") == colour else "loss"] += 1

    @property
    def total(self) -> float:
        """Points, to be compared."""
        return round(math.fsum(self.shares), _DECIMALS)

    def by(self, scheme: Scheme) -> float | None:
        """Return the points by another scheme, None if it has none for the komi of a game."""
        try:
            return math.fsum(game.points(scheme)[not colour] for game, colour in self.games)
        except UsageError:
            return None

    def against(self, names: set[str]) -> float:
        """Return the points in games against some players."""
        return round(math.fsum(sum(self.meetings[name]) for name in names & self.meetings.keys()), _DECIMALS)

    def balances(self, ranks: Sequence[int]) -> list[int]:
        """Return results given minus suffered for each rank."""
        return [
            sum(self.given[colour][rank] - self.suffered[colour][rank] for colour in (_WHITE, _BLACK))
            for rank in ranks
        ]


def _ordered(rows: list[_Row]) -> list[Player]:
    ranks = sorted({rank for row in rows for held in row.given.values() for rank in held if rank})
    keys: dict[str, tuple[float, ...]] = {}
    tied_names: set[str] = set()
    for total, tied in groupby(sorted(rows, key=lambda row: row.total), key=lambda row: row.total):
        group = list(tied)
        names = {row.name for row in group}
        if len(group) > 1:
            tied_names |= names
        for row in group:
            direct = row.against(names - {row.name}) if len(group) > 1 else 0.0
            exponential = round(row.by(Scheme.EXPONENTIAL) or 0.0, _DECIMALS)
            keys[row.name] = (-total, -direct, -exponential, *(-each for each in row.balances(ranks)))
    rows.sort(key=lambda row: (keys[row.name], row.name))
    players: list[Player] = []
    for number, row in enumerate(rows, 1):
        shared = players and keys[players[-1].name] == keys[row.name]
        met = -keys[row.name][1] + 0.0 if row.name in tied_names else None
        players.append(_player(row, players[-1].place if shared else number, met))
    return players


def _player(row: _Row, place: int, direct: float | None) -> Player:
    return Player(
        row.name,
        place,
        len(row.games),
        {scheme: row.by(scheme) for scheme in Scheme},
        direct,
        row.results["win"],
        row.results["draw"],
        row.results["loss"],
        row.given,
        row.suffered,
        {name: Meeting(math.fsum(shares), len(shares)) for name, shares in row.meetings.items()},
        row.shares,
        elo(row.shares),
    )
