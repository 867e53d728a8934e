"""The command that solves in another process, for callers with other work; it takes no compiled code."""

import sys
from typing import Final

COMMAND: Final = (sys.executable, "-P", "-m", "tbgen", "solve")
"""``-P``: nothing is imported from the directory that the command is given in."""
KERNELS: Final = "tbgen.cells.warmup"
"""The family of kernels that it takes."""
COMPILE: Final = (*COMMAND[:2], "-c", f"from {KERNELS} import compile_kernels; compile_kernels()")
"""What compiles them, so that it can be a step of its own."""
