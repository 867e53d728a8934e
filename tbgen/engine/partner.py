"""The partner: another UCI engine, which searches under the rules of chess while tbgen plays r-mobility.

If the partner finds that a side may win, the partner's move is made. If it finds a draw, it reports the moves
that keep the draw, and tbgen chooses among these moves by r-mobility. However, tbgen chooses only in three
cases: few men remain that could reset the accrued score, the partner's line leads to a low score, or the
position has occurred before.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import chess
import chess.engine
from chess.engine import InfoDict

from tbgen.board.score import GScore
from tbgen.engine.game import Candidate, SearchGame
from tbgen.engine.timer import Timer
from tbgen.errors import TbgenError, UsageError, quote
from tbgen.system.processes import APART, split_words
from tbgen.uci.options import options_for
from tbgen.uci.protocol import AnalysisProtocol

_START_SECONDS: Final = 30.0
"""Time within which the partner must start."""
_STOP_SECONDS: Final = 5.0
"""Time within which the partner must stop a search; half of the remaining clock time if this is less."""
_LINES_OPTION: Final = "MultiPV"
_OVERHEAD_OPTION: Final = "Move Overhead"
"""Name of the option for the time that passes per move outside the engine, while its clock runs."""
_POLL_SECONDS: Final = 0.01
"""Interval at which the timer is checked."""
_SHOW_SECONDS: Final = 1.0
"""Interval at which the partner's line is shown while the partner thinks."""
_MAX_LINES: Final = 10
"""Maximum number of moves that the partner judges in a drawn game."""
_MAX_MEN: Final = 10
"""Greatest number of men with which the accrued score is likely to last until the end of the game."""
_DRAW_PERMILLE: Final = 900
"""Minimum probability of a draw, in permille, at which a game counts as drawn."""
_MAX_COST: Final = 0.08
"""Maximum number of points that a chosen move may give up compared with the best move, with at most
``_MAX_MEN`` men."""
_MAX_COST_MANY_MEN: Final = 0.02
"""Maximum number of points that a chosen move may give up compared with the best move, with more than
``_MAX_MEN`` men."""
_LOW_SCORE: Final = GScore("G2.0")
"""With more than ``_MAX_MEN`` men, tbgen chooses only if the partner's line leads to at most this score,
whichever side holds it, or if the position has occurred before. Choices at such scores gain 0.03 points."""
_MAX_COST_RISE: Final = 0.004
"""Maximum number of points that a deeper search of a move may add to the move's cost."""
_PARTNER_SHARE: Final = 0.35
"""Share of the time that the partner may use to find its own move if it then judges several moves."""
_LINES_TIME_RATIO: Final = 0.5
"""Time in which the partner judges several moves, relative to the time that it took to find its own move."""
_NODE_RATIO: Final = 3
"""Number of nodes that the compiled search visits in the time that the partner needs for one node."""
_SEARCH_TIME_RATIO: Final = 0.9
"""Time in which tbgen searches among the candidates, relative to the time that the partner took for its move.

If the move has a fixed time, this search uses all of the remaining time.
"""
_CHECK_TIME_RATIO: Final = 0.5
"""Time in which the partner checks one move, relative to the time that it took to find its own move."""
_CHECK_OVERHEAD_SECONDS: Final = 0.005
"""Overhead of a check by the partner."""
_CHECK_DEPTH_REDUCTION: Final = 3
"""Number of plies by which a check may be shallower than the search that found the partner's move."""
_CHECK_MAX_DEPTH: Final = 12
"""Depth in plies that suffices for any check, even if the search for the partner's move was far deeper."""
_MIN_CLOCK_SECONDS: Final = 2.0
"""Time on the clock below which the partner decides alone."""
_MIN_SECONDS: Final = 0.005
"""Minimum thinking time of the partner."""


