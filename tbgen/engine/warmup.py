"""Compiling the search, or loading it where it is compiled."""

from collections.abc import Callable
from typing import Final

from tbgen.compiler.cache import compiling
from tbgen.compiler.jit import compile_for
from tbgen.engine.kernels.search import begin, search_root
from tbgen.engine.room import SearchRoom

FAMILY: Final = __name__
"""Name of these kernels in the cache."""


def ensure_compiled(note: Callable[[str], object]) -> None:
    """Load the kernels of the search; compile them if they are not in the cache, and have ``note`` told so
    before."""
    with compiling(FAMILY, "of the engine's search", "about six seconds", note):
        load()


def load() -> None:
    """Load the kernels, or compile them."""
    room = SearchRoom.of(1)
    compile_for(begin, room, 0)
    compile_for(search_root, room, 1, 0, 1)
