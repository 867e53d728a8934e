"""Tables that several test modules share."""

import os
import re
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tbgen.board.material import Material, all_materials
from tbgen.board.variant import Variant
from tbgen.compiler import cache as kernel_cache
from tbgen.generator import build
from tbgen.probe.syzygy import Syzygy
from tbgen.probe.tablebase import Tablebase, open_tablebase
from tbgen.retro.solver_warmup import compile_kernels
from tbgen.store.format import table_path
from tests.support.builds import Silent, whole_game_materials
from tests.support.census import lines_by_folder
from tests.support.exhaustive import FEW
from tests.support.packed_tables import PackedTables
from tests.support.paths import DATA, ROOT, SYZYGY_FILES
from tests.support.shared import PLACE

if TYPE_CHECKING:
    from playwright.sync_api import Browser

KEPT = ROOT / "benchmarks" / "results" / "two-cores" / "tests.txt"
"""The tests that took longest, with their seconds; ``scripts/test --keep`` writes it."""
SHARES = KEPT.with_name("shares.txt")
"""The share of each folder in the seconds of all tests; ``scripts/test --keep`` writes it as well."""
KEEP = "TBGEN_TEST_KEEP"
"""The environment variable that is set where it is to be written."""
LONG_SECONDS = 0.25
MOST_KEPT = 3
"""How many sets of tables are kept: those of the versions that were tested last, 200 MiB each."""
LONG_FIXTURES = {"four_men", "site", "cluster"}
"""Fixtures that take seconds, whichever test comes first: tests that need one of them are long."""

# pytest-xdist sets it, and text would be as wide as the terminal of whoever runs the tests.
os.environ.pop("COLUMNS", None)


settings.register_profile("tbgen", deadline=None)  # a slow machine is no failure
settings.load_profile("tbgen")


def pytest_configure(config: pytest.Config) -> None:
    """Give the processes of pytest-xdist a folder for what they share.

    Where exhaustive tests are left out, samples are small.
    """
    if re.search(r"not \(?exhaustive", config.getoption("markexpr", "")):
        os.environ[FEW] = "1"
    if config.getoption("numprocesses", None) and PLACE not in os.environ:
        os.environ[PLACE] = tempfile.mkdtemp(prefix="tbgen-tests-")
        config.add_cleanup(partial(shutil.rmtree, os.environ[PLACE]))


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark long tests."""
    seconds = kept_seconds()
    for item in items:
        if item.nodeid in seconds or LONG_FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("long")


def kept_seconds() -> dict[str, float]:
    """The seconds of the tests that took longest, by their names."""
    rows = KEPT.read_text().splitlines() if KEPT.exists() else []
    return {name: float(seconds) for seconds, name in (row.split(" ", 1) for row in rows)}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the share of each folder in the time; keep it and the slowest tests if that is asked for."""
    took = defaultdict[str, float](float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) in ("setup", "call", "teardown"):
                took[report.nodeid] += report.duration
    if not took:
        return
    shares = shares_of(took)
    terminalreporter.section("share of the time, and number of tests")
    terminalreporter.write("".join(shares))
    if terminalreporter.config.args == ["tests"]:
        terminalreporter.section("lines of code, which tests/budget.toml limits in total")
        for folder in (ROOT / "tbgen", ROOT / "tests"):
            weights = lines_by_folder(folder).most_common()
            terminalreporter.write("".join(f"{n:6} {folder.name}/{part}\n" for part, n in weights))
    if KEEP in os.environ:
        is_fast = "long" in terminalreporter.config.getoption("markexpr", "")
        if is_fast:  # what turns out to be slow is added to what the last full run showed
            took = defaultdict(float, took | kept_seconds())
        else:
            SHARES.write_text("".join(shares))
        slowest = sorted(((seconds, name) for name, seconds in took.items()), reverse=True)
        rows = [f"{seconds:.2f} {name}\n" for seconds, name in slowest if seconds >= LONG_SECONDS]
        KEPT.write_text("".join(rows))


def shares_of(took: dict[str, float]) -> list[str]:
    """Lines with the share of each folder in the seconds of all, largest first, and its number of tests."""
    of_folder: defaultdict[str, list[float]] = defaultdict(list)
    for name, seconds in took.items():
        of_folder[name.partition("::")[0].rpartition("/")[0]].append(seconds)
    whole = sum(took.values()) or 1.0
    rows = sorted(
        ((sum(each) / whole, len(each), folder) for folder, each in of_folder.items()), reverse=True
    )
    return [f"{share:6.1%} {count:5} {folder}\n" for share, count, folder in rows]


