"""Light paths stay light: what is probed, adjudicated, exported or estimated loads no compiler."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import tbgen
from tbgen.cli import main
from tbgen.tables.look_up_warmup import ensure_compiled
from tests.support.packed_tables import pack
from tests.support.paths import MATCH, rows
from tests.test_extras import PACKAGES
from tests.web.test_openapi import POSTED

PACKAGE = Path(tbgen.__file__).parent


def modules_named(node: ast.AST) -> set[str]:
    """What an import statement loads; a name that is imported may be a module."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    if isinstance(node, ast.ImportFrom) and node.module:
        return {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return set()


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """What runs when a module is imported: not functions, nor what is for type checkers alone."""
    for node in body:
        yield node
        inside = [] if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test) else ["body"]
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for part in (*inside, "orelse", "handlers", "finalbody"):
                yield from statements(getattr(node, part, []))


@cache
def named_by(path: Path) -> frozenset[str]:
    """What importing a module imports by itself."""
    return frozenset().union(*map(modules_named, statements(ast.parse(path.read_text()).body)))


@cache
def loaded(name: str) -> frozenset[str]:
    """All that importing a module loads, by what modules say: those of the package, and other packages."""
    found, waiting = set[str](), [name]
    while waiting:
        name = waiting.pop()
        if not name.startswith("tbgen"):
            found.add(name.split(".")[0])
        elif name not in found:
            path = Path(PACKAGE.parent, *name.split("."))
            path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
            if path.exists():
                found.add(name)
                waiting += [name.rpartition(".")[0]] if "." in name else []
                waiting += named_by(path)
    return frozenset(found)


COMMANDS = "probe info export tag score adjudicate solve serve engine fetch publish completion"
LIGHT = {
    "": {"numpy", "h5py", "chess", "numba"},
    ".cli.main": {"numpy", "h5py", "chess", "numba", "matplotlib"},
    **{f".cli.{name}": {"numba", "matplotlib"} for name in COMMANDS.split()},
    ".cli.probe": {"numba", "matplotlib", "random", "multiprocessing"},
    ".cli.adjudicate": {"numba", "matplotlib", "random", "multiprocessing"},
    **{name: {"numba", "matplotlib"} for name in (".probe.tablebase", ".probe.positions", ".web.app")},
    **{name: {"numba"} for name in (".engine.uci", ".beyond.structures", ".exchange.export")},
    **{
        f".tables.{name}": {"numba"}
        for name in ("library", "packed_table", "look_up", "look_up_warmup", "inventory")
    },
}
"""Modules of tbgen, and what they load at no price."""


def test_light_modules_load_nothing_heavy() -> None:
    """Nor does the proof load anything of the solver, nor a command what only an extra brings."""
    assert {"numba", "numpy", "tbgen.retro.kernels"} <= loaded("tbgen.retro.solver")
    for name, heavy in LIGHT.items():
        assert f"tbgen{name}" in loaded(f"tbgen{name}")
        assert loaded(f"tbgen{name}") & heavy == set(), name
    for name in main.COMMANDS:
        assert loaded(f"tbgen.cli.{name}").isdisjoint({*PACKAGES, "PIL"}), name
    for name in ("tables.library", "tables.look_up", "tables.packed_table", "exchange.export"):
        solving = re.compile(
            r"tbgen\.(retro\b.*|moves\.(?!geometry|structs|targets).*|tables\.(encode|pack|unpack))"
        )
        assert not list(filter(solving.fullmatch, loaded(f"tbgen.{name}"))), name
    for name in ("probe", "adjudicate", "tag", "score", "match"):
        solving = re.compile(r"tbgen\.(beyond\.(?!extra_sources).*|cells\b.*|costs)")
        assert not list(filter(solving.fullmatch, loaded(f"tbgen.cli.{name}"))), name
    for name in ("tbgen.verify.directory", "tbgen.verify.proof"):
        assert "numba" in loaded(name)
        assert not [module for module in loaded(name) if re.match(r"tbgen\.(retro|moves)\b", module)]


COLD = """
import json
import sys
from pathlib import Path
import tbgen

tbgen.GScore
assert not {"numpy", "h5py", "chess"} & set(sys.modules)

from tbgen.cli.main import main

directory, place, games, fen = sys.argv[1:]
assert main(["probe", fen, "--dir", directory]) == 0
assert "llvmlite" not in sys.modules, "probe"
assert main(["probe", "8/8/8/8/8/2k5/8/K6Q w - - 0 1", "--dir", f"{place}/packed"]) == 0
assert "llvmlite" in sys.modules, "a packed table was probed"
assert "numba" not in sys.modules, "probe"
import numpy as np

value, depth = np.empty(640, np.uint8), np.empty(640, np.uint16)
tbgen.open_tablebase(f"{place}/packed").table_file("KQvK").read_slots(1, 640, value, depth)
assert depth.max() > 5 and "numba" not in sys.modules, "a worker reads a slice"
for words in (
    ["tag", games, f"{place}/out.pgn", "--jobs", "1"],
    ["score", games, "--jobs", "1"],
    ["adjudicate", games],
    ["solve", "8/8/4k3/4p3/4P3/4K3/8/8 w - - 3 40", "--estimate"],
    ["export", f"{place}/flat", "KQvK"],
    ["info", "KQvK"],
):
    assert main([*words, "--dir", directory]) == 0, words
    assert "numba" not in sys.modules, words
tbgen.open_tablebase(directory).probe_arrays("KBk", [[36, 37, 38]], [1])
from tbgen.engine.uci import UciEngine

UciEngine(print, [Path(directory)]).run(["uci", f"position fen {fen}", "go depth 1"])
from starlette.testclient import TestClient
from tbgen.web.app import make_app
from tbgen.web.configuration import Settings

with TestClient(make_app(Settings((Path(directory),)))) as client:
    for path, content in json.loads(sys.stdin.read()):
        answered = client.get(path) if content is None else client.post(path, content=content)
        assert answered.status_code in (200, 400, 404), path
        assert not {"numba", "matplotlib"} & set(sys.modules), path
"""


def test_what_needs_no_compiler_loads_none(three_men: Path, tmp_path: Path) -> None:
    """Probing, exporting, adjudicating, estimating and answering requests, in one process."""
    (place := tmp_path / "packed").mkdir()
    (place / "KvK.r.h5").symlink_to(three_men / "KvK.r.h5")
    pack(three_men, "KQvK", place)
    ensure_compiled()
    words = [str(three_men), str(tmp_path), MATCH, "8/8/8/4KBk1/8/8/8/8 b - - 0 1"]
    requests = [*((path, None) for (path,) in rows("requests.txt", " -> ")), *POSTED.items()]
    sent = json.dumps([request for request in requests if request[0] != "/r/reply"])
    done = subprocess.run([sys.executable, "-c", COLD, *words], input=sent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "bestmove g5h5" in done.stdout
