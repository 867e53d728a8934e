"""The standings of a tournament, and how certain they are if values of games are not proved."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct

from tbgen.board.score import GScore
from tbgen.board.scoring import Scheme
from tbgen.errors import UsageError, quote
from tbgen.games.outcome import Basis
from tbgen.games.standings.elo import DEFAULT_ANCHOR, Anchor, EloModel, Sprt, sprt
from tbgen.games.standings.knockout import Duel
from tbgen.games.standings.orders import Order, order_of, ranked_players
from tbgen.games.standings.players import Player, players_of, with_byes
from tbgen.games.standings.record import GameRecord, find_pairs
from tbgen.games.standings.tiebreaks import Dependence, OrderBy, Tiebreak, TieData, tiebreaks
from tbgen.text import counted

if TYPE_CHECKING:
    from tbgen.games.standings.ratings import Rating

_MAX_COMPARED_PLAYERS: Final = 300
"""Maximum number of players to compare pairwise. If there are more, all places count as uncertain."""
_MAX_RANGES: Final = 6
"""Maximum number of ranges of places to name in a sentence."""


class Sums(NamedTuple):
    """The least and the greatest possible value of a sum."""

    least: Fraction | int
    most: Fraction | int


class Places(NamedTuple):
    """The best and the worst possible place of a player."""

    best: int
    worst: int


class Certainty:
    """The certainty of standings if each unproved value may be any score within its bounds.

    The result of a game in chess is assumed to be certain. The first sum over values that may separate two
    players is examined exactly. All later tiebreaks are assumed to be uncertain. This is conservative: a
    place that is called certain is certain. If a place is called uncertain, some possible values reverse the
    order of two players, or make their order depend on tiebreaks that have not been examined.

    :param data: the players in order, with their numbers for each tiebreak.
    :param breaks: the tiebreaks.
    """

    def __init__(self, data: TieData, breaks: Sequence[Tiebreak]) -> None:
        self.data = data
        self._breaks = (data.leading_tiebreak, *breaks)
        self._sums: dict[tuple[str, str], Sums] = {}
        self._unproved_seats = {
            player.name: [seat for seat in player.seats if not seat.game.outcome.interval.exact]
            for player in data.players.values()
        }
        """For each player, his games whose values are not proved."""

    def unproven_count(self, player: Player) -> int:
        """Return the number of a player's games whose values are not proved."""
        return len(self._unproved_seats[player.name])

    @cached_property
    def unproven_games(self) -> Sequence[GameRecord]:
        """The games whose values are not proved, ordered by the place of the player with White."""
        return [seat.game for seats in self._unproved_seats.values() for seat in seats if seat.is_white]

    def sums(self, tiebreak: Tiebreak, player: Player) -> Sums:
        """Return the least and the greatest sum of a player for a tiebreak. Both can occur."""
        sums = self._sums.get((tiebreak.key, player.name))
        if sums is None:
            terms = [_terms(tiebreak, self.data, seat.game, seat.is_white) for seat in player.seats]
            byes = player.byes if tiebreak.rank is None else 0
            sums = Sums(sum(map(min, terms), byes), sum(map(max, terms), byes))
            self._sums[tiebreak.key, player.name] = sums
        return sums

    @cached_property
    def places(self) -> Mapping[str, Places]:
        """The possible places of each player, by name."""
        players = self.data.players
        if not self.unproven_games:
            return {name: Places(player.place, player.place) for name, player in players.items()}
        if len(players) > _MAX_COMPARED_PLAYERS:
            return dict.fromkeys(players, Places(1, len(players)))
        ahead, maybe_ahead = dict.fromkeys(players, 0), dict.fromkeys(players, 0)
        for one, other in combinations(players.values(), 2):
            sign = self._compare(one, other)
            for player, behind in ((one, -1), (other, 1)):
                ahead[player.name] += sign == behind
                maybe_ahead[player.name] += sign is None
        return {name: Places(1 + ahead[name], 1 + ahead[name] + maybe_ahead[name]) for name in players}

    @cached_property
    def sentence(self) -> str:
        """A sentence on the values that are not proved, and on the places that may depend on these values."""
        count = len(self.unproven_games)
        if not count:
            return "All values are proved."
        games = sum(len(player.seats) for player in self.data.players.values()) // 2
        clause = f"{count:,} of {counted(games, 'value')} {'is' if count == 1 else 'are'} not proved"
        ranges = [f"{best} to {worst}" for best, worst in self._uncertain_ranges()]
        if not ranges:
            return f"{clause}, but no place depends on that."
        if len(ranges) > _MAX_RANGES:
            ranges[_MAX_RANGES:] = ["others"]
        *earlier, last = ranges
        places = f"{', '.join(earlier)} and {last}" if earlier else last
        return f"{clause}, and places {places} may depend on that."

    def _uncertain_ranges(self) -> Iterator[Places]:
        """Yield the ranges of uncertain places. Overlapping ranges are merged."""
        best = worst = 0
        for places in sorted(places for places in self.places.values() if places.best < places.worst):
            if places.best > worst:
                if worst:
                    yield Places(best, worst)
                best = places.best
            worst = max(worst, places.worst)
        if worst:
            yield Places(best, worst)

    def _compare(self, one: Player, other: Player) -> int | None:
        """Return 1 if ``one`` is certainly ahead, -1 if certainly behind, 0 if certainly level, else None."""
        for index, tiebreak in enumerate(self._breaks):
            sums = [earlier for earlier in self._breaks[:index] if earlier.term is not None]
            if tiebreak.term is not None:
                low, high = self._difference(tiebreak, one, other)
            elif self._may_depend(tiebreak, one, sums):
                return None
            else:
                low = high = tiebreak.compare(one, other, self.data)
            if low != 0 or high != 0:
                return 1 if low > 0 else -1 if high < 0 else None
        return 0

    def _may_depend(self, tiebreak: Tiebreak, player: Player, sums: Sequence[Tiebreak]) -> bool:
        """Return whether a tiebreak that is not a sum over values may depend on unproved values.

        :param sums: the earlier tiebreaks that are sums over values.
        """

        def may_be_level(other: Player) -> bool:
            differences = (self._difference(earlier, other, player) for earlier in sums)
            return all(low <= 0 <= high for low, high in differences)

        match tiebreak.dependence:
            case Dependence.NOTHING:
                return False
            case Dependence.POINTS:
                return self.data.order_by is not OrderBy.CHESS
            case Dependence.LEVEL:
                unproved = (other for other in self.data.players.values() if self._unproved_seats[other.name])
                return bool(sums) and any(map(may_be_level, unproved))
            case Dependence.VALUES:
                return True

    def _difference(self, tiebreak: Tiebreak, one: Player, other: Player) -> Sums:
        """Return the least and the greatest difference between the sums of two players.

        Both can occur: in games between the two, one player gets his least when the other gets his most.
        """
        own, others = self.sums(tiebreak, one), self.sums(tiebreak, other)
        divisor, others_divisor = tiebreak.divisor(one, self.data), tiebreak.divisor(other, self.data)
        return Sums(
            Fraction(own.least, divisor) - Fraction(others.most, others_divisor),
            Fraction(own.most, divisor) - Fraction(others.least, others_divisor),
        )


