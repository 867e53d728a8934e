"""What the tests of the API share."""

import fcntl
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest
from playwright.sync_api import Browser, expect
from starlette.testclient import TestClient

from tbgen.board.material import Material, all_materials
from tbgen.board.variant import Variant
from tbgen.solve.budget import Budget
from tbgen.web.app import make_app
from tbgen.web.settings import Settings
from tbgen.web.site import write_site
from tests.match import engines
from tests.support.browsing import Visit, launched
from tests.support.exhaustive import exhaustive, sample
from tests.support.serving import served
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


def materials_of_site() -> list[Material]:
    """Those of up to three men and some of four, or all of these where exhaustive tests run too."""
    some = [*all_materials(3), *map(Material.parse, ("KQvKQ", "KBvKN", "KPvKP"))]
    return some[: sample(len(some), 0)] or all_materials(4)


@pytest.fixture(scope="session")
def site(whole_game_tables: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with tables of up to four men of both rules, which one process of the tests writes."""
    base = tmp_path_factory.getbasetemp()
    target = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "static-site"
    with target.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (target / "index.html").exists():
            write_site(whole_game_tables, target, Variant, materials_of_site())
    return target


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Let tests with the mark ``everywhere`` run on the page of a server and on a site without one.

    On a site only those with ``everywhere("daily")`` run where exhaustive tests are left out.
    """
    if mark := metafunc.definition.get_closest_marker("everywhere"):
        site = ["site"] if mark.args else exhaustive(["site"])
        metafunc.parametrize("address", ["server", *site], indirect=True, scope="module")


@pytest.fixture(scope="module")
def address(
    request: pytest.FixtureRequest,
    browser: Browser,
    whole_game_tables: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    """Where a server listens that shows all tables of up to four men, solves, plays and has a report.

    With the parameter ``site`` it is a host that hands out the site.
    """
    if getattr(request, "param", "") == "site":
        with hosting(request.getfixturevalue("site")) as host:
            yield host.address
        return
    report = tmp_path_factory.mktemp("report")
    (report / "tables").mkdir()
    for name in ("index.html", "tables/KBvK.r.html"):
        (report / name).write_text(f"<!DOCTYPE html><title>{name}</title>")
    engine = (sys.executable, "-S", "-E", engines.__file__, "plain", "e2e4 e7e5 g1f3")
    settings = {"engine": engine, "move_seconds": 300.0, "solve": Budget(cells=10)}
    with served(whole_game_tables, report=report, **settings) as address:
        yield address


class Opener(Protocol):
    """What opens a page."""

    def __call__(self, query: str = "", *, at: str | None = None, **options: Any) -> Visit: ...


@pytest.fixture
def opened(browser: Browser, address: str) -> Iterator[Opener]:
    """Opens pages of ``address``, or of another one; in the end nothing must have been wrong with them."""
    visits = list[Visit]()

    def opened(query: str = "", *, at: str | None = None, **options: Any) -> Visit:
        visits.append(Visit(browser, at or address, query, **options))
        return visits[-1]

    yield opened
    for visit in visits:
        visit.close()
    assert [visit.wrong for visit in visits] == [[]] * len(visits)


@pytest.fixture
def visit(opened: Opener) -> Visit:
    """The explorer at its first position."""
    visit = opened()
    expect(visit.page.locator("#sentence")).to_have_text(
        "White wins by a little: Black gets down to one move in 4 plies (0.56 : 0.44)."
    )
    return visit
