"""Games as standings see them."""

from collections.abc import Sequence

from tbgen.board.score import GScore
from tbgen.board.scoring import EXPONENTIAL, ScoreInterval, Scoring
from tbgen.board.variant import Variant
from tbgen.games.game_options import FiftyMoveRule, GameSettings
from tbgen.games.outcome import Basis, Outcome
from tbgen.games.result_tags import tags_of
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


def knockout(names: Sequence[str]) -> list[GameRecord]:
    """Return the games of a knockout of four: the second seed wins 2 to 0, then loses the final."""
    rows = "1.1.1 03 G1.0, 1.1.2 30 -G2.0, 1.2.1 12 G0.0, 1.2.2 21 -G0.0, 2.1.1 01 G1.0, 2.1.2 10 -G2.0"
    return [
        game(names[int(pair[0])], names[int(pair[1])], value, round_=key)
        for key, pair, value in map(str.split, rows.split(","))
    ]


def pgn_of(record: GameRecord) -> str:
    """Return a tagged game with an outcome, as tbgen match writes it."""
    tags = {"Event": "?", "Round": record.round, "White": record.white, "Black": record.black}
    tags |= {"Result": record.classical, **tags_of(record.outcome)}
    if record.event is not None:
        tags |= {"Schedule": "0123", **({"Tournament": str(record.event)} if record.event.form else {})}
    lines = [f'[{name} "{value}"]\n' for name, value in tags.items()]
    return "".join([*lines, f"\n1. d4 {{x}} {record.classical}\n\n"])