def _terms(tiebreak: Tiebreak, data: TieData, game: GameRecord, white: bool) -> list[Fraction | int]:
    """Return possible terms of a game in a player's sum, including the least and the greatest term.

    Points are monotonic in the value, so the least and the greatest term belong to the bounds of the game's
    interval. In a balance, these terms may also belong to the two scores of its rank.
    """
    assert tiebreak.term is not None
    lower, upper = game.outcome.interval
    values = [lower, upper]
    if tiebreak.rank is not None:
        scores = GScore(tiebreak.rank, True), GScore(tiebreak.rank, False)
        values += [score for score in scores if lower < score < upper]
    return [tiebreak.term(data, game, value, white) for value in values]


@dataclass(frozen=True, slots=True)
class Change:
    """A game whose proved result differs from its accrued score."""

    game: GameRecord
    old_points: Fraction
    """White's points for the accrued score."""
    new_points: Fraction
    """White's points for the result."""


@dataclass(frozen=True, slots=True)
class LeftOutCounts:
    """Numbers of games that do not count, for each reason."""

    unfinished: int = 0
    """Number of games without a result (``*``)."""
    broken: int = 0
    """Number of games that cannot be read."""
    lost_by_both: int = 0
    """Number of games that both sides have lost (0-0)."""

    @property
    def total(self) -> int:
        """Total number of games that do not count."""
        return self.unfinished + self.broken + self.lost_by_both


class Decision(StrEnum):
    """The fact that decides an event."""

    STANDINGS = "standings"
    """The order of the players."""
    FINAL = "final"
    """The points of the final of a knockout."""
    SEEDING = "seeding"
    """The seeding of the players of a knockout, whose final is level."""


class EventResult(Struct, frozen=True):
    """Who has won an event, or who is first."""

    winner: str | None
    """Null if the event is not over, its format is unknown, or several players share the first place."""
    leaders: Sequence[str]
    """The players who share the first place: one or more; none as long as a knockout is not decided."""
    decision: Decision | None
    """``standings``, ``final``, or ``seeding`` after a level final; null if there are no leaders."""
    sentence: str
    """The result in words."""
    bracket: Sequence[Sequence[Duel]] = ()
    """The duels of each stage of a knockout; empty for other events."""


