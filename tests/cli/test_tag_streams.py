"""``tbgen tag``: standard streams, interruptions, and memory."""

import gzip
import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tbgen.cli import tag
from tbgen.cli.main import main
from tbgen.system.signals import TERMINATION_WORDS
from tests.support.exhaustive import exhaustive
from tests.support.processes import start
from tests.support.tagging import BROKEN, DATA, expected, names

pytestmark = pytest.mark.usefixtures("no_tables")


def test_standard_streams(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    for data, tagged in ((DATA, expected()), (gzip.compress(DATA), expected())):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(data))))
        assert main(["tag", "-", "-", "--jobs", "1"]) == 0
        assert capsysbinary.readouterr().out == tagged


def test_a_stream_gets_what_would_take_too_much_memory(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Unreadable games are held back only up to a limit, since a stream cannot be undone."""
    source = place / "in.pgn"
    source.write_bytes(data := BROKEN.encode() * 3)
    for room, out, fate in (
        (len(data), b"", "so nothing is written"),
        (len(data) - 1, data, "so all were copied unchanged"),
    ):
        monkeypatch.setattr(tag, "_MAX_BUFFERED_BYTES", room)
        assert main(["tag", str(source), "-", "--jobs", "1"]) == 2
        output = capsysbinary.readouterr()
        assert output.out == out
        assert output.err.decode().splitlines()[-1] == f"tbgen: no game of {source} can be read, {fate}"
        assert main(["tag", str(source), str(place / "out.pgn"), "--jobs", "1"]) == 2
        assert capsysbinary.readouterr().err.decode().endswith("so nothing is written\n")
        assert names(place) == ["in.pgn"]


def test_a_full_disk_behind_standard_output(place: Path) -> None:
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "tbgen", "tag", str(place / "in.pgn"), "-"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (1, b"tbgen: output: No space left on device\n")


@pytest.mark.parametrize(
    ("jobs", "number", "everybody"),
    [
        *[("2", signal.SIGINT, True), ("1", signal.SIGHUP, False)],
        *exhaustive([("1", signal.SIGINT, False), ("2", signal.SIGINT, False), ("1", signal.SIGINT, True)]),
        *exhaustive([("2", signal.SIGTERM, False), ("1", signal.SIGTERM, True), ("2", signal.SIGHUP, True)]),
    ],
)
def test_an_interrupt(place: Path, jobs: str, number: signal.Signals, everybody: bool) -> None:
    """An interrupt reaches one process, or all of them as from a terminal."""
    target = place / "out.pgn"
    if everybody:
        target.write_bytes(b"old")
    before = names(place)
    with tagging(place, jobs) as process:
        if everybody:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        assert process.wait(600) == 128 + number
        assert process.stderr
        said = {signal.SIGINT: "interrupted", **TERMINATION_WORDS}[number]
        assert process.stderr.read().decode().splitlines() == [f"tbgen: {said}"]
    assert names(place) == before
    assert not everybody or target.read_bytes() == b"old"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
def test_a_process_that_is_killed(place: Path) -> None:
    """A process is killed, as by Linux when memory is exhausted."""
    with tagging(place, "2") as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        os.kill(int(children.read_text().split()[0]), signal.SIGKILL)
        assert process.wait(600) == 1
        assert process.stderr
        assert process.stderr.read().decode().splitlines() == [
            "tbgen: a process that adjudicated games was killed, maybe because memory ran out: "
            "try fewer with --jobs"
        ]
    assert names(place) == ["in.pgn"]


@contextmanager
def tagging(place: Path, jobs: str) -> Iterator["subprocess.Popen[Any]"]:
    """A process that tags an endless stream and has begun to write, in a session of its own."""
    command = [sys.executable, "-m", "tbgen", "tag", "-", str(place / "out.pgn"), "--jobs", jobs]
    pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
    with start(command, **pipes, start_new_session=True) as process:
        assert process.stdin
        feeder = threading.Thread(target=feed, args=(process.stdin.fileno(),))
        feeder.start()
        try:
            while not any(path.stat().st_size for path in place.glob("out.pgn.tmp-*")):
                time.sleep(0.02)
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # all should have ended already
        feeder.join()


def feed(descriptor: int) -> None:
    """Write games into a pipe until its reader is gone."""
    try:
        while True:
            os.write(descriptor, DATA * 100)
    except BrokenPipeError:
        pass


@pytest.mark.exhaustive
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
@pytest.mark.parametrize(("moves", "code"), [("1. e4 e5 2. Ke3", 2), ("1. e4 e5", 0)])
def test_memory_does_not_grow_with_the_file(place: Path, moves: str, code: int) -> None:
    """Ten times as many games need no more memory; this is true of broken games too, although the file is not
    written if there are no others."""
    peaks = []
    for games in (150, 1500):
        (place / "in.pgn").write_text(f'[Event "x"]\n\n{moves} {{{"z" * 20_000}}} *\n\n' * games)
        peaks.append(peak(str(place / "in.pgn"), str(place / "out.pgn"), "--jobs", "1", code=code))
    assert ("out.pgn" in names(place)) == (code == 0)
    assert peaks[1] - peaks[0] < 8 << 10


def peak(*words: str, code: int = 0) -> int:
    """Return the peak memory of a command in KiB, without that of its parent process."""
    script = (
        f"import re, sys; from tbgen.cli.main import main; assert main(sys.argv[1:]) == {code}; "
        "print(re.search(r'VmHWM:\\s*(\\d+) kB', open('/proc/self/status').read())[1])"
    )
    command = [sys.executable, "-c", script, "tag", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout)
