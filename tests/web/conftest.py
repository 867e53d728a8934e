"""Fixtures shared by the tests of the API and the page."""

import fcntl
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest
from playwright.sync_api import Browser
from starlette.testclient import TestClient

from tbgen.beyond.budget import Budget
from tbgen.board.material import Material, all_materials
from tbgen.board.variant import Variant
from tbgen.web.app import make_app
from tbgen.web.configuration import Settings
from tbgen.web.site import write_site
from tests.match import engines
from tests.support.browsing import DESK, Visit
from tests.support.exhaustive import exhaustive, sample
from tests.support.serving import served
from tests.support.static_host import Host, hosting


@pytest.fixture(scope="package")
def api(whole_game_tables: Path) -> Iterator[TestClient]:
    """The API over all tables of up to four men for both variants."""
    with TestClient(make_app(Settings((whole_game_tables,), limit=0))) as client:
        yield client


def materials_of_site() -> list[Material]:
    """Materials of up to three men and some of four; all of four men if exhaustive tests run too."""
    some = [*all_materials(3), *map(Material.parse, ("KQvKQ", "KRvKR", "KBvKN"))]
    return some[: sample(len(some), 0)] or all_materials(4)


@pytest.fixture(scope="session")
def site(whole_game_tables: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with tables of up to four men for both variants, written by one process of the tests."""
    base = tmp_path_factory.getbasetemp()
    target = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "static-site"
    with target.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (target / "index.html").exists():
            write_site(whole_game_tables, target, Variant, materials_of_site())
    return target


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Let tests with the mark ``everywhere`` run on the page of a server, and exhaustively on a site."""
    if metafunc.definition.get_closest_marker("everywhere"):
        metafunc.parametrize("address", ["server", *exhaustive(["site"])], indirect=True)


@pytest.fixture(scope="package")
def host(site: Path) -> Iterator[Host]:
    """The host that serves the site."""
    with hosting(site) as host:
        yield host


@pytest.fixture(scope="package")
def server(whole_game_tables: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with all tables of up to four men, solving, an engine and a report."""
    report = tmp_path_factory.mktemp("report")
    (report / "tables").mkdir()
    for name in ("index.html", "tables/KBvK.r.html"):
        (report / name).write_text(f"<!DOCTYPE html><title>{name}</title>")
    engine = (sys.executable, "-S", "-E", engines.__file__, "plain", "e2e4 e7e5 g1f3")
    settings = {"engine_command": engine, "move_seconds": 300.0, "solve_budget": Budget(cells=10)}
    with served(whole_game_tables, report_directory=report, **settings) as address:
        yield address


@pytest.fixture
def address(request: pytest.FixtureRequest, server: str) -> str:
    """The address of the pages: on the server, or, with the parameter ``site``, on the host of the site."""
    if getattr(request, "param", "") == "site":
        return str(request.getfixturevalue("host").address)
    return server


class Opener(Protocol):
    """A function that opens a page."""

    def __call__(self, query: str = "", **options: Any) -> Visit: ...


@pytest.fixture
def opened(browser: Browser, address: str) -> Iterator[Opener]:
    """A function that opens pages of ``address``; at the end, no page may have had an error."""
    visits = list[Visit]()

    def opened(query: str = "", **options: Any) -> Visit:
        visits.append(Visit(browser, address, query, **options))
        return visits[-1]

    yield opened
    for visit in visits:
        visit.close()


@pytest.fixture(scope="package")
def explorers() -> dict[str, Visit]:
    """The explorer's open pages by their addresses."""
    return {}


@pytest.fixture
def visit(
    request: pytest.FixtureRequest, browser: Browser, address: str, explorers: dict[str, Visit]
) -> Iterator[Visit]:
    """The explorer at its first position.

    Tests share the page one after the other, because it loads slowly; a failed test closes it. The page keeps
    its cached answers.
    """
    failed = request.session.testsfailed
    if address not in explorers:
        explorers[address] = Visit(browser, address)
    visit = explorers[address]
    visit.page.set_viewport_size(DESK)
    visit.page.emulate_media(color_scheme="light")
    visit.go()
    visit.has_depth(4)
    yield visit
    visit.forget()
    wrong, visit.wrong = visit.wrong, []
    if request.session.testsfailed > failed:
        explorers.pop(address).page.close()
    assert wrong == []
