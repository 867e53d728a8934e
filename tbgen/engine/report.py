"""What the engine tells of its thinking, in the words of the protocol.

The G-score stands before the line with the number that user interfaces read, so that the number is the last
that they hear of.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import chess

from tbgen.board.scoring import ScoreInterval
from tbgen.engine.game import Advice, RootLine, SearchCounts, SearchGame
from tbgen.engine.scale import centipawns, mate_plies, nearest, reached, worth
from tbgen.text import plies as plies_text

if TYPE_CHECKING:
    from chess.engine import InfoDict

    from tbgen.engine.partner import Judgement


def of_search(
    game: SearchGame, best: RootLine, counts: SearchCounts, seconds: float, place: int | None = None
) -> Iterator[str]:
    """Yield the UCI lines about a line of play after an iteration.

    :param place: place of the move among the best moves; None if only one move is reported.
    """
    before, number = _numbers(place)
    rate = int(counts.nodes / seconds) if seconds else 0
    yield f"info string {before}G-score {_about(best.value)}, accrued {game.accrued}"
    yield (
        f"info depth {best.depth} seldepth {max(counts.deepest, best.depth)} {number}"
        f"{_score(best.value, game.live.turn)} nodes {counts.nodes} nps {rate} "
        f"hashfull {counts.permille} tbhits {counts.hits} time {int(1000 * seconds)} "
        f"pv {_line_text(game, best.line)}"
    )


def of_advice(
    game: SearchGame, advice: Advice, source: str, seconds: float, place: int | None = None
) -> Iterator[str]:
    """Yield the UCI lines about an advice.

    :param source: where it comes from.
    :param place: place of the move among the best moves; None if only one move is reported.
    """
    white = game.live.turn
    sure = advice.lower if white else advice.upper
    plies = 0 if advice.value == game.accrued else advice.depth
    value = worth(sure) if plies is None else reached(sure, game.accrued, plies)
    depth, bound = max(plies or 0, 1), " lowerbound" if advice.value is None else ""
    if advice.value is None:
        told = ScoreInterval(advice.lower, advice.upper).words
    elif plies is None:
        told = f"{advice.value} at a depth that is not known"
    else:
        told = f"{advice.value} in {plies_text(plies)}"
    before, number = _numbers(place)
    yield f"info string {before}G-score {told}, from {source}, accrued {game.accrued}"
    yield (
        f"info depth {depth} seldepth {depth} {number}{_score(value, white)}{bound} "
        f"nodes 0 nps 0 tbhits {int(source == 'tables')} time {int(1000 * seconds)} "
        f"pv {_line_text(game, advice.line or advice.moves[:1])}"
    )


def of_partner(game: SearchGame, judged: "Judgement", seconds: float) -> Iterator[str]:
    """Yield the UCI lines about what the partner says."""
    if len(judged.kept) > 1:
        moves = " ".join(game.live.uci(move) for move in judged.kept)
        yield f"info string a draw in chess for the partner, which these moves keep: {moves}"
    yield from of_partners_line(game, judged.found, seconds)


def of_partners_line(game: SearchGame, line: "InfoDict", seconds: float) -> Iterator[str]:
    """Yield the UCI line about a line of the partner, if it has said one."""
    if "score" not in line or "pv" not in line:
        return
    score = line["score"].pov(game.live.turn)
    mate = score.mate()
    told = f"cp {score.score()}" if mate is None else f"mate {mate}"
    depth, nodes = line.get("depth", 1), line.get("nodes", 0)
    yield (
        f"info depth {depth} seldepth {line.get('seldepth', depth)} score {told} nodes {nodes} "
        f"nps {line.get('nps', 0)} tbhits {line.get('tbhits', 0)} time {int(1000 * seconds)} "
        f"pv {_line_text(game, line['pv'])}"
    )


def _line_text(game: SearchGame, line: Sequence[chess.Move]) -> str:
    """Return moves from the current position on as the protocol has them."""
    board, told = game.live.copy(stack=False), []
    for move in line:
        told.append(board.uci(move))
        board.push(move)
    return " ".join(told)


def _numbers(place: int | None) -> tuple[str, str]:
    """Return the place of a move as it stands before a G-score, and as the protocol has it."""
    return ("", "") if place is None else (f"{place}. ", f"multipv {place} ")


def _score(value: int, white: bool) -> str:
    """Return a value as the side to move sees it."""
    seen = value if white else -value
    plies = mate_plies(value)
    if plies is None:
        return f"score cp {centipawns(seen)}"
    moves = (plies + 1) // 2
    return f"score mate {moves if seen > 0 else -moves}"


def _about(value: int) -> str:
    """Return a value of a search as a score."""
    score, plies = nearest(value), mate_plies(value)
    if plies is not None:
        return f"{score} in {plies_text(plies)}"
    return "even" if score is None else f"about {score}"
