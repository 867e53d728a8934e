"""Errors of packages: an optional one is missing, or one cannot be imported with its settings."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from traceback import walk_tb

from tbgen.errors import TbgenError, UsageError


@dataclass(eq=False, repr=False)
class MissingExtraError(TbgenError):
    """A feature needs a package that is not installed; the package belongs to one of tbgen's extras.

    :ivar feature: the name of the feature, as the subject of the message.
    :ivar package: the missing package.
    :ivar extra: the extra of pyproject.toml that contains the package.
    """

    code = "missing_extra"

    feature: str
    package: str
    extra: str

    def __str__(self) -> str:
        command = install_command(packages_of(self.extra) or [self.package])
        return (
            f"{self.feature} needs the package {self.package} (extra {self.extra}), which is not installed: "
            f"install it with: {command}"
        )


@contextmanager
def needs_extra(feature: str, extra: str) -> Iterator[None]:
    """Raise a MissingExtraError if an import in the block fails.

    :param feature: the feature that needs the import, as the subject of the message.
    :param extra: the extra of pyproject.toml that contains the package.
    :raises MissingExtraError: if a package is missing. A missing module of tbgen itself is a bug, and its
        error is not converted.

    >>> with needs_extra("a report", "report"):
    ...     import json
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "tbgen"):
            raise
        raise MissingExtraError(feature, package, extra) from error


def settings_error(error: Exception) -> UsageError | None:
    """Return the error that says why a package cannot be imported, with the names of its settings.

    :param error: an error that the caller has just caught.
    :returns: None unless the import of a package other than tbgen has raised the error.
    """
    frames = [frame for frame, _ in walk_tb(error.__traceback__) if frame.f_code.co_name == "<module>"]
    packages = (str(frame.f_globals["__name__"]).partition(".")[0] for frame in frames)
    package = next((package for package in packages if package != "tbgen"), None)
    if package is None or not isinstance(error, ValueError | RuntimeWarning):
        return None
    variables = ", ".join(sorted(name for name in os.environ if name.startswith(package.upper())))
    reason = str(error).partition("\n")[0].rstrip(".")
    if not variables:
        return UsageError(f"the package {package} cannot be imported ({reason}): install it again")
    return UsageError(f"the package {package} rejects its settings ({reason}): correct or unset {variables}")


@contextmanager
def without_variable(variable: str) -> Iterator[None]:
    """Remove an environment variable during the block, for an import that its value could break."""
    value = os.environ.pop(variable, None)
    try:
        yield
    finally:
        if value is not None:
            os.environ[variable] = value


def packages_of(extra: str) -> list[str]:
    """Return the packages of an extra from tbgen's metadata; an empty list if tbgen is not installed."""
    from importlib import metadata  # takes a hundredth of a second

    try:
        entries = metadata.requires("tbgen") or []
    except metadata.PackageNotFoundError:
        return []
    pattern = re.compile(rf"(?P<package>[^;]+?)\s*;\s*extra == ['\"]{re.escape(extra)}['\"]")
    return [match["package"] for match in map(pattern.fullmatch, entries) if match]


def install_command(packages: list[str]) -> str:
    """Return the command that installs packages into the environment of this process.

    The command names packages rather than an extra of tbgen, so it is the same for a clone and a wheel. It
    uses the first available program: pipx if pipx created the environment, pip, uv, the pip bundled with
    Python, or the pip of another Python.
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
