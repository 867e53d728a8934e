"""A Swiss tournament: everybody plays every round, against somebody with about as many points.

Pairs are those of the FIDE (Dutch) System, Handbook C.04.3, as the package caissify-pairings finds them. For
pairing a whole encounter counts as one game: a point for more points in it, half a point each if they
are level. The player that is left over has a bye, which is worth a point for pairing and nothing else. The
first player of the list is the first in the order of C.04.2, and White of the first game of an encounter
counts as White.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from tbgen.errors import UsageError
from tbgen.extras import needs_extra
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
        self._players: dict[str, dict[str, Any]] = {
            name: {"id": number, "starting_number": number, "name": name, "rating": 0, "score": 0.0}
            | {"bye_count": 0, "color_hist": [], "float_history": []}
            for number, name in enumerate(plan.players, 1)
        }
        """The players as the package has them."""
        self._pairs: Sequence[tuple[str, str]] = ()
        """Those of the last round."""
        self._met: set[tuple[int, int]] = set()

    def encounters(self, number: int, results: Results) -> Sequence[tuple[str, str]]:
        """Return the pairs of players of a round."""
        if number > 1:
            self._score(number - 1, results)
        names = self.plan.players
        found = self._pair(
            "dutch",
            list(self._players.values()),
            self._met,
            number,
            self.plan.rounds,
            bye_value=1.0,
            max_byes_per_player=1,
            initial_color="white",
        )
        met = [(pair["white_id"], pair["black_id"]) for pair in found if pair["black_id"] is not None]
        pairs = [(names[white - 1], names[black - 1]) for white, black in met]
        if len(pairs) < len(names) // 2:
            raise UsageError(
                f"round {number} cannot be paired with opponents that have not met: ask for fewer rounds"
            )
        self._pairs = pairs
        self._met.update(met)
        return pairs

    def _score(self, number: int, results: Results) -> None:
        """Add what a round has come to, the last that was paired, to the players."""
        before = {name: player["score"] for name, player in self._players.items()}
        for place, (white, black) in enumerate(self._pairs, 1):
            games = {key: points for key, points in results.items() if key[:2] == (number, place)}
            lead, ahead = self.lead(white, games), before[white] - before[black]
            points = ((lead > 0) - (lead < 0) + 1) / 2
            self._add(white, points, "white", _float(ahead))
            self._add(black, 1 - points, "black", _float(-ahead))
        for name in set(self._players) - set(itertools.chain.from_iterable(self._pairs)):
            self._add(name, 1, "none", "down")  # C.04.3, article 1.4.3: as of a player that floats down
            self._players[name]["bye_count"] += 1

    def _add(self, name: str, points: float, colour: str, floated: str) -> None:
        player = self._players[name]
        player["score"] += points
        player["color_hist"].append(colour)
        player["float_history"].append(floated)


def _float(ahead: float) -> str:
    """Return the float of a player that is so many points ahead of the opponent."""
    return "down" if ahead > 0 else "up" if ahead < 0 else "none"
