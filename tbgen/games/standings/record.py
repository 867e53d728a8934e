"""A game as far as standings are concerned."""

from __future__ import annotations

from dataclasses import dataclass

from tbgen.errors import printable
from tbgen.games.referee.result import Basis
from tbgen.games.tagging.tagged import TaggedGame
from tbgen.games.tagging.verdict import Verdict
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
    verdict: Verdict

    @classmethod
    def of(cls, file: str, game: TaggedGame) -> GameRecord | None:
        """Return the record of a game, None of a broken one."""
        if game.verdict is None:
            return None
        tags = {tag.name: tag.value for tag in reversed(game.raw.tags)}
        white, black = (printable(tags.get(side, "?")) for side in ("White", "Black"))
        return cls(printable(file), game.raw.number, white, black, game.verdict)

    @property
    def classical(self) -> str:
        """The result in chess: that of a mate or forfeit, whatever the game's tag says, else the tag's."""
        outcome = self.verdict.outcome
        return outcome.classical if outcome.basis in (Basis.MATE, Basis.FORFEIT) else self.verdict.result

    @property
    def value(self) -> GScore:
        """The result."""
        return self.verdict.outcome.value

    def points(self, scheme: Scheme, value: GScore | None = None) -> Points:
        """Return the points of the result, or of another one, with the game's own cutoff and komi.

        :raises UsageError: if the scheme has no points for the game's komi.
        """
        own = self.verdict.scoring
        return Scoring(scheme, own.cutoff, own.komi).points(self.value if value is None else value)
