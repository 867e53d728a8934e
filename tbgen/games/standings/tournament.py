"""What the games of a tournament add up to, and how sure that is where values are not proved."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Final, NamedTuple

from tbgen.board.score import GScore
from tbgen.board.scoring import Scheme
from tbgen.errors import UsageError, quote
from tbgen.games.outcome import Basis
from tbgen.games.standings.elo import EloModel, Sprt, sprt
from tbgen.games.standings.orders import Order, order_of, placed
from tbgen.games.standings.players import Player, players_of, with_byes
from tbgen.games.standings.record import GameRecord, paired
from tbgen.games.standings.tiebreaks import Dependence, Field, Lead, Tiebreak, tiebreaks
from tbgen.text import counted

_MOST_PLAYERS: Final = 300
"""With more of them comparing each with each takes too long, and any place is taken as uncertain."""
_SHOWN: Final = 6
"""Ranges of places in the sentence."""


class Sums(NamedTuple):
    """The least and the greatest that a sum may be."""

    least: Fraction | int
    most: Fraction | int


class Places(NamedTuple):
    """The best and the worst place that a player may have."""

    best: int
    worst: int


class Certainty:
    """What is certain of standings, whatever the values that are not proved may be.

    What a game is in chess is no such value, and certain. Two players are compared exactly by the first sum
    over values that may part them; what comes after it is taken as uncertain. So no place is called certain
    that is not, and where one is called uncertain, some values turn the order of two players, or leave it to
    tiebreaks that were not looked at.

    :param field: with the players in order, and what they have by each tiebreak.
    :param breaks: what breaks ties.
    """

    def __init__(self, field: Field, breaks: Sequence[Tiebreak]) -> None:
        self.field, self._breaks = field, (field.first, *breaks)
        self._sums: dict[tuple[str, str], Sums] = {}
        self._open = {
            player.name: [seat for seat in player.seats if not seat.game.outcome.interval.exact]
            for player in field.players.values()
        }
        """By player, the games whose values are not proved."""

    def count(self, player: Player) -> int:
        """Return how many games of a player have values that are not proved."""
        return len(self._open[player.name])

    @cached_property
    def unproven(self) -> Sequence[GameRecord]:
        """The games whose value is not proved, player by player."""
        return [seat.game for seats in self._open.values() for seat in seats if seat.white]

    def sums(self, each: Tiebreak, player: Player) -> Sums:
        """Return what a sum over values may be for a player; both ends can be."""
        found = self._sums.get((each.key, player.name))
        if found is None:
            terms = [_terms(each, self.field, seat.game, seat.white) for seat in player.seats]
            byes = player.byes if each.rank is None else 0
            found = Sums(sum(map(min, terms), byes), sum(map(max, terms), byes))
            self._sums[each.key, player.name] = found
        return found

    @cached_property
    def places(self) -> Mapping[str, Places]:
        """The places that players may have, by their names."""
        players = self.field.players
        if not self.unproven:
            return {name: Places(player.place, player.place) for name, player in players.items()}
        if len(players) > _MOST_PLAYERS:
            return dict.fromkeys(players, Places(1, len(players)))
        ahead, perhaps = dict.fromkeys(players, 0), dict.fromkeys(players, 0)
        for one, other in combinations(players.values(), 2):
            sign = self._sign(one, other)
            for player, behind in ((one, -1), (other, 1)):
                ahead[player.name] += sign == behind
                perhaps[player.name] += sign is None
        return {name: Places(1 + ahead[name], 1 + ahead[name] + perhaps[name]) for name in players}

    @cached_property
    def sentence(self) -> str:
        """What depends on values that are not proved."""
        count = len(self.unproven)
        if not count:
            return "All values are proved."
        games = sum(len(player.seats) for player in self.field.players.values()) // 2
        told = f"{count:,} of {counted(games, 'value')} {'is' if count == 1 else 'are'} not proved"
        ranges = [f"{best} to {worst}" for best, worst in self._uncertain()]
        if not ranges:
            return f"{told}, but no place depends on that."
        if len(ranges) > _SHOWN:
            ranges[_SHOWN:] = ["others"]
        *first, last = ranges
        places = f"{', '.join(first)} and {last}" if first else last
        return f"{told}, and places {places} may depend on that."

    def _uncertain(self) -> Iterator[Places]:
        """Yield the ranges of places that may be otherwise; those that overlap are one."""
        best = worst = 0
        for found in sorted(places for places in self.places.values() if places.best < places.worst):
            if found.best > worst:
                if worst:
                    yield Places(best, worst)
                best = found.best
            worst = max(worst, found.worst)
        if worst:
            yield Places(best, worst)

    def _sign(self, one: Player, other: Player) -> int | None:
        """Return 1 if a player is ahead of another by all values, -1 if behind, 0 if level, None else."""
        for at, each in enumerate(self._breaks):
            sums = [row for row in self._breaks[:at] if row.term is not None]
            if each.term is not None:
                low, high = self._difference(each, one, other)
            elif self._depends(each, one, sums):
                return None
            else:
                low = high = each.compare(one, other, self.field)
            if low != 0 or high != 0:
                return 1 if low > 0 else -1 if high < 0 else None
        return 0

    def _depends(self, each: Tiebreak, player: Player, sums: Sequence[Tiebreak]) -> bool:
        """Tell whether a tiebreak that is no sum itself may depend on values, after some sums."""

        def level(other: Player) -> bool:
            found = (self._difference(row, other, player) for row in sums)
            return all(low <= 0 <= high for low, high in found)

        match each.depends:
            case Dependence.NOTHING:
                return False
            case Dependence.POINTS:
                return self.field.lead is not Lead.CHESS
            case Dependence.LEVEL:
                unsettled = (other for other in self.field.players.values() if self._open[other.name])
                return bool(sums) and any(map(level, unsettled))
            case Dependence.VALUES:
                return True

    def _difference(self, each: Tiebreak, one: Player, other: Player) -> Sums:
        """Return the least and the most by which a sum of a player exceeds another's.

        That is from end to end, for in games between them one gets least where the other gets most.
        """
        own, others = self.sums(each, one), self.sums(each, other)
        parts, others_parts = each.parts(one, self.field), each.parts(other, self.field)
        return Sums(
            Fraction(own.least, parts) - Fraction(others.most, others_parts),
            Fraction(own.most, parts) - Fraction(others.least, others_parts),
        )


def _terms(each: Tiebreak, field: Field, game: GameRecord, white: bool) -> list[Fraction | int]:
    """Return what a game may add to a sum of a player, the least and the most among it.

    That is by the ends of the game's interval, for points only grow towards an end, and by the scores of the
    one rank that a balance knows.
    """
    assert each.term is not None
    lower, upper = game.outcome.interval
    values = [lower, upper]
    if each.rank is not None:
        scores = GScore(each.rank, True), GScore(each.rank, False)
        values += [score for score in scores if lower < score < upper]
    return [each.term(field, game, value, white) for value in values]


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
    left_out: LeftOut = LeftOut()
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
    def field(self) -> Field:
        """All players, and by what they are ordered."""
        return Field.of(self.players, self.order.lead, self.scheme)

    @cached_property
    def certainty(self) -> Certainty:
        """What the places and sums may be by values that are not proved."""
        return Certainty(self.field, self.tiebreaks)

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
