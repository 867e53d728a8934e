"""Examples of docstrings, the tutorial of help(tbgen) among them."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import tbgen
from tests.support.paths import ROOT

WITH_TABLES = ("tbgen", "tbgen.probe.tablebase", "tbgen.probe.view_tables", "tbgen.probe.positions")
OTHERS = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in (ROOT / "tbgen").rglob("*.py")
    if path.name != "__init__.py" and "\n    >>> " in path.read_text()
)


@pytest.mark.parametrize("name", sorted({*OTHERS} - {*WITH_TABLES}))
def test_examples(name: str) -> None:
    said: list[str] = []
    runner = doctest.DocTestRunner()
    for test in doctest.DocTestFinder().find(import_module(name)):
        runner.run(test, out=said.append)
    assert not said, "".join(said)
    assert runner.summarize(verbose=False).attempted > 0


@pytest.mark.parametrize("name", WITH_TABLES)
def test_examples_that_need_tables(
    name: str, tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They all come true, also those that are skipped where no tables are at hand."""
    (tmp_path / "data").symlink_to(tables)
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    count = 0
    for test in doctest.DocTestFinder().find(import_module(name)):
        for example in test.examples:
            example.options.pop(doctest.SKIP, None)
        count += doctest.DocTestRunner().run(test, out=said.append).attempted
    assert not said, "".join(said)
    assert count > 1


def test_the_tutorial_fits_a_page() -> None:
    assert tbgen.__doc__ is not None
    assert len(tbgen.__doc__.splitlines()) < 70
