"""What a table file says about itself: its attributes, and the manifest that the digest is taken of."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tbgen.store.format import FORMAT, FORMAT_VERSION
from tbgen.variant import Variant

FACTS = (
    "rules",
    "material",
    "free_men",
    "pawns",
    "size",
    "phase_size",
    "positions",
    "ep_positions",
    "accrued",
    "runs",
    "max_depth",
)
"""The attributes that the manifest repeats, in its order."""


_NOT_FRESH = ("accrued", "runs ", "max_depth ")
"""Beginnings of the manifest's lines that depend on stored values of accrued scores."""


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


@dataclass(frozen=True, slots=True)
class TableInfo:
    """The facts of one table file."""

    path: Path
    variant: Variant
    material: str
    free_men: str
    """Free men in index order, White's in upper case, such as ``K k B``."""
    pawns: str
    """Pawns in placement order, such as ``P p``."""
    size: int
    """Slots per side to move."""
    phase_size: int
    """Slots per side to move and pawn placement."""
    positions: tuple[int, int]
    """Legal positions up to symmetry, White and Black to move, without en passant rights."""
    ep_positions: int
    """Positions with an en passant right up to symmetry."""
    accrued: int
    """1 if the values of accrued scores are stored, 0 if they were left out."""
    runs: int
    """Runs of accrued values."""
    max_depth: int
    """Longest way to the goal in plies."""
    digest: str
    """SHA-256 of the manifest."""
    manifest: Manifest
    format_version: int
    tbgen_version: str
    build_seconds: float
    parameters: dict[str, Any]
    """How the table was built."""
    bytes: int
    """Size of the file."""

    @classmethod
    def of_attributes(cls, path: Path, attributes: Mapping[str, Any], size: int) -> "TableInfo":
        """Read the facts from the attributes of a file of ``size`` bytes.

        :raises KeyError, ValueError, TypeError: if an attribute is missing or means nothing.
        """
        white, black = attributes["positions"]

        def text(name: str) -> str:
            return bytes(attributes[name]).decode()

        return cls(
            path=path,
            variant=Variant(text("rules")),
            material=text("material"),
            free_men=text("free_men"),
            pawns=text("pawns"),
            size=int(attributes["size"]),
            phase_size=int(attributes["phase_size"]),
            positions=(int(white), int(black)),
            ep_positions=int(attributes["ep_positions"]),
            accrued=int(attributes["accrued"]),
            runs=int(attributes["runs"]),
            max_depth=int(attributes["max_depth"]),
            digest=text("digest"),
            manifest=Manifest(text("manifest")),
            format_version=int(attributes["format_version"]),
            tbgen_version=text("tbgen_version"),
            build_seconds=float(attributes["build_seconds"]),
            parameters=dict(json.loads(text("parameters"))),
            bytes=size,
        )

    def facts(self) -> dict[str, Any]:
        """Return what the manifest repeats."""
        return {name: self.variant if name == "rules" else getattr(self, name) for name in FACTS}


def manifest_of(facts: Mapping[str, Any], lines: Iterable[str]) -> Manifest:
    """Return the manifest of a table from its facts and the lines of its datasets (docs/format.md)."""
    head = [f"{FORMAT} {FORMAT_VERSION}"]
    for name in FACTS:
        fact = facts[name]
        head.append(f"{name} {' '.join(map(str, fact)) if isinstance(fact, tuple) else fact}")
    return Manifest("\n".join([*head, *lines]) + "\n")
