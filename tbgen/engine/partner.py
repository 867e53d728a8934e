"""Another UCI engine that searches by the rules of chess, while tbgen decides by those of r-mobility.

Where the partner sees that a side may win, its move is made. Where it sees a draw, and few men are left that
could reset the accrued score, or play goes on to a low one all the same, it says which moves keep the draw,
and r-mobility chooses among them.

Of what it says only the last lines are read: to read a line costs time that its search needs.
"""

import math
import re
import time
from asyncio import BaseTransport
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import chess
import chess.engine
from chess.engine import InfoDict, UciProtocol

from tbgen.board.score import GScore
from tbgen.documents import options_for, spaced
from tbgen.engine.game import Candidate, SearchGame
from tbgen.engine.limits import Timer
from tbgen.errors import TbgenError, UsageError, quote
from tbgen.system.processes import words_of

_LINE: Final = re.compile(rb"info(?! string )(?=.* score ).* pv ")
_PART: Final = re.compile(rb"info.* (string|score|pv) ")
_PLACE: Final = re.compile(rb" multipv (\d+)")
_KEPT_SECONDS: Final = 1.0
"""How long lines are kept for others to come."""


class LastLines(UciProtocol):
    """The protocol as spoken to an engine of whose lines of play only the last one of each place counts.

    They are passed on before whatever ends the search, and every second. (python-chess plays all moves of
    every line on a board, which was a third of the processor time that tbgen took for a move of a tenth of a
    second.)
    """

    def connection_made(self, transport: BaseTransport) -> None:
        """Begin to listen."""
        super().connection_made(transport)
        self._rest = b""
        self._last: dict[bytes, bytes] = {}
        self._since = 0.0

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        """Read what the engine writes to a pipe."""
        if fd != 1 or isinstance(data, str):
            super().pipe_data_received(fd, data)
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in map(spaced, lines):
            if _LINE.match(line):
                place = _PLACE.search(line)
                self._since = self._since if self._last else time.perf_counter()
                self._last[place[1] if place else b"1"] = line
                continue
            if not line.startswith(b"info"):
                self._pass_on()
            elif not _PART.match(line):  # it says what move it is at, at which depth
                continue
            super().pipe_data_received(fd, line + b"\n")
        if self._last and time.perf_counter() > self._since + _KEPT_SECONDS:
            self._pass_on()

    def _pass_on(self) -> None:
        for line in self._last.values():
            super().pipe_data_received(1, line + b"\n")
        self._last.clear()


_START_SECONDS: Final = 30.0
_STOP_SECONDS: Final = 5.0
"""How long it may take to end a search once it has been asked to, but no more than half of the clock."""
_MULTI_PV: Final = "MultiPV"
_OVERHEAD: Final = "Move Overhead"
_GLANCE: Final = 0.01
"""Seconds between two looks at the timer."""
_SHOWN: Final = 1.0
"""Seconds between two lines that are shown while it thinks."""
_LINES: Final = 10
"""Moves that the partner judges where the game is a draw."""
_MOST_MEN: Final = 10
"""With more men what has accrued is reset before the game ends."""
_DRAWN: Final = 900
"""Permille of draws from which on a game is one."""
_MOST_COST: Final = 0.08
"""Points that a move may be worse than the best one."""
_LESS_COST: Final = 0.02
"""The same with more men."""
_LOW: Final = GScore("G2.0")
"""The highest score for which r-mobility chooses with more men: it is worth 0.03 points."""
_DOUBT: Final = 0.004
"""Points that a closer look may find it to be worse than thought."""
_SHARE: Final = 0.35
"""Part of the clock that the partner is told of where it has more to do than to find its move."""
_GLIMPSE: Final = 0.5
"""Time for the judgement of several moves, as a part of what the partner took for its move."""
_CHEAPER: Final = 3
"""How many nodes of this search take as long as one of the partner's."""
_SEARCH: Final = 0.9
"""Time for the search in which r-mobility chooses among them, likewise; of a fixed time, all that is left."""
_LOOK: Final = 0.5
"""Time for a closer look at one move, likewise."""
_TURN: Final = 0.005
"""Seconds that it takes besides to have the partner look."""
_LESS_DEPTH: Final = 3
"""Plies that this look may be less deep."""
_DEEP: Final = 12
"""Plies that are enough for it, since a line that soon ends is searched far deeper than others."""
_ENOUGH_SECONDS: Final = 2.0
"""With less on the clock the partner decides alone."""
_LEAST: Final = 0.005
"""Seconds that the partner has in any case."""


