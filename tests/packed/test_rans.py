"""The entropy coder's arithmetic."""

import numpy as np

from tbgen.packed.kernels.rans import LOW, RECIPROCAL, RECIPROCAL_BITS, TOTAL


def test_a_reciprocal_divides_every_state() -> None:
    """Where the quotient changes, and just before that, for all shares."""
    for share in range(1, TOTAL + 1):
        multiples = np.arange(0, LOW << 8, share, dtype=np.int64)
        for states in (multiples, multiples[1:] - 1):
            quotients = np.arange(len(states))
            assert np.array_equal(states * RECIPROCAL[share] >> RECIPROCAL_BITS, quotients)
        last = np.int64((LOW << 8) - 1)
        assert last * RECIPROCAL[share] >> RECIPROCAL_BITS == last // share
