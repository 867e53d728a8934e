"""Where the tests and the repository lie."""

from pathlib import Path

TESTS = Path(__file__).parent.parent
DATA = TESTS / "data"
"""Rows and files that tests compare with."""
ROOT = TESTS.parent
