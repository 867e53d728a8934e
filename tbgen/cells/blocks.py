"""Values of the positions of a cell, copied together from where they are stored."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from tbgen.board.score import NONE, Code
from tbgen.cells.bounds import Block, empty_block
from tbgen.cells.cell import Cell, Man, man_of
from tbgen.cells.kernels.gather import gather
from tbgen.index.layout import SIDES, Side
from tbgen.index.symmetry import MIRROR_RANKS
from tbgen.retro.kernels.bits import Codes


def gathered(
    cell: Cell,
    men: Sequence[tuple[Side, int]],
    symmetry: int,
    stored: Block,
    pawnless: bool = False,
    settled: tuple[Code, Codes] | None = None,
) -> Block:
    """Return the block of a cell's positions from stored values.

    ``men`` are those of the stored slots, all of them mobile or frozen in the cell, and of like men no other
    is frozen there; ``symmetry`` leads there; ``pawnless`` tables are numbered by more
    symmetries.

    :param settled: depths count as 0 where the stored value is this code and that in the array is not.
    """
    open_end, other = settled or (NONE, stored.value)
    shifts, squares = np.array(list(places_of(cell, men, bool(symmetry & MIRROR_RANKS))), np.int64).T.copy()
    block = empty_block((cell.size,))
    gather((*stored, other), shifts, squares, symmetry, pawnless, open_end, *block)
    return block


def places_of(cell: Cell, men: Iterable[tuple[int, int]], swapped: bool) -> Iterator[tuple[int, int]]:
    """Yield where the men of a table or a cell, by colour and kind, stand in another cell: by how many bits a
    slot has to be shifted for the square of a mobile man, with 0; or -1, with the square of a frozen man.

    :param swapped: whether the men have the other colour in the cell.
    """
    last = len(cell.mobile) - 1
    left: list[tuple[Man, int, int]] = [
        *((man, 6 * (last - place), 0) for place, man in enumerate(cell.mobile)),
        *((frozen.man, -1, frozen.square) for frozen in cell.frozen),
    ]
    for colour, kind in men:
        wanted = man_of(SIDES[colour ^ swapped], kind)
        found = next(each for each in left if each[0] == wanted)
        left.remove(found)
        yield found[1:]
