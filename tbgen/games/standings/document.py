"""Standings as a JSON document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import msgspec
from msgspec import structs

from tbgen.board.score import GScore
from tbgen.games.standings.certainty import Certainty
from tbgen.games.standings.players import Pairs, Player
from tbgen.games.standings.record import GameRecord
from tbgen.games.standings.sprt import Sprt
from tbgen.games.standings.tiebreaks import TIEBREAKS
from tbgen.games.standings.tournament import Standings


def document(result: Standings) -> dict[str, Any]:
    """Return standings and games for JSON; numbers are not rounded, and what is infinite is null."""
    least, most = result.numbers_of_games
    answer: dict[str, Any] = {
        "scoring": result.scheme,
        "order": result.order.name,
        "tiebreaks": [each.key for each in result.tiebreaks],
        "rules": result.order.rules,
        "source": result.order.source,
        "settings": result.settings,
        "left_out": result.left_out,
        "games_per_player": {"least": least, "most": most},
        "games": [_game(game, result) for game in result.games],
        "players": [_player(player, result.certainty) for player in result.players],
        "bases": result.bases,
        "unproven": {
            "count": len(result.certainty.unproven),
            "games": [f"{game.file} {game.number}" for game in result.certainty.unproven],
            "sentence": result.certainty.sentence,
        },
        "gains": result.gains(),
    }
    if result.sprt is not None:
        answer["sprt"] = _sprt(result.sprt, result)
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(answer, enc_hook=float))  # of fractions
    return found


def _sprt(test: Sprt, result: Standings) -> dict[str, Any]:
    first, second = result.names
    facts = structs.asdict(test)
    unit = "pairs" if facts.pop("pairs") else "games"
    return {"player": first, "opponent": second, "unit": unit, **facts, "verdict": test.verdict}


def _game(game: GameRecord, result: Standings) -> dict[str, Any]:
    outcome, own = game.outcome, game.outcome.settings.scoring
    told: dict[str, Any] = {
        name: getattr(game, name) for name in ("file", "number", "round", "white", "black", "classical")
    }
    told |= {name: str(getattr(outcome, name)) for name in ("accrued", "value", "basis")}
    told["points"] = replace(own, scheme=result.scheme).points(outcome.value)._asdict()
    if outcome.bounds is not None:
        told["bounds"] = outcome.bounds.document()
    if outcome.doubts:
        told["doubts"] = outcome.doubts
    return told


def _player(player: Player, certainty: Certainty) -> dict[str, Any]:
    results = player.results
    return {
        "name": player.name,
        "place": player.place,
        "possible_places": certainty.places[player.name]._asdict(),
        **asdict(results),
        "classical": results.classical,
        "share": results.share,
        "points": player.points,
        "lead": 2 * results.points - results.games,
        "byes": player.byes,
        "direct": player.tiebreaks.get("direct"),
        "tiebreaks": player.tiebreaks,
        "sums": {key: certainty.sums(TIEBREAKS[key], player)._asdict() for key in ("points", "rmobility")},
        "elo": player.elo,
        "pairs": _pairs(player.pairs),
        "colours": {"white": player.colours[True], "black": player.colours[False]},
        "given": _histogram(player.given),
        "suffered": _histogram(player.suffered),
        "meetings": {
            name: {**asdict(meeting.results), "pairs": _pairs(meeting.pairs)}
            for name, meeting in player.meetings.items()
        },
    }


def _pairs(pairs: Pairs) -> dict[str, Any]:
    return {"count": len(pairs.shares), "pentanomial": pairs.halves, "elo": pairs.elo}


def _histogram(held: Mapping[bool, Mapping[int, int]]) -> dict[str, dict[str, int]]:
    return {
        side: {str(GScore(rank, True)): held[white][rank] for rank in sorted(held[white])}
        for white, side in ((True, "white"), (False, "black"))
    }
