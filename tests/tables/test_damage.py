"""Damaged packed tables are rejected, and writers that fail leave no file."""

import errno
import random
import shutil
from pathlib import Path
from unittest.mock import Mock

import h5py
import numpy as np
import pytest

from tbgen.board.material import Material
from tbgen.board.score import NONE
from tbgen.board.variant import Variant
from tbgen.errors import DamagedTableError, MissingTableError, TbgenError
from tbgen.index.layout import Slot
from tbgen.store.format import table_path
from tbgen.store.schema import PACKED, TABLE
from tbgen.tables.coding import ContextShares, coding_of, exceptions_of, functions_of, model_of
from tbgen.tables.files import open_table
from tbgen.tables.library import Library
from tbgen.tables.structs import MAX_CONTEXTS, TOTAL, VALUE_LEVELS
from tests.support.damage import (
    Change,
    edit,
    other_versions,
    refused,
    replaced,
    set_attribute,
    shape_but,
    turn_a_bit,
)
from tests.support.exhaustive import sample
from tests.support.packed_tables import PackedTables

R = Variant.R_MOBILITY
KNVK = Material.parse("KNvK")


@pytest.fixture
def path(packed: PackedTables, tmp_path: Path) -> Path:
    """A copy of a packed table that a test may change."""
    return Path(shutil.copy(packed("KNvK"), tmp_path))


def test_every_flipped_byte_is_noticed(path: Path) -> None:
    """The file is rejected, unless HDF5 never reads the flipped byte and the content is unchanged."""
    content, chance, noticed = path.read_bytes(), random.Random(0), 0
    with open_table(path) as file:
        file.check()
        info, side = file.info, file.stored_side
    for at in chance.sample(range(len(content)), count := sample(60, 1000)):
        damaged = bytearray(content)
        damaged[at] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        try:
            with open_table(path, material=KNVK) as file:
                file.check()
                assert (file.info, file.stored_side) == (info, side), at
        except DamagedTableError:
            noticed += 1
    assert noticed > count * 0.8


