"""Fixtures for the tests of files."""

import shutil
from pathlib import Path

import pytest

from tbgen.board.variant import Variant
from tbgen.store.format import table_path
from tests.support.random_tables import random_table, write


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A written table of KNvK."""
    path = table_path(tmp_path_factory.mktemp("written"), "KNvK", Variant.R_MOBILITY)
    write(random_table("KNvK"), path)
    return path


@pytest.fixture
def path(written: Path, tmp_path: Path) -> Path:
    """A copy of the written table, which tests may change."""
    return Path(shutil.copy(written, tmp_path))
