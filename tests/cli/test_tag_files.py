"""``tbgen tag``: files in and out, compressed or not, whole or not at all."""

import gzip
import io
import os
import resource
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tbgen.cli.main import main
from tests.support.exhaustive import exhaustive
from tests.support.tagging import (
    BROKEN,
    COMPRESS,
    DATA,
    DECOMPRESS,
    DRAW,
    MATE,
    ZSTD,
    expected,
    fails,
    names,
    run,
)

pytestmark = pytest.mark.usefixtures("no_tables")


def test_files(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = place / "in.pgn", place / "out.pgn"
    assert main(["tag", str(source), str(target), "--jobs", "1"]) == 0
    output = capsys.readouterr()
    assert output.out == ""
    first, last = output.err.splitlines()
    assert first.startswith("tbgen: table KBvK is missing from ")
    assert last == "tbgen: 2 games tagged (1 mate, 1 with a table missing)"
    assert target.read_bytes() == expected()
    assert b'[RMobilityResult "-G0.0"]\r\n' in expected()
    assert source.read_bytes() == DATA


def test_a_file_in_its_own_place(place: Path) -> None:
    """With its permissions; and what a link points to, not the link."""
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


def test_permissions_of_a_new_file(place: Path) -> None:
    mask = os.umask(0o027)
    try:
        assert main(["tag", str(place / "in.pgn"), str(place / "out.pgn"), "--jobs", "1"]) == 0
    finally:
        os.umask(mask)
    assert (place / "out.pgn").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("suffix", COMPRESS)
def test_compressed_files(place: Path, suffix: str) -> None:
    """They are known by their first bytes, written by their name, and may consist of several parts."""
    compress, decompress = COMPRESS[suffix], DECOMPRESS[suffix]
    source, target, again = place / "odd.name", place / f"out.pgn.{suffix}", place / f"2.{suffix}"
    for data in (compress(DATA), compress(DRAW.encode()) + compress(MATE.encode())):
        source.write_bytes(data)
        assert main(["tag", str(source), str(target), "--jobs", "1"]) == 0
        assert decompress(target.read_bytes()) == expected()
        assert main(["tag", str(target), str(again), "--jobs", "1"]) == 0
        assert again.read_bytes() == target.read_bytes()
    source.write_bytes(compress(b""))
    assert main(["tag", str(source), str(target), "--jobs", "1"]) == 0
    assert decompress(target.read_bytes()) == b""


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("jobs", ["1", *exhaustive(["2"])])
def test_damaged_files(place: Path, suffix: str, jobs: str, capsys: pytest.CaptureFixture[str]) -> None:
    whole = COMPRESS[suffix](DATA * 500)
    source, target = place / f"in.{suffix}", place / "out.pgn"
    target.write_bytes(b"old")
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 255
    for data in (whole[:-1], whole[: len(whole) // 2], whole[:5], whole + whole[:-2], bytes(flipped)):
        source.write_bytes(data)
        assert main(["tag", str(source), str(target), "--jobs", jobs]) == 1
        sentence = capsys.readouterr().err.splitlines()[-1].replace(f"{place}/", "")
        assert sentence == f"tbgen: in.{suffix} is damaged: it cannot be decompressed"
        assert target.read_bytes() == b"old"
        assert names(place) == sorted(["in.pgn", source.name, "out.pgn"])


GARBAGE = [
    pytest.param(bytes(range(1, 256)) * 100, id="bytes"),
    pytest.param(b"\x04\x22\x4d\x18" + bytes(range(256)) * 9, id="lz4"),
    pytest.param(b"<html><body>Not found</body></html>\n" * 40, id="a page"),
    pytest.param(b"white,black,result\nA,B,1-0\n" * 40, id="a table"),
    pytest.param(BROKEN.encode() * 3, id="games that are all broken"),
]


@pytest.mark.parametrize("data", GARBAGE)
def test_nothing_is_written_where_nothing_can_be_read(
    place: Path, data: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = place / "in.pgn", place / "out.pgn"
    source.write_bytes(data)
    for jobs in ("1", "2"):
        assert main(["tag", str(source), str(target), "--jobs", jobs]) == 2
        output = capsys.readouterr()
        assert output.out == ""
        assert output.err.splitlines()[-1] == (
            f"tbgen: no game of {source} can be read, so nothing is written"
        )
        assert names(place) == ["in.pgn"]
    assert run("-", "-", data=data)[:2] == (2, b"")


def test_archives_and_other_encodings_are_named(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = place / "in.pgn", place / "out.pgn"
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("games.pgn", DATA)
    wide = (MATE * 2000).encode("utf-16-le")
    for data, sentence in [
        (archive.getvalue(), "is a zip archive: unpack it, and give the PGN file that is in it"),
        *(
            (data, "is in UTF-16: convert it, as with: iconv -f UTF-16 -t UTF-8")
            for data in (MATE.encode("utf-16"), wide, MATE.encode("utf-16-be"), gzip.compress(wide))
        ),
    ]:
        source.write_bytes(data)
        assert fails(capsys, 2, source, target) == f"tbgen: {source} {sentence}\n"
        assert names(place) == ["in.pgn"]


def test_zstd_is_an_extra(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "in.zst").write_bytes(ZSTD.compress(DATA))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    for source, target in (("in.zst", "out.pgn"), ("in.pgn", "out.zst")):
        assert fails(capsys, 1, place / source, place / target) == (
            "tbgen: a file compressed by zstd needs zstandard, which is not installed: "
            "install it with: pip install 'tbgen[zstd]'\n"
        )
    assert names(place) == ["in.pgn", "in.zst"]


def test_input_that_is_not_there(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "there is no file" in fails(capsys, 2, place / "no.pgn", place / "out.pgn")
    assert "is a directory: expected a PGN file" in fails(capsys, 2, place, place / "out.pgn")
    assert main(["tag", str(place / "in.pgn")]) == 2
    assert "tbgen tag --help" in capsys.readouterr().err
    assert names(place) == ["in.pgn"]


def test_output_that_cannot_be(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = place / "in.pgn"
    for target in (place / "no" / "out.pgn", source / "out.pgn", Path("/proc/out.pgn")):
        sentence = fails(capsys, 1, source, target, "--jobs", "1")
        assert sentence.startswith(f"tbgen: {target} could not be written: No")
    assert "the name of the file to write is empty" in fails(capsys, 2, source, "")
    assert names(place) == ["in.pgn"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_that_is_read_only(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place.chmod(0o500)
    try:
        assert "no permission to write" in fails(
            capsys, 1, place / "in.pgn", place / "out.pgn", "--jobs", "1"
        )
    finally:
        place.chmod(0o700)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(str(place / "in.pgn"), "/dev/full", "--jobs", "1")
    assert (code, err.splitlines()[-1]) == (1, "tbgen: output: No space left on device")
    command = f"exec {sys.executable} -m tbgen tag in.pgn - --jobs 1 > /dev/full"
    done = subprocess.run(["sh", "-c", command], cwd=place, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, "tbgen: output: No space left on device")


def test_a_disk_that_fills_up(place: Path) -> None:
    """The limit on the size of files stands for the disk."""
    (place / "in.pgn").write_bytes(DATA * 2000)
    (place / "out.pgn").write_bytes(b"old")
    command = [sys.executable, "-m", "tbgen", "tag", "in.pgn", "out.pgn", "--jobs", "1"]

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    done = subprocess.run(command, cwd=place, stderr=subprocess.PIPE, text=True, preexec_fn=limit)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        1,
        f"tbgen: {place / 'out.pgn'} could not be written: File too large",
    )
    assert (place / "out.pgn").read_bytes() == b"old"
    assert names(place) == ["in.pgn", "out.pgn"]
