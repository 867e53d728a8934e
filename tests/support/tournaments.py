"""Games as standings see them."""

from collections.abc import Sequence

from tbgen.board.score import GScore
from tbgen.board.scoring import EXPONENTIAL, ScoreInterval, Scoring
from tbgen.board.variant import Variant
from tbgen.games.outcome import Basis, Outcome
from tbgen.games.settings import FiftyMoveRule, GameSettings
from tbgen.games.standings import GameRecord
from tbgen.games.tagging import tags_of


def game(
    white: str,
    black: str,
    value: str,
    *,
    accrued: str = "",
    basis: Basis = Basis.REPETITION,
    result: str = "",
    scoring: Scoring = EXPONENTIAL,
    number: int = 1,
    round_: str = "",
    start: str = "",
    bounds: str = "",
) -> GameRecord:
    """Return a game between two players with a result; in chess it is a draw unless it is mate."""
    score = GScore.parse(value)
    settings = GameSettings(Variant.R_MOBILITY, FiftyMoveRule.LEGACY, False, scoring)
    decisive = ("1-0" if score.white else "0-1") if score.rank == 0 else "1/2-1/2"
    outcome = Outcome(
        score,
        basis,
        GScore.parse(accrued or value),
        settings,
        recorded=result or decisive,
        bounds=ScoreInterval.parse(bounds) if bounds else None,
    )
    return GameRecord("x.pgn", number, white, black, outcome, round_, start)


def games(text: str) -> list[GameRecord]:
    """Games of players whose names are letters: ``AB G0.5, CD G0.0 3`` has three games of C and D."""
    found = []
    for players, value, *times in map(str.split, text.split(",")):
        found += [game(players[0], players[1], value) for _ in range(int(times[0]) if times else 1)]
    return found


def knockout(names: Sequence[str], final: str = "G1.0 -G2.0") -> list[GameRecord]:
    """Return the games of a knockout of four: the second seed wins 2 to 0, then meets the first in the final.

    :param final: the results of the games of the final.
    """
    first, second, third, fourth = names
    duels = ["1.1", first, fourth, "G1.0 -G2.0"], ["1.2", second, third, "G0.0 -G0.0"]
    values = final.split()
    finals = [
        [f"{2 + at // 2}.1", first, second, " ".join(values[at : at + 2])] for at in range(0, len(values), 2)
    ]
    return [
        game(*((white, black) if number == 1 else (black, white)), value, round_=f"{key}.{number}")
        for key, white, black, both in [*duels, *finals]
        for number, value in enumerate(both.split(), 1)
    ]


def pgn_of(record: GameRecord) -> str:
    """Return a tagged game with an outcome, as tbgen match writes it."""
    tags = {"Event": "?", "Round": record.round, "White": record.white, "Black": record.black}
    tags |= {"Result": record.classical, **tags_of(record.outcome)}
    if record.event is not None:
        tags |= {"Schedule": "0123", **({"Tournament": str(record.event)} if record.event.form else {})}
    return (
        "".join(f'[{name} "{value}"]\n' for name, value in tags.items())
        + f"\n1. d4 {{x}} {record.classical}\n\n"
    )
