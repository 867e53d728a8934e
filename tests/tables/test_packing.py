"""Packed tables say what plain ones say: as a whole, position by position, and after damage nothing."""

import os
import shutil
from pathlib import Path
from tempfile import gettempdir
from threading import Thread

import numpy as np
import pytest

from tbgen import open_tablebase
from tbgen.board.material import Material
from tbgen.board.score import NONE
from tbgen.board.variant import Variant
from tbgen.errors import TbgenError
from tbgen.index.layout import SIDES, Slot
from tbgen.index.table import AccruedForm
from tbgen.moves import pool
from tbgen.retro.solver import solve
from tbgen.store.format import table_path
from tbgen.system import memory
from tbgen.system.files import ScratchFile
from tbgen.tables import library
from tbgen.tables.coding import coding_of, exceptions_of
from tbgen.tables.files import open_table
from tbgen.tables.library import COPIES_FOLDER, Library
from tbgen.tables.open_table import Given, OpenTable
from tests.support.digests import digest_of
from tests.support.exhaustive import exhaustive
from tests.support.packed_tables import PackedTables, pack, plain
from tests.support.solved_tables import source_of

R, WG = Variant


@pytest.mark.parametrize("is_writable", [True, False])
def test_a_table_with_pawns_is_unpacked_to_a_file(
    is_writable: bool, tables: Path, packed: PackedTables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The temporary file is beside the table or, if that is impossible, in the temporary directory."""
    folders = []

    def make(path: Path, size: int) -> ScratchFile:
        folders.append(path.parent)
        if path.parent == tmp_path and not is_writable:
            raise TbgenError("not permitted")
        return ScratchFile(path, size)

    path, material = Path(shutil.copy(packed("KPvK"), tmp_path)), Material.parse("KPvK")
    monkeypatch.setattr(pool, "ScratchFile", make)
    sources = {sub: source_of(plain(tables, sub.name)) for sub in material.successors()}
    with open_table(path, material) as file:
        table = file.read(Given(sources))
    assert folders == [tmp_path, Path(gettempdir())][: 1 if is_writable else 2]
    assert table.functions is not None
    for array in (table.value, table.depth, table.functions.function_numbers):
        assert isinstance(memory.memory_of(array)[0], memory.FileMemory)


def test_nobody_reads_memory_that_is_given_up(
    tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory that is given up, or taken over for another purpose, is filled with a pattern."""
    monkeypatch.setattr(memory, "CHECKS_MEMORY", True)
    for name in ("KRvK", "KPvK", "KPvKP"):
        full = plain(tables, name)
        size, material = full.layout.phase_size, full.material
        sources = {sub: source_of(plain(tables, sub.name)) for sub in material.successors()}
        solved = solve(material, sources, R, wide=not full.layout.pawns, accrued=AccruedForm.RUNS)
        assert digest_of(solved) == digest_of(full)
        with open_table(pack(tables, name, tmp_path)) as file:
            table = file.read(Given(sources))
            assert np.array_equal(table.value, full.value)
            assert np.array_equal(table.depth, full.depth)
            for side in SIDES:
                value, depth = np.zeros(size, np.uint8), np.zeros(size, np.uint16)
                file.read_slots(side, 0, value, depth, Given(sources))
                there = full.value[side, :size] != NONE
                assert np.array_equal(value[there], full.value[side, :size][there])
    array = np.zeros(9, np.uint16)
    memory.discard(array[1:])
    assert array.tolist() == [0] + 8 * [0xA5A5]


def test_large_tables_without_pawns_are_read_as_they_are(
    tables: Path, packed: PackedTables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large table without a plain copy is decoded directly; with or without a copy the solver returns the
    same table."""
    monkeypatch.setattr(library, "MAX_SMALL_TABLE_BYTES", 0)
    material = Material.parse("KPvK")
    for name in ("KvK", "KRvK", "KBvK", "KNvK"):
        shutil.copy(table_path(tables, name, R), tmp_path)
    shutil.copy(packed("KQvK"), tmp_path)
    shutil.copy(packed("KNvK"), tmp_path)
    with Library(tmp_path, R) as tables_here:
        tables_here.plain(Material.parse("KNvK"))
        found = tables_here.sub_tables_of(material)
        sources = [found[Material.parse(name)] for name in ("KQvK", "KNvK")]
        assert [isinstance(source, OpenTable) and source.info.derives for source in sources] == [True, False]
        table = solve(material, found, R)
    full = plain(tables, "KPvK")
    assert np.array_equal(table.value, full.value)
    assert np.array_equal(table.depth, full.depth)


def test_unpacking_reads_large_tables_in_threads_of_its_own(
    three_men: Path, packed: PackedTables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads of the unpacking open sub-tables of the same sources, which must not be locked meanwhile."""
    monkeypatch.setattr(library, "MAX_SMALL_TABLE_BYTES", 0)
    for name in ("KvK", "KRvK", "KBvK", "KNvK"):
        shutil.copy(table_path(three_men, name, R), tmp_path)
    for name in ("KQvK", "KPvK"):
        shutil.copy(packed(name), tmp_path)
    with Library(tmp_path, R) as tables_here:
        waiting = Thread(target=tables_here.plain, args=(Material.parse("KPvK"),), daemon=True)
        waiting.start()
        waiting.join(300)
        assert not waiting.is_alive(), "it waits for itself"
        assert (tmp_path / COPIES_FOLDER / "KPvK.r.h5").exists()


@pytest.mark.exhaustive
def test_a_move_to_a_position_whose_score_has_accrued(tables: Path, packed: PackedTables) -> None:
    """Best play continues as from the fresh state of that position, which has another value."""
    with open_tablebase(packed("KQvKR").parent, tables) as one, open_tablebase(tables) as other:
        results = [each.probe("8/8/8/Q7/7r/3k4/8/3K4 b - - 0 1", "-G1.0") for each in (one, other)]
    assert [str(result.value) for result in results] == ["-G2.5", "-G2.5"]


def test_two_packings_are_the_same_file_but_for_times(
    tables: Path, packed: PackedTables, tmp_path: Path
) -> None:
    paths = [packed("KPvK"), pack(tables, "KPvK", tmp_path)]
    with open_table(paths[0]) as one, open_table(paths[1]) as other:
        assert one.info.digest == other.info.digest
        assert coding_of(one).stream.data.tobytes() == coding_of(other).stream.data.tobytes()
    assert os.path.getsize(paths[0]) == os.path.getsize(paths[1])


def test_a_packed_table_needs_its_sub_tables(packed: PackedTables) -> None:
    with open_table(packed("KBvKN")) as file, pytest.raises(TbgenError, match="without the sub-tables"):
        file.fresh(SIDES[0], Slot(0))


@pytest.mark.parametrize(("name", "one_in"), [("KBvKN", 100), *exhaustive([("KQvKR", 1000)])])
def test_exceptions_which_would_repair_any_rule_are_few(name: str, one_in: int, packed: PackedTables) -> None:
    """The bit man, whose moves are derived separately, belongs to the stored or to the derived side."""
    with open_table(packed(name)) as file:
        slots, _, _ = exceptions_of(file)
        assert file.stored_side is not None
        assert 0 < len(slots) < file.info.positions[1 - file.stored_side] / one_in
