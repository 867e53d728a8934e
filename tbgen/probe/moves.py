"""All legal moves of a position with their values, best first, and lines of best play."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Final, NamedTuple, TypeAlias

import chess

from tbgen.board.fen import AnyBoard, DescribedBoard
from tbgen.board.san import MoveWithSan, sans_without_check
from tbgen.board.score import GScore, Signed, fold, merit, rank_of, to_gscore
from tbgen.board.variant import Variant
from tbgen.errors import DamagedTableError, MissingLayerError
from tbgen.index.layout import Layout, Side, Slot
from tbgen.index.position import Position, board_of, locate
from tbgen.probe.states import Goal, State
from tbgen.probe.values import Values


@dataclass(frozen=True, slots=True)
class RankedMove(MoveWithSan):
    """A legal move, with the value and depth of the state it leads to.

    :ivar move: the move.
    :ivar san: the move in short algebraic notation.
    :ivar value: value of the state it leads to.
    :ivar depth: depth of the state it leads to, in plies; None if the table does not store it.
    :ivar zeroing: whether it is a capture or a pawn move, which resets the accrued score in r-mobility.
    :ivar position_score: position score after the move; rank 0 is mate, rank 1 stalemate.
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
    """The state that a move leads to."""

    move: chess.Move
    zeroing: bool
    state: State


class Successor(NamedTuple):
    """A state that a move leads to, with its value and depth."""

    reached: ReachedState
    goal: Goal


def ranked_moves(board: AnyBoard, successors: Sequence[Successor]) -> list[RankedMove]:
    """Return the successors of a board as ranked moves, in the same order."""
    names = names_without_check(board, [s.reached.move for s in successors])
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


def names_without_check(board: AnyBoard, moves: Sequence[chess.Move]) -> list[str]:
    """Return moves in short algebraic notation, without check marks.

    On a board with described men they are written by coordinates, such as ``e5f6`` and ``e5xf6``.
    """
    if not isinstance(board, DescribedBoard):
        return sans_without_check(board, moves)
    return [
        chess.square_name(move.from_square) + "x" * board.is_zeroing(move) + chess.square_name(move.to_square)
        for move in moves
    ]


def successors(values: Values, board: AnyBoard, accrued: Signed) -> list[Successor]:
    """Return the states that the legal moves of a valid board lead to, the best for the mover first."""
    reached = reached_by(board, accrued, values.variant)
    return order(board, accrued, reached, [values.of(r.state) for r in reached])


def reached_by(board: AnyBoard, accrued: Signed, variant: Variant) -> list[ReachedState]:
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


def order(
    board: AnyBoard, accrued: Signed, reached: Sequence[ReachedState], goals: Sequence[Goal]
) -> list[Successor]:
    """Return the successors with their values and depths, the best value for the mover first.

    Among moves to the same value, the quickest comes first if the value is better for the mover than the
    accrued score, and the slowest if it is worse. Moves without a stored depth follow. Ties are in the order
    of UCI notation.
    """
    white = board.turn
    accrued_merit = merit(accrued, white)

    def key(successor: Successor) -> tuple[int, bool, int, str]:
        value, depth = successor.goal
        gain = merit(value, white) - accrued_merit
        lacks_depth = depth is None and gain != 0
        delay = 0 if depth is None or not gain else depth if gain > 0 else -depth
        return -gain, lacks_depth, delay, successor.reached.move.uci()

    return sorted((Successor(r, goal) for r, goal in zip(reached, goals, strict=True)), key=key)


def check_mark(position: Position) -> str:
    """Return the mark of a move to a position: ``+``, ``#`` or empty."""
    return "" if rank_of(position.score) & 1 else "#" if position.terminal else "+"


MOST_STATES: Final = 300
"""Number of states to expand before giving up: some tenths of a second, up to two seconds if packed."""
MOST_PLIES: Final = 300
"""Number of plies to look ahead before giving up. Python's recursion limit allows that many nested calls."""

_Key: TypeAlias = tuple[Layout, Side, Slot, Signed]


