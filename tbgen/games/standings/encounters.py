"""The games of a running event, its score, its test and its winner. Only complete encounters count.

Short games end first, so a test of all games that happen to be finished would favour the quicker winner. The
test therefore uses only the encounters that precede the first incomplete encounter of the schedule.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, NamedTuple

from tbgen.board.scoring import Scheme
from tbgen.games.game_options import GameOptions
from tbgen.games.outcome import RESULTS, Basis
from tbgen.games.pgn.splitter import RawGame
from tbgen.games.result_tags import outcome_of_tags
from tbgen.games.standings.elo import Elo, Sprt, TestSettings, elo, sprt
from tbgen.games.standings.knockout import DuelDecision, played_stages
from tbgen.games.standings.orders import DEFAULT_RANKING, Ranking
from tbgen.games.standings.record import EventFormat, Format, GameRecord, games_by_round
from tbgen.games.standings.tables import lead_text
from tbgen.games.standings.tournament import Decision, EventResult, Standings, standings
from tbgen.games.tagging import TaggedGame
from tbgen.text import join_words

_NOUNS: Final = {
    Basis.SOLVED: "solving",
    Basis.BOUNDED: "proved bounds",
    Basis.ABANDONED: "abandonment",
    Basis.PLAYED: "accrued score",
    Basis.TABLE_MISSING: "accrued score (table missing)",
}
"""Nouns for those bases that are not nouns themselves."""
_GAME_ID: Final = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})\.([0-9]{1,9})")


class GameId(NamedTuple):
    """The numbers that identify a game of an event, as in the tag ``Round``."""

    round: int
    """Number of the round, from 1."""
    encounter: int
    """Number of the encounter within its round, from 1."""
    game: int
    """Number of the game within its encounter, from 1."""

    def __str__(self) -> str:
        return ".".join(map(str, self))

    @classmethod
    def parse(cls, text: str) -> GameId | None:
        """Parse the tag ``Round``; return None unless it has the form ``round.encounter.game``."""
        match = _GAME_ID.fullmatch(text)
        return None if match is None else cls(*map(int, match.groups()))


def finished_game(raw: RawGame, file: str, options: GameOptions) -> GameRecord | None:
    """Return the record of a game from its tags; None if they are not those of a finished game of an event.

    :param file: name of the file, for the record.
    """
    tags = raw.values
    record = GameRecord.of(file, TaggedGame(raw, outcome_of_tags(tags, options)))
    if raw.flaw or record is None or GameId.parse(record.round) is None or tags.get("Result") not in RESULTS:
        return None
    return record


@dataclass(frozen=True, slots=True)
class MatchScore:
    """The score of a match between two players."""

    player: str
    opponent: str
    points: Fraction
    """The player's points in complete encounters."""
    games: int
    """Number of games in complete encounters."""
    elo: Elo | None
    """The Elo difference; None before an encounter is complete."""
    test: Sprt | None
    """The state of the test; None if there is no test."""


