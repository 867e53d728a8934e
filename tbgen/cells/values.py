"""One of the two games of a cell, solved for values alone: what cells too large for depths are solved by."""

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import MAX_CODED_RANK
from tbgen.cells.bounds import (
    COUNTED,
    Block,
    Knowledge,
    NoCodeError,
    SomeKnowledge,
    most_moves,
    pools_of_ends,
)
from tbgen.cells.cell import Cell
from tbgen.cells.frames import frame_of_cell
from tbgen.cells.routes import Route, routes_of
from tbgen.cells.window import EVERYTHING, Window
from tbgen.index.layout import SIDES
from tbgen.retro.ranks import MAX_PARTS, Crew, find_moves
from tbgen.retro.stages import Stages
from tbgen.retro.values import ValuesSolver, room_for_values

_NO_DEPTHS: Final = np.zeros(0, np.uint16)


def solve_values(
    cell: Cell,
    knowledge: Knowledge,
    end: int,
    threads: int = 1,
    between: Callable[[], object] = lambda: None,
    window: Window = EVERYTHING,
) -> NDArray[np.uint8]:
    """Return fresh values of all positions in one game of a cell without frozen men: codes, uint8 (2, slots),
    ``NONE`` where there is no position.

    They are those of :meth:`tbgen.cells.bounds.BoundsGame.solve`, in 12 bytes of memory for each slot.

    :param knowledge: what is known of exits; depths are not asked for.
    :param between: called between two ranks; what it raises ends the work.
    :param window: between which scores it matters what positions are worth.
    :raises NoCodeError: if that takes scores beyond G63.0.
    :raises MemoryError: if there is too little.
    """
    if any(most_moves(cell, side) > COUNTED for side in SIDES):
        raise NoCodeError(cell)

    def block(route: Route, end: int) -> Block | None:
        known = knowledge.block(route, end)
        return None if known is None else Block(known.value, _NO_DEPTHS)

    frame = frame_of_cell(cell)
    known = SomeKnowledge(block, knowledge.bound)
    (pool,) = pools_of_ends(frame, routes_of(frame), known, [end], window=window)
    with Crew(threads, Stages()) as crew:
        workspace = room_for_values(frame.frame, min(threads, MAX_PARTS))
        find_moves(workspace, pool, False, 4 * threads, crew.threads.map)
        ranks = 0
        for _ in ValuesSolver(workspace, pool, crew).ranks():
            ranks += 1
            between()
    if ranks > MAX_CODED_RANK + 1:
        raise NoCodeError(cell)
    values: NDArray[np.uint8] = workspace.exits.value.reshape(2, cell.size)
    window.tell(end, values)
    return values
