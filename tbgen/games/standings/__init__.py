"""What the games of a tournament add up to: standings, crosstables, Elo, SPRT, histograms."""

from tbgen.games.standings.elo import Elo, elo
from tbgen.games.standings.places import Change, Meeting, Player, Standings, standings
from tbgen.games.standings.record import GameRecord
from tbgen.games.standings.sprt import Model, Sprt, sprt

__all__ = [
    "Change",
    "Elo",
    "GameRecord",
    "Meeting",
    "Model",
    "Player",
    "Sprt",
    "Standings",
    "elo",
    "sprt",
    "standings",
]
