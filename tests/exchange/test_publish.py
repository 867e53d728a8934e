"""Publishing tables."""

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tbgen.board.material import Material, all_materials
from tbgen.errors import MissingTableError, NoTablesError, TbgenError
from tbgen.exchange.publish import publish, publish_file
from tbgen.exchange.published import LIST_NAME, PublishedSet
from tests.support.sets import KQVK, R, files


def test_a_published_set_says_what_it_has(published: Path, three_men: Path) -> None:
    names = sorted(f"{material}.r.h5" for material in all_materials(3))
    assert sorted(path.name for path in published.iterdir()) == sorted([*names, "SHA256SUMS", LIST_NAME])
    document = json.loads((published / LIST_NAME).read_text())
    for entry in document["tables"]:
        data = (published / entry["file"]).read_bytes()
        assert data == (three_men / entry["file"]).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (entry["bytes"], entry["sha256"])
        assert f"{entry['sha256']}  {entry['file']}\n" in (published / "SHA256SUMS").read_text()
    assert len(document["tables"]) == 6


def test_publishing_again_reads_nothing_again(
    three_men: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = publish(three_men, tmp_path, R, all_materials(3))
    os.utime(tmp_path / LIST_NAME, ns=(2**62, 2**62))
    monkeypatch.setattr("tbgen.exchange.publish.check_table", None)
    assert publish(three_men, tmp_path, R, [Material.parse("KQvK")]) == first
    (tmp_path / KQVK).unlink()
    with pytest.raises(TypeError):  # what is gone is made anew
        publish(three_men, tmp_path, R, [Material.parse("KQvK")])


def test_a_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message is not that its copy cannot be written."""
    (tmp_path / "a.h5").touch()
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(TbgenError, match=r"no permission to read .*a\.h5: change its permissions"):
        publish_file(tmp_path / "a.h5", tmp_path / "set", {}, lambda _: pytest.fail("it is not listed"))


def test_publishing_in_place(own: Path) -> None:
    before = files(own)
    publish(own, own, R)
    assert {name: data for name, data in files(own).items() if name in before} == before
    assert len(PublishedSet.parse((own / LIST_NAME).read_bytes(), "").tables) == 6


def test_a_damaged_table_is_not_published(own: Path, tmp_path: Path) -> None:
    data = bytearray((own / KQVK).read_bytes())
    data[len(data) // 2] ^= 1
    (own / KQVK).write_bytes(data)
    with pytest.raises(TbgenError, match="KQvK"):
        publish(own, tmp_path / "set", R, [Material.parse("KvK"), Material.parse("KQvK")])
    assert set(files(tmp_path / "set")) == {"KvK.r.h5", LIST_NAME, "SHA256SUMS"}


def test_published_tables_come_with_those_they_rest_on(three_men: Path, tmp_path: Path) -> None:
    published = publish(three_men, tmp_path / "set", R, [Material.parse("KQvK")])
    assert [table.material for table in published.tables] == ["KvK", "KQvK"]
    own = tmp_path / "own"
    own.mkdir()
    with pytest.raises(MissingTableError, match="KQvK is missing"):
        publish(own, tmp_path / "other", R, [Material.parse("KQvK")])
    assert publish(own, tmp_path / "set", R, [Material.parse("KQvK")]) == published, "they stay"


def test_a_full_disk_of_another_file_system(
    three_men: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(number: int) -> Callable[..., None]:
        def failing(*_: object) -> None:
            raise OSError(number, os.strerror(number))

        return failing

    monkeypatch.setattr(os, "link", fail(errno.EXDEV))
    publish(three_men, tmp_path / "copied", R, [Material.parse("KvK")])
    assert (tmp_path / "copied" / "KvK.r.h5").read_bytes() == (three_men / "KvK.r.h5").read_bytes()
    monkeypatch.setattr(shutil, "copyfile", fail(errno.ENOSPC))
    with pytest.raises(TbgenError, match="the disk is full"):
        publish(three_men, tmp_path / "set", R, [Material.parse("KvK")])
    assert files(tmp_path / "set") == {}


def test_nothing_to_publish(tmp_path: Path) -> None:
    with pytest.raises(NoTablesError):
        publish(tmp_path, tmp_path / "set", R)
