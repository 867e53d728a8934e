"""The standings of a tournament, and their certainty if values of games are not proved."""

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

_MAX_COMPARED_PLAYERS: Final = 300
"""Maximum number of players to compare pairwise. With more, all places count as uncertain."""
_MAX_RANGES: Final = 6
"""Maximum number of ranges of places in a sentence."""


class Sums(NamedTuple):
    """The least and the greatest value of a sum."""

    least: Fraction | int
    most: Fraction | int


class Places(NamedTuple):
    """The best and the worst place that a player may have."""

    best: int
    worst: int


class Certainty:
    """The certainty of standings if each unproved value may be any score within its bounds.

    The result of a game in chess counts as certain. Two players are compared exactly by the first sum over
    values that may separate them. All later tiebreaks count as uncertain. This is conservative: a place that
    is called certain is certain. If a place is called uncertain, some values reverse the order of two
    players, or leave their order to tiebreaks that have not been examined.

    :param field: the players in order, with their numbers for each tiebreak.
    :param breaks: the tiebreaks.
    """

    def __init__(self, field: Field, breaks: Sequence[Tiebreak]) -> None:
        self.field, self._breaks = field, (field.leading_tiebreak, *breaks)
        self._sums: dict[tuple[str, str], Sums] = {}
        self._unproved = {
            player.name: [seat for seat in player.seats if not seat.game.outcome.interval.exact]
            for player in field.players.values()
        }
        """The games whose values are not proved, by player."""

    def unproven_count(self, player: Player) -> int:
        """Return the number of games of a player whose values are not proved."""
        return len(self._unproved[player.name])

    @cached_property
    def unproven(self) -> Sequence[GameRecord]:
        """The games whose values are not proved, player by player."""
        return [seat.game for seats in self._unproved.values() for seat in seats if seat.white]

    def sums(self, tiebreak: Tiebreak, player: Player) -> Sums:
        """Return the least and the greatest possible sum of a player by a tiebreak; both can occur."""
        sums = self._sums.get((tiebreak.key, player.name))
        if sums is None:
            terms = [_terms(tiebreak, self.field, seat.game, seat.white) for seat in player.seats]
            byes = player.byes if tiebreak.rank is None else 0
            sums = Sums(sum(map(min, terms), byes), sum(map(max, terms), byes))
            self._sums[tiebreak.key, player.name] = sums
        return sums

    @cached_property
    def places(self) -> Mapping[str, Places]:
        """The possible places of players, by name."""
        players = self.field.players
        if not self.unproven:
            return {name: Places(player.place, player.place) for name, player in players.items()}
        if len(players) > _MAX_COMPARED_PLAYERS:
            return dict.fromkeys(players, Places(1, len(players)))
        ahead, maybe_ahead = dict.fromkeys(players, 0), dict.fromkeys(players, 0)
        for one, other in combinations(players.values(), 2):
            sign = self._sign(one, other)
            for player, behind in ((one, -1), (other, 1)):
                ahead[player.name] += sign == behind
                maybe_ahead[player.name] += sign is None
        return {name: Places(1 + ahead[name], 1 + ahead[name] + maybe_ahead[name]) for name in players}

    @cached_property
    def sentence(self) -> str:
        """A sentence on the values that are not proved, and on the places that depend on them."""
        count = len(self.unproven)
        if not count:
            return "All values are proved."
        games = sum(len(player.seats) for player in self.field.players.values()) // 2
        clause = f"{count:,} of {counted(games, 'value')} {'is' if count == 1 else 'are'} not proved"
        ranges = [f"{best} to {worst}" for best, worst in self._uncertain_ranges()]
        if not ranges:
            return f"{clause}, but no place depends on that."
        if len(ranges) > _MAX_RANGES:
            ranges[_MAX_RANGES:] = ["others"]
        *first, last = ranges
        places = f"{', '.join(first)} and {last}" if first else last
        return f"{clause}, and places {places} may depend on that."

    def _uncertain_ranges(self) -> Iterator[Places]:
        """Yield the ranges of uncertain places, with overlapping ranges merged."""
        best = worst = 0
        for places in sorted(each for each in self.places.values() if each.best < each.worst):
            if places.best > worst:
                if worst:
                    yield Places(best, worst)
                best = places.best
            worst = max(worst, places.worst)
        if worst:
            yield Places(best, worst)

    def _sign(self, one: Player, other: Player) -> int | None:
        """Return 1 if the first player is certainly ahead, -1 if behind, 0 if level, None if uncertain."""
        for at, tiebreak in enumerate(self._breaks):
            sums = [earlier for earlier in self._breaks[:at] if earlier.term is not None]
            if tiebreak.term is not None:
                low, high = self._difference(tiebreak, one, other)
            elif self._depends(tiebreak, one, sums):
                return None
            else:
                low = high = tiebreak.compare(one, other, self.field)
            if low != 0 or high != 0:
                return 1 if low > 0 else -1 if high < 0 else None
        return 0

    def _depends(self, tiebreak: Tiebreak, player: Player, sums: Sequence[Tiebreak]) -> bool:
        """Return whether a tiebreak may depend on unproved values although it is no sum over values.

        :param sums: the earlier tiebreaks that are sums over values.
        """

        def may_be_level(other: Player) -> bool:
            differences = (self._difference(earlier, other, player) for earlier in sums)
            return all(low <= 0 <= high for low, high in differences)

        match tiebreak.depends:
            case Dependence.NOTHING:
                return False
            case Dependence.POINTS:
                return self.field.lead is not Lead.CHESS
            case Dependence.LEVEL:
                unproved = (other for other in self.field.players.values() if self._unproved[other.name])
                return bool(sums) and any(map(may_be_level, unproved))
            case Dependence.VALUES:
                return True

    def _difference(self, tiebreak: Tiebreak, one: Player, other: Player) -> Sums:
        """Return the least and the greatest difference between the sums of two players.

        Both can occur: in games between the two players, one gets least exactly when the other gets most.
        """
        own, others = self.sums(tiebreak, one), self.sums(tiebreak, other)
        divisor, others_divisor = tiebreak.divisor(one, self.field), tiebreak.divisor(other, self.field)
        return Sums(
            Fraction(own.least, divisor) - Fraction(others.most, others_divisor),
            Fraction(own.most, divisor) - Fraction(others.least, others_divisor),
        )


