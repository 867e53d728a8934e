"""Nothing damaged is ever taken for a table."""

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
from tbgen.store.dataset import AnyArray
from tbgen.store.format import CHUNK_BYTES, GZIP_LEVEL, table_path
from tbgen.store.reader import TableFile
from tests.support.damage import refused
from tests.support.exhaustive import sample


@pytest.mark.parametrize("part", [0, 1, 100, 5000, -1])
def test_a_truncated_file_is_refused(part: int, path: Path) -> None:
    path.write_bytes(path.read_bytes()[:part])
    refused(path)


def test_a_foreign_file_is_refused(path: Path) -> None:
    path.write_bytes(b"1. e4 e5 2. Nf3 *\n" * 100)
    refused(path, "no HDF5 file")
    with h5py.File(path, "w") as file:
        file["value"] = np.zeros(10)
    refused(path, "no tbgen table")


@pytest.mark.parametrize(("make", "kind"), [(Path.mkdir, "a directory"), (os.mkfifo, "no ordinary file")])
def test_what_is_no_file_is_refused_at_once(make: Callable[[Path], None], kind: str, tmp_path: Path) -> None:
    path = table_path(tmp_path, "KNvK", Variant.R_MOBILITY)
    make(path)
    with pytest.raises(DamagedTableError) as caught:
        TableFile(path)
    assert str(caught.value) == (
        f"{path} is {kind} and takes the place of a table: remove it, then build the table with: "
        f"tbgen build KNvK --dir {tmp_path}"
    )


def edit(change: Callable[[h5py.File], None], path: Path) -> None:
    with h5py.File(path, "r+") as file:
        change(file)


def set_attribute(name: str, value: object) -> Callable[[h5py.File], None]:
    return lambda file: file.attrs.__setitem__(name, value)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (set_attribute("format_version", 4), "format version 4 and this tbgen reads version 3"),
        (set_attribute("format_version", 2), "its format version 2 is that of an older tbgen"),
        (set_attribute("format_version", 1), "its format version 1 is that of an older tbgen"),
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
        (lambda file: file["placements"].resize((1, 0)), ""),
    ],
)
def test_an_altered_file_is_refused(change: Callable[[h5py.File], None], word: str, path: Path) -> None:
    if word:
        edit(change, path)
        refused(path, word)
    else:
        with pytest.raises(TypeError):
            edit(change, path)


def test_a_table_under_another_name_is_refused(path: Path) -> None:
    other = path.with_name("KBvK.r.h5")
    path.rename(other)
    with pytest.raises(DamagedTableError, match="holds KNvK"):
        TableFile(other, material=Material.parse("KBvK"))


def test_a_table_under_a_name_of_other_rules_is_refused(path: Path) -> None:
    other = path.rename(path.with_name("KNvK.wg.h5"))
    with pytest.raises(DamagedTableError, match="it holds values for the rules 'r'"):
        TableFile(other)


def test_packing_that_was_changed_is_refused(path: Path) -> None:
    with TableFile(path) as file:
        value = file.read().value

    def repack(file: h5py.File) -> None:
        del file["value"]
        file.create_dataset("value", data=value, chunks=(1, 4096), compression="lzf")

    edit(repack, path)
    refused(path, "damaged")


def test_flipped_bits_of_chunks_are_noticed_by_single_look_ups(path: Path) -> None:
    whole = path.read_bytes()
    with h5py.File(path) as file:
        chunk = file["value"].id.get_chunk_info_by_coord((0, 0))
    for byte in [*range(4), *range(4, chunk.size, sample(800, 97)), chunk.size - 1]:
        for bit in range(8):
            damaged = bytearray(whole)
            damaged[chunk.byte_offset + byte] ^= 1 << bit
            path.write_bytes(damaged)
            with TableFile(path) as file, pytest.raises(DamagedTableError, match="flipped bits"):
                file.fresh(Side(0), Slot(0))


def test_no_flipped_bit_anywhere_goes_unnoticed(path: Path) -> None:
    """A flip in what HDF5 never reads may pass; then every fact and every byte of data is as written."""
    whole = path.read_bytes()
    with TableFile(path) as file:
        info = file.info
    rng = np.random.default_rng(0)
    for byte in [
        *rng.integers(0, 8192, sample(120, 300)).tolist(),
        *rng.integers(0, len(whole), 40).tolist(),
    ]:
        damaged = bytearray(whole)
        damaged[byte] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        with suppress(DamagedTableError), TableFile(path) as file:
            file.check()
            assert file.info == info


def test_a_missing_chunk_is_noticed(path: Path) -> None:
    with TableFile(path) as file:
        value = file.read().value

    def leave_out(file: h5py.File) -> None:
        chunks = file["value"].chunks
        del file["value"]
        packing = {"chunks": chunks, "compression": GZIP_LEVEL, "fletcher32": True}
        stored = file.create_dataset("value", value.shape, np.uint8, **packing)
        stored[:, CHUNK_BYTES:] = value[:, CHUNK_BYTES:]

    edit(leave_out, path)
    refused(path, "value has no chunk")


@pytest.mark.parametrize(
    ("name", "change", "problem"),
    [
        ("value", lambda data: data[:, :-64], "its value has another shape"),
        ("accrued/start", lambda data: data[:1], "its accrued/start has another shape"),
        ("ep/depth", lambda data: data.reshape(-1), "its ep/depth has another shape"),
        ("depth", lambda data: data.astype(np.int64), "its depth is of another type"),
    ],
)
def test_what_does_not_fit_the_schema_is_refused_at_once(
    name: str, change: Callable[[AnyArray], AnyArray], problem: str, path: Path
) -> None:
    def replace(file: h5py.File) -> None:
        data = change(file[name][...])
        del file[name]
        packing = {"compression": GZIP_LEVEL, "fletcher32": True} if data.size else {}
        file.create_dataset(name, data=data, **packing, chunks=data.shape if data.size else None)

    edit(replace, path)
    with pytest.raises(DamagedTableError, match=problem):
        TableFile(path)


@pytest.mark.parametrize("way", ["storage", "link", "source"])
def test_data_in_other_files_are_refused(way: str, path: Path) -> None:
    """HDF5 would read them, whatever files they are."""
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

    edit(replace, path)
    with pytest.raises(DamagedTableError, match="its value lies in another file"):
        TableFile(path)


def test_files_that_cannot_be_opened(tmp_path: Path, path: Path) -> None:
    with pytest.raises(MissingTableError, match="table KRvK is missing"):
        TableFile(table_path(tmp_path, "KRvK", Variant.R_MOBILITY))
    with pytest.raises(TbgenError, match=f"{path} is not a directory"):
        TableFile(table_path(path, "KNvK", Variant.R_MOBILITY))
    if os.geteuid() != 0:
        path.chmod(0)
        with pytest.raises(TbgenError, match="no permission to read"):
            TableFile(path)
