"""The manifest of a file: the text that its digest is taken of (docs/format.md)."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from tbgen.store.schema import Schema

_NOT_FRESH: Final = ("accrued", "runs ", "max_depth ")
"""Beginnings of a table's lines that depend on stored values of accrued scores."""
_HASHED_AT_ONCE: Final = 1 << 18
"""Elements."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """A text with one line per fact and per dataset; two tables are the same if their manifests are."""

    text: str

    @property
    def digest(self) -> str:
        """SHA-256 of the text in hexadecimal."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def fresh(self) -> str:
        """SHA-256 of what does not depend on whether the values of accrued scores are stored."""
        kept = [line for line in self.lines if not line.startswith(_NOT_FRESH)]
        return hashlib.sha256("".join(f"{line}\n" for line in kept).encode()).hexdigest()

    @property
    def lines(self) -> list[str]:
        """The lines of the text."""
        return self.text.splitlines()

    def difference(self, other: "Manifest") -> str:
        """Return the name of the first fact or dataset in which the two differ, or an empty string."""
        mine, others = self.lines, other.lines
        for line, another in zip(mine, others, strict=False):
            if line != another:
                return line.split(" ")[0]
        return "" if len(mine) == len(others) else "manifest"


def manifest_of(schema: Schema, facts: Mapping[str, Any], lines: Iterable[str]) -> Manifest:
    """Return the manifest of a file from its facts, by name of attribute, and the lines of its datasets."""
    head = [schema.headline]
    for name in schema.facts:
        fact = facts[name]
        head.append(f"{name} {' '.join(map(str, fact)) if isinstance(fact, tuple) else fact}")
    return Manifest("".join(f"{line}\n" for line in [*head, *lines]))


def manifest_line(
    name: str, dtype: np.dtype[Any], shape: Sequence[int], pieces: Iterable[bytes | memoryview]
) -> str:
    """Return a dataset's line: name, type, shape and SHA-256 of its data.

    :param pieces: the data in C order, little-endian.
    """
    state = hashlib.sha256()
    for piece in pieces:
        state.update(piece)
    return f"{name} {dtype.name} {'x'.join(map(str, shape))} {state.hexdigest()}"


def pieces_of(data: Any, dtype: np.dtype[Any]) -> Iterator[memoryview]:
    """Yield an array of one axis, or a dataset of a file, piece by piece as elements of some type."""
    for start in range(0, len(data), _HASHED_AT_ONCE):
        yield np.ascontiguousarray(data[start : start + _HASHED_AT_ONCE], dtype).data
