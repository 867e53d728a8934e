"""Packed tables say what plain ones say: as a whole, position by position, and after damage nothing."""

import itertools
import os
import random
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import gettempdir
from threading import Thread

import numpy as np
import pytest
from numpy.typing import NDArray

from tbgen import open_tablebase
from tbgen.board.material import Material
from tbgen.board.score import NONE, Code
from tbgen.board.variant import Variant
from tbgen.errors import TbgenError
from tbgen.index.codes import FRESH
from tbgen.index.layout import SIDES, Slot, layout_of
from tbgen.index.position import board_of, locate
from tbgen.index.table import AccruedForm
from tbgen.probe.values import Values
from tbgen.retro import pool
from tbgen.retro.solver import solve
from tbgen.store.format import table_path
from tbgen.store.table_file import TableFile
from tbgen.system import memory
from tbgen.system.files import ScratchFile
from tbgen.tables import sources as sources_of_build
from tbgen.tables.copies import COPIES_FOLDER
from tbgen.tables.decoder import Bounds, Moves, Target
from tbgen.tables.file import PackedFile
from tbgen.tables.sources import PackedSource, Sources
from tbgen.tables.unpack import promotion_materials, unpack
from tests.support.digests import digest_of
from tests.support.exhaustive import exhaustive, sample
from tests.support.functions_of_runs import functions_of_runs
from tests.support.packed_tables import PackedTables, pack, plain
from tests.support.solved_tables import source_of

R, WG = Variant


MORE = [(name, R) for name in ("KPvKP", "KBvKN", "KNNvK", "KRvKP", "KPPvK", "KQvKR")]


@pytest.mark.parametrize(
    ("name", "variant"), [("KNvK", R), ("KPvK", R), ("KPvK", WG), *exhaustive([*MORE, ("KPvKP", WG)])]
)
def test_unpacked_it_is_the_plain_table(
    name: str, variant: Variant, whole_game_tables: Path, packed: PackedTables
) -> None:
    path, full = packed(name, variant), plain(whole_game_tables, name, variant)
    subs = Material.parse(name).successors()
    sources = {sub: source_of(plain(whole_game_tables, sub.name, variant)) for sub in subs}
    with PackedFile(path, material=Material.parse(name)) as file:
        table, side = unpack(file, sources), file.side
        with TableFile(table_path(whole_game_tables, name, variant)) as other:
            assert file.info.manifest.fresh == other.info.manifest.fresh
            assert file.info.positions == other.info.positions
        assert file.info.stores_accrued == (variant is R)
    for field in ("value", "depth", "ep_value", "ep_depth"):
        assert np.array_equal(getattr(table, field), getattr(full, field)), field
    if variant is WG:
        assert table.functions is None
    else:
        expected = functions_of_runs(full, side)
        for field in ("function_numbers", "start", "accrued", "value"):
            assert np.array_equal(getattr(table.functions, field), getattr(expected, field)), field


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
    with PackedFile(path, material=material) as file:
        table = unpack(file, sources)
    assert folders == [tmp_path, Path(gettempdir())][: 1 if is_writable else 2]
    assert table.functions is not None
    for array in (table.value, table.depth, table.functions.function_numbers):
        assert isinstance(memory.memory_of(array)[0], memory.FileMemory)


@pytest.mark.parametrize(
    "name", ["KBvKN", "KPvKP", *exhaustive(["KNvK", "KNNvK", "KPvK", "KQvKR", "KRPvK", "KRvKP"])]
)
def test_one_side_as_a_source(name: str, tables: Path, packed: PackedTables) -> None:
    """Without a plain copy, each side to move of a phase has what the plain table has, in all canonical
    slots; tables with as many men are taken only where the derived side may promote."""
    path, full = packed(name), plain(tables, name)
    size, phases = full.layout.phase_size, range(len(full.layout.placements))
    all_sources = {sub: source_of(plain(tables, sub.name)) for sub in full.material.successors()}
    smaller = {sub: source for sub, source in all_sources.items() if sub.men < full.material.men}
    with PackedFile(path, material=full.material) as file:
        for phase, side in itertools.product(
            {0, *random.Random(name).choices(phases, k=sample(2, 5))}, SIDES
        ):
            sources = all_sources if promotion_materials(file, phase, side) else smaller
            source = PackedSource(file, partial(dict, sources), 2)
            value, depth = np.empty(size, np.uint8), np.empty(size, np.uint16)
            source.read_side(phase, side, value, depth)
            part = slice(phase * size, (phase + 1) * size)
            there = full.value[side, part] != NONE
            assert np.array_equal(value[there], full.value[side, part][there])
            assert np.array_equal(depth[there], full.depth[side, part][there])


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
        with PackedFile(pack(tables, name, tmp_path)) as file:
            table = unpack(file, sources)
            assert np.array_equal(table.value, full.value)
            assert np.array_equal(table.depth, full.depth)
            for side in SIDES:
                value, depth = np.zeros(size, np.uint8), np.zeros(size, np.uint16)
                PackedSource(file, partial(dict, sources), 2).read_side(0, side, value, depth)
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
    monkeypatch.setattr(sources_of_build, "MAX_SMALL_TABLE_BYTES", 0)
    material = Material.parse("KPvK")
    for name in ("KvK", "KRvK", "KBvK", "KNvK"):
        shutil.copy(table_path(tables, name, R), tmp_path)
    shutil.copy(packed("KQvK"), tmp_path)
    shutil.copy(packed("KNvK"), tmp_path)
    with Sources(tmp_path, R) as sources:
        sources.open(Material.parse("KNvK")).close()
        found = {sub: sources.get(sub) for sub in material.successors()}
        assert [type(found[Material.parse(name)]) for name in ("KQvK", "KNvK")] == [PackedSource, TableFile]
        table = solve(material, found, R)
    full = plain(tables, "KPvK")
    assert np.array_equal(table.value, full.value)
    assert np.array_equal(table.depth, full.depth)


