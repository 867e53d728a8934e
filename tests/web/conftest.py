"""What the tests of the API share."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tbgen.web.app import make_app
from tbgen.web.settings import Settings


@pytest.fixture(scope="package")
def api(whole_game_tables: Path) -> Iterator[TestClient]:
    """The API over all tables of up to four men of both rules."""
    with TestClient(make_app(Settings((whole_game_tables,), limit=0))) as client:
        yield client
