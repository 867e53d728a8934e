"""What the games of an event come to: whole encounters only, and the test in the order of the schedule.

Short games end first, so a test of the games that happen to be finished would favour whoever wins quickly. It
looks at the encounters from the first one on up to the first that is not finished, and at no other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tbgen.board.scoring import Scheme
from tbgen.games.standings import Elo, Model, Order, Sprt, Standings, elo, sprt, standings
from tbgen.match.games_file import Kept
from tbgen.match.schedule import Key

__all__ = ["Course", "Score", "TestSettings"]


@dataclass(frozen=True, slots=True)
class TestSettings:
    """The sequential test that ends a match."""

    __test__ = False  # no test of pytest

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05
    model: Model = Model.LOGISTIC


@dataclass(frozen=True, slots=True)
class Score:
    """What a match of two players has come to."""

    player: str
    opponent: str
    points: Fraction
    """Of the player, in whole encounters."""
    games: int
    """In whole encounters."""
    encounters: int
    """Whole ones."""
    elo: Elo | None
    """None before the first encounter is whole."""
    test: Sprt | None
    """None where none is wanted."""


class Course:
    """The finished games of an event, as they come in.

    :param players: those of the event, the one that a match is seen by first.
    :param games: of an encounter.
    """

    def __init__(self, players: Sequence[str], games: int, test: TestSettings | None = None) -> None:
        self.games: dict[Key, Kept] = {}
        self._players, self._size, self._test = players, games, test
        self._encounters: dict[tuple[int, int], list[Kept]] = {}
        self._shares: dict[tuple[int, int], float] = {}
        self._points = Fraction()
        self._tested: list[float] = []
        self._found: Sprt | None = None
        """Where the test stood when it was computed last."""

    def __contains__(self, key: object) -> bool:
        return key in self.games

    def __len__(self) -> int:
        return len(self.games)

    def add(self, kept: Kept) -> None:
        """Take a finished game in."""
        self.games[kept.key] = kept
        place = kept.key[:2]
        members = self._encounters.setdefault(place, [])
        members.append(kept)
        if len(members) == self._size and len(self._players) == 2:
            points = sum((self._part(one) for one in members), Fraction())
            self._points += points
            self._shares[place] = float(points / self._size)
            # In a match each encounter is a round of its own.
            while (next_place := (len(self._tested) + 1, 1)) in self._shares:
                self._tested.append(self._shares[next_place])

    @property
    def tested(self) -> Sequence[float]:
        """The player's points per game of the encounters that the test looks at."""
        return self._tested

    @property
    def untested(self) -> bool:
        """Whether :meth:`test` would have to compute."""
        return self._test is not None and (self._found is None or self._found.count < len(self._tested))

    def whole(self) -> Iterator[Kept]:
        """Yield the games of whole encounters, in the order of the schedule."""
        for place in sorted(self._encounters):
            members = self._encounters[place]
            if len(members) == self._size:
                yield from sorted(members, key=lambda one: one.key)

    def test(self) -> Sprt | None:
        """Return where the test stands; None where none is wanted."""
        test = self._test
        if test is not None and self.untested:
            numbers = (test.elo0, test.elo1, test.alpha, test.beta)
            self._found = sprt(tuple(self._tested), *numbers, model=test.model, pairs=self._size == 2)
        return self._found

    def score(self) -> Score | None:
        """Return the score of a match; None of an event of more players."""
        if len(self._players) != 2:
            return None
        shares, count = list(self._shares.values()), len(self._shares)
        found = elo(shares, pairs=self._size == 2) if shares else None
        player, opponent = self._players
        return Score(player, opponent, self._points, self._size * count, count, found, self.test())

    def standings(self, scheme: Scheme, order: Order = Order.PERCENT) -> Standings | None:
        """Return the standings by whole encounters; None before there is one."""
        records = [one.record for one in self.whole()]
        return standings(records, scheme, order) if records else None

    def _part(self, one: Kept) -> Fraction:
        """Return the first player's points of a game."""
        return one.points if one.record.white == self._players[0] else 1 - one.points
