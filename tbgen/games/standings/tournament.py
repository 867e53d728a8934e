"""What the games of a tournament add up to."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from tbgen.board.scoring import Scheme
from tbgen.errors import UsageError, quote
from tbgen.games.outcome import Basis
from tbgen.games.standings.certainty import Certainty
from tbgen.games.standings.orders import Order, order_of
from tbgen.games.standings.pairs import paired
from tbgen.games.standings.places import placed
from tbgen.games.standings.players import Player, players_of, with_byes
from tbgen.games.standings.record import GameRecord
from tbgen.games.standings.sprt import EloModel, Sprt, sprt
from tbgen.games.standings.tiebreaks import Field, Tiebreak, tiebreaks


@dataclass(frozen=True, slots=True)
class Change:
    """A game that is proved to be worth something else than the score it had accrued."""

    game: GameRecord
    before: Fraction
    """White's points for the accrued score."""
    after: Fraction
    """White's points for the result."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How many games do not count, and why."""

    unfinished: int = 0
    """Their result is not known (*)."""
    broken: int = 0
    """They cannot be read."""

    @property
    def total(self) -> int:
        """All of them."""
        return self.unfinished + self.broken


@dataclass(frozen=True)
class Standings:
    """What the games of a tournament add up to."""

    scheme: Scheme
    """What games are scored by."""
    order: Order
    """What players are ordered by."""
    tiebreaks: Sequence[Tiebreak]
    """The tiebreaks between players that are level by that."""
    players: Sequence[Player]
    """The best first."""
    games: Sequence[GameRecord]
    """In the order of the files."""
    left_out: LeftOut = field(default_factory=LeftOut)
    sprt: Sprt | None = None
    """Where a test of the first player against the other stands, if one was asked for."""
    tested: str = ""
    """The player that a test is of; else White of the first game, by rounds."""

    @cached_property
    def bases(self) -> Mapping[Basis, int]:
        """Games by the grounds of their results."""
        return Counter(game.outcome.basis for game in self.games)

    @cached_property
    def changes(self) -> Sequence[Change]:
        """The games that best play has changed."""
        return [
            Change(game, game.share(self.scheme, game.outcome.accrued), game.share(self.scheme))
            for game in self.games
            if game.outcome.basis.best_play and game.value != game.outcome.accrued
        ]

    @cached_property
    def certainty(self) -> Certainty:
        """What the places and sums may be by values that are not proved."""
        field = Field.of(self.players, self.order.lead, self.scheme)
        return Certainty(field, self.tiebreaks)

    @cached_property
    def names(self) -> Sequence[str]:
        """The players in the order in which they appear, by rounds; the one that a test is of first."""
        games = sorted(self.games, key=_round_numbers)  # games played at once end in any order
        found = (name for game in games for name in (game.white, game.black))
        return list(dict.fromkeys([self.tested, *found] if self.tested else found))

    @cached_property
    def settings(self) -> Mapping[str, Sequence[str]]:
        """The rules, 50-move rules, cutoffs and komis of the games, each of them once."""
        found = [game.outcome.settings for game in self.games]
        return {
            "rules": sorted({settings.variant.value for settings in found}),
            "fifty_move_rule": sorted({settings.fifty_move_rule.value for settings in found}),
            "cutoff": sorted({str(settings.scoring.cutoff) for settings in found}),
            "komi": sorted({str(settings.scoring.komi) for settings in found}),
        }

    @property
    def numbers_of_games(self) -> tuple[int, int]:
        """The least and the greatest number of games that a player has played."""
        numbers = [player.results.games for player in self.players]
        return min(numbers), max(numbers)

    def gains(self) -> dict[str, Fraction]:
        """Return the points that the changes have given to each player, or taken."""
        gains: dict[str, Fraction] = defaultdict(Fraction)
        for change in self.changes:
            gain = change.after - change.before
            gains[change.game.white] += gain
            gains[change.game.black] -= gain
        return gains

    def test(self, *numbers: float, model: EloModel | str = EloModel.LOGISTIC, pairs: bool = False) -> Sprt:
        """Return the SPRT of the first of :attr:`names` against the other one, see :func:`sprt`.

        :param numbers: elo0 and elo1, and maybe alpha and beta.
        :param pairs: whether to test pairs of games; games without a partner do not count then.

        :raises UsageError: if there are not two players, or none of the name, or the numbers make no test.
        """
        if self.tested and all(player.name != self.tested for player in self.players):
            players = ", ".join(quote(player.name) for player in self.players)
            raise UsageError(f"no player is called {quote(self.tested)}: expected one of {players}")
        if len(self.names) != 2:
            raise UsageError(f"an SPRT needs two players, and there are {len(self.names)}")
        first = next(player for player in self.players if player.name == self.names[0])
        points = first.pairs.shares if pairs else first.shares
        return sprt(points, *numbers, model=model, pairs=pairs)


def _round_numbers(game: GameRecord) -> list[tuple[int, str]]:
    """Return the numbers of a round, as what orders them however long they are."""
    numbers = (number.lstrip("0") for number in re.findall(r"[0-9]+", game.round))
    return [(len(number), number) for number in numbers]


def standings(
    games: Iterable[GameRecord],
    scheme: Scheme = Scheme.EXPONENTIAL,
    order: Order | str = "percent",
    *,
    byes: bool = False,
) -> Standings:
    """Return the standings of games by a scheme, in an order.

    Bounds of results decide anew whether they say the points, if the scheme is not a game's own.

    :param order: an order, or the name of one of :data:`tbgen.games.standings.orders.ORDERS`.
    :param byes: whether each game that a player has fewer than the others was a bye, and counts as won.

    :raises UsageError: if there are no games, or the scheme has no points for the komi of one, or there is no
        such order or tiebreak.
    """
    records = [game.scored_by(scheme) for game in games]
    if not records:
        raise UsageError("there are no games to score")
    order = order_of(order) if isinstance(order, str) else order
    players = players_of(records, paired(records), scheme)
    if byes:
        players = with_byes(players)
    breaks, field = tiebreaks(order.tiebreaks, players), Field.of(players, order.lead, scheme)
    return Standings(scheme, order, breaks, placed(players, breaks, field), records)
