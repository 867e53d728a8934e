"""Packages that only some users need: what is said where one is missing, and how it is installed there."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from tbgen.errors import TbgenError


@dataclass(eq=False, repr=False)
class MissingExtraError(TbgenError):
    """Something needs a package that only one of tbgen's extras brings.

    :ivar purpose: what needs it.
    :ivar package: what is not installed.
    :ivar extra: which extra of pyproject.toml brings it.
    """

    code = "missing_extra"

    purpose: str
    package: str
    extra: str

    def __str__(self) -> str:
        command = installing(packages_of(self.extra) or [self.package])
        return (
            f"{self.purpose} needs {self.package} of the extra {self.extra}, which is not installed: "
            f"install it with: {command}"
        )


@contextmanager
def needs_extra(purpose: str, extra: str) -> Iterator[None]:
    """Say what is to be installed if an import of the block fails.

    :param purpose: what needs the import.
    :param extra: which extra of pyproject.toml brings it.
    :raises MissingExtraError: for a package that is not there; a missing module of tbgen itself is a fault of
        tbgen and stays the error it is.

    >>> with needs_extra("a report", "report"):
    ...     import json
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "tbgen"):
            raise
        raise MissingExtraError(purpose, package, extra) from error


def packages_of(extra: str) -> list[str]:
    """Return the packages of an extra as they were named when tbgen was installed; none if it was not."""
    try:
        entries = metadata.requires("tbgen") or []
    except metadata.PackageNotFoundError:
        return []
    pattern = re.compile(rf"(?P<package>[^;]+?)\s*;\s*extra == ['\"]{re.escape(extra)}['\"]")
    return [found["package"] for found in map(pattern.fullmatch, entries) if found]


def installing(packages: list[str]) -> str:
    """Return the command that installs packages into the environment of this process.

    It names packages rather than an extra of tbgen, so it is the same for a clone and a wheel. It takes what
    is there: pipx where that made the environment, pip, uv, or else pip that Python brings or that another
    Python lends.
    """
    python = sys.executable
    if Path(sys.prefix, "pipx_metadata.json").exists() and shutil.which("pipx"):
        return shlex.join(["pipx", "inject", "tbgen", *packages])
    if find_spec("pip"):
        return shlex.join([python, "-m", "pip", "install", *packages])
    if shutil.which("uv"):
        return shlex.join(["uv", "pip", "install", "--python", python, *packages])
    if find_spec("ensurepip"):
        install = shlex.join([python, "-m", "pip", "install", *packages])
        return f"{shlex.join([python, '-m', 'ensurepip'])} && {install}"
    return shlex.join(["python3", "-m", "pip", "--python", python, "install", *packages])
