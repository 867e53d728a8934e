"""Layers made one at a time from fresh values, against tables that hold them all."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chess
import h5py
import numpy as np
import pytest

from tbgen import DamagedTableError, MissingTableError, TbgenError, open_tablebase
from tbgen.board.material import Material
from tbgen.board.score import NONE, GScore
from tbgen.board.variant import Variant
from tbgen.index.layout import Side, layout_of
from tbgen.probe.depths import LayerFile, Layers, _LayerKey, layer_path, write_layer
from tbgen.store.cache import LruCache
from tbgen.store.format import table_path
from tbgen.tables.files import open_table
from tests.support.builds import without_accrued
from tests.support.depths import known
from tests.support.exhaustive import exhaustive
from tests.support.packed_tables import plain
from tests.support.slots import board_at

R = Variant.R_MOBILITY


def some_boards(directory: Path, name: str, number: int, rng: random.Random) -> list[chess.Board]:
    """Legal positions of a few pawn placements."""
    layout = layout_of(Material.parse(name))
    table = plain(directory, name)
    boards: list[chess.Board] = []
    phases = rng.sample(range(len(layout.placements)), min(3, len(layout.placements)))
    while len(boards) < number:
        side = rng.randrange(2)
        slot = rng.choice(phases) * layout.phase_size + rng.randrange(layout.phase_size)
        if table.value[side, slot] != NONE:
            board = board_at(layout, side, slot)
            assert board is not None
            boards.append(board)
    return boards


@pytest.mark.parametrize("name", ["KPvK", *exhaustive(["KNvK", "KPvKP", "KRvKB", "KNvKP"])])
def test_layers_give_what_the_table_would_hold(
    name: str, tables: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Pawn moves lead to other placements, with en passant rights and without, and to other tables."""
    rng = random.Random(name)
    bare = without_accrued(tables, name, tmp_path / "bare")
    boards = some_boards(tables, name, 80, rng)
    open_states = 0
    with open_tablebase(tables) as full, open_tablebase(bare, depths=True) as other:
        for accrued in (GScore(rank, white) for rank in (2, 9) for white in (True, False)):
            for board in boards:
                expected = full.probe(board, accrued)
                found = other.probe(board, accrued)
                assert (found.value, found.depth) == (expected.value, expected.depth), board.fen()
                open_states += known(found.depth) > 0 and found.accrued == accrued
    assert open_states > 40
    assert "accrued are not stored, and making them takes about" in caplog.text
    made = set(bare.glob("*.layer.h5"))
    caplog.clear()
    with open_tablebase(bare, depths=True) as other:
        for board in boards:
            other.probe(board, "G1.0")
    assert not caplog.records
    assert set(bare.glob("*.layer.h5")) == made


@pytest.fixture
def bare(three_men: Path, tmp_path: Path) -> Path:
    return without_accrued(three_men, "KNvK", tmp_path / "bare")


G15 = GScore(3, white=True)
BOARD = chess.Board("8/8/8/3k4/8/8/2N5/K7 w - - 0 1")


def test_a_table_without_accrued_scores(bare: Path, three_men: Path) -> None:
    with (
        open_table(table_path(bare, "KNvK", R)) as file,
        open_table(table_path(three_men, "KNvK", R)) as full,
    ):
        assert (file.info.stores_accrued, file.info.runs, full.info.stores_accrued) == (0, 0, 1)
        table, other = file.read(), full.read()
    assert not table.stores_accrued
    assert np.array_equal(table.value, other.value)
    assert np.array_equal(table.depth, other.depth)


Damage = Callable[[Path], None]


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:900])


