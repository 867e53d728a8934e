"""Small file systems, for tests of full disks, and a refusal to write."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest


@contextmanager
def small_disk(folder: Path, kib: int) -> Iterator[None]:
    """Mount a file system of a size on a folder; skip the test if that is not permitted."""
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


def refuse(*_: object) -> NoReturn:
    """Refuse to open or write a file, in place of a function: tests may run as root, who may write
    anywhere."""
    raise PermissionError(13, "Permission denied")
