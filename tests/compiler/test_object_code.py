"""Kernels in object files: arguments and results, and when a file is used, or compiled anew."""

import gc
import struct
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from llvmlite import binding

from tbgen.compiler import cache as kernel_cache
from tbgen.compiler.cache import KernelsMissingError, without_compiling
from tbgen.compiler.jit import inlined, jit, kernel
from tbgen.compiler.object_code import ObjectCode
from tbgen.compiler.object_writer import compile_objects
from tbgen.compiler.structs import Ints, Struct


@dataclass(frozen=True, eq=False)
class Row(Struct):
    number: Ints
    counted: int


@inlined
def element(row: Row, index: int) -> int:
    return int(row.number[index])


@kernel
def total(row: Row, start: int) -> int:
    found = 0
    for index in range(start, row.counted):
        found += element(row, index)
    return found


@kernel
def fill(row: Row, number: int) -> None:
    row.number[:] = number


@kernel
def ratio(row: Row, divisor: int) -> int:
    return row.counted // divisor


@jit
def allocating(row: Row) -> int:
    return int(np.zeros(row.counted).sum())


def row() -> Row:
    return Row(np.arange(5), 5)


def examples() -> list[tuple[Row | int, ...]]:
    return [(row(), 0), (row(), 0), (row(), 1)]


@cache
def compiled() -> tuple[dict[str, int], bytes]:
    return compile_objects(zip((total, fill, ratio), examples(), strict=True))


compilations: list[None] = []


def compile_kernels(_: object) -> tuple[dict[str, int], bytes]:
    compilations.append(None)
    return compiled()


@pytest.fixture
def family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], ObjectCode]:
    """Makes object code that is not loaded, as another process does. Each test has a cache of its own."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(kernel_cache, "folder_name", lambda _: "family-0")
    compilations.clear()
    return lambda: ObjectCode(__name__, __name__, "of tests", "a second")


def test_arguments_and_results(family: Callable[[], ObjectCode]) -> None:
    code, given = family(), row()
    assert code.kernel("total")(given, 2) == 9
    assert code.kernel("fill")(given, -7) == 0
    assert given.number.tolist() == [-7] * 5
    assert code.kernel("ratio")(given, 2) == 2
    with pytest.raises(RuntimeError, match="ratio has failed"):
        code.kernel("ratio")(given, 0)
    with pytest.raises(TypeError, match="total needs another structure as argument 1"):
        code.kernel("total")(Row(given.number.astype(np.uint8), 5), 2)
    for wrong in ((given,), (given, 2, 3), (given, 2.0)):
        with pytest.raises(struct.error):
            code.kernel("total")(*wrong)


def test_code_that_needs_more_than_the_file_is_refused() -> None:
    with pytest.raises(RuntimeError, match="NRT_"):
        compile_objects([(allocating, (row(),))])
    with pytest.raises(TypeError, match="returns float64"):
        compile_objects([(jit(lambda row: row.counted / 2), (row(),))])


@pytest.mark.parametrize("damage", [lambda code: code[:-9], lambda code: code[:999] + b"?" + code[1000:]])
def test_a_damaged_file_is_compiled_anew(
    family: Callable[[], ObjectCode], tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    """LLVM would end the process. A thread that must not wait does not compile it."""
    family().load(str)
    (file,) = tmp_path.rglob("*.o")
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    with without_compiling(), pytest.raises(KernelsMissingError, match="of tests"):
        family().load()
    assert family().kernel("total")(row(), 2) == 9
    assert file.read_bytes() == whole
    assert len(compilations) == 2


def test_files_belong_to_processor_settings_and_types(
    family: Callable[[], ObjectCode], monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    for changes in (
        lambda: None,
        lambda: monkeypatch.setenv("NUMBA_OPT", "1"),
        lambda: monkeypatch.setattr(binding, "get_host_cpu_name", lambda: "another"),
        lambda: monkeypatch.setattr(kernel_cache, "folder_name", lambda _: "family-1"),
        lambda: monkeypatch.setattr(f"{__name__}.row", lambda: Row(np.arange(5, dtype=np.uint8), 5)),
    ):
        changes()
        for _ in range(2):
            family().load(said.append)
    assert len(compilations) == len(said) == 5


def test_a_function_keeps_its_code(family: Callable[[], ObjectCode], monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that is being called has code although nothing else refers to it; then the code goes."""
    made: dict[int, Any] = {}
    make = binding.create_mcjit_compiler
    monkeypatch.setattr(binding, "create_mcjit_compiler", lambda *given: made.setdefault(0, make(*given)))
    code = family()
    code.load(str)
    engine, called = weakref.ref(made.pop(0)), code._functions.pop("total")
    del code
    gc.collect()
    assert engine() is not None
    del called
    assert engine() is None


def test_threads_compile_once(family: Callable[[], ObjectCode]) -> None:
    code, barrier = family(), Barrier(4)

    def work(start: int) -> int:
        barrier.wait()
        return code.kernel("total")(row(), start)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [10, 10, 9, 7]
    assert len(compilations) == 1


def test_a_thread_that_must_not_wait(family: Callable[[], ObjectCode]) -> None:
    with without_compiling(), pytest.raises(KernelsMissingError, match="of tests"):
        family().load()
    family().load(str)
    with without_compiling():
        family().load()
    assert len(compilations) == 1
