"""What tables say of the positions without castling rights that routes lead to."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import NONE, Code
from tbgen.board.signed import code_of
from tbgen.cells.bounds import NO_RANK, Block, side_after
from tbgen.cells.routes import Route
from tbgen.errors import MissingLayerError
from tbgen.index.layout import SIDES, Slot, layout_of
from tbgen.index.position import locate
from tbgen.index.table import NO_SCORE
from tbgen.probe.castling.packed_states import PackedStates
from tbgen.probe.castling.table_states import IndexedTable, TableStates, ranks_of, slots_in_table
from tbgen.probe.states import State
from tbgen.probe.zeroing import Place

if TYPE_CHECKING:
    from tbgen.probe.values import Values

_READ_MEN: Final = 4
"""Most men of tables that are read as a whole, and kept in memory, even for a few positions."""
_ASKED: Final = 1 << 12
"""Most positions that are looked up one by one."""


class WithoutRights:
    """Finds states of positions without castling rights; its methods raise as :meth:`Values.stored` does."""

    def __init__(self, values: "Values") -> None:
        self._values, self._layered = values, values.variant.layered
        self._kept: dict[Material, IndexedTable] = {}

    def values_of(self, states: Sequence[State]) -> list[Code]:
        """Return the code of V(P, A) of each state."""
        self._values.learn(self._values.questions_of(states))
        return [code_of(self._values.stored(state).value) for state in states]

    def inheriting(self, route: Route) -> PackedStates | TableStates:
        """Return the states that a quiet route leads to, for every accrued score."""
        cell = route.destination
        file = self._values.packed(cell.material()[0]) if self._layered else None
        if file is None or not file.info.stores_accrued:
            return self._in_memory(route, accrued=self._layered)
        return PackedStates(file, cell, side_after(route), lambda out: self.fresh(out)[0])

    def fresh(self, route: Route) -> tuple[Block, bool]:
        """Return the states that a zeroing route leads to, whose accrued scores are their own, and whether
        their depths are known."""
        cell = route.destination
        large = cell.men > _READ_MEN or self._values.packed(cell.material()[0]) is not None
        if large and cell.size <= _ASKED:
            return Block(self._asked(route), np.zeros(cell.size, np.uint16)), False
        return self._in_memory(route, accrued=False).fresh(), True

    def _in_memory(self, route: Route, *, accrued: bool) -> TableStates:
        """Return the states that a route leads to, from the whole table, of a packed one from its plain copy.

        :raises MissingLayerError: if accrued scores are asked for, and it has none.
        """
        assert route.passed is None, "tables in memory have no en passant positions"
        material, _ = route.destination.material()
        stored = self._kept.get(material)
        if stored is None or (accrued and not stored.table.stores_accrued):
            # Of those that are large one at a time.
            self._kept = {other: kept for other, kept in self._kept.items() if other.men <= _READ_MEN}
            if accrued and not self._values.table(material).info.stores_accrued:
                raise MissingLayerError(
                    f"{material} was built without accrued scores, and what castling rights are worth "
                    "depends on them: build it again (tbgen build --force)"
                )
            stored = self._kept[material] = IndexedTable(self._values.plain_table(material).read())
        return TableStates(stored, route.destination, side_after(route))

    def _asked(self, route: Route) -> NDArray[np.uint8]:
        """Return the fresh values of positions that are looked up one by one."""
        cell, side = route.destination, side_after(route)
        there = np.flatnonzero(ranks_of(cell)[side] != NO_RANK)
        value = np.full(cell.size, NONE, np.uint8)
        if route.passed is None:
            material, swapped = cell.material()
            layout, mover = layout_of(material), SIDES[side ^ swapped]
            places = [Place(layout, mover, Slot(slot), -1) for slot in slots_in_table(cell)[there].tolist()]
            self._values.learn((place, NO_SCORE) for place in places)
            found = [self._values.fresh(place)[0] for place in places]
            value[there] = [255 - code for code in found] if swapped else found
        else:
            boards = [board_after(route, slot) for slot in there.tolist()]
            positions = [locate(board) for board in boards if board is not None]
            value[there] = self.values_of([State(position, position.score) for position in positions])
        return value


def board_after(route: Route, slot: int) -> chess.Board | None:
    """Return a position that a route leads to, without castling rights; None if two men stand on one
    square."""
    board = route.destination.board_of(side_after(route), slot)
    if board is not None:
        board.ep_square = route.passed
    return board
