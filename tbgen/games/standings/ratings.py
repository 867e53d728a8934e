"""Joint ratings of all players: one number each, under which the points of all games together are likeliest.

The model is that of Bradley and Terry, on the scale of Elo: in a game, a player who is rated d higher is
expected to take 1 / (1 + 10^(-d / 400)) points. A game of p points counts as p wins and 1 - p losses, so that
draws and points of r-mobility count exactly. The ratings at which the likelihood is greatest give each player
as many points as he has. Ordo (M. Ballicora) computes the same ratings. BayesElo (R. Coulom) instead counts a
draw as a win and a loss, at a fixed share of draws.

There are finite ratings only for players each of whom has taken points from each other one, directly or
through others. All others fall into groups, which are rated separately.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tbgen.errors import UsageError, quote
from tbgen.games.standings.elo import DEVIATIONS_95, Anchor, superiority
from tbgen.games.standings.likelihood import Floats
from tbgen.games.standings.players import Player, Seat

_ELO_UNIT: Final = 400 / math.log(10)
"""Elo points of a difference at which the odds grow by the factor e."""
_MAX_PLAYERS: Final = 1000
"""Maximum number of players to rate, because the work grows with its third power."""
_MAX_STEPS: Final = 200
_MAX_STEP: Final = 2.0
"""Maximum change of a rating in one step, in units of ``_ELO_UNIT``."""
_PRECISION: Final = 1e-10

Indices: TypeAlias = npt.NDArray[np.intp]


class Rating(Struct, frozen=True):
    """A player's rating among the players of a group. What no games bound is infinite."""

    rating: float
    """The rating in Elo points; infinite for a player who is alone in his group and has taken all points or
    none, and not a number for one who has taken all points from some players and none from the others."""
    margin: float
    """Half the width of the 95 % interval of the distance to the anchor."""
    superiority: float
    """Probability that the player is stronger than the next of his group; not a number for the last."""
    group: int
    """Number of the group, from 1."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Results between players, who are known by their indices. Each element of the arrays, all of shape (n,),
    stands for a game, or for two games with reversed colours, whose points are not independent."""

    one: Indices
    """Index of a player."""
    other: Indices
    """Index of his opponent."""
    points: Floats
    """Points of the player."""
    games: Floats
    """Number of games."""

    @classmethod
    def of(cls, players: Sequence[Player], points_of: Callable[[Seat], Fraction]) -> Scores:
        """Return the results of all games of some players.

        :param points_of: function that returns a player's points in a game.
        """
        indices = {player.name: index for index, player in enumerate(players)}
        pairs = {
            id(seat.game): pair_index
            for player in players
            for pair_index, pair in enumerate(player.seat_pairs)
            for seat in pair
            if indices[player.name] < indices[seat.opponent]
        }
        rows: dict[Hashable, list[float]] = {}
        for one, player in enumerate(players):
            for seat in player.seats:
                other = indices[seat.opponent]
                if one < other:
                    row = rows.setdefault((one, other, pairs.get(id(seat.game), seat)), [one, other, 0, 0])
                    row[2] += float(points_of(seat))
                    row[3] += 1
        one_column, other_column, points, games = np.array([*rows.values()]).reshape(-1, 4).T
        return cls(one_column.astype(np.intp), other_column.astype(np.intp), points, games)

    def among(self, members: Indices) -> Scores:
        """Return the results among some players, who get the indices that they have in ``members``."""
        places = np.full(max(self.other.max(), members.max()) + 1, -1, dtype=np.intp)
        places[members] = np.arange(len(members))
        is_inside = (places[self.one] >= 0) & (places[self.other] >= 0)
        sides = places[self.one[is_inside]], places[self.other[is_inside]]
        return Scores(*sides, self.points[is_inside], self.games[is_inside])

    def groups(self, size: int) -> list[Indices]:
        """Return the groups of ``size`` players, single players last. In a group, each player has taken
        points from each other one, directly or through others of the group."""
        reachable = np.eye(size, dtype=np.float32)
        reachable[self.one, self.other] += self.points > 0
        np.add.at(reachable, (self.other, self.one), self.points < self.games)
        for _ in range(size.bit_length()):
            reachable = (reachable @ reachable > 0).astype(np.float32)
        mutual = reachable * reachable.T > 0
        groups = {int(row.argmax()): np.flatnonzero(row) for row in mutual}
        return sorted(groups.values(), key=lambda members: (len(members) == 1, members[0]))

    def fit(self, size: int) -> tuple[Floats, Floats]:
        """Return the ratings of ``size`` players who form a group, with mean 0, and their covariance matrix.

        The unit is the difference at which the odds grow by the factor e. The matrix is the sandwich
        estimator of P. Huber: the curvature of the likelihood, corrected by how far results lie from their
        expectation.
        """
        ratings = np.zeros(size)
        for _ in range(_MAX_STEPS):
            expected = 1 / (1 + np.exp(ratings[self.other] - ratings[self.one]))
            rest = self.points - self.games * expected
            slope = np.bincount(self.one, rest, size) - np.bincount(self.other, rest, size)
            # Adding 1 everywhere makes the matrix regular, and keeps the mean of the ratings.
            inverse = np.linalg.inv(_laplacian(self, self.games * expected * (1 - expected), size) + 1)
            step = inverse @ slope
            ratings += step * min(1.0, _MAX_STEP / max(np.abs(step).max(), _PRECISION))
            if np.abs(step).max() < _PRECISION:
                break
        spare = len(rest) - (size - 1)
        correction = len(rest) / spare if spare > 0 else math.nan  # results that fit exactly bound no error
        spread = _laplacian(self, rest**2, size)
        return ratings, inverse @ spread @ inverse * correction


