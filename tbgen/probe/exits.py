"""The best zeroing move of a position, by looking up where its zeroing moves lead."""

from collections.abc import Callable
from typing import Final

from tbgen.index.exits import BestExit
from tbgen.index.layout import Layout, Side, Slot
from tbgen.probe.zeroing import Place, zeroing_moves_of
from tbgen.score import Code
from tbgen.store.reader import Entry


class TableExits:
    """The exits of the positions of one table: an :class:`tbgen.index.exits.Exits`.

    :param fresh: looks up code of W and D of a position, with the colours of its table.
    """

    def __init__(self, layout: Layout, fresh: Callable[[Place], Entry]) -> None:
        self._moves: Final = zeroing_moves_of(layout)
        self._fresh = fresh

    def __call__(
        self, side: Side, slot: Slot, ep_square: int = -1, *, captures_only: bool = False
    ) -> BestExit | None:
        """Return the exit of a legal position, as :class:`tbgen.index.exits.Exits` says."""
        found: BestExit | None = None
        for place, swapped in self._moves.reached(side, slot, ep_square, captures_only=captures_only):
            code, depth = self._fresh(place)
            if swapped:
                code = Code(code ^ 255)
            # The smaller the code, the better for the table's White.
            if found is None or (code > found.value if side else code < found.value):
                found = BestExit(code, depth, depth)
            elif code == found.value:
                found = BestExit(code, min(depth, found.nearest), max(depth, found.farthest))
        return found
