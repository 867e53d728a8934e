"""Numbers in place of codes and ranks, in tables and in questions about them.

Kernels read them, so they are apart from :mod:`tbgen.index.table`, whose edits would compile kernels again.
"""

from typing import Final

FRESH: Final = 128
"""Value of a run that stands for the fresh value and depth; no score has this code."""

NO_SCORE: Final = -1
"""Used in place of a code if there is no accrued score."""

LAST_RUN: Final = 128
"""Flag that is added to the rank of a position's last run."""

DAMAGED: Final = -1
"""Replaces a code, or a symbol of packed tables, that is unavailable because the data are damaged."""
