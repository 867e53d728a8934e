"""A plugin of pytest for ``scripts/mutate``: it runs chosen tests, and records what the tests of a run cover.

``pytest -p tests.support.chosen``: with ``$TBGEN_CHOSEN``, a file of names, it runs only these tests, in this
order. With ``$TBGEN_KEPT``, a module and a digest, compiled kernels count as made from a module of that
digest. With ``$TBGEN_OBSERVED`` it writes duration, outcome and fixtures of every test to that file, and has
the coverage that ``--cov-context=test`` measures tell fixtures of several tests from the tests themselves.
"""

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import coverage
import pytest

CHOSEN = "TBGEN_CHOSEN"
KEPT = "TBGEN_KEPT"
OBSERVED = "TBGEN_OBSERVED"

LEFT_OUT = "browser"
"""Tests with this fixture are left out: they take longest, and look at pages."""

_seconds: defaultdict[str, float] = defaultdict(float)
_outcomes: dict[str, str] = {}
_fixtures: dict[str, list[str]] = {}


if KEPT in os.environ:
    from tbgen.compiler import cache

    _kept, _, _digest = os.environ[KEPT].partition("=")
    _digest_of = cache._source_digest
    _fixed = bytes.fromhex(_digest)
    cache._source_digest = lambda path: _fixed if path.match(_kept) else _digest_of(path)  # type: ignore[assignment]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the chosen tests, or all but those with a browser."""
    if CHOSEN in os.environ:
        place = {name: n for n, name in enumerate(Path(os.environ[CHOSEN]).read_text().splitlines())}
        kept = sorted((item for item in items if item.nodeid in place), key=lambda item: place[item.nodeid])
    else:
        kept = [item for item in items if LEFT_OUT not in _fixtures_of(item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept
    _fixtures.update({item.nodeid: _fixtures_of(item) for item in items})


def _fixtures_of(item: pytest.Item) -> list[str]:
    return list(getattr(item, "fixturenames", ()))


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Iterator[None]:
    """Count what a fixture of several tests runs as the fixture's."""
    measured = coverage.Coverage.current()
    is_shared = measured is not None and fixturedef.scope != "function" and OBSERVED in os.environ
    if measured is not None and is_shared:
        measured.switch_context(f"fixture {fixturedef.argname}")
    try:
        return (yield)
    finally:
        if measured is not None and is_shared:
            measured.switch_context(f"{os.environ['PYTEST_CURRENT_TEST'].rpartition(' ')[0]}|setup")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note how long a test took, and whether it passed."""
    _seconds[report.nodeid] += report.duration
    if _outcomes.get(report.nodeid, "passed") == "passed":
        _outcomes[report.nodeid] = report.outcome


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write down what was seen; each process of pytest-xdist its fixtures, and the first one the rest."""
    if OBSERVED in os.environ:
        seen = {"seconds": _seconds, "outcomes": _outcomes, "fixtures": _fixtures}
        worker = os.environ.get("PYTEST_XDIST_WORKER", "")
        Path(f"{os.environ[OBSERVED]}{worker}").write_text(json.dumps(seen))
