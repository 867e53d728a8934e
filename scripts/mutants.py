#!/usr/bin/env python3
"""Make small mistakes in the code, one at a time, and report which of them the tests notice.

    scripts/mutate --out /tmp/mutants
    scripts/mutate --out /tmp/mutants --count 8 --list
    scripts/mutate --out /tmp/mutants --count 20 --packages cli web --tests tests/cli tests/web
    scripts/mutate --out /tmp/again --like /tmp/mutants

A mutant is the package with one change in the body of one function: another operator, comparison or number,
or a negated condition. A digest of seed, function and change chooses the mutants, equally many of each
package. So another commit has the same mutants wherever the code is the same. The tests run in copies of the
checkout, which is not changed.

First, all tests, or those of --tests, run once with coverage, except exhaustive tests and tests with a
browser. Then each mutant runs the tests whose coverage reaches it until one fails; tests of its own package
come first. A mutant of a compiled function runs the tests that reach a call of the function. A mutant of
another function first uses the existing kernels. If it survives, it compiles its own kernels, because kernels
can depend on its results. All this takes twice the time of the tests, and then a minute for each mutant, or
five for a mutant that compiles. Exit code 0 even if mutants survive; 1 if the tests cannot be run.
"""

import argparse
import ast
import copy
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from queue import Queue
from typing import Final, NamedTuple

from tbgen.system.processes import APART, kill_tree

ROOT: Final = Path(__file__).resolve().parent.parent
OUTCOMES: Final = "outcomes.jsonl"
"""Name of the file of outcomes, one line for each mutant."""
PLUGIN: Final = ("-p", "tests.support.chosen", "-p", "no:cacheprovider", "-q", "--no-header")
_OPERATOR_PAIRS: Final = (
    (ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.In, ast.NotIn), (ast.Is, ast.IsNot),
    (ast.Add, ast.Sub), (ast.Mult, ast.FloorDiv), (ast.LShift, ast.RShift), (ast.BitAnd, ast.BitOr),
    (ast.And, ast.Or),
)  # fmt: skip
SWAPS: Final = dict[type[ast.AST], type[ast.AST]](
    [*_OPERATOR_PAIRS, *((b, a) for a, b in _OPERATOR_PAIRS), (ast.BitXor, ast.BitOr)]
)
"""The operators and their replacements."""
_COMPILING_DECORATORS: Final = {"jit", "kernel", "inlined"}
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Mutant(NamedTuple):
    """One change of one module.

    :ivar path: path of the module within the checkout.
    :ivar function: qualified name of the function whose body is changed.
    :ivar place: line and column of the changed code.
    :ivar start: offset of the changed code in the file, in bytes; ``end`` is the offset of its end.
    """

    path: str
    function: str
    place: tuple[int, int]
    start: int
    end: int
    before: str
    after: str

    @property
    def name(self) -> str:
        """Description of the change in one line."""
        return f"{self.path}:{self.place[0]}:{self.place[1]} {self.function}: {self.before} -> {self.after}"

    def apply(self, source: bytes) -> bytes:
        """Return the source of the module with the change."""
        return source[: self.start] + self.after.encode() + source[self.end :]


class Outcome(NamedTuple):
    """The outcome of the tests of a mutant.

    :ivar outcome: ``killed``, ``survived`` or ``unreached``.
    :ivar by: the test that failed, or another reason.
    """

    mutant: str
    outcome: str
    by: str
    seconds: float


