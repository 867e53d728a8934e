"""What the games of a tournament add up to: standings, crosstables, Elo, SPRT, histograms."""

from tbgen.games.standings.elo import Elo, EloModel, Sprt, elo, sprt
from tbgen.games.standings.orders import ORDERS, Order
from tbgen.games.standings.players import Meeting, Pairs, Player, Results
from tbgen.games.standings.record import GameRecord
from tbgen.games.standings.tournament import Change, LeftOut, Standings, standings

__all__ = [
    "ORDERS",
    "Change",
    "Elo",
    "EloModel",
    "GameRecord",
    "LeftOut",
    "Meeting",
    "Order",
    "Pairs",
    "Player",
    "Results",
    "Sprt",
    "Standings",
    "elo",
    "sprt",
    "standings",
]