def test_a_flipped_byte_of_a_block_is_noticed_by_the_probe_that_meets_it(path: Path, tables: Path) -> None:
    """Probes of all positions in the block detect the damage before they use a value."""
    with h5py.File(path) as raw:
        offset = raw["block/data"].id.get_offset()
        length = sum(raw[f"block/{kind}_length"][...].astype(int) for kind in ("value", "depth", "function"))
        number = int(np.argmax(length))
    begin = offset + int(length[:number].sum())
    content = path.read_bytes()
    library = Library(tables, R)
    with open_table(table_path(tables, "KNvK", R)) as plain:
        table = plain.read()
        value, depth = table.value, table.depth
    for at in [*range(0, int(length[number]), sample(200, 40)), int(length[number]) - 1]:
        damaged = bytearray(content)
        damaged[begin + at] ^= 16
        path.write_bytes(damaged)
        with open_table(path, successors=library) as file:
            side = file.stored_side
            assert side is not None
            # Every tenth position; those of one block of forty are refused.
            slots, wrong = (np.flatnonzero(value[side] != NONE)[at // 40 % 10 :: 10].tolist(), 0)
            for slot in slots:
                try:
                    found = file.fresh(side, Slot(slot))
                except DamagedTableError:
                    wrong += 1
                else:
                    assert found == (value[side, slot], depth[side, slot])
            assert 0 < wrong < len(slots) / 10
    library.close()


def test_a_file_that_is_replaced_is_read_as_it_was_opened(path: Path) -> None:
    whole = path.read_bytes()
    with open_table(path) as file:
        other = path.with_name("other")
        other.write_bytes(bytes(len(whole)))
        other.replace(path)
        data = coding_of(file).stream.data.tobytes()
    assert data.strip(b"\0")
    assert data in whole


def test_content_that_leads_beyond_arrays_is_refused(path: Path) -> None:
    """Such content is rejected even with correct checksums; scripts/fuzz_packed.py makes more of it."""
    whole = path.read_bytes()
    for name, change in (
        ("accrued/start", lambda data: data + 1),
        ("accrued/start", lambda data: data[::-1].copy()),
        ("value/share", turn_a_bit),
        ("depth/symbols", lambda data: data + 1),
        ("function/step", lambda data: np.append(np.full(400, 65535, np.uint16), data)),
        ("exception/step", lambda data: np.zeros(1, np.uint16)),
    ):
        path.write_bytes(whole)
        edit(path, replaced(name, change))
        with open_table(path) as file, pytest.raises(DamagedTableError):
            print(coding_of(file), exceptions_of(file))
    path.write_bytes(whole)
    with open_table(path) as file:
        coding = coding_of(file)
    with pytest.raises(DamagedTableError, match="functions that do not exist"):
        functions_of(file, coding, np.full(1, len(coding.entry_start) - 1, np.uint32))
    many = MAX_CONTEXTS + 1
    ones, zeros, shares = np.ones(many, np.uint16), np.zeros(many, np.uint8), np.full(many, TOTAL, np.uint16)
    with pytest.raises(ValueError, match="too many"):
        model_of(VALUE_LEVELS, ContextShares(np.arange(many), ones, zeros, shares))


CHANGES: list[tuple[Change, str]] = [
    *other_versions(PACKED),
    (set_attribute("complete", 0), "interrupted"),
    (set_attribute("stored_side", 5), "its stored_side 5 is not a side"),
    (lambda file: file.attrs.__delitem__("stored_side"), "damaged"),
    (set_attribute("stored", np.bytes_("value uint8 1 0")), "its placements does not match its digest"),
    (set_attribute("runs", 1), "its accrued/from has another shape"),
    (set_attribute("digest", np.bytes_("0" * 64)), "its manifest does not match its digest"),
    (lambda file: file.__delitem__("block/data"), "damaged"),
    (replaced("block/data", shape_but(slice(-1))), "block/data"),
    (replaced("block/data", turn_a_bit), "its block/data does not match its digest"),
    (replaced("block/check", turn_a_bit), "its block/check does not match its digest"),
    (replaced("block/depth_length", shape_but(slice(1, None))), "its block/depth_length has another shape"),
    (replaced("value/share", shape_but(slice(9))), "its value/share has another shape"),
    (replaced("fresh/code", lambda data: data.astype(np.int64)), "its fresh/code is of another type"),
]


def test_altered_and_truncated_files_are_refused(path: Path) -> None:
    whole = path.read_bytes()
    for part in (0, 1, 100, 5000, -1):
        path.write_bytes(whole[:part])
        refused(path)
    for change, word in CHANGES:
        path.write_bytes(whole)
        edit(path, change)
        refused(path, word)
    path.write_bytes(whole)
    edit(path, set_attribute("format", np.bytes_(TABLE.format)))  # it says that it is plain
    edit(path, set_attribute("format_version", TABLE.version))
    with pytest.raises(DamagedTableError, match="damaged"):
        open_table(path)


def test_a_want_of_descriptors_is_no_damage(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged offset is an invalid argument for HDF5."""
    for number, sentence in ((errno.EMFILE, "opened: Too many"), (errno.EINVAL, "it is damaged; build")):
        monkeypatch.setattr("tbgen.tables.files.open_file", Mock(side_effect=OSError(number, "")))
        with pytest.raises(TbgenError, match=sentence):
            open_table(path)


def test_another_material_and_no_file(path: Path) -> None:
    other, whole = path.with_name("KBvK.r.h5"), path.with_name("KNvK.wg.h5")
    shutil.copy(path, other)
    shutil.copy(path, whole)
    with pytest.raises(DamagedTableError, match="it contains KNvK"):
        open_table(other, material=Material.parse("KBvK"))
    with pytest.raises(DamagedTableError, match="it contains values for the rules 'r'"):
        open_table(whole)
    with pytest.raises(MissingTableError, match="table KRvK is missing"):
        open_table(path.with_name("KRvK.r.h5"))
