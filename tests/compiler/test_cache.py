"""The compilation of kernels, and its announcement."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

import psutil
import pytest

from tbgen.compiler import cache as kernel_cache
from tbgen.compiler.cache import compiling, is_compiled
from tbgen.compiler.jit import compile_for, jit
from tbgen.retro import solver_warmup
from tbgen.tables.look_up import KERNELS

FAMILY = "tbgen.errors"
"""A module that compiles nothing, in place of one that compiles kernels."""


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of a cache of kernels, which does not exist yet; the fallback is ``temporary`` beside it."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TBGEN_KERNELS", str(tmp_path / "temporary"))
    return tmp_path / "kernels"


def test_kernels_are_compiled_once_and_announced(kernels: Path) -> None:
    """A family whose compilation fails is compiled again."""
    said: list[str] = []
    sentence = "compiling the kernels of tests, once for this version of tbgen: a second"
    with pytest.raises(ZeroDivisionError), compiling(FAMILY, "of tests", "a second", said.append):
        raise ZeroDivisionError
    assert not is_compiled(FAMILY)
    for expected in (True, False):
        with compiling(FAMILY, "of tests", "a second", said.append) as needed:
            assert needed == expected
        assert is_compiled(FAMILY)
    assert said == [sentence] * 2


def test_a_thread_of_the_block_does_not_wait_for_it(kernels: Path) -> None:
    found: list[bool] = []

    def work() -> None:
        with compiling(FAMILY, "of tests", "a second", str) as needed:
            found.append(needed)

    with compiling(FAMILY, "of tests", "a second", str):
        thread = Thread(target=work, daemon=True)
        thread.start()
        thread.join(300)
        assert found == [False]
        assert not is_compiled(FAMILY)
    assert is_compiled(FAMILY)


def test_only_one_thread_waits_for_another_process(kernels: Path) -> None:
    found: SimpleQueue[bool] = SimpleQueue()

    def work() -> None:
        with compiling(FAMILY, "of tests", "a second", str) as needed:
            found.put(needed)

    kernels.mkdir()
    with (kernels / f"{kernel_cache.folder_name(FAMILY)}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # as another process does that compiles them
        for _ in range(2):
            Thread(target=work, daemon=True).start()
        assert found.get(timeout=300) is False
        assert found.empty()
        kernel_cache.mark_compiled(FAMILY)
    assert found.get(timeout=300) is False


INTERRUPTED = """
import os, signal, sys, time
import psutil
from tbgen.compiler.cache import compile_side_by_side

def end():
    (other,) = psutil.Process().children()
    while other.name() == "setpriv":  # it has not asked for the signal yet
        time.sleep(0.01)
    print(other.pid, flush=True)
    os.kill(os.getpid(), getattr(signal, sys.argv[1]))

signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore it
os.cpu_count = lambda: 2
compile_side_by_side(signal.pause, end)
"""


@pytest.mark.parametrize(("name", "path"), [("SIGINT", ""), ("SIGKILL", os.environ["PATH"])])
def test_the_other_process_ends_with_the_first(tmp_path: Path, name: str, path: str) -> None:
    """The first process kills the other one; if the first is killed itself, ``setpriv`` in ``PATH`` helps."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PATH": path}
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, name], env=environment, capture_output=True, text=True
    )
    assert done.returncode == -getattr(signal, name), done.stderr
    with suppress(psutil.NoSuchProcess):  # it has ended already
        psutil.Process(int(done.stdout)).wait(60)


def test_sizes_and_removal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert kernel_cache.clear() == kernel_cache.CachedKernels(tmp_path / "kernels", 0, 0)
    current, other = kernel_cache.folder_name(FAMILY), "errors-0123456789abcdef"
    for name, size in ((current, 3), (other, 5), ("no.module-0123456789abcdef", 7)):
        (tmp_path / "kernels" / name).mkdir(parents=True)
        (tmp_path / "kernels" / name / "kernel.nbc").write_bytes(bytes(size))
    (tmp_path / "kernels" / f"{current}.compiled").write_bytes(bytes(11))
    (tmp_path / "of others").touch()
    assert kernel_cache.cached_kernels()[1:] == (14, 12)
    assert kernel_cache.clear()[1:] == (14, 12)
    assert [path.name for path in tmp_path.iterdir()] == ["of others"]


def plus_one(number: int) -> int:
    return number + 1


plus_one.__module__ = FAMILY  # kernels outside the package are not cached


def test_damaged_kernels_are_compiled_anew(kernels: Path, caplog: pytest.LogCaptureFixture) -> None:
    """They are stored anew, too; what is under a wrong name counts as damaged."""
    assert compile_for(jit(plus_one), 1)(1) == 2
    for damage in (lambda whole: b"", lambda whole: whole[:-9], lambda whole: whole[:40] + b"?" + whole[41:]):
        damaged = {file: damage(file.read_bytes()) for file in kernels.rglob("*.nb?")}
        assert [file.write_bytes(content) for file, content in damaged.items()]
        assert compile_for(jit(plus_one), 1)(1) == 2
        assert not [file for file, content in damaged.items() if file.read_bytes() == content]
    assert kernel_cache.store("one", b"code")
    (kernels / "one").rename(kernels / "other")
    assert kernel_cache.load("other") is None
    assert caplog.text.count(f"compiled kernels in {kernels} are damaged") == 1


@pytest.mark.parametrize("anywhere", [False, True])
def test_what_cannot_be_stored(
    kernels: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, anywhere: bool
) -> None:
    """On a full disk, what was stored is used, the rest goes to the temporary directory if that has room.

    Nothing is written if nothing has to be compiled, so a complete cache may belong to somebody else.
    """
    write = Path.write_bytes

    def write_bytes(path: Path, content: bytes) -> int:
        if anywhere or kernels in path.parents:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(path, content)

    kernel_cache.store("old/one", b"old")
    kernel_cache.mark_compiled("tbgen.text")
    monkeypatch.setattr(Path, "write_bytes", write_bytes)
    with compiling("tbgen.text", "of tests", "a second", str) as needed:
        assert not needed
    assert not caplog.records
    found = []
    for _ in range(2):
        with compiling(FAMILY, "of tests", "a second", str) as needed:
            found.append(needed)
            assert kernel_cache.store("new/one", b"new") is not anywhere
    assert found == [True, False]
    assert kernel_cache.load("old/one") == b"old"
    assert kernel_cache.load("new/one") == (None if anywhere else b"new")
    assert not [*kernels.glob("errors*.compiled"), *kernels.rglob("*.tmp-*")]
    (record,) = caplog.records
    for part in (str(kernels), "No space left on device", "NUMBA_CACHE_DIR"):
        assert part in record.message


WITHOUT_DOCSTRINGS = """
from tbgen.compiler import cache
from tbgen.retro.solver_warmup import SMALLEST_MATERIAL, compile_single_thread_kernels
from tbgen.tables.look_up import KERNELS

cache.store = exit
compile_single_thread_kernels(SMALLEST_MATERIAL, {})
KERNELS.load(exit)
"""


def test_processes_without_docstrings_use_the_same_kernels() -> None:
    """With PYTHONOPTIMIZE=2, nothing is compiled anew."""
    solver_warmup.ensure_compiled(str)
    KERNELS.load(str)
    command = [sys.executable, "-OO", "-c", WITHOUT_DOCSTRINGS]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
