"""The form in which a table is stored."""

from typing import Final

from tbgen.board.material import Material
from tbgen.index.table import AccruedForm

_PACKED_FROM: Final = 5
"""All tables of up to four men take 110 MiB, are what the others rest on, and plain ones are read without
compiled code."""
_LEAST: Final = 3
"""The table of two kings is smaller than a block of a packed one."""


_PLAIN: Final = AccruedForm.RUNS


def form_of(material: Material) -> AccruedForm:
    """Return the form of a table: packed, with functions of accrued scores, from five men on, else plain.

    With described men it stays plain, without accrued scores from five men on.
    """
    if material.is_described:
        return AccruedForm.NOTHING if material.men >= _PACKED_FROM else _PLAIN
    return AccruedForm.FUNCTIONS if material.men >= max(_PACKED_FROM, _LEAST) else _PLAIN


def is_packed(material: Material) -> bool:
    """Return whether a table is packed."""
    return form_of(material) is AccruedForm.FUNCTIONS
