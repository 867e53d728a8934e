"""Alpha-beta search in Python: the tree, the estimates at its leaves, and the transposition table.

It searches for what the game is about: the accrued score that it ends with.

Iterative deepening, principal variation search, a transposition table, reductions of late moves, and captures
searched on at the leaves [1]. The accrued score is a part of every state, so the same position with another
score is another one; where tables hold a position, it is a leaf with its true value.

An estimate mixes two things. What has accrued counts the more, the less likely it is to be reset: pawns and
captures wipe it out. The other part is what the game may still come to: the side with more men and more moves
drives the other king into a corner, where it has few.

[1] T. A. Marsland, *A review of game-tree pruning*, ICCA Journal 9 (1986), 3-19.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import chess

from tbgen.board.kinds import PIECE_VALUES
from tbgen.board.score import GScore
from tbgen.engine.game import SearchGame
from tbgen.engine.scale import MATE, mate_plies, reached, worth
from tbgen.store.cache import Recent

if TYPE_CHECKING:
    from tbgen.engine.room import SearchRoom


MAN_VALUES: Final = (0, *(int(100 * PIECE_VALUES[man]) for man in "PNBRQ"), 0)
"""In hundredths of a pawn, by the numbers that python-chess has for men."""
_MOVE: Final = 4
"""Hundredths of a pawn for a legal move more than the other side has."""
_ADVANCE: Final = (0, 0, 2, 6, 14, 30, 60, 0)
"""What the rank of a pawn adds, seen by its side."""
_EVEN: Final = 800
"""Hundredths of a pawn that are worth half of what is to be had."""
_MOST: Final = MATE * 9 // 10
"""No estimate is as good as a mate that is seen."""
_CORNERED: Final = 200
"""A lead from which on the other king is driven to the edge."""
_TO_EDGE: Final = 12
"""For each step of that king from the middle of the board."""
_TO_KING: Final = 5
"""For each step that the kings are nearer to each other."""
_FROM_MIDDLE: Final = tuple(
    (abs(2 * chess.square_file(square) - 7) + abs(2 * chess.square_rank(square) - 7)) // 2
    for square in chess.SQUARES
)


def estimate(game: SearchGame) -> int:
    """Return what the current position with its accrued score may be worth, seen by White."""
    board = game.live
    lead = _men(board) + _mobility(board, *game.last_scores)
    if abs(lead) > _CORNERED:
        lead += _drive(board, lead > 0)
    hopes = _MOST * lead // (abs(lead) + _EVEN)
    lasting = _lasting(board)
    return (lasting * worth(game.accrued) + (100 - lasting) * hopes) // 100


def _men(board: chess.Board) -> int:
    white, black = board.occupied_co[chess.WHITE], board.occupied_co[chess.BLACK]
    masks = board.pawns, board.knights, board.bishops, board.rooks, board.queens
    lead = 0
    for mask, value in zip(masks, MAN_VALUES[chess.PAWN :], strict=False):
        lead += value * ((mask & white).bit_count() - (mask & black).bit_count())
    pawns = board.pawns
    while pawns:
        square = pawns.bit_length() - 1
        pawns ^= 1 << square
        lead += _ADVANCE[square >> 3] if white >> square & 1 else -_ADVANCE[7 - (square >> 3)]
    return lead


def _mobility(board: chess.Board, own: GScore, before: GScore | None) -> int:
    """Return what the moves of both sides are worth: those of the side to move now, of the other one a ply
    ago, so that none have to be counted anew."""
    if before is None:
        return 0
    more = _MOVE * (own.rank // 2 - before.rank // 2)
    return more if board.turn else -more


def _drive(board: chess.Board, white: bool) -> int:
    """Return how far the side that leads has driven the other king to the edge, and its own one near him."""
    ours, theirs = board.king(white), board.king(not white)
    if ours is None or theirs is None:
        return 0
    near = _TO_EDGE * _FROM_MIDDLE[theirs] + _TO_KING * (7 - chess.square_distance(ours, theirs))
    return near if white else -near


def _lasting(board: chess.Board) -> int:
    """Return in per cent how much the accrued score counts: the more, the fewer men are there to reset it."""
    pawns = board.pawns.bit_count()
    others = board.occupied.bit_count() - pawns - 2
    return 100 // (2 + pawns + others // 2)


ENTRY_BYTES: Final = 560
"""About what a state takes: a bit more than was measured."""


class MemoryEntry(NamedTuple):
    """What has been found out about a state.

    :ivar search: number of the search: to others an entry is a hint which move to try first, for their plies
        count from elsewhere and other positions came before.
    :ivar lower: the side to move has this at least.
    :ivar upper: it has this at most.
    """

    search: int
    depth: int
    lower: int
    upper: int
    move: chess.Move | None

    def decides(self, alpha: int, beta: int) -> bool:
        """Tell whether the bounds tell the value as far as it lies between two others."""
        return self.lower >= beta or self.upper <= alpha or self.lower == self.upper


class Memory(Recent[MemoryEntry]):
    """The states met last and what is known of them, within a bound on memory.

    :param mebibytes: what it may take.

    :ivar searches: numbers for searches that begin.
    """

    def __init__(self, mebibytes: int) -> None:
        self._mebibytes = mebibytes
        self._most = max((mebibytes << 20) // ENTRY_BYTES, 1)
        super().__init__(self._most, lambda _: 1)
        self.searches = count()

    @cached_property
    def room(self) -> "SearchRoom":
        """What the compiled search works with, which has a table of its own."""
        from tbgen.engine.room import SearchRoom  # takes numba

        return SearchRoom.of(self._mebibytes)

    @property
    def permille(self) -> int:
        """How full it is, in thousandths."""
        return 1000 * self.size // self._most


MOST_PLIES: Final = 100
"""Iterations at most; Python has room for more calls within calls than these take."""

_INFINITE: Final = 2 * MATE
_FEW_MOVES: Final = 2
"""An answer to so few moves is searched a ply deeper: low counts decide games."""
_LATE: Final = 6
"""Quiet moves from this one on are searched a ply less at first."""
_LEAST_REDUCED: Final = 3
_QUIET_PLIES: Final = 8
"""Captures in a row at a leaf."""


KnownValue: TypeAlias = tuple[GScore, int | None] | None
"""The value of a state and its depth in plies, if that is known; None if nothing is."""


@dataclass(frozen=True, slots=True)
class RootLine:
    """A move with best play after it, as far as a search has looked.

    :ivar line: best play as far as it is known, at least a move.
    :ivar value: of the game, on the scale of :mod:`tbgen.engine.scale`, seen by White.
    :ivar depth: plies of the iteration that found it; 0 before the first one.
    :ivar place: of the line's first move among all of them, the best one's 1.
    """

    line: tuple[chess.Move, ...]
    value: int
    depth: int
    place: int = 1


class _TimeUpError(Exception):
    """There is no more time."""


class TreeSearch:
    """One search from one state.

    :param moves: legal ones to choose among, at least one.
    :param known: tells what is known of the current state of a game.
    :param over: tells by the number of nodes whether to stop.
    :param lines: how many of the best moves are looked for, each with its line.

    :ivar nodes: states looked at so far.
    :ivar hits: states among them whose value was known.
    :ivar deepest: most plies looked ahead.
    """

    def __init__(
        self,
        game: SearchGame,
        moves: Sequence[chess.Move],
        known: Callable[[SearchGame], KnownValue],
        memory: Memory,
        over: Callable[[int], bool],
        lines: int = 1,
    ) -> None:
        self._places = min(lines, len(moves))
        self.game, self._known, self.memory, self._over = game, known, memory, over
        self._number = next(memory.searches)
        self._first, self._held, self._white = game.length - 1, game.accrued, game.live.turn
        self._history: dict[tuple[chess.Square, chess.Square, bool], int] = {}
        self._lines: list[list[chess.Move]] = [[] for _ in range(4 * MOST_PLIES)]
        entry = memory.get(game.state)
        self._moves = self._ordered(list(moves), entry.move if entry else None)
        self.nodes = self.hits = self.deepest = self._iteration = 0
        self.best = RootLine((self._moves[0],), 0, 0)
        """The best line so far; before the first iteration a legal move."""

    @property
    def permille(self) -> int:
        """How full the transposition table is, in thousandths."""
        return self.memory.permille

    def run(
        self, depth: int | None, enough: Callable[[], bool], tell: Callable[[RootLine], None]
    ) -> RootLine:
        """Search deeper and deeper, and return the best line when it is time.

        :param depth: plies at most, None for as many as there is time for.
        :param enough: tells whether no other iteration should begin.
        :param tell: called with each line of an iteration, the best first, and when it was stopped in one.
        """
        start = self.game.length
        for iteration in range(1, min(depth or MOST_PLIES, MOST_PLIES) + 1):
            self._iteration = iteration
            try:
                for place in range(1, self._places + 1):
                    tell(self._root(place))
            except _TimeUpError:
                while self.game.length > start:
                    self.game.pop()
                tell(self.best)
                break
            plies = mate_plies(self.best.value)
            if enough() or (plies is not None and plies <= iteration):
                break
        return self.best

    def _root(self, place: int) -> RootLine:
        """Search all moves of the first state but for the better ones, which have been found.

        What is found of the best one counts as soon as the first move is through.
        """
        alpha, depth, best = -_INFINITE, self._iteration, self.best
        for number, move in enumerate(self._moves[place - 1 :]):
            value = self._after(move, depth, min(number, 1), alpha, _INFINITE, 0)
            if value > alpha:
                alpha = value
                self._lines[0] = [move, *self._lines[1]]
                best = RootLine(tuple(self._lines[0]), value if self._white else -value, depth, place)
                self._moves.remove(move)
                self._moves.insert(place - 1, move)
                if place == 1:
                    self.best = best
        if place == 1:
            self.memory.put(self.game.state, MemoryEntry(self._number, depth, alpha, alpha, best.line[0]))
        return best

    def _node(self, depth: int, alpha: int, beta: int, ply: int) -> int:
        """Return the value of the current state, seen by the side to move, as far as it lies between two."""
        known = self._enter(ply)
        if known is not None:
            return known
        game = self.game
        rank = game.position_score.rank
        few = not rank & 1 or rank >> 1 <= _FEW_MOVES
        if depth >= 0 and few and ply < 2 * self._iteration:
            depth += 1
        if depth <= 0:
            return self._leaf(depth, alpha, beta, ply)
        state = game.state
        entry = self.memory.get(state)
        if entry and entry.search == self._number and entry.depth >= depth and entry.decides(alpha, beta):
            return entry.lower if entry.lower >= beta else entry.upper
        moves = self._ordered(list(game.live.legal_moves), entry.move if entry else None)
        best, chosen = self._best(moves, depth, -_INFINITE, alpha, beta, ply)
        lower, upper = best if best > alpha else -_INFINITE, best if best < beta else _INFINITE
        self.memory.put(state, MemoryEntry(self._number, depth, lower, upper, chosen))
        return best

    def _leaf(self, depth: int, alpha: int, beta: int, ply: int) -> int:
        """Return the value of a leaf, which has been entered: the side to move may capture or leave it.

        :param depth: 0, less 1 for each capture before.
        """
        board = self.game.live
        estimated = estimate(self.game)
        best = estimated if board.turn else -estimated
        if best >= beta or depth <= -_QUIET_PLIES:
            return best
        captures = self._ordered([*board.generate_legal_captures()], None)
        return self._best(captures, depth, best, alpha, beta, ply)[0]

    def _best(
        self, moves: Sequence[chess.Move], depth: int, best: int, alpha: int, beta: int, ply: int
    ) -> tuple[int, chess.Move | None]:
        """Search moves one by one until one is too good for the other side to come here.

        :param best: what the side to move has without them.

        :returns: what it has with them, and the move that gives more than it had.
        """
        board, chosen, alpha = self.game.live, None, max(alpha, best)
        check = not self.game.position_score.rank & 1
        for number, move in enumerate(moves):
            quiet = not move.promotion and not board.is_capture(move)
            late = number >= _LATE and quiet and depth >= _LEAST_REDUCED and not check
            plies = 0 if number == 0 or depth <= 0 else 2 if late else 1
            value = self._after(move, depth, plies, alpha, beta, ply)
            if value > best:
                best, chosen = value, move
                if value > alpha:
                    alpha = value
                    self._lines[ply] = [move, *self._lines[ply + 1]]
            if alpha >= beta:
                if quiet:
                    self._remember(move, depth)
                break
        return best, chosen

    def _after(self, move: chess.Move, depth: int, less: int, alpha: int, beta: int, ply: int) -> int:
        """Return the value of a move, seen by its side, as far as it lies between two.

        :param less: plies less than the depth to find out first whether it is better than the lower one; 0 to
            do without that.
        """
        self.game.play(move)
        value = -self._node(depth - less, -alpha - 1, -alpha, ply + 1) if less else alpha
        if not less or (value > alpha and (less > 1 or value < beta)):
            value = -self._node(depth - 1, -beta, -alpha, ply + 1)
        self.game.pop()
        return value

    def _enter(self, ply: int) -> int | None:
        """Count a node, and return its value, seen by the side to move, if nobody has to search for it.

        :raises _TimeUpError: if there is no more time.
        """
        self.nodes += 1
        if self._over(self.nodes) and self.best.depth:
            raise _TimeUpError
        self.deepest = max(self.deepest, ply)
        self._lines[ply] = []
        game = self.game
        over = game.basis is not None or game.returns(self._first)
        found = (game.accrued, 0) if over else self._known(game)
        if found is None:
            return None
        self.hits += not over
        value, depth = found
        seen = reached(value, self._held, None if depth is None else ply + depth)
        return seen if game.live.turn else -seen

    def _ordered(self, moves: list[chess.Move], hint: chess.Move | None) -> list[chess.Move]:
        """Return moves, those first that look best: the hint, much taken by little, what refuted much."""
        board = self.game.live

        def key(move: chess.Move) -> int:
            if move == hint:
                return -(10**9)
            taken = board.piece_type_at(move.to_square)
            order = 0
            if taken and board.color_at(move.to_square) != board.turn:
                order = (
                    10**6 + 10 * MAN_VALUES[taken] - MAN_VALUES[board.piece_type_at(move.from_square) or 0]
                )
            if move.promotion:
                order += 10**6 + MAN_VALUES[move.promotion]
            return -(order or self._history.get((move.from_square, move.to_square, board.turn), 0))

        return sorted(moves, key=key)

    def _remember(self, move: chess.Move, depth: int) -> None:
        """Note that a quiet move refuted what came before."""
        key = move.from_square, move.to_square, self.game.live.turn
        self._history[key] = min(self._history.get(key, 0) + depth * depth, 10**5 - 1)
