"""Proofs of packed tables: as a whole, their functions, and what probes read of them."""

import json
import shutil
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest

from tbgen.board.material import Material, closure
from tbgen.board.score import NONE, Code
from tbgen.board.variant import Variant
from tbgen.cli.main import main
from tbgen.index.layout import Side, Slot
from tbgen.index.table import FRESH, Functions, Table
from tbgen.packed.file import PackedFile
from tbgen.packed.pack import Needed
from tbgen.packed.unpack import unpack
from tbgen.probe.values import Values
from tbgen.retro.every_layer import EveryLayer
from tbgen.store.format import table_path
from tbgen.verify import packed
from tbgen.verify.packed import disorder
from tbgen.verify.proof import verify_table
from tests.support.commands import logged_answer
from tests.support.exhaustive import exhaustive
from tests.support.packed_tables import plain, to_pack, write
from tests.support.solved_tables import source_of, sub_tables_of

NAMES = ("KNvK", "KPvK", "KRvKB")

Ready = tuple[Table, Needed]


@pytest.fixture(autouse=True)
def few_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probes are as many as it takes to find a wrong one that is asked for first."""
    monkeypatch.setattr(packed, "PROBES", 100)


class ReadyTables(dict[str, Ready]):
    """Tables ready to be packed, each solved when it is asked for first."""

    def __init__(self, tables: Path) -> None:
        super().__init__()
        self._tables = tables

    def __missing__(self, name: str) -> Ready:
        self[name] = to_pack(self._tables, name)
        return self[name]


@pytest.fixture(scope="module")
def ready(tables: Path) -> ReadyTables:
    """Tables ready to be packed."""
    return ReadyTables(tables)


def directory_for(table: Table, needed: Needed, tables: Path, directory: Path) -> Path:
    """A directory with a packed table and the plain ones that it rests on."""
    for sub in closure([table.material])[:-1]:
        shutil.copy(table_path(tables, sub.name, table.variant), directory)
    write(table, needed, directory)
    return directory


def content(path: Path, tables: Path) -> Table:
    """What a packed table says as a whole."""
    with PackedFile(path) as file:
        material = Material.parse(file.info.material)
        subs = {sub: source_of(plain(tables, sub.name)) for sub in material.successors()}
        return unpack(file, subs)


def said_last(capsys: pytest.CaptureFixture[str], directory: Path, name: str, *options: str) -> str:
    return logged_answer(capsys, "verify", name, "--dir", str(directory), *options).splitlines()[-1]


@pytest.mark.parametrize("name", [*NAMES[:2], *exhaustive(NAMES[2:])])
def test_as_many_states_are_proved_as_of_a_plain_table(
    name: str,
    ready: ReadyTables,
    tables: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    directory_for(*ready[name], tables, tmp_path)
    packed, full = (said_last(capsys, where, name) for where in (tmp_path, tables))
    assert packed.rpartition(", ")[0] == full.rpartition(", ")[0]
    assert packed.split()[:2] == [name, "proved:"]


def test_a_sample(
    ready: ReadyTables, tables: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory_for(*ready["KNvK"], tables, tmp_path)
    assert "nothing wrong in a sample: 500 of " in said_last(capsys, tmp_path, "KNvK", "--sample", "500")


def test_whole_game_mobility(
    whole_game_tables: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ready = to_pack(whole_game_tables, "KNvK", Variant.WHOLE_GAME)
    directory_for(*ready, whole_game_tables, tmp_path)
    packed, full = (
        said_last(capsys, where, "KNvK", "--rules", "wg") for where in (tmp_path, whole_game_tables)
    )
    assert packed.rpartition(", ")[0] == full.rpartition(", ")[0]


Tamper = Callable[[Table, Needed], int]
"""Changes a table in one place, and returns the slot or what else there is to know."""


def wrong_value(table: Table, needed: Needed) -> int:
    """The next rank in place of a stored value, whose depth stays."""
    captures = np.unpackbits(needed.captures.view(np.uint8), bitorder="little")
    value, depth = table.value[needed.side], table.depth[needed.side]
    slot = int(np.flatnonzero((depth > 4) & (captures == 0) & (value != NONE))[0])
    value[slot] += 1 if value[slot] < NONE else -1
    return slot


def wrong_depth(table: Table, needed: Needed) -> int:
    captures = np.unpackbits(needed.captures.view(np.uint8), bitorder="little")
    slot = int(np.flatnonzero((table.depth[needed.side] > 4) & (captures == 0))[0])
    table.depth[needed.side, slot] += 2
    return slot


def wrong_exception(table: Table, needed: Needed) -> int:
    slot = int(needed.exceptions[0])
    table.depth[1 - needed.side, slot] += 2
    return slot


def wrong_function(table: Table, needed: Needed) -> int:
    """A position that has none gets the function of most others."""
    assert table.functions is not None
    slot = int(np.flatnonzero(table.functions.number)[0])
    table.functions.number[slot] = 0
    return slot


def wrong_entry(table: Table, needed: Needed) -> int:
    """The first entry of the commonest function says that the accrued score stays."""
    assert table.functions is not None
    entry = int(table.functions.start[1])
    table.functions.value[entry] = NONE if table.functions.value[entry] == FRESH else FRESH
    return entry


@pytest.mark.parametrize(
    ("tamper", "name"),
    [
        (wrong_value, "KNvK"), (wrong_depth, "KNvK"), (wrong_exception, "KPvK"), (wrong_function, "KNvK"),
        (wrong_entry, "KNvK"),
    ],
)  # fmt: skip
def test_one_wrong_entry_is_refused(
    tamper: Tamper,
    name: str,
    ready: ReadyTables,
    tables: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Also where the file has the digests of its wrong content: it is written with what it unpacks to."""
    table, needed = ready[name]
    table = deepcopy(table)
    tamper(table, needed)
    directory_for(table, needed, tables, tmp_path)
    path = table_path(tmp_path, name, Variant.R_MOBILITY)
    write(content(path, tables), needed, tmp_path)
    assert main(["verify", name, "--dir", str(tmp_path)]) == 1
    output = capsys.readouterr()
    assert output.err.endswith(f"tables is wrong: {name}\n")
    assert f"{name}       wrong: " in output.out


