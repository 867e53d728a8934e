"""The one writer of files: whole or not there, whatever happens while it writes."""

import errno
import mmap
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path, PureWindowsPath

import numpy as np
import pytest

from tbgen.errors import DamagedTableError, TbgenError, UsageError
from tbgen.system import files
from tbgen.system.files import (
    ScratchFile,
    atomic_write,
    check_name,
    read_file,
    remove_leftovers,
    remove_own_leftovers,
    temporary_path,
    write_file,
)
from tbgen.system.memory import discard, resident_memory, unload, zeros


def test_the_order_of_a_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes reach the disk before the name, and the name before the writer says that it has written."""
    done: list[str] = []
    fsync, replace = os.fsync, os.replace

    def syncing(descriptor: int) -> None:
        done.append("sync directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "sync file")
        fsync(descriptor)

    def replacing(source: Path, target: Path) -> None:
        done.append("rename")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", syncing)
    monkeypatch.setattr(os, "replace", replacing)
    path = tmp_path / "a.txt"
    with atomic_write(path) as temporary:
        temporary.write_bytes(b"whole")
        assert temporary.parent == tmp_path
        assert not path.exists()
    assert done == ["sync file", "rename", "sync directory"]
    assert path.read_bytes() == b"whole"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_one_thread_ends_the_writing_of_another(tmp_path: Path) -> None:
    """What it has written is gone, and does not take its name; other files and processes are not touched."""
    path, other = tmp_path / "a.txt", temporary_path(tmp_path / "b.txt")
    foreign = temporary_path(path)
    foreign = foreign.with_name(foreign.name.replace(f"-{os.getpid()}-", "-1-"))
    for file in (other, foreign):
        file.touch()
    writer = atomic_write(path)
    temporary = writer.__enter__()
    temporary.write_bytes(b"half")
    remove_own_leftovers(path)
    assert not temporary.exists()
    with pytest.raises(TbgenError, match=r"a.txt could not be written"):
        writer.__exit__(None, None, None)
    assert {*tmp_path.iterdir()} == {other, foreign}


def test_permissions(tmp_path: Path) -> None:
    """A new file has those that the user gives new files; one that is replaced keeps its own."""
    new, old = tmp_path / "new", tmp_path / "old"
    old.write_bytes(b"before")
    old.chmod(0o440)
    mask = os.umask(0o027)
    try:
        for path in (new, old):
            with atomic_write(path) as temporary:
                assert stat.S_IMODE(temporary.stat().st_mode) == (0o640 if path is new else 0o600)
                temporary.write_bytes(b"after")
    finally:
        os.umask(mask)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (new, old)] == [0o640, 0o440]
    assert old.read_bytes() == b"after"


def test_a_link_is_replaced_and_what_it_points_to_stays(tmp_path: Path) -> None:
    path, link = tmp_path / "a.txt", tmp_path / "link"
    path.write_bytes(b"shared")
    link.symlink_to(path)
    write_file(link, b"own")
    assert (path.read_bytes(), link.read_bytes(), link.is_symlink()) == (b"shared", b"own", False)
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    write_file(loop, b"own")
    assert loop.read_bytes() == b"own"


@pytest.mark.parametrize("refusals", [2, 4, 5])
def test_a_file_that_is_open_is_replaced_once_it_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusals: int
) -> None:
    """Windows refuses to replace open files; there are five attempts."""
    path, real = tmp_path / "a.txt", os.replace
    path.write_bytes(b"before")
    answers = [*[PermissionError(errno.EACCES, "Access is denied")] * refusals, None]

    def replace(source: Path, target: Path) -> None:
        if error := answers.pop(0):
            raise error
        real(source, target)

    monkeypatch.setattr("tbgen.system.files._RETRY_SECONDS", (0.0,) * 4)
    monkeypatch.setattr(os, "replace", replace)
    with nullcontext() if refusals < 5 else pytest.raises(TbgenError, match="no permission"):
        write_file(path, b"after")
    assert path.read_bytes() == (b"after" if refusals < 5 else b"before")
    assert os.listdir(tmp_path) == ["a.txt"]


RESERVED = ("con.pgn", "CON", "aux .h5", "com1.txt", "LPT9", "KQvK:x", "K?vK", "a|b", "a.", "a ", "conout$")
"""Names that Windows reserves or refuses: *Naming Files, Paths, and Namespaces*, Microsoft."""


def test_names_that_windows_has_other_uses_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The drive of a path is not checked; other systems allow all names."""
    for name in RESERVED:
        check_name(Path(name))
    monkeypatch.setattr(sys, "platform", "win32")
    for name in RESERVED:
        for path in (PureWindowsPath("C:\\games", name), PureWindowsPath(name, "KvK.r.h5")):
            with pytest.raises(UsageError, match=re.escape(f"Windows has other uses for '{name}'")):
                check_name(path)
    for free in (r"C:\KBvK.r.h5", r"..\K[WD]vK.r.h5", "C:console.pgn", "com10", ".config", r"\\host\share\a"):
        check_name(PureWindowsPath(free))


