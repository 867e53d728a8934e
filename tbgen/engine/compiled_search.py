"""The compiled search of one state: its input, its control from Python, and its result.

While the kernels search, a thread looks up in the tables the values that the kernels request for leaves.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Final

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.board.kinds import FEN_LETTERS
from tbgen.board.material import MAX_MEN
from tbgen.board.score import MAX_CODED_RANK, NONE, GScore
from tbgen.compiler.cache import compiling
from tbgen.compiler.jit import compile_for
from tbgen.engine import workspace as control_index
from tbgen.engine.game import Candidate, RootLine, SearchCounts, SearchGame
from tbgen.engine.kernels import board as columns
from tbgen.engine.kernels.search import begin_search, search_root
from tbgen.engine.scale import MATE, NO_VALUE, SCALE_PLIES, mate_plies
from tbgen.engine.table_advice import EngineTables
from tbgen.engine.workspace import (
    DRAWN_WORTH,
    GAME_POSITION_LIMIT,
    MAX_UNKEYED_CLOCK,
    PLY_LIMIT,
    WORTH,
    SearchWorkspace,
)
from tbgen.games.game_options import FIFTY_MOVE_PLIES, FiftyMoveRule

_POLL_SECONDS: Final = 0.001
"""Interval at which the thread looks for new requests."""
_MAN_LETTERS: Final = FEN_LETTERS[::-1].swapcase()
"""The letters of White's and then of Black's men, each in the order of the kernels' columns: P N B R Q K."""
_ASSUMED_DEPTH: Final = 250
"""Depth in plies that is assumed for a value if the tables do not store its depth."""

_TIMER_POLL_SECONDS: Final = 0.002
"""Interval at which the timer is checked."""
PATIENCE_SECONDS: Final = 0.05
"""Maximum time to wait for tables in the first iterations."""
_MAX_REPEATED_DEPTH: Final = 2
"""Greatest depth of an iteration that is repeated once tables have answered its requests."""
_MAX_WAITING_DEPTH: Final = 4
"""Greatest depth of an iteration after which the search waits for tables if the game is drawn in chess. The
values after trades decide such games."""
_NO_NODE_LIMIT: Final = 1 << 62
_PROGRESS_RANKS: Final = {FiftyMoveRule.IMPROVING: 12, FiftyMoveRule.OTB: 8}
"""For some 50-move rules, the rank below which an improvement of the accrued score resets the counter. Under
the other rules, no improvement does."""
_LATE_SCORES: Final = {FiftyMoveRule.LEGACY: 1, FiftyMoveRule.CUTERMOB_LEGACY: 2}
"""Values of the control word ``LATE_SCORES`` for the 50-move rules for which it is not 0."""
_REACHABLE_SCORE: Final = GScore("G1.5")
"""Score that the engine may still reach in a drawn game, because the other side plays only chess."""
_POINT_COST: Final = 6 * MATE
"""Cost of giving up one point of classical chess, on the scale of the search.

It is three times the value of a point of r-mobility, because the chess engine that reports the cost may not
have searched deeply.
"""

KERNEL_FAMILY: Final = "tbgen.engine.kernels.search"
"""Name of the search kernels in the compiler cache: the module that imports all other search kernels."""


class LeafLookups:
    """The look-ups for one search: a thread reads the requested values from tables until :meth:`close`.

    :param tables: the tables; None if the engine has none.
    :param rule: the 50-move rule of the game. A value is used only if play reaches it before the rule
        ends the game.
    """

    def __init__(self, work: SearchWorkspace, tables: EngineTables | None, rule: FiftyMoveRule) -> None:
        self._work = work
        self._tables = tables
        self.max_men = MAX_MEN if tables and tables.materials else 0
        """Maximum number of men in positions to look up; 0 if there are no tables."""
        self._closed = threading.Event()
        self._rule = rule

    @property
    def has_pending(self) -> bool:
        """Whether a request has not been answered yet."""
        return bool(self._work.control[control_index.ANSWERS] < self._work.control[control_index.REQUESTS])

    def start(self) -> None:
        """Start the thread."""
        if self._tables and self.max_men:
            threading.Thread(target=self._run, args=(self._tables,), daemon=True).start()

    def close(self) -> None:
        """Stop the thread, without waiting for tables that are being loaded."""
        self._closed.set()

    def _run(self, tables: EngineTables) -> None:
        work = self._work
        control = work.control
        while not self._closed.wait(_POLL_SECONDS):
            answer_count = int(control[control_index.ANSWERS])
            request_count = int(control[control_index.REQUESTS])
            if answer_count < request_count and tables.try_loading():
                requests = work.requests[np.arange(answer_count, request_count) % len(work.requests)]
                _, rows = np.unique(requests[:, columns.KEY], return_index=True)
                self._answer(requests[rows], tables)
                if not self._closed.is_set():
                    control[control_index.ANSWERS] = request_count

    def _answer(self, requests: NDArray[np.uint64], tables: EngineTables) -> None:
        """Look up values and, unless the thread has been closed, write them where the search reads them."""
        work = self._work
        for letters, rows, squares in _group_by_men(requests):
            side = requests[rows, columns.TURN].astype(np.int64)
            accrued = _accrued_codes(requests[rows, columns.ACCRUED].astype(np.int64))
            result = None if self._closed.is_set() else tables.values(letters, squares, side, accrued)
            value = (
                np.full(len(rows), NO_VALUE)
                if result is None
                else _search_values(*result, requests[rows], work.worth, self._rule)
            )
            if self._closed.is_set():
                return
            entries = (requests[rows, columns.KEY] & np.uint64(len(work.table_values) - 1)).astype(np.int64)
            work.table_keys[entries] = 0
            work.table_values[entries] = value
            work.table_keys[entries] = requests[rows, columns.KEY]


