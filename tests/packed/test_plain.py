"""Plain copies of packed tables: for positions as arrays and for reports, and gone when nobody needs them."""

import errno
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tbgen import open_tablebase
from tbgen.errors import TbgenError
from tbgen.material import Material, closure
from tbgen.packed.plain import COPIES, open_plain, passing_copies
from tbgen.report import write_report
from tbgen.store.format import table_path
from tbgen.variant import Variant
from tests.support.packed_tables import PackedTables

R = Variant.R_MOBILITY
KNVK = Material.parse("KNvK")


@pytest.fixture
def directory(tables: Path, packed: PackedTables, tmp_path: Path) -> Path:
    """A directory with a packed table and the plain ones that it rests on."""
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
    assert not (directory / COPIES).exists()


def test_a_report(directory: Path, tables: Path, tmp_path: Path) -> None:
    """It says what one on a plain table does, but for accrued scores, and says why not."""
    pytest.importorskip("matplotlib")
    sites = [(each, tmp_path / "sites" / each.name) for each in (directory, tables)]
    (mine,), (right,) = (write_report(each, ["KNvK"], site, rules="r").tables for each, site in sites)
    assert (mine.form, right.form) == ("packed", "plain")
    assert mine.accrued is None
    assert mine.bytes == table_path(directory, "KNvK", R).stat().st_size
    for record, expected in zip(mine.records, right.records, strict=True):
        # Where play leads to depths that are not stored and hard to find, the line is left out.
        bare = replace(expected, line=(), pgn="", verified=False)
        assert record == (expected if record.line else bare)
    assert sum(not record.line for record in mine.records if record.depth) <= 1
    fields = ("distribution", "endgame", "mating", "black_king")
    assert [getattr(mine, name) for name in fields] == [getattr(right, name) for name in fields]
    page = (sites[0][1] / "tables" / "KNvK.r.html").read_text()
    assert "This table is packed: it has the values of all accrued scores" in page
    assert not (directory / COPIES).exists()


def test_copies_that_others_made_stay(directory: Path) -> None:
    """Such as those of a build at work, made before or meanwhile."""
    before, meanwhile = (directory / COPIES / f"{name}.r.h5" for name in ("KQvK", "KRvK"))
    before.parent.mkdir()
    before.touch()
    with passing_copies(directory), open_plain(directory, KNVK, R) as file:
        meanwhile.touch()
        assert not file.info.packed
        assert file.path.exists()
    assert set(before.parent.iterdir()) == {before, meanwhile}


def test_a_copy_that_cannot_be_written(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(TbgenError, match="copy the tables to where copies of them can be written"):
        open_plain(directory, KNVK, R)
