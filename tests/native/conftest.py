"""Programs and flat files that the tests of the C library share."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from tests.support.exhaustive import exhaustive
from tests.support.native import MINGW, NATIVE, SANITIZED, compiled, exported, for_windows
from tests.support.packed_tables import PackedTables

THREE = ("KvK", "KQvK", "KRvK", "KBvK", "KNvK", "KPvK")
FOUR = (*THREE, "KRvKN", "KBBvK", "KPPvK", "KPvKP", "KQvKP", "KQPvK")
PACKED = ("KQvK", "KBvK", "KPvK", "KBvKN", "KPvKP", "KBBvK", "KNNvK")


Build = Callable[..., Path]


@pytest.fixture(scope="session")
def wine() -> Iterator[str]:
    """The words before a program for Windows."""
    for program in (MINGW, "wine"):
        if not shutil.which(program):
            pytest.skip(f"there is no {program}")
    with tempfile.TemporaryDirectory(prefix="tbgen-wine-", ignore_cleanup_errors=True) as folder:
        settings = f"WINEDEBUG=-all WINEPREFIX='{folder}'"
        subprocess.run(["sh", "-c", f"{settings} wine wineboot --init"], check=True, capture_output=True)
        yield f"{settings} wine"
        subprocess.run(["sh", "-c", f"{settings} wineserver --kill"])


@pytest.fixture(scope="session", params=["here", *exhaustive(["windows"])])
def build(request: pytest.FixtureRequest) -> Build:
    """Compiles a program and the library, for this system or, to run under Wine, for Windows."""
    return compiled if request.param == "here" else partial(for_windows, request.getfixturevalue("wine"))


@pytest.fixture(scope="session")
def probe(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program ``probe``, with the sanitizers."""
    return build(tmp_path_factory.mktemp("native") / "probe", NATIVE / "probe.c", SANITIZED)


@pytest.fixture(scope="session")
def three(three_men: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of three men and their flat files."""
    return exported(three_men, tmp_path_factory.mktemp("three"), THREE)


@pytest.fixture(scope="session")
def few(packed: PackedTables, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, with a packed one of pawns, and the plain one of two pawns, which rests on others that are
    missing."""
    return mixed(packed, tmp_path_factory.mktemp("few"), ["KPvK"], {*THREE, "KPvKP"})


@pytest.fixture(scope="session")
def four(tables: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of up to four men; those that some of their moves lead to are missing."""
    return exported(tables, tmp_path_factory.mktemp("four"), FOUR)


@pytest.fixture(scope="session")
def some_packed(packed: PackedTables, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Packed tables, with those that they rest on, some of which are plain."""
    return mixed(packed, tmp_path_factory.mktemp("packed"), PACKED, {*THREE, *PACKED, "KQvKP"})


def mixed(packed: PackedTables, place: Path, names: Sequence[str], wanted: Collection[str]) -> Path:
    """Tables, some of them packed, and the flat files of those that are wanted."""
    (tables := place / "all").mkdir()
    for path in packed.plain.glob("*.r.h5"):
        (tables / path.name).symlink_to(path)
    for name in names:
        path = packed(name)
        (tables / path.name).unlink()
        (tables / path.name).symlink_to(path)
    return exported(tables, place, wanted)
