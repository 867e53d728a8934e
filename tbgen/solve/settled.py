"""Whether a depth that both ends of an interval agree on is sure.

Values lie between both ends whatever is open. Depths do only where the side that hurries towards a value
hurries towards it after every move out of the cell as well, and this need not be so: a side that improves on
the accrued score by a pawn move may be the one that is held to the value afterwards. So a depth is told only
where nothing that play can come to is open: the game has one solution then.
"""

from typing import Final

from tbgen.cells.position import CellPlace, CellPosition, Step
from tbgen.solve.knowledge import Known
from tbgen.solve.states import States

_POSITIONS: Final = 2000
"""Positions that are looked at; with more, nothing is sure."""


def settled_play(states: States, known: Known, given: CellPosition) -> frozenset[CellPlace]:
    """Return all positions that play can come to inside the cell of a position, if the values and depths of
    all of them are known, and of all positions that moves out of the cell lead to; none if something is open,
    or if there are many.
    """
    found, left = {given.place}, [given]
    while left:
        here = left.pop()
        if here.over:
            continue
        if len(found) > _POSITIONS or states.of(here, here.own).depth is None:
            return frozenset()
        for step in here.moves():
            if step.inside:
                if (place := step.after.place) not in found:
                    found.add(place)
                    left.append(step.after)
            elif not _is_known(known, step):
                return frozenset()
    return frozenset(found)


def _is_known(known: Known, step: Step) -> bool:
    """Whether the value and depth after a move out of a cell are known."""
    after = step.after
    if not step.zeroing or after.board.has_pseudo_legal_en_passant():
        return False
    cell = after.cell.canonical()[0]
    return after.over or known.tables.worth(after) is not None or known.cells.has_values(cell)