def test_what_a_wrong_function_is_said_to_be(
    ready: ReadyTables, tables: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Position, accrued score, and both values without depths; a sample finds it too."""
    table, needed = ready["KNvK"]
    table = deepcopy(table)
    slot = wrong_function(table, needed)
    directory_for(table, needed, tables, tmp_path)
    words = ["verify", "KNvK", "--dir", str(tmp_path), "--json", "--sample", "1"]
    assert main(words) == 1
    *_, document = json.loads(capsys.readouterr().out)["tables"]
    by_function = [
        one for one in document["findings"] if one["problem"] == "its function says something else"
    ]
    assert by_function
    for finding in by_function:
        assert finding["stored"] == {"value": finding["accrued"], "depth": None}
        assert finding["recomputed"]["value"] != finding["accrued"]
    assert slot


def test_counts_are_compared(
    ready: ReadyTables,
    tables: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table, needed = ready["KNvK"]
    wrong = table.counts
    first, second = np.flatnonzero(wrong[0])[:2]
    wrong[0, first] += 1
    wrong[0, second] -= 1
    with monkeypatch.context() as patched:
        patched.setattr(Table, "counts", property(lambda self: wrong))
        directory_for(table, needed, tables, tmp_path)
    assert main(["verify", "KNvK", "--dir", str(tmp_path)]) == 1
    assert "its numbers of values are not those of its positions" in capsys.readouterr().err


class Liar:
    """Reads a table in memory and its layers, but says something else of the first question of a kind."""

    def __init__(self, table: Table, file: PackedFile, kind: str) -> None:
        self._table, self._file, self._kind, self.lies = table, file, kind, 0

    def fresh(self, side: Side, slot: Slot) -> tuple[Code, int]:
        lie = self._kind == "fresh" and not self.lies
        self.lies += lie
        return Code(int(self._table.value[side, slot])), int(self._table.depth[side, slot]) + lie

    def accrued(self, side: Side, slot: Slot, code: Code) -> tuple[Code, int | None]:
        value, depth = self._file.accrued(side, slot, code)
        if self._kind == "accrued" and side == self._file.side and not self.lies:
            self.lies += 1
            return Code(255 - value), depth
        return value, depth


@pytest.mark.parametrize("kind", ["fresh", "accrued", "nothing"])
def test_a_probe_that_says_something_else_is_found(
    kind: str, ready: ReadyTables, tables: Path, tmp_path: Path
) -> None:
    table, needed = ready["KNvK"]
    material = Material.parse("KNvK")
    subs = {sub: plain(tables, sub.name) for sub in material.successors()}
    sources = {sub: source_of(other) for sub, other in subs.items()}
    directory_for(table, needed, tables, tmp_path)
    values = Values([tmp_path], variant=Variant.R_MOBILITY, max_open=8, cache_bytes=1 << 20)
    file = values.table(material)
    assert isinstance(file, PackedFile)
    liar = Liar(table, file, kind)
    with EveryLayer(table, sources) as layers:
        result = verify_table(table, sub_tables_of(table.layout, subs), layers=layers, reader=liar)
    values.close()
    assert result.wrong == liar.lies == (kind != "nothing")
    assert [finding.problem for finding in result.findings] == ["a probe says something else"] * liar.lies
    assert [finding.accrued is None for finding in result.findings] == [kind == "fresh"] * liar.lies


def functions(start: list[int], accrued: list[int], number: int = 0) -> Functions:
    return Functions(
        Side(0),
        np.array([0, number], np.uint32),
        np.array(start, np.int64),
        np.array(accrued, np.uint8),
        np.full(len(accrued), FRESH, np.uint8),
    )


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (functions([0, 1], [5]), "begin and end"),
        (functions([0, 0, 1], [5, 6]), "begin and end"),
        (functions([0, 0, 2, 1, 2], [5, 6]), "overlap"),
        (functions([0, 0, 1], [5], number=2), "not there"),
        (functions([0, 0, 2], [6, 5]), "not in order"),
        (functions([0, 0, 2], [250, 5]), "not in order"),
        (functions([0, 0, 2], [250, 251]), "not in order"),
        (functions([0, 0, 1], [1]), "not in order"),
    ],
)
def test_functions_that_do_not_fit(wrong: Functions, problem: str) -> None:
    assert problem in str(disorder(wrong))


def test_functions_that_fit() -> None:
    assert disorder(functions([0, 0, 3, 4], [5, 253, 250, 5], number=2)) is None
    assert disorder(functions([0, 0], [])) is None
