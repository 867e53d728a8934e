"""The budget of a solution; a module of its own, so that setting one needs no compiler."""

from dataclasses import dataclass

__all__ = ["Budget"]


@dataclass(frozen=True)
class Budget:
    """What solving a state may take."""

    seconds: float = 60.0
    memory: int = 8 << 30
    """Bytes."""
    cells: int | None = None
    """How many cells to solve at most, those solved again counted again; None for any number."""
