"""Sub-tables of a build: what is kept in memory, and what is read from files."""

from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.index.layout import SIDES, layout_of
from tbgen.index.table import BYTES_PER_SLOT, Source, Table
from tbgen.tables import library as module
from tbgen.tables.library import Library
from tbgen.tables.plain_table import PlainTable
from tests.support.packed_tables import plain

KVK, KBVK, KNVK, KPVK = (Material.parse(name) for name in ("KvK", "KBvK", "KNvK", "KPvK"))


table_of = cache(plain)


def size(material: Material) -> int:
    """Bytes of a table in memory."""
    return 2 * layout_of(material).size * BYTES_PER_SLOT


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The small tables that have been read into memory, one after the other."""
    names, read_fresh = list[str](), PlainTable.read_fresh

    def reading(table: PlainTable) -> Table:
        names.append(table.info.material)
        return read_fresh(table)

    monkeypatch.setattr(PlainTable, "read_fresh", reading)
    return names


def check(source: Source, table: Table) -> None:
    """Every phase of a source is that of the table."""
    size = table.layout.phase_size
    value, depth = np.empty(size, np.uint8), np.empty(size, np.uint16)
    for phase, side in product(range(len(table.layout.placements)), SIDES):
        source.read_slots(side, phase * size, value, depth)
        part = slice(phase * size, (phase + 1) * size)
        assert np.array_equal(value, table.value[side, part])
        assert np.array_equal(depth, table.depth[side, part])


def test_small_tables_are_read_once(three_men: Path, read: list[str]) -> None:
    with Library(three_men, Variant.R_MOBILITY) as library:
        for material in (KVK, KPVK, KVK, KPVK):
            check(library.source(material), table_of(three_men, material.name))
    assert read == ["KvK", "KPvK"]


def test_what_was_not_wanted_for_longest_goes_first(
    three_men: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_KEPT_BYTES", size(KBVK) + size(KNVK) + size(KVK) - 1)
    monkeypatch.setattr(module, "MAX_SMALL_TABLE_BYTES", size(KNVK))
    with Library(three_men, Variant.R_MOBILITY) as library:
        for material in (KBVK, KVK, KBVK, KNVK, KBVK, KNVK, KVK):
            check(library.source(material), table_of(three_men, material.name))
    assert read == ["KBvK", "KvK", "KNvK", "KvK"]


def test_a_table_that_was_just_built_is_kept_if_it_is_small(
    three_men: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_SMALL_TABLE_BYTES", size(KNVK))
    with Library(three_men, Variant.R_MOBILITY) as library:
        for material in (KNVK, KPVK):
            library.put(table_of(three_men, material.name))
            check(library.source(material), table_of(three_men, material.name))
    assert read == []


def test_large_tables_are_read_from_their_files(
    three_men: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_SMALL_TABLE_BYTES", size(KVK))
    with Library(three_men, Variant.R_MOBILITY) as library:
        around = library.sub_tables_of(KPVK)
        kept = [material.name for material, source in around.items() if type(source) is Table]
        assert kept == ["KvK"]
        for material, source in around.items():
            check(source, table_of(three_men, material.name))
            assert library.source(material) is source
    assert read == ["KvK"]
