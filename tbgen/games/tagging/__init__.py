"""Outcomes of whole PGN files: found in parallel, and written as tags."""

from tbgen.games.tagging.tagged import Adjudicator, TaggedGame, tag_games
from tbgen.games.tagging.tally import Tally

__all__ = ["Adjudicator", "TaggedGame", "Tally", "tag_games"]
