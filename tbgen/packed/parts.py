"""How the blocks of a packed table are shared out among threads."""

from itertools import pairwise
from typing import Final

_AT_ONCE: Final = 2048
"""Blocks per job of a thread."""

Part = tuple[int, int]
"""The first of some neighbouring blocks and the one after the last."""


def parts_of(first: int, end: int) -> list[Part]:
    """Return the parts in which threads work the blocks ``first`` to ``end`` - 1 off."""
    return list(pairwise([*range(first, end, _AT_ONCE), end]))
