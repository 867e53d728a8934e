"""What the tests of commands share."""

from pathlib import Path

import pytest


@pytest.fixture
def default_directory(reference_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of KvK, KBvK and KNvK lie in the default directory."""
    monkeypatch.setenv("TBGEN_DIR", str(reference_dir))