def _terms(tiebreak: Tiebreak, field: Field, game: GameRecord, white: bool) -> list[Fraction | int]:
    """Return possible terms of a game in a player's sum, including the least and the greatest term.

    Points are monotonic in the value, so the least and the greatest belong to the bounds of the game's
    interval. In a balance, they may also belong to the two scores of its rank.
    """
    assert tiebreak.term is not None
    lower, upper = game.outcome.interval
    values = [lower, upper]
    if tiebreak.rank is not None:
        scores = GScore(tiebreak.rank, True), GScore(tiebreak.rank, False)
        values += [score for score in scores if lower < score < upper]
    return [tiebreak.term(field, game, value, white) for value in values]


@dataclass(frozen=True, slots=True)
class Change:
    """A game whose proved result differs from its accrued score."""

    game: GameRecord
    before: Fraction
    """White's points for the accrued score."""
    after: Fraction
    """White's points for the result."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Numbers of games that do not count, by reason."""

    unfinished: int = 0
    """Number of games without a result (``*``)."""
    broken: int = 0
    """Number of games that cannot be read."""
    lost_by_both: int = 0
    """Number of games that both sides have lost (0-0)."""

    @property
    def total(self) -> int:
        """Number of all games left out."""
        return self.unfinished + self.broken + self.lost_by_both


