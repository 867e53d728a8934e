"""Helpers for tests of builds: reporters, logs and results."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from tbgen.board.material import Material, all_materials
from tbgen.board.variant import Variant
from tbgen.generator import BuiltTable, build, estimate
from tbgen.index.table import AccruedForm
from tbgen.progress import SilentReporter
from tbgen.store import format as form
from tbgen.store.format import table_path
from tbgen.tables.files import open_table
from tests.support.exhaustive import sample


class Silent(SilentReporter):
    """A reporter of builds that says nothing."""

    def finish_table(self, built: BuiltTable, seconds_left: float) -> None:
        pass


class Diary(Silent):
    """A reporter that records the reports of a build."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.begun: list[tuple[str, int, int]] = []
        self.finished: list[str] = []
        self.stages: set[str] = set()

    def note(self, text: str) -> None:
        self.notes.append(text)

    def begin(self, material: Material, number: int, count: int, seconds_left: float) -> None:
        again = material.name in [name for name, _, _ in self.begun]
        assert seconds_left >= 0 if again else seconds_left > 0
        self.begun.append((material.name, number, count))

    def progress(self, step: str, done: int | None, total: int, seconds_left: float | None = None) -> None:
        self.stages.add(step)

    def finish_table(self, built: BuiltTable, seconds_left: float) -> None:
        assert seconds_left >= 0
        self.finished.append(built.info.material)


@contextmanager
def stored_as(wanted: AccruedForm) -> Iterator[None]:
    """Build tables of any size in a form, except the table of two kings."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(form, "_MIN_PACKED_MEN", 2 if wanted is AccruedForm.FUNCTIONS else 99)
        patch.setattr(form, "_PLAIN_FORM", AccruedForm.RUNS if wanted is AccruedForm.FUNCTIONS else wanted)
        estimate.cache_clear()
        yield
    estimate.cache_clear()


def with_free(monkeypatch: pytest.MonkeyPatch, *free: int) -> None:
    """Make disks report these numbers of free bytes, one for each query; the last one is repeated."""
    left = list(free)
    monkeypatch.setattr(
        shutil, "disk_usage", lambda _: SimpleNamespace(free=left.pop(0) if len(left) > 1 else left[0])
    )


def digest(directory: Path, name: str) -> str:
    with open_table(table_path(directory, name, Variant.R_MOBILITY)) as file:
        file.check()
        return file.info.digest


def without_accrued(full: Path, name: str, directory: Path) -> Path:
    """Return a directory with a table built without accrued scores, and its sub-tables."""
    material = Material.parse(name)
    directory.mkdir()
    for path in full.glob("*.r.h5"):
        if Material.parse(path.name.removesuffix(".r.h5")) in material.successors():
            shutil.copy(path, directory)
    with stored_as(AccruedForm.NOTHING):
        build([material], directory, Silent(), variant=Variant.R_MOBILITY)
    return directory


LOGGED = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d (.*)\n")


def logged(error: str) -> list[str]:
    """Return the messages of a log; check that all lines have date and time."""
    found = [LOGGED.fullmatch(line) for line in error.splitlines(keepends=True)]
    assert all(found), error
    return [line[1] for line in found if line]


def whole_game_materials() -> list[Material]:
    """The materials of tables for whole-game mobility, of up to four men; few without exhaustive tests."""
    return sample(True, False) * few_whole_game_materials() or all_materials(4)


def few_whole_game_materials() -> list[Material]:
    """The materials of up to four men, except those of four with a pawn and a bare king: they take long."""
    return [each for each in all_materials(4) if each.men < 4 or not each.name.endswith("PvK")]
