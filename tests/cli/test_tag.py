"""``tbgen tag``: files in and out, compressed or not, whole or not at all."""

import bz2
import errno
import gzip
import io
import json
import lzma
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import zstandard

from tbgen.cli import tag
from tbgen.cli.main import main
from tbgen.cli.streams import TERMINATIONS
from tbgen.games.tagging import Adjudicator, tag_games
from tests.support.exhaustive import exhaustive
from tests.support.processes import start

BISHOP = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"
DRAW = f'[Event "1"]\n[FEN "{BISHOP}"]\n\n1... Kh5 2. Kf4 {{Draw by adjudication}} 1/2-1/2\n\n'
MATE = '[Event "2"]\r\n[Result "0-1"]\r\n\r\n1. f3 e5 2. g4 Qh4# 0-1\r\n\r\n'
BROKEN = '[Event "3"]\n\n1. e4 e5\n2. Ke3 *\n\n'
DATA = (DRAW + MATE).encode()
ZSTD = zstandard.ZstdCompressor(write_checksum=True)
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": ZSTD.compress,
}


def unzstd(data: bytes) -> bytes:
    return zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True).read()


DECOMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.decompress,
    "bz2": bz2.decompress,
    "xz": lzma.decompress,
    "zst": unzstd,
}


@pytest.fixture(autouse=True)
def no_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TBGEN_DIR", "there/are/none")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with a file ``in.pgn``."""
    (tmp_path / "in.pgn").write_bytes(DATA)
    return tmp_path


def expected(data: bytes = DATA) -> bytes:
    return b"".join(game.data for game in tag_games(io.BytesIO(data), Adjudicator()))


def run(*words: str, data: bytes | None = None) -> tuple[int, bytes, str]:
    """Exit code, stdout and stderr of the command in a process of its own."""
    command = [sys.executable, "-m", "tbgen", "tag", *words]
    done = subprocess.run(command, input=data, capture_output=True)
    return done.returncode, done.stdout, done.stderr.decode()


def fails(capsys: pytest.CaptureFixture[str], code: int, *words: str | Path) -> str:
    """The one sentence of a command that fails."""
    assert main(["tag", *map(str, words)]) == code
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("tbgen: ")
    assert output.err.count("\n") == 1
    return output.err


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


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


