"""All legal moves of a position with their values, best first, and lines of best play to the goal."""

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
    """A legal move, valued as the state it leads to.

    :ivar move: the move.
    :ivar san: the move in short algebraic notation.
    :ivar value: what best play makes of the state it leads to.
    :ivar depth: depth of the state it leads to, in plies; None if the table does not store it.
    :ivar zeroing: whether it is a capture or a pawn move, which resets the accrued score in r-mobility.
    :ivar position_score: the own score of the position it leads to; rank 0 is mate, rank 1 stalemate.
    :ivar accrued: the accrued score after the move.
    """

    move: chess.Move
    san: str
    value: GScore
    depth: int | None
    zeroing: bool
    position_score: GScore
    accrued: GScore


class Reached(NamedTuple):
    """The state that a move leads to."""

    move: chess.Move
    zeroing: bool
    state: State


class Successor(NamedTuple):
    """A state that a move leads to, and what best play from there reaches."""

    reached: Reached
    goal: Goal


def ranked_moves(board: AnyBoard, successors: Sequence[Successor]) -> list[RankedMove]:
    """Return all successors of a board as moves for a reader, in the same order."""
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
    """Return moves as readers see them: in short algebraic notation, with described men in that of
    coordinates, such as ``e5f6`` and ``e5xf6``."""
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


def reached_by(board: AnyBoard, accrued: Signed, variant: Variant) -> list[Reached]:
    """Return the states that the legal moves of a valid board with a folded accrued score lead to.

    In whole-game mobility no move resets it.
    """
    after = board.copy(stack=False)
    found = []
    for move in board.legal_moves:
        zeroing = board.is_zeroing(move)
        after.push(move)
        position = locate(after)
        held = position.score if variant.is_reset_by(zeroing) else fold(accrued, position.score)
        found.append(Reached(move, zeroing, State(position, held)))
        after.pop()
    return found


def order(
    board: AnyBoard, accrued: Signed, reached: Sequence[Reached], goals: Sequence[Goal]
) -> list[Successor]:
    """Return what is reached with its values and depths, the best value for the mover first.

    Among equal ones, the mover hurries to what is better for him than the accrued score and puts off what is
    worse, by moves with a known depth before others; ties go by UCI.
    """
    white = board.turn
    held_merit = merit(accrued, white)

    def key(successor: Successor) -> tuple[int, bool, int, str]:
        value, depth = successor.goal
        gain = merit(value, white) - held_merit
        unknown = depth is None and gain != 0
        hurry = 0 if depth is None or not gain else depth if gain > 0 else -depth
        return -gain, unknown, hurry, successor.reached.move.uci()

    return sorted((Successor(r, goal) for r, goal in zip(reached, goals, strict=True)), key=key)


def check_mark(position: Position) -> str:
    """Return the mark that follows a move to a position: of check, of mate, or none."""
    return "" if rank_of(position.score) & 1 else "#" if position.terminal else "+"


MOST_STATES: Final = 300
"""States to look at before giving up: some tenths of a second, in packed tables up to two seconds."""
MOST_PLIES: Final = 300
"""Plies to look ahead before giving up; Python has room for so many calls within calls."""

_Key: TypeAlias = tuple[Layout, Side, Slot, Signed]


class DepthSearch:
    """Finds depths in r-mobility; what it has found out about states on the way it keeps.

    By section 5 of docs/theory.md a depth is 1 more than the smallest (if the side to move is favoured, else
    the greatest) of those that the moves which keep the value lead to. Whether it is at most n follows from
    whether theirs are at most n - 1, on whatever way one comes there; so n is raised ply by ply.

    :param look_up: returns the goal of a state, with its depth as far as that is stored, as
        :meth:`tbgen.probe.values.Values.of` does.
    """

    def __init__(self, look_up: Callable[[State], Goal]) -> None:
        self._look_up = look_up
        self._nodes: dict[_Key, _Node] = {}
        self._left = 0

    def depth(self, state: State, value: Signed, most: int = MOST_STATES) -> int | None:
        """Return the depth of a state, None if too many others would have to be looked at, or with castling
        rights.

        :param state: a state without a stored depth, so that its value is not its accrued score.
        :param value: the value of the state.
        :param most: how many states to look at.

        Raises as ``look_up`` does.
        """
        position, accrued = state
        if position.castling is not None:  # nodes know nothing of rights
            return None
        if position.shape.swapped:  # from here on as the table sees it
            value, accrued = Signed(~value), Signed(~accrued)
        node = self._node(position, accrued, value)
        self._left = most
        with suppress(_UnfoundError):
            while node.least <= MOST_PLIES:
                if self._within(node, node.least):
                    return node.least
        return None

    def depth_of(self, state: State, goal: Goal, most: int = MOST_STATES) -> int | None:
        """Return the depth of a state with its goal: the stored one, or else what :meth:`depth` finds."""
        return self.depth(state, goal.value, most) if goal.depth is None else goal.depth

    def _node(self, position: Position, accrued: Signed, value: Signed) -> "_Node":
        key = position.shape.layout, position.side, position.slot, accrued
        return self._nodes.setdefault(key, _Node(key, value))

    def _within(self, node: "_Node", plies: int) -> bool:
        """Tell whether the depth of a node is at most so many plies.

        :raises _UnfoundError: if that cannot be found out.
        """
        if node.unknown is None and node.least <= plies:
            self._look(node)
        if plies < node.least:
            return False
        if plies >= node.most:
            return True
        reached = not node.hurries
        for after in node.unknown or ():
            if self._within(after, plies - 1) == node.hurries:
                reached = node.hurries
                break
        if reached:
            node.most = plies
        else:
            node.least = plies + 1
        return reached

    def _look(self, node: "_Node") -> None:
        """Look at the moves of a node that keep the value.

        :raises _UnfoundError: if there are none, or this is one node too many.
        """
        if not self._left:
            raise _UnfoundError
        self._left -= 1
        layout, side, slot, accrued = node.key
        reached = reached_by(board_of(layout, side, slot), accrued, Variant.R_MOBILITY)
        goals = [(state, self._look_up(state)) for _, _, state in reached]
        kept = [(state, goal.depth) for state, goal in goals if goal.value == node.value]
        if not kept:
            raise _UnfoundError
        known = [depth for _, depth in kept if depth is not None]
        unknown = node.unknown = [self._node(*state, node.value) for state, depth in kept if depth is None]
        if node.hurries:
            node.most = 1 + min(known, default=inf)
            node.least = int(min(node.most, 2)) if unknown else int(node.most)  # none of them is 0
        else:
            node.least = 1 + max(known, default=1)
            node.most = inf if unknown else node.least


