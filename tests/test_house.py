"""The structure of the package, whose dependencies point one way, and the budget of code and tests."""

import ast
import re
import tomllib
from collections import Counter, defaultdict
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from posixpath import normpath

import pytest

import tbgen
from tbgen.compiler import cache as kernel_cache
from tests.support.census import code_lines, count_by_folder, folder_of, lines_by_folder
from tests.support.paths import ROOT

PACKAGE = Path(tbgen.__file__).parent

ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()
WORD = r"[a-z/]+"


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def part_of(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "tbgen":
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found.update(name.name for name in node.names if name.name.split(".")[0] == "tbgen")
    return {name.split(".")[1] if "." in name else "tbgen" for name in found}


@cache
def graph() -> dict[str, set[str]]:
    """The parts that each part of the package imports."""
    found: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        part = part_of(path)
        if part not in ("__init__", "__main__"):
            found.setdefault(part, set()).update(imports(path) - {part, "tbgen"})
    return found


@cache
def page() -> dict[str, set[str]]:
    """The modules that each module of the page imports at its start."""
    folder, found = PACKAGE / "web" / "page", dict[str, set[str]]()
    for path in folder.rglob("*.js"):
        name = path.relative_to(folder).with_suffix("")
        wanted = re.findall(r'^import .* from "(.+)\.js"$', path.read_text(), re.MULTILINE)
        found[name.as_posix()] = {normpath(f"{name.parent}/{each}") for each in wanted}
    return found


def pictures() -> list[tuple[str, dict[str, set[str]]]]:
    """The text with the picture of the parts, and the text with that of the page, each with its
    dependencies."""
    return list(zip(ARCHITECTURE.split("## Inside"), (graph(), page()), strict=True))


def floors(parts: dict[str, set[str]]) -> dict[str, int]:
    """The floor of each part: one above the highest that it imports; a cycle raises CycleError."""
    found: dict[str, int] = {}
    for part in TopologicalSorter(parts).static_order():
        found[part] = 1 + max((found[below] for below in parts[part]), default=-1)
    return found


def reached(parts: dict[str, set[str]], part: str) -> set[str]:
    """The parts that a part depends on."""
    return parts[part].union(*(reached(parts, below) for below in parts[part]))


def test_the_pictures_have_every_part_on_its_floor() -> None:
    for text, parts in pictures():
        rows = re.findall(r"^floor (\d+) +(.+)$", text, re.MULTILINE)
        assert {part: int(floor) for floor, row in rows for part in row.split()} == floors(parts)


@cache
def files() -> dict[str, set[str]]:
    """The modules that each module imports, those of annotations and functions included."""
    names = {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path
        for path in PACKAGE.rglob("*.py")
    }
    names = {name.removesuffix(".__init__"): path for name, path in names.items()}
    found: dict[str, set[str]] = {}
    for name, path in names.items():
        nodes = list(ast.walk(tree_of(path)))
        froms = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
        meant = {f"{node.module}.{alias.name}" for node in froms for alias in node.names}
        meant |= {each.rpartition(".")[0] for each in meant if each not in names}
        meant |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        found[name] = (meant & set(names)) - {name}
    return found


def test_no_file_imports_itself_by_others() -> None:
    TopologicalSorter(files()).prepare()


def test_large_packages_have_floors_of_their_own() -> None:
    rows = re.findall(
        r"^([a-z]+(?:/[a-z]+)?) +(\d+) +(\w.*)$", ARCHITECTURE.partition("## Inside")[2], re.MULTILINE
    )
    drawn = {
        f"tbgen.{package.replace('/', '.')}.{name}": int(floor)
        for package, floor, row in rows
        for name in row.split()
    }
    for package in {name.rpartition(".")[0] for name in drawn}:
        inside = {name: below for name, below in files().items() if name.startswith(f"{package}.")}
        parts = {name: below & set(inside) for name, below in inside.items()}
        assert {name: floor for name, floor in drawn.items() if name in parts} == floors(parts), package


def test_the_arrows_are_those_of_the_code() -> None:
    """The pictures have the arrows of the code, without those that others imply."""
    for text, parts in pictures():
        arrows = re.findall(rf"^({WORD}) +→ ((?:{WORD}(?:, )?)+)$", text, re.MULTILINE)
        needed = {
            part: {b for b in below if not any(b in reached(parts, other) for other in below)}
            for part, below in parts.items()
        }
        assert {a: set(row.split(", ")) for a, row in arrows} == {a: b for a, b in needed.items() if b}


def test_every_package_is_on_the_page() -> None:
    """The table of packages has each part, and each module that the page names exists."""
    assert set(graph()) <= set(re.findall(rf"`({WORD})(?:/|\.py)`", ARCHITECTURE))
    modules = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")}
    for named in re.findall(r"`([a-z_]+/[a-z_/]+\.py)`", ARCHITECTURE):
        known = named in modules or (ROOT / named).exists() or any(m.endswith(f"/{named}") for m in modules)
        assert known, named


KERNELS = sorted(PACKAGE.glob("*/kernels/*.py"))
MOST_PARAMETERS = 9


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: f"{path.parts[-3]}/{path.stem}")
def test_folders_of_kernels_hold_jitted_functions_alone(path: Path) -> None:
    """Plain Python that makes arrays or orchestrates is in other folders, so the folder shows which code may
    not allocate, which numba compiles and which an edit compiles again."""
    tree = tree_of(path)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    inside = {id(node) for outer in functions for node in ast.walk(outer) if node is not outer}
    for node in functions:
        assert is_compiled(node) or id(node) in inside, node.name
        assert len(node.args.args) <= MOST_PARAMETERS, node.name


