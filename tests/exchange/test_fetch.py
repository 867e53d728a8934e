"""Fetching tables: missing ones are fetched, existing ones kept, interrupted transfers resumed."""

import errno
import fcntl
import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import pytest

from tbgen.board.material import Material, all_materials
from tbgen.board.variant import Variant
from tbgen.errors import TbgenError
from tbgen.exchange.fetch import fetch, plan_tables, read_list
from tbgen.exchange.publish import publish
from tbgen.exchange.published import LIST_NAME, PublishedSet
from tbgen.exchange.sources import source_of
from tests.support.packed_tables import PackedTables
from tests.support.sets import KQVK, R, Report, files, get, tampered
from tests.support.web_server import serving


@pytest.mark.parametrize(("ranges", "jobs"), [(True, 4), (False, 1)])
def test_fetching_all(published: Path, tmp_path: Path, ranges: bool, jobs: int) -> None:
    with serving(published, ranges=ranges) as server:
        report = get(server.address, tmp_path / "new", jobs=jobs)
        assert len(report.tables) == 6
        asked = len(server.asked)
        assert get(server.address, tmp_path / "new").tables == []
        assert len(server.asked) == asked + 1
    expected = {name: data for name, data in files(published).items() if name.endswith(".r.h5")}
    assert files(tmp_path / "new") == expected


def test_a_table_comes_with_those_it_rests_on(published: Path, tmp_path: Path) -> None:
    report = get(str(published), tmp_path, "KPvK")
    assert sorted(report.tables) == sorted(f"{name}vK.r.h5" for name in ("K", "KQ", "KR", "KB", "KN", "KP"))
    report = get(published.as_uri(), tmp_path / "one", "KQvK")
    assert report.tables == ["KvK.r.h5", KQVK]


def test_what_is_there_stays(published: Path, own: Path, tmp_path: Path) -> None:
    p = plan_tables(read_list(source_of(str(published))), own, R, origin="")
    assert (p.files_to_fetch, len(p.present_files), p.differing_files, p.bytes_to_receive) == ((), 6, (), 0)
    list_ = json.loads((published / LIST_NAME).read_text())
    list_["tables"][3]["digest"] = "0" * 64
    changed = PublishedSet.parse(json.dumps(list_).encode(), "")
    to_do = plan_tables(changed, own, R, origin="")
    assert [table.file for table in to_do.differing_files] == [list_["tables"][3]["file"]]


def test_a_damaged_table_is_fetched_anew(published: Path, own: Path) -> None:
    (own / KQVK).write_bytes(b"junk")
    assert get(str(published), own).tables == [KQVK]
    assert (own / KQVK).read_bytes() == (published / KQVK).read_bytes()


def test_flipped_bits_are_found_where_all_is_checked(published: Path, own: Path) -> None:
    tampered(own / KQVK)
    all_of_set = read_list(source_of(str(published)))
    assert plan_tables(all_of_set, own, R, origin="").files_to_fetch == ()
    to_do = plan_tables(all_of_set, own, R, origin="", on_check=lambda *_: None)
    assert [table.file for table in to_do.files_to_fetch] == [KQVK]
    assert len(to_do.present_files) == 5


def test_the_next_command_goes_on(published: Path, tmp_path: Path) -> None:
    data = (published / KQVK).read_bytes()
    part = tmp_path / f"{KQVK}.part"
    for beginning, expected in (
        (data[:777], ["bytes=777-"]),
        (data, []),
        (data + b"more", [None]),
        (b"wrong" + data[5:777], ["bytes=777-", None]),
    ):
        (tmp_path / KQVK).unlink(missing_ok=True)
        part.write_bytes(beginning)
        with serving(published) as server:
            get(server.address, tmp_path, "KQvK")
            asked = [asked for name, asked in server.asked if name == KQVK]
        assert (tmp_path / KQVK).read_bytes() == data
        assert not part.exists()
        assert asked == expected