def test_adjudication(place: Path, reference_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["tag", str(place / "in.pgn"), str(place / "out.pgn"), "--dir", str(reference_dir)]
    for options in (["--jobs", "1"], ["--jobs", "2"], ["--require-tables"]):
        assert main([*words, *options]) == 0
        assert capsys.readouterr().err == "tbgen: 2 games tagged (1 mate, 1 tablebase)\n"
        assert b'[RMobilityResult "G1.5"]' in (place / "out.pgn").read_bytes()


@pytest.mark.slow
def test_processes_that_share_no_memory(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As everywhere but on Linux, and there since Python 3.14."""
    (place / "in.pgn").write_bytes(DATA * 20)
    context = multiprocessing.get_context("spawn")
    monkeypatch.setattr("tbgen.games.tagging.tagged.get_context", lambda: context)
    assert main(["tag", str(place / "in.pgn"), str(place / "out.pgn"), "--jobs", "2"]) == 0
    assert (place / "out.pgn").read_bytes() == expected(DATA * 20)


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


def test_standard_streams(place: Path) -> None:
    code, out, err = run("-", "-", data=DATA)
    assert (code, out) == (0, expected())
    assert err.endswith("tbgen: 2 games tagged (1 mate, 1 with a table missing)\n")
    assert run("-", "-", data=gzip.compress(DATA))[1] == expected()
    assert run(str(place / "in.pgn"), "/dev/stdout")[1] == expected()
    assert run("-", "-", data=b"")[:2] == (0, b"")


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


def test_a_stream_gets_what_would_take_too_much_memory(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Of games that cannot be read: it cannot be taken back, and so is held only for a while."""
    source = place / "in.pgn"
    source.write_bytes(data := BROKEN.encode() * 3)
    for room, out, fate in (
        (len(data), b"", "so nothing is written"),
        (len(data) - 1, data, "they went on as they are"),
    ):
        monkeypatch.setattr(tag, "_HELD", room)
        assert main(["tag", str(source), "-", "--jobs", "1"]) == 2
        output = capsysbinary.readouterr()
        assert output.out == out
        assert output.err.decode().splitlines()[-1] == f"tbgen: no game of {source} can be read, {fate}"
        assert main(["tag", str(source), str(place / "out.pgn"), "--jobs", "1"]) == 2
        assert capsysbinary.readouterr().err.decode().endswith("so nothing is written\n")
        assert names(place) == ["in.pgn"]


def test_an_error_that_is_none_of_writing(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is not blamed on the file that is written."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr("tbgen.cli.games.tag_games", refuse)
    assert fails(capsys, 1, place / "in.pgn", place / "out.pgn") == "tbgen: the system: Too many open files\n"
    assert names(place) == ["in.pgn"]


def test_a_summary_for_programs(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It counts what no table can hold and what a missing table would tell apart."""
    source, target = place / "in.pgn", place / "out.pgn"
    start = '[Event "4"]\n\n1. e4 e5 *\n\n'
    rook = '[Event "5"]\n[FEN "8/8/8/4KRk1/8/8/8/8 b - - 0 1"]\n\n*\n\n'
    odd = MATE.replace("[Result", '[RMobilityScoring "Best of three"]\r\n[Result')
    source.write_text(DRAW + MATE + BROKEN + start + odd + rook)
    words = ["tag", str(source), str(target), "--jobs", "1"]
    assert main([*words, "--json"]) == 0
    output = capsys.readouterr()
    assert json.loads(output.out) == {
        "sources": [str(source)],
        "target": str(target),
        "games": 5,
        "bases": {"mate": 2, "played": 1, "table missing": 2},
        "broken": 1,
        "doubts": {},
        "missing_tables": {"KBvK": 1, "KRvK": 1},
        "missing_syzygy": {},
        "unknown_scorings": {"Best of three": 1},
        "unsolvable": {},
    }
    told = output.err.splitlines()
    assert len(told) == 3
    assert told[2] == ("tbgen: 2 tables are missing for 2 games; build them with: tbgen build KBvK KRvK")
    assert told[1] == (
        "tbgen: game 5, line 20: there is no scoring 'Best of three', which its tag names, "
        "so its points are exponential"
    )
    assert main(words) == 0
    assert capsys.readouterr().err.splitlines()[-1] == (
        "tbgen: 5 games tagged (2 mate, 1 played, 2 with a table missing), "
        "1 of an unknown scoring with exponential points, 1 broken and left as it is"
    )
    tagged = target.read_text()
    assert tagged.count('[RMobilityResult "-G0.0"]') == 2
    assert "Best of three" not in tagged
    sentence = fails(capsys, 2, source, "-", "--json")
    assert sentence == (
        "tbgen: --json prints to standard output, where the games go too: name a file for them\n"
    )


def test_a_proof_can_be_required(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table that cannot be is not required with the tables that can."""
    source, target = place / "in.pgn", place / "out.pgn"
    source.write_text(MATE + '[Event "4"]\n\n1. e4 e5 *\n\n')
    assert main(["tag", str(source), str(target), "--require-tables"]) == 0
    assert capsys.readouterr().err == "tbgen: 2 games tagged (1 mate, 1 played)\n"
    target.unlink()
    sentence = fails(capsys, 1, source, target, "--require-proof")
    assert sentence == (
        "tbgen: game 2, line 6: no table can prove the result: "
        "the position has 32 men; tables have at most 5, kings included\n"
    )
    assert names(place) == ["in.pgn"]
    source.write_text(DRAW)
    assert "table KBvK is missing" in fails(capsys, 3, source, target, "--require-proof")


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


def test_broken_games(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = place / "in.pgn", place / "out.pgn"
    source.write_text(MATE + BROKEN + MATE + BROKEN)
    for jobs in ("1", "2"):
        assert main(["tag", str(source), str(target), "--jobs", jobs]) == 0
        assert capsys.readouterr().err.splitlines() == [
            "tbgen: game 2, line 9, ply 3: 'Ke3' is not a legal move; left as it is",
            "tbgen: game 4, line 19, ply 3: 'Ke3' is not a legal move; left as it is",
            "tbgen: 2 games tagged (2 mate), 2 broken and left as they are",
        ]
        assert target.read_bytes().count(BROKEN.encode()) == 2
        target.write_bytes(b"old")
        sentence = fails(capsys, 2, source, target, "--strict", "--jobs", jobs)
        assert sentence == "tbgen: game 2, line 9, ply 3: 'Ke3' is not a legal move\n"
        assert target.read_bytes() == b"old"
        assert names(place) == ["in.pgn", "out.pgn"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--jobs", "0"], "'--jobs': expected a whole number from 1 to 512, not 0"),
        (["--jobs", "two"], "'--jobs': expected a whole number from 1 to 512, not two"),
        (["--scoring", "elo"], "'elo' is not a scoring"),
        (["--cutoff", "-G6"], "'-G6' is not a cutoff"),
        (["--komi", "G5.3"], "'G5.3' is not a komi"),
        (["--fifty-move-rule", "fide"], "'fide' is not a 50-move rule"),
        (["--scoring", "full", "--komi", "G5.5"], "full points need a komi that no score equals"),
        (["--rules", "x"], "there are no rules 'x'"),
        (["more.pgn"], "there is no file"),
    ],
)
def test_bad_options(
    place: Path, words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sentence in fails(capsys, 2, place / "in.pgn", place / "out.pgn", *words)
    assert names(place) == ["in.pgn"]


def test_options(place: Path) -> None:
    words = ["tag", str(place / "in.pgn"), str(place / "out.pgn"), "--jobs", "1", "--rules", "wg"]
    words += ["--scoring", "komi", "--komi", "-G2.25", "--cutoff", "G5", "--fifty-move-rule", "otb"]
    assert main(words) == 0
    text = (place / "out.pgn").read_text()
    for pair in ('Points "0-1"', 'WGMobilityResult "-G0.0"', 'WGMobilityCutoff "G5.0"', 'Komi "-G2.25"'):
        assert f"[{pair}]\n" in text
    assert '[WGMobilityScoring "Komi"]' in text
    assert '[WGMobilityFiftyMoveRule "otb"]' in text
    assert "[RMobility" not in text


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


@pytest.mark.parametrize(
    ("redirection", "words", "code", "sentence"),
    [
        ("<&-", ["-", "out.pgn"], 1, "standard input is closed"),
        ("0>other", ["-", "out.pgn"], 1, "standard input cannot be read: Bad file descriptor"),
        (">&-", ["in.pgn", "-"], 1, "standard output is closed"),
        ("2>&-", ["in.pgn", "out.pgn"], 0, ""),
        ("2>/dev/full", ["in.pgn", "out.pgn"], 0, ""),
    ],
)
def test_closed_streams(place: Path, redirection: str, words: list[str], code: int, sentence: str) -> None:
    command = f'exec "$@" {redirection}'
    done = subprocess.run(
        ["sh", "-c", command, "sh", sys.executable, "-m", "tbgen", "tag", *words],
        cwd=place,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (code, "")
    assert sentence in done.stderr
    assert done.stderr.count("\n") == bool(sentence)
    assert ("out.pgn" in names(place)) == (code == 0)


def test_a_reader_who_has_seen_enough(place: Path) -> None:
    (place / "in.pgn").write_bytes(DATA * 2000)
    command = f"{sys.executable} -m tbgen tag in.pgn - --jobs 2; echo $? >&2"
    done = subprocess.run(["sh", "-c", f"({command}) | head -1"], cwd=place, capture_output=True, text=True)
    assert done.stdout == '[Event "1"]\n'
    assert done.stderr.splitlines()[-1] == str(128 + signal.SIGPIPE)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("jobs", "number", "everybody"),
    [
        *[("1", signal.SIGINT, False), ("2", signal.SIGTERM, False), ("2", signal.SIGINT, True)],
        *[("1", signal.SIGHUP, False), ("2", signal.SIGHUP, True)],
        *exhaustive([("1", signal.SIGTERM, False), ("2", signal.SIGINT, False), ("1", signal.SIGINT, True)]),
        *exhaustive([("1", signal.SIGTERM, True), ("2", signal.SIGTERM, True)]),
    ],
)
def test_an_interrupt(place: Path, jobs: str, number: signal.Signals, everybody: bool) -> None:
    """Whether one process hears of it, or all of them as from a terminal."""
    target = place / "out.pgn"
    if everybody:
        target.write_bytes(b"old")
    before = names(place)
    command = [sys.executable, "-m", "tbgen", "tag", "-", str(target), "--jobs", jobs]
    with start(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdin
        assert process.stderr
        feeder = threading.Thread(target=feed, args=(process.stdin.fileno(),))
        feeder.start()
        try:
            deadline = time.monotonic() + 120
            while not written(place) and time.monotonic() < deadline:
                time.sleep(0.02)
            assert written(place)
            if everybody:
                os.killpg(process.pid, number)
            else:
                process.send_signal(number)
            assert process.wait(120) == 128 + number
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # what should be gone already
        feeder.join()
        said = {signal.SIGINT: "interrupted", **TERMINATIONS}[number]
        assert process.stderr.read().decode().splitlines() == [f"tbgen: {said}"]
    assert names(place) == before
    assert not everybody or target.read_bytes() == b"old"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
def test_a_process_that_is_killed(place: Path) -> None:
    """As Linux does where memory has run out."""
    command = [sys.executable, "-m", "tbgen", "tag", "-", str(place / "out.pgn"), "--jobs", "2"]
    with start(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stderr
        feeder = threading.Thread(target=feed, args=(process.stdin.fileno(),))
        feeder.start()
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while not written(place):
            time.sleep(0.02)
        os.kill(int(children.read_text().split()[0]), signal.SIGKILL)
        assert process.wait(120) == 1
        feeder.join()
        assert process.stderr.read().decode().splitlines() == [
            "tbgen: a process that adjudicated games was killed, maybe because memory ran out: "
            "try fewer with --jobs"
        ]
    assert names(place) == ["in.pgn"]


def feed(descriptor: int) -> None:
    """Write games into a pipe until its reader is gone."""
    try:
        while True:
            os.write(descriptor, DATA * 100)
    except BrokenPipeError:
        pass


def written(place: Path) -> bool:
    return any(path.stat().st_size for path in place.glob("out.pgn.tmp-*"))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
def test_memory_does_not_grow_with_the_file(place: Path) -> None:
    """Ten times the games take no more of it."""
    peaks = []
    for games in (300, 3000):
        (place / "in.pgn").write_text('[Event "x"]\n\n1. e4 e5 {%s} *\n\n' % ("z" * 4000) * games)
        peaks.append(peak(str(place / "in.pgn"), str(place / "out.pgn"), "--jobs", "1"))
    assert (place / "out.pgn").stat().st_size > 12 << 20
    assert peaks[1] - peaks[0] < 4 << 10


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
def test_memory_does_not_grow_with_what_cannot_be_read(place: Path) -> None:
    """Broken games go on as they come, though the file is to be given up if there are no others."""
    peaks = []
    for games in (300, 3000):
        (place / "in.pgn").write_text('[Event "x"]\n\n1. e4 e5 2. Ke3 {%s} *\n\n' % ("z" * 10_000) * games)
        peaks.append(peak(str(place / "in.pgn"), str(place / "out.pgn"), "--jobs", "1", code=2))
    assert names(place) == ["in.pgn"]
    assert peaks[1] - peaks[0] < 8 << 10


def peak(*words: str, code: int = 0) -> int:
    """The most memory in KiB that the command has had; what others report holds the parent's too."""
    script = (
        f"import re, sys; from tbgen.cli.main import main; assert main(sys.argv[1:]) == {code}; "
        "print(re.search(r'VmHWM:\\s*(\\d+) kB', open('/proc/self/status').read())[1])"
    )
    command = [sys.executable, "-c", script, "tag", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout)