class PartnerError(TbgenError):
    """The partner does not start, rejects its options, or has failed."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The partner's judgement of a position.

    :ivar result: the partner's result for the best move.
    :ivar candidates: the moves that keep the draw, best first; if the game is not drawn, only the best move.
    :ivar partner_seconds: time that the partner took to find the best move.
    :ivar search_seconds: time limit of the search among the candidates; infinite if its nodes are limited.
    :ivar search_nodes: node limit of the search among the candidates; None for no limit.
    """

    result: InfoDict
    candidates: dict[chess.Move, Candidate]
    partner_seconds: float
    search_seconds: float
    search_nodes: int | None

    @property
    def best_line(self) -> Sequence[chess.Move]:
        """The best move, and the play after it."""
        return self.result["pv"]

    def without_move(self, move: chess.Move) -> "Judgement":
        """Return the judgement without one of the candidates, with half the limits for another search."""
        candidates = {key: candidate for key, candidate in self.candidates.items() if key != move}
        nodes = None if self.search_nodes is None else max(self.search_nodes // 2, 1)
        seconds = self.search_seconds / 2
        return replace(self, candidates=candidates, search_seconds=seconds, search_nodes=nodes)


class Partner:
    """A running UCI engine.

    :param command: the program with its arguments, quoted as for a shell.
    :param hash_mebibytes: size of the engine's transposition table.
    :param options: other options of the engine, except those that python-chess manages.
    :raises PartnerError: if the partner does not start, or rejects an option.
    """

    def __init__(self, command: str, hash_mebibytes: int, options: Mapping[str, str] = {}) -> None:
        self._name = quote(command)
        self._games = 0
        self.new_game()
        self.failed = False
        """Whether the partner has failed, so that it must not be used any more."""
        words = [command] if Path(command).is_file() else split_words(command)
        try:
            self._engine = chess.engine.SimpleEngine.popen(
                AnalysisProtocol, words, timeout=_START_SECONDS, stderr=None, **APART
            )
        except (OSError, chess.engine.EngineError, TimeoutError) as error:
            raise PartnerError(f"the partner {self._name} does not start{_reason_text(error)}") from None
        offered_options = self._engine.options
        max_lines = (offered_options[_LINES_OPTION].max or 1) if _LINES_OPTION in offered_options else 1
        self._lines = min(_MAX_LINES, max_lines)
        own_options = {"Hash": str(hash_mebibytes), "UCI_ShowWDL": "true"}
        if _OVERHEAD_OPTION in offered_options:  # tbgen has already deducted its own overhead
            own_options[_OVERHEAD_OPTION] = str(offered_options[_OVERHEAD_OPTION].min or 0)
        wanted = {name: value for name, value in own_options.items() if name in offered_options}
        try:
            values = options_for(offered_options, wanted) | options_for(offered_options, options)
            self._engine.configure(values)
        except (UsageError, chess.engine.EngineError, TimeoutError) as error:
            self._engine.close()
            raise PartnerError(f"the partner {self._name} rejects its options{_reason_text(error)}") from None
        self._searches = ThreadPoolExecutor(1)

    def new_game(self) -> None:
        """Discard the judgements of the game so far."""
        self._drawn = self._low = False
        self._games += 1

    def close(self) -> None:
        """Terminate the partner."""
        self._engine.close()
        self._searches.shutdown()

    def judge(
        self,
        game: SearchGame,
        choices: Sequence[chess.Move],
        timer: Timer,
        show_line: Callable[[InfoDict], None] = lambda line: None,
    ) -> Judgement:
        """Return the partner's judgement of a position, with the moves to choose from.

        The partner first searches for its own move. If its previous search in this game found a draw, and
        tbgen is to choose (see the module's docstring), this first search gets only part of the time. A
        second search then judges several moves.

        :param choices: the moves to choose from.
        :param show_line: called every second with the partner's line during the search for its own move.
        :raises PartnerError: if the partner fails.
        """
        board = game.live
        began = timer.elapsed
        few_men = board.occupied.bit_count() <= _MAX_MEN
        by_mobility = few_men or game.occurrences > 1 or self._low
        judges_lines = self._drawn and by_mobility and timer.clock_seconds > _MIN_CLOCK_SECONDS
        lines: tuple[InfoDict, ...] = ()
        with self._fail_on_error():
            first_limit = _first_limit(timer, _PARTNER_SHARE if judges_lines else 1)
            (best,) = self._analyse(game, choices, timer, first_limit, 1, show_line)
            seconds = timer.elapsed - began
            self._drawn = "score" in best and _wdl(best, board).draws >= _DRAW_PERMILLE
            self._low = self._drawn and not few_men and game.accrued_after(best["pv"]).rank <= _LOW_SCORE.rank
            if judges_lines and self._drawn and not timer.is_over():
                second_limit = _later_limit(timer, _LINES_TIME_RATIO, seconds)
                results = self._analyse(game, choices, timer, second_limit, self._lines)
                lines = tuple(line for line in results if "score" in line)
        costs = [_cost(line, lines[0], board) for line in lines]
        max_cost = _MAX_COST if few_men else _MAX_COST_MANY_MEN
        cheap = [(line["pv"], cost) for line, cost in zip(lines, costs, strict=True) if cost <= max_cost]
        candidates = {best["pv"][0]: Candidate(0, *best["pv"][1:2])}
        for line, cost in cheap:
            candidates.setdefault(line[0], Candidate(cost, *line[1:2]))
        nodes = _node_limit(timer, _PARTNER_SHARE * _SEARCH_TIME_RATIO * _NODE_RATIO)
        before_check = timer.remaining - _CHECK_TIME_RATIO * seconds - _CHECK_OVERHEAD_SECONDS
        search_seconds = before_check if timer.is_fixed else min(_SEARCH_TIME_RATIO * seconds, before_check)
        search_seconds = max(search_seconds, _MIN_SECONDS) if nodes is None else math.inf
        return Judgement(best, candidates, seconds, search_seconds, nodes)

    def keeps_draw(self, game: SearchGame, move: chess.Move, judgement: Judgement, timer: Timer) -> bool:
        """Return whether the partner, searching the given move alone, confirms that the move keeps the draw.

        If no time remains for this search, return False.

        :raises PartnerError: if the partner fails.
        """
        if timer.is_over():
            return False
        limit = _later_limit(timer, _CHECK_TIME_RATIO, judgement.partner_seconds)
        with self._fail_on_error():
            (line,) = self._analyse(game, [move], timer, limit, 1)
        if "score" not in line:
            return False
        min_depth = min(judgement.result.get("depth", 0) - _CHECK_DEPTH_REDUCTION, _CHECK_MAX_DEPTH)
        deep = line.get("depth", 0) >= min_depth
        max_cost = judgement.candidates[move].cost + _MAX_COST_RISE
        return deep and _cost(line, judgement.result, game.live) <= max_cost

    @contextmanager
    def _fail_on_error(self) -> Iterator[None]:
        """If the partner fails in the block, close it and mark it as failed."""
        try:
            yield
        except (chess.engine.EngineError, TimeoutError) as error:
            self.failed = True
            self._engine.close()
            raise PartnerError(f"the partner {self._name} has failed{_reason_text(error)}") from None

    def _analyse(
        self,
        game: SearchGame,
        choices: Sequence[chess.Move],
        timer: Timer,
        limit: chess.engine.Limit,
        line_count: int,
        show_line: Callable[[InfoDict], None] = lambda line: None,
    ) -> tuple[InfoDict, ...]:
        """Return the partner's results for the best moves, at least one.

        If time ran out before the partner reported a line, the only result contains just the move.

        :raises EngineError: if the partner terminates or returns a move that is not allowed.
        :raises TimeoutError: if the partner does not start or stop its search in time.
        """
        board = game.live
        deadline = math.inf
        last_shown_time = timer.elapsed
        root_moves = None if len(choices) == board.legal_moves.count() else choices
        analyses: list[chess.engine.SimpleAnalysisResult] = []

        def search() -> chess.engine.BestMove:
            """Run the search; called in another thread, because the partner may never start the search."""
            analysis = self._engine.analysis(
                game.board_for_chess(),
                limit,
                multipv=min(line_count, len(choices)),
                root_moves=root_moves,
                game=(self._games, board.root().fen()),
            )
            analyses.append(analysis)
            return analysis.wait()

        searching = self._searches.submit(search)
        try:
            while not wait([searching], _POLL_SECONDS).done:
                is_late = timer.stopped or timer.elapsed > timer.clock_seconds
                if is_late or (timer.is_fixed and timer.is_over()):
                    for analysis in analyses:
                        analysis.stop()
                    deadline = min(deadline, timer.elapsed + min(_STOP_SECONDS, timer.clock_seconds / 2))
                if timer.elapsed > deadline:
                    raise TimeoutError
                if analyses and timer.elapsed > last_shown_time + _SHOW_SECONDS:
                    for line in analyses[0].multipv[:1]:
                        show_line(line)
                        last_shown_time = timer.elapsed
            choice = searching.result()
        except CancelledError:
            raise chess.engine.EngineError("it has ended") from None
        results = tuple(line for line in analyses[0].multipv if line.get("pv") and "score" in line)
        best = choice.move
        if best is None or best not in choices:
            raise chess.engine.EngineError(f"it names no move in {board.fen()}")
        if not results:
            return (InfoDict(pv=[best]),)
        if line_count == 1 and best != results[0]["pv"][0]:  # for example, an engine set to play weakly
            results[0]["pv"] = [best]
        return results[:line_count]


def _reason_text(error: Exception) -> str:
    """Return the reason for an error and its consequence, as the end of a sentence."""
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error) or "it does not answer"
    if "event loop dead" in reason:  # the partner terminated between two searches
        reason = "it has ended"
    return f" ({reason}): the engine plays on alone"


