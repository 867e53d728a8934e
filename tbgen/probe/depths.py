"""All depths: those that tables do not store are searched for, or else made a layer at a time."""

from collections.abc import Sequence
from os import PathLike

from tbgen.errors import MissingLayerError
from tbgen.probe.layers import Layers
from tbgen.probe.search import DepthSearch
from tbgen.probe.states import Goal, State
from tbgen.probe.values import Values
from tbgen.score import NONE, GScore
from tbgen.signed import Signed, code_of, of_code
from tbgen.variant import Variant


class DeepValues(Values):
    """Looks values up as :class:`Values` does, and finds every depth; a layer takes half a minute and much
    memory.
    """

    _by_score = True

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
            goal = super().of(state)
        except MissingLayerError:  # the table has no accrued scores, so that values need layers too
            return self._layered(state, None)
        if goal.depth is not None:
            return goal
        return self._layered(state, goal.value)

    def _layered(self, state: State, value: Signed | None) -> Goal:
        """Return the goal of a state whose depth is not stored, and maybe its value neither."""
        shape, side, slot = state.position[:3]
        table, accrued = self.table(shape.material), GScore.from_code(code_of(state.accrued, shape.swapped))
        if value is not None and not self._layers.has(table, slot, accrued):
            depth = DepthSearch(super().of).depth(state, value)
            if depth is not None:
                return Goal(value, depth)
        code, depth = self._layers.get(table, side, slot, accrued)
        if code == NONE:
            raise table.damaged("it has no value for a legal position")
        if value not in (None, of_code(code, shape.swapped)):
            raise table.damaged("its accrued scores are not those that its fresh values give")
        return Goal(of_code(code, shape.swapped), depth)