@dataclass(frozen=True)
class Standings:
    """The standings of a tournament."""

    scheme: Scheme
    """The scheme by which games are scored."""
    order: Order
    """The order of players."""
    tiebreaks: Sequence[Tiebreak]
    """The tiebreaks of the order."""
    players: Sequence[Player]
    """The players, best first."""
    games: Sequence[GameRecord]
    """The games, in the order of the files."""
    left_out: LeftOut = LeftOut()
    sprt: Sprt | None = None
    """The SPRT of the first of :attr:`names` against the other player; None without a test."""
    tested: str = ""
    """The player whose strength a test measures; empty for White of the first game in order of rounds."""

    @cached_property
    def bases(self) -> Mapping[Basis, int]:
        """Number of games by basis."""
        return Counter(game.outcome.basis for game in self.games)

    @cached_property
    def changes(self) -> Sequence[Change]:
        """The games whose results by best play differ from their accrued scores."""
        return [
            Change(game, game.share(self.scheme, game.outcome.accrued), game.share(self.scheme))
            for game in self.games
            if game.outcome.basis.best_play and game.value != game.outcome.accrued
        ]

    @cached_property
    def field(self) -> Field:
        """The data for tiebreaks."""
        return Field.of(self.players, self.order.lead, self.scheme)

    @cached_property
    def certainty(self) -> Certainty:
        """The possible places and sums, given the values that are not proved."""
        return Certainty(self.field, self.tiebreaks)

    @cached_property
    def names(self) -> Sequence[str]:
        """The tested player, then the players in the order in which they appear by rounds."""
        games = sorted(self.games, key=_round_numbers)  # games played at once may end in any order
        names = (name for game in games for name in (game.white, game.black))
        return list(dict.fromkeys([self.tested, *names] if self.tested else names))

    @cached_property
    def settings(self) -> Mapping[str, Sequence[str]]:
        """The distinct rules, 50-move rules, cutoffs and komis of the games."""
        all_settings = [game.outcome.settings for game in self.games]
        return {
            "rules": sorted({settings.variant.value for settings in all_settings}),
            "fifty_move_rule": sorted({settings.fifty_move_rule.value for settings in all_settings}),
            "cutoff": sorted({str(settings.scoring.cutoff) for settings in all_settings}),
            "komi": sorted({str(settings.scoring.komi) for settings in all_settings}),
        }

    @property
    def numbers_of_games(self) -> tuple[int, int]:
        """The least and the greatest number of games of a player."""
        numbers = [player.results.games for player in self.players]
        return min(numbers), max(numbers)

    def gains(self) -> dict[str, Fraction]:
        """Return the points that each player has gained by the changes; losses are negative."""
        gains: dict[str, Fraction] = defaultdict(Fraction)
        for change in self.changes:
            gain = change.after - change.before
            gains[change.game.white] += gain
            gains[change.game.black] -= gain
        return gains

    def test(self, *numbers: float, model: EloModel | str = EloModel.LOGISTIC, pairs: bool = False) -> Sprt:
        """Return the SPRT of the first of :attr:`names` against the other player (:func:`sprt`).

        :param numbers: elo0 and elo1, and optionally alpha and beta.
        :param pairs: whether to test pairs of games; games without a partner then do not count.

        :raises UsageError: if the number of players is not two, the tested player does not exist, or the
            numbers are out of range.
        """
        if self.tested and all(player.name != self.tested for player in self.players):
            players = ", ".join(quote(player.name) for player in self.players)
            raise UsageError(f"no player is called {quote(self.tested)}: expected one of {players}")
        if len(self.names) != 2:
            raise UsageError(f"an SPRT needs two players, not {len(self.names)}")
        first = next(player for player in self.players if player.name == self.names[0])
        points = first.pairs.shares if pairs else first.shares
        return sprt(points, *numbers, model=model, pairs=pairs)


def _round_numbers(game: GameRecord) -> list[tuple[int, str]]:
    """Return a sort key of a game by the numbers in its round. They may have any number of digits."""
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

    By this scheme, the proved bounds of a result may determine other points than by the scheme of its game.

    :param order: an order, or the name of one of :data:`tbgen.games.standings.orders.ORDERS`.
    :param byes: whether players with fewer games than others get byes, which count as won games.

    :raises UsageError: if no games are passed, the scheme has no points for the komi of a game, or the order
        or one of its tiebreaks does not exist.
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
