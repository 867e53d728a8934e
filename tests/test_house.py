"""The structure of the package: dependencies point one way, and light paths stay light."""

import ast
from pathlib import Path

import pytest

import tbgen
from tbgen import accelerate

PACKAGE = Path(tbgen.__file__).parent

ABOVE = {
    "errors": set(),
    "score": {"errors"},
    "scoring": {"errors", "score"},
    "variant": {"errors"},
    "signed": {"score"},
    "material": {"errors"},
    "board": {"errors", "score", "variant"},
    "accelerate": set(),
    "text": {"errors"},
    "files": {"errors"},
    "index": {"errors", "score", "signed", "variant", "material", "board"},
    "retro": {"errors", "score", "variant", "material", "accelerate", "index"},
    "store": {"errors", "files", "score", "variant", "material", "index"},
    "generator": {
        *("errors", "files", "score", "variant", "material", "accelerate"),
        *("index", "store", "retro", "tbgen"),
    },
    "probe": {
        *("errors", "score", "signed", "variant", "scoring", "material", "board"),
        *("index", "retro", "store"),
    },
    "verify": {"errors", "score", "variant", "material", "accelerate", "index", "retro", "store"},
    "games": {
        *("errors", "text", "files", "html", "score", "variant", "scoring"),
        *("board", "index", "store", "probe"),
    },
    "html": {"errors", "text"},
    "report": {
        *("errors", "score", "variant", "scoring", "material", "board", "index", "store", "probe"),
        *("games", "text", "files", "html", "tbgen"),
    },
    "cli": {
        *("errors", "score", "variant", "scoring", "material", "board", "index", "store", "probe"),
        *("games", "report", "generator", "verify", "text", "files", "tbgen"),
    },
}
"""What each part of the house may import."""


def part_of(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "tbgen":
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found.update(name.name for name in node.names if name.name.split(".")[0] == "tbgen")
    return {name.split(".")[1] if "." in name else "tbgen" for name in found}


@pytest.mark.parametrize("part", ABOVE)
def test_dependencies_point_one_way(part: str) -> None:
    modules = [path for path in PACKAGE.rglob("*.py") if part_of(path) == part]
    assert modules
    for path in modules:
        assert imports(path) - {part} <= ABOVE[part], path


def test_every_part_has_its_place() -> None:
    parts = {part_of(path) for path in PACKAGE.rglob("*.py")} - {"__init__", "__main__"}
    assert parts == set(ABOVE)


KERNELS = [path for part in ("retro", "verify") for path in (PACKAGE / part / "kernels").glob("*.py")]
MOST_PARAMETERS = 9


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: f"{path.parts[-3]}/{path.stem}")
def test_folders_of_kernels_hold_jitted_functions_alone(path: Path) -> None:
    """What makes arrays or orchestrates in plain Python lies beside them, so that it is clear what may not
    allocate, what numba has to compile and what an edit compiles anew."""
    tree = ast.parse(path.read_text())
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    inside = {id(node) for outer in functions for node in ast.walk(outer) if node is not outer}
    for node in functions:
        assert is_compiled(node) or id(node) in inside, node.name
        assert len(node.args.args) <= MOST_PARAMETERS, node.name


def test_kernels_lie_in_their_folders() -> None:
    for path in set(PACKAGE.rglob("*.py")) - {*KERNELS, PACKAGE / "accelerate.py"}:
        for node in ast.walk(ast.parse(path.read_text())):
            assert not (isinstance(node, ast.FunctionDef) and is_compiled(node)), f"{path}: {node.name}"


def is_compiled(node: ast.FunctionDef) -> bool:
    names = {ast.unparse(decorator) for decorator in node.decorator_list}
    return bool(names & {"jit", "kernel", "inlined", "intrinsic"})


def test_the_cache_of_kernels_notices_every_edit() -> None:
    """Whatever the kernels import may be compiled into them, so it has to be part of the cache's name."""
    waiting, found = list(KERNELS), set()
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += imported(path)
    assert len(found) > len(KERNELS) + 5
    assert found <= set(accelerate.sources())


def imported(path: Path) -> set[Path]:
    """The modules of the package that a module imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.update((node.module, *(f"{node.module}.{alias.name}" for alias in node.names)))
    files = {Path(PACKAGE.parent, *name.split(".")) for name in names if name.split(".")[0] == "tbgen"}
    modules = {file.with_suffix(".py") for file in files} | {file / "__init__.py" for file in files}
    return {module for module in modules if module.exists()} - {PACKAGE / "__init__.py"}
