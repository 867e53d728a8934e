"""A table in memory: what the solver hands to the writer, and what bulk readers get back."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tbgen.index.layout import PIECE_ORDER, Layout, layout_of
from tbgen.material import Material
from tbgen.score import NONE


@dataclass(slots=True)
class Layer:
    """The exceptions of one accrued score A: the positions whose value V(P, A) is not A itself.

    Positions with A = g(P) are no exceptions, whatever they are worth: their value is the fresh one.
    """

    code: int
    """Code of A."""
    mask: NDArray[np.uint64]
    """Shape (2, size // 64): bit i % 64 of word i // 64 of a side is set if slot i is an exception."""
    value: NDArray[np.uint8]
    """Codes of V(P, A) of the exceptions, in the order (side, slot)."""
    depth: NDArray[np.uint16]
    """D(P, A) of the exceptions in plies, in the same order."""


@dataclass(slots=True)
class Table:
    """All values and depths of one material under one set of rules.

    Sides are numbered 0 = White to move, 1 = Black to move; slots are those of :class:`Layout`.
    """

    material: Material
    rules: str
    value: NDArray[np.uint8]
    """Shape (2, size): code of W of every canonical legal position, ``NONE`` elsewhere."""
    depth: NDArray[np.uint16]
    """Shape (2, size): D in plies, 0 where there is no position."""
    layers: list[Layer]
    """Sorted by rank of A, White's before Black's; a layer without exceptions may be absent."""
    ep_config: NDArray[np.int32]
    """Shape (n, 2): phase and target square of every possible en passant capture."""
    ep_value: NDArray[np.uint8]
    """Shape (n, phase_size): W of the positions with that en passant right, ``NONE`` elsewhere."""
    ep_depth: NDArray[np.uint16]
    """Shape (n, phase_size): D of the same."""

    @property
    def layout(self) -> Layout:
        """The index of the table."""
        return layout_of(self.material)

    @property
    def positions(self) -> tuple[int, int]:
        """Number of canonical legal positions without en passant right, White and Black to move."""
        white, black = (int(np.count_nonzero(side != NONE)) for side in self.value)
        return white, black

    @property
    def ep_positions(self) -> int:
        """Number of canonical positions with an en passant right."""
        return int(np.count_nonzero(self.ep_value != NONE))

    @property
    def max_depth(self) -> int:
        """Greatest depth of the table in plies, layers and en passant positions included."""
        arrays = [self.depth, self.ep_depth, *(layer.depth for layer in self.layers)]
        return max(int(array.max()) for array in arrays if array.size)

    def facts(self) -> dict[str, Any]:
        """Return what a file says about its table, in the order of the manifest (docs/format.md)."""
        layout = self.layout
        return {
            "rules": self.rules,
            "material": self.material.name,
            "free_men": free_men(layout),
            "pawns": pawns(layout),
            "size": layout.size,
            "phase_size": layout.phase_size,
            "positions": self.positions,
            "ep_positions": self.ep_positions,
            "layers": len(self.layers),
            "max_depth": self.max_depth,
        }

    def check_shapes(self) -> None:
        """Check that the arrays fit the material and each other.

        :raises ValueError: if they do not.
        """
        size, n_ep, phase_size = self.layout.size, len(self.ep_config), self.layout.phase_size
        expected: list[tuple[NDArray[Any], tuple[int, ...]]] = [
            (self.value, (2, size)),
            (self.depth, (2, size)),
            (self.ep_config, (n_ep, 2)),
            (self.ep_value, (n_ep, phase_size)),
            (self.ep_depth, (n_ep, phase_size)),
        ]
        for layer in self.layers:
            exceptions = int(np.bitwise_count(layer.mask).sum(dtype=np.int64))
            expected += [
                (layer.mask, (2, size // 64)),
                (layer.value, (exceptions,)),
                (layer.depth, (exceptions,)),
            ]
        for array, shape in expected:
            if array.shape != shape:
                raise ValueError(f"table {self.material}: array of shape {array.shape}, expected {shape}")


def free_men(layout: Layout) -> str:
    """Return the free men in index order, White's in upper case.

    >>> free_men(layout_of(Material.parse("KBvKN")))
    'K k B n'
    """
    letters = (PIECE_ORDER[kind] for kind in layout.kinds)
    pairs = zip(letters, layout.colours, strict=True)
    return " ".join(letter.lower() if colour else letter for letter, colour in pairs)


def pawns(layout: Layout) -> str:
    """Return the pawns in the order of a placement, White's in upper case.

    >>> pawns(layout_of(Material.parse("KPvKP")))
    'P p'
    """
    return " ".join(["P"] * layout.white_pawns + ["p"] * layout.black_pawns)
