"""The tables that games of these tests stop in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tbgen.probe.tablebase import Tablebase, open_tablebase


@pytest.fixture
def tablebase(reference_dir: Path) -> Iterator[Tablebase]:
    """Return tables of KvK, KBvK and KNvK."""
    with open_tablebase(reference_dir) as opened:
        yield opened
