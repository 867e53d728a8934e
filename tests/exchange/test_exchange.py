"""Publishing and fetching, by a real server on this machine."""

import errno
import fcntl
import hashlib
import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import pytest

from tbgen.board.material import Material, all_materials
from tbgen.board.variant import Variant
from tbgen.errors import MissingTableError, NoTablesError, TbgenError, UsageError
from tbgen.exchange import sources
from tbgen.exchange.fetch import fetch, plan, read_list
from tbgen.exchange.publish import publish
from tbgen.exchange.published import LIST_NAME, PublishedFile, PublishedSet
from tbgen.exchange.sources import DirectorySource, source_of
from tests.support.packed_tables import PackedTables
from tests.support.web_server import Handler, serving

R = (Variant.R_MOBILITY,)
KQVK = "KQvK.r.h5"
BAD = ["KBvK.r.h5", KQVK, "KRvK.r.h5"]
Document = dict[str, Any]


class Report:
    def __init__(self) -> None:
        self.bytes = 0
        self.tables: list[str] = []

    def came(self, size: int) -> None:
        self.bytes += size

    def done(self, table: PublishedFile) -> None:
        self.tables.append(table.file)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_FIRST_PAUSE", 0.001)


@pytest.fixture(scope="session")
def published(three_men: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("published")
    publish(three_men, target, R, all_materials(3))
    return target


@pytest.fixture
def spoilt(published: Path, tmp_path: Path) -> Path:
    """A copy of the set to be tampered with."""
    return Path(shutil.copytree(published, tmp_path / "spoilt"))


def get(address: str, directory: Path, *names: str, jobs: int = 1) -> Report:
    source, report = source_of(address), Report()
    materials = [Material.parse(name) for name in names] or None
    to_do = plan(read_list(source), directory, R, materials, place=address)
    fetch(to_do, source, jobs=jobs, report=report)
    assert report.bytes == to_do.bytes
    return report


def files(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


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


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("jobs", [1, 4])
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
    to_do = plan(read_list(source_of(str(published))), own, R, place="")
    assert (to_do.wanted, len(to_do.there), to_do.others, to_do.bytes) == ((), 6, (), 0)
    list_ = json.loads((published / LIST_NAME).read_text())
    list_["tables"][3]["digest"] = "0" * 64
    changed = PublishedSet.parse(json.dumps(list_).encode(), "")
    to_do = plan(changed, own, R, place="")
    assert [table.file for table in to_do.others] == [list_["tables"][3]["file"]]


def test_a_damaged_table_is_fetched_anew(published: Path, own: Path) -> None:
    (own / KQVK).write_bytes(b"junk")
    assert get(str(published), own).tables == [KQVK]
    assert (own / KQVK).read_bytes() == (published / KQVK).read_bytes()


def test_flipped_bits_are_found_where_all_is_checked(published: Path, own: Path) -> None:
    tampered(own / KQVK)
    all_of_set = read_list(source_of(str(published)))
    assert plan(all_of_set, own, R, place="").wanted == ()
    to_do = plan(all_of_set, own, R, place="", check=lambda *_: None)
    assert [table.file for table in to_do.wanted] == [KQVK]
    assert len(to_do.there) == 5


@pytest.mark.parametrize("ranges", [True, False])
def test_a_transfer_that_breaks_off_goes_on(published: Path, tmp_path: Path, ranges: bool) -> None:
    data = (published / KQVK).read_bytes()
    left = [3, 1000, len(data) - 1]

    def misbehave(handler: Handler, name: str) -> bool:
        if name != KQVK or not left or handler.headers.get("Range"):
            return False
        handler.break_off(data[: left.pop(0)], len(data))
        return True

    with serving(published, ranges=ranges, misbehave=misbehave) as server:
        get(server.address, tmp_path, "KQvK")
        ranges_asked = [asked for name, asked in server.asked if name == KQVK and asked]
    assert (tmp_path / KQVK).read_bytes() == data
    if ranges:
        assert ranges_asked == ["bytes=3-"]


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


def test_a_server_that_refuses_every_range(published: Path, tmp_path: Path) -> None:
    def misbehave(handler: Handler, name: str) -> bool:
        if handler.headers.get("Range"):
            handler.send_error(416)
        return bool(handler.headers.get("Range"))

    (tmp_path / f"{KQVK}.part").write_bytes((published / KQVK).read_bytes()[:777])
    with serving(published, misbehave=misbehave) as server:
        get(server.address, tmp_path, "KQvK")
        assert [asked for name, asked in server.asked if name == KQVK] == ["bytes=777-", None]
    assert (tmp_path / KQVK).read_bytes() == (published / KQVK).read_bytes()


def test_a_transfer_that_another_one_stops_keeps_what_has_come(published: Path, tmp_path: Path) -> None:
    begun = threading.Event()

    class Source:
        def place(self, name: str) -> str:
            return name

        @contextmanager
        def open(self, name: str, start: int) -> Iterator[tuple[int, Iterator[bytes]]]:
            if name != KQVK:
                begun.wait(10)
                raise TbgenError("the server is gone")
            yield start, self.data()

        def data(self) -> Iterator[bytes]:
            yield from (bytes(3000), bytes(3000))
            begun.set()
            time.sleep(0.3)
            yield b"late"

    to_do = plan(read_list(source_of(str(published))), tmp_path, R, [Material.parse("KQvK")], place="")
    with pytest.raises(TbgenError, match="the server is gone"):
        fetch(to_do, cast(Any, Source()), jobs=2, report=Report())
    assert (tmp_path / f"{KQVK}.part").read_bytes() == bytes(6000)


def test_a_wrong_file_that_came_whole_is_asked_for_once(spoilt: Path, tmp_path: Path) -> None:
    """What was there before has no part in it if the server sends the file from its first byte."""
    tampered(spoilt / KQVK)
    (tmp_path / f"{KQVK}.part").write_bytes(b"a beginning")
    with serving(spoilt, ranges=False) as server, pytest.raises(TbgenError, match="SHA-256 differs"):
        get(server.address, tmp_path, "KQvK")
    assert [asked for name, asked in server.asked if name == KQVK] == ["bytes=11-"]


def test_a_server_that_always_says_it_has_no_such_range(published: Path) -> None:
    def misbehave(handler: Handler, name: str) -> bool:
        handler.send_error(416)
        return True

    with serving(published, misbehave=misbehave) as server, pytest.raises(TbgenError, match="status 416"):
        read_list(source_of(server.address))


def test_a_busy_server_is_asked_again(published: Path, tmp_path: Path) -> None:
    answers = [503, 429, 500]

    def misbehave(handler: Handler, name: str) -> bool:
        if not answers:
            return False
        handler.send_error(answers.pop())
        return True

    with serving(published, misbehave=misbehave) as server:
        assert get(server.address, tmp_path, "KvK").tables == ["KvK.r.h5"]


def tampered(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def replaced(path: Path) -> None:
    path.write_bytes((path.parent / "KRvK.r.h5").read_bytes())


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (tampered, "not the file that its set names"),
        (lambda path: path.write_bytes(path.read_bytes()[:-5]), "ended after"),
        (lambda path: path.write_bytes(path.read_bytes() + b"more"), "longer than its set says"),
        (lambda path: path.unlink(), "there is no"),
        (lambda path: path.write_bytes(b""), "ended after"),
    ],
)
def test_a_file_that_is_not_what_the_set_says(
    spoil: Callable[[Path], object], sentence: str, spoilt: Path, tmp_path: Path
) -> None:
    spoil(spoilt / KQVK)
    with serving(spoilt) as server, pytest.raises(TbgenError, match=sentence):
        get(server.address, tmp_path / "new", "KQvK")
    assert "KvK.r.h5" in files(tmp_path / "new")
    assert KQVK not in files(tmp_path / "new")
    with pytest.raises(TbgenError, match=sentence if sentence != "there is no" else "cannot be read"):
        get(str(spoilt), tmp_path / "new", "KQvK")


@pytest.mark.parametrize("jobs", [1, 4])
def test_files_that_cannot_be_had_keep_no_others_away(jobs: int, spoilt: Path, tmp_path: Path) -> None:
    tampered(spoilt / "KBvK.r.h5")
    (spoilt / KQVK).write_bytes((spoilt / KQVK).read_bytes()[:-5])
    (spoilt / "KRvK.r.h5").unlink()
    with serving(spoilt) as server, pytest.raises(TbgenError) as error:
        get(server.address, tmp_path / "new", jobs=jobs)
    names, reason = str(error.value).split(" could not be fetched; the first: ")
    assert sorted(names.split(", ")) == BAD
    assert f"/{names.split(', ')[0]}" in reason
    assert set(files(tmp_path / "new")) == {"KvK.r.h5", "KNvK.r.h5", "KPvK.r.h5", f"{KQVK}.part"}


def test_a_server_that_goes_stops_the_rest(published: Path, tmp_path: Path) -> None:
    """It is not asked for every file that it no longer has."""
    asked = []

    def misbehave(handler: Handler, name: str) -> bool:
        asked.append(name)
        if name in (LIST_NAME, "KvK.r.h5"):
            return False
        handler.close_connection = True
        return True

    with (
        serving(published, misbehave=misbehave) as server,
        pytest.raises(TbgenError, match="cannot be reach"),
    ):
        get(server.address, tmp_path)
    assert len(set(asked)) == 3
    assert set(files(tmp_path)) == {"KvK.r.h5"}


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (replaced, "is no table of KQvK for the rules r that can be used: it was not taken$"),
        (tampered, "is no table of KQvK"),
        (lambda path: path.write_bytes(b"HDF"), "is no table of KQvK"),
    ],
)
def test_a_list_that_lies(
    spoil: Callable[[Path], object], sentence: str, spoilt: Path, tmp_path: Path
) -> None:
    """A list that fits the bytes of a wrong file does not help it."""
    spoil(spoilt / KQVK)
    data = (spoilt / KQVK).read_bytes()
    document = json.loads((spoilt / LIST_NAME).read_text())
    for entry in document["tables"]:
        if entry["file"] == KQVK:
            entry |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (spoilt / LIST_NAME).write_text(json.dumps(document))
    with pytest.raises(TbgenError, match=sentence):
        get(str(spoilt), tmp_path / "new", "KQvK")
    assert set(files(tmp_path / "new")) == {"KvK.r.h5"}
    document["tables"][0]["digest"] = "0" * 64
    (spoilt / LIST_NAME).write_text(json.dumps(document))
    with pytest.raises(TbgenError, match="another content than its set says"):
        get(str(spoilt), tmp_path / "other", document["tables"][0]["material"])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda d: d | {"format": "junk"}, "Invalid enum value 'junk'"),
        (lambda d: d | {"version": 2}, "newer tbgen"),
        (lambda d: d | {"version": 2, "tables": [{"name": "otherwise"}]}, "newer tbgen"),
        (lambda d: [d], "Expected `object`, got `array`"),
        (lambda d: {"format": "tbgen set"}, "missing required field `version`"),
        (lambda d: changed(d, file="../KvK.r.h5"), "is not the file of KvK"),
        (lambda d: changed(d, file="/etc/passwd"), "is not the file of KvK"),
        (lambda d: changed(d, material="../K"), "no list of tables"),
        (lambda d: changed(d, rules="x"), "Invalid enum value 'x'"),
        (lambda d: changed(d, bytes=-1), r"Expected `int` >= 1 - at `\$.tables\[0\].bytes`"),
        (lambda d: changed(d, bytes=True), "Expected `int`, got `bool`"),
        (lambda d: changed(d, bytes=1 << 50), "Expected `int` <"),
        (lambda d: changed(d, sha256="00"), "matching regex"),
        (lambda d: changed(d, digest=7), "Expected `str`, got `int`"),
        (lambda d: d | {"tables": d["tables"] * 2}, "twice"),
        (lambda d: d | {"tables": 7}, "Expected `array`, got `int`"),
    ],
)
def test_a_list_that_means_nothing(
    change: Callable[[Document], object], sentence: str, published: Path
) -> None:
    document = json.loads((published / LIST_NAME).read_text())
    with pytest.raises(TbgenError, match=sentence):
        PublishedSet.parse(json.dumps(change(document)).encode(), "the list")


