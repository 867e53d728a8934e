"""What is known of a state while a position is solved."""

from typing import NamedTuple, Self

from tbgen.cells.bounds import LOWER, UPPER
from tbgen.cells.interval import Interval


class Answer(NamedTuple):
    """What is known of a state."""

    value: Interval
    depths: tuple[int, int] | None = None
    """Plies, by both ends, where a cell says them."""

    @property
    def depth(self) -> int | None:
        """Plies, where they are known."""
        if not self.value.exact or self.depths is None or self.depths[LOWER] != self.depths[UPPER]:
            return None
        return self.depths[LOWER]

    def within(self, other: Self) -> Self:
        """What two answers say together; the depths are those of the one that is exact."""
        depths = (each.depths for each in (self, other) if each.depth is not None)
        return type(self)(self.value.within(other.value), next(depths, None))

    @property
    def swapped(self) -> Self:
        """The same with the colours swapped."""
        return type(self)(self.value.swapped, self.depths and (self.depths[UPPER], self.depths[LOWER]))