@pytest.mark.parametrize(
    "error",
    [
        *(KeyboardInterrupt(), MemoryError(), ValueError("bad"), UsageError("no"), DamagedTableError("x")),
        *(OSError(errno.EMFILE, "Too many open files"), PermissionError(errno.EACCES, "of another file")),
    ],
)
def test_a_block_that_fails_leaves_what_was_there(tmp_path: Path, error: BaseException) -> None:
    """And its error is the error, be it that of a check."""
    path = tmp_path / "a.txt"
    path.write_bytes(b"before")

    def write() -> None:
        with atomic_write(path) as temporary:
            temporary.write_bytes(b"ha")
            raise error

    with pytest.raises(type(error)) as caught:
        write()
    assert caught.value is error
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["a.txt"]


def refusing(number: int) -> Callable[..., None]:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    return refuse


@pytest.mark.parametrize("step", ["open", "fsync", "replace"])
@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (errno.ENOSPC, "the disk is full: {} was not written; free some space and try again"),
        (errno.EDQUOT, "the disk is full: {} was not written; free some space and try again"),
        (errno.EACCES, "no permission to write {}; take another"),
        (errno.EPERM, "no permission to write {}; take another"),
        (errno.EROFS, "{} could not be written: its file system is read-only; take another"),
        (errno.EIO, "{} could not be written: Input/output error"),
    ],
)
def test_errors_are_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, number: int, sentence: str
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"before")
    monkeypatch.setattr(os, step, refusing(number))
    with pytest.raises(TbgenError) as caught:
        write_file(path, b"after", remedy="take another")
    monkeypatch.undo()
    assert str(caught.value) == sentence.format(path)
    assert caught.value.exit_code == 1
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_directories_that_take_no_file(tmp_path: Path) -> None:
    with pytest.raises(TbgenError, match=r"a\.txt could not be written: No such file or directory"):
        write_file(tmp_path / "absent" / "a.txt", b"")
    (tmp_path / "taken").mkdir()
    (tmp_path / "device").symlink_to(os.devnull)
    for name, kind in (("taken", "directory"), ("device", "pipe or a device")):
        with pytest.raises(UsageError, match=f"{name} is a {kind}, not a file: choose another file"):
            write_file(tmp_path / name, b"")
    assert sorted(os.listdir(tmp_path)) == ["device", "taken"]


def test_signals_interrupt_reading() -> None:
    def read_on() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.001)
        read_file(Path("/dev/zero"))

    signal.signal(signal.SIGALRM, signal.default_int_handler)
    with pytest.raises(KeyboardInterrupt):
        read_on()


@pytest.fixture
def ended() -> int:
    """The number of a process that is gone."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    return process.pid


def test_only_what_killed_writers_have_left_is_removed(
    ended: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it may be."""
    host = files._machine_name()
    gone = tmp_path / f"KBvK.r.h5.tmp-{host}-{ended}-0123abcd"
    stale = tmp_path / "KNvK.r.h5.tmp-some-other-machine-7-0123abcd"
    answer = tmp_path / f"cluster.h5.tmp-{host}-{os.getpid()}-0123abcd.tmp-{host}-{ended}-89abcdef"
    here = tmp_path / f"KQvK.r.h5.tmp-{host}-{os.getpid()}-0123abcd"
    elsewhere = tmp_path / "KRvK.r.h5.tmp-some-other-machine-7-0123abcd"
    own = tmp_path / "notes.tmp-of-mine"
    for path in (gone, stale, answer, here, elsewhere, own):
        path.touch()
    for path in (stale, own):
        os.utime(path, times=(0, 0))
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", refusing(errno.EPERM))
        assert remove_leftovers(tmp_path) == []
    assert remove_leftovers(tmp_path) == sorted([gone, stale, answer])
    assert sorted(tmp_path.iterdir()) == sorted([here, elsewhere, own])


