"""Knockouts: the bracket, the rounds that follow from results, and the duels that have been played."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import Final, TypeAlias

from msgspec import Struct

from tbgen.board.score import GScore
from tbgen.games.standings.record import EventFormat, GameRecord

Pairing: TypeAlias = tuple[str, str]
"""The two players of an encounter; the first player has White in the first game."""
Rounds: TypeAlias = Iterator[Sequence[Pairing]]
"""The encounters of each round."""
Lead: TypeAlias = Callable[[str, str], Fraction]
"""Function that returns the first player's lead over the second, in points, in all their games so far."""
MAX_EXTRA_ENCOUNTERS: Final = 4
"""Maximum number of further encounters of a duel in which the points are equal."""
_STAGES: Final = {2: "final", 4: "semi-final", 8: "quarter-final"}
"""Names of the last stages, by the number of places."""


class DuelDecision(StrEnum):
    """The fact that decides a duel."""

    POINTS = "points"
    SEEDING = "seeding"
    BYE = "bye"


class DuelGame(Struct, frozen=True):
    """A game of a duel."""

    key: str
    """The tag ``Round``."""
    white: str
    classical: str
    value: GScore
    """White, the result in chess, and the result."""


class Duel(Struct, frozen=True):
    """A duel of a knockout."""

    stage: str
    """``final``, ``semi-final``, ``quarter-final``, ``round of 16`` and so on."""
    players: Sequence[str | None]
    """The two players, the better seed first; null for one who is not known yet, or for a bye."""
    points: Sequence[Fraction]
    """Their points by the scoring of the event."""
    games: Sequence[DuelGame]
    winner: str | None
    decision: DuelDecision | None
    """The games, who has advanced, and what has decided that; null before the end."""


def knockout_rounds(event: EventFormat, lead: Lead, *, alternates: bool = False) -> Rounds:
    """Yield the rounds of a knockout: for each stage one round, and one more for each further encounter.

    The loser of a duel is eliminated. In the first stage, the best seed meets the worst, the second best
    meets the second worst, and so on. The bracket keeps the two best seeds apart until the final. If the
    number of players is not a power of two, the best seeds get byes in the first stage.

    A duel has as many encounters as the event has rounds. The player who has more points under the event's
    scoring wins. If the points are equal, the two players have further encounters until one of them leads. If
    neither leads after :data:`MAX_EXTRA_ENCOUNTERS` further encounters, the better seed advances.

    :param alternates: whether colours alternate between the encounters of a duel.
    """
    players = event.players
    places = bracket(players)  # the remaining players; places 0 and 1 form a duel, 2 and 3, and so on

    def encounters(duels: Sequence[Pairing], indexes: Iterable[int]) -> Sequence[Pairing]:
        """Return, for all duels, the encounters with the given indexes, counted from 0 within each duel."""
        return [(b, a) if alternates and index % 2 else (a, b) for index in indexes for a, b in duels]

    while len(places) > 1:
        duels = [
            (a, b) if players.index(a) < players.index(b) else (b, a)
            for a, b in _paired_places(places)
            if a is not None and b is not None
        ]
        yield encounters(duels, range(event.rounds))
        for extra in range(MAX_EXTRA_ENCOUNTERS):
            if level := [duel for duel in duels if not lead(*duel)]:
                yield encounters(level, [event.rounds + extra])
        # If the players of a duel are level, the first, the better seed, wins.
        losers = {b if lead(a, b) >= 0 else a for a, b in duels}
        survivors = [None if player in losers else player for player in places]
        places = [a or b for a, b in _paired_places(survivors)]


def bracket(players: Sequence[str]) -> list[str | None]:
    """Return the players in the order of the bracket: the first two are opponents, the next two, and so on.

    None stands for a bye.

    >>> bracket("123456")
    ['1', None, '4', '5', '2', None, '3', '6']
    """
    order = [0]
    while len(order) < len(players):
        size = 2 * len(order)
        order = [seed for better in order for seed in (better, size - 1 - better)]
    return [players[seed] if seed < len(players) else None for seed in order]


def _paired_places(places: Sequence[str | None]) -> list[tuple[str | None, str | None]]:
    return list(zip(places[::2], places[1::2], strict=True))


def played_stages(event: EventFormat, games: Iterable[GameRecord]) -> list[list[Duel]]:
    """Return the duels of each stage of a knockout, as far as its games decide them.

    A duel without an opponent is a bye. A game between players who do not meet belongs to no duel.
    """
    games_by_pair = defaultdict[frozenset[str], list[GameRecord]](list)
    for game in sorted(games, key=GameRecord.round_numbers):
        games_by_pair[frozenset((game.white, game.black))].append(game)
    stages: list[list[Duel]] = []
    places: list[str | None] = bracket(event.players)
    while len(places) > 1:
        duels = [
            _played_duel(
                event, len(places), pair, games_by_pair[frozenset(filter(None, pair))], has_byes=not stages
            )
            for pair in _paired_places(places)
        ]
        stages.append(duels)
        places = [duel.winner for duel in duels]
    return stages


def _played_duel(
    event: EventFormat,
    size: int,
    pair: tuple[str | None, str | None],
    games: Sequence[GameRecord],
    *,
    has_byes: bool,
) -> Duel:
    """Return a duel.

    :param size: number of places in its stage.
    :param has_byes: whether a missing player is a bye; otherwise, he is not known yet.
    """
    stage = _STAGES.get(size, f"round of {size}")
    first, second = sorted(pair, key=lambda name: event.players.index(name) if name else len(event.players))
    if first is None or second is None:
        winner = first if has_byes else None
        return Duel(stage, (first, second), (), (), winner, DuelDecision.BYE if winner else None)
    points = sum((game.points if game.white == first else 1 - game.points for game in games), Fraction())
    lead = 2 * points - len(games)
    encounters, remainder = divmod(len(games), event.games)
    winner = decision = None
    if encounters >= event.rounds and not remainder:
        if lead:
            winner, decision = first if lead > 0 else second, DuelDecision.POINTS
        elif encounters >= event.rounds + MAX_EXTRA_ENCOUNTERS:
            winner, decision = first, DuelDecision.SEEDING
    rows = [DuelGame(game.round, game.white, game.classical, game.value) for game in games]
    return Duel(stage, (first, second), (points, len(games) - points), rows, winner, decision)
