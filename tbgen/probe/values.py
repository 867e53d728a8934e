"""Values and depths of states, from a library of tables."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from threading import Lock
from typing import Final, Protocol, TypeAlias

import chess

from tbgen.board.score import Code, Signed, code_of, rank_of, signed_of
from tbgen.errors import MissingLayerError, TbgenError, result_or_error
from tbgen.index.codes import NO_SCORE
from tbgen.index.layout import Layout
from tbgen.index.position import Place
from tbgen.probe.states import Goal, State
from tbgen.tables.library import Library

_SLOT_BITS: Final = 48
CastlingLookup: TypeAlias = Callable[[chess.Board, Code], tuple[Code, int | None]]
"""Function of a position P with castling rights and the code of A. It returns the code of V(P, A), and
D(P, A) in plies (None if unavailable)."""
_PLACEHOLDER_GOAL: Final = Goal(Signed(0), 0)
"""Goal that stands for a state that has not been looked up yet."""


class MissingDepths(Protocol):
    """Finds depths that tables do not store."""

    def complete(self, values: "Values", state: State, value: Signed | None) -> Goal:
        """Return the goal of a state whose depth is not stored.

        :param value: the value of the state; None if the table does not store the value either.
        :raises TbgenError: if the depth cannot be found.
        """

    def close(self) -> None:
        """Release files and memory."""


class Values:
    """Looks up values and depths of states. The object is thread-safe.

    :param library: the tables, which :meth:`close` closes.
    :param depths: finds depths that tables do not store, except with castling rights; None to leave them out.
    :param make_castling_lookup: makes the function that looks up positions with castling rights; None if no
        such positions will be looked up.
    """

    def __init__(
        self,
        library: Library,
        *,
        depths: MissingDepths | None = None,
        make_castling_lookup: "Callable[[Values], CastlingLookup] | None" = None,
    ) -> None:
        self.library: Final = library
        self.variant: Final = library.variant
        self._depths: Final = depths
        self._has_layers: Final = library.variant.layered
        self._make_lookup: Final = make_castling_lookup
        self._castling_lookup: CastlingLookup | None = None
        self._castling_lock = Lock()

    def close(self) -> None:
        """Close all files, each when no other thread is reading it, and remove copies of packed tables."""
        with self._castling_lock:
            self._castling_lookup = None
        self.library.close()
        if self._depths is not None:
            self._depths.close()

    def goal(self, state: State) -> Goal:
        """Return the value and the depth of a state of a valid position.

        Raises as :meth:`stored_goal` does.

        :raises TbgenError: if a depth has to be found and cannot be.
        """
        if self._depths is None:
            return self.stored_goal(state)
        try:
            goal = self.stored_goal(state)
        except MissingLayerError:  # the table stores no accrued scores, so even the value has to be found
            if state.position.castling_board is not None:
                raise
            return self._depths.complete(self, state, None)
        return self._depths.complete(self, state, goal.value) if _lacks_depth(state, goal) else goal

    def goals(self, states: Sequence[State | TbgenError]) -> Iterator[Goal | TbgenError]:
        """Yield the goal or the error of each state. Errors in ``states`` are also yielded.

        Each result is yielded as soon as it is found, because the next result may take a long time.
        """
        for state, goal in zip(states, self.stored_goals(states), strict=True):
            is_final = self._depths is None or isinstance(state, TbgenError) or not _lacks_depth(state, goal)
            yield goal if is_final else result_or_error(self.goal, state)

    def stored_goal(self, state: State) -> Goal:
        """Return the value and the depth of a state of a valid position, as far as tables store them.

        The result follows from the facts F1 and F4 of docs/theory.md, in whole-game mobility from section 9.

        :raises MissingTableError: if the table has not been built.
        :raises MissingLayerError: if the value depends on accrued scores, but the table does not store them.
        :raises DamagedTableError: if the table's file cannot be used.
        """
        position, accrued = state
        if position.terminal:
            return Goal(position.score, 0)
        if position.castling_board is not None:
            return self._goal_with_rights(position.castling_board, accrued)
        shape = position.shape
        code, depth = self.library.fresh_entry(position.place)
        if rank_of(accrued) > rank_of(signed_of(code)) or (self._has_layers and accrued == position.score):
            return Goal(signed_of(code, shape.swapped), depth)
        if not self._has_layers:
            return Goal(accrued, 0)
        table = self.library.table(shape.material)
        if not table.info.stores_accrued:
            remedy = "" if shape.material.is_described else "build it again (tbgen build --force), or "
            raise MissingLayerError(
                f"{shape.material} was built without accrued scores: {remedy}ask with --depths (in Python, "
                "open_tablebase(..., depths=True)), which solves for one accrued score at a time"
            )
        value, plies = table.accrued(position.side, position.slot, code_of(accrued, shape.swapped))
        return Goal(signed_of(value, shape.swapped), plies)

    def _goal_with_rights(self, board: chess.Board, accrued: Signed) -> Goal:
        """Return the result of :meth:`stored_goal` for a position with castling rights."""
        with self._castling_lock:
            if self._castling_lookup is None:
                assert self._make_lookup is not None, "opened for positions without castling rights only"
                self._castling_lookup = self._make_lookup(self)
            code, depth = self._castling_lookup(board, code_of(accrued))
        return Goal(signed_of(code), depth)

    def stored_goals(self, states: Sequence[State | TbgenError]) -> list[Goal | TbgenError]:
        """Return the stored goal or the error of each state. Errors in ``states`` are also returned.

        States are looked up table by table, so that no table with a large cache is closed in between. Within
        a table, they are looked up in the order of storage, so that each chunk is decoded only once.
        """
        goals = [state if isinstance(state, TbgenError) else _PLACEHOLDER_GOAL for state in states]
        keys_by_layout = defaultdict[Layout, list[tuple[int, int, State]]](list)
        for index, state in enumerate(states):
            if not isinstance(state, TbgenError):
                layout, side, slot, ep_square = state.position.place
                section = (ep_square >= 0) << 1 | side
                keys_by_layout[layout].append((section << _SLOT_BITS | slot, index, state))
        for layout, keys in keys_by_layout.items():
            self.library.prefetch_in(layout, self.questions_of(state for _, _, state in keys))
            for _, index, state in sorted(keys):
                goals[index] = result_or_error(self.stored_goal, state)
        return goals

    def questions_of(self, states: Iterable[State]) -> Iterator[tuple[Place, int]]:
        """Yield the questions that :meth:`stored_goal` asks: places with codes of accrued scores."""
        for position, accrued in states:
            if not position.terminal and position.castling_board is None:
                needs_accrued = self._has_layers and accrued != position.score
                yield position.place, code_of(accrued, position.shape.swapped) if needs_accrued else NO_SCORE


def _lacks_depth(state: State, goal: Goal | TbgenError) -> bool:
    """Return whether a depth is missing and can be found. Depths with castling rights cannot."""
    if state.position.castling_board is not None:
        return False
    return goal.depth is None if isinstance(goal, Goal) else isinstance(goal, MissingLayerError)
