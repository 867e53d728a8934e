"""The suite of benchmarks measures what it says: every part of it runs, but for the longest."""

import inspect
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tbgen.board.variant import Variant
from tbgen.store.format import table_path
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

MODULES = ("commands", "probing", "playing", "fast_paths", "storage")
LONGEST = ("BuildAll", "Report", "Filters")
DAILY = ("Search",)
"""Classes that take little; the others are for exhaustive runs."""
sys.path.append(str(ROOT / "benchmarks"))


def measured() -> Iterator[Any]:
    """All methods that are measured."""
    for name in MODULES:
        module = import_module(f"suite.{name}")
        for _, found in inspect.getmembers(module, inspect.isclass):
            if found.__module__ == module.__name__ and found.__name__ not in LONGEST:
                for method in dir(found):
                    if method.startswith(("time_", "track_")):
                        marks = [] if found.__name__ in DAILY else [pytest.mark.exhaustive]
                        yield pytest.param(found, method, id=f"{name}.{found.__name__}.{method}", marks=marks)


@pytest.mark.parametrize(("kind", "method"), list(measured()))
def test_it_runs(
    kind: Any, method: str, tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the first of its parameters, and both ways of doing what is compared."""
    monkeypatch.setenv("TBGEN_TEST_TABLES", str(tables))
    monkeypatch.setattr("suite.material.KEPT", tmp_path.parent / "benchmarks")
    if kind.__name__ == "Format":
        monkeypatch.setattr("tbgen.store.dataset.CHUNK_BYTES", 16384)
        monkeypatch.setattr("tbgen.store.writer.GZIP_LEVEL", 4)
    given = getattr(kind, "params", ())
    sets = given if given and isinstance(given[0], (tuple, list)) else [given] if given else []
    chosen = (
        list(itertools.product(*sets))
        if "by" in getattr(kind, "param_names", ())
        else [tuple(one[0] for one in sets)]
    )
    for parameters in chosen:
        benchmark = kind()
        if hasattr(benchmark, "setup"):
            benchmark.setup(*parameters)
        try:
            found = getattr(benchmark, method)(*parameters)
        finally:
            if hasattr(benchmark, "teardown"):
                benchmark.teardown(*parameters)
        assert (found is None) == method.startswith("time_")


def printed(script: str, *words: str) -> str:
    command = [sys.executable, str(ROOT / "benchmarks" / script), *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.exhaustive
def test_load_of_the_server(tables: Path) -> None:
    """Every request is answered, whatever slow clients do."""
    found = json.loads(printed("load.py", str(tables), "--requests", "300", "--slow", "20", "--json"))
    assert found["requests"] == 300
    assert 0 < found["median_ms"] <= found["p99_ms"] <= found["longest_ms"]


@pytest.mark.exhaustive
def test_rates_are_compared_with_tables(tables: Path) -> None:
    title, *lines = printed("calibrate.py", str(tables), "KNvK").splitlines()
    assert title.split() == ["material", "costs.toml", "measured", "ratio"]
    found = {line[12:32].strip(): [float(word) for word in line[32:].split()] for line in lines}
    assert list(found) == ["build, s", "file, kB", "proof, s", "counted, s"]
    size = table_path(tables, "KNvK", Variant.R_MOBILITY).stat().st_size
    assert found["file, kB"][1] == pytest.approx(size / 1e3, abs=1e-3)
    assert all(min(row) > 0 for row in found.values())
