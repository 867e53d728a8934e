"""The proof: what it says of right tables, that it finds and names every error, and its command."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tbgen.board.material import Material, all_materials
from tbgen.board.score import NONE, GScore
from tbgen.board.variant import Variant
from tbgen.cli.main import main
from tbgen.errors import DamagedTableError
from tbgen.index.source import ArraySource
from tbgen.index.table import LAST_RUN, Table
from tbgen.retro.solver import solve
from tbgen.store import dataset
from tbgen.store.format import table_path
from tbgen.store.writer import write_table
from tbgen.verify.consistency import inconsistency
from tbgen.verify.proof import Proof, verify_table
from tbgen.verify.report import VerifyResult, board_at
from tests.support.exhaustive import sample
from tests.support.reference_table import empty_table, reference_table
from tests.support.solved_tables import sub_tables_of

Tables = dict[Material, Table]


def proof_of(table: Table, tables: Tables, **options: Any) -> VerifyResult:
    return verify_table(table, sub_tables_of(table.layout, tables), **options)


@pytest.fixture(scope="module")
def reference_tables() -> Tables:
    return {Material.parse(name): reference_table(name) for name in ("KvK", "KBvK", "KNvK")}


@pytest.fixture(scope="module")
def pawn_tables() -> Tables:
    """KPvKP, the smallest material with en passant rights, solved on made-up sub-tables."""
    random, tables, sources = np.random.default_rng(3), {}, {}
    material = Material.parse("KPvKP")
    for sub in material.successors():
        tables[sub] = empty_table(sub)
        shape = tables[sub].value.shape
        tables[sub].value[:] = random.choice(np.array([0, 1, 5, 244, 254, 255], np.uint8), shape)
        tables[sub].depth[:] = random.integers(0, 30, shape)
        sources[sub] = ArraySource(tables[sub].value, tables[sub].depth)
    return tables | {material: solve(material, sources, Variant.R_MOBILITY)}


def states_of(table: Table) -> int:
    """How many states a proof must cover: ended games are no states."""
    total = 0
    for side in (0, 1):
        for slot in np.flatnonzero(table.value[side] != NONE).tolist():
            board = board_at(table, (0, side, slot))
            assert board is not None
            own = GScore.of_board(board).rank
            if own >= 2:
                value = int(table.value[side, slot])
                last = min(own, value, 255 - value)
                total += 1 + max(0, 2 * (last - 1) - (last == own))
    return total


@pytest.mark.parametrize("name", ["KvK", "KBvK", "KNvK"])
def test_reference_tables_are_right(name: str, reference_tables: Tables) -> None:
    table = reference_tables[Material.parse(name)]
    result = proof_of(table, reference_tables)
    assert result.ok
    assert result.findings == []
    assert result.positions == sum(table.positions)
    if name != "KBvK":
        assert result.states == states_of(table)


def test_a_sample_proves_the_states_of_that_many_positions(reference_tables: Tables) -> None:
    table = reference_tables[Material.parse("KNvK")]
    small, everything = (proof_of(table, reference_tables, sample=n) for n in (100, 10**6))
    assert 100 < small.states < 5000
    assert everything.states == proof_of(table, reference_tables).states


def place_of_run(table: Table, run: int) -> tuple[int, int]:
    """Side to move and slot of a run."""
    number = np.count_nonzero(table.run_rank[:run] & LAST_RUN)
    slots = np.flatnonzero(np.unpackbits(table.run_mask.view(np.uint8), bitorder="little"))
    _, side, slot = np.unravel_index(slots[number], (2, 2, table.layout.size))
    return int(side), int(slot)


@settings(
    max_examples=sample(20, 60), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(st.data())
def test_every_wrong_entry_is_found_and_named(reference_tables: Tables, data: st.DataObject) -> None:
    table = reference_tables[Material.parse("KNvK")]
    name = data.draw(st.sampled_from(["value", "depth", "run_rank", "run_value", "run_depth"]))
    array = getattr(table, name).reshape(-1)
    where = data.draw(st.integers(0, array.size - 1))
    before = int(array[where])
    # The mark of a position's last run belongs to the mask: see the next test.
    after = before ^ data.draw(st.integers(1, 127 if name == "run_rank" else 255))
    array[where] = after
    try:
        result = proof_of(table, reference_tables)
    finally:
        array[where] = before
    side, slot = place_of_run(table, where) if "run" in name else divmod(where, table.layout.size)
    board = board_at(table, (0, side, slot))
    assert result.wrong
    assert result.findings[0].fen == (
        board.fen() if board else f"slot {slot} with {'Black' if side else 'White'} to move"
    )


def test_what_a_finding_says(reference_tables: Tables) -> None:
    table = reference_tables[Material.parse("KNvK")]
    slot = table.layout.slot((4, 60, 0))
    value, depth = table.value[1, slot], table.depth[1, slot]
    right = f"{GScore.from_code(value)} in {depth} plies"
    table.value[1, slot] = 2
    try:
        finding = proof_of(table, reference_tables, limit=1).findings[0]
    finally:
        table.value[1, slot] = value
    assert finding.accrued is None
    assert str(finding).endswith(
        f"(fresh): the moves lead to something else: stored G1.0 in {depth} plies, recomputed {right}"
    )


def test_a_mask_that_does_not_fit_the_runs_is_refused(reference_tables: Tables) -> None:
    table = reference_tables[Material.parse("KNvK")]
    table.run_mask[0, 1, 7] ^= np.uint64(1)
    try:
        with pytest.raises(DamagedTableError, match="KNvK"):
            proof_of(table, reference_tables)
    finally:
        table.run_mask[0, 1, 7] ^= np.uint64(1)


def test_runs_of_another_position_are_found(reference_tables: Tables) -> None:
    table = reference_tables[Material.parse("KNvK")]
    mask = table.run_mask.copy()
    bits = np.unpackbits(mask.view(np.uint8), bitorder="little")
    with_runs = np.flatnonzero(bits)
    free = next(slot for slot in with_runs if not bits[slot + 1])
    bits[free], bits[free + 1] = 0, 1
    table.run_mask[:] = np.packbits(bits, bitorder="little").view(np.uint64).reshape(mask.shape)
    try:
        assert proof_of(table, reference_tables).wrong
    finally:
        table.run_mask[:] = mask


def test_pawn_moves_promotions_and_en_passant(pawn_tables: Tables) -> None:
    table = pawn_tables[Material.parse("KPvKP")]
    result = proof_of(table, pawn_tables)
    assert result.findings == []
    assert result.positions == sum(table.positions) + table.ep_positions


@settings(
    max_examples=sample(1, 2), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(st.data())
def test_wrong_en_passant_entries_are_found_and_named(pawn_tables: Tables, data: st.DataObject) -> None:
    material = Material.parse("KPvKP")
    table = pawn_tables[material]
    array = table.ep_value if data.draw(st.booleans()) else table.ep_depth
    positions = np.flatnonzero(table.ep_value.reshape(-1) != NONE)
    where = data.draw(st.sampled_from(positions.tolist()))
    row, at = divmod(where, table.layout.phase_size)
    array[row, at] ^= 1
    phase = int(table.ep_config[row, 0])
    try:
        with patch.object(Proof, "_windows", lambda _: [(phase, phase + 1)]):
            result = proof_of(table, pawn_tables)
    finally:
        array[row, at] ^= 1
    side = 1 if table.ep_config[row, 1] < 32 else 0
    board = board_at(table, (1, side, where))
    assert board is not None
    assert board.ep_square is not None
    assert result.findings[0].fen == board.fen()


@pytest.mark.exhaustive
def test_samples_of_all_tables_up_to_four_men_are_right(
    tables: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They were proved in full when their digests were published (tests/test_manifests.py)."""
    assert main(["verify", "--sample", "100000", "--dir", str(tables)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(all_materials(4))
    assert all(" proved: " in line or " nothing wrong in a sample: 100,000 of " in line for line in lines)


@pytest.fixture
def directory(tmp_path: Path, reference_tables: Tables) -> Path:
    for material, table in reference_tables.items():
        write(table, tmp_path)
        assert table_path(tmp_path, material.name, Variant.R_MOBILITY).exists()
    return tmp_path


def write(table: Table, directory: Path) -> None:
    write_table(
        table,
        table_path(directory, table.material.name, Variant.R_MOBILITY),
        version="0.1.0",
        build_seconds=1.0,
    )


def test_command_proves_all_tables_of_a_directory(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", "--dir", str(directory)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [[name, "proved:"] for name in ("KvK", "KBvK", "KNvK")]


def test_command_proves_sub_tables_first(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "KBvK", "--json", "--sample", "10", "--dir", str(directory)]) == 0
    tables = json.loads(capsys.readouterr().out)["tables"]
    assert [(table["material"], table["proved"], table["sample"]) for table in tables] == [
        ("KvK", True, 10),
        ("KBvK", True, 10),
    ]


def test_command_says_what_a_sample_covers(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "KBvK", "--sample", "1000", "--dir", str(directory)]) == 0
    small, large = capsys.readouterr().out.splitlines()
    assert small.startswith("KvK        proved: 924 positions, ")
    assert large.startswith("KBvK       nothing wrong in a sample: 1,000 of 52,234 positions, ")


def test_a_depth_without_a_value(
    directory: Path, reference_tables: Tables, capsys: pytest.CaptureFixture[str]
) -> None:
    table = reference_tables[Material.parse("KvK")]
    slot = int(np.flatnonzero(table.value[1] == NONE)[0])
    table.depth[1, slot] = 1
    try:
        write(table, directory)
    finally:
        table.depth[1, slot] = 0
    assert main(["verify", "KvK", "--dir", str(directory)]) == 1
    summary, finding = capsys.readouterr().out.splitlines()
    assert summary == "KvK        wrong: 1 state"
    assert finding.endswith("there is no such position: stored no value in 1 ply")
    assert main(["verify", "KvK", "--json", "--dir", str(directory)]) == 1
    (found,) = json.loads(capsys.readouterr().out)["tables"][0]["findings"]
    assert found["stored"] == {"value": None, "depth": 1}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            lambda config: config[1:],
            r"ep/config 0 is a capture on \w\d in phase \d+, but its pawns allow a",
        ),
        (lambda config: config[:-1], r"ep/config lacks a capture on \w6 in phase \d+$"),
        (lambda config: np.vstack([config, [[7, 99]]]), "ep/config holds a capture on square 99 in phase 7$"),
        (lambda config: config, ""),
    ],
)
def test_wrong_en_passant_rights_are_named(
    change: Callable[[np.ndarray], np.ndarray], problem: str, pawn_tables: Tables
) -> None:
    table = pawn_tables[Material.parse("KPvKP")]
    config = change(table.ep_config)
    shape = len(config), table.layout.phase_size
    other = replace(
        table, ep_config=config, ep_value=np.zeros(shape, np.uint8), ep_depth=np.zeros(shape, np.uint16)
    )
    found = inconsistency(other)
    assert re.search(problem, found) if problem and found else found is None