def mutants_of(path: Path, root: Path) -> list[Mutant]:
    """Return all mutants of a module."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def mutant(function: str, node: ast.expr, changed: ast.AST) -> Mutant:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        before = " ".join(source[start:end].decode().split())
        after = f"({ast.unparse(ast.fix_missing_locations(changed))})"
        return Mutant(
            path.relative_to(root).as_posix(),
            function,
            (node.lineno, node.col_offset),
            start,
            end,
            before,
            after,
        )

    return [
        mutant(name, node, changed)
        for name, function in functions_of(ast.parse(source))
        for statement in function.body
        for node, changed in _changes(statement)
    ]


def functions_of(tree: ast.Module) -> Iterator[tuple[str, _Function]]:
    """Yield the outermost functions and methods of a module, with their qualified names."""
    for node in tree.body:
        if isinstance(node, _Function):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from (
                (f"{node.name}.{item.name}", item) for item in node.body if isinstance(item, _Function)
            )


def _changes(node: ast.AST) -> Iterator[tuple[ast.expr, ast.AST]]:
    """Yield expressions and their replacements, except in type hints, decorators and messages."""
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert):
        return
    if isinstance(node, ast.expr):
        yield from ((node, replacement) for replacement in _replacements(node))
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        yield node.test, ast.UnaryOp(ast.Not(), copy.deepcopy(node.test))
    for field, value in ast.iter_fields(node):
        if field not in (
            "annotation",
            "returns",
            "decorator_list",
            "args" if isinstance(node, _Function) else "",
        ):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _changes(child)


def _replacements(node: ast.expr) -> Iterator[ast.AST]:
    changed = copy.deepcopy(node)
    match changed:
        case ast.Compare(ops=[op]) if type(op) in SWAPS:
            changed.ops = [SWAPS[type(op)]()]  # type: ignore[list-item]
            yield changed
        case ast.BinOp(op=op) | ast.BoolOp(op=op) if type(op) in SWAPS:
            changed.op = SWAPS[type(op)]()  # type: ignore[assignment]
            yield changed
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield changed.operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)


def packages_of(root: Path) -> list[str]:
    """Return the names of the packages of a checkout."""
    return sorted({path.parent.name for path in (root / "tbgen").glob("*/*.py")})


def choose(count: int, seed: int, root: Path, packages: Sequence[str] | None = None) -> list[Mutant]:
    """Return ``count`` mutants, taken in turn from the packages, by default from all of them."""
    queues = []
    for package in packages or packages_of(root):
        modules = sorted((root / "tbgen" / package).rglob("*.py"))
        mutants = [mutant for path in modules for mutant in mutants_of(path, root)]
        queues.append(_shuffled(mutants, seed))
    chosen: list[Mutant] = []
    while len(chosen) < count and any(queues):
        chosen += [queue.pop() for queue in queues if queue]
    return chosen[:count]


def same_mutants(names: Sequence[str], root: Path) -> list[Mutant]:
    """Return the mutants that another commit had under these names.

    A change is found in its function, if the module is another one now, too. If it is gone, it is left out.
    """
    by_change: defaultdict[str, list[Mutant]] = defaultdict(list)
    for path in sorted((root / "tbgen").rglob("*.py")):
        for mutant in mutants_of(path, root):
            by_change[mutant.name.partition(" ")[2]].append(mutant)
    found: list[Mutant] = []
    for name in names:
        position, _, change = name.partition(" ")
        module, line, column = position.split(":")
        distances = {
            (
                mutant.path != module,
                abs(mutant.place[0] - int(line)),
                abs(mutant.place[1] - int(column)),
            ): mutant
            for mutant in by_change[change]
        }
        if distances:
            found.append(distances[min(distances)])
    return found


def _shuffled(mutants: Sequence[Mutant], seed: int) -> list[Mutant]:
    """Return mutants in a pseudo-random order. The order of any two does not depend on other mutants."""
    repeats: Counter[tuple[str, ...]] = Counter()
    sort_keys = {}
    for mutant in mutants:
        change = (mutant.path, mutant.function, mutant.before, mutant.after)
        sort_keys[mutant] = hashlib.sha256(repr((seed, *change, repeats[change])).encode()).hexdigest()
        repeats[change] += 1
    return sorted(mutants, key=sort_keys.__getitem__)


class Calls:
    """Finds the Python functions that call compiled functions, directly or indirectly, by syntax trees."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._users: defaultdict[str, list[tuple[str, _Function | ast.stmt]]] = defaultdict(list)
        for path in (root / "tbgen").rglob("*.py"):
            name = path.relative_to(root).as_posix()
            tree = ast.parse(path.read_bytes())
            nodes = [node for _, node in functions_of(tree)]
            for node in (
                *nodes,
                *(node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)),
            ):
                for used in {child.id for child in ast.walk(node) if isinstance(child, ast.Name)}:
                    self._users[used].append((name, node))

    def lines(self, mutant: Mutant) -> dict[str, set[int]]:
        """Return the line of a mutant; if it is compiled, also the lines of Python functions that call it."""
        lines: defaultdict[str, set[int]] = defaultdict(set)
        lines[mutant.path].add(mutant.place[0])
        tree = ast.parse((self._root / mutant.path).read_bytes())
        unvisited = [
            node.name for name, node in functions_of(tree) if name == mutant.function and is_compiled(node)
        ]
        seen = set(unvisited)
        while unvisited:
            for path, user in self._users[unvisited.pop()]:
                if isinstance(user, _Function) and not is_compiled(user):
                    lines[path].update(range(user.body[0].lineno, (user.end_lineno or user.lineno) + 1))
                    continue
                names = [user.name] if isinstance(user, _Function) else _assigned(user)
                unvisited += [name for name in names if name not in seen]
                seen.update(names)
        return lines


