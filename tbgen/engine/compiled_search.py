"""The compiled search of one state: what it is told of the game, and what it finds.

It asks for values of leaves, and tables answer meanwhile. Its kernels are compiled, or loaded where they are.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Final

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import MAX_MEN
from tbgen.board.score import MAX_CODED_RANK, NONE, GScore
from tbgen.compiler.cache import compiling
from tbgen.compiler.jit import compile_for
from tbgen.engine import room as at
from tbgen.engine.game import Candidate, RootLine, SearchCounts, SearchGame
from tbgen.engine.kernels import board as row
from tbgen.engine.kernels.search import begin, search_root
from tbgen.engine.room import CLOCK_TOLD, DRAWN_WORTH, HISTORY, PLAIN_WORTH, PLIES, SearchRoom
from tbgen.engine.scale import MATE, REACH, mate_plies
from tbgen.engine.table_advice import EngineTables
from tbgen.games.settings import PLIES as PLIES_OF_RULE
from tbgen.games.settings import FiftyMoveRule

_PAUSE: Final = 0.001
"""Seconds between two looks for questions."""
_LETTERS: Final = "PNBRQKpnbrqk"
_NO_VALUE: Final = 4 * MATE
_UNKNOWN_DEPTH: Final = 250


class LeafValues:
    """Answers what one search asks, in a thread of its own, until it is closed.

    :param tables: who is asked; None if there are none.
    :param rule: the 50-move rule of the game, under which only goals count that are reached before its end.
    """

    def __init__(self, room: SearchRoom, tables: EngineTables | None, rule: FiftyMoveRule) -> None:
        self._room, self._tables = room, tables
        self.most_men = MAX_MEN if tables and tables.there else 0
        """Positions with more men are not asked for."""
        self._closed = threading.Event()
        self._rule = rule

    @property
    def pending(self) -> bool:
        """Whether something has been asked that is not answered yet."""
        return bool(self._room.control[at.ANSWERED] < self._room.control[at.ASKED])

    def start(self) -> None:
        """Answer from now on."""
        if self._tables and self.most_men:
            threading.Thread(target=self._run, args=(self._tables,), daemon=True).start()

    def close(self) -> None:
        """Stop, but do not wait for tables that are being loaded."""
        self._closed.set()

    def _run(self, tables: EngineTables) -> None:
        room, control = self._room, self._room.control
        while not self._closed.wait(_PAUSE):
            first, last = int(control[at.ANSWERED]), int(control[at.ASKED])
            if first < last and tables.can_tell:
                asked = room.asked[np.arange(first, last) % len(room.asked)]
                _, places = np.unique(asked[:, row.KEY], return_index=True)
                self._answer(asked[places], tables)
                if not self._closed.is_set():
                    control[at.ANSWERED] = last

    def _answer(self, asked: NDArray[np.uint64], tables: EngineTables) -> None:
        """Have tables tell values, and write them where the search looks for them, while it lasts."""
        room = self._room
        for letters, rows, squares in _by_men(asked):
            side = asked[rows, row.TURN].astype(np.int64)
            accrued = _codes(asked[rows, row.ACCRUED].astype(np.int64))
            told = None if self._closed.is_set() else tables.values(letters, squares, side, accrued)
            value = (
                np.full(len(rows), _NO_VALUE)
                if told is None
                else _values(*told, asked[rows], room.worth, self._rule)
            )
            if self._closed.is_set():
                return
            places = (asked[rows, row.KEY] & np.uint64(len(room.known) - 1)).astype(np.int64)
            room.known_keys[places] = 0
            room.known[places] = value
            room.known_keys[places] = asked[rows, row.KEY]


def _by_men(
    positions: NDArray[np.uint64],
) -> Iterator[tuple[str, NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the letters of men, the rows that have these, and their squares in the order of the letters."""
    sets = positions[:, None, row.OF_WHITE : row.OF_BLACK + 1] & positions[:, : row.KINGS + 1, None]
    sets = sets.transpose(0, 2, 1).reshape(len(positions), len(_LETTERS))
    there = sets[:, :, None] >> np.arange(64, dtype=np.uint64) & np.uint64(1)
    counts, group = np.unique(there.sum(axis=2), axis=0, return_inverse=True)
    for number, count in enumerate(counts.astype(np.int64)):
        rows = np.flatnonzero(group.ravel() == number)
        letters = "".join(letter * int(many) for letter, many in zip(_LETTERS, count, strict=True))
        yield letters, rows, np.nonzero(there[rows])[2].reshape(len(rows), len(letters))


