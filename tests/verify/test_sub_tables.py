"""The sub-tables for a proof include exactly the sides to move that moves lead to."""

import numpy as np
import pytest

from tbgen.board.material import Material
from tbgen.index.layout import SIDES, Layout, Side, layout_of
from tbgen.verify.game import men_of, resets_of
from tbgen.verify.sub_tables import FreshArrays, SubTables


def made_up(material: Material) -> FreshArrays:
    random, shape = np.random.default_rng(material.men), (2, layout_of(material).size)
    return random.integers(0, 256, shape, np.uint8), random.integers(0, 999, shape, np.uint16)


def layout_named(name: str) -> Layout:
    return layout_of(Material.parse(name))


def test_of_promotions_one_side_to_move_is_there() -> None:
    tables = SubTables(layout_named("KPvK"), made_up)
    there = {(material.name, side) for material, side in tables.offsets}
    promoted = {(f"K{man}vK", Side(1)) for man in "QRBN"}
    assert there == {("KvK", side) for side in SIDES} | promoted
    assert tables.value.size == tables.depth.size == sum(layout_named(name).size for name, _ in there)


@pytest.mark.parametrize("name", ["KPvK", "KPvKP", "KNvKP"])
def test_sources_hold_what_was_read(name: str) -> None:
    tables = SubTables(layout_named(name), made_up)
    for material, source in tables.sources().items():
        layout = layout_of(material)
        value, depth = np.empty(layout.phase_size, np.uint8), np.empty(layout.phase_size, np.uint16)
        for side in SIDES:
            phase = len(layout.placements) - 1
            part = slice(phase * layout.phase_size, layout.size)
            if (material, side) not in tables.offsets:
                with pytest.raises(KeyError):
                    source.read_side(phase, side, value, depth)
                continue
            source.read_side(phase, side, value, depth)
            right = made_up(material)
            assert np.array_equal(value, right[0][side, part])
            assert np.array_equal(depth, right[1][side, part])


def test_a_proof_misses_what_is_not_there() -> None:
    layout = layout_named("KPvK")
    tables = SubTables(layout, made_up)
    resets_of(layout, men_of(layout), tables)
    del tables.offsets[Material.parse("KNvK"), Side(1)]
    with pytest.raises(KeyError):
        resets_of(layout, men_of(layout), tables)
