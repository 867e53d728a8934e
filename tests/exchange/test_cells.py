"""Publishing and fetching solved cells."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tbgen.cells.file import PackedBounds, PackedSide, encode_cell, file_name
from tbgen.errors import TbgenError, UsageError
from tbgen.exchange.cells import CellFilter, MissingCellsError, plan_cell_fetch, publish_cells
from tbgen.exchange.fetch import fetch, read_list
from tbgen.exchange.published import LIST_NAME, PublishedSet
from tbgen.exchange.sources import source_of
from tests.support.commands import Capture, answer, failure, said
from tests.support.disks import small_disk
from tests.support.sets import Report
from tests.support.web_server import serving

NAMES = "KkR 8/p7/8/8/8/8/8/8", "KkR 8/8/p7/8/8/8/8/8", "KRkr 8/8/p7/8/8/8/P7/8"
FILES = sorted(map(file_name, NAMES))
ALL = CellFilter([])


def content(name: str, states: bytes = b"states") -> bytes:
    side = PackedSide(states, (b"planes" * 300,))
    return encode_cell(name, PackedBounds((side, side)))


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    directory = tmp_path / "cells"
    directory.mkdir()
    for name in NAMES:
        (directory / file_name(name)).write_bytes(content(name))
    (directory / "other.cell").write_bytes(b"junk")  # no name of a cell
    return directory


@pytest.fixture
def published(cells: Path, tmp_path: Path) -> Path:
    publish_cells(cells, tmp_path / "set", ALL)
    return tmp_path / "set"


def get(address: str, directory: Path, *names: str, check: bool = False) -> list[str]:
    source, report = source_of(address), Report()
    checked = (lambda *_: None) if check else None
    to_do = plan_cell_fetch(read_list(source), directory, CellFilter(names), origin=address, on_check=checked)
    fetch(to_do, source, report=report)
    return sorted(report.tables)


def files(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.glob("K*")}


def test_cells_are_published_and_fetched(cells: Path, published: Path, tmp_path: Path) -> None:
    assert [cell.file for cell in read_list(source_of(str(published))).cells] == FILES
    with serving(published) as server:
        assert get(server.address, tmp_path / "new") == FILES
        assert get(server.address, tmp_path / "new") == []
    assert files(tmp_path / "new") == files(cells)
    assert sorted(path.name for path in published.iterdir()) == sorted([*FILES, LIST_NAME, "SHA256SUMS"])


def test_cells_by_their_men(cells: Path, published: Path, tmp_path: Path) -> None:
    """In names of men, either side may come first, and men may be in any order."""
    for name, count in (("KRvKP", 2), ("kpvkr", 2), ("KRPvKRP", 1), ("KPRKRP", 1)):
        assert len(get(str(published), tmp_path / f"new-{name}", name)) == count
        assert len(publish_cells(cells, tmp_path / f"other-{name}", CellFilter([name])).cells) == count


def test_names_that_mean_nothing() -> None:
    for name in ("RKPK", "RvK", "KKvK", "K[WF]vK", "KRvKvK", "../KvK", "vK", ""):
        with pytest.raises(UsageError, match="is not a name of men of cells, such as KRPvKRP: name both"):
            CellFilter([name])


def test_men_without_cells(cells: Path, published: Path, own: Path, tmp_path: Path) -> None:
    with pytest.raises(MissingCellsError, match="has no cells of KQvKQ, KBvK: choose others"):
        get(str(published), tmp_path / "new", "KQvKQ", "KRvKP", "KBvK")
    with pytest.raises(MissingCellsError, match=f"there are no cells of KQvKQ in {cells}"):
        publish_cells(cells, tmp_path / "other", CellFilter(["KQvKQ"]))
    with pytest.raises(MissingCellsError, match=f"no cells in {tmp_path}: solve positions with --cells"):
        publish_cells(tmp_path, tmp_path / "other", ALL)
    assert not (tmp_path / "other").exists()


def test_publishing_again(cells: Path, published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only changed cells are read; published cells whose source is gone are kept."""
    os.utime(published / LIST_NAME, ns=(2**62, 2**62))
    first = PublishedSet.parse((published / LIST_NAME).read_bytes(), "")
    gone, changed = NAMES[:2]
    (cells / file_name(gone)).unlink()
    new = cells / "new"
    new.write_bytes(content(changed, b"narrow"))  # of the same size
    os.utime(new, ns=(2**61, 2**61))
    new.rename(cells / file_name(changed))
    read: list[str] = []

    def count(path: Path) -> str:
        read.append(path.name)
        return "0" * 64

    monkeypatch.setattr("tbgen.exchange.cells.check_cell_file", count)
    again = publish_cells(cells, published, ALL)
    assert len(read) == 1
    assert read[0].startswith(file_name(changed))
    different = {one.file for one, other in zip(first.cells, again.cells, strict=True) if one != other}
    assert different == {file_name(changed)}
    assert (published / file_name(changed)).read_bytes() == content(changed, b"narrow")


def test_publishing_where_the_cells_are(cells: Path) -> None:
    before = files(cells)
    assert len(publish_cells(cells, cells, ALL).cells) == 3
    assert files(cells) == before


def damaged(path: Path) -> str:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    return "it is damaged"


