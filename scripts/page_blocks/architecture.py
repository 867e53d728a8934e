"""Blocks of docs/architecture.md: floors, arrows and contents of the package and of the web page."""

import ast
import re
from collections.abc import Iterable, Mapping, Set
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from posixpath import normpath
from typing import Final

import tbgen
from page_blocks.docstrings import first_sentence
from page_blocks.markdown import table

_PACKAGE: Final = Path(tbgen.__file__).parent
_PAGE: Final = _PACKAGE / "web" / "page"
_ENTRY_POINTS: Final = {"tbgen", "tbgen.__main__"}
"""Modules that belong to no part."""

Graph = Mapping[str, Set[str]]
"""What each part or module imports directly."""


@cache
def modules() -> Graph:
    """Return the modules of the package that each module imports, also for annotations and in functions."""
    paths = {_module_name(path): path for path in _PACKAGE.rglob("*.py")}
    found = {}
    for name, path in paths.items():
        nodes = list(ast.walk(ast.parse(path.read_text())))
        froms = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
        imported = {f"{node.module}.{alias.name}" for node in froms for alias in node.names}
        imported |= {target.rpartition(".")[0] for target in imported if target not in paths}
        imported |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        found[name] = imported & set(paths) - {name}
    return found


def _module_name(path: Path) -> str:
    return ".".join(path.relative_to(_PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def parts() -> Graph:
    """Return the parts of the package, which are its modules and packages, that each part imports."""
    found: dict[str, set[str]] = {}
    for name, imported in modules().items():
        if name not in _ENTRY_POINTS:
            part = _part(name)
            found.setdefault(part, set()).update(_part(target) for target in imported - _ENTRY_POINTS)
            found[part].discard(part)
    return found


def _part(module: str) -> str:
    return module.split(".")[1]


@cache
def page_modules() -> Graph:
    """Return the modules of the web page that each of them imports."""
    found = {}
    for path in _PAGE.rglob("*.js"):
        name = path.relative_to(_PAGE).with_suffix("")
        targets = re.findall(r'^import .* from "(.+)\.js"$', path.read_text(), re.MULTILINE)
        found[name.as_posix()] = {normpath(f"{name.parent}/{target}") for target in targets}
    return found


def _floors(graph: Graph) -> dict[str, int]:
    """Return the floor of each part: one above the highest part that it imports.

    :raises CycleError: if parts import each other.
    """
    found: dict[str, int] = {}
    for part in TopologicalSorter(graph).static_order():
        found[part] = 1 + max((found[below] for below in graph[part]), default=-1)
    return found


def floors() -> str:
    """Return the floors of the parts of the package."""
    return _fenced(_floor_rows("floor", parts()))


def page_floors() -> str:
    """Return the floors of the modules of the web page."""
    return _fenced(_floor_rows("floor", page_modules()))


def floors_inside(*packages: str) -> str:
    """Return the floors of the modules of packages, each a picture of its own."""
    pictures = []
    for package in packages:
        prefix = f"tbgen.{package.replace('/', '.')}."
        inside = {name for name in modules() if name.startswith(prefix)}
        graph = {
            name.removeprefix(prefix): {target.removeprefix(prefix) for target in modules()[name] & inside}
            for name in inside
        }
        pictures.append(_floor_rows(package, graph))
    return _fenced("\n\n".join(pictures))


def _floor_rows(title: str, graph: Graph) -> str:
    numbers = _floors(graph)
    rows = []
    for floor in sorted(set(numbers.values()), reverse=True):
        names = sorted(name for name in numbers if numbers[name] == floor)
        rows.append(f"{title} {floor:<3}  {'   '.join(names)}")
    return "\n".join(rows)


def part_table() -> str:
    """Return a table of all parts: the first sentence of the docstring, and imports."""
    rows = []
    graph = parts()
    for part in _downwards(graph):
        is_package = (_PACKAGE / part).is_dir()
        path = _PACKAGE / part / "__init__.py" if is_package else _PACKAGE / f"{part}.py"
        docstring = ast.get_docstring(ast.parse(path.read_text())) or ""
        name = f"`{part}/`" if is_package else f"`{part}.py`"
        rows.append((name, first_sentence(docstring), _needed(graph, part)))
    return table(("part", "content", "imports"), rows)


def page_table() -> str:
    """Return a table of all modules of the web page: the first sentence of the comment, and imports."""
    rows = []
    graph = page_modules()
    for name in _downwards(graph):
        comment = re.match(r"(?:// .*\n)+", (_PAGE / f"{name}.js").read_text())
        text = comment[0].replace("// ", "") if comment else ""
        rows.append((f"`{name}`", first_sentence(text), _needed(graph, name)))
    return table(("module", "content", "imports"), rows)


def _downwards(graph: Graph) -> Iterable[str]:
    numbers = _floors(graph)
    return sorted(graph, key=lambda part: (-numbers[part], part))


def _needed(graph: Graph, part: str) -> str:
    """Return the imports of a part, without those that its other imports imply."""
    implied = set[str]().union(*(_reached(graph, below) for below in graph[part]))
    return ", ".join(sorted(graph[part] - implied))


def _reached(graph: Graph, part: str) -> set[str]:
    """Return the parts that a part depends on."""
    return set(graph[part]).union(*(_reached(graph, below) for below in graph[part]))


def _fenced(text: str) -> str:
    return f"```\n{text}\n```"
