"""The entropy coder's arithmetic."""

import numpy as np

from tbgen.tables.kernels.blocks import LOW, RECIPROCAL, RECIPROCAL_BITS
from tbgen.tables.structs import TOTAL
from tests.support.exhaustive import sample


def test_a_reciprocal_divides_every_state() -> None:
    """States at which the quotient changes, and the states before them; the error grows with the state."""
    shares, end = np.arange(1, TOTAL + 1), LOW << 8
    for states in (np.full(TOTAL, end - 1), end // shares * shares - 1):
        assert np.array_equal(states * RECIPROCAL[1:] >> RECIPROCAL_BITS, states // shares)
    for share in range(sample(5, 1), TOTAL + 1, sample(389, 1)):
        multiples = np.arange(0, end, share, dtype=np.int64)
        for states in (multiples, multiples[1:] - 1):
            assert np.array_equal(states * RECIPROCAL[share] >> RECIPROCAL_BITS, np.arange(len(states)))
