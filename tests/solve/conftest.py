"""Tables that leave something to solve."""

from pathlib import Path

import pytest

from tbgen.board.material import Material


@pytest.fixture(scope="session")
def small(three_men: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the tables of up to three men."""
    directory = tmp_path_factory.mktemp("small")
    for path in three_men.glob("*.r.h5"):
        if Material.parse(path.name.split(".")[0]).men <= 3:
            (directory / path.name).symlink_to(path)
    return directory