def _first_limit(timer: Timer, share: float) -> chess.engine.Limit:
    """Return the limits of the partner's command ``go``.

    :param share: share of the move's time and nodes that the partner may use.
    """
    go = timer.go
    depth = go.depth
    nodes = _node_limit(timer, share)
    if timer.target is None:
        return chess.engine.Limit(depth=depth, nodes=nodes)
    if "movetime" in go.numbers:
        return chess.engine.Limit(
            time=max(share * timer.target - timer.elapsed, _MIN_SECONDS), depth=depth, nodes=nodes
        )
    clocks = {name: share * seconds for name, seconds in timer.clocks().items()}
    return chess.engine.Limit(depth=depth, nodes=nodes, remaining_moves=go.numbers.get("movestogo"), **clocks)


def _later_limit(timer: Timer, ratio: float, seconds: float) -> chess.engine.Limit:
    """Return the limits of a later search by the partner for the same move, within the time of the move.

    :param ratio: time of the search, relative to the first search.
    :param seconds: time that the first search took.
    """
    nodes = _node_limit(timer, _PARTNER_SHARE * ratio)
    wanted = max(min(ratio * seconds, timer.remaining), _MIN_SECONDS)
    has_time_limit = nodes is None or math.isfinite(timer.remaining)
    return chess.engine.Limit(time=wanted if has_time_limit else None, nodes=nodes)


def _node_limit(timer: Timer, share: float) -> int | None:
    """Return the given share of the move's node limit; None if there is no limit."""
    nodes = timer.go.numbers.get("nodes")
    return None if nodes is None else max(int(share * nodes), 1)


def _wdl(line: InfoDict, board: chess.Board) -> chess.engine.Wdl:
    """Return the probabilities that the side to move wins, draws and loses, in permille."""
    return (line["wdl"] if "wdl" in line else line["score"].wdl(ply=board.ply())).pov(board.turn)


def _cost(line: InfoDict, best_line: InfoDict, board: chess.Board) -> float:
    """Return the expected points that a line gives up compared with the best line."""
    return max(_wdl(best_line, board).expectation() - _wdl(line, board).expectation(), 0)
