"""The compiled search of one state: what it is told of the game, and what it finds."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Final

import chess
import numpy as np

from tbgen.board.score import GScore
from tbgen.engine import room as at
from tbgen.engine.advice import Candidate
from tbgen.engine.game import SearchGame
from tbgen.engine.kernels import board as row
from tbgen.engine.kernels.search import begin, search_root
from tbgen.engine.leaves import LeafValues
from tbgen.engine.room import DRAWN_WORTH, HISTORY, PLAIN_WORTH, PLIES, SearchRoom
from tbgen.engine.scale import MATE, mate_plies
from tbgen.engine.search import RootLine
from tbgen.engine.tables import EngineTables
from tbgen.games.settings import FiftyMoveRule

_GLANCE: Final = 0.002
"""Seconds between two looks at the timer."""
PATIENCE: Final = 0.05
"""Seconds to wait for tables."""
_AGAIN: Final = 2
"""Iterations up to this depth are repeated when tables have told values that they asked for."""
_NEAR: Final = 4
"""In a drawn game tables are waited for up to this iteration, for trades decide."""
_NO_LIMIT: Final = 1 << 62
_LIMITS: Final = {FiftyMoveRule.IMPROVING: 12, FiftyMoveRule.OTB: 8}
"""Ranks below which an improvement is progress."""
_LAST: Final = {FiftyMoveRule.LEGACY: 1, FiftyMoveRule.CUTERMOB_LEGACY: 2}
_CASTLING: Final = {
    (chess.E1, chess.H1): chess.G1,
    (chess.E1, chess.A1): chess.C1,
    (chess.E8, chess.H8): chess.G8,
    (chess.E8, chess.A8): chess.C8,
}
"""Where the king goes who castles with a rook, as chess writes it."""
_ROOKS: Final = {(king, target): rook for (king, rook), target in _CASTLING.items()}
_HOPE: Final = GScore("G1.5")
"""What a drawn game may still come to against a side that plays chess only."""
_COST: Final = 6 * MATE
"""What a point is worth that a move gives up by the rules of chess: three times as much as one of r-mobility,
for whoever says so may not look deep."""


class CompiledSearch:
    """One search from one state; as :class:`tbgen.engine.search.TreeSearch`, a hundred times as fast.

    :param moves: legal ones to choose among, at least one.
    :param room: what it works with, for one search at a time.
    :param tables: tell the values of leaves.
    :param over: tells by the number of nodes whether to stop.
    :param lines: how many of the best moves are looked for, each with its line.
    :param most_nodes: after how many nodes to stop; None for no limit.
    :param candidates: where the game is known to be drawn in chess, and the other side plays chess only: the
        moves with what is known of them.
    :param patience: seconds to wait for tables in the first iterations.

    :ivar game: the game, which is not changed.
    """

    def __init__(
        self,
        game: SearchGame,
        moves: Sequence[chess.Move],
        room: SearchRoom,
        tables: EngineTables | None,
        over: Callable[[int], bool],
        lines: int = 1,
        most_nodes: int | None = None,
        patience: float = PATIENCE,
        candidates: Mapping[chess.Move, Candidate] | None = None,
    ) -> None:
        self._patience, self._candidates = patience, candidates
        self.game, self._room, self._over = game, room, over
        self._places, self._most_nodes = min(lines, len(moves)), most_nodes or _NO_LIMIT
        self._leaves = LeafValues(room, tables, game.settings.fifty_move_rule)
        self._set_up(moves)
        self.best = RootLine((self._line([int(room.moves[0, 0])])[0],), 0, 0)
        """The best line so far; before the first iteration a legal move."""

    @property
    def nodes(self) -> int:
        """States looked at so far."""
        return int(self._room.control[at.NODES])

    @property
    def hits(self) -> int:
        """States among them whose value tables told."""
        return int(self._room.control[at.HITS])

    @property
    def deepest(self) -> int:
        """Most plies looked ahead."""
        return int(self._room.control[at.DEEPEST])

    @property
    def permille(self) -> int:
        """How full the transposition table is, in thousandths."""
        return int(1000 * np.mean(self._room.keys[:1000] != 0))

    def run(
        self, depth: int | None, enough: Callable[[], bool], tell: Callable[[RootLine], None]
    ) -> RootLine:
        """Search deeper and deeper, and return the best line when it is time.

        The arguments are those of :meth:`tbgen.engine.search.TreeSearch.run`.
        """
        with self._watched(), closing(self._leaves):
            self._leaves.start()
            for iteration in range(1, min(depth or PLIES, PLIES - 1) + 1):
                for place in range(1, self._places + 1):
                    self._iterate(iteration, place, tell)
                    while iteration <= _AGAIN and not self._stopped and self._told_more():
                        self._room.control[at.FORGOTTEN] += 1  # what has been found without them
                        self._iterate(iteration, place, tell)
                if self._candidates is not None and iteration <= _NEAR and not self._stopped:
                    self._told_more()
                plies = mate_plies(self.best.value)
                if self._stopped or enough() or (plies is not None and plies <= iteration):
                    break
        return self.best

    @property
    def _stopped(self) -> bool:
        return bool(self._room.control[at.ABORTED])

    def _set_up(self, moves: Sequence[chess.Move]) -> None:
        """Write the game and the moves to choose among into the room."""
        room, game, control = self._room, self.game, self._room.control
        played = game.played[-HISTORY:]
        for number, (key, ply) in enumerate(played):
            men, white, turn, rights, passing = key[:6], key[6], key[7], key[8], key[9]
            there = men[0] | men[1] | men[2] | men[3] | men[4] | men[5]
            room.rows[number] = [
                *men, white, there & ~white, rights, 1 << passing if passing >= 0 else 0, int(not turn), 0,
                ply.accrued.rank << 1 | int(not ply.accrued.white), ply.score.rank, ply.clock, 0, 0, 0,
            ]  # fmt: skip
        last = len(played) - 1
        room.rows[last, row.QUIET] = min(game.live.halfmove_clock, last)
        rule = game.settings.fifty_move_rule
        generation, forgotten = control[at.GENERATION] + 1, control[at.FORGOTTEN]
        control[:] = 0
        control[at.GENERATION], control[at.FORGOTTEN] = generation, forgotten
        control[at.MOST_NODES], control[at.ROOT] = _NO_LIMIT, last
        control[at.RULE] = rule is not FiftyMoveRule.NONE
        control[at.LIMIT], control[at.LAST] = _LIMITS.get(rule, 0), _LAST.get(rule, 0)
        control[at.BARE_KINGS] = game.settings.bare_kings
        room.worth[:] = PLAIN_WORTH if self._candidates is None else DRAWN_WORTH
        if self._candidates is not None:
            control[at.DRAWN] = 1 if game.live.turn else 2
            control[at.HOPE] = room.worth[_HOPE.rank] if game.live.turn else -room.worth[_HOPE.rank]
        control[at.TABLE_MEN] = self._leaves.most_men
        count = begin(room, last)
        wanted = set(moves)
        kept = [move for move in map(int, room.moves[0, :count]) if self._move(game.live, move) in wanted]
        room.moves[0, : len(kept)] = kept
        self._count = len(kept)
        candidates = self._candidates or {}
        known = [candidates.get(self._move(game.live, move), Candidate()) for move in kept]
        room.answers[: len(kept)] = [_code(game.live, each.answer) if each.answer else 0 for each in known]
        room.costs[: len(kept)] = [int(_COST * each.cost) for each in known]

    def _iterate(self, iteration: int, place: int, tell: Callable[[RootLine], None]) -> None:
        """Search for the move that takes a place, unless the search is stopped."""
        room = self._room
        if self._stopped:
            return
        room.control[at.ITERATION] = iteration
        if self.best.depth:
            room.control[at.MOST_NODES] = self._most_nodes
        value = search_root(room, iteration, place - 1, self._count)
        length = int(room.length[0])
        if length and not (self._stopped and place > 1):
            seen = self._plain(value if self.game.live.turn else -value)
            best = RootLine(self._line(room.line[0, :length].tolist()), int(seen), iteration, place)
            if place == 1:
                self.best = best
            tell(best)
        elif self._stopped and place == 1:
            tell(self.best)

    def _plain(self, value: int) -> int:
        """Return a value on the scale of :mod:`tbgen.engine.scale`."""
        if self._candidates is None or abs(value) >= MATE:
            return value
        plain = int(np.interp(abs(value), DRAWN_WORTH[::-1], PLAIN_WORTH[::-1]))
        return plain if value > 0 else -plain

    def _told_more(self) -> bool:
        """Wait a little for tables that have been asked, and tell whether they have answered."""
        if not self._leaves.pending:
            return False
        until = time.perf_counter() + self._patience
        while self._leaves.pending and time.perf_counter() < until and not self._over(self.nodes):
            time.sleep(_GLANCE)
        return not self._leaves.pending

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Have another thread stop the search when it is time, but not before there is a best move.

        (On a busy machine every turn between threads takes long, and this way there are few.)
        """
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(_GLANCE):
                if self.best.depth and self._over(self.nodes):
                    self._room.control[at.STOP] = 1
                    return

        watching = threading.Thread(target=watch, daemon=True)
        watching.start()
        try:
            yield
        finally:
            ended.set()
            watching.join()  # the room is for one search at a time

    def _line(self, moves: Sequence[int]) -> tuple[chess.Move, ...]:
        board, line = self.game.live.copy(stack=False), []
        for each in moves:
            line.append(self._move(board, each))
            board.push(line[-1])
        return tuple(line)

    @staticmethod
    def _move(board: chess.Board, move: int) -> chess.Move:
        start, target = move & row.FROM, move >> 6 & 63
        if move & row.CASTLES and not board.chess960:
            target = _CASTLING.get((start, target), target)
        return chess.Move(start, target, (move >> 12 & 7) + 1 if move & row.PROMOTED else None)


def _code(board: chess.Board, answer: chess.Move) -> int:
    """Return what kernels have of an answer to a move on a board: squares and promotion."""
    start, target = answer.from_square, answer.to_square
    if not board.chess960 and start == board.king(not board.turn):
        target = _ROOKS.get((start, target), target)
    return start | target << 6 | (answer.promotion - 1 if answer.promotion else 0) << 12
