"""All legal moves of a position with their values, best first, and lines of best play."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Final, NamedTuple, TypeAlias

import chess

from tbgen.board.fen import AnyBoard, DescribedBoard
from tbgen.board.san import MoveWithSan, sans_without_check_signs
from tbgen.board.score import GScore, Signed, fold, merit, rank_of, to_gscore
from tbgen.board.variant import Variant
from tbgen.errors import DamagedTableError, MissingLayerError
from tbgen.index.layout import Layout, Side, Slot
from tbgen.index.position import Position, board_of, locate
from tbgen.probe.states import Goal, State
from tbgen.probe.values import Values

MAX_STATES: Final = 300
"""Number of states to expand before giving up. With packed tables, this takes up to two seconds."""
MAX_PLIES: Final = 300
"""Number of plies to look ahead before giving up. Python's recursion limit allows this many nested calls."""

_NodeKey: TypeAlias = tuple[Layout, Side, Slot, Signed]

_STATES_PER_SEARCH: Final = 50
"""Number of states to expand between two calls to ``patience``."""


@dataclass(frozen=True, slots=True)
class RankedMove(MoveWithSan):
    """A legal move, with the value and the depth of the state that the move leads to.

    :ivar move: the move.
    :ivar san: the move in short algebraic notation.
    :ivar value: the value of the state that the move leads to.
    :ivar depth: the depth of this state, in plies; None if the table does not store it.
    :ivar zeroing: whether the move is a capture or a pawn move, which resets the accrued score in r-mobility.
    :ivar position_score: the position score after the move; rank 0 is mate, rank 1 stalemate.
    :ivar accrued: the accrued score after the move.
    """

    move: chess.Move
    san: str
    value: GScore
    depth: int | None
    zeroing: bool
    position_score: GScore
    accrued: GScore


class ReachedState(NamedTuple):
    """A move, and the state that it leads to."""

    move: chess.Move
    zeroing: bool
    state: State


class Successor(NamedTuple):
    """A state that a move leads to, with the value and depth of this state."""

    reached: ReachedState
    goal: Goal


def ranked_moves(board: AnyBoard, successors: Sequence[Successor]) -> list[RankedMove]:
    """Convert the successors of a board to ranked moves, in the same order."""
    names = names_without_check_signs(board, [s.reached.move for s in successors])
    return [
        RankedMove(
            s.reached.move,
            name + check_mark(s.reached.state.position),
            to_gscore(s.goal.value),
            s.goal.depth,
            s.reached.zeroing,
            to_gscore(s.reached.state.position.score),
            to_gscore(s.reached.state.accrued),
        )
        for name, s in zip(names, successors, strict=True)
    ]


def names_without_check_signs(board: AnyBoard, moves: Sequence[chess.Move]) -> list[str]:
    """Return moves in short algebraic notation, without check marks.

    On a board with described men, moves are written as coordinates, such as ``e5f6`` and ``e5xf6``.
    """
    if not isinstance(board, DescribedBoard):
        return sans_without_check_signs(board, moves)
    return [
        chess.square_name(move.from_square) + "x" * board.is_zeroing(move) + chess.square_name(move.to_square)
        for move in moves
    ]


def successors(values: Values, board: AnyBoard, accrued: Signed) -> list[Successor]:
    """Return the states that the legal moves of a valid board lead to, the best for the mover first."""
    reached = reached_states(board, accrued, values.variant)
    return sort_successors(board, accrued, reached, [values.goal(r.state) for r in reached])


def reached_states(board: AnyBoard, accrued: Signed, variant: Variant) -> list[ReachedState]:
    """Return the states that the legal moves of a valid board lead to.

    :param accrued: the accrued score before the move, with the position score folded in. In whole-game
        mobility no move resets it.
    """
    after = board.copy(stack=False)
    reached = []
    for move in board.legal_moves:
        zeroing = board.is_zeroing(move)
        after.push(move)
        position = locate(after)
        accrued_after = position.score if variant.is_reset_by(zeroing) else fold(accrued, position.score)
        reached.append(ReachedState(move, zeroing, State(position, accrued_after)))
        after.pop()
    return reached


def sort_successors(
    board: AnyBoard, accrued: Signed, reached: Sequence[ReachedState], goals: Sequence[Goal]
) -> list[Successor]:
    """Combine states with their goals, and return these successors, the best for the mover first."""

    def sort_key(successor: Successor) -> tuple[int, bool, int, str]:
        value, depth = successor.goal
        return preference(board.turn, accrued, value, depth, successor.reached.move.uci())

    return sorted((Successor(r, goal) for r, goal in zip(reached, goals, strict=True)), key=sort_key)


