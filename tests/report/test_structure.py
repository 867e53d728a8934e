"""Inside a report dependencies point one way: parts <- model <- scan <- facts <- data <- site."""

import ast
from pathlib import Path

import pytest

import tbgen.report

PACKAGE = Path(tbgen.report.__file__).parent

ABOVE = {
    "parts": set(),
    "model": {"parts"},
    "scan": set(),
    "facts": {"parts", "model", "scan"},
    "data": {"parts", "model", "facts"},
    "site": {"parts", "model", "facts", "data"},
}


@pytest.mark.parametrize("part", ABOVE)
def test_dependencies_point_one_way(part: str) -> None:
    modules = [*PACKAGE.glob(f"{part}.py"), *PACKAGE.glob(f"{part}/**/*.py")]
    assert modules
    for path in modules:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tbgen.report"):
                names = [node.module, *(f"{node.module}.{name.name}" for name in node.names)]
                used = {name.split(".")[2] for name in names if name and name.count(".") > 1}
                assert used & set(ABOVE) - {part} <= ABOVE[part], path
