"""The choice of storing the values of accrued scores."""

from enum import Enum
from typing import Final

from tbgen.board.material import Material
from tbgen.index.layout import layout_of

_MOST_RUNS: Final = 200_000_000


class AccruedStorage(Enum):
    """Whether a table stores the values of accrued scores, or leaves them to be worked out on demand."""

    ALL = "all"
    NONE = "none"
    AUTO = "auto"
    """Stored, but for tables of five men with so many runs that they would take about as much room as the
    fresh values, or too much memory while they are gathered: more than positions, or than 200 million."""

    def max_runs(self, material: Material, packed: bool = False) -> int | None:
        """Return how many runs a table may have to be stored with them; None for any number, as if it is
        packed: it stores functions in their place, which take little room."""
        if self is AccruedStorage.NONE:
            return 0
        if self is AccruedStorage.ALL or material.men < 5 or packed:
            return None
        layout = layout_of(material)
        return min(layout.size // layout.orders, _MOST_RUNS)
