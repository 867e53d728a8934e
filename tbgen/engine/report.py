"""Reports on the engine's thinking, as ``info`` lines of UCI.

The line with the G-score comes before the line that user interfaces read, because they show the last line.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import chess

from tbgen.board.scoring import ScoreInterval
from tbgen.engine.game import Advice, RootLine, SearchCounts, SearchGame
from tbgen.engine.scale import centipawns, mate_plies, nearest_score, value_after, worth
from tbgen.text import plies as plies_text

if TYPE_CHECKING:
    from chess.engine import InfoDict

    from tbgen.engine.partner import Judgement


def of_search(
    game: SearchGame, best: RootLine, counts: SearchCounts, seconds: float, place: int | None = None
) -> Iterator[str]:
    """Yield the UCI lines for a line of play after an iteration.

    :param place: place of the move among the best moves; None if only one move is reported.
    """
    prefix, multipv = _place_texts(place)
    rate = int(counts.nodes / seconds) if seconds else 0
    yield f"info string {prefix}G-score {_score_in_words(best.value)}, accrued {game.accrued}"
    yield (
        f"info depth {best.depth} seldepth {max(counts.deepest, best.depth)} {multipv}"
        f"{_score_field(best.value, game.live.turn)} nodes {counts.nodes} nps {rate} "
        f"hashfull {counts.permille} tbhits {counts.hits} time {int(1000 * seconds)} "
        f"pv {_line_text(game, best.line)}"
    )


def of_advice(
    game: SearchGame, advice: Advice, source: str, seconds: float, place: int | None = None
) -> Iterator[str]:
    """Yield the UCI lines for advice.

    :param source: source of the advice, in a word.
    :param place: place of the move among the best moves; None if only one move is reported.
    """
    white = game.live.turn
    guaranteed = advice.lower if white else advice.upper
    plies = 0 if advice.value == game.accrued else advice.depth
    value = worth(guaranteed) if plies is None else value_after(guaranteed, game.accrued, plies)
    depth, bound = max(plies or 0, 1), " lowerbound" if advice.value is None else ""
    if advice.value is None:
        words = ScoreInterval(advice.lower, advice.upper).words
    elif plies is None:
        words = f"{advice.value} at an unknown depth"
    else:
        words = f"{advice.value} in {plies_text(plies)}"
    prefix, multipv = _place_texts(place)
    yield f"info string {prefix}G-score {words}, from {source}, accrued {game.accrued}"
    yield (
        f"info depth {depth} seldepth {depth} {multipv}{_score_field(value, white)}{bound} "
        f"nodes 0 nps 0 tbhits {int(source == 'tables')} time {int(1000 * seconds)} "
        f"pv {_line_text(game, advice.line or advice.moves[:1])}"
    )


def of_partner(game: SearchGame, judged: "Judgement", seconds: float) -> Iterator[str]:
    """Yield the UCI lines for a judgement of the partner."""
    if len(judged.candidates) > 1:
        moves = " ".join(game.live.uci(move) for move in judged.candidates)
        yield f"info string in chess the partner sees a draw, which these moves keep: {moves}"
    yield from of_partners_line(game, judged.result, seconds)


def of_partners_line(game: SearchGame, line: "InfoDict", seconds: float) -> Iterator[str]:
    """Yield the UCI line for a line of the partner; nothing if it lacks a score or moves."""
    if "score" not in line or "pv" not in line:
        return
    score = line["score"].pov(game.live.turn)
    mate = score.mate()
    words = f"cp {score.score()}" if mate is None else f"mate {mate}"
    depth, nodes = line.get("depth", 1), line.get("nodes", 0)
    yield (
        f"info depth {depth} seldepth {line.get('seldepth', depth)} score {words} nodes {nodes} "
        f"nps {line.get('nps', 0)} tbhits {line.get('tbhits', 0)} time {int(1000 * seconds)} "
        f"pv {_line_text(game, line['pv'])}"
    )


def _line_text(game: SearchGame, line: Sequence[chess.Move]) -> str:
    """Return a line of moves from the current position in UCI notation."""
    board, words = game.live.copy(stack=False), []
    for move in line:
        words.append(board.uci(move))
        board.push(move)
    return " ".join(words)


def _place_texts(place: int | None) -> tuple[str, str]:
    """Return the place of a move in two forms: the prefix of a G-score, and the field ``multipv``."""
    return ("", "") if place is None else (f"{place}. ", f"multipv {place} ")


def _score_field(value: int, white: bool) -> str:
    """Return the field ``score`` for a value, from the point of view of the side to move."""
    for_mover = value if white else -value
    plies = mate_plies(value)
    if plies is None:
        return f"score cp {centipawns(for_mover)}"
    moves = (plies + 1) // 2
    return f"score mate {moves if for_mover > 0 else -moves}"


def _score_in_words(value: int) -> str:
    """Return the score nearest to a value of a search, in words."""
    score, plies = nearest_score(value), mate_plies(value)
    if plies is not None:
        return f"{score} in {plies_text(plies)}"
    return "even" if score is None else f"about {score}"
