"""All depths: those that tables do not store are searched for, or else made a layer at a time."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from os import PathLike
from typing import TypeAlias

from tbgen.board.score import NONE, Code, GScore
from tbgen.board.signed import Signed, code_of, of_code
from tbgen.board.variant import Variant
from tbgen.errors import MissingLayerError, TbgenError
from tbgen.index.layout import Layout, Slot
from tbgen.packed.tables import AnyTable
from tbgen.probe.layers import Layers
from tbgen.probe.search import DepthSearch
from tbgen.probe.states import Goal, State
from tbgen.probe.values import Values


class DeepValues(Values):
    """Looks values up as :class:`Values` does, and finds every depth, those with castling rights apart; a
    layer takes time and memory."""

    def __init__(
        self, given: Sequence[str | PathLike[str]], *, variant: Variant, max_open: int, cache_bytes: int
    ) -> None:
        super().__init__(given, variant=variant, max_open=max_open, cache_bytes=cache_bytes)
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
        found = self.stored_of_many(states)
        layers = defaultdict[_LayerName, list[int]](list)
        for place, (state, goal) in enumerate(zip(states, found, strict=True)):
            if isinstance(state, State) and _lacks_depth(state, goal):
                layers[_layer_of(state)].append(place)
        for place, goal in enumerate(found):
            state = states[place]
            if isinstance(state, State) and _lacks_depth(state, goal):
                found[place] = self._of_or_error(state)
                # Who cannot write keeps one layer only: it answers all that it can while it is there.
                if self._layers.has(*self._layer(state)):
                    for other in layers.pop(_layer_of(state)):
                        found[other] = self._of_or_error(states[other])
            yield found[place]

    def _of_or_error(self, state: State | TbgenError) -> Goal | TbgenError:
        try:
            return state if isinstance(state, TbgenError) else self.of(state)
        except TbgenError as error:
            return error.with_traceback(None)

    def _layered(self, state: State, value: Signed | None) -> Goal:
        """Return the goal of a state whose depth is not stored, and maybe its value neither."""
        shape, side = state.position[:2]
        table, slot, accrued = self._layer(state)
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

    def _layer(self, state: State) -> tuple[AnyTable, Slot, GScore]:
        """Return what tells the layer of a state: its table, slot, and accrued score as the table sees it."""
        shape, _, slot = state.position[:3]
        return (
            self.table(shape.material),
            slot,
            GScore.from_code(code_of(state.accrued, shape.swapped)),
        )


_LayerName: TypeAlias = tuple[Layout, int, Code]
"""Layout, phase, and code of the accrued score."""


def _layer_of(state: State) -> _LayerName:
    shape, _, slot = state.position[:3]
    return shape.layout, slot // shape.layout.phase_size, code_of(state.accrued, shape.swapped)


def _lacks_depth(state: State, goal: Goal | TbgenError) -> bool:
    """Whether a layer is to give the depth; none does with castling rights."""
    if state.position.castling is not None:
        return False
    return goal.depth is None if isinstance(goal, Goal) else isinstance(goal, MissingLayerError)
