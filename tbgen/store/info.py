"""What a table file says about itself: its attributes."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tbgen.board.variant import Variant
from tbgen.store.format import BLOCK
from tbgen.store.manifest import Manifest
from tbgen.store.schema import PACKED, TABLE


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
    stores_accrued: bool
    """Whether the values of accrued scores are stored, or were left out."""
    runs: int
    """Runs of accrued values; of a packed table entries of functions."""
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
    packed: bool
    """Whether it is in packed form."""

    @classmethod
    def of_attributes(cls, path: Path, stored: Mapping[str, Any], size: int) -> "TableInfo":
        """Read the facts from the attributes of a file of ``size`` bytes.

        :raises KeyError, ValueError, TypeError: if an attribute is missing or means nothing.
        """
        values = TABLE.decode(stored)
        packed = values.pop("format") == PACKED.format
        del values["complete"]  # the same in all tables that can be read
        return cls(
            path=path,
            bytes=size,
            packed=packed,
            variant=Variant(values.pop("rules")),
            stores_accrued=bool(values.pop("accrued")),
            manifest=Manifest(values.pop("manifest")),
            **values,
        )

    @property
    def stores_runs(self) -> bool:
        """Whether the values of accrued scores are stored as runs, with depths; packed tables have functions,
        without."""
        return self.stores_accrued and not self.packed

    @property
    def has_layers(self) -> bool:
        """Whether the depths of accrued scores, and the values of one side to move, follow only from layers
        that are made again: in packed tables of a variant with layers."""
        return self.stores_accrued and self.packed and self.variant.layered

    @property
    def form(self) -> str:
        """``plain`` or ``packed``."""
        return "packed" if self.packed else "plain"

    def facts(self) -> dict[str, Any]:
        """Return what the manifest repeats, by name of attribute."""
        renamed = {"rules": self.variant, "accrued": int(self.stores_accrued)}
        return {name: renamed[name] if name in renamed else getattr(self, name) for name in TABLE.facts}

    def sizes(self) -> dict[str, int]:
        """Return what the names of axes of the datasets stand for, but those that only the file knows."""
        masked = self.size if self.stores_runs else 0
        return {
            "size": self.size,
            "phase_size": self.phase_size,
            "placements": self.size // self.phase_size,
            "pawns": len(self.pawns.split()),
            "size / 8": masked // 8,
            "blocks": -(-masked // BLOCK),
            "runs": self.runs,
        }