def _codes(accrued: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the codes that tables have for accrued scores of rows; one beyond these counts as none, since no
    table has a value beyond them."""
    rank = accrued >> 1
    return np.where(rank > MAX_CODED_RANK, NONE, np.where(accrued & 1, 255 - rank, rank))


def _values(
    codes: NDArray[np.uint8],
    depths: NDArray[np.int32],
    asked: NDArray[np.uint64],
    worth: NDArray[np.int64],
    rule: FiftyMoveRule,
) -> NDArray[np.int64]:
    """Return what values of tables are worth to White, by what the ranks of scores are worth.

    For each ply to them they are worth less to who prefers them to what has accrued.
    """
    white, accrued = codes < NONE, _codes(asked[:, row.ACCRUED].astype(np.int64))
    rank = np.where(white, codes, 255 - codes).astype(np.int64)
    lead = np.where(rank == 0, MATE + REACH, worth[rank]) * np.where(white, 1, -1)
    # Codes are in the order of scores, White's best one first.
    plies = np.where(depths < 0, _UNKNOWN_DEPTH, depths)
    value = lead + np.where(codes < accrued, -plies, np.where(codes > accrued, plies, 0))
    if rule is not FiftyMoveRule.NONE:
        clock = np.maximum(asked[:, row.CLOCK].astype(np.int64), CLOCK_TOLD)
        value[(plies + clock >= PLIES_OF_RULE) & (codes != accrued)] = _NO_VALUE
    return value


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
_HOPE: Final = GScore("G1.5")
"""What a drawn game may still come to against a side that plays chess only."""
_COST: Final = 6 * MATE
"""What a point is worth that a move gives up by the rules of chess: three times as much as one of r-mobility,
for whoever says so may not look deep."""


class CompiledSearch:
    """One search from one state.

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
    def counts(self) -> SearchCounts:
        """How far it has come."""
        control, full = self._room.control, np.mean(self._room.keys[:1000] != 0)
        return SearchCounts(self.nodes, int(control[at.HITS]), int(control[at.DEEPEST]), int(1000 * full))

    def run(
        self, depth: int | None, enough: Callable[[], bool], tell: Callable[[RootLine], None]
    ) -> RootLine:
        """Search deeper and deeper, and return the best line when it is time.

        :param depth: iterations at most, None for as many as there is time for.
        :param enough: tells whether no other iteration should begin.
        :param tell: called with each line of an iteration, the best first, and when it was stopped in one.
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
        """Return the legal move for that of kernels, in which a king that castles moves to its rook."""
        promoted = (move >> 12 & 7) + 1 if move & row.PROMOTED else None
        told = chess.Move(move & row.FROM, move >> 6 & 63, promoted)
        return board.parse_uci(told.uci()) if move & row.CASTLES else told


def _code(board: chess.Board, answer: chess.Move) -> int:
    """Return what kernels have of an answer to a move on a board: squares and promotion."""
    told = chess.Move.from_uci(board.uci(answer, chess960=True))
    return told.from_square | told.to_square << 6 | (told.promotion - 1 if told.promotion else 0) << 12


FAMILY: Final = "tbgen.engine.kernels.search"
"""Name of these kernels in the cache: the module that imports all others of them."""


def ensure_compiled(note: Callable[[str], object]) -> None:
    """Load the kernels of the search; compile them if they are not in the cache, and have ``note`` told so
    before."""
    with compiling(FAMILY, "of the engine's search", "about six seconds", note):
        load()


def load() -> None:
    """Load the kernels, or compile them."""
    room = SearchRoom.of(1)
    compile_for(begin, room, 0)
    compile_for(search_root, room, 1, 0, 1)
