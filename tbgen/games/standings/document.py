"""Standings as a JSON document."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tbgen.games.standings.places import Player, Standings
from tbgen.games.standings.record import GameRecord
from tbgen.games.standings.sprt import Sprt
from tbgen.score import GScore


def document(result: Standings, games: list[GameRecord], test: Sprt | None = None) -> dict[str, Any]:
    """Return standings and games for JSON; what is infinite is null."""
    answer: dict[str, Any] = {
        "scoring": result.scheme.value,
        "settings": dict(result.settings),
        "games": [_game(game, result) for game in games],
        "players": [_player(player) for player in result.players],
        "bases": {basis.value: count for basis, count in result.bases.items()},
        "gains": {name: round(gain, 9) for name, gain in result.gains().items()},
    }
    if test is not None:
        first, second = result.names
        answer["sprt"] = {
            "player": first,
            "opponent": second,
            "elo0": test.elo0,
            "elo1": test.elo1,
            "alpha": test.alpha,
            "beta": test.beta,
            "wins": test.wins,
            "losses": test.losses,
            "draws": test.draws,
            "llr": test.llr,
            "lower": test.lower,
            "upper": test.upper,
            "verdict": test.verdict,
        }
    return answer


def _game(game: GameRecord, result: Standings) -> dict[str, Any]:
    outcome, points = game.outcome, game.points(result.scheme)
    return {
        "file": game.file,
        "number": game.number,
        "white": game.white,
        "black": game.black,
        "classical": game.classical,
        "accrued": str(outcome.accrued),
        "value": str(outcome.value),
        "basis": outcome.basis.value,
        "points": {"white": points.white, "black": points.black},
    }


def _player(player: Player) -> dict[str, Any]:
    return {
        "name": player.name,
        "place": player.place,
        "games": player.games,
        "wins": player.wins,
        "draws": player.draws,
        "losses": player.losses,
        "points": {scheme.value: points for scheme, points in player.points.items()},
        "direct": player.direct,
        "elo": {
            "difference": _finite(player.elo.difference),
            "margin": _finite(player.elo.margin),
            "los": player.elo.superiority,
        },
        "given": _histogram(player.given),
        "suffered": _histogram(player.suffered),
        "meetings": {
            name: {"points": meeting.points, "games": meeting.games}
            for name, meeting in player.meetings.items()
        },
    }


def _histogram(held: Mapping[bool, Mapping[int, int]]) -> dict[str, dict[str, int]]:
    return {
        side: {str(GScore(rank, True)): held[white][rank] for rank in sorted(held[white])}
        for white, side in ((True, "white"), (False, "black"))
    }


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