@pytest.fixture
def no_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw no plots in reports; the tests in ``tests/report`` do."""
    monkeypatch.setattr("tbgen.report.site.draw_plots", lambda *_: [])


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """A browser, whose event loop allows no other one in its thread; without one the tests are skipped."""
    from tests.support.browsing import launched  # most tests need no browser

    with launched() as found:
        yield found


@pytest.fixture(scope="session")
def reference_dir(three_men: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the tables of KvK, KBvK and KNvK, which are those of the reference solver
    (``tests/retro``)."""
    directory = tmp_path_factory.mktemp("reference")
    for name in ("KvK", "KBvK", "KNvK"):
        shutil.copy(table_path(three_men, name, Variant.R_MOBILITY), directory)
    return directory


@pytest.fixture(scope="session")
def built_dir() -> Path:
    """Where tables are built once, by whichever process of pytest-xdist comes first.

    They are kept beside the compiled kernels, under a digest of all sources that make tables: the next run
    finds them there as long as these sources are the same. ``tests/test_manifests.py`` checks their contents.
    """
    if given := os.environ.get("TBGEN_TEST_TABLES"):
        return Path(given)
    kept = kernel_cache.shared_directory().parent / "tables-of-tests"
    directory = kept / kernel_cache.folder_name("tbgen.generator.runner")
    directory.mkdir(parents=True, exist_ok=True)
    directory.touch()
    for old in sorted(kept.iterdir(), key=lambda each: each.stat().st_mtime)[:-MOST_KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    return directory


@pytest.fixture(scope="session")
def three_men(built_dir: Path) -> Path:
    """A directory with all tables of up to three men, and maybe more."""
    build(all_materials(3), built_dir, Silent(), variant=Variant.R_MOBILITY, threads=os.cpu_count() or 1)
    return built_dir


@pytest.fixture(scope="session")
def small(three_men: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the tables of up to three men only."""
    directory = tmp_path_factory.mktemp("small")
    for path in three_men.glob("*.r.h5"):
        if Material.parse(path.name.split(".")[0]).men <= 3:
            (directory / path.name).symlink_to(path)
    return directory


@pytest.fixture(scope="session")
def described_dir(three_men: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with tables of described men as an earlier version has written them: K[R]vK, K[WD]vK and
    K[WF]vK, and K[WD]vK for whole-game mobility.

    Two minutes of compiling are saved; exhaustive tests build such tables anew.
    """
    directory = tmp_path_factory.mktemp("described")
    for path in (*(DATA / "described").iterdir(), three_men / "KvK.r.h5"):
        shutil.copy(path, directory)
    build([Material.parse("KvK")], directory, Silent(), variant=Variant.WHOLE_GAME)
    return directory


@pytest.fixture(scope="session")
def tables(four_men: Path) -> Path:
    """A directory with all 36 tables of up to four men."""
    return four_men


@pytest.fixture(scope="module")
def tablebase(tables: Path) -> Iterator[Tablebase]:
    """All tables of up to four men."""
    with open_tablebase(tables) as opened:
        yield opened


@pytest.fixture(scope="session")
def four_men(built_dir: Path) -> Path:
    """The same directory, under a name that no module gives to tables of its own.

    Building them takes half a minute; those in the directory ``$TBGEN_TEST_TABLES`` are used if it is set.
    """
    build(all_materials(4), built_dir, Silent(), variant=Variant.R_MOBILITY, threads=os.cpu_count() or 1)
    return built_dir


@pytest.fixture(scope="session")
def whole_game_tables(tables: Path) -> Path:
    """The same directory with tables for whole-game mobility beside the others."""
    build(whole_game_materials(), tables, Silent(), threads=os.cpu_count() or 1, variant=Variant.WHOLE_GAME)
    return tables


@pytest.fixture(scope="session")
def packed(tables: Path, tmp_path_factory: pytest.TempPathFactory) -> PackedTables:
    """Packed copies of the tables, made when they are asked for; what they rest on stays plain.

    Those for whole-game mobility want the fixture ``whole_game_tables`` too.
    """
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    return PackedTables(tables, shared / "packed")


@pytest.fixture(scope="session", autouse=True)
def one_process() -> Iterator[None]:
    """Commands solve in the process of the test, whose functions it may replace, on any machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tbgen.beyond.jobs.process_count", lambda threads, memory: 1)
        yield


@pytest.fixture(scope="session")
def compiled() -> None:
    """Kernels are compiled before the test, so that no build compiles them and says so."""
    compile_kernels()


@pytest.fixture
def syzygy() -> Iterator[Syzygy]:
    """The Syzygy files of three men."""
    with Syzygy(SYZYGY_FILES) as opened:
        yield opened


@pytest.fixture
def own(three_men: Path, tmp_path: Path) -> Path:
    """A directory of our own with all tables of three men."""
    directory = tmp_path / "own"
    directory.mkdir()
    for material in all_materials(3):
        shutil.copy(table_path(three_men, material.name, Variant.R_MOBILITY), directory)
    return directory
