"""A Swiss tournament: everybody plays every round, against somebody with about as many points.

Pairs are those of the FIDE (Dutch) System, Handbook C.04.3, as the package caissify-pairings finds them. For
pairing a whole encounter counts as one game: a point for who has more points in it, half a point each if they
are level. Whoever is left over has a bye, which is worth a point for pairing and nothing else. The first
player of the list is the first in the order of C.04.2, and who has White in the first game of an encounter
counts as White.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from tbgen.errors import UsageError, needs_extra
from tbgen.match.schedule import Plan, Results, Schedule


class Swiss(Schedule):
    """The rounds of a Swiss tournament.

    :raises UsageError: if there are too few players for so many rounds.
    :raises MissingExtraError: if the package that pairs is not installed.
    """

    waits = True

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan, len(plan.players) // 2)
        most = len(plan.players) - 1 + len(plan.players) % 2
        if plan.rounds > most:
            raise UsageError(
                f"a Swiss tournament of {len(plan.players)} has at most {most} rounds, in which nobody meets "
                "anybody twice: ask for fewer with --rounds, or for more games with --tournament round-robin"
            )
        with needs_extra("a Swiss tournament", "match"):
            from caissify_pairings import generate_pairings
        self._pair = generate_pairings
        self._before: list[Sequence[tuple[str, str]]] = []
        """Who met in each round."""

    def encounters(self, number: int, results: Results) -> Sequence[tuple[str, str]]:
        """Return the pairs of players of a round."""
        names = self.plan.players
        numbers = {name: place for place, name in enumerate(names, 1)}
        found = self._pair(
            "dutch",
            self._players(results),
            {(numbers[one], numbers[other]) for pairs in self._before for one, other in pairs},
            number,
            self.plan.rounds,
            bye_value=1.0,
            max_byes_per_player=1,
            initial_color="white",
        )
        pairs = [
            (names[pair["white_id"] - 1], names[pair["black_id"] - 1])
            for pair in found
            if pair["black_id"] is not None
        ]
        if len(pairs) < len(names) // 2:
            raise UsageError(
                f"round {number} cannot be paired with opponents who have not met: ask for fewer rounds"
            )
        self._before.append(pairs)
        return pairs

    def _players(self, results: Results) -> list[dict[str, Any]]:
        """Return what has become of each player, as the package wants to know it."""
        players: dict[str, dict[str, Any]] = {
            name: {
                "id": number,
                "name": name,
                "score": 0.0,
                "rating": 0,
                "starting_number": number,
                "color_hist": [],
                "float_history": [],
                "bye_count": 0,
            }
            for number, name in enumerate(self.plan.players, 1)
        }

        def add(name: str, points: float, colour: str, floated: str) -> None:
            player = players[name]
            player["score"] += points
            player["color_hist"].append(colour)
            player["float_history"].append(floated)

        for number, pairs in enumerate(self._before, 1):
            before = {name: player["score"] for name, player in players.items()}
            for place, (white, black) in enumerate(pairs, 1):
                games = {key: each for key, each in results.items() if key[:2] == (number, place)}
                lead, ahead = self.lead(white, games), before[white] - before[black]
                points = ((lead > 0) - (lead < 0) + 1) / 2
                add(white, points, "white", _floated(ahead))
                add(black, 1 - points, "black", _floated(-ahead))
            for name in set(players) - set(itertools.chain.from_iterable(pairs)):
                add(name, 1, "none", "down")  # C.04.3, article 1.4.3: as of a player who floats down
                players[name]["bye_count"] += 1
        return list(players.values())


def _floated(ahead: float) -> str:
    """Return where a player went who met another with so many points less."""
    return "down" if ahead > 0 else "up" if ahead < 0 else "none"
