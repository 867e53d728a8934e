"""The choice of the form that tables are written in."""

from enum import Enum
from typing import Final

from tbgen.board.material import Material

_PACKED_FROM: Final = 5
_LEAST: Final = 3
"""The table of two kings is smaller than a block of a packed one."""


class Form(Enum):
    """Whether tables are plain or packed (docs/format.md)."""

    PLAIN = "plain"
    PACKED = "packed"
    AUTO = "auto"
    """Packed from five men on. All tables of up to four men take 110 MiB, are what the others rest on, and
    plain ones are read without compiled code."""

    def packs(self, material: Material) -> bool:
        """Return whether the table of a material is packed."""
        return material.men >= (_PACKED_FROM if self is Form.AUTO else _LEAST) and self is not Form.PLAIN
