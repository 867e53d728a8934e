"""The directories of the repository and the tests, and the reader of test data."""

from pathlib import Path

TESTS = Path(__file__).parent.parent
DATA = TESTS / "data"
"""Rows and files that tests compare with."""
SYZYGY_FILES = DATA / "syzygy"
ROOT = TESTS.parent
MATCH = str(DATA / "g01_exp_default.pgn")
KOMI = str(DATA / "g04_komi_pgn.pgn")
"""Games that cuteRMob has tagged, the latter ones with a komi."""


def rows(name: str, separator: str) -> list[list[str]]:
    """The rows of a text in the data of tests, each in parts; lines that begin with ``# `` are comments."""
    lines = (DATA / name).read_text().splitlines()
    return [line.split(separator) for line in lines if not line.startswith("# ")]
