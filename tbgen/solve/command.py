"""Solving in another process, as those have it done who go on meanwhile; nothing here takes compiled code."""

import sys
from typing import Final

COMMAND: Final = (sys.executable, "-P", "-m", "tbgen", "solve")
"""``-P``: nothing is imported from the directory that the command is given in."""
