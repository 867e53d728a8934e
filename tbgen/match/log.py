"""What engines say and are told, line by line, in a file for each of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final, TextIO, TypeAlias

from tbgen.files import write_errors

LineLog: TypeAlias = Callable[[str, str], None]
"""Writes a line, after ``<`` if an engine has sent it, else after ``>``."""

_REMEDY: Final = "choose another directory with --log"
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
            with write_errors(directory, remedy=_REMEDY):
                directory.mkdir(parents=True, exist_ok=True)

    def of(self, name: str, slot: int) -> LineLog | None:
        """Return what writes a line of an engine, or to it, in a slot; None if there are no logs.

        :raises TbgenError: if the file cannot be opened.
        """
        if self._directory is None:
            return None
        path = self._directory / f"{_UNSAFE.sub('_', name)}.log"
        if name not in self._files:
            with write_errors(path, remedy=_REMEDY):
                self._files[name] = open(path, "a", encoding="utf-8", buffering=1)  # noqa: SIM115
        file = self._files[name]

        def write(direction: str, line: str) -> None:
            file.write(f"{datetime.now():%Y-%m-%d %H:%M:%S.%f} {slot} {direction} {line}\n")

        return write

    def close(self) -> None:
        """Close all files."""
        for file in self._files.values():
            file.close()