def flip_bits(path: Path) -> None:
    content = bytearray(path.read_bytes())
    with h5py.File(path) as file:
        chunks = [file["value"].id.get_chunk_info(n) for n in range(file["value"].id.get_num_chunks())]
    for chunk in chunks:
        content[chunk.byte_offset + chunk.size // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [cut_short, flip_bits])
def test_a_damaged_layer_is_made_again(
    damage: Damage, bare: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is made once, even if a second thread works while the first has just met the damage."""
    with open_tablebase(bare, depths=True) as tables:
        expected = tables.probe(BOARD, "G1.5")
    (path,) = bare.glob("*.layer.h5")
    damage(path)
    get, results = LayerFile.get, []

    def get_with_another(layer: LayerFile, side: Side, slot: int) -> Any:
        monkeypatch.setattr(LayerFile, "get", get)
        try:
            return get(layer, side, slot)
        finally:
            results.append(tables.probe(BOARD, "G1.5"))

    with open_tablebase(bare, depths=True) as tables:
        monkeypatch.setattr(LayerFile, "get", get_with_another)
        results.append(tables.probe(BOARD, "G1.5"))
    assert results == [expected] * 2
    assert caplog.text.count("making them") == 2
    with open_table(table_path(bare, "KNvK", R)) as table, LayerFile(path, table, G15, 0) as layer:
        layer.check()


def test_another_layer_is_not_used(bare: Path, three_men: Path) -> None:
    """Not that of another table, nor of another score or phase, whatever the name says."""
    with open_tablebase(bare, depths=True) as tables:
        tables.probe(BOARD, "G1.5")
        expected = tables.probe(BOARD, "G2.5")
    (path,) = bare.glob("*G1.5.layer.h5")
    with (
        open_table(table_path(three_men, "KNvK", R)) as full,
        open_table(table_path(bare, "KNvK", R)) as table,
    ):
        LayerFile(path, table, G15, 0)
        for owner, accrued, phase in ((full, G15, 0), (table, -G15, 0), (table, G15, 1)):
            with pytest.raises(DamagedTableError, match="cannot be used: it contains another layer; remove"):
                LayerFile(path, owner, accrued, phase)
    shutil.copy(path, path.with_name("KNvK.r.G2.5.layer.h5"))
    with open_tablebase(bare, depths=True) as tables:
        assert tables.probe(BOARD, "G2.5") == expected


def test_a_table_built_anew_does_not_use_old_layers(bare: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Not even in a tablebase that has one of them open."""
    with open_tablebase(bare, depths=True) as tables:
        expected = tables.probe(BOARD, "G1.5")
        layers = tables._values._depths
        assert isinstance(layers, Layers)
        ((key, layer),) = layers._open._items.items()
        assert isinstance(key, _LayerKey)
        layers._open = LruCache(8, lambda _: 1)
        layers._open.put(key._replace(digest="the digest before"), layer)
        assert tables.probe(BOARD, "G1.5") == expected
        assert layers._open.size == 2
    assert layers._open.size == 0  # closed


def test_what_a_layer_needs_is_missing(bare: Path) -> None:
    table_path(bare, "KvK", R).unlink()
    with open_tablebase(bare, depths=True) as tables:
        with pytest.raises(MissingTableError, match="KvK"):
            tables.get(BOARD, "G1.5")
        assert tables.get(chess.Board("8/8/8/3k4/8/8/2B5/K7 w - - 0 1")) is None


def test_a_layer_that_does_not_fit_is_refused(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tbgen.costs.layer_memory", lambda *_: 1 << 50)
    with (
        open_tablebase(bare, depths=True) as tables,
        pytest.raises(TbgenError, match=r"needs about .* GiB of memory, but"),
    ):
        tables.probe(BOARD, "G1.5")


@pytest.mark.parametrize("damage", [Path.unlink, flip_bits])
def test_a_layer_that_cannot_be_kept_still_answers(
    damage: Damage, bare: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is missing or damaged, and the directory is read-only."""
    with open_tablebase(bare, depths=True) as tables:
        expected = tables.probe(BOARD, "G1.5")
    for path in bare.glob("*.layer.h5"):
        damage(path)
    kept = list(bare.glob("*.layer.h5"))

    def refuse_unlinking(path: Path, **_: bool) -> None:
        raise PermissionError(f"{path} is in a read-only directory")

    def refuse(path: Path, *layer: Any) -> None:
        if path.parent == bare:
            raise TbgenError("the disk is full")
        places.append(path)
        write_layer(path, *layer)

    places: list[Path] = []
    monkeypatch.setattr("tbgen.probe.depths.write_layer", refuse)
    monkeypatch.setattr("tbgen.probe.depths._MAX_OPEN_LAYERS", 0)
    monkeypatch.setattr(Path, "unlink", refuse_unlinking)
    with open_tablebase(bare, depths=True) as tables:
        assert [tables.probe(BOARD, "G1.5") for _ in range(2)] == [expected] * 2
    (place,) = places
    assert not place.exists()
    assert "not kept: the disk is full" in caplog.text
    assert list(bare.glob("*.layer.h5")) == kept


def test_deep_layers_are_kept_exactly(bare: Path) -> None:
    """Depths beyond 255 plies need two bytes."""
    rng = np.random.default_rng(1)
    with open_table(table_path(bare, "KNvK", R)) as table:
        shape = (2, table.info.phase_size)
        value = rng.integers(0, 256, shape).astype(np.uint8)
        depth = rng.integers(0, 1000, shape).astype(np.uint16)
        path = layer_path(table, GScore(7, white=False), 0)
        write_layer(path, table, GScore(7, white=False), 0, value, depth)
        assert path.name == "KNvK.r.-G3.5.layer.h5"
        with LayerFile(path, table, GScore(7, white=False), 0) as layer:
            for side, slot in ((0, 0), (1, 77), (1, shape[1] - 1)):
                assert layer.get(Side(side), slot) == (value[side, slot], depth[side, slot])
