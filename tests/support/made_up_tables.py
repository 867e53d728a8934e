"""Tables of made-up values, for solvers to rest on."""

from collections.abc import Mapping

import numpy as np

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.index.layout import Layout
from tbgen.index.table import Table
from tests.support.table_states import canonical_slots, squares_of

Fresh = tuple[np.ndarray, np.ndarray]
"""Values and depths of a table, all slots filled."""


def made_up(layout: Layout, seed: int, deepest: int = 60, ranks: int = 26) -> Fresh:
    """Random values of rank below ``ranks`` and depths below ``deepest`` plies, the same for all slots of a
    position."""
    rng = np.random.default_rng(seed)
    rank = rng.integers(0, ranks, (2, layout.size))
    value = np.where(rng.random((2, layout.size)) < 0.5, rank, 255 - rank).astype(np.uint8)
    depth = rng.integers(0, deepest, (2, layout.size)).astype(np.uint16)
    if layout.white_pawns + layout.black_pawns and max(layout.white_pawns, layout.black_pawns) < 2:
        assert not layout.like_men  # then every position has one slot only
        return value, depth
    canonical = canonical_slots(layout, *squares_of(layout, np.arange(layout.size)))
    return value[:, canonical], depth[:, canonical]


def as_sources(fresh: Mapping[Material, Fresh]) -> dict[Material, Table]:
    return {material: Table(material, Variant.R_MOBILITY, *arrays) for material, arrays in fresh.items()}
