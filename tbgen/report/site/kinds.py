"""Values in six kinds, for what would be unreadable value by value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tbgen.report.model import Depths

KINDS: Final = (
    "White mates",
    "White stalemates",
    "White, G1.0 or more",
    "Black, G1.0 or more",
    "Black stalemates",
    "Black mates",
)
"""Best for White first."""


def by_kind(depths: Depths) -> tuple[Mapping[int, int], ...]:
    """Return positions per depth, depths ascending, for each of :data:`KINDS`.

    >>> from tbgen.score import GScore
    >>> by_kind({GScore(0, True): {1: 5}, GScore(4, False): {3: 1, 5: 2}, GScore(6, False): {1: 1, 3: 7}})
    ({1: 5}, {}, {}, {1: 1, 3: 8, 5: 2}, {}, {})
    """
    kinds: tuple[dict[int, int], ...] = tuple({} for _ in KINDS)
    for value, counts in depths.items():
        rank = min(value.rank, 2)
        kind = kinds[rank if value.white else 5 - rank]
        for depth, count in counts.items():
            kind[depth] = kind.get(depth, 0) + count
    return tuple(dict(sorted(kind.items())) for kind in kinds)
