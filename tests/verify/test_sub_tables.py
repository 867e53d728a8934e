"""The sub-tables for a proof include exactly the blocks and sides to move that moves lead to."""

from functools import cache

import numpy as np
import pytest

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.index.layout import SIDES, Layout, Side, layout_of
from tbgen.index.table import Table
from tbgen.verify.game import men_of, resets_of
from tbgen.verify.sub_tables import SubTables, promoted_blocks


@cache
def made_up(material: Material) -> Table:
    random, shape = np.random.default_rng(material.men), (2, layout_of(material).size)
    value, depth = random.integers(0, 256, shape, np.uint8), random.integers(0, 999, shape, np.uint16)
    return Table(material, Variant.R_MOBILITY, value, depth)


def layout_named(name: str) -> Layout:
    return layout_of(Material.parse(name))


def test_of_promotions_one_side_to_move_is_there() -> None:
    layout = layout_named("KPvK")
    tables = SubTables(layout, made_up)
    found = {(material.name, side) for material, sides in tables.sides.items() for side in sides}
    after = {(f"K{man}vK", Side(1)) for man in "QRBN"}
    assert found == {("KvK", side) for side in SIDES} | after
    assert tables.value.size == tables.depth.size == sum(layout_named(name).size for name, _ in found)


@pytest.mark.parametrize("name", ["KPvK", "KPvKP", "KNvKP"])
def test_sources_hold_what_was_read(name: str) -> None:
    """While batches of phases are proved, the blocks that promotions lead to are there, and no others."""
    layout = layout_named(name)
    tables, phases = SubTables(layout, made_up), len(layout.placements)
    batches = [range(first, min(first + 1 + first % 5, phases)) for first in (0, 3, 9, 4, phases - 1)]
    for batch in batches:
        tables.load(batch)
        there = set(promoted_blocks(layout, batch))
        for material in tables.sides:
            other = layout_of(material)
            value, depth = np.empty(other.phase_size, np.uint8), np.empty(other.phase_size, np.uint16)
            solved = np.zeros(64 * other.king_coords, np.bool_)
            solved[list(other.pairs_to_solve) or slice(None)] = True
            for phase, side in ((phase, side) for phase in range(len(other.placements)) for side in SIDES):
                if material.men == layout.material.men and ((material, phase), side) not in there:
                    with pytest.raises(KeyError):
                        tables.source(material).read_slots(side, phase * other.phase_size, value, depth)
                    continue
                tables.source(material).read_slots(side, phase * other.phase_size, value, depth)
                right = made_up(material)
                part = slice(phase * other.phase_size, (phase + 1) * other.phase_size)
                for found, array in ((value, right.value), (depth, right.depth)):
                    differs = (found != array[side, part]).reshape(len(solved), -1)
                    assert not differs[solved].any()


def test_a_proof_misses_what_is_not_there() -> None:
    layout = layout_named("KPvK")
    tables = SubTables(layout, made_up)
    resets_of(layout, men_of(layout), tables)
    tables.sides[Material.parse("KNvK")].clear()
    with pytest.raises(KeyError):
        resets_of(layout, men_of(layout), tables)
