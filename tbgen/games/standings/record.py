"""A game as far as standings are concerned."""

from __future__ import annotations

from dataclasses import dataclass

from tbgen.errors import printable
from tbgen.games.outcome import Basis, Outcome
from tbgen.games.tagging.tagged import TaggedGame
from tbgen.score import GScore
from tbgen.scoring import Points, Scheme, Scoring


@dataclass(frozen=True, slots=True)
class GameRecord:
    """Who played, and what it came to."""

    file: str
    number: int
    """In the file, counted from 1."""
    white: str
    black: str
    outcome: Outcome

    @classmethod
    def of(cls, file: str, game: TaggedGame) -> GameRecord | None:
        """Return the record of a game, None of a broken one."""
        if game.outcome is None:
            return None
        tags = {tag.name: tag.value for tag in reversed(game.raw.tags)}
        white, black = (printable(tags.get(side, "?")) for side in ("White", "Black"))
        return cls(printable(file), game.raw.number, white, black, game.outcome)

    @property
    def classical(self) -> str:
        """The result in chess: that of a mate or win off the board, whatever the tag says, else the tag's."""
        outcome = self.outcome
        won = outcome.basis is Basis.MATE or outcome.basis.off_board
        return outcome.classical if won else outcome.recorded

    @property
    def value(self) -> GScore:
        """The result."""
        return self.outcome.value

    def points(self, scheme: Scheme, value: GScore | None = None) -> Points:
        """Return the points of the result, or of another one, with the game's own cutoff and komi.

        :raises UsageError: if the scheme has no points for the game's komi.
        """
        own = self.outcome.settings.scoring
        return Scoring(scheme, own.cutoff, own.komi).points(self.value if value is None else value)