@dataclass(frozen=True)
class Standings:
    """The standings of a tournament."""

    scheme: Scheme
    """The scheme under which games are scored."""
    order: Order
    """The order of players."""
    tiebreaks: Sequence[Tiebreak]
    """The tiebreaks of the order."""
    players: Sequence[Player]
    """The players, best first."""
    games: Sequence[GameRecord]
    """The games, in the order of the files."""
    left_out: LeftOutCounts = LeftOutCounts()
    sprt: Sprt | None = None
    """The SPRT of the first of :attr:`names` against the other player; None if there is no test."""
    tested_player: str = ""
    """The player whose strength a test measures; empty for White in the first game of the first round."""
    result: EventResult | None = None
    """The result of the event; None if the games are not examined as those of an event."""
    anchor: Anchor = DEFAULT_ANCHOR
    """The origin of the scale of the joint ratings."""

    @cached_property
    def bases(self) -> Mapping[Basis, int]:
        """Number of games by basis."""
        return Counter(game.outcome.basis for game in self.games)

    @cached_property
    def changes(self) -> Sequence[Change]:
        """The games in which best play leads to a result that differs from the accrued score."""
        return [
            Change(game, game.points_by(self.scheme, game.outcome.accrued), game.points_by(self.scheme))
            for game in self.games
            if game.outcome.basis.best_play and game.value != game.outcome.accrued
        ]

    @cached_property
    def tiebreak_data(self) -> TieData:
        """The data for tiebreaks."""
        return TieData.of(self.players, self.order.order_by, self.scheme)

    @cached_property
    def certainty(self) -> Certainty:
        """The possible places and sums, given that some values are not proved."""
        return Certainty(self.tiebreak_data, self.tiebreaks)

    @cached_property
    def ratings(self) -> Mapping[str, Rating]:
        """The joint ratings of the players by name, from the points that the order counts first.

        :raises UsageError: if the anchor is not one of the players.
        """
        from tbgen.games.standings.ratings import joint_ratings

        return joint_ratings(self.players, self.tiebreak_data.points_of, self.anchor)

    @cached_property
    def names(self) -> Sequence[str]:
        """The names of the tested player, if given, and of the others in the order of their first rounds."""
        # Games that are played at once may end in any order.
        games = sorted(self.games, key=GameRecord.round_numbers)
        names = (name for game in games for name in (game.white, game.black))
        return list(dict.fromkeys([self.tested_player, *names] if self.tested_player else names))

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
    def game_count_range(self) -> tuple[int, int]:
        """The least and the greatest number of games of a player."""
        counts = [player.results.games for player in self.players]
        return min(counts), max(counts)

    @cached_property
    def gains(self) -> Mapping[str, Fraction]:
        """The points that each player has gained through the changes; losses are negative."""
        gains: dict[str, Fraction] = defaultdict(Fraction)
        for change in self.changes:
            gain = change.new_points - change.old_points
            gains[change.game.white] += gain
            gains[change.game.black] -= gain
        return gains

    def test(self, *numbers: float, model: EloModel | str = EloModel.LOGISTIC, pairs: bool = False) -> Sprt:
        """Return the SPRT of the first of :attr:`names` against the other player, as from :func:`sprt`.

        :param numbers: elo0 and elo1, and optionally alpha and beta.
        :param pairs: whether to test pairs of games. Unpaired games then do not count.

        :raises UsageError: if the number of players is not two, the tested player does not exist, or the
            numbers are out of range.
        """
        if self.tested_player and all(player.name != self.tested_player for player in self.players):
            players = ", ".join(quote(player.name) for player in self.players)
            raise UsageError(f"no player is called {quote(self.tested_player)}: expected one of {players}")
        if len(self.names) != 2:
            raise UsageError(f"an SPRT needs two players, not {len(self.names)}")
        tested = next(player for player in self.players if player.name == self.names[0])
        return sprt(tested.pairs.shares if pairs else tested.shares, *numbers, model=model, pairs=pairs)


def standings(
    games: Iterable[GameRecord],
    scheme: Scheme = Scheme.EXPONENTIAL,
    order: Order | str = "percent",
    *,
    byes: bool | Mapping[str, int] = False,
    entrants: Iterable[str] = (),
) -> Standings:
    """Return the standings of games under the given scheme, in the given order.

    The scheme replaces the scheme of each game. This may change a result of which only bounds are proved.

    :param order: an order, or the name of one of :data:`tbgen.games.standings.orders.ORDERS`.
    :param byes: whether players with fewer games than others get byes, which count as won games; or the
        number of byes by player.
    :param entrants: names of players who are listed even if they have no games.

    :raises UsageError: if no games are passed, the scheme has no points for the komi of a game, or the order
        or one of its tiebreaks does not exist.
    """
    records = [game.scored_by(scheme) for game in games]
    if not records:
        raise UsageError("there are no games to score")
    order = order_of(order) if isinstance(order, str) else order
    players = players_of(records, find_pairs(records), scheme, entrants)
    if byes is not False:
        players = with_byes(players, None if byes is True else byes)
    ties = tiebreaks(order.tiebreaks, players)
    data = TieData.of(players, order.order_by, scheme)
    return Standings(scheme, order, ties, ranked_players(players, ties, data), records)
