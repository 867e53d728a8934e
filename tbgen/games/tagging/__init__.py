"""Results and points of whole PGN files: found in parallel, and written as tags."""

from tbgen.games.tagging.tagged import TaggedGame, tag_games
from tbgen.games.tagging.verdict import Judge, Verdict

__all__ = ["Judge", "TaggedGame", "Verdict", "tag_games"]
