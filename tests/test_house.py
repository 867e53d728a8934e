"""The structure of the package, whose dependencies point one way, and the budget of code and tests."""

import ast
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import tbgen
from tbgen.compiler import cache as kernel_cache
from tests.support.census import count_by_folder, lines_by_folder
from tests.support.paths import ROOT
from tests.support.script_modules import load_script

architecture = load_script("page_blocks.architecture")
renew_pages = load_script("renew_pages")

PACKAGE = Path(tbgen.__file__).parent


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def part_of(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def test_no_module_imports_itself_by_others() -> None:
    """The pictures of docs/architecture.md, which are drawn from the code, also show parts and the page."""
    TopologicalSorter(architecture.modules()).prepare()


def test_tables_and_the_solver_do_not_meet() -> None:
    """Both count moves, by a room below them. Tables are looked up and packed without the solver."""
    parts = architecture.parts()
    assert {"retro", "tables"}.isdisjoint(parts["tables"] | parts["retro"] | parts["moves"])


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


def test_kernels_assign_only_numbers_to_slices() -> None:
    """numba takes more than a second to compile the assignment of an array to a slice: arrays are copied in
    loops. A number is a literal, a constant, or marked by the comment ``# a number``."""
    for path in KERNELS:
        lines = path.read_text().splitlines()
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Assign) and any(
                isinstance(part, ast.Slice) for target in node.targets for part in ast.walk(target)
            ):
                line = lines[node.lineno - 1]
                assert re.search(r" = (\d+|[A-Z_]+|.*  # a number)$", line), f"{path}, line {node.lineno}"


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


def test_one_room_knows_the_forms_of_tables() -> None:
    """Other modules have open tables, and ask what they store or derive; only for display do they name a
    form."""
    shown = set()
    for path in set(PACKAGE.rglob("*.py")) - set((PACKAGE / "tables").rglob("*.py")):
        assert not re.search(r"\b(PlainTable|PackedTable|is_packed)\b", path.read_text()), path
        if "info.form" in re.findall(r"\binfo\.\w+", path.read_text()):
            shown.add(path.relative_to(PACKAGE).as_posix())
    assert shown == {"cli/info.py", "report/making.py"}


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


HOST_CODE = re.compile(
    r"(errors|extras|text|board/\w+|compiler/\w+|engine/(scale|squares|workspace)|index/(codes|layout|zeroing)|store/checksum"
    r"|system/(locks|processes)|\w+/(__init__|entries|geometry|structs|destinations)|\w+/kernels/\w+)\.py"
)
"""What kernels may import: other kernels, geometry, structures and codes, and the set-up of kernels."""


def test_few_edits_compile_kernels_again() -> None:
    """Kernels import no code that opens, decodes or orchestrates; its edits would compile them again. Nor do
    the modules that compile kernels into one object file."""
    for path in (*KERNELS, *PACKAGE.glob("*/entries.py")):
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        files = [
            file.relative_to(PACKAGE).as_posix() for file in kernel_cache.source_files(f"tbgen.{module}")
        ]
        assert [file for file in files if not HOST_CODE.fullmatch(file)] == [], module
        assert len(files) <= (30 if module == "tables.kernels.questions" else 35), module


def imported(path: Path) -> set[Path]:
    """The modules of the package that a module imports."""
    names = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.update((node.module, *(f"{node.module}.{alias.name}" for alias in node.names)))
    files = {Path(PACKAGE.parent, *name.split(".")) for name in names if name.split(".")[0] == "tbgen"}
    modules = {file.with_suffix(".py") for file in files} | {file / "__init__.py" for file in files}
    return {module for module in modules if module.exists()} - {PACKAGE / "__init__.py"}


LIMITS: dict[str, dict[str, int]] = tomllib.loads((ROOT / "tests" / "budget.toml").read_text())
GENERATED = {f"docs/{name}.md" for name in ("endings", "findings", "mating", "set", "tcec")}
"""Pages that scripts write as a whole."""


def excess(section: str, weights: Mapping[str, int]) -> dict[str, str]:
    """Return what exceeds its limit by more than work in progress may."""
    limits, margins = LIMITS[section], LIMITS["margin"]
    return {
        name: f"{n}, and the limit is {limits.get(name, 0)}"
        for name, n in weights.items()
        if n > limits.get(name, 0) + (margins.get(name) or margins[section])
    }


def test_code_lines_are_within_their_budget() -> None:
    package, tests = map(lines_by_folder, (PACKAGE, ROOT / "tests"))
    modules = len([*PACKAGE.rglob("*.py")])
    too_many = excess("package", {"lines": package.total(), "modules": modules})
    assert (too_many, excess("tests", {"lines": tests.total()})) == ({}, {}), (package, tests)


def test_the_changelog_states_the_budgets() -> None:
    """So nobody raises a budget without a line that says what it buys."""
    changelog = (ROOT / "CHANGELOG.md").read_text()
    limits = [LIMITS["package"]["lines"], LIMITS["tests"]["lines"], LIMITS["tests"]["tests"]]
    assert [limit for limit in limits if f"{limit:,}" not in changelog] == []


def test_tests_are_within_their_budget(request: pytest.FixtureRequest) -> None:
    if request.config.args != ["tests"] or request.config.option.keyword:
        pytest.skip("only a run of all tests has them all to count")
    by_folder = count_by_folder(request.session.items)
    assert excess("tests", sum(by_folder.values(), Counter())) == {}, by_folder


def test_hand_written_words_are_within_their_budget() -> None:
    words = {
        path.relative_to(ROOT).as_posix(): len(renew_pages.without_blocks(path.read_text()).split())
        for path in renew_pages.hand_written_pages()
    }
    assert excess("words", {page: n for page, n in words.items() if page not in GENERATED}) == {}


def test_budgets_notice_what_exceeds_them() -> None:
    limit = LIMITS["package"]["lines"] + LIMITS["margin"]["lines"]
    assert excess("package", {"lines": limit}) == {}
    assert list(excess("package", {"lines": limit + 1, "modules": 1})) == ["lines"]
    assert list(excess("words", {"docs/page.md": LIMITS["margin"]["words"] + 1})) == ["docs/page.md"]
