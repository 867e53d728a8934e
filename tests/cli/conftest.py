"""Fixtures shared by the tests of commands."""

from pathlib import Path

import pytest

from tests.support.solving import Cells
from tests.support.tagging import DATA


@pytest.fixture
def default_directory(reference_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the directory with the tables KvK, KBvK and KNvK the default directory."""
    monkeypatch.setenv("TBGEN_DIR", str(reference_dir))


@pytest.fixture
def cells(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cells:
    """A substitute that solves instead of real cells, without tables."""
    found = Cells()
    monkeypatch.setattr("tbgen.beyond.solver.solve", found)
    monkeypatch.setenv("TBGEN_DIR", str(tmp_path / "none"))
    return found


@pytest.fixture
def no_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a missing directory the default directory."""
    monkeypatch.setenv("TBGEN_DIR", "there/are/none")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with a file ``in.pgn``."""
    (tmp_path / "in.pgn").write_bytes(DATA)
    return tmp_path
