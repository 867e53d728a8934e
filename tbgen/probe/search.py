"""Depths that packed tables do not store, by looking some plies ahead: the values of all states are known."""

from collections.abc import Callable
from contextlib import suppress
from math import inf
from typing import Final, TypeAlias

from tbgen.board.signed import Signed, merit
from tbgen.board.variant import Variant
from tbgen.index.layout import Layout, Side, Slot
from tbgen.index.position import Position, board_of
from tbgen.probe.moves import reached_by
from tbgen.probe.states import Goal, State

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