def test_kernels_lie_in_their_folders() -> None:
    for path in set(PACKAGE.rglob("*.py")) - {*KERNELS, PACKAGE / "compiler" / "jit.py"}:
        for node in ast.walk(tree_of(path)):
            assert not (isinstance(node, ast.FunctionDef) and is_compiled(node)), f"{path}: {node.name}"


def test_every_class_has_a_name_of_its_own() -> None:
    """A search for a name finds one class, whether the name begins with an underscore or not."""
    places: dict[str, list[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name.lstrip("_"), []).append(str(path.relative_to(PACKAGE)))
    assert len(places) > 400
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


SYSTEM = {
    *("sys.platform", "os.name", "os.kill", "os.fork", "signal.SIGHUP", "signal.SIGPIPE", "signal.SIGKILL"),
    *("fcntl", "msvcrt", "resource", "psutil", "select", "termios", "winreg"),
}


def test_one_package_asks_for_the_system() -> None:
    """Other packages use no name that some systems lack; mypy finds the rest."""
    places = defaultdict[str, set[str]](set)
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(tree_of(path)):
            names = [ast.unparse(node)] if isinstance(node, ast.Attribute) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in SYSTEM.intersection(names):
                places[name].add(part_of(path))
    assert {"sys.platform", "fcntl", "psutil"} <= places.keys()
    assert set().union(*places.values()) == {"system"}, places


def is_compiled(node: ast.FunctionDef) -> bool:
    names = {ast.unparse(decorator) for decorator in node.decorator_list}
    return bool(names & {"jit", "kernel", "inlined", "merged", "intrinsic"})


def test_a_kernel_is_compiled_anew_whatever_it_imports() -> None:
    """The cache finds imports by a pattern; they are those of the syntax tree."""
    for path in PACKAGE.rglob("*.py"):
        assert kernel_cache.direct_imports(path) == imported(path), path


def imported(path: Path) -> set[Path]:
    """The modules of the package that a module imports."""
    names = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.update((node.module, *(f"{node.module}.{alias.name}" for alias in node.names)))
    files = {Path(PACKAGE.parent, *name.split(".")) for name in names if name.split(".")[0] == "tbgen"}
    modules = {file.with_suffix(".py") for file in files} | {file / "__init__.py" for file in files}
    return {module for module in modules if module.exists()} - {PACKAGE / "__init__.py"}


BUDGET: dict[str, dict[str, int]] = tomllib.loads((ROOT / "tests" / "budget.toml").read_text())


def test_code_lines_of_tests_are_within_their_budget() -> None:
    lines = lines_by_folder(ROOT / "tests")
    assert sum(lines.values()) <= BUDGET["all"]["lines"]
    assert {folder: n for folder, n in lines.items() if n > BUDGET.get(folder, {}).get("lines", 0)} == {}


def test_code_lines_of_the_package_are_within_their_budget_and_small_modules_have_a_reason() -> None:
    weights = {path.relative_to(PACKAGE): code_lines(path) for path in PACKAGE.rglob("*.py")}
    lines = Counter({"all": sum(weights.values()), "modules": len(weights)})
    for path, n in weights.items():
        lines[folder_of(path)] += n
    assert {package: n for package, n in lines.items() if n > BUDGET["package"].get(package, 0)} == {}
    reasons = ARCHITECTURE.partition("## Small")[2].partition("\n## ")[0]
    named = re.findall(r"`([a-z_/]+\.py)`", "".join(re.findall(r"^(\|.*?\|)", reasons, re.MULTILINE)))
    assert set(named) == {path.as_posix() for path, n in weights.items() if 0 < n < 40}


def test_dear_tests_are_within_their_budget(request: pytest.FixtureRequest) -> None:
    if request.config.args != ["tests"] or request.config.option.keyword:
        pytest.skip("only a run of all tests has them all to count")
    counted = count_by_folder(request.session.items)
    counted["all"] = sum(counted.values(), Counter())
    over = {
        f"{folder}, {kind}: {n}": BUDGET.get(folder, {}).get(kind, 0)
        for folder, kinds in counted.items()
        for kind, n in kinds.items()
        if n > BUDGET.get(folder, {}).get(kind, 0)
    }
    assert over == {}, "more than tests/budget.toml allows"