def test_containers_of_one_host_name_keep_what_they_write(
    ended: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each counts its own processes, so that of another is not known here, and still may be at work."""
    monkeypatch.setattr(socket, "gethostname", lambda: "worker")
    look = os.stat
    for namespace in (1, 2):
        inode = os.stat_result((0, namespace, *[0] * 8))
        with monkeypatch.context() as patch:
            patch.setattr(
                os, "stat", lambda path, inode=inode, **how: inode if "ns" in str(path) else look(path, **how)
            )
            if namespace == 1:
                patch.setattr(os, "getpid", lambda: ended)
                theirs = temporary_path(tmp_path / "KQvK.r.h5")
                theirs.touch()
                assert theirs.name.startswith(f"KQvK.r.h5.tmp-worker-1-{ended}-")
            else:
                assert remove_leftovers(tmp_path) == []
                os.utime(theirs, times=(0, 0))
                assert remove_leftovers(tmp_path) == [theirs]


@pytest.mark.parametrize("name", ["a.txt", "x" * 255, "é" * 127, "王" * 85])
def test_temporary_names(ended: int, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are new every time, no longer than names may be, and what a killed writer has left under them is
    removed by the next one of the same file."""
    path = tmp_path / name
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: ended)
        mine, again, other = (temporary_path(each) for each in (path, path, tmp_path / "other"))
    assert mine != again
    for each in (mine, other):
        each.touch()
    assert remove_leftovers(tmp_path, name) == [mine]
    mine.write_bytes(b"half")
    write_file(path, b"whole")
    assert path.read_bytes() == b"whole"
    assert {*tmp_path.iterdir()} == {path, other}
    assert remove_leftovers(tmp_path) == [other]


def test_unused_parts_of_a_file_are_not_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file has no name. Memory that is unloaded is read again from it."""
    monkeypatch.setattr("tbgen.system.memory._MIN_UNLOADED_BYTES", 0)
    size = 3 * mmap.PAGESIZE
    with closing(ScratchFile(tmp_path / "a.h5", size)) as file:
        file.write(mmap.PAGESIZE, np.full(mmap.PAGESIZE, 7, np.uint8))
        read = np.zeros(2, np.uint16)
        file.read(mmap.PAGESIZE - 2, read)
        assert read.tolist() == [0, 0x0707]
        array = np.frombuffer(file.map(), np.uint8)
        assert os.listdir(tmp_path) == []
    array[:] += 1
    unload(array[1:])
    kept = [1] if sys.platform == "linux" else [1, 8, 1]
    pages = array.reshape(-1, mmap.PAGESIZE)
    assert [int(page[0]) for page in pages][: len(kept)] == kept
    assert sys.platform != "linux" or pages[1:, 0].tolist() == [7, 0]


def test_memory_that_is_discarded_is_released(tmp_path: Path) -> None:
    array = np.frombuffer(mmap.mmap(-1, 3 * mmap.PAGESIZE, access=mmap.ACCESS_COPY), np.uint16)
    array[:] = 1
    unload(array)  # its content is nowhere else
    assert array.all()
    discard(array[1:])
    assert array[: mmap.PAGESIZE // 2].all()
    assert sys.platform != "linux" or not array[mmap.PAGESIZE // 2 :].any()
    discard(np.ones(mmap.PAGESIZE))


def test_small_pages_save_memory_if_an_array_is_filled_in_part() -> None:
    array = zeros(64 << 20, np.uint8, large_pages=False)
    before = resident_memory()
    array[:: 2 << 20] = 1
    assert resident_memory() - before < len(array) // 2


def test_a_file_for_arrays_that_does_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "posix_fallocate", refusing(errno.ENOSPC), raising=False)
    with pytest.raises(TbgenError, match=r"the disk is full: .*a\.h5 was not written; free some space"):
        ScratchFile(tmp_path / "a.h5", 1)
    assert os.listdir(tmp_path) == []
