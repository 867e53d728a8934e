"""``tbgen tag``: input and output files, compressed or not; output is complete or not written."""

import gzip
import io
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tbgen.cli.main import main
from tbgen.errors import TbgenError
from tbgen.games.pgn.files import open_for_reading
from tests.support.commands import Capture, said
from tests.support.exhaustive import exhaustive
from tests.support.tagging import (
    BROKEN,
    COMPRESS,
    DATA,
    DECOMPRESS,
    DRAW,
    MATE,
    expected,
    fails,
    names,
)

pytestmark = pytest.mark.usefixtures("no_tables")


def test_files(place: Path, capsys: Capture) -> None:
    source, target = place / "in.pgn", place / "out.pgn"
    out, (first, last) = said(capsys, 0, "tag", source, target, "--jobs", "1")
    assert out == ""
    assert first.startswith("tbgen: table KBvK is missing from ")
    assert last == "tbgen: 2 games tagged (1 mate, 1 with a table missing)"
    assert target.read_bytes() == expected()
    assert b'[RMobilityResult "-G0.0"]\r\n' in expected()
    assert source.read_bytes() == DATA


def test_a_file_in_its_own_place(place: Path) -> None:
    """A file tagged in place keeps its permissions; of a link, the target is replaced."""
    path, link = place / "in.pgn", place / "link.pgn"
    path.chmod(0o640)
    link.symlink_to(path.name)
    assert main(["tag", str(path), str(path), "--jobs", "1"]) == 0
    assert path.read_bytes() == expected()
    assert main(["tag", str(link), str(link), "--jobs", "1"]) == 0
    assert path.read_bytes() == expected()
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert names(place) == ["in.pgn", "link.pgn"]


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="there is no /dev/shm")
def test_a_file_in_shared_memory_is_no_stream() -> None:
    with TemporaryDirectory(dir="/dev/shm") as directory:
        path = Path(directory) / "in.pgn"
        path.write_bytes(DATA)
        assert main(["tag", str(path), str(path), "--jobs", "1"]) == 0
        assert path.read_bytes() == expected()


@pytest.mark.parametrize("suffix", COMPRESS)
def test_compressed_files(place: Path, suffix: str) -> None:
    """Compressed input is recognised by its first bytes, output by its name; files may have several parts."""
    compress, decompress = COMPRESS[suffix], DECOMPRESS[suffix]
    source, target, again = place / "odd.name", place / f"out.pgn.{suffix}", place / f"2.{suffix}"
    for data, tagged in (
        (compress(DATA), expected()),
        (compress(DRAW.encode()) + compress(MATE.encode()), expected()),
    ):
        source.write_bytes(data)
        assert main(["tag", str(source), str(target), "--jobs", "1"]) == 0
        assert decompress(target.read_bytes()) == tagged
        assert main(["tag", str(target), str(again), "--jobs", "1"]) == 0
        assert again.read_bytes() == target.read_bytes()


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("jobs", ["1", *exhaustive(["2"])])
def test_damaged_files(place: Path, suffix: str, jobs: str, capsys: Capture) -> None:
    whole = COMPRESS[suffix](DATA * 100)
    source, target = place / f"in.{suffix}", place / "out.pgn"
    target.write_bytes(b"old")
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 255
    for data in (whole[:-1], whole[: len(whole) // 2], whole[:5], whole + whole[:-2], bytes(flipped)):
        source.write_bytes(data)
        _, told = said(capsys, 1, "tag", source, target, "--jobs", jobs)
        assert told[-1] == f"tbgen: {source} is damaged: it cannot be decompressed"
        assert target.read_bytes() == b"old"
        assert names(place) == sorted(["in.pgn", source.name, "out.pgn"])


GARBAGE = {
    "games that are all broken": BROKEN.encode() * 3,
    "bytes": bytes(range(1, 256)) * 100,
    "lz4": b"\x04\x22\x4d\x18" + bytes(range(256)) * 9,
    "a page": b"<html><body>Not found</body></html>\n" * 40,
    "a table": b"white,black,result\nA,B,1-0\n" * 40,
}


def test_nothing_is_written_where_nothing_can_be_read(
    place: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = place / "in.pgn", place / "out.pgn"
    for name, data in GARBAGE.items():
        source.write_bytes(data)
        for jobs in ("1", "2") if name == "games that are all broken" else ("1",):
            out, told = said(capsys, 2, "tag", source, target, "--jobs", jobs)
            assert (out, told[-1]) == ("", f"tbgen: no game of {source} can be read, so nothing is written")
            assert names(place) == ["in.pgn"]
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(data))))
        assert said(capsys, 2, "tag", "-", "-")[0] == ""


def test_archives_and_other_encodings_are_named(place: Path, capsys: Capture) -> None:
    source, target = place / "in.pgn", place / "out.pgn"
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("games.pgn", DATA)
    wide = (MATE * 2000).encode("utf-16-le")
    for data, sentence in [
        (archive.getvalue(), "is a zip archive: unpack it, and name a file from it"),
        *(
            (data, f"is in {name[:6]}: convert it, as with: iconv -f {name} -t UTF-8 {files}")
            for data, name, files in (
                *((MATE.encode(name), name, f"{source} > {source}.utf8") for name in ("UTF-16", "UTF-32")),
                (MATE.encode("utf-16-be"), "UTF-16BE", f"{source} > {source}.utf8"),
                (gzip.compress(wide), "UTF-16LE", "- > converted.pgn"),
            )
        ),
    ]:
        source.write_bytes(data)
        assert fails(capsys, 2, source, target) == f"tbgen: {source} {sentence}\n"
        assert names(place) == ["in.pgn"]


def test_a_file_that_cannot_be_opened_is_named() -> None:
    with pytest.raises(TbgenError, match="cannot be read: "), open_for_reading("x" * 300):
        pass


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk(place: Path, capsys: Capture) -> None:
    _, told = said(capsys, 1, "tag", place / "in.pgn", "/dev/full", "--jobs", "1")
    assert told[-1] == "tbgen: output: No space left on device"
