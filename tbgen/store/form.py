"""The form in which a table is stored."""

from typing import Final

from tbgen.board.material import Material
from tbgen.index.table import AccruedForm

_PACKED_FROM: Final = 5
"""All tables of up to four men take 110 MiB, are what the others rest on, and plain ones are read without
compiled code."""
_LEAST: Final = 3
"""The table of two kings is smaller than a block of a packed one."""


def form_of(material: Material, asked: AccruedForm | None = None) -> AccruedForm:
    """Return the form of a table: packed, with functions of accrued scores, from five men on, else plain.

    :param asked: another one, for tests: ``RUNS`` and ``NOTHING`` are plain with and without accrued scores.
    """
    if asked is None:
        asked = AccruedForm.FUNCTIONS if material.men >= _PACKED_FROM else AccruedForm.RUNS
    packs = asked is AccruedForm.FUNCTIONS
    return AccruedForm.RUNS if packs and material.men < _LEAST else asked


def is_packed(material: Material, asked: AccruedForm | None = None) -> bool:
    """Return whether a table is packed, in the form of :func:`form_of`."""
    return form_of(material, asked) is AccruedForm.FUNCTIONS
