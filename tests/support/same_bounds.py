"""Whether bounds or blocks of a cell are the same."""

import numpy as np

from tbgen.board.score import NONE
from tbgen.cells.bounds import Block, Bounds


def is_same(found: Block | Bounds | None, expected: Block | Bounds | None, *, there: bool = False) -> bool:
    """Whether values and depths are the same.

    :param there: only where the expected one has positions, of which there must be some.
    """
    assert found is not None
    assert expected is not None
    where = expected.value != NONE if there else np.ones(expected.value.shape, np.bool_)
    assert where.any()
    return found.value.shape == expected.value.shape and all(
        np.array_equal(one[where], other[where])
        for one, other in ((found.value, expected.value), (found.depth, expected.depth))
    )
