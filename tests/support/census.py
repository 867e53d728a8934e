"""Statistics on the tests: lines of code, and the expensive resources that each test uses."""

import ast
import inspect
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

from tests.support.paths import ROOT

TESTS = ROOT / "tests"
DEAR_FIXTURES = {"browser": "browser", "four_men": "four men"}
STARTING = {"subprocess", "multiprocessing"}
"""Modules that start processes."""
SOLVING = ("tbgen.beyond", "tbgen.cells")


def code_lines(path: Path) -> int:
    """Return the number of lines of code in a module, without comments, docstrings and imports."""
    text = path.read_text()
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            left_out.update(_lines(node))
        elif isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef):
            texts = (each for each in node.body if isinstance(each, ast.Expr))
            left_out.update(*(_lines(each) for each in texts if isinstance(each.value, ast.Constant)))
    lines = enumerate(map(str.strip, text.splitlines()), 1)
    return sum(bool(line) and line[0] != "#" and number not in left_out for number, line in lines)


def _lines(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def lines_by_folder(root: Path) -> Counter[str]:
    """Return the lines of code of all modules under a directory, by folder."""
    found: Counter[str] = Counter()
    for path in root.rglob("*.py"):
        found[folder_of(path.relative_to(root))] += code_lines(path)
    return found


def folder_of(path: Path) -> str:
    """Return the folder of a module; a dot for modules outside folders."""
    return path.parts[0] if len(path.parts) > 1 else "."


def count_by_folder(items: Iterable[pytest.Item]) -> dict[str, Counter[str]]:
    """Return the number of daily tests of each folder, in total and by expensive resource."""
    found: dict[str, Counter[str]] = {}
    for item in items:
        if item.get_closest_marker("exhaustive") is None:
            folder = folder_of(item.path.relative_to(TESTS))
            found.setdefault(folder, Counter()).update(["tests", *kinds_of(item, folder)])
    return found


def kinds_of(item: Any, folder: str) -> set[str]:
    """Return the resources of a test: browser, server, process, C library, four-men tables, solved cells."""
    fixtures = [each[-1].func for each in item._fixtureinfo.name2fixturedefs.values()]
    reached = set[object]().union(*map(_reached, (item.function, *fixtures)))
    names = {getattr(each, "__name__", "") for each in reached}
    kinds = {kind for fixture, kind in DEAR_FIXTURES.items() if fixture in item.fixturenames}
    if names & STARTING:
        kinds.add("process")
    if "serving" in names:
        kinds.add("server")
    if folder == "native":
        kinds.add("native")
    if any(str(getattr(each, "__module__", "")).startswith(SOLVING) for each in reached):
        kinds.add("solve")
    return kinds


@cache
def _reached(function: Any) -> frozenset[object]:
    """Return modules, functions and classes that a function uses, directly or through functions of tests."""
    found: set[object] = set()
    waiting = [inspect.unwrap(function)]
    while waiting:
        each = waiting.pop()
        for named in _named(each) if isinstance(each, FunctionType) else vars(each).values():
            is_known = isinstance(named, ModuleType | FunctionType | type)
            if is_known and named not in found:
                found.add(named)
                if not isinstance(named, ModuleType) and named.__module__.startswith("tests."):
                    waiting.append(named)
    return frozenset(found)


def _named(function: FunctionType) -> Iterator[Any]:
    codes: list[CodeType] = [function.__code__]
    while codes:
        code = codes.pop()
        codes += [each for each in code.co_consts if isinstance(each, CodeType)]
        yield from (function.__globals__.get(name) for name in code.co_names)