class PartnerError(TbgenError):
    """The partner does not start, has ended, or has no move."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the partner says about a position.

    :ivar found: what it has found about the best move.
    :ivar kept: the moves that keep the draw, the best one first; only that one where the game is none.
    :ivar seconds: that it took to find the best move.
    :ivar search_seconds: that the search among the kept moves may take; infinite with a limit of nodes.
    :ivar search_nodes: that it may take, None without such a limit.
    """

    found: InfoDict
    kept: dict[chess.Move, Candidate]
    seconds: float
    search_seconds: float
    search_nodes: int | None

    @property
    def best(self) -> Sequence[chess.Move]:
        """The best line."""
        return self.found["pv"]

    def without(self, move: chess.Move) -> "Judgement":
        """Return the same without a move that has been kept, and half the time for another search."""
        kept = {other: candidate for other, candidate in self.kept.items() if other != move}
        nodes = None if self.search_nodes is None else max(self.search_nodes // 2, 1)
        return replace(self, kept=kept, search_seconds=self.search_seconds / 2, search_nodes=nodes)


class Partner:
    """A running UCI engine.

    :param command: its program, with arguments as for a shell.
    :param hash_mebibytes: what it may take for its transposition table.
    :param options: what else is set of its options; managed ones are left out already.
    :raises PartnerError: if it does not start, or does not take these options.
    """

    def __init__(self, command: str, hash_mebibytes: int, options: Mapping[str, str] = {}) -> None:
        self._name = quote(command)
        self._games = 0
        self.new_game()
        self.failed = False
        """Whether it has ended or been given up, so that nobody should ask it any more."""
        words = [command] if Path(command).is_file() else words_of(command)
        try:
            self._engine = chess.engine.SimpleEngine.popen(LastLines, words, timeout=_START_SECONDS)
        except (OSError, chess.engine.EngineError, TimeoutError) as error:
            raise PartnerError(f"the partner {self._name} does not start{_because(error)}") from None
        known = self._engine.options
        self._lines = min(_LINES, (known[_MULTI_PV].max or 1) if _MULTI_PV in known else 1)
        own = {"Hash": str(hash_mebibytes), "UCI_ShowWDL": "true"}
        if _OVERHEAD in known:  # what its clock loses is taken off before
            own[_OVERHEAD] = str(known[_OVERHEAD].min or 0)
        wanted = {name: value for name, value in own.items() if name in known}
        try:
            self._engine.configure(options_for(known, wanted) | options_for(known, options))
        except (UsageError, chess.engine.EngineError, TimeoutError) as error:
            self._engine.close()
            raise PartnerError(f"the partner {self._name} takes other options{_because(error)}") from None
        self._waiting = ThreadPoolExecutor(1)

    def new_game(self) -> None:
        """Forget what it has seen in the game so far."""
        self._drawn = self._low = False
        self._games += 1

    def close(self) -> None:
        """End it."""
        self._engine.close()
        self._waiting.shutdown()

    def judge(
        self,
        game: SearchGame,
        allowed: Sequence[chess.Move],
        timer: Timer,
        show: Callable[[InfoDict], None] = lambda line: None,
    ) -> Judgement:
        """Return which moves to choose among.

        Once it has seen a draw with few men, or one by a line to a low score, or in a position that has been
        on the board before, the partner has a part of the time for its move, then it glances at others.

        :param allowed: the moves to choose among.
        :param show: told what the partner has found, every second while it looks for its move.
        :raises PartnerError: if the partner fails.
        """
        board, began = game.live, timer.elapsed
        few = board.occupied.bit_count() <= _MOST_MEN
        chosen_among = few or game.occurrences > 1 or self._low
        drawn = self._drawn and chosen_among and timer.left > _ENOUGH_SECONDS
        lines: tuple[InfoDict, ...] = ()
        with self._given_up_on_failure():
            (best,) = self._analyse(game, allowed, timer, _limit(timer, _SHARE if drawn else 1), 1, show)
            seconds = timer.elapsed - began
            self._drawn = "score" in best and _wdl(best, board).draws >= _DRAWN
            self._low = self._drawn and not few and game.accrued_after(best["pv"]).rank <= _LOW.rank
            if drawn and self._drawn and not timer.over():
                glimpse = _further(timer, _GLIMPSE, seconds)
                glanced = self._analyse(game, allowed, timer, glimpse, self._lines)
                lines = tuple(line for line in glanced if "score" in line)
        costs = [_cost(line, lines[0], board) for line in lines]
        most = _MOST_COST if few else _LESS_COST
        known = [(line["pv"], cost) for line, cost in zip(lines, costs, strict=True) if cost <= most]
        kept = {best["pv"][0]: Candidate(0, *best["pv"][1:2])}
        for line, cost in known:
            kept.setdefault(line[0], Candidate(cost, *line[1:2]))
        nodes = _nodes(timer, _SHARE * _SEARCH * _CHEAPER)
        before_look = timer.rest - _LOOK * seconds - _TURN
        more = before_look if timer.fixed else min(_SEARCH * seconds, before_look)
        more = max(more, _LEAST) if nodes is None else math.inf
        return Judgement(best, kept, seconds, more, nodes)

    def holds(self, game: SearchGame, move: chess.Move, judged: Judgement, timer: Timer) -> bool:
        """Tell whether a move keeps the draw after a closer look; not where there is no time for one.

        :raises PartnerError: if the partner fails.
        """
        if timer.over():
            return False
        look = _further(timer, _LOOK, judged.seconds)
        with self._given_up_on_failure():
            (line,) = self._analyse(game, [move], timer, look, 1)
        if "score" not in line:
            return False
        deep = line.get("depth", 0) >= min(judged.found.get("depth", 0) - _LESS_DEPTH, _DEEP)
        return deep and _cost(line, judged.found, game.live) <= judged.kept[move].cost + _DOUBT

    @contextmanager
    def _given_up_on_failure(self) -> Iterator[None]:
        """Give the partner up if it fails in the block."""
        try:
            yield
        except (chess.engine.EngineError, TimeoutError) as error:
            self.failed = True
            self._engine.close()
            raise PartnerError(f"the partner {self._name} has failed{_because(error)}") from None

    def _analyse(
        self,
        game: SearchGame,
        allowed: Sequence[chess.Move],
        timer: Timer,
        limit: chess.engine.Limit,
        lines: int,
        show: Callable[[InfoDict], None] = lambda line: None,
    ) -> tuple[InfoDict, ...]:
        """Return what the partner finds about the best moves, at least one; of this only the move if its time
        was over before it could say anything.

        :raises EngineError: if it ends, or names no move that is allowed.
        :raises TimeoutError: if it does not begin or does not stop.
        """
        board, until, shown = game.live, math.inf, timer.elapsed
        among = None if len(allowed) == board.legal_moves.count() else allowed
        begun: list[chess.engine.SimpleAnalysisResult] = []

        def search() -> chess.engine.BestMove:
            """Search in another thread, for a partner may not even begin."""
            analysis = self._engine.analysis(
                game.for_chess(),
                limit,
                multipv=min(lines, len(allowed)),
                root_moves=among,
                game=(self._games, board.root().fen()),
            )
            begun.append(analysis)
            return analysis.wait()

        waiting = self._waiting.submit(search)
        try:
            while not wait([waiting], _GLANCE).done:
                if timer.stopped or timer.elapsed > timer.left or (timer.fixed and timer.over()):
                    for analysis in begun:
                        analysis.stop()
                    until = min(until, timer.elapsed + min(_STOP_SECONDS, timer.left / 2))
                if timer.elapsed > until:
                    raise TimeoutError
                if begun and timer.elapsed > shown + _SHOWN:
                    for line in begun[0].multipv[:1]:
                        show(line)
                        shown = timer.elapsed
            chosen = waiting.result()
        except CancelledError:
            raise chess.engine.EngineError("it has ended") from None
        found = tuple(line for line in begun[0].multipv if line.get("pv") and "score" in line)
        best = chosen.move
        if best is None or best not in allowed:
            raise chess.engine.EngineError(f"it names no move in {board.fen()}")
        if not found:
            return (InfoDict(pv=[best]),)
        if lines == 1 and best != found[0]["pv"][0]:  # as where it is to play less well than it can
            found[0]["pv"] = [best]
        return found[:lines]


def _because(error: Exception) -> str:
    """Return the reason of an error and what follows, as the end of a sentence."""
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error) or "it does not answer"
    if "event loop dead" in reason:  # it ended while it was not asked
        reason = "it has ended"
    return f" ({reason}): the engine plays on alone"


