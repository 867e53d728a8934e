"""Values in six groups, for what would be unreadable value by value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tbgen.report.model import Depths

VALUE_GROUPS: Final = (
    "White mates",
    "White stalemates",
    "White, G1.0 or more",
    "Black, G1.0 or more",
    "Black stalemates",
    "Black mates",
)
"""Best for White first."""


def by_group(depths: Depths) -> tuple[Mapping[int, int], ...]:
    """Return positions per depth, depths ascending, for each of :data:`VALUE_GROUPS`.

    >>> from tbgen.board.score import GScore
    >>> by_group({GScore(0, True): {1: 5}, GScore(4, False): {3: 1, 5: 2}, GScore(6, False): {1: 1, 3: 7}})
    ({1: 5}, {}, {}, {1: 1, 3: 8, 5: 2}, {}, {})
    """
    groups: tuple[dict[int, int], ...] = tuple({} for _ in VALUE_GROUPS)
    for value, counts in depths.items():
        rank = min(value.rank, 2)
        group = groups[rank if value.white else 5 - rank]
        for depth, count in counts.items():
            group[depth] = group.get(depth, 0) + count
    return tuple(dict(sorted(group.items())) for group in groups)
