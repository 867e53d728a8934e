"""Reports on the engine's thinking, as ``info`` lines of UCI.

The line with the G-score comes first, because user interfaces show the last line.
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


def search_info(
    game: SearchGame, root_line: RootLine, counts: SearchCounts, seconds: float, place: int | None = None
) -> Iterator[str]:
    """Yield the UCI lines that report a line of play after an iteration of the search.

    :param place: place of the move among the best moves; None if only one move is reported.
    """
    prefix, multipv = _place_texts(place)
    rate = int(counts.nodes / seconds) if seconds else 0
    yield f"info string {prefix}G-score {_score_in_words(root_line.value)}, accrued {game.accrued}"
    yield (
        f"info depth {root_line.depth} seldepth {max(counts.max_ply, root_line.depth)} {multipv}"
        f"{_score_field(root_line.value, game.live.turn)} nodes {counts.nodes} nps {rate} "
        f"hashfull {counts.occupied_permille} tbhits {counts.table_hits} time {int(1000 * seconds)} "
        f"pv {_line_text(game, root_line.line)}"
    )


def advice_info(
    game: SearchGame, advice: Advice, source: str, seconds: float, place: int | None = None
) -> Iterator[str]:
    """Yield the UCI lines that report advice.

    :param source: source of the advice, as a single word.
    :param place: place of the move among the best moves; None if only one move is reported.
    """
    white_moves = game.live.turn
    guaranteed = advice.lower if white_moves else advice.upper
    plies = 0 if advice.value == game.accrued else advice.depth
    value = worth(guaranteed) if plies is None else value_after(guaranteed, game.accrued, plies)
    depth = max(plies or 0, 1)
    bound = " lowerbound" if advice.value is None else ""
    if advice.value is None:
        description = ScoreInterval(advice.lower, advice.upper).description
    elif plies is None:
        description = f"{advice.value} at an unknown depth"
    else:
        description = f"{advice.value} in {plies_text(plies)}"
    prefix, multipv = _place_texts(place)
    yield f"info string {prefix}G-score {description}, from {source}, accrued {game.accrued}"
    yield (
        f"info depth {depth} seldepth {depth} {multipv}{_score_field(value, white_moves)}{bound} "
        f"nodes 0 nps 0 tbhits {int(source == 'tables')} time {int(1000 * seconds)} "
        f"pv {_line_text(game, advice.line or advice.moves[:1])}"
    )


def judgement_info(game: SearchGame, judgement: "Judgement", seconds: float) -> Iterator[str]:
    """Yield the UCI lines that report a judgement by the partner."""
    if len(judgement.candidates) > 1:
        moves = " ".join(game.live.uci(move) for move in judgement.candidates)
        yield f"info string in chess the partner sees a draw, which these moves keep: {moves}"
    yield from partner_info(game, judgement.result, seconds)


def partner_info(game: SearchGame, line: "InfoDict", seconds: float) -> Iterator[str]:
    """Yield the UCI line that reports a line of the partner; nothing if it lacks a score or moves."""
    if "score" not in line or "pv" not in line:
        return
    score = line["score"].pov(game.live.turn)
    mate = score.mate()
    score_text = f"cp {score.score()}" if mate is None else f"mate {mate}"
    depth = line.get("depth", 1)
    yield (
        f"info depth {depth} seldepth {line.get('seldepth', depth)} score {score_text} "
        f"nodes {line.get('nodes', 0)} nps {line.get('nps', 0)} tbhits {line.get('tbhits', 0)} "
        f"time {int(1000 * seconds)} pv {_line_text(game, line['pv'])}"
    )


def _line_text(game: SearchGame, line: Sequence[chess.Move]) -> str:
    """Return a line of moves from the current position in UCI notation."""
    board = game.live.copy(stack=False)
    move_texts = []
    for move in line:
        move_texts.append(board.uci(move))
        board.push(move)
    return " ".join(move_texts)


def _place_texts(place: int | None) -> tuple[str, str]:
    """Return the place of a move in two forms: as a prefix to the G-score, and as the field ``multipv``."""
    return ("", "") if place is None else (f"{place}. ", f"multipv {place} ")


def _score_field(value: int, white_moves: bool) -> str:
    """Return the field ``score`` for a value, from the point of view of the side to move.

    :param white_moves: whether White is to move.
    """
    for_mover = value if white_moves else -value
    plies = mate_plies(value)
    if plies is None:
        return f"score cp {centipawns(for_mover)}"
    moves = (plies + 1) // 2
    return f"score mate {moves if for_mover > 0 else -moves}"


def _score_in_words(value: int) -> str:
    """Return, in words, the score that is nearest to a value of the search."""
    score = nearest_score(value)
    plies = mate_plies(value)
    if plies is not None:
        return f"{score} in {plies_text(plies)}"
    return "even" if score is None else f"about {score}"
