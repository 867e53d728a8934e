"""Damaged files are rejected."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import h5py
import numpy as np
import pytest

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.errors import DamagedTableError, MissingTableError, TbgenError
from tbgen.index.layout import Side, Slot
from tbgen.store.format import CHUNK_BYTES, GZIP_LEVEL, table_path
from tbgen.store.schema import TABLE
from tbgen.tables.files import open_table
from tests.support.damage import Change, edit, other_versions, refused, replaced, set_attribute, shape_but
from tests.support.exhaustive import sample


def test_truncated_and_foreign_files_are_refused(path: Path) -> None:
    whole = path.read_bytes()
    for part in (0, 1, 100, 5000, -1):
        path.write_bytes(whole[:part])
        refused(path)
    path.write_bytes(b"1. e4 e5 2. Nf3 *\n" * 100)
    refused(path, "not an HDF5 file")
    with h5py.File(path, "w") as file:
        file["value"] = np.zeros(10)
    refused(path, "not a table of tbgen")


@pytest.mark.parametrize(("make", "kind"), [(Path.mkdir, "a directory"), (os.mkfifo, "not a regular file")])
def test_what_is_no_file_is_refused_at_once(make: Callable[[Path], None], kind: str, tmp_path: Path) -> None:
    path = table_path(tmp_path, "KNvK", Variant.R_MOBILITY)
    make(path)
    with pytest.raises(DamagedTableError) as caught:
        open_table(path)
    assert str(caught.value) == (
        f"{path} is {kind}, but has the name of a table: remove it, then build the table with: "
        f"tbgen build KNvK --dir {tmp_path}"
    )


def repack(file: h5py.File) -> None:
    value = file["value"][...]
    del file["value"]
    file.create_dataset("value", data=value, chunks=(1, 4096), compression="lzf")


def leave_a_chunk_out(file: h5py.File) -> None:
    value, chunks = file["value"][...], file["value"].chunks
    del file["value"]
    packing = {"chunks": chunks, "compression": GZIP_LEVEL, "fletcher32": True}
    stored = file.create_dataset("value", value.shape, np.uint8, **packing)
    stored[:, CHUNK_BYTES:] = value[:, CHUNK_BYTES:]


CHANGES: list[tuple[Change, str]] = [
    *other_versions(TABLE),
    (set_attribute("format_version", 1.5), "damaged"),
    (set_attribute("complete", 0), "interrupted"),
    (set_attribute("complete", [1, 1]), "damaged"),
    (set_attribute("rules", np.bytes_("x")), "its rules 'x' are unknown"),
    (lambda file: file.attrs.__delitem__("complete"), "interrupted"),
    (lambda file: file.attrs.__delitem__("digest"), "damaged"),
    (lambda file: file.__delitem__("ep/value"), "damaged"),
    (set_attribute("size", 3), "layout"),
    (set_attribute("material", np.bytes_("KBvK")), "layout"),
    (set_attribute("material", np.bytes_("KXvK")), "damaged"),
    (set_attribute("positions", [1, 2]), "positions"),
    (set_attribute("digest", np.bytes_("0" * 64)), "digest"),
    (lambda file: file["value"].__setitem__((1, 77), file["value"][1, 77] ^ 1), "value"),
    (lambda file: file["accrued/mask"].__setitem__((1, 0, 7), 255), "accrued/mask"),
    (repack, "damaged"),
    (leave_a_chunk_out, "value has no chunk"),
]
AT_ONCE: list[tuple[Change, str]] = [
    (replaced("value", shape_but(..., slice(None, -64))), "its value has another shape"),
    (replaced("accrued/start", shape_but(slice(1))), "its accrued/start has another shape"),
    (replaced("ep/depth", lambda data: data.reshape(-1)), "its ep/depth has another shape"),
    (replaced("depth", lambda data: data.astype(np.int64)), "its depth is of another type"),
]
"""Changes after which a file violates the schema."""


def test_altered_files_are_refused(path: Path) -> None:
    whole = path.read_bytes()
    for change, word in [*CHANGES, *AT_ONCE]:
        path.write_bytes(whole)
        edit(path, change)
        if (change, word) in AT_ONCE:
            with pytest.raises(DamagedTableError, match=word):
                open_table(path)
        refused(path, word)


def test_a_table_under_another_name_is_refused(path: Path) -> None:
    other = path.rename(path.with_name("KBvK.r.h5"))
    with pytest.raises(DamagedTableError, match="contains KNvK"):
        open_table(other, material=Material.parse("KBvK"))
    with pytest.raises(DamagedTableError, match="it contains values for the rules 'r'"):
        open_table(other.rename(path.with_name("KNvK.wg.h5")))


def test_flipped_bits_of_chunks_are_noticed_by_single_look_ups(path: Path) -> None:
    whole = path.read_bytes()
    with h5py.File(path) as file:
        chunk = file["value"].id.get_chunk_info_by_coord((0, 0))
    for byte in [*range(4), *range(4, chunk.size, sample(3000, 97)), chunk.size - 1]:
        for bit in range(8):
            damaged = bytearray(whole)
            damaged[chunk.byte_offset + byte] ^= 1 << bit
            path.write_bytes(damaged)
            with open_table(path) as file, pytest.raises(DamagedTableError, match="flipped bits"):
                file.fresh(Side(0), Slot(0))


def test_no_flipped_bit_anywhere_goes_unnoticed(path: Path) -> None:
    """A flip in bytes that HDF5 never reads may pass unnoticed; then all facts and data are unchanged."""
    whole = path.read_bytes()
    with open_table(path) as file:
        info = file.info
    rng = np.random.default_rng(0)
    places = rng.integers(0, 8192, sample(50, 300)).tolist()
    for byte in [*places, *rng.integers(0, len(whole), sample(15, 40)).tolist()]:
        damaged = bytearray(whole)
        damaged[byte] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        with suppress(DamagedTableError), open_table(path) as file:
            file.check()
            assert file.info == info


@pytest.mark.parametrize("way", ["storage", "link", "source"])
def test_data_in_other_files_are_refused(way: str, path: Path) -> None:
    """HDF5 supports datasets in other files, and would read any file."""
    secret = path.with_name("secret")
    with h5py.File(secret, "w") as other, h5py.File(path, "r") as file:
        file.copy("value", other)
        shape = file["value"].shape

    def replace(file: h5py.File) -> None:
        del file["value"]
        if way == "storage":
            file.create_dataset("value", shape, np.uint8, external=[(str(secret), 0, h5py.h5f.UNLIMITED)])
        elif way == "link":
            file["value"] = h5py.ExternalLink(str(secret), "value")
        else:
            layout = h5py.VirtualLayout(shape, np.uint8)
            layout[:] = h5py.VirtualSource(str(secret), "value", shape)
            file.create_virtual_dataset("value", layout)

    edit(path, replace)
    with pytest.raises(DamagedTableError, match="its value is stored in another file"):
        open_table(path)


def test_files_that_cannot_be_opened(tmp_path: Path, path: Path) -> None:
    with pytest.raises(MissingTableError, match="table KRvK is missing"):
        open_table(table_path(tmp_path, "KRvK", Variant.R_MOBILITY))
    with pytest.raises(TbgenError, match=f"{path} is not a directory"):
        open_table(table_path(path, "KNvK", Variant.R_MOBILITY))
    if os.geteuid() != 0:
        path.chmod(0)
        with pytest.raises(TbgenError, match="no permission to read"):
            open_table(path)