class _UnfoundError(Exception):
    """More states would have to be looked at than may be, or the tables contradict each other."""


class _Node:
    """A state whose depth the table does not store, as the table sees it.

    :param key: its layout, side, slot and accrued score.
    :ivar hurries: whether the value is better for the side to move than the accrued score.
    :ivar least: the depth is not smaller.
    :ivar most: the depth is not greater.
    :ivar unknown: what the moves lead to that keep the value, where depths are not known; None before a look.
    """

    def __init__(self, key: _Key, value: Signed) -> None:
        self.key, self.value = key, value
        white = key[1] == 0
        self.hurries = merit(value, white) > merit(key[3], white)
        self.least = 1
        self.most: float = inf
        self.unknown: list[_Node] | None = None


_SOME_STATES: Final = 50
"""To look at before patience is asked again."""


@dataclass(frozen=True, slots=True)
class LinePly(MoveWithSan):
    """One move of a line.

    :ivar move: the move.
    :ivar san: the move in short algebraic notation.
    :ivar accrued: the accrued score after the move.
    :ivar depth: plies that are left to the goal after the move.
    """

    move: chess.Move
    san: str
    accrued: GScore
    depth: int


def best_line(values: Values, board: AnyBoard, state: State) -> list[LinePly]:
    """Return the line of a valid board in a state.

    It has as many plies as the depth, and ends with an accrued score that is the value.

    :raises MissingLayerError: if it needs depths that the tables do not store, and none are to be made.
    :raises DamagedTableError: if the tables contradict each other on the way.
    """
    search = DepthSearch(values.of)

    def depth_of(state: State, goal: Goal) -> int:
        depth = search.depth_of(state, goal)
        if depth is None:
            raise MissingLayerError(
                f"the line needs depths of accrued scores that {state.position.shape.material} does not "
                "store: ask with --depths (in Python, open_tablebase(..., depths=True)), which makes them"
                if state.position.castling is None
                else "the line needs depths, which are not known with castling rights where tables are "
                "packed: ask for the moves of one position after the other"
            )
        return depth

    accrued, goal = state.accrued, values.of(state)
    depth = depth_of(state, goal)
    board = board.copy(stack=False)
    line = []
    while depth:
        after = successors(values, board, accrued)
        best = _leading_to(Goal(goal.value, depth - 1), after, depth_of)
        if best is None:
            places = " and ".join(map(str, values.directories))
            raise DamagedTableError(
                f"the tables in {places} contradict each other; find which with: tbgen verify"
            )
        move, _, reached = best.reached
        accrued, depth = reached.accrued, depth - 1
        names = names_without_check(board, [each.reached.move for each in after])
        name = names[after.index(best)] + check_mark(reached.position)
        board.push(move)
        line.append(LinePly(move, name, to_gscore(accrued), depth))
    return line


def _leading_to(
    wanted: Goal, after: Sequence[Successor], depth_of: Callable[[State, Goal], int | None]
) -> Successor | None:
    """Return the best of the moves that lead to a goal, moves with a stored depth first; None if
    none does.

    :param after: what the moves lead to, the best for the mover first.
    :param depth_of: finds the depth of a state, whether tables store it or not.
    """
    for each in after:
        (_, _, state), goal = each
        if goal.value == wanted.value and depth_of(state, goal) == wanted.depth:
            return each
    return None


def next_move(
    values: Values, board: AnyBoard, state: State, patience: Callable[[], bool]
) -> RankedMove | None:
    """Return the move that best play from a state begins with, for play move by move.

    Where the table does not store the depths that tell progress from standing still, some plies are looked
    ahead, for as long as that takes.

    :param patience: tells, once in a while, whether to go on looking.

    :returns: None in mate and stalemate, if patience has come to its end, and with castling rights where
        depths are not known.
    """
    after = [] if state.position.terminal else successors(values, board, state.accrued)
    if not after:
        return None
    goal = values.of(state)
    kept = [each for each in after if each.goal.value == goal.value]
    if goal.value == state.accrued or all(each.goal.depth is not None for each in kept):
        return ranked_moves(board, after)[0]
    if state.position.castling is not None:  # depths with castling rights are not searched for
        return None
    depth_of = partial(DepthSearch(values.of).depth_of, most=_SOME_STATES)
    depth = goal.depth
    while patience():
        depth = depth or depth_of(state, goal)
        wanted = Goal(goal.value, depth - 1) if depth else None
        found = _leading_to(wanted, kept, depth_of) if wanted else None
        if wanted and found:
            return replace(ranked_moves(board, after)[after.index(found)], depth=wanted.depth)
    return None