class Encounters:
    """The finished games of an event, grouped by encounter.

    :param players: players of the event. In a match, the score is that of the first player.
    :param encounter_size: number of games in an encounter.
    :param test: settings of the test; None for no test.
    """

    def __init__(self, players: Sequence[str], encounter_size: int, test: TestSettings | None = None) -> None:
        self.games: dict[GameId, GameRecord] = {}
        self._players = players
        self._size = encounter_size
        self._test = test
        self._shares: dict[tuple[int, int], float] = {}
        """The first player's points per game in complete encounters of a match, by round and encounter."""
        self._points = Fraction()
        self._sample: list[float] = []
        """The elements of ``_shares`` that the test uses, in the order of the schedule."""
        self._state: Sprt | None = None
        """The state of the test when it was last computed."""

    def __len__(self) -> int:
        return len(self.games)

    def add(self, game: GameRecord) -> None:
        """Add a finished game."""
        key = GameId.parse(game.round)
        assert key is not None
        self.games[key] = game
        members = self._members(key)
        if len(members) == self._size and len(self._players) == 2:
            points = sum((self._points_of_first_player(member) for member in members), Fraction())
            self._points += points
            self._shares[key.round, key.encounter] = float(points / self._size)
            # In a match that can be tested, each encounter is a round of its own.
            while (following := (len(self._sample) + 1, 1)) in self._shares:
                self._sample.append(self._shares[following])

    @property
    def is_test_outdated(self) -> bool:
        """Whether the state of the test has to be computed again, because more encounters are complete."""
        return self._test is not None and (self._state is None or self._state.count < len(self._sample))

    def countable_games(self) -> list[GameRecord]:
        """Return the games of complete encounters, in the order of the schedule."""
        return [game for key, game in sorted(self.games.items()) if len(self._members(key)) == self._size]

    def ending_counts(self) -> dict[str, Counter[str]]:
        """Return, for each player, the number of finished games by ending, such as ``won by mate``."""
        counts = {name: Counter[str]() for name in self._players}
        for game in self.games.values():
            for name, points in ((game.white, game.points), (game.black, 1 - game.points)):
                word = "level" if 2 * points == 1 else "won" if 2 * points > 1 else "lost"
                basis = game.outcome.basis
                counts[name][f"{word} by {_NOUNS.get(basis, basis.value)}"] += 1
        return counts

    def test(self) -> Sprt | None:
        """Return the state of the test; None if there is no test."""
        test = self._test
        if test is not None and self.is_test_outdated:
            self._state = sprt(tuple(self._sample), *test.args, model=test.model, pairs=self._size == 2)
        return self._state

    def score(self) -> MatchScore | None:
        """Return the score of the match; None if the event has more than two players."""
        if len(self._players) != 2:
            return None
        shares = list(self._shares.values())
        count = len(self._shares)
        difference = elo(shares, pairs=self._size == 2) if shares else None
        player, opponent = self._players
        return MatchScore(player, opponent, self._points, self._size * count, difference, self.test())

    def standings(self, scheme: Scheme, ranking: Ranking = DEFAULT_RANKING) -> Standings | None:
        """Return the standings of all players from complete encounters, with the test.

        If no encounter is complete, return None.
        """
        records = self.countable_games()
        if not records:
            return None
        byes = self._byes() if ranking.byes else False
        result = standings(records, scheme, ranking.order, byes=byes, entrants=self._players)
        return replace(result, sprt=self.test(), tested_player=self._players[0])

    def _byes(self) -> Mapping[str, int]:
        """Return how many games each player of a Swiss event has missed by byes in finished rounds."""
        games_in_full = len(self._players) // 2 * self._size
        rounds = games_by_round(self.countable_games())
        full = [
            {name for game in games for name in (game.white, game.black)}
            for games in rounds
            if len(games) == games_in_full
        ]
        return {name: self._size * sum(name not in names for names in full) for name in self._players}

    def _members(self, key: GameId) -> list[GameRecord]:
        """Return the finished games of an encounter.

        :param key: numbers of any game of the encounter.
        """
        keys = (key._replace(game=game_number) for game_number in range(1, self._size + 1))
        return [self.games[game_id] for game_id in keys if game_id in self.games]

    def _points_of_first_player(self, game: GameRecord) -> Fraction:
        """Return the first player's points in a game."""
        return game.points if game.white == self._players[0] else 1 - game.points