def changed(document: Document, **facts: object) -> Document:
    first = next(entry for entry in document["tables"] if entry["material"] == "KvK")
    return document | {"tables": [first | facts]}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"", "Input data was truncated"),
        (b"junk", "JSON is malformed"),
        (b"[" * 100_000, "Expected `object`, got `array`"),
        (b"\xff\xfe", "JSON is malformed"),
        (b'{"bytes": ' + b"9" * 10_000 + b"}", "Object missing required field `format`"),
        (b"null", "Expected `object`, got `null`"),
        (b"{}", "Object missing required field `format`"),
    ],
)
def test_no_list_at_all(text: bytes, sentence: str) -> None:
    with pytest.raises(TbgenError, match=f"the list is no list of tables that can be used: {sentence}"):
        PublishedSet.parse(text, "the list")


def test_a_list_without_end(tmp_path: Path) -> None:
    (tmp_path / LIST_NAME).write_bytes(b" " * (33 << 20))
    with serving(tmp_path) as server, pytest.raises(TbgenError, match="too long"):
        read_list(source_of(server.address))


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.2/{}",
        "/other/{}",
        "../{}",
        "//example.org/set/{}",
        "https://127.0.0.1/set/{}",
        "%2e%2e/{}",
    ],
)  # fmt: skip
def test_a_redirect_out_of_the_set(location: str, published: Path, tmp_path: Path) -> None:
    def misbehave(handler: Handler, name: str) -> bool:
        if name != KQVK:
            return False
        handler.send_response(302)
        handler.send_header("Location", location.format(name))
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return True

    with (
        serving(published, misbehave=misbehave) as server,
        pytest.raises(TbgenError, match="leads out"),
    ):
        get(server.address, tmp_path, "KQvK")
    assert set(files(tmp_path)) <= {"KvK.r.h5", f"{KQVK}.part"}


