"""Examples of docstrings, the tutorial of help(tbgen) among them."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

from tests.support.paths import ROOT

WITH_TABLES = {"tbgen", "tbgen.probe.tablebase", "tbgen.probe.positions", "tbgen.probe.views"}
OTHERS = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in (ROOT / "tbgen").rglob("*.py")
    if path.name != "__init__.py" and "\n    >>> " in path.read_text()
}


@pytest.mark.parametrize("name", sorted(WITH_TABLES | OTHERS))
def test_examples(
    name: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They all come true, also those that are skipped where no tables are at hand."""
    if name in WITH_TABLES:
        (tmp_path / "data").symlink_to(request.getfixturevalue("tables"))
        monkeypatch.chdir(tmp_path)
    said: list[str] = []
    count = 0
    for test in doctest.DocTestFinder().find(import_module(name)):
        for example in test.examples if name in WITH_TABLES else ():
            example.options.pop(doctest.SKIP, None)
        count += doctest.DocTestRunner().run(test, out=said.append).attempted
    assert not said, "".join(said)
    assert count > (name in WITH_TABLES)
