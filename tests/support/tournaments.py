"""Games as standings see them."""

from tbgen.board.score import GScore
from tbgen.board.scoring import EXPONENTIAL, ScoreInterval, Scoring
from tbgen.board.variant import Variant
from tbgen.games.outcome import Basis, Outcome
from tbgen.games.settings import FiftyMoveRule, GameSettings
from tbgen.games.standings import GameRecord


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