def _group_by_men(requests: NDArray[np.uint64]) -> Iterator[tuple[str, NDArray[np.int64], NDArray[np.int64]]]:
    """Group positions by their men.

    Yield, for each group, the letters of the men, the rows, and the squares in the order of the letters.
    """
    sets = requests[:, None, columns.WHITES : columns.BLACKS + 1] & requests[:, : columns.KINGS + 1, None]
    sets = sets.transpose(0, 2, 1).reshape(len(requests), len(_MAN_LETTERS))
    occupied = sets[:, :, None] >> np.arange(64, dtype=np.uint64) & np.uint64(1)
    counts, group = np.unique(occupied.sum(axis=2), axis=0, return_inverse=True)
    for group_index, count in enumerate(counts.astype(np.int64)):
        rows = np.flatnonzero(group.ravel() == group_index)
        letters = "".join(letter * int(many) for letter, many in zip(_MAN_LETTERS, count, strict=True))
        yield letters, rows, np.nonzero(occupied[rows])[2].reshape(len(rows), len(letters))


def _accrued_codes(accrued: NDArray[np.int64]) -> NDArray[np.int64]:
    """Convert the accrued scores of rows to codes of tables.

    A score without a code becomes NONE, because its rank is greater than the rank of every value in a table.
    """
    rank = accrued >> 1
    return np.where(rank > MAX_CODED_RANK, NONE, np.where(accrued & 1, 255 - rank, rank))


def _search_values(
    codes: NDArray[np.uint8],
    depths: NDArray[np.int32],
    requests: NDArray[np.uint64],
    value_by_rank: NDArray[np.int64],
    rule: FiftyMoveRule,
) -> NDArray[np.int64]:
    """Convert values and depths of tables to the scale of the search, from White's point of view.

    Each ply that it takes to reach a value slightly lowers the worth of the value to the side that prefers it
    to the accrued score.

    :param value_by_rank: for each rank, the value, on this scale, of the score of that rank that White holds.
    """
    is_white = codes < NONE
    accrued = _accrued_codes(requests[:, columns.ACCRUED].astype(np.int64))
    rank = np.where(is_white, codes, 255 - codes).astype(np.int64)
    lead = np.where(rank == 0, MATE + SCALE_PLIES, value_by_rank[rank]) * np.where(is_white, 1, -1)
    # Codes are in the order of scores, White's best first.
    plies = np.where(depths < 0, _ASSUMED_DEPTH, depths)
    value = lead + np.where(codes < accrued, -plies, np.where(codes > accrued, plies, 0))
    if rule is not FiftyMoveRule.NONE:
        clock = np.maximum(requests[:, columns.CLOCK].astype(np.int64), MAX_UNKEYED_CLOCK)
        value[(plies + clock >= FIFTY_MOVE_PLIES) & (codes != accrued)] = NO_VALUE
    return value


