"""Sub-tables of a build: what is kept in memory, what is read from files, and what closes."""

from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.errors import DamagedTableError, MissingTableError
from tbgen.index.layout import SIDES, layout_of
from tbgen.index.table import BYTES_PER_SLOT, ArraySource, Source, Table
from tbgen.retro.solver import solve
from tbgen.store.cache import ChunkCache
from tbgen.store.table_file import TableFile
from tbgen.tables import sources as module
from tbgen.tables import tables as opening
from tbgen.tables.sources import Sources
from tests.support.packed_tables import plain

KVK, KBVK, KNVK, KPVK = (Material.parse(name) for name in ("KvK", "KBvK", "KNvK", "KPvK"))


table_of = cache(plain)


def size(material: Material) -> int:
    """Bytes of a table in memory."""
    return 2 * layout_of(material).size * BYTES_PER_SLOT


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tables whose files have been opened, one after the other."""
    names: list[str] = []

    class Noted(TableFile):
        def __init__(self, path: Path, *, material: Material, cache: ChunkCache | None) -> None:
            names.append(material.name)
            super().__init__(path, material=material, cache=cache)

    monkeypatch.setattr(opening, "TableFile", Noted)
    return names


def check(source: Source, table: Table) -> None:
    """Every phase of a source is that of the table."""
    size = table.layout.phase_size
    value, depth = np.empty(size, np.uint8), np.empty(size, np.uint16)
    for phase, side in product(range(len(table.layout.placements)), SIDES):
        source.read_side(phase, side, value, depth)
        part = slice(phase * size, (phase + 1) * size)
        assert np.array_equal(value, table.value[side, part])
        assert np.array_equal(depth, table.depth[side, part])


def test_small_tables_are_read_once(three_men: Path, opened: list[str]) -> None:
    with Sources(three_men, Variant.R_MOBILITY) as sources:
        for material in (KVK, KPVK, KVK, KPVK):
            check(sources.get(material), table_of(three_men, material.name))
    assert opened == ["KvK", "KPvK"]


def test_what_was_not_wanted_for_longest_goes_first(
    three_men: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_KEPT_BYTES", size(KBVK) + size(KNVK) + size(KVK) - 1)
    monkeypatch.setattr(module, "MAX_SMALL_TABLE_BYTES", size(KNVK))
    with Sources(three_men, Variant.R_MOBILITY) as sources:
        for material in (KBVK, KVK, KBVK, KNVK, KBVK, KNVK, KVK):
            check(sources.get(material), table_of(three_men, material.name))
    assert opened == ["KBvK", "KvK", "KNvK", "KvK"]


def test_a_table_that_was_just_built_is_kept_if_it_is_small(
    three_men: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_SMALL_TABLE_BYTES", size(KNVK))
    with Sources(three_men, Variant.R_MOBILITY) as sources:
        for material in (KNVK, KPVK):
            sources.put(table_of(three_men, material.name))
            check(sources.get(material), table_of(three_men, material.name))
    assert opened == ["KPvK"]


def test_large_tables_are_read_from_their_files(
    three_men: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table solved from files of sub-tables is the same, and the files are closed at the end."""
    monkeypatch.setattr(module, "MAX_SMALL_TABLE_BYTES", size(KVK))
    with Sources(three_men, Variant.R_MOBILITY) as sources:
        around = {material: sources.get(material) for material in sorted(KPVK.successors())}
        kept = [material.name for material, source in around.items() if type(source) is ArraySource]
        assert kept == ["KvK"]
        for material, source in around.items():
            check(source, table_of(three_men, material.name))
            assert sources.get(material) is source
        table = solve(KPVK, around, Variant.R_MOBILITY)
    assert opened == ["KvK", "KQvK", "KRvK", "KBvK", "KNvK"]
    for name in ("value", "depth", "run_rank", "run_value", "run_depth"):
        assert np.array_equal(getattr(table, name), getattr(table_of(three_men, "KPvK"), name)), name
    with pytest.raises(DamagedTableError, match="KBvK"):
        check(around[KBVK], table_of(three_men, "KBvK"))


def test_a_missing_table(tmp_path: Path) -> None:
    with Sources(tmp_path, Variant.R_MOBILITY) as sources, pytest.raises(MissingTableError, match="KQvK"):
        sources.get(Material.parse("KQvK"))
