"""Proofs of packed tables: all values, their functions, and the answers of probes."""

import shutil
from collections.abc import Callable
from copy import deepcopy
from functools import cache, partial
from pathlib import Path

import h5py
import numpy as np
import pytest

from tbgen.board.material import Material, closure
from tbgen.board.score import NONE, Code
from tbgen.board.variant import Variant
from tbgen.index.codes import FRESH
from tbgen.index.layout import Side, Slot
from tbgen.index.table import Table, ValueFunctions
from tbgen.retro.layer_solvers import EveryLayer
from tbgen.store.format import table_path
from tbgen.system import memory
from tbgen.tables.files import open_table
from tbgen.tables.library import Library
from tbgen.tables.open_table import Given, OpenTable
from tbgen.tables.pack import StoredPositions
from tbgen.verify import consistency as packed
from tbgen.verify.consistency import functions_problem
from tbgen.verify.proof import verify_table
from tests.support.exhaustive import exhaustive
from tests.support.packed_tables import plain, to_pack, write
from tests.support.solved_tables import source_of, sub_tables_of
from tests.verify.conftest import Verify

Ready = tuple[Table, StoredPositions]


@pytest.fixture(autouse=True)
def few_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reduce the number of probes to what is needed to find a wrong answer."""
    monkeypatch.setattr(packed, "MAX_PROBES", 100)


@pytest.fixture(autouse=True)
def checked_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fill memory that is given up with a pattern."""
    monkeypatch.setattr(memory, "CHECKS_MEMORY", True)


@pytest.fixture(scope="module")
def ready(tables: Path) -> Callable[[str], Ready]:
    """Return a function that solves a table, ready to be packed, at the first request."""
    return cache(partial(to_pack, tables))


Put = Callable[[Table, StoredPositions], Path]


@pytest.fixture
def put(tables: Path, tmp_path: Path) -> Put:
    """Return a function that writes a packed table to the directory, with its plain sub-tables."""

    def put(table: Table, needed: StoredPositions) -> Path:
        for sub in closure([table.material])[:-1]:
            shutil.copy(table_path(tables, sub.name, table.variant), tmp_path)
        return write(table, needed, tmp_path)

    return put


def content(path: Path, tables: Path) -> Table:
    """Return the unpacked content of a packed table."""
    with open_table(path) as file:
        material = Material.parse(file.info.material)
        subs = {sub: source_of(plain(tables, sub.name)) for sub in material.successors()}
        return file.read(Given(subs))


@pytest.mark.parametrize("name", ["KNvK", *exhaustive(["KPvK", "KRvKB"])])
def test_as_many_states_are_proved_as_of_a_plain_table(
    name: str, ready: Callable[[str], Ready], put: Put, tables: Path, verify: Verify
) -> None:
    put(*ready(name))
    packed, full = (verify(name, where=where)[0][-1] for where in (None, tables))
    assert packed.rpartition(", ")[0] == full.rpartition(", ")[0]
    assert packed.split()[:2] == [name, "proved:"]


def test_whole_game_mobility(whole_game_tables: Path, put: Put, verify: Verify) -> None:
    put(*to_pack(whole_game_tables, "KNvK", Variant.WHOLE_GAME))
    words = ("KNvK", "--rules", "wg")
    packed, full = (verify(*words, where=where)[0][-1] for where in (None, whole_game_tables))
    assert packed.rpartition(", ")[0] == full.rpartition(", ")[0]


Tamper = Callable[[Table, StoredPositions], None]
"""A function that changes a table in one place."""


def deep_slot(table: Table, needed: StoredPositions) -> int:
    """Return the first stored position with a positive depth and without captures."""
    captures = np.unpackbits(needed.omitted.view(np.uint8), bitorder="little")
    return int(np.flatnonzero((table.depth[needed.side] > 4) & (captures == 0))[0])


def wrong_value(table: Table, needed: StoredPositions) -> None:
    """Replace a stored value by that of the next rank, with the same depth."""
    value, slot = table.value[needed.side], deep_slot(table, needed)
    value[slot] += 1 if value[slot] < NONE else -1


def wrong_depth(table: Table, needed: StoredPositions) -> None:
    table.depth[needed.side, deep_slot(table, needed)] += 2


def wrong_exception(table: Table, needed: StoredPositions) -> None:
    table.depth[1 - needed.side, needed.exceptions[0]] += 2


def wrong_entry(table: Table, needed: StoredPositions) -> None:
    """Make the first entry of the most frequent function say that the accrued score stays."""
    assert table.functions is not None
    entry = int(table.functions.start[1])
    table.functions.value[entry] = NONE if table.functions.value[entry] == FRESH else FRESH


@pytest.mark.parametrize(
    ("tamper", "name"),
    [*((tamper, "KNvK") for tamper in (wrong_value, wrong_depth, wrong_entry)), (wrong_exception, "KPvK")],
)
def test_one_wrong_entry_is_refused(
    tamper: Tamper, name: str, ready: Callable[[str], Ready], put: Put, tables: Path, verify: Verify
) -> None:
    """A wrong entry is found even if the digests in the file are those of the wrong content."""
    table, needed = deepcopy(ready(name))
    tamper(table, needed)
    put(content(put(table, needed), tables), needed)
    lines, error = verify(name, code=1)
    assert error.endswith(f"tables is wrong: {name}\n")
    assert any(line.startswith(f"{name}       wrong: ") for line in lines)


