"""Where the tests and the repository lie."""

from pathlib import Path

TESTS = Path(__file__).parent.parent
DATA = TESTS / "data"
"""Rows and files that tests compare with."""
ROOT = TESTS.parent
MATCH = str(DATA / "g01_exp_default.pgn")
KOMI = str(DATA / "g04_komi_pgn.pgn")
"""Games that cuteRMob has tagged, the latter ones with a komi."""
