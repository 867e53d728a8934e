"""Plain copies of packed tables are made for positions as arrays, and removed afterwards."""

import errno
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tbgen import open_tablebase
from tbgen.board.material import Material, closure
from tbgen.board.variant import Variant
from tbgen.errors import TbgenError
from tbgen.store.format import table_path
from tbgen.tables.library import COPIES_FOLDER, Library, PlainCopies, remove_copies
from tests.support.packed_tables import PackedTables

R = Variant.R_MOBILITY
KNVK = Material.parse("KNvK")


@pytest.fixture
def directory(tables: Path, packed: PackedTables, tmp_path: Path) -> Path:
    """A directory with a packed table and its plain sub-tables."""
    for material in closure([KNVK])[:-1]:
        shutil.copy(table_path(tables, material.name, R), tmp_path)
    shutil.copy(packed("KNvK"), tmp_path)
    return tmp_path


def test_positions_as_arrays(directory: Path, tables: Path) -> None:
    with open_tablebase(directory) as one, open_tablebase(tables) as other:
        mine, right = (each.table("KNvK").positions() for each in (one, other))
        assert len(mine) == len(right)
        for array, expected in zip(mine.arrays(), right.arrays(), strict=True):
            assert np.array_equal(array, expected)
    assert not (directory / COPIES_FOLDER).exists()


@pytest.mark.parametrize("scratch", [None, "scratch"])
def test_the_directory_of_tables_cannot_be_written(
    directory: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    scratch: str | None,
) -> None:
    """A copy is in a directory of the caller's choice, or in a temporary one, until the tables are closed."""
    make, place = Path.mkdir, tmp_path_factory.mktemp(scratch or "temporary")

    def refuse(path: Path, **options: Any) -> None:
        if directory in path.parents:
            raise PermissionError(errno.EACCES, "Permission denied")
        make(path, **options)

    monkeypatch.setattr(Path, "mkdir", refuse)
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    with open_tablebase(directory) as tables:
        assert len(tables.table("KNvK", scratch and place).positions()) == 53806
        assert [*place.rglob("KNvK.r.h5")]
    assert not [*place.iterdir()]


def test_copies_that_others_made_stay(directory: Path) -> None:
    """Copies of other processes, such as a running build, are not removed, whether older or newer."""
    before, meanwhile = (directory / COPIES_FOLDER / f"{name}.r.h5" for name in ("KQvK", "KRvK"))
    before.parent.mkdir()
    before.touch()
    with Library(directory, R) as library:
        copy = library.plain(KNVK)
        meanwhile.touch()
        assert not copy.info.derives
        assert copy.path.exists()
    assert set(before.parent.iterdir()) == {before, meanwhile}


def test_a_build_removes_copies_of_its_rules_only(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another build may be at work; a copy that the end of a build removes too early is made again."""
    other, write = directory / COPIES_FOLDER / "KQvK.wg.h5", PlainCopies.write
    other.parent.mkdir()
    other.touch()

    def writing(*arguments: Any) -> None:
        monkeypatch.undo()
        write(*arguments)
        remove_copies(directory, R)

    monkeypatch.setattr(PlainCopies, "write", writing)
    assert not Library(directory, R, copies=PlainCopies()).plain(KNVK).info.derives
    remove_copies(directory, R)
    assert [*other.parent.iterdir()] == [other]


def test_a_copy_that_cannot_be_written(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(TbgenError, match="copy the tables to a directory where files can be written"):
        Library(directory, R).plain(KNVK)
