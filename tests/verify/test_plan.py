"""The plan of a proof: tables to prove and to unpack, estimated time, memory and disk."""

import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from tbgen.board.material import Material, all_materials
from tbgen.board.variant import Variant
from tbgen.cli.bars import TableProgress
from tbgen.costs import BASE_MEMORY, Cost, layers_memory, unpacking_memory
from tbgen.index.layout import layout_of
from tbgen.index.table import AccruedForm
from tbgen.progress import TimedProgress
from tbgen.store.format import table_path
from tbgen.tables.files import open_table
from tbgen.tables.library import Library, PlainCopies
from tbgen.verify import directory as proving
from tbgen.verify import plan as planning
from tbgen.verify.plan import (
    CACHE_BYTES,
    ListedProof,
    ProofPlan,
    Proofs,
    ProofTask,
    plan_proofs,
    unpack_step,
)
from tests.support.packed_tables import PackedTables
from tests.verify.conftest import Verify

NAMES = ("KvK", "KNvK", "KNNvK")
ORDER = [Material.parse(name) for name in NAMES]
R = Variant.R_MOBILITY
STATES = planning.STATES_STEP


@pytest.fixture
def directory(two_packed: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with KNNvK and KNvK packed, and KvK; none is small enough to be cached."""
    monkeypatch.setattr(planning, "MAX_CACHED_TABLE_BYTES", 0)
    return two_packed


def proofs_of(directory: Path, *names: str) -> Proofs:
    proofs = Proofs()
    for name in names:
        with open_table(table_path(directory, name, R)) as file:
            proofs.add(ListedProof(Material.parse(name), R, file.info.digest, 1, 1, 1, 1.0))
    return proofs


def steps(plan: ProofPlan) -> dict[str, list[str]]:
    return {task.material.name: list(task.cost.steps) for task in plan.tasks}


def test_what_is_unpacked_is_kept_for_those_that_rest_on_it(directory: Path) -> None:
    plan = plan_proofs(ORDER, directory, R)
    assert plan.unproved == ORDER
    own = {name: unpack_step(Material.parse(name)) for name in NAMES}
    assert steps(plan) == {"KvK": [STATES], "KNvK": [own["KNvK"], STATES], "KNNvK": [own["KNNvK"], STATES]}
    assert [task.cost.disk > 0 for task in plan.tasks] == [False, True, False]
    assert plan.disk == plan.tasks[1].cost.disk
    assert plan.seconds == pytest.approx(sum(sum(task.cost.steps.values()) for task in plan.tasks))
    assert plan.seconds > 0


def test_what_is_proved_takes_nothing_but_to_be_unpacked(directory: Path) -> None:
    proofs = proofs_of(directory, "KvK", "KNvK")
    plan = plan_proofs(ORDER, directory, R, proofs=proofs)
    assert plan.unproved == ORDER[2:]
    assert [task.earlier_proof is None for task in plan.tasks] == [False, False, True]
    own = {name: unpack_step(Material.parse(name)) for name in NAMES}
    assert steps(plan) == {"KvK": [], "KNvK": [own["KNvK"]], "KNNvK": [own["KNNvK"], STATES]}
    assert plan.disk > 0
    Library(directory, R, copies=PlainCopies()).plain(ORDER[1])  # makes a copy that stays
    every = plan_proofs(ORDER, directory, R, proofs=proofs_of(directory, *NAMES))
    assert (every.unproved, every.disk) == ([], 0)
    assert steps(every) == {"KvK": [], "KNvK": [own["KNvK"]], "KNNvK": [own["KNNvK"]]}


def test_a_table_that_cannot_be_read_takes_nothing(directory: Path) -> None:
    table_path(directory, "KNvK", R).write_bytes(b"nothing")
    plan = plan_proofs(ORDER, directory, R)
    assert plan.unproved == ORDER
    assert steps(plan)["KNvK"] == []


def test_layers_take_memory(tables: Path, directory: Path) -> None:
    """The proof of a packed table makes layers, which needs memory; a plain table stores runs instead."""
    plain, packed = (plan_proofs(ORDER, place, R).tasks[2].cost.memory for place in (tables, directory))
    with open_table(table_path(tables, "KNNvK", R)) as file:
        runs = file.info.runs
    size = layout_of(ORDER[2]).size
    assert packed + 12 * runs - plain == layers_memory(layout_of(ORDER[2])) + 2 * size > 15 * size


def test_a_table_with_pawns_takes_a_temporary_file(packed: PackedTables, tmp_path: Path) -> None:
    for name in ("KPvK", "KNvK"):
        shutil.copy(packed(name), tmp_path)
    with_pawns, without = plan_proofs(map(Material.parse, ("KPvK", "KNvK")), tmp_path, R).tasks
    assert with_pawns.scratch == 10 * layout_of(with_pawns.material).size
    assert without.scratch == without.cost.disk == 0
    copies = with_pawns.cost.disk
    assert ProofPlan(tmp_path, (with_pawns, without)).disk == copies + with_pawns.scratch


def test_memory_of_tables_with_pawns_depends_on_their_phases() -> None:
    """All tables of five men can be proved with 6 GiB."""
    info = SimpleNamespace(variant=R, accrued_form=AccruedForm.FUNCTIONS, derives=True)
    memory = {
        material: planning._proof_memory(material, info)  # type: ignore[arg-type]
        for material in all_materials(5)
        if material.men == 5 and material.pawns
    }
    largest = max(memory, key=memory.__getitem__)
    unpacking = max(BASE_MEMORY + unpacking_memory(layout_of(material)) for material in memory)
    assert CACHE_BYTES + max(unpacking, memory[largest]) < 6 << 30
    assert largest.pawns == 1


def test_the_command_tells_how_long_it_takes_still(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0  # it passes as planned
    monkeypatch.setattr("time.monotonic", lambda: now)
    reporter, shown = TableProgress(), list[str]()
    monkeypatch.setattr(reporter, "line", SimpleNamespace(show=shown.append))
    tasks = (
        ProofTask(ORDER[0], None, Cost({STATES: 0.5})),
        ProofTask(ORDER[1], None, Cost({"unpacking": 0.4, STATES: 1.0})),
    )
    timed = TimedProgress(reporter, ProofPlan(Path(), tasks).seconds, ORDER[:2])
    timed.begin(ORDER[0], tasks[0].cost.steps)
    timed.progress("digest", 0, 1)
    now = 0.2
    timed.progress(STATES, 2, 5)
    now = 0.5
    timed.begin(ORDER[1], tasks[1].cost.steps)
    now = 0.9
    timed.progress("unpacking", 1, 1)
    assert shown == [
        "KvK (1 of 2): digest 0%, about 1.9 s left",
        "KvK (1 of 2): states 40%, about 1.7 s left",
        "KNvK (2 of 2): unpacking 100%, about 1.0 s left",
    ]


def test_the_command_says_it_first(
    tables: Path, directory: Path, verify: Verify, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "to prove" not in verify("KvK")[1], "not worth a sentence"
    monkeypatch.setattr(proving, "MIN_ANNOUNCED_SECONDS", 1e-6)
    assert re.match(
        rf".*2 tables to prove in {directory}: about [\d.]+ s, about [\d.]+ [MG]iB of memory$",
        verify("KNvK")[1].splitlines()[0],
    )
    monkeypatch.setattr(planning, "available_memory", lambda: 1 << 20)
    assert "of memory, though only 1.00 MiB are free\n" in verify("KNvK", "--sample", "100", where=tables)[1]
    for lines in (1, 0):
        assert verify("KvK", "--proofs", str(directory / "proofs.txt"))[1].count("to prove") == lines