def _limit(timer: Timer, part: float) -> chess.engine.Limit:
    """Return the limits of a command ``go`` for the partner.

    :param part: of the time.
    """
    go = timer.go
    depth, nodes = go.depth, _nodes(timer, part)
    if timer.share is None:
        return chess.engine.Limit(depth=depth, nodes=nodes)
    if "movetime" in go.numbers:
        return chess.engine.Limit(
            time=max(part * timer.share - timer.elapsed, _LEAST), depth=depth, nodes=nodes
        )
    clocks = {name: part * seconds for name, seconds in timer.clocks().items()}
    return chess.engine.Limit(depth=depth, nodes=nodes, remaining_moves=go.numbers.get("movestogo"), **clocks)


def _further(timer: Timer, part: float, seconds: float) -> chess.engine.Limit:
    """Return the limits of a search that takes a part of what the one before took, within the move's time."""
    nodes = _nodes(timer, _SHARE * part)
    wanted = max(min(part * seconds, timer.rest), _LEAST)
    timed = nodes is None or math.isfinite(timer.rest)
    return chess.engine.Limit(time=wanted if timed else None, nodes=nodes)


def _nodes(timer: Timer, part: float) -> int | None:
    """Return a part of the nodes that a move may take, None if any number may."""
    nodes = timer.go.numbers.get("nodes")
    return None if nodes is None else max(int(part * nodes), 1)


def _wdl(line: InfoDict, board: chess.Board) -> chess.engine.Wdl:
    """Return how often the side to move wins, draws and loses, in permille."""
    told = line["wdl"] if "wdl" in line else line["score"].wdl(ply=board.ply())
    return told.pov(board.turn)


def _cost(line: InfoDict, best: InfoDict, board: chess.Board) -> float:
    """Return how many points a line gives up against the best one."""
    return max(_wdl(best, board).expectation() - _wdl(line, board).expectation(), 0)
