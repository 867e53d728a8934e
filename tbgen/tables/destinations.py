"""Structures for the zeroing moves from a packed table, apart from those that readers of files need."""

from dataclasses import dataclass

from tbgen.compiler.structs import Ints, Struct
from tbgen.moves.structs import Men, Targets
from tbgen.tables.structs import Rows


@dataclass(frozen=True, eq=False)
class Destinations(Struct):
    """The tables that the zeroing moves of one table lead to."""

    rows: Rows
    """The rows of the table that the moves start from."""
    targets: Targets
    like_men: Ints
    """int64 (targets, 2): the range of free men of the same kind and colour in each target, empty if there
    are no such men."""


@dataclass(frozen=True, eq=False)
class ZeroingBuffers(Struct):
    """Buffers of one thread for listing zeroing moves."""

    squares: Ints
    """int64 (MAX_MEN,): squares of the free men before the move."""
    after: Men
    """The men after the move, with their numbers before it."""
    child: Ints
    """int64 (MAX_MEN,): squares of the free men after the move, in the order of the target's table."""
