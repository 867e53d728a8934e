"""Programs and flat files that the tests of the C library share."""

from pathlib import Path

import pytest

from tests.support.native import FAST, NATIVE, SANITIZED, compiled, exported
from tests.support.packed_tables import PackedTables

THREE = ("KvK", "KQvK", "KRvK", "KBvK", "KNvK", "KPvK")
FOUR = (*THREE, "KRvKN", "KBBvK", "KPPvK", "KPvKP", "KQvKP", "KQPvK")
PACKED = ("KQvK", "KBvK", "KPvK", "KBvKN", "KPvKP", "KBBvK", "KNNvK")


@pytest.fixture(scope="session")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program ``probe``, with the sanitizers."""
    return compiled(tmp_path_factory.mktemp("native") / "probe", NATIVE / "probe.c", SANITIZED)


@pytest.fixture(scope="session")
def fast_probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same without, for many states."""
    return compiled(tmp_path_factory.mktemp("native") / "probe", NATIVE / "probe.c", FAST)


@pytest.fixture(scope="session")
def three(three_men: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of three men and their flat files."""
    return exported(three_men, tmp_path_factory.mktemp("three"), THREE)


@pytest.fixture(scope="session")
def four(tables: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with some of four men; those that some of their moves lead to are missing."""
    return exported(tables, tmp_path_factory.mktemp("four"), FOUR)


@pytest.fixture(scope="session")
def some_packed(packed: PackedTables, tables: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Packed tables, with those that they rest on, some of which are plain."""
    mixed = tmp_path_factory.mktemp("mixed")
    for path in tables.glob("*.r.h5"):
        (mixed / path.name).symlink_to(path)
    for name in PACKED:
        path = packed(name)
        (mixed / path.name).unlink()
        (mixed / path.name).symlink_to(path)
    return exported(mixed, tmp_path_factory.mktemp("packed"), {*THREE, *PACKED, "KQvKP"})
