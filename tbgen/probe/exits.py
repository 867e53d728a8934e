"""The best zeroing moves of positions, by looking up where their zeroing moves lead."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tbgen.board.score import Code
from tbgen.errors import TbgenError, result_or_error
from tbgen.index.exits import BestExit
from tbgen.index.layout import Side, Slot
from tbgen.index.table import NO_SCORE
from tbgen.probe.zeroing import ReachedPlace, ZeroingMoves

if TYPE_CHECKING:
    from tbgen.probe.values import Values


def best_exits(
    values: "Values", moves: ZeroingMoves, side: Side, slots: Sequence[Slot], *, captures_only: bool = False
) -> list[BestExit | TbgenError | None]:
    """Return the exits of positions of one table, as :class:`tbgen.index.exits.ExitsOfMany` says.

    :param values: looks up what the moves lead to.
    :param moves: those of the table.
    """
    reached = [moves.reached(side, slot, captures_only=captures_only) for slot in slots]
    values.learn((place, NO_SCORE) for each in reached for place, _ in each)
    return [result_or_error(_best, values, side, each) for each in reached]


def _best(values: "Values", side: Side, reached: list[ReachedPlace]) -> BestExit | None:
    found = [(values.fresh(place), swapped) for place, swapped in reached]
    if not found:
        return None
    entries = [(code ^ 255 if swapped else code, depth) for (code, depth), swapped in found]
    # The smaller the code, the better for the table's White.
    best = (max if side else min)(code for code, _ in entries)
    depths = [depth for code, depth in entries if code == best]
    return BestExit(Code(best), min(depths), max(depths))