def preference(
    white: bool, accrued: Signed, value: Signed, depth: int | None, uci: str
) -> tuple[int, bool, int, str]:
    """Return the sort key of a move: every list of moves is in this order, the best for the mover first.

    Among moves to the same value, the quickest comes first if the value is better for the mover than the
    accrued score; the slowest comes first if the value is worse. Moves without a stored depth follow. Ties
    are sorted by UCI notation.

    :param white: whether White moves.
    :param accrued: the accrued score before the move.
    :param value: the value of the state that the move leads to.
    :param depth: the depth of that state, in plies; None if it is unavailable.
    """
    gain = merit(value, white) - merit(accrued, white)
    lacks_depth = depth is None and gain != 0
    delay = 0 if depth is None or not gain else depth if gain > 0 else -depth
    return -gain, lacks_depth, delay, uci


def check_mark(position: Position) -> str:
    """Return the mark of a move that leads to a position: ``+``, ``#`` or nothing."""
    return "" if rank_of(position.score) & 1 else "#" if position.terminal else "+"


class DepthSearch:
    """Finds depths in r-mobility by iterative deepening. Bounds of depths are kept for later searches.

    The depth of a state depends only on its successors with the same value (docs/theory.md, section 5). If
    this value is better for the side to move than the accrued score, the depth is 1 plus the smallest depth
    of these successors. If it is worse, the depth is 1 plus their greatest depth. Whether the depth is at
    most n depends only on which of these successors have a depth of at most n - 1. The search increases n ply
    by ply.

    :param look_up: function that returns the goal of a state, with None as the depth if no depth is stored,
        such as :meth:`tbgen.probe.values.Values.goal`.
    """

    def __init__(self, look_up: Callable[[State], Goal]) -> None:
        self._look_up = look_up
        self._nodes: dict[_NodeKey, _Node] = {}
        self._remaining_states = 0

    def depth(self, state: State, value: Signed, max_states: int = MAX_STATES) -> int | None:
        """Return the depth of a state.

        :param state: a state whose depth is not stored. Its value therefore differs from its accrued score.
        :param value: the value of the state.
        :param max_states: maximum number of states to expand.
        :returns: the depth; None with castling rights, or if the search would need more states or plies.

        Raises whatever ``look_up`` raises.
        """
        position, accrued = state
        if position.castling_board is not None:  # keys of nodes do not include castling rights
            return None
        if position.shape.swapped:  # from here on, the colours are those of the table
            value, accrued = Signed(~value), Signed(~accrued)
        node = self._node(position, accrued, value)
        self._remaining_states = max_states
        with suppress(_DepthNotFoundError):
            while node.lower_bound <= MAX_PLIES:
                if self._is_within(node, node.lower_bound):
                    return node.lower_bound
        return None

    def depth_of(self, state: State, goal: Goal, max_states: int = MAX_STATES) -> int | None:
        """Return the depth that ``goal`` contains; if it contains none, the result of :meth:`depth`."""
        return self.depth(state, goal.value, max_states) if goal.depth is None else goal.depth

    def _node(self, position: Position, accrued: Signed, value: Signed) -> "_Node":
        key = position.shape.layout, position.side, position.slot, accrued
        return self._nodes.setdefault(key, _Node(key, value))

    def _is_within(self, node: "_Node", plies: int) -> bool:
        """Return whether the depth of a node is at most ``plies``.

        :raises _DepthNotFoundError: if this cannot be determined.
        """
        if node.unknown is None and node.lower_bound <= plies:
            self._expand(node)
        if plies < node.lower_bound:
            return False
        if plies >= node.upper_bound:
            return True
        is_within = not node.hurries
        for successor in node.unknown or ():
            if self._is_within(successor, plies - 1) == node.hurries:
                is_within = node.hurries
                break
        if is_within:
            node.upper_bound = plies
        else:
            node.lower_bound = plies + 1
        return is_within

    def _expand(self, node: "_Node") -> None:
        """Expand a node: find its successors with the same value, and bound its depth by their depths.

        :raises _DepthNotFoundError: if there are no such successors, or the limit of states is reached.
        """
        if not self._remaining_states:
            raise _DepthNotFoundError
        self._remaining_states -= 1
        layout, side, slot, accrued = node.key
        reached = reached_states(board_of(layout, side, slot), accrued, Variant.R_MOBILITY)
        goals = [(state, self._look_up(state)) for _, _, state in reached]
        equal = [(state, goal.depth) for state, goal in goals if goal.value == node.value]
        if not equal:
            raise _DepthNotFoundError
        stored_depths = [depth for _, depth in equal if depth is not None]
        unknown = node.unknown = [self._node(*state, node.value) for state, depth in equal if depth is None]
        if node.hurries:
            node.upper_bound = 1 + min(stored_depths, default=inf)
            # A depth that is not stored is at least 1, because a depth of 0 follows from the value.
            node.lower_bound = int(min(node.upper_bound, 2)) if unknown else int(node.upper_bound)
        else:
            node.lower_bound = 1 + max(stored_depths, default=1)
            node.upper_bound = inf if unknown else node.lower_bound


class _DepthNotFoundError(Exception):
    """Raised when the limit of states is reached, or if the tables contradict each other."""


