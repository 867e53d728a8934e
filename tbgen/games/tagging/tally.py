"""How many games ended how, and what was left out or could not be proven."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from tbgen.errors import MissingTableError, build_command
from tbgen.games.outcome import Basis, Outcome
from tbgen.games.pgn.doubts import Doubt
from tbgen.probe.syzygy import address
from tbgen.text import counted

_NAMED: Final = 3
"""Games with a doubt that are named; the others are counted."""


@dataclass(slots=True)
class Tally:
    """Counts of games, as they come in."""

    bases: Counter[Basis] = field(default_factory=Counter)
    """Games by what their results rest on."""
    missing: Counter[str] = field(default_factory=Counter)
    """Games by the material of the table that is missing for them."""
    missing_syzygy: Counter[str] = field(default_factory=Counter)
    """Games by the name of the Syzygy file that is missing for them."""
    doubts: Counter[Doubt] = field(default_factory=Counter)
    """Games by what is doubtful about them."""
    doubtful: dict[Doubt, list[str]] = field(default_factory=dict)
    """The first games with each doubt."""
    unknown_scorings: Counter[str] = field(default_factory=Counter)
    """Games by a scoring that their tags name and nobody knows."""
    unsolvable: Counter[str] = field(default_factory=Counter)
    """Games by why their positions cannot be solved, if that was asked for."""
    broken: int = 0
    """Games that cannot be read."""
    _lack: MissingTableError | None = None
    """The last table that was missing."""

    @property
    def games(self) -> int:
        """Games that have an outcome."""
        return self.bases.total()

    def add(self, outcome: Outcome, name: str) -> None:
        """Count a game.

        :param name: what to call it.
        """
        self.bases[outcome.basis] += 1
        if outcome.missing is not None:
            self.missing[outcome.missing.material] += 1
            self._lack = outcome.missing
        if outcome.missing_syzygy:
            self.missing_syzygy[outcome.missing_syzygy] += 1
        for doubt in outcome.doubts:
            self.doubts[doubt] += 1
            if self.doubts[doubt] <= _NAMED:
                self.doubtful.setdefault(doubt, []).append(name)
        if outcome.settings.unknown_scoring is not None:
            self.unknown_scorings[outcome.settings.unknown_scoring] += 1
        if outcome.unsolvable:
            self.unsolvable[outcome.unsolvable] += 1

    def remarks(self) -> Iterator[str]:
        """Yield a sentence for each kind of doubt, and one on the tables that are missing."""
        for doubt in (doubt for doubt in Doubt if self.doubts[doubt]):
            names, more = self.doubtful[doubt], self.doubts[doubt] - len(self.doubtful[doubt])
            where = "; ".join([*names, f"and {more:,} more"] if more else names)
            yield f"{counted(self.doubts[doubt], 'doubtful game')} ({doubt}): {doubt.sentence}: {where}"
        lack = self._lack
        if lack is not None and len(self.missing) == 1:
            yield str(lack)
        elif lack is not None:
            command = build_command(sorted(self.missing), lack.directory, lack.rules)
            ended = counted(self.missing.total(), "game")
            yield f"{len(self.missing)} tables are missing for {ended}; build them with: {command}"
        if files := sorted(self.missing_syzygy):
            what = f"Syzygy file {files[0]} is" if len(files) == 1 else f"{len(files)} Syzygy files are"
            command = shlex.join(["wget", *map(address, files)])
            ended = counted(self.missing_syzygy.total(), "game")
            yield f"{what} missing for {ended}; in the directory of the others, fetch with: {command}"

    def document(self) -> dict[str, Any]:
        """Return the counts for JSON."""
        return {
            "games": self.games,
            "bases": {basis.value: self.bases[basis] for basis in Basis if self.bases[basis]},
            "broken": self.broken,
            "doubts": {
                doubt.value: {"games": self.doubts[doubt], "first": self.doubtful[doubt]}
                for doubt in Doubt
                if self.doubts[doubt]
            },
            "missing_tables": dict(sorted(self.missing.items())),
            "missing_syzygy": dict(sorted(self.missing_syzygy.items())),
            "unknown_scorings": dict(sorted(self.unknown_scorings.items())),
            "unsolvable": dict(sorted(self.unsolvable.items())),
        }
