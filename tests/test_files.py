"""The one writer of files: whole or not there, whatever happens while it writes."""

import errno
import os
import resource
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tbgen import files
from tbgen.errors import DamagedTableError, TbgenError, UsageError
from tbgen.files import remove_leftovers, remove_own, temporary_path, write_errors, write_file, written_aside


def test_a_file_is_there_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with written_aside(path) as temporary:
        assert temporary.parent == tmp_path
        temporary.write_bytes(b"whole")
        assert not path.exists()
    assert path.read_bytes() == b"whole"
    assert os.listdir(tmp_path) == ["a.txt"]


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
    write_file(tmp_path / "a.txt", b"whole")
    assert done == ["sync file", "rename", "sync directory"]


def test_one_thread_ends_the_writing_of_another(tmp_path: Path) -> None:
    """What it has written is gone, and does not take its name; other files and processes are not touched."""
    path, other = tmp_path / "a.txt", temporary_path(tmp_path / "b.txt")
    foreign = temporary_path(path)
    foreign = foreign.with_name(foreign.name.replace(f"-{os.getpid()}-", "-1-"))
    for file in (other, foreign):
        file.touch()
    writer = written_aside(path)
    temporary = writer.__enter__()
    temporary.write_bytes(b"half")
    remove_own(path)
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
            with written_aside(path) as temporary:
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
        with written_aside(path) as temporary:
            temporary.write_bytes(b"ha")
            raise error

    with pytest.raises(type(error)) as caught:
        write()
    assert caught.value is error
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_errors_of_writing_are_told_from_others(tmp_path: Path) -> None:
    """Only what a block names as such; and it may say that something else is damaged."""
    path = tmp_path / "a.txt"
    with (
        pytest.raises(TbgenError, match=r"a\.txt could not be written: Too many open files"),
        write_errors(path),
    ):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    damaged = DamagedTableError("x")
    with pytest.raises(DamagedTableError) as caught, write_errors(path):
        raise damaged
    assert caught.value is damaged


def refusing(number: int) -> Callable[..., None]:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    return refuse


@pytest.mark.parametrize("step", ["open", "fsync", "replace"])
@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (errno.ENOSPC, "the disk is full: {} was not written; make room and try again"),
        (errno.EDQUOT, "the disk is full: {} was not written; make room and try again"),
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
    with pytest.raises(TbgenError, match="taken could not be written: Is a directory"):
        write_file(tmp_path / "taken", b"")
    if os.geteuid() != 0:
        tmp_path.chmod(0o500)
        with pytest.raises(TbgenError, match=r"no permission to write .*; choose another directory"):
            write_file(tmp_path / "a.txt", b"")
        tmp_path.chmod(0o700)
    assert os.listdir(tmp_path) == ["taken"]


def test_a_disk_that_fills_up(tmp_path: Path) -> None:
    """The limit on the size of files stands for the disk."""
    path = tmp_path / "a.txt"
    path.write_bytes(b"before")
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(TbgenError, match="could not be written: File too large"):
            write_file(path, bytes(200_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["a.txt"]


KILLED = """
import os, signal, sys
from pathlib import Path
from tbgen.files import written_aside
with written_aside(Path(sys.argv[1])) as temporary:
    temporary.write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_writer_leaves_what_the_next_one_removes(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"before")
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path)])
    assert killed.returncode == -signal.SIGKILL
    (left,) = set(tmp_path.iterdir()) - {path}
    assert left.read_bytes() == b"half"
    assert path.read_bytes() == b"before"
    write_file(tmp_path / "b.txt", b"another")
    assert left.exists()
    write_file(path, b"after")
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "b.txt"]


@pytest.mark.parametrize("name", ["a.txt", "x" * 255, "é" * 127])
def test_leftovers_of_one_file(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: ended.pid)
        mine, other = (temporary_path(tmp_path / final) for final in (name, "other"))
    for path in (mine, other):
        path.touch()
    assert remove_leftovers(tmp_path, name) == [mine]
    assert remove_leftovers(tmp_path) == [other]


def test_only_what_killed_writers_have_left_is_removed(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    host = files._place()
    gone = tmp_path / f"KBvK.r.h5.tmp-{host}-{ended.pid}-0123abcd"
    stale = tmp_path / "KNvK.r.h5.tmp-some-other-machine-7-0123abcd"
    answer = tmp_path / f"cluster.h5.tmp-{host}-{os.getpid()}-0123abcd.tmp-{host}-{ended.pid}-89abcdef"
    here = tmp_path / f"KQvK.r.h5.tmp-{host}-{os.getpid()}-0123abcd"
    elsewhere = tmp_path / "KRvK.r.h5.tmp-some-other-machine-7-0123abcd"
    own = tmp_path / "notes.tmp-of-mine"
    for path in (gone, stale, answer, here, elsewhere, own):
        path.touch()
    for path in (stale, own):
        os.utime(path, times=(0, 0))
    assert remove_leftovers(tmp_path) == sorted([gone, stale, answer])
    assert sorted(tmp_path.iterdir()) == sorted([here, elsewhere, own])


def test_containers_of_one_host_name_keep_what_they_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each counts its own processes, so that of another is not known here, and still may be at work."""
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    monkeypatch.setattr(socket, "gethostname", lambda: "worker")
    look = os.stat
    for namespace in (1, 2):
        inode = os.stat_result((0, namespace, *[0] * 8))
        with monkeypatch.context() as patch:
            patch.setattr(
                os, "stat", lambda path, inode=inode, **how: inode if "ns" in str(path) else look(path, **how)
            )
            if namespace == 1:
                patch.setattr(os, "getpid", lambda: ended.pid)
                theirs = temporary_path(tmp_path / "KQvK.r.h5")
                theirs.touch()
                assert theirs.name.startswith(f"KQvK.r.h5.tmp-worker-1-{ended.pid}-")
            else:
                assert remove_leftovers(tmp_path) == []
                os.utime(theirs, times=(0, 0))
                assert remove_leftovers(tmp_path) == [theirs]


def test_what_may_not_be_removed_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = tmp_path / "KBvK.r.h5.tmp-some-other-machine-7-0123abcd"
    left.touch()
    os.utime(left, times=(0, 0))
    monkeypatch.setattr(Path, "unlink", refusing(errno.EPERM))
    assert remove_leftovers(tmp_path) == []
    assert left.exists()


@pytest.mark.parametrize("name", ["a.txt", "x" * 255, "é" * 127, "王" * 85])
def test_temporary_names(tmp_path: Path, name: str) -> None:
    """They are new every time, known as such, and no longer than names may be."""
    path = tmp_path / name
    first, second = temporary_path(path), temporary_path(path)
    assert first != second
    assert first.parent == tmp_path
    assert files._UNFINISHED.fullmatch(first.name)
    write_file(path, b"whole")
    assert path.read_bytes() == b"whole"