class _Node:
    """A state whose depth the table does not store, in the colours of the table.

    :param key: the layout, the side to move, the slot and the accrued score of the state.
    :param value: the value of the state.
    :ivar hurries: whether the value is better for the side to move than the accrued score.
    :ivar lower_bound: lower bound of the depth.
    :ivar upper_bound: upper bound of the depth.
    :ivar unknown: successors with the same value whose depths are not stored; None before expansion.
    """

    def __init__(self, key: _NodeKey, value: Signed) -> None:
        self.key = key
        self.value = value
        white = key[1] == 0
        self.hurries = merit(value, white) > merit(key[3], white)
        self.lower_bound = 1
        self.upper_bound: float = inf
        self.unknown: list[_Node] | None = None


@dataclass(frozen=True, slots=True)
class LinePly(MoveWithSan):
    """One move of a line.

    :ivar move: the move.
    :ivar san: the move in short algebraic notation.
    :ivar accrued: the accrued score after the move.
    :ivar depth: number of plies after the move until the accrued score is the value. In a solution without a
        proved depth, it counts the plies that are left in the line.
    """

    move: chess.Move
    san: str
    accrued: GScore
    depth: int


def best_line(values: Values, board: AnyBoard, state: State) -> list[LinePly]:
    """Return the line of best play from a state on a valid board.

    The length of the line is the depth of the state. After the last move, the accrued score is the value.

    :raises MissingLayerError: if the line needs depths that tables do not store and the search does not find.
    :raises DamagedTableError: if the tables that the line needs contradict each other.
    """
    search = DepthSearch(values.goal)

    def depth_of(state: State, goal: Goal) -> int:
        depth = search.depth_of(state, goal)
        if depth is None:
            raise MissingLayerError(
                f"the line needs depths of accrued scores that {state.position.shape.material} does not "
                "store: ask with --depths (in Python, open_tablebase(..., depths=True)), which makes them"
                if state.position.castling_board is None
                else "the line needs depths, which are not available with castling rights if tables are "
                "packed: ask for the moves of one position after the other"
            )
        return depth

    accrued = state.accrued
    goal = values.goal(state)
    depth = depth_of(state, goal)
    board = board.copy(stack=False)
    line = []
    while depth:
        moves = successors(values, board, accrued)
        best = _first_with_goal(Goal(goal.value, depth - 1), moves, depth_of)
        if best is None:
            folders = " and ".join(map(str, values.library.directories))
            raise DamagedTableError(
                f"the tables in {folders} contradict each other; find which with: tbgen verify"
            )
        move, _, reached = best.reached
        accrued = reached.accrued
        depth = depth - 1
        names = names_without_check_signs(board, [move.reached.move for move in moves])
        name = names[moves.index(best)] + check_mark(reached.position)
        board.push(move)
        line.append(LinePly(move, name, to_gscore(accrued), depth))
    return line


def _first_with_goal(
    wanted_goal: Goal, candidates: Sequence[Successor], depth_of: Callable[[State, Goal], int | None]
) -> Successor | None:
    """Return the first successor with the wanted goal; None if no successor has this goal.

    :param candidates: successors, sorted by :func:`sort_successors`.
    :param depth_of: function that returns the depth of a state, even if tables do not store the depth;
        None if the depth is not found.
    """
    for candidate in candidates:
        (_, _, state), goal = candidate
        if goal.value == wanted_goal.value and depth_of(state, goal) == wanted_goal.depth:
            return candidate
    return None


def next_move(
    values: Values, board: AnyBoard, state: State, patience: Callable[[], bool]
) -> RankedMove | None:
    """Return the first move of best play from a state, for callers that play one move at a time.

    If the table does not store the depths that distinguish progress from repetition, a search looks some
    plies ahead for them, as long as ``patience`` allows.

    :param patience: called between parts of the search; returns whether to continue the search.

    :returns: the move; None in mate and stalemate, and if ``patience`` has returned False. With castling
        rights, also None if the depths that are needed are not available.
    """
    moves = [] if state.position.terminal else successors(values, board, state.accrued)
    if not moves:
        return None
    goal = values.goal(state)
    keeping_moves = [move for move in moves if move.goal.value == goal.value]
    if goal.value == state.accrued or all(move.goal.depth is not None for move in keeping_moves):
        return ranked_moves(board, moves)[0]
    if state.position.castling_board is not None:  # the search does not find depths with castling rights
        return None
    depth_of = partial(DepthSearch(values.goal).depth_of, max_states=_STATES_PER_SEARCH)
    depth = goal.depth
    while patience():
        depth = depth or depth_of(state, goal)
        wanted_goal = Goal(goal.value, depth - 1) if depth else None
        best = _first_with_goal(wanted_goal, keeping_moves, depth_of) if wanted_goal else None
        if wanted_goal and best:
            return replace(ranked_moves(board, moves)[moves.index(best)], depth=wanted_goal.depth)
    return None
