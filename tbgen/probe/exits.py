"""The best zeroing moves of positions, by looking up where their zeroing moves lead."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from tbgen.board.score import Code
from tbgen.errors import TbgenError
from tbgen.index.exits import BestExit
from tbgen.index.layout import Layout, Side, Slot
from tbgen.index.table import NO_SCORE
from tbgen.probe.zeroing import Place, ReachedPlace, zeroing_moves_of
from tbgen.store.stored_file import Entry


class TableExits:
    """The exits of the positions of one table: an :class:`tbgen.index.exits.ExitsOfMany`.

    :param fresh: looks up code of W and D of a position, with the colours of its table.
    :param learn: has positions looked up together that ``fresh`` is going to be asked for, where that is of
        use; each comes with ``NO_SCORE``.
    """

    def __init__(
        self,
        layout: Layout,
        fresh: Callable[[Place], Entry],
        learn: Callable[[Iterable[tuple[Place, int]]], None] = lambda asked: None,
    ) -> None:
        self._moves: Final = zeroing_moves_of(layout)
        self._fresh, self._learn = fresh, learn

    def __call__(
        self, side: Side, slots: Sequence[Slot], *, captures_only: bool = False
    ) -> list[BestExit | TbgenError | None]:
        """Return the exits of positions, as :class:`tbgen.index.exits.ExitsOfMany` says."""
        reached = [self._moves.reached(side, slot, captures_only=captures_only) for slot in slots]
        self._learn((place, NO_SCORE) for each in reached for place, _ in each)
        found: list[BestExit | TbgenError | None] = []
        for each in reached:
            try:
                found.append(self._best(side, each))
            except TbgenError as error:
                found.append(error.with_traceback(None))
        return found

    def _best(self, side: Side, reached: list[ReachedPlace]) -> BestExit | None:
        found: BestExit | None = None
        for place, swapped in reached:
            code, depth = self._fresh(place)
            if swapped:
                code = Code(code ^ 255)
            # The smaller the code, the better for the table's White.
            if found is None or (code > found.value if side else code < found.value):
                found = BestExit(code, depth, depth)
            elif code == found.value:
                found = BestExit(code, min(depth, found.nearest), max(depth, found.farthest))
        return found