def event_result(found: Standings, event: EventFormat | None = None, *, is_over: bool = False) -> EventResult:
    """Return who has won an event by its rules, or who is first.

    :param found: the standings of the event.
    :param event: the format of the event; None for the format that its games state. The event is then over if
        the number of its games is that of the format.
    :param is_over: whether no more games will be played. A knockout is also over once its games decide it.
    """
    games = found.games
    if event is None and (event := _common_format(games)) is not None:
        is_over = is_over or event.total == len(games)
    if event is not None and event.form is Format.KNOCKOUT:
        return _knockout_result(found, event)
    forms = {game.event.form for game in games if game.event} if event is None else {event.form}
    if Format.KNOCKOUT in forms or (None in forms and _may_be_knockout(games)):
        flaw = "do not all belong to one event" if event is None else "do not state the format of their event"
        sentence = (
            f"No winner is named: the games {flaw}, and points over all rounds do not decide a knockout."
        )
        return EventResult(None, (), None, sentence)
    leaders = [player.name for player in found.players if player.place == 1]
    lead = lead_text(found)
    sentence = f"{join_words(leaders)} share the first place."
    if len(leaders) == 1:
        sentence = f"{leaders[0]} {'wins' if is_over else 'is first'}{lead and f': {lead}'}."
    if is_over and event is not None and event.form is Format.SWISS and event.total != len(games):
        last_round = max(int(game.round.partition(".")[0]) for game in games)
        sentence += f" The event ended after round {last_round} of {event.rounds}."
    winner = leaders[0] if is_over and len(leaders) == 1 else None
    return EventResult(winner, leaders, Decision.STANDINGS, sentence)


def _common_format(games: Sequence[GameRecord]) -> EventFormat | None:
    """Return the format that the games of an event state, with the latest number of rounds.

    Return None if they belong to several events, or to none of ``tbgen match``.
    """
    stated_formats = dict.fromkeys(game.event for game in games if game.event is not None)
    events = {replace(event, rounds=1): event for event in stated_formats}
    if len(events) > 1:
        events.pop(EventFormat(), None)  # an earlier version has played a part of the event
    is_single = len(events) == 1 and all(game.event for game in games)
    return events.popitem()[1] if is_single and len({game.round for game in games}) == len(games) else None


def _may_be_knockout(games: Sequence[GameRecord]) -> bool:
    """Return whether the games may be those of a knockout: in events, there are three players or more, and
    nobody has met two opponents in a round."""
    sides = [(game.round.partition(".")[0], game.white, game.black) for game in games if game.event]
    meetings = {*sides, *((round_, black, white) for round_, white, black in sides)}
    players = {white for _, white, _ in meetings}
    return len(players) > 2 and len(meetings) == len({meeting[:2] for meeting in meetings})


def _knockout_result(found: Standings, event: EventFormat) -> EventResult:
    """Return the result of a knockout, whose bracket is derived again from its games."""
    stages = played_stages(event, found.games)
    duels = [duel for stage in stages for duel in stage]
    final = duels[-1] if duels and sum(len(duel.games) for duel in duels) == len(found.games) else None
    if final is None or final.winner is None:
        return EventResult(None, (), None, "The games do not decide the knockout.", stages)
    (loser,) = {*final.players} - {final.winner}
    if final.decision is DuelDecision.SEEDING:
        sentence = f"{final.winner} has won the knockout by seeding: the final against {loser} is level."
        return EventResult(final.winner, (final.winner,), Decision.SEEDING, sentence, stages)
    last = standings(
        [game for game in found.games if {game.white, game.black} == {*final.players}], found.scheme
    )
    sentence = f"{final.winner} has won the knockout, in the final against {loser}: {lead_text(last)}."
    return EventResult(final.winner, (final.winner,), Decision.FINAL, sentence, stages)


def with_result(found: Standings, result: EventResult) -> Standings:
    """Return standings with the result of their event. The places of a knockout are those of its bracket: the
    players who have left it in the same stage share a place."""
    stages = result.bracket
    if not stages:
        return replace(found, result=result)
    # Of the stages in which a player stands, the last one counts.
    reached: dict[str | None, int] = {
        name: index for index, stage in enumerate(stages) for duel in stage for name in duel.players
    }
    if result.winner is not None:
        reached[result.winner] += 1
    stage_of = [reached.get(player.name, -1) for player in found.players]
    placed = [
        replace(player, place=1 + sum(other > stage for other in stage_of))
        for player, stage in zip(found.players, stage_of, strict=True)
    ]
    return replace(found, result=result, players=sorted(placed, key=lambda player: player.place))
