"""Examples of docstrings that need tables: the tutorial of help(tbgen), and those of the tablebase."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import tbgen


@pytest.mark.parametrize(
    "name", ["tbgen", "tbgen.probe.tablebase", "tbgen.probe.view_tables", "tbgen.probe.positions"]
)
def test_examples(name: str, tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