def is_compiled(node: _Function) -> bool:
    """Return whether the decorators of a function make numba compile it."""
    return bool({ast.unparse(decorator) for decorator in node.decorator_list} & _COMPILING_DECORATORS)


def _assigned(node: ast.stmt) -> list[str]:
    targets = (
        node.targets
        if isinstance(node, ast.Assign)
        else [node.target]
        if isinstance(node, ast.AnnAssign)
        else []
    )
    return [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]


class CoverageRun:
    """The results of the run with coverage.

    :param directory: directory with the results.
    """

    def __init__(self, directory: Path) -> None:
        import coverage

        self._data = coverage.CoverageData(str(directory / "coverage"))
        self._data.read()
        first, *workers = (json.loads(path.read_text()) for path in sorted(directory.glob("observed*")))
        self._seconds: dict[str, float] = first["seconds"]
        self._passed = {name for name, outcome in first["outcomes"].items() if outcome == "passed"}
        self._fixtures: dict[str, list[str]] = {
            name: used for worker in workers for name, used in worker["fixtures"].items()
        }

    def tests(self, lines: dict[str, set[int]], package: str) -> list[str]:
        """Return the tests that reach lines of modules: tests of ``package`` first, then by time."""
        contexts: set[str] = set()
        for file in self._data.measured_files():
            wanted = next((numbers for path, numbers in lines.items() if file.endswith(f"/{path}")), set())
            if wanted:
                by_line = self._data.contexts_by_lineno(file)
                contexts.update(*(by_line.get(line, ()) for line in wanted))
        fixtures = {
            context.removeprefix("fixture ") for context in contexts if context.startswith("fixture ")
        }
        tests = {context.rpartition("|")[0] for context in contexts}
        tests |= {name for name, used in self._fixtures.items() if fixtures.intersection(used)}
        seconds: defaultdict[str, float] = defaultdict(float)
        for test in tests:
            seconds[_module(test)] += self._seconds.get(test, 0)
        return sorted(
            tests & self._passed,
            key=lambda test: (not test.startswith(f"tests/{package}/"), seconds[_module(test)], test),
        )

    def seconds(self, tests: Sequence[str]) -> float:
        """Return the total time of tests in seconds."""
        return sum(self._seconds[test] for test in tests)


def _module(test: str) -> str:
    return test.partition("::")[0]


