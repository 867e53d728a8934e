"""All depths: those that tables do not store are searched for, or else made a layer at a time."""

from collections.abc import Iterator, Sequence
from typing import Any

from tbgen.board.score import NONE, GScore
from tbgen.board.signed import Signed, code_of, of_code
from tbgen.errors import MissingLayerError, TbgenError, result_or_error
from tbgen.probe.layers import Layers
from tbgen.probe.search import DepthSearch
from tbgen.probe.states import Goal, State
from tbgen.probe.values import Values


class DeepValues(Values):
    """Looks values up as :class:`Values` does, and finds every depth, those with castling rights apart; a
    layer takes time and memory."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._layers = Layers(self.path_of, self._cache)

    def close(self) -> None:
        """Close all files, and the layers."""
        super().close()
        self._layers.close()

    def of(self, state: State) -> Goal:
        """Return what best play from a state of a valid position reaches, and when.

        Raises as :meth:`Values.of` does.

        :raises TbgenError: if a layer is needed that cannot be made.
        """
        try:
            goal = self.stored(state)
        except MissingLayerError:  # the table has no accrued scores, so that values need layers too
            if state.position.castling is not None:
                raise
            return self._layered(state, None)
        return self._layered(state, goal.value) if _lacks_depth(state, goal) else goal

    def of_many(self, states: Sequence[State | TbgenError]) -> Iterator[Goal | TbgenError]:
        """Yield what :meth:`of` returns for each state, or else the error; errors among the states stay.

        Each comes as soon as it is found, for those after it may take long.
        """
        for state, goal in zip(states, self.stored_of_many(states), strict=True):
            known = isinstance(state, TbgenError) or not _lacks_depth(state, goal)
            yield goal if known else result_or_error(self.of, state)

    def _layered(self, state: State, value: Signed | None) -> Goal:
        """Return the goal of a state whose depth is not stored, and maybe its value neither."""
        shape, side, slot = state.position[:3]
        table = self.table(shape.material)
        accrued = GScore.from_code(code_of(state.accrued, shape.swapped))
        if value is not None and not self._layers.has(table, slot, accrued):
            depth = DepthSearch(self.stored).depth(state, value)
            if depth is not None:
                return Goal(value, depth)
        code, depth = self._layers.get(table, side, slot, accrued)
        if code == NONE:
            raise table.damaged("it has no value for a legal position")
        if value not in (None, of_code(code, shape.swapped)):
            raise table.damaged("its accrued scores are not those that its fresh values give")
        return Goal(of_code(code, shape.swapped), depth)


def _lacks_depth(state: State, goal: Goal | TbgenError) -> bool:
    """Whether a layer is to give the depth; none does with castling rights."""
    if state.position.castling is not None:
        return False
    return goal.depth is None if isinstance(goal, Goal) else isinstance(goal, MissingLayerError)