class DepthSearch:
    """Finds depths in r-mobility by iterative deepening. The bounds of states are kept between searches.

    By section 5 of docs/theory.md, the depth of a state is 1 plus the smallest depth among the successors
    with the same value. If the value is worse for the side to move than the accrued score, it is 1 plus the
    greatest of these depths. Whether a depth is at most n depends only on whether the depths of these
    successors are at most n - 1, so n is raised ply by ply.

    :param look_up: function that returns the goal of a state, with a depth of None if none is stored, as
        :meth:`tbgen.probe.values.Values.of` does.
    """

    def __init__(self, look_up: Callable[[State], Goal]) -> None:
        self._look_up = look_up
        self._nodes: dict[_Key, _Node] = {}
        self._remaining_states = 0

    def depth(self, state: State, value: Signed, max_states: int = MOST_STATES) -> int | None:
        """Return the depth of a state.

        :param state: a state without a stored depth, so that its value is not its accrued score.
        :param value: the value of the state.
        :param max_states: maximum number of states to expand.
        :returns: None with castling rights, or if more states or plies would be needed.

        Raises as ``look_up`` does.
        """
        position, accrued = state
        if position.castling is not None:  # keys of nodes do not contain castling rights
            return None
        if position.shape.swapped:  # from here on in the table's colours
            value, accrued = Signed(~value), Signed(~accrued)
        node = self._node(position, accrued, value)
        self._remaining_states = max_states
        with suppress(_UnfoundError):
            while node.lower_bound <= MOST_PLIES:
                if self._is_within(node, node.lower_bound):
                    return node.lower_bound
        return None

    def depth_of(self, state: State, goal: Goal, max_states: int = MOST_STATES) -> int | None:
        """Return the depth of a goal, or the result of :meth:`depth` if the goal of the state has none."""
        return self.depth(state, goal.value, max_states) if goal.depth is None else goal.depth

    def _node(self, position: Position, accrued: Signed, value: Signed) -> "_Node":
        key = position.shape.layout, position.side, position.slot, accrued
        return self._nodes.setdefault(key, _Node(key, value))

    def _is_within(self, node: "_Node", plies: int) -> bool:
        """Return whether the depth of a node is at most ``plies``.

        :raises _UnfoundError: if this cannot be determined.
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
        """Expand a node: find its successors with the same value, and the bounds that their depths give.

        :raises _UnfoundError: if there are no such successors, or the limit of states is reached.
        """
        if not self._remaining_states:
            raise _UnfoundError
        self._remaining_states -= 1
        layout, side, slot, accrued = node.key
        reached = reached_by(board_of(layout, side, slot), accrued, Variant.R_MOBILITY)
        goals = [(state, self._look_up(state)) for _, _, state in reached]
        equal = [(state, goal.depth) for state, goal in goals if goal.value == node.value]
        if not equal:
            raise _UnfoundError
        stored = [depth for _, depth in equal if depth is not None]
        unknown = node.unknown = [self._node(*state, node.value) for state, depth in equal if depth is None]
        if node.hurries:
            node.upper_bound = 1 + min(stored, default=inf)
            # A depth that is not stored is at least 1, because depths of 0 follow from the value.
            node.lower_bound = int(min(node.upper_bound, 2)) if unknown else int(node.upper_bound)
        else:
            node.lower_bound = 1 + max(stored, default=1)
            node.upper_bound = inf if unknown else node.lower_bound


class _UnfoundError(Exception):
    """The limit of states is reached, or the tables contradict each other."""


class _Node:
    """A state whose depth the table does not store, in the colours of the table.

    :param key: layout, side, slot and accrued score of the state.
    :ivar hurries: whether the value is better for the side to move than the accrued score.
    :ivar lower_bound: lower bound of the depth.
    :ivar upper_bound: upper bound of the depth.
    :ivar unknown: successors with the same value whose depths are not stored; None before expansion.
    """

    def __init__(self, key: _Key, value: Signed) -> None:
        self.key, self.value = key, value
        white = key[1] == 0
        self.hurries = merit(value, white) > merit(key[3], white)
        self.lower_bound = 1
        self.upper_bound: float = inf
        self.unknown: list[_Node] | None = None


_STATES_PER_SEARCH: Final = 50
"""Number of states to expand between two calls of ``patience``."""


@dataclass(frozen=True, slots=True)
class LinePly(MoveWithSan):
    """One move of a line.

    :ivar move: the move.
    :ivar san: the move in short algebraic notation.
    :ivar accrued: the accrued score after the move.
    :ivar depth: number of plies that remain after the move until the accrued score is the value.
    """

    move: chess.Move
    san: str
    accrued: GScore
    depth: int


def best_line(values: Values, board: AnyBoard, state: State) -> list[LinePly]:
    """Return the line of best play from a state on a valid board.

    The length of the line is the depth of the state. After its last move the accrued score is the value.

    :raises MissingLayerError: if the line needs depths that neither tables store nor the search finds.
    :raises DamagedTableError: if tables on the line contradict each other.
    """
    search = DepthSearch(values.of)

    def depth_of(state: State, goal: Goal) -> int:
        depth = search.depth_of(state, goal)
        if depth is None:
            raise MissingLayerError(
                f"the line needs depths of accrued scores that {state.position.shape.material} does not "
                "store: ask with --depths (in Python, open_tablebase(..., depths=True)), which makes them"
                if state.position.castling is None
                else "the line needs depths, which are not available with castling rights if tables are "
                "packed: ask for the moves of one position after the other"
            )
        return depth

    accrued, goal = state.accrued, values.of(state)
    depth = depth_of(state, goal)
    board = board.copy(stack=False)
    line = []
    while depth:
        moves = successors(values, board, accrued)
        best = _first_with_goal(Goal(goal.value, depth - 1), moves, depth_of)
        if best is None:
            places = " and ".join(map(str, values.directories))
            raise DamagedTableError(
                f"the tables in {places} contradict each other; find which with: tbgen verify"
            )
        move, _, reached = best.reached
        accrued, depth = reached.accrued, depth - 1
        names = names_without_check(board, [each.reached.move for each in moves])
        name = names[moves.index(best)] + check_mark(reached.position)
        board.push(move)
        line.append(LinePly(move, name, to_gscore(accrued), depth))
    return line


def _first_with_goal(
    wanted: Goal, candidates: Sequence[Successor], depth_of: Callable[[State, Goal], int | None]
) -> Successor | None:
    """Return the first successor with the wanted goal; None if there is none.

    :param candidates: successors in the order of :func:`order`.
    :param depth_of: function that finds the depth of a state, whether tables store it or not.
    """
    for each in candidates:
        (_, _, state), goal = each
        if goal.value == wanted.value and depth_of(state, goal) == wanted.depth:
            return each
    return None


def next_move(
    values: Values, board: AnyBoard, state: State, patience: Callable[[], bool]
) -> RankedMove | None:
    """Return the first move of best play from a state, for play move by move.

    If the table does not store the depths that distinguish progress from repetition, a search looks for them
    some plies ahead, as long as ``patience`` allows.

    :param patience: called between parts of the search; returns whether to continue.

    :returns: None in mate and stalemate, and if ``patience`` has returned False. None also with castling
        rights, if depths are needed that are not available.
    """
    moves = [] if state.position.terminal else successors(values, board, state.accrued)
    if not moves:
        return None
    goal = values.of(state)
    keeping = [each for each in moves if each.goal.value == goal.value]
    if goal.value == state.accrued or all(each.goal.depth is not None for each in keeping):
        return ranked_moves(board, moves)[0]
    if state.position.castling is not None:  # depths with castling rights are not searched for
        return None
    depth_of = partial(DepthSearch(values.of).depth_of, max_states=_STATES_PER_SEARCH)
    depth = goal.depth
    while patience():
        depth = depth or depth_of(state, goal)
        wanted = Goal(goal.value, depth - 1) if depth else None
        best = _first_with_goal(wanted, keeping, depth_of) if wanted else None
        if wanted and best:
            return replace(ranked_moves(board, moves)[moves.index(best)], depth=wanted.depth)
    return None
