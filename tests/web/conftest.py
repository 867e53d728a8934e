"""What the tests of the API share."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from starlette.testclient import TestClient

from tbgen.web.app import make_app
from tbgen.web.settings import Settings
from tests.support.browsing import launched
from tests.support.serving import serving


@pytest.fixture(scope="package")
def api(whole_game_tables: Path) -> Iterator[TestClient]:
    """The API over all tables of up to four men of both rules."""
    with TestClient(make_app(Settings((whole_game_tables,), limit=0))) as client:
        yield client


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser, whose event loop leaves no room for another one; without one the tests are skipped."""
    with launched() as found:
        yield found


@pytest.fixture(scope="module")
def address(
    browser: Browser, whole_game_tables: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Where a server listens that shows all tables of up to four men, solves and has a report."""
    site = tmp_path_factory.mktemp("site")
    (site / "tables").mkdir()
    for name in ("index.html", "tables/KBvK.r.html"):
        (site / name).write_text(f"<!DOCTYPE html><title>{name}</title>")
    words = ("--limit", "0", "--solve-time", "20s", "--report", str(site))
    with serving(whole_game_tables, *words) as (_, host, port):
        yield f"http://{host}:{port}"
