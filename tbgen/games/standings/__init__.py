"""Statistics of the games of a tournament: standings, crosstables, Elo, SPRT, histograms."""

from tbgen.games.standings.elo import elo, sprt
from tbgen.games.standings.record import GameRecord
from tbgen.games.standings.tournament import Standings, standings

__all__ = ["GameRecord", "Standings", "elo", "sprt", "standings"]