class CompiledSearch:
    """One search from one state.

    :param moves: the legal moves to choose from, at least one.
    :param work: workspace of the search; only one search at a time may use it.
    :param tables: tables for the values of leaves; None if there are none.
    :param must_stop: function that returns, given the number of searched nodes, whether to stop.
    :param line_count: number of best moves to find, each with its line.
    :param max_nodes: number of nodes after which to stop; None for no limit.
    :param patience: maximum time in seconds to wait for tables in the first iterations.
    :param candidates: the cost and the expected answer of each move if the game is drawn in chess and the
        opponent plays only chess; else None.

    :ivar game: the game, which the search does not change.
    """

    def __init__(
        self,
        game: SearchGame,
        moves: Sequence[chess.Move],
        work: SearchWorkspace,
        tables: EngineTables | None,
        must_stop: Callable[[int], bool],
        line_count: int = 1,
        max_nodes: int | None = None,
        patience: float = PATIENCE_SECONDS,
        candidates: Mapping[chess.Move, Candidate] | None = None,
    ) -> None:
        self._patience = patience
        self._candidates = candidates
        self.game = game
        self._work = work
        self._must_stop = must_stop
        self._line_count = min(line_count, len(moves))
        self._max_nodes = max_nodes or _NO_NODE_LIMIT
        self._leaves = LeafLookups(work, tables, game.settings.fifty_move_rule)
        self._set_up(moves)
        self.best = RootLine((self._to_line([int(work.moves[0, 0])])[0],), 0, 0)
        """The best line so far; before the first iteration, an arbitrary move."""

    @property
    def nodes(self) -> int:
        """Number of states searched so far."""
        return int(self._work.control[control_index.NODES])

    @property
    def counts(self) -> SearchCounts:
        """Statistics of the search so far."""
        control = self._work.control
        occupied = np.mean(self._work.keys[:1000] != 0)
        return SearchCounts(
            self.nodes,
            int(control[control_index.HITS]),
            int(control[control_index.DEEPEST_PLY]),
            int(1000 * occupied),
        )

    def run(
        self, depth: int | None, must_stop_deepening: Callable[[], bool], report: Callable[[RootLine], None]
    ) -> RootLine:
        """Search by iterative deepening until it is time to stop, and return the best line.

        :param depth: maximum number of iterations; None for no limit.
        :param must_stop_deepening: function that returns whether to stop before the next iteration.
        :param report: called with each line of an iteration, best first. If the search is stopped within an
            iteration, the best line so far is reported.
        """
        with self._stop_in_time(), closing(self._leaves):
            self._leaves.start()
            for iteration in range(1, min(depth or PLY_LIMIT, PLY_LIMIT - 1) + 1):
                for place in range(1, self._line_count + 1):
                    self._iterate(iteration, place, report)
                    while iteration <= _MAX_REPEATED_DEPTH and not self._is_stopped and self._await_tables():
                        # This makes results found without tables invalid.
                        self._work.control[control_index.DISCARDS] += 1
                        self._iterate(iteration, place, report)
                if self._candidates is not None and iteration <= _MAX_WAITING_DEPTH and not self._is_stopped:
                    self._await_tables()
                plies = mate_plies(self.best.value)
                if self._is_stopped or must_stop_deepening() or (plies is not None and plies <= iteration):
                    break
        return self.best

    @property
    def _is_stopped(self) -> bool:
        return bool(self._work.control[control_index.STOPPED])

    def _set_up(self, moves: Sequence[chess.Move]) -> None:
        """Write the game and the moves to choose from into the workspace."""
        work = self._work
        game = self.game
        control = work.control
        played_positions = game.played_positions[-GAME_POSITION_LIMIT:]
        for row, (key, ply) in enumerate(played_positions):
            men = key[:6]
            white_men, turn, castling, square = key[6:10]
            occupied = men[0] | men[1] | men[2] | men[3] | men[4] | men[5]
            work.rows[row] = [
                *men, white_men, occupied & ~white_men, castling,
                1 << square if square >= 0 else 0, int(not turn), 0,
                ply.accrued.rank << 1 | int(not ply.accrued.white), ply.score.rank, ply.clock, 0, 0, 0,
            ]  # fmt: skip
        last_row = len(played_positions) - 1
        work.rows[last_row, columns.QUIET_PLIES] = min(game.live.halfmove_clock, last_row)
        rule = game.settings.fifty_move_rule
        generation = control[control_index.GENERATION] + 1
        discards = control[control_index.DISCARDS]
        control[:] = 0
        control[control_index.GENERATION] = generation
        control[control_index.DISCARDS] = discards
        control[control_index.MAX_NODES] = _NO_NODE_LIMIT
        control[control_index.ROOT_ROW] = last_row
        control[control_index.HAS_FIFTY_MOVE_RULE] = rule is not FiftyMoveRule.NONE
        control[control_index.RESET_RANK] = _PROGRESS_RANKS.get(rule, 0)
        control[control_index.LATE_SCORES] = _LATE_SCORES.get(rule, 0)
        control[control_index.BARE_KINGS] = game.settings.bare_kings
        work.worth[:] = WORTH if self._candidates is None else DRAWN_WORTH
        if self._candidates is not None:
            control[control_index.DRAWN] = 1 if game.live.turn else 2
            control[control_index.REACHABLE_VALUE] = (
                work.worth[_REACHABLE_SCORE.rank] if game.live.turn else -work.worth[_REACHABLE_SCORE.rank]
            )
        control[control_index.MAX_MEN] = self._leaves.max_men
        count = begin_search(work, last_row)
        choices = set(moves)
        codes = [move for move in map(int, work.moves[0, :count]) if self._decode(game.live, move) in choices]
        work.moves[0, : len(codes)] = codes
        self._count = len(codes)
        candidates = self._candidates or {}
        move_candidates = [candidates.get(self._decode(game.live, move), Candidate()) for move in codes]
        work.replies[: len(codes)] = [
            _encode(game.live, candidate.answer) if candidate.answer else 0 for candidate in move_candidates
        ]
        work.costs[: len(codes)] = [int(_POINT_COST * candidate.cost) for candidate in move_candidates]

    def _iterate(self, iteration: int, place: int, report: Callable[[RootLine], None]) -> None:
        """Search for the move in the given place (1 for the best), unless the search has been stopped."""
        work = self._work
        if self._is_stopped:
            return
        work.control[control_index.ITERATION] = iteration
        if self.best.depth:
            work.control[control_index.MAX_NODES] = self._max_nodes
        value = search_root(work, iteration, place - 1, self._count)
        length = int(work.line_length[0])
        if length and not (self._is_stopped and place > 1):
            for_white = self._to_common_scale(value if self.game.live.turn else -value)
            best = RootLine(self._to_line(work.line[0, :length].tolist()), int(for_white), iteration, place)
            if place == 1:
                self.best = best
            report(best)
        elif self._is_stopped and place == 1:
            report(self.best)

    def _to_common_scale(self, value: int) -> int:
        """Convert a value of this search to the scale of :mod:`tbgen.engine.scale`."""
        if self._candidates is None or abs(value) >= MATE:
            return value
        common = int(np.interp(abs(value), DRAWN_WORTH[::-1], WORTH[::-1]))
        return common if value > 0 else -common

    def _await_tables(self) -> bool:
        """Wait briefly for pending requests. Return whether there were some, and all have been answered."""
        if not self._leaves.has_pending:
            return False
        deadline = time.perf_counter() + self._patience
        while self._leaves.has_pending and time.perf_counter() < deadline and not self._must_stop(self.nodes):
            time.sleep(_TIMER_POLL_SECONDS)
        return not self._leaves.has_pending

    @contextmanager
    def _stop_in_time(self) -> Iterator[None]:
        """Stop the search in the block from another thread, once its time is up and it has a move.

        The kernels do not call Python to ask whether to stop, because every switch of threads is slow on a
        busy machine.
        """
        finished = threading.Event()

        def watch() -> None:
            while not finished.wait(_TIMER_POLL_SECONDS):
                if self.best.depth and self._must_stop(self.nodes):
                    self._work.control[control_index.STOP_REQUESTED] = 1
                    return

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            finished.set()
            watcher.join()  # the workspace serves one search at a time

    def _to_line(self, moves: Sequence[int]) -> tuple[chess.Move, ...]:
        board = self.game.live.copy(stack=False)
        line = []
        for move in moves:
            line.append(self._decode(board, move))
            board.push(line[-1])
        return tuple(line)

    @staticmethod
    def _decode(board: chess.Board, move: int) -> chess.Move:
        """Convert a move of the kernels, in which castling moves the king to its rook's square."""
        target = move >> columns.TARGET_SHIFT & columns.SQUARE_MASK
        kind = (move & columns.PROMOTED_MASK) >> columns.PROMOTED_SHIFT
        decoded_move = chess.Move(move & columns.SQUARE_MASK, target, kind + 1 if kind else None)
        return board.parse_uci(decoded_move.uci()) if move & columns.CASTLING_MOVE else decoded_move


def _encode(board: chess.Board, answer: chess.Move) -> int:
    """Convert an expected answer to the form of the kernels: squares and promotion.

    :param board: the position before the move that is answered.
    """
    move = chess.Move.from_uci(board.uci(answer, chess960=True))
    promoted_kind = move.promotion - 1 if move.promotion else 0
    return move.from_square | move.to_square << columns.TARGET_SHIFT | promoted_kind << columns.PROMOTED_SHIFT


def ensure_compiled(announce: Callable[[str], object]) -> None:
    """Load the kernels of the search, compiling them first if they are not in the cache.

    :param announce: called with a sentence before kernels are compiled.
    """
    with compiling(KERNEL_FAMILY, "of the engine's search", "about six seconds", announce):
        load_kernels()


def load_kernels() -> None:
    """Load the kernels of the search, or compile them."""
    work = SearchWorkspace.with_table_size(1)
    compile_for(begin_search, work, 0)
    compile_for(search_root, work, 1, 0, 1)
