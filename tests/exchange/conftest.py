"""A set of all tables of three men."""

import shutil
from pathlib import Path

import pytest

from tbgen.board.material import all_materials
from tbgen.exchange import sources
from tbgen.exchange.publish import publish
from tests.support.sets import R


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_FIRST_PAUSE_SECONDS", 0.001)


@pytest.fixture(scope="session")
def published(three_men: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("published")
    publish(three_men, target, R, all_materials(3))
    return target


@pytest.fixture
def spoilt(published: Path, tmp_path: Path) -> Path:
    """A copy of the set that tests may damage."""
    return Path(shutil.copytree(published, tmp_path / "spoilt"))
