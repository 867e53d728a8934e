"""The structure of the package: dependencies point one way, and light paths stay light."""

import ast
from pathlib import Path

import pytest

import tbgen

PACKAGE = Path(tbgen.__file__).parent

ABOVE = {
    "errors": set(),
    "score": {"errors"},
    "scoring": {"errors", "score"},
    "variant": {"errors"},
    "material": {"errors"},
    "board": {"errors", "score", "variant"},
    "accelerate": set(),
    "text": {"errors"},
    "files": {"errors"},
    "index": {"errors", "score", "variant", "material", "board"},
    "retro": {"errors", "score", "variant", "material", "accelerate", "index"},
    "store": {"errors", "files", "score", "variant", "material", "index"},
    "generator": {
        *("errors", "files", "score", "variant", "material", "accelerate"),
        *("index", "store", "retro", "tbgen"),
    },
    "probe": {"errors", "score", "variant", "material", "board", "index", "retro", "store"},
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


def test_kernels_alone_have_no_type_hints() -> None:
    """mypy looks away from kernels, so what it would have said about the other functions is checked here."""
    for path in [*PACKAGE.glob("retro/**/*.py"), *PACKAGE.glob("verify/**/*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and not is_compiled(node):
                arguments = [a for a in node.args.args + node.args.kwonlyargs if a.arg not in ("self", "cls")]
                assert node.returns is not None, f"{path.name}: {node.name}"
                assert all(a.annotation for a in arguments), f"{path.name}: {node.name}"


def is_compiled(node: ast.FunctionDef) -> bool:
    names = {ast.unparse(decorator).split("(")[0] for decorator in node.decorator_list}
    return bool(names & {"jit", "kernel", "inlined", "intrinsic"}) or node.name == "codegen"
