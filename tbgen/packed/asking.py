"""Whether packed tables can be asked at once, or kernels have to be compiled first; imports no numba."""

import logging
from collections.abc import Callable
from typing import Final

from tbgen.compiler.cache import compiling

FAMILY: Final = __name__
"""Name of these kernels in the cache."""

_logger = logging.getLogger(__name__)


def ensure_compiled(note: Callable[[str], object] = _logger.warning) -> None:
    """Compile the kernels that probe packed tables if they are not in the cache; ``note`` is told so
    before."""
    with compiling(FAMILY, "that probe packed tables", "about ten seconds", note) as needed:
        if needed:
            from tbgen.packed.warmup import compile_asking

            compile_asking()
