"""File systems too small for what is to be written."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, kib: int) -> Iterator[None]:
    """A file system of that size, where the test may mount one."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tbgen-test", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("no permission to mount a small disk")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)