def test_a_transfer_that_another_one_stops_keeps_what_has_come(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, stop = threading.Event(), threading.Event()
    monkeypatch.setattr("tbgen.exchange.fetch.Event", lambda: stop)
    monkeypatch.setattr("tbgen.exchange.fetch._STOP_SECONDS", 300)

    class Source:
        def locate(self, name: str) -> str:
            return name

        @contextmanager
        def open(self, name: str, start: int, size: int) -> Iterator[tuple[int, Iterator[bytes]]]:
            if name != KQVK:
                begun.wait(300)
                raise TbgenError("the server is gone")
            yield start, self.data()

        def data(self) -> Iterator[bytes]:
            yield from (bytes(3000), bytes(3000))
            begun.set()
            stop.wait(300)
            yield b"late"

    to_do = plan_tables(
        read_list(source_of(str(published))), tmp_path, R, [Material.parse("KQvK")], origin=""
    )
    with pytest.raises(TbgenError, match="the server is gone"):
        fetch(to_do, cast(Any, Source()), jobs=2, report=Report())
    assert (tmp_path / f"{KQVK}.part").read_bytes() == bytes(6000)


def test_a_table_that_the_set_lacks(published: Path, tmp_path: Path) -> None:
    with pytest.raises(TbgenError, match=r"lacks KQQvK for .*: tbgen build KQQvK --dir ") as error:
        get(str(published), tmp_path, "KQQvK")
    assert error.value.exit_code == 3
    with pytest.raises(TbgenError, match="lacks KQQvK, KQRvK, KQBvK, KQNvK, KRRvK and 25 more for"):
        plan_tables(read_list(source_of(str(published))), tmp_path, R, all_materials(4), origin="there")
    with pytest.raises(TbgenError, match="has no tables for the rules wg"):
        plan_tables(read_list(source_of(str(published))), tmp_path, [Variant.WHOLE_GAME], origin="there")


def test_a_table_that_the_set_lacks_and_that_is_there(published: Path, own: Path, tmp_path: Path) -> None:
    document = json.loads((published / LIST_NAME).read_text())
    document["tables"] = [entry for entry in document["tables"] if entry["file"] != KQVK]
    less = PublishedSet.parse(json.dumps(document).encode(), "")
    kqvk = [Material.parse("KQvK")]
    assert plan_tables(less, own, R, kqvk, origin="").files_to_fetch == ()
    document["tables"] = document["tables"][-1:]
    to_do = plan_tables(PublishedSet.parse(json.dumps(document).encode(), ""), own, R, kqvk, origin="")
    assert (to_do.files_to_fetch, to_do.present_files, to_do.differing_files) == ((), (), ())
    tampered(own / KQVK)
    sentence = r"lacks KQvK \(damaged in .*\) for the rules r: .*: tbgen build --force KQvK --dir "
    with pytest.raises(TbgenError, match=sentence):
        plan_tables(less, own, R, kqvk, origin="", on_check=lambda *_: None)


def test_a_link_is_not_followed(published: Path, tmp_path: Path) -> None:
    (tmp_path / "victim").write_bytes(b"mine")
    directory = tmp_path / "new"
    directory.mkdir()
    (directory / "KvK.r.h5.part").symlink_to(tmp_path / "victim")
    with pytest.raises(TbgenError, match="is a link, which is not followed: remove it"):
        get(str(published), directory, "KvK")
    assert (tmp_path / "victim").read_bytes() == b"mine"


def test_what_another_process_has_just_put_in_place_stays(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part, finished, lock = tmp_path / "KvK.r.h5.part", tmp_path / "finished", fcntl.flock

    def slow(file: BinaryIO, how: int) -> None:
        if not finished.exists():
            part.write_bytes(b"a whole table")
            part.rename(finished)
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", slow)
    assert get(str(published), tmp_path, "KvK").tables == ["KvK.r.h5"]
    assert finished.read_bytes() == b"a whole table"


def test_a_full_disk(published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(100, 90, 10))
    with pytest.raises(TbgenError, match=r"free some space, or choose another directory$"):
        get(str(published), tmp_path / "new")
    monkeypatch.undo()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tbgen.exchange.fetch.put_in_place", full)
    with pytest.raises(TbgenError, match="the disk is full"):
        get(str(published), tmp_path / "new", "KvK")
    assert set(files(tmp_path / "new")) == {"KvK.r.h5.part"}


def test_what_another_process_fetches_is_waited_for(published: Path, tmp_path: Path) -> None:
    """It is not fetched again, and the partial file that was made while waiting is removed."""
    partial, final = tmp_path / "KvK.r.h5.part", tmp_path / "KvK.r.h5"
    other = partial.open("wb")
    fcntl.flock(other, fcntl.LOCK_EX)

    class Waiting(Report):
        def on_wait(self) -> None:
            shutil.copyfile(published / final.name, partial)
            partial.rename(final)
            other.close()

    source, report = source_of(str(published)), Waiting()
    to_do = plan_tables(read_list(source), tmp_path, R, [Material.parse("KvK")], origin="")
    fetch(to_do, source, report=report)
    assert (report.bytes, report.tables, [*tmp_path.iterdir()]) == (0, ["KvK.r.h5"], [final])


def test_packed_tables(packed: PackedTables, three_men: Path, tmp_path: Path) -> None:
    publish(three_men, tmp_path / "set", R, [Material.parse("KvK")])
    path = packed("KQvK")
    both = publish(path.parent, tmp_path / "set", R, [Material.parse("KQvK")])
    assert [table.material for table in both.tables] == ["KvK", "KQvK"]
    get(str(tmp_path / "set"), tmp_path / "new", "KQvK")
    assert (tmp_path / "new" / KQVK).read_bytes() == path.read_bytes()
    to_do = plan_tables(both, three_men, R, origin="")
    assert [table.file for table in to_do.differing_files] == [KQVK]