def test_a_redirect_that_is_no_address(published: Path, tmp_path: Path) -> None:
    def misbehave(handler: Handler, name: str) -> bool:
        handler.send_response(302)
        handler.send_header("Location", "http://[::1/x")
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return True

    with (
        serving(published, misbehave=misbehave) as server,
        pytest.raises(TbgenError, match="which is no address"),
    ):
        read_list(source_of(server.address))


def test_a_server_that_does_not_keep_to_http(published: Path) -> None:
    def misbehave(handler: Handler, name: str) -> bool:
        handler.wfile.write(b"what is that?\r\n\r\n")
        handler.close_connection = True
        return True

    with (
        serving(published, misbehave=misbehave) as server,
        pytest.raises(TbgenError, match="did not answer by the rules of HTTP"),
    ):
        read_list(source_of(server.address))


def test_a_server_that_compresses(published: Path) -> None:
    def misbehave(handler: Handler, name: str) -> bool:
        handler.send_response(200)
        handler.send_header("Content-Encoding", "gzip")
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return True

    with serving(published, misbehave=misbehave) as server, pytest.raises(TbgenError, match="compressed"):
        read_list(source_of(server.address))


def test_a_redirect_within_the_set(published: Path, tmp_path: Path) -> None:
    def misbehave(handler: Handler, name: str) -> bool:
        if name != KQVK or "deeper" in handler.path:
            return False
        handler.send_response(301)
        handler.send_header("Location", f"/set/deeper/{name}")
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return True

    with serving(published, misbehave=misbehave) as server:
        get(server.address, tmp_path, "KQvK")
    assert (tmp_path / KQVK).exists()