def _laplacian(scores: Scores, weights: Floats, size: int) -> Floats:
    """Return the sum, over all results, of a weight times the square of the difference of two ratings, as the
    matrix of a quadratic form: float64, shape (size, size)."""
    matrix = np.zeros((size, size))
    np.add.at(matrix, (scores.one, scores.other), -weights)
    matrix += matrix.T
    return matrix - np.diag(matrix.sum(0))


def joint_ratings(
    players: Sequence[Player], points_of: Callable[[Seat], Fraction], anchor: Anchor
) -> Mapping[str, Rating]:
    """Return the ratings of players by name, the best of each group first.

    If there are more than 1,000 players, nobody is rated.

    :param points_of: function that returns a player's points in a game, from 0 to 1.
    :param anchor: fixes the scale of its player's group; in all other groups, its rating is the mean.

    :raises UsageError: if the anchor is not one of the players.
    """
    names = [player.name for player in players]
    if anchor.player and anchor.player not in names:
        raise UsageError(
            f"no player is called {quote(anchor.player)}: expected one of {', '.join(map(quote, names))}"
        )
    if len(names) > _MAX_PLAYERS:
        return {}
    scores = Scores.of(players, points_of)
    ratings_by_name: dict[str, Rating] = {}
    for group_number, members in enumerate(scores.groups(len(names)), 1):
        if len(members) == 1:
            share = _share(players[members[0]], points_of)
            extreme = -math.inf if share == 0 else math.inf if share == 1 else math.nan
            ratings_by_name[names[members[0]]] = Rating(extreme, math.inf, math.nan, group_number)
            continue
        ratings, covariance = scores.among(members).fit(len(members))
        anchor_row = next((row for row, index in enumerate(members) if names[index] == anchor.player), None)
        shift = 0.0 if anchor_row is None else ratings[anchor_row]
        order = np.argsort(-ratings, kind="stable").tolist()
        for row, weaker in zip(order, [*order[1:], None], strict=True):
            lead = 0.0 if weaker is None else ratings[row] - ratings[weaker]
            ratings_by_name[names[members[row]]] = Rating(
                anchor.rating + _ELO_UNIT * float(ratings[row] - shift),
                DEVIATIONS_95 * _ELO_UNIT * _error(covariance, row, anchor_row),
                math.nan if weaker is None else superiority(float(lead), _error(covariance, row, weaker)),
                group_number,
            )
    return ratings_by_name


def _error(covariance: Floats, row: int, other: int | None) -> float:
    """Return the standard error of a rating or, if there is another one, of the distance between both."""
    if row == other:
        return 0.0
    signs = np.zeros(len(covariance))
    signs[row] = 1
    if other is not None:
        signs[other] = -1
    variance = float(signs @ covariance @ signs)
    return math.inf if math.isnan(variance) else math.sqrt(max(variance, 0.0))


def _share(player: Player, points_of: Callable[[Seat], Fraction]) -> Fraction:
    """Return the points per game of a player; 1/2 if he has no games."""
    count = len(player.seats)
    return sum(map(points_of, player.seats), Fraction()) / count if count else Fraction(1, 2)
