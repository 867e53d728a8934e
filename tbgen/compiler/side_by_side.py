"""Compiling two halves of a family of kernels at once."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import tbgen
from tbgen.compiler.cache import directory, home


def compile_side_by_side(aside: Callable[[], object], here: Callable[[], object]) -> None:
    """Compile what two functions compile, the one in another process, which shares the cache.

    Where there is no other processor, or no cache to share, and whatever the other process misses, this one
    compiles it.

    :param aside: a function of a module.
    """
    other = _start(aside) if directory() == home() and os.cpu_count() != 1 else None
    here()
    if other is not None:
        other.wait()
    aside()


def _start(aside: Callable[[], object]) -> "subprocess.Popen[bytes]":
    path = os.pathsep.join([str(Path(tbgen.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-c", f"from {aside.__module__} import {aside.__qualname__} as run; run()"],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