def test_a_circle_of_redirects(published: Path, tmp_path: Path) -> None:
    def misbehave(handler: Handler, name: str) -> bool:
        handler.send_response(302)
        handler.send_header("Location", f"/set/{name}")
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return True

    with serving(published, misbehave=misbehave) as server, pytest.raises(TbgenError, match="circle"):
        read_list(source_of(server.address))


def test_a_server_that_is_gone(published: Path, tmp_path: Path) -> None:
    with serving(published) as server:
        address = server.address
    with pytest.raises(TbgenError, match="Connection refused"):
        read_list(source_of(address))


def test_no_set_there(tmp_path: Path) -> None:
    with serving(tmp_path) as server, pytest.raises(TbgenError, match="is it the address of a published set"):
        read_list(source_of(server.address))
    with pytest.raises(TbgenError, match="cannot be read"):
        read_list(DirectorySource(tmp_path))


def test_a_table_that_the_set_lacks(published: Path, tmp_path: Path) -> None:
    with pytest.raises(TbgenError, match="lacks KQQvK for the rules r") as error:
        get(str(published), tmp_path, "KQQvK")
    assert error.value.exit_code == 3
    with pytest.raises(TbgenError, match="lacks KQQvK, KQRvK, KQBvK, KQNvK, KRRvK and 25 more for"):
        plan(read_list(source_of(str(published))), tmp_path, R, all_materials(4), place="there")
    with pytest.raises(TbgenError, match="has no tables for the rules wg"):
        plan(read_list(source_of(str(published))), tmp_path, [Variant.WHOLE_GAME], place="there")