def test_a_proved_digest_is_compared_with_what_the_file_unpacks_to(
    ready: Callable[[str], Ready], put: Put, tables: Path, verify: Verify
) -> None:
    table, needed = deepcopy(ready("KNvK"))
    words = ("KNvK", "--sample", "100", "--proofs", str(verify.directory / "proofs.txt"))
    with h5py.File(put(table, needed)) as file:
        stated = {name: file.attrs[name] for name in ("digest", "manifest")}
    verify(*words)
    assert "earlier sample" in verify(*words)[0][-1]
    wrong_value(table, needed)
    with h5py.File(put(content(put(table, needed), tables), needed), "a") as file:
        file.attrs.update(stated)
    assert "does not match its digest" in verify(*words, code=1)[1]


def test_what_a_wrong_function_is_said_to_be(ready: Callable[[str], Ready], put: Put, verify: Verify) -> None:
    """The finding has position, accrued score, and both values without depths; a sample finds it too."""
    table, needed = deepcopy(ready("KNvK"))
    assert table.functions is not None
    table.functions.function_numbers[np.flatnonzero(table.functions.function_numbers)[0]] = 0
    put(table, needed)
    findings = verify.tables("KNvK", "--sample", "1", code=1)[-1]["findings"]
    by_function = [one for one in findings if one["problem"] == "its function has another value"]
    assert by_function
    for finding in by_function:
        assert finding["stored"] == {"value": finding["accrued"], "depth": None}
        assert finding["recomputed"]["value"] != finding["accrued"]


def test_counts_are_compared(
    ready: Callable[[str], Ready], put: Put, verify: Verify, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, needed = ready("KNvK")
    wrong = table.value_counts
    first, second = np.flatnonzero(wrong[0])[:2]
    wrong[0, first] += 1
    wrong[0, second] -= 1
    with monkeypatch.context() as patched:
        patched.setattr(Table, "value_counts", property(lambda self: wrong))
        put(table, needed)
    assert "its numbers of values are not those of its positions" in verify("KNvK", code=1)[1]


class Liar:
    """Reads a table in memory and its layers, but answers the first question of a kind wrongly."""

    def __init__(self, table: Table, file: OpenTable, kind: str) -> None:
        self._table, self._file, self._kind, self.lies = table, file, kind, 0

    def fresh(self, side: Side, slot: Slot) -> tuple[Code, int]:
        lie = self._kind == "fresh" and not self.lies
        self.lies += lie
        return Code(int(self._table.value[side, slot])), int(self._table.depth[side, slot]) + lie

    def accrued(self, side: Side, slot: Slot, code: Code) -> tuple[Code, int | None]:
        value, depth = self._file.accrued(side, slot, code)
        if self._kind == "accrued" and side == self._file.stored_side and not self.lies:
            self.lies += 1
            return Code(255 - value), depth
        return value, depth


@pytest.mark.parametrize("kind", ["fresh", "accrued"])
def test_a_probe_that_says_something_else_is_found(
    kind: str, ready: Callable[[str], Ready], put: Put, tables: Path, tmp_path: Path
) -> None:
    table, needed = ready("KNvK")
    material = Material.parse("KNvK")
    subs = {sub: plain(tables, sub.name) for sub in material.successors()}
    sources = {sub: source_of(other) for sub, other in subs.items()}
    put(table, needed)
    with Library(tmp_path, Variant.R_MOBILITY) as library, EveryLayer(table, sources) as layers:
        liar = Liar(table, library.table(material), kind)
        result = verify_table(table, sub_tables_of(table.layout, subs), layer_maker=layers, reader=liar)
    assert result.wrong == liar.lies == 1
    (finding,) = result.findings
    assert finding.problem == "a probe returns another result"
    assert (finding.accrued is None) == (kind == "fresh")


def functions(start: list[int], accrued: list[int], number: int = 0) -> ValueFunctions:
    return ValueFunctions(
        Side(0),
        np.array([0, number], np.uint32),
        np.array(start, np.int64),
        np.array(accrued, np.uint8),
        np.full(len(accrued), FRESH, np.uint8),
    )


def test_functions_that_do_not_fit() -> None:
    for wrong, problem in (
        (functions([0, 1], [5]), "do not match the number"),
        (functions([0, 0, 1], [5, 6]), "do not match the number"),
        (functions([0, 0, 2, 1, 2], [5, 6]), "overlap"),
        (functions([0, 0, 1], [5], number=2), "do not exist"),
        (functions([0, 0, 2], [6, 5]), "not in order"),
        (functions([0, 0, 2], [250, 5]), "not in order"),
        (functions([0, 0, 2], [250, 251]), "not in order"),
        (functions([0, 0, 1], [1]), "not in order"),
    ):
        assert problem in str(functions_problem(wrong)), problem


def test_functions_that_fit() -> None:
    assert functions_problem(functions([0, 0, 3, 4], [5, 253, 250, 5], number=2)) is None
    assert functions_problem(functions([0, 0], [])) is None