class Copy:
    """A copy of the checkout for the tests of one mutant at a time, with its own compiled kernels."""

    def __init__(self, directory: Path, python: str) -> None:
        self._directory = directory
        self._python = python
        names = subprocess.check_output(
            ["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT
        ).split(b"\0")
        for name in filter(None, names):
            source, target = ROOT / os.fsdecode(name), directory / os.fsdecode(name)
            if source.is_file():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)
        kernels = directory.with_name(f"{directory.name}-kernels")
        existing_kernels = _kernels()
        if existing_kernels.exists():
            shutil.copytree(existing_kernels, kernels / "kernels", copy_function=_link)
        # Tests in the copy must not see the environment of tests that run this script.
        own = ("PYTEST_", "TBGEN_TEST")
        self._environment = {name: value for name, value in os.environ.items() if not name.startswith(own)}
        self._environment |= {"PYTHONPATH": str(directory), "NUMBA_CACHE_DIR": str(kernels)}
        self._version = 0

    def run(
        self, *words: str, limit: float | None = None, environment: dict[str, str]
    ) -> tuple[int | None, str]:
        """Run pytest in the copy, and return its exit code and its output.

        The exit code is None if ``limit`` seconds have passed.
        """
        with tempfile.TemporaryFile("w+") as output:
            process = subprocess.Popen(
                [self._python, "-m", "pytest", *PLUGIN, *words],
                cwd=self._directory,
                env=self._environment | environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                **APART,
            )
            try:
                code = process.wait(limit)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                if process.poll() is None:
                    kill_tree(process.pid)
                    process.wait()
            output.seek(0)
            return code, output.read()

    def test(self, mutant: Mutant, tests: Sequence[str], usual: float, limit: float) -> Outcome:
        """Run tests on a mutant until one fails.

        :param usual: seconds that the tests take without the change.
        :param limit: maximum time in seconds.
        """
        start = time.monotonic()
        if not tests:
            return Outcome(mutant.name, "unreached", "", 0)
        path = self._directory / mutant.path
        source = path.read_bytes()
        chosen = self._directory.with_name(f"{self._directory.name}-chosen")
        chosen.write_text("\n".join(tests))
        words = ("-x", *dict.fromkeys(_module(test) for test in tests))
        timeout = min(limit, 600 + 10 * usual)
        environment = {"TBGEN_CHOSEN": str(chosen)}
        self._write(path, mutant.apply(source))
        try:
            code: int | None = 0
            if kept := _kept_digest(mutant):
                code, output = self.run(*words, limit=timeout, environment=environment | {"TBGEN_KEPT": kept})
            if code == 0:
                code, output = self.run(*words, limit=timeout, environment=environment)
        finally:
            self._write(path, source)
        seconds = time.monotonic() - start
        if code == 0:
            return Outcome(mutant.name, "survived", "", seconds)
        failed = [line for line in output.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        if code is None and seconds < limit:
            return Outcome(mutant.name, "killed", "it did not end", seconds)
        if code is None:
            return Outcome(mutant.name, "survived", f"not all tests ran in {limit:.0f} s", seconds)
        return Outcome(mutant.name, "killed", failed[0][:150] if failed else output[-300:], seconds)

    def _write(self, path: Path, source: bytes) -> None:
        """Write a module with a new modification time, which makes Python compile it again."""
        path.write_bytes(source)
        self._version += 1
        os.utime(path, (self._version, self._version))


@cache
def _kernels() -> Path:
    sys.path.insert(0, str(ROOT))
    from tbgen.compiler.cache import shared_directory

    return shared_directory()


def _kept_digest(mutant: Mutant) -> str:
    """Return the digest with which tests of a mutant find the kernels of the unchanged module.

    It is empty if the mutant is in a compiled function, or in a module that no module of kernels imports.
    """
    from tbgen.compiler.cache import _source_digest, source_files

    path = ROOT / mutant.path
    compiled = {name for name, node in functions_of(ast.parse(path.read_bytes())) if is_compiled(node)}
    kernels = (kernel.relative_to(ROOT) for kernel in (ROOT / "tbgen").rglob("kernels/*.py"))
    if mutant.function in compiled or not any(
        path in source_files(".".join(kernel.with_suffix("").parts)) for kernel in kernels
    ):
        return ""
    return f"{mutant.path}={_source_digest(path).hex()}"


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def observe(out: Path, tests: Sequence[str]) -> None:
    """Run tests once with coverage, except exhaustive tests and tests with a browser.

    :param tests: paths of the tests within the checkout.
    :raises SystemExit: if pytest fails to run them.
    """
    with tempfile.TemporaryDirectory(prefix="tbgen-mutants-") as directory:
        checkout = Copy(Path(directory, "checkout"), sys.executable)
        words = (
            *tests,
            "-n",
            "auto",
            "--dist",
            "loadfile",
            "-m",
            "not exhaustive",
            "--cov=tbgen",
            "--cov-context=test",
            "--cov-report=",
        )
        paths = {"COVERAGE_FILE": str(out / "coverage"), "TBGEN_OBSERVED": str(out / "observed")}
        code, output = checkout.run(*words, environment=paths)
        (out / "observing.log").write_text(output)
        if code not in (0, 1) or " passed" not in output:
            sys.exit(f"the tests do not run, see {out / 'observing.log'}:\n{output[-2000:]}")
    (out / "complete").touch()


def _read_outcomes(directory: Path) -> dict[str, Outcome]:
    """Return the outcomes of a run so far, by the names of the mutants."""
    path = directory / OUTCOMES
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {row[0]: Outcome(*row) for row in rows}


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--out", type=Path, required=True, help="directory of the results, outside the checkout"
    )
    parser.add_argument("--count", type=int, default=60, help="number of mutants (60)")
    parser.add_argument("--seed", type=int, default=1, help="seed of their choice (1)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="mutants at once (all processors)")
    parser.add_argument(
        "--limit", type=float, default=1200, help="time limit in seconds for the tests of one mutant (1200)"
    )
    parser.add_argument(
        "--packages", nargs="+", choices=packages_of(ROOT), metavar="NAME", help="packages to change (all)"
    )
    parser.add_argument(
        "--tests", nargs="+", default=["tests"], metavar="PATH", help="tests that look for the mutants (all)"
    )
    parser.add_argument(
        "--like", type=Path, metavar="DIR", help="take the mutants of another run, with its results"
    )
    parser.add_argument("--list", action="store_true", help="print the mutants and run nothing")
    options = parser.parse_args(words)
    if options.like:
        mutants = same_mutants(list(_read_outcomes(options.like)), ROOT)
    else:
        mutants = choose(options.count, options.seed, ROOT, options.packages)
    if options.list:
        print(*(mutant.name for mutant in mutants), sep="\n")
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    if not (options.out / "complete").exists():
        print("running the tests with coverage", file=sys.stderr)
        observe(options.out, options.tests)
    observed = CoverageRun(options.out)
    calls = Calls(ROOT)
    outcomes = _read_outcomes(options.out)
    start = time.monotonic()
    remaining = [mutant for mutant in mutants if mutant.name not in outcomes]
    with (
        tempfile.TemporaryDirectory(prefix="tbgen-mutants-") as directory,
        ThreadPoolExecutor(options.jobs) as pool,
    ):
        copies: Queue[Copy] = Queue()
        for number in range(options.jobs):
            copies.put(Copy(Path(directory, f"checkout-{number}"), sys.executable))

        def work(mutant: Mutant) -> Outcome:
            checkout = copies.get()
            tests = observed.tests(calls.lines(mutant), mutant.path.split("/")[1])
            try:
                return checkout.test(mutant, tests, observed.seconds(tests), options.limit)
            finally:
                copies.put(checkout)

        for number, outcome in enumerate(pool.map(work, remaining), 1):
            outcomes[outcome.mutant] = outcome
            with (options.out / OUTCOMES).open("a") as file:
                file.write(json.dumps(outcome) + "\n")
            minutes = (time.monotonic() - start) / 60 * (len(remaining) / number - 1)
            print(f"{number} of {len(remaining)}, {minutes:.0f} min left", file=sys.stderr)
    for mutant in mutants:
        found = outcomes[mutant.name]
        print(f"{found.outcome:9} {found.seconds:5.0f} s  {found.mutant}  {found.by}".rstrip())
    killed = sum(outcomes[mutant.name].outcome == "killed" for mutant in mutants)
    print(f"{killed} of {len(mutants)} mutants killed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
