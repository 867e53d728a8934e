"""Standings as a JSON document."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from tbgen.board.score import GScore
from tbgen.games.standings.elo import Elo
from tbgen.games.standings.players import Pairs, Player, Results
from tbgen.games.standings.record import GameRecord
from tbgen.games.standings.sprt import Sprt
from tbgen.games.standings.tournament import LeftOut, Standings


def document(result: Standings, left_out: LeftOut, test: Sprt | None = None) -> dict[str, Any]:
    """Return standings and games for JSON; numbers are not rounded, and what is infinite is null."""
    least, most = result.numbers_of_games
    answer: dict[str, Any] = {
        "scoring": result.scheme.value,
        "order": result.order.value,
        "settings": dict(result.settings),
        "left_out": {"unfinished": left_out.unfinished, "broken": left_out.broken},
        "games_per_player": {"least": least, "most": most},
        "games": [_game(game, result) for game in result.games],
        "players": [_player(player) for player in result.players],
        "bases": {basis.value: count for basis, count in result.bases.items()},
        "gains": {name: float(gain) for name, gain in result.gains().items()},
    }
    if test is not None:
        first, second = result.names
        answer["sprt"] = {
            "player": first,
            "opponent": second,
            "model": test.model.value,
            "elo0": test.elo0,
            "elo1": test.elo1,
            "alpha": test.alpha,
            "beta": test.beta,
            "unit": "pairs" if test.pairs else "games",
            "count": test.count,
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
    outcome, own = game.outcome, game.outcome.settings.scoring
    told: dict[str, Any] = {
        "file": game.file,
        "number": game.number,
        "round": game.round,
        "white": game.white,
        "black": game.black,
        "classical": game.classical,
        "accrued": str(outcome.accrued),
        "value": str(outcome.value),
        "basis": outcome.basis.value,
        "points": replace(own, scheme=result.scheme).document(outcome.value),
    }
    if outcome.bounds is not None:
        told["bounds"] = outcome.bounds.document()
    return told


def _player(player: Player) -> dict[str, Any]:
    pairs = player.pairs
    return {
        "name": player.name,
        "place": player.place,
        **_chess(player.results),
        "classical": float(player.results.classical),
        "share": float(player.results.share),
        "points": {scheme.value: _known(points) for scheme, points in player.points.items()},
        "lead": float(2 * player.results.points - player.results.games),
        "direct": _known(player.direct),
        "elo": _elo(player.elo),
        "pairs": _pairs(pairs),
        "colours": {
            side: _results(player.colours[white]) for side, white in (("white", True), ("black", False))
        },
        "given": _histogram(player.given),
        "suffered": _histogram(player.suffered),
        "meetings": {
            name: {**_results(meeting.results), "pairs": _pairs(meeting.pairs)}
            for name, meeting in player.meetings.items()
        },
    }


def _chess(results: Results) -> dict[str, int]:
    return {
        "games": results.games,
        "wins": results.wins,
        "draws": results.draws,
        "losses": results.losses,
    }


def _results(results: Results) -> dict[str, int | float]:
    return {**_chess(results), "points": float(results.points)}


def _pairs(pairs: Pairs) -> dict[str, Any]:
    return {
        "count": len(pairs.shares),
        "pentanomial": list(pairs.halves),
        "elo": None if pairs.elo is None else _elo(pairs.elo),
    }


def _elo(found: Elo) -> dict[str, float | None]:
    return {
        "difference": _finite(found.difference),
        "margin": _finite(found.margin),
        "los": found.superiority,
        "normalised": _finite(found.normalised),
        "normalised_margin": _finite(found.normalised_margin),
    }


def _histogram(held: Mapping[bool, Mapping[int, int]]) -> dict[str, dict[str, int]]:
    return {
        side: {str(GScore(rank, True)): held[white][rank] for rank in sorted(held[white])}
        for white, side in ((True, "white"), (False, "black"))
    }


def _known(points: Fraction | None) -> float | None:
    return None if points is None else float(points)


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