def test_a_table_that_the_set_lacks_and_that_is_there(published: Path, own: Path, tmp_path: Path) -> None:
    document = json.loads((published / LIST_NAME).read_text())
    document["tables"] = [entry for entry in document["tables"] if entry["file"] != KQVK]
    less = PublishedSet.parse(json.dumps(document).encode(), "")
    kqvk = [Material.parse("KQvK")]
    assert plan(less, own, R, kqvk, place="").wanted == ()
    document["tables"] = document["tables"][-1:]
    to_do = plan(PublishedSet.parse(json.dumps(document).encode(), ""), own, R, kqvk, place="")
    assert (to_do.wanted, to_do.there, to_do.others) == ((), (), ())
    tampered(own / KQVK)
    with pytest.raises(TbgenError, match=r"lacks KQvK \(damaged in .*\) for the rules r"):
        plan(less, own, R, kqvk, place="", check=lambda *_: None)


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


@pytest.mark.parametrize("proxy", ["socks5://localhost:1", "http://[::1", "file:///etc/passwd"])
def test_a_proxy_that_is_none(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    monkeypatch.delenv("no_proxy", raising=False)
    with pytest.raises(UsageError, match="http_proxy names no http or https proxy"):
        source_of("http://example.org/")


def test_a_proxy_without_a_scheme(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("no_proxy", raising=False)
    with serving(published) as server:
        monkeypatch.setenv("http_proxy", server.address.split("/")[2])
        assert read_list(source_of("http://example.org/set")).tables


@pytest.mark.parametrize(
    "text", ["ftp://example.org/x", "nowhere/at/all", "http://", "http://[::1/", "http://localhost:99999/"]
)
def test_no_source(text: str) -> None:
    with pytest.raises(UsageError):
        source_of(text)


def test_a_password_is_not_shown() -> None:
    assert source_of("https://me:secret@example.org/set/").place("x") == "https://example.org/set/x"


def test_a_full_disk(published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(100, 90, 10))
    with pytest.raises(TbgenError, match=r"make room, or choose another directory$"):
        get(str(published), tmp_path / "new")
    monkeypatch.undo()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tbgen.exchange.fetch.put_in_place", full)
    with pytest.raises(TbgenError, match="the disk is full"):
        get(str(published), tmp_path / "new", "KvK")
    assert set(files(tmp_path / "new")) == {"KvK.r.h5.part"}


def test_two_at_once_do_not_meet(published: Path, tmp_path: Path) -> None:
    with (tmp_path / "KvK.r.h5.part").open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(TbgenError, match="another process"):
            get(str(published), tmp_path, "KvK")


def test_packed_tables(packed: PackedTables, three_men: Path, tmp_path: Path) -> None:
    publish(three_men, tmp_path / "set", R, [Material.parse("KvK")])
    path = packed("KQvK")
    both = publish(path.parent, tmp_path / "set", R, [Material.parse("KQvK")])
    assert [table.material for table in both.tables] == ["KvK", "KQvK"]
    get(str(tmp_path / "set"), tmp_path / "new", "KQvK")
    assert (tmp_path / "new" / KQVK).read_bytes() == path.read_bytes()
    to_do = plan(both, three_men, R, place="")
    assert [table.file for table in to_do.others] == [KQVK]
