"""The command that solves in another process, for callers with other work; it takes no compiled code."""

import sys
from typing import Final

COMMAND: Final = (sys.executable, "-P", "-m", "tbgen", "solve")
"""``-P``: nothing is imported from the directory that the command is given in."""