def test_command_names_a_wrong_entry_and_what_rests_on_it(
    directory: Path, reference_tables: Tables, capsys: pytest.CaptureFixture[str]
) -> None:
    table = reference_tables[Material.parse("KvK")]
    slot = table.layout.slot((0, 63))
    table.depth[0, slot] += 1
    try:
        write(table, directory)
    finally:
        table.depth[0, slot] -= 1
    assert main(["verify", "--dir", str(directory)]) == 1
    captured = capsys.readouterr()
    board = board_at(table, (0, 0, slot))
    assert board is not None
    assert captured.out.splitlines()[1].strip().startswith(board.fen())
    assert captured.out.count("since its sub-table KvK is not") == 2
    assert captured.err.endswith("tbgen: 1 of 3 tables is wrong: KvK\n")


def test_command_checks_digests_first(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = table_path(directory, "KNvK", Variant.R_MOBILITY)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert main(["verify", "--dir", str(directory)]) == 1
    captured = capsys.readouterr()
    assert captured.out.count("proved:") == 2
    assert str(path) in captured.err


def test_command_counts_the_runs_before_every_block(
    directory: Path,
    reference_tables: Tables,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def shifted(mask: np.ndarray, ranks: np.ndarray) -> np.ndarray:
        found = starts(mask, ranks)
        found[1, 1, -1] += 1
        return found

    starts = dataset._starts
    monkeypatch.setattr(dataset, "_starts", shifted)
    write(reference_tables[Material.parse("KNvK")], directory)
    assert main(["verify", "--dir", str(directory)]) == 1
    captured = capsys.readouterr()
    assert "accrued/start of block 9 of Black's scores, Black to move: stored" in captured.out + captured.err


def test_command_names_a_missing_table(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "KRvK", "--dir", str(directory)]) == 3
    assert "build it with: tbgen build KRvK" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("asked", "taken", "missing"),
    [("KRvKB", "KRvKB", "KRvKB"), ("KRvKB", "KBvK", "KBvK"), (None, "KvK", "KvK")],
)
def test_nothing_is_proved_if_a_table_is_missing(
    asked: str | None,
    taken: str,
    missing: str,
    tables: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Asked for or a sub-table, the sentence comes at once; nothing is proved before."""
    for name in {"KvK", "KRvK", "KBvK", "KRvKB"} - {taken}:
        path = table_path(tables, name, Variant.R_MOBILITY)
        (tmp_path / path.name).symlink_to(path)
    assert main(["verify", *([asked] if asked else []), "--dir", str(tmp_path)]) == 3
    assert capsys.readouterr() == (
        "",
        f"tbgen: table {missing} is missing from {tmp_path}; "
        f"build it with: tbgen build {missing} --dir {tmp_path}\n",
    )


@pytest.mark.parametrize("option", [["--sample", "0"], ["--threads", "0"], ["--findings", "-1"], ["KvX"]])
def test_command_refuses_nonsense(option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", *option]) == 2
    assert capsys.readouterr().err.startswith("tbgen: ")


def test_an_empty_directory_has_nothing_to_prove(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for directory in (tmp_path, tmp_path / "absent"):
        assert main(["verify", "--dir", str(directory)]) == 3
        assert capsys.readouterr().err == (
            f"tbgen: there are no tables in {directory}: build some, as with: "
            f"tbgen build KBvK --dir {directory}\n"
        )


def test_proof_does_not_use_the_solver() -> None:
    code = (
        "import sys, tbgen.verify.tables, tbgen.verify.warmup\n"
        "print([name for name in sys.modules if name.startswith('tbgen.retro')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
