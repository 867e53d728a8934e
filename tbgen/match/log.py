"""What engines say and are told, line by line, in a file for each of them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TextIO

from tbgen.files import write_errors

__all__ = ["EngineLogs"]

_UNSAFE: Final = re.compile(r"[^\w.+-]")


class EngineLogs:
    """The logs of an event.

    :param directory: where they lie, made if need be; None for none.
    :raises TbgenError: if it cannot be made.
    """

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._files: dict[str, TextIO] = {}
        if directory is not None:
            with write_errors(directory, remedy="choose another directory with --log"):
                directory.mkdir(parents=True, exist_ok=True)

    def of(self, name: str, slot: int) -> Callable[[str, str], None] | None:
        """Return what writes a line of an engine, or to it, in a slot; None if there are no logs.

        :raises TbgenError: if the file cannot be opened.
        """
        if self._directory is None:
            return None
        path = self._directory / f"{_UNSAFE.sub('_', name)}.log"
        if name not in self._files:
            with write_errors(path, remedy="choose another directory with --log"):
                self._files[name] = open(path, "a", encoding="utf-8", buffering=1)  # noqa: SIM115
        file = self._files[name]

        def write(direction: str, line: str) -> None:
            now = time.time()
            stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now))
            file.write(f"{stamp}.{int(now % 1 * 1e6):06} {slot} {direction} {line}\n")

        return write

    def close(self) -> None:
        """Close all files."""
        for file in self._files.values():
            file.close()
