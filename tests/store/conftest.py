"""What the tests of files share."""

from pathlib import Path

import pytest

from tbgen.board.variant import Variant
from tbgen.store.format import table_path
from tests.support.random_tables import random_table, write


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A written table of KNvK."""
    path = table_path(tmp_path, "KNvK", Variant.R_MOBILITY)
    write(random_table("KNvK"), path)
    return path