def newer(path: Path) -> str:
    path.write_bytes(path.read_bytes().replace(b"tbgen cell 2", b"tbgen cell 9"))
    return r"it was written by another version of tbgen \(tbgen cell 9\)"


def another(path: Path) -> str:
    path.write_bytes(content(next(name for name in NAMES if file_name(name) != path.name)))
    return "it contains the cell "


SPOIL = pytest.mark.parametrize("spoil", [damaged, newer, another])


@SPOIL
def test_a_cell_that_cannot_be_used_is_not_published(
    spoil: Callable[[Path], str], cells: Path, tmp_path: Path
) -> None:
    """All other cells are published."""
    reason = spoil(cells / FILES[0])
    with pytest.raises(TbgenError, match=f"is not a usable cell: {reason}.*it was not published$"):
        publish_cells(cells, tmp_path / "set", ALL)
    listed = read_list(source_of(str(tmp_path / "set"))).cells
    assert [cell.file for cell in listed] == FILES[1:] == sorted(files(tmp_path / "set"))


@SPOIL
def test_a_cell_of_a_set_that_cannot_be_used(
    spoil: Callable[[Path], str], published: Path, tmp_path: Path
) -> None:
    """An unusable cell is rejected whatever the list says; all others are fetched."""
    path = published / FILES[0]
    copy = Path(shutil.copy(path, tmp_path / FILES[0]))  # the set has links
    reason = spoil(copy)
    copy.rename(path)
    with pytest.raises(
        TbgenError, match=r"not the file that its set names \(its SHA-256 differs\)|longer|ended"
    ):
        get(str(published), tmp_path / "new")
    document, data = json.loads((published / LIST_NAME).read_text()), path.read_bytes()
    document["cells"][0] |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (published / LIST_NAME).write_text(json.dumps(document))
    with pytest.raises(TbgenError, match=f"is not a usable cell: {reason}.*: it was rejected$"):
        get(str(published), tmp_path / "new")
    assert sorted(files(tmp_path / "new")) == FILES[1:]


def test_what_is_there_stays(cells: Path, published: Path, tmp_path: Path) -> None:
    """Existing cells are kept, except truncated ones and those of another version.

    A flipped bit is found only if the whole file is read."""
    new = tmp_path / "new"
    get(str(published), new)
    (new / FILES[0]).write_bytes((new / FILES[0]).read_bytes()[:-1])
    newer(new / FILES[1])
    assert get(str(published), new) == FILES[:2]
    damaged(new / FILES[2])
    assert get(str(published), new) == []
    assert get(str(published), new, check=True) == [FILES[2]]
    assert files(new) == files(cells)
    other = content(NAMES[0], b"narrower")
    (new / file_name(NAMES[0])).write_bytes(other)
    plan = plan_cell_fetch(
        read_list(source_of(str(published))), new, ALL, origin="", on_check=lambda *_: None
    )
    assert [cell.file for cell in plan.differing_files] == [file_name(NAMES[0])]
    assert (len(plan.present_files), plan.files_to_fetch) == (2, ())


def test_a_list_that_means_nothing(published: Path) -> None:
    for name, value in (
        *(("file", "../x.cell"), ("file", "KvK.r.h5"), ("file", FILES[1]), ("digest", "0"), ("bytes", 0)),
    ):
        document = json.loads((published / LIST_NAME).read_text())
        document["cells"][0][name] = value
        with pytest.raises(TbgenError, match="is not a usable list of tables"):
            PublishedSet.parse(json.dumps(document).encode(), "the list")


def test_a_full_disk(cells: Path, published: Path, tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    with small_disk(tmp_path / "small", 4):
        with pytest.raises(TbgenError, match="free some space"):
            get(str(published), tmp_path / "small")
        with pytest.raises(TbgenError, match=r"^the disk is full: .*free some space"):
            publish_cells(cells, tmp_path / "small", ALL)


def test_the_commands(own: Path, cells: Path, tmp_path: Path, capsys: Capture) -> None:
    """One set may have tables and cells."""
    target, new = str(tmp_path / "set"), str(tmp_path / "new")
    answer(capsys, "publish", target, "KvK", "--dir", str(own))
    assert "1 table and 2 cells, " in answer(capsys, "publish", target, "KRvKP", "--cells", str(cells))
    out, told = said(capsys, 0, "fetch", "--cells", new, "--from", target, "--json")
    assert told[0].startswith("tbgen: 2 cells to fetch, ")
    fetched = [each["file"] for each in json.loads(out)["fetched"]]
    assert sorted(fetched) == sorted(files(Path(new)))
    assert len(fetched) == 2
    lacking = failure(capsys, 3, "fetch", "KRPvKRP", "--cells", new, "--from", target)
    assert "has no cells of KRPvKRP" in lacking
    for words in (["--men", "3"], ["--rules", "all"]):
        sentence = failure(capsys, 2, "fetch", *words, "--cells", new, "--from", target)
        assert "--men and --rules are for tables" in sentence
        assert sentence == failure(capsys, 2, "publish", target, *words, "--cells", new)
    (tmp_path / "file").write_text("")
    words = ["--cells", str(tmp_path / "file"), "--from", target]
    assert "is not a directory: choose another for cells" in failure(capsys, 2, "fetch", *words)
