"""What the tests of the API share."""

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from starlette.testclient import TestClient

from tbgen.board.variant import Variant
from tbgen.web.app import make_app
from tbgen.web.settings import Settings
from tbgen.web.site import write_site
from tests.support.browsing import Visit, launched
from tests.support.serving import serving
from tests.support.static_host import hosting


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


@pytest.fixture(scope="session")
def site(whole_game_tables: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with all tables of up to four men of both rules, which one process of the tests writes."""
    base = tmp_path_factory.getbasetemp()
    target = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "static-site"
    with target.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (target / "index.html").exists():
            write_site(whole_game_tables, target, Variant)
    return target


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Let tests with the mark ``everywhere`` run on the page of a server and on a site without one."""
    if metafunc.definition.get_closest_marker("everywhere"):
        metafunc.parametrize("address", ["server", "site"], indirect=True, scope="module")


@pytest.fixture(scope="module")
def address(
    request: pytest.FixtureRequest,
    browser: Browser,
    whole_game_tables: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    """Where a server listens that shows all tables of up to four men, solves and has a report; or, with the
    parameter ``site``, a host that hands out the site."""
    if getattr(request, "param", "") == "site":
        with hosting(request.getfixturevalue("site")) as host:
            yield host.address
        return
    report = tmp_path_factory.mktemp("report")
    (report / "tables").mkdir()
    for name in ("index.html", "tables/KBvK.r.html"):
        (report / name).write_text(f"<!DOCTYPE html><title>{name}</title>")
    words = ("--limit", "0", "--solve-time", "20s", "--report", str(report))
    with serving(whole_game_tables, *words) as (_, host, port):
        yield f"http://{host}:{port}"


@pytest.fixture
def visit(browser: Browser, address: str) -> Iterator[Visit]:
    """The explorer at its first position; in the end nothing must have been wrong."""
    visit = Visit(browser, address)
    expect(visit.page.locator("#sentence")).to_have_text(
        "White wins by a little: Black gets down to one move in 4 plies (0.56 : 0.44)."
    )
    yield visit
    visit.close()
    assert visit.wrong == []
