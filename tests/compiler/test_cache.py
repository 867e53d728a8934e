"""The compilation of kernels, and its announcement."""

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

FAMILY = "tbgen.errors"
"""A module that compiles nothing, in place of one that compiles kernels."""


def test_kernels_are_compiled_once_and_announced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A family whose compilation fails is compiled again."""
    monkeypatch.setattr(kernel_cache, "directory", lambda: tmp_path)
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


def test_a_thread_of_the_block_does_not_wait_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_cache, "directory", lambda: tmp_path)
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


def test_only_one_thread_waits_for_another_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_cache, "directory", lambda: tmp_path)
    found: SimpleQueue[bool] = SimpleQueue()

    def work() -> None:
        with compiling(FAMILY, "of tests", "a second", str) as needed:
            found.put(needed)

    with (tmp_path / f"{kernel_cache.folder_name(FAMILY)}.lock").open("w") as lock:
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
