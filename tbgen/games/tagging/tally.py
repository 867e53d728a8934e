"""How many games ended how, and what was left out or could not be proven."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tbgen.games.outcome import Basis
from tbgen.games.tagging.tagged import TaggedGame


@dataclass(slots=True)
class Tally:
    """Counts of games, as they come in."""

    bases: Counter[Basis] = field(default_factory=Counter)
    """Games by what their results rest on."""
    missing: Counter[str] = field(default_factory=Counter)
    """Games by the material of the table that is missing for them."""
    missing_syzygy: Counter[str] = field(default_factory=Counter)
    """Games by the name of the Syzygy file that is missing for them."""
    unknown_scorings: Counter[str] = field(default_factory=Counter)
    """Games by a scoring that their tags name and nobody knows."""
    unsolvable: Counter[str] = field(default_factory=Counter)
    """Games by why their positions cannot be solved, if that was asked for."""
    broken: int = 0
    """Games that cannot be read."""

    @property
    def games(self) -> int:
        """Games that have an outcome."""
        return self.bases.total()

    def add(self, game: TaggedGame) -> None:
        """Count a game."""
        outcome = game.outcome
        if outcome is None:
            self.broken += game.error is not None
            return
        self.bases[outcome.basis] += 1
        if outcome.missing is not None:
            self.missing[outcome.missing.material] += 1
        if outcome.missing_syzygy:
            self.missing_syzygy[outcome.missing_syzygy] += 1
        if outcome.settings.unknown_scoring is not None:
            self.unknown_scorings[outcome.settings.unknown_scoring] += 1
        if outcome.unsolvable:
            self.unsolvable[outcome.unsolvable] += 1

    def document(self) -> dict[str, Any]:
        """Return the counts for JSON."""
        return {
            "games": self.games,
            "bases": {basis.value: self.bases[basis] for basis in Basis if self.bases[basis]},
            "broken": self.broken,
            "missing_tables": dict(sorted(self.missing.items())),
            "missing_syzygy": dict(sorted(self.missing_syzygy.items())),
            "unknown_scorings": dict(sorted(self.unknown_scorings.items())),
            "unsolvable": dict(sorted(self.unsolvable.items())),
        }