def test_unpacking_reads_large_tables_in_threads_of_its_own(
    three_men: Path, packed: PackedTables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads of the unpacking open sub-tables of the same sources, which must not be locked meanwhile."""
    monkeypatch.setattr(sources_of_build, "MAX_SMALL_TABLE_BYTES", 0)
    for name in ("KvK", "KRvK", "KBvK", "KNvK"):
        shutil.copy(table_path(three_men, name, R), tmp_path)
    for name in ("KQvK", "KPvK"):
        shutil.copy(packed(name), tmp_path)
    with Sources(tmp_path, R) as sources:
        waiting = Thread(target=sources.get, args=(Material.parse("KPvK"),), daemon=True)
        waiting.start()
        waiting.join(300)
        assert not waiting.is_alive(), "it waits for itself"
        assert (tmp_path / COPIES_FOLDER / "KPvK.r.h5").exists()


@pytest.mark.parametrize(
    ("name", "every"), [("KNvK", 150), ("KPvKP", 40_000), *exhaustive([("KBvKN", 3000), ("KPvKP", 1200)])]
)
def test_every_state_of_single_positions(name: str, every: int, tables: Path, packed: PackedTables) -> None:
    """One in ``every`` positions, chosen at random, with all accrued scores."""
    path, chance = packed(name), random.Random(name)
    layout, states = layout_of(Material.parse(name)), 0
    values = Values([tables], variant=R, max_open_files=64, cache_bytes=1 << 24)
    with (
        TableFile(table_path(tables, name, R)) as full,
        PackedFile(path, look_up_fresh=values.fresh_after) as file,
    ):
        value, depth = full.read_fresh()
        for side in SIDES:
            slots = np.flatnonzero(value[side] != NONE)
            places = chance.sample(range(len(slots)), len(slots) // every)
            for slot in map(Slot, slots[places].tolist()):
                position = locate(board_of(layout, side, slot))
                if position.terminal:
                    continue
                fresh = int(value[side, slot])
                assert file.fresh(side, slot) == (fresh, depth[side, slot])
                own = position.score if position.score >= 0 else ~position.score
                ranks = range(2, min(own, fresh, 255 - fresh) + 1)
                codes = {Code(code) for rank in ranks for code in (rank, 255 - rank)}
                for code in codes - {own if side else 255 - own}:
                    expected, plies = full.accrued(side, slot, code)
                    found, known = file.accrued(side, slot, code)
                    assert found == expected, (side, slot, code)
                    assert known in (None, plies)
                    states += 1
    values.close()
    assert states > 500


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
    with PackedFile(paths[0]) as one, PackedFile(paths[1]) as other:
        assert one.info.digest == other.info.digest
        assert one.coding.stream.data.tobytes() == other.coding.stream.data.tobytes()
    assert os.path.getsize(paths[0]) == os.path.getsize(paths[1])


def test_an_exit_is_asked_for_where_captures_decide(tables: Path, packed: PackedTables) -> None:
    """A packed table cannot answer without the sub-tables that it needs."""
    path = packed("KBvKN")
    asked: list[Moves] = []

    def fresh(
        targets: Sequence[Target], moves: Moves, bounds: Bounds | None
    ) -> tuple[NDArray[np.int64], None]:
        asked.append(moves)
        return np.array([(0, 4) for _ in moves]), None

    with PackedFile(path, look_up_fresh=fresh) as file, TableFile(table_path(tables, "KBvKN", R)) as full:
        value, _ = full.read_fresh()
        slots = (Slot(int(slot)) for slot in np.flatnonzero(value[file.side] != NONE))
        needing = next(slot for slot in slots if file.fresh(file.side, slot) and asked)
    with PackedFile(path) as file, pytest.raises(TbgenError, match="without the sub-tables"):
        file.fresh(file.side, needing)


def test_what_a_table_of_four_men_takes(packed: PackedTables) -> None:
    """The functions of the table contain FRESH."""
    with PackedFile(packed("KBvKN")) as file:
        assert FRESH in file.coding.entry_value
        assert int(file.coding.entry_start[-1]) == file.info.runs


@pytest.mark.parametrize(("name", "one_in"), [("KBvKN", 100), *exhaustive([("KQvKR", 1000)])])
def test_exceptions_which_would_repair_any_rule_are_few(name: str, one_in: int, packed: PackedTables) -> None:
    """The bit man, whose moves are derived separately, belongs to the stored or to the derived side."""
    with PackedFile(packed(name)) as file:
        slots, _, _ = file.exceptions()
        assert 0 < len(slots) < file.info.positions[1 - file.side] / one_in
