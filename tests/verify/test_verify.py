"""The proof: its results for correct tables, the errors that it finds and names, and its command."""

import random
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from tbgen.board.material import Material, all_materials
from tbgen.board.score import NONE, GScore
from tbgen.board.variant import Variant
from tbgen.costs import seconds_to_build
from tbgen.errors import DamagedTableError, TbgenError
from tbgen.index.codes import LAST_RUN
from tbgen.index.table import AccruedForm, Table
from tbgen.retro.solver import solve
from tbgen.store import dataset
from tbgen.store.format import table_path
from tbgen.tables.files import write_table
from tbgen.verify.consistency import table_problem
from tbgen.verify.proof import Proof, places_of, verify_table
from tbgen.verify.report import VerifyResult, board_at
from tbgen.verify.sub_tables import SubTables
from tests.support.exhaustive import exhaustive, sample
from tests.support.packed_tables import plain
from tests.support.solved_tables import sub_tables_of
from tests.verify.conftest import Verify, around

Tables = dict[Material, Table]
KVK, KNVK = (Material.parse(name) for name in ("KvK", "KNvK"))


def proof_of(table: Table, tables: Tables, **options: Any) -> VerifyResult:
    return verify_table(table, sub_tables_of(table.layout, tables), **options)


@pytest.fixture
def small_tables(three_men: Path) -> Tables:
    """Copies of tables of the reference solver, which tests may change."""
    return {Material.parse(name): plain(three_men, name) for name in ("KvK", "KBvK", "KNvK")}


@pytest.fixture(scope="module")
def pawn_table(tables: Path) -> Table:
    """The table of the smallest material with en passant rights."""
    return plain(tables, "KPvKP")


@pytest.fixture(scope="module")
def below_pawns(tables: Path, pawn_table: Table) -> SubTables:
    return around(tables, pawn_table.layout)


def test_a_variant_that_solver_and_proof_do_not_list_is_refused(small_tables: Tables) -> None:
    third = str.__new__(Variant, "c")
    third._name_, third._value_ = "CAPTURES", "c"
    for make in (
        lambda: seconds_to_build(KVK, third, AccruedForm.RUNS),
        lambda: solve(KVK, {}, third),
        lambda: proof_of(replace(small_tables[KVK], variant=third), small_tables),
    ):
        with pytest.raises(TbgenError, match="for the rules c"):
            make()


def states_of(table: Table) -> int:
    """Return the number of states that a proof must cover; mates and stalemates have none."""
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


@pytest.mark.parametrize("name", ["KvK", *exhaustive(["KBvK", "KNvK"])])
def test_right_tables_are_proved_in_all_their_states(name: str, small_tables: Tables) -> None:
    table = small_tables[Material.parse(name)]
    result = proof_of(table, small_tables)
    assert result.ok
    assert result.findings == []
    assert result.positions == sum(table.position_counts)
    assert result.states == states_of(table)


def test_a_sample_proves_the_states_of_that_many_positions(small_tables: Tables) -> None:
    table = small_tables[KNVK]
    small, everything = (proof_of(table, small_tables, sample=n) for n in (100, 10**6))
    assert 100 < small.states < 5000
    assert everything.states == proof_of(table, small_tables).states


def place_of_run(table: Table, run: int) -> tuple[int, int]:
    """Return side to move and slot of a run."""
    number = np.count_nonzero(table.run_rank[:run] & LAST_RUN)
    slots = np.flatnonzero(np.unpackbits(table.run_mask.view(np.uint8), bitorder="little"))
    _, side, slot = np.unravel_index(slots[number], (2, 2, table.layout.size))
    return int(side), int(slot)


@pytest.mark.parametrize("name", ["value", "depth", "run_rank", "run_value", "run_depth"])
def test_every_wrong_entry_is_found_and_named(name: str, small_tables: Tables) -> None:
    table, rng = small_tables[KNVK], random.Random(name)
    array = getattr(table, name).reshape(-1)
    for _ in range(sample(3, 15)):
        where = rng.randrange(array.size)
        before = int(array[where])
        # The mark of a position's last run belongs to the mask: see the next test.
        array[where] = before ^ rng.randrange(1, 128 if name == "run_rank" else 256)
        result = proof_of(table, small_tables)
        array[where] = before
        side, slot = place_of_run(table, where) if "run" in name else divmod(where, table.layout.size)
        board = board_at(table, (0, side, slot))
        assert result.wrong
        assert result.findings[0].fen == (
            board.fen() if board else f"slot {slot} with {'Black' if side else 'White'} to move"
        )


def test_what_a_finding_says(small_tables: Tables) -> None:
    table = small_tables[KNVK]
    slot = table.layout.slot((4, 60, 0))
    value, depth = table.value[1, slot], table.depth[1, slot]
    table.value[1, slot] = 2
    finding = proof_of(table, small_tables, limit=1).findings[0]
    assert finding.accrued is None
    assert str(finding).endswith(
        f"(fresh): the moves lead to another result: stored G1.0 in {depth} plies, "
        f"recomputed {GScore.from_code(value)} in {depth} plies"
    )


def test_a_mask_that_does_not_fit_the_runs_is_refused(small_tables: Tables) -> None:
    small_tables[KNVK].run_mask[0, 1, 7] ^= np.uint64(1)
    with pytest.raises(DamagedTableError, match="KNvK"):
        proof_of(small_tables[KNVK], small_tables)


def test_runs_of_another_position_are_found(small_tables: Tables) -> None:
    table = small_tables[KNVK]
    bits = np.unpackbits(table.run_mask.view(np.uint8), bitorder="little")
    free = next(slot for slot in np.flatnonzero(bits) if not bits[slot + 1])
    bits[free], bits[free + 1] = 0, 1
    table.run_mask[:] = np.packbits(bits, bitorder="little").view(np.uint64).reshape(table.run_mask.shape)
    assert proof_of(table, small_tables).wrong


def proof_of_phases(phases: Iterable[int], table: Table, below: SubTables) -> VerifyResult:
    with patch.object(Proof, "_batches", lambda _: [(phase, phase + 1) for phase in phases]):
        return verify_table(table, below)


def test_pawn_moves_promotions_and_en_passant(pawn_table: Table, below_pawns: SubTables) -> None:
    every, phases = sample(3, 1), len(pawn_table.layout.placements)
    some = sorted({*pawn_table.ep_config[::every, 0].tolist(), *range(3, phases, sample(150, 1))})
    result = proof_of_phases(some, pawn_table, below_pawns)
    assert result.findings == []
    assert result.positions > np.count_nonzero(pawn_table.ep_value[::every] != NONE) + 2500 * len(some)


def test_wrong_en_passant_entries_are_found_and_named(pawn_table: Table, below_pawns: SubTables) -> None:
    table, rng = pawn_table, random.Random("en passant")
    for array in (table.ep_value, table.ep_depth):
        where = rng.choice(np.flatnonzero(table.ep_value.reshape(-1) != NONE).tolist())
        row, at = divmod(where, table.layout.phase_size)
        phase, square = table.ep_config[row].tolist()
        array[row, at] ^= 1
        result = proof_of_phases([phase], table, below_pawns)
        array[row, at] ^= 1
        board = board_at(table, (1, 1 if square < 32 else 0, where))
        assert board is not None
        assert board.ep_square is not None
        assert result.findings[0].fen == board.fen()


def test_a_block_that_was_not_read_proves_nothing(tables: Path, pawn_table: Table) -> None:
    """Both pawns of the first phase may promote. Every such move counts, even if another one is better."""
    right = proof_of_phases([0], pawn_table, around(tables, pawn_table.layout))
    assert right.ok
    with patch.object(SubTables, "load", lambda *_: None):
        assert proof_of_phases([0], pawn_table, around(tables, pawn_table.layout)).wrong > right.states


def test_a_position_without_a_value_leaves_no_state_proved(tables: Path) -> None:
    """Batches are surveyed one after the other; those after the missing value are only surveyed."""
    table = plain(tables, "KPvK")
    slot = 12 * table.layout.phase_size + int(
        np.flatnonzero(table.value[1, 12 * table.layout.phase_size :] != NONE)[0]
    )
    table.value[1, slot], table.depth[1, slot] = NONE, 0
    batches = [(0, 10), (10, 13), (13, 24)]
    with patch.object(Proof, "_batches", lambda _: batches):
        result = verify_table(table, around(tables, table.layout))
    assert (result.states, result.wrong) == (0, 1)
    assert result.findings[0].problem == "the position has no value"


def test_numbered_positions_are_found() -> None:
    rng = np.random.default_rng(1)
    rows = [rng.choice(np.array([NONE, 5, 250], np.uint8), size) for size in (3_000_000, 70, 0, 2000)]
    every = [np.flatnonzero(row != NONE) for row in rows]
    count = sum(map(len, every))
    numbers = np.sort(rng.choice(count, 5000, replace=False))
    begins = np.cumsum([0, *map(len, every)])
    for found, slots, begin, end in zip(places_of(numbers, rows), every, begins, begins[1:], strict=False):
        assert np.array_equal(found, slots[numbers[(numbers >= begin) & (numbers < end)] - begin])


@pytest.mark.parametrize(
    ("name", "number"),
    [("KNNvK", 1000), *exhaustive((material.name, 100_000) for material in all_materials(4))],
)
def test_samples_of_tables_are_right(name: str, number: int, tables: Path) -> None:
    """Samples are enough: the tables were proved in full when their digests were published
    (tests/test_manifests.py)."""
    table = plain(tables, name)
    result = verify_table(table, around(tables, table.layout), sample=number)
    assert result.ok
    assert result.states > min(number, 500)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda config: config[1:], r"ep/config 0 is a capture on \w\d in phase \d+, but its pawns allow a"),
        (lambda config: config[:-1], r"ep/config lacks a capture on \w6 in phase \d+$"),
        (lambda config: np.vstack([config, [[7, 99]]]), "ep/config holds a capture on square 99 in phase 7$"),
        (lambda config: config, ""),
    ],
)
def test_wrong_en_passant_rights_are_named(
    change: Callable[[np.ndarray], np.ndarray], problem: str, pawn_table: Table
) -> None:
    config = change(pawn_table.ep_config)
    value = np.zeros((len(config), pawn_table.layout.phase_size), np.uint8)
    other = replace(pawn_table, ep_config=config, ep_value=value, ep_depth=value.astype(np.uint16))
    found = table_problem(other)
    assert re.search(problem, found) if problem and found else found is None


# The command


@pytest.fixture
def directory(tmp_path: Path, small_tables: Tables) -> Path:
    for table in small_tables.values():
        write(table, tmp_path)
    return tmp_path


def write(table: Table, directory: Path) -> None:
    path = table_path(directory, table.material.name, Variant.R_MOBILITY)
    write_table(table, path, version="0.1.0", build_seconds=1.0)


@pytest.mark.usefixtures("directory")
def test_command_proves_samples_and_sub_tables_first(verify: Verify) -> None:
    tables = verify.tables("KBvK", "--sample", "10")
    assert [(table["material"], table["proved"], table["sample"]) for table in tables] == [
        ("KvK", True, 10),
        ("KBvK", True, 10),
    ]
    (small, large), _ = verify("KBvK", "--sample", "1000")
    assert small.startswith("KvK        proved: 924 positions, ")
    assert large.startswith("KBvK       nothing wrong in a sample: 1,000 of 52,234 positions, ")


def test_a_depth_without_a_value(directory: Path, small_tables: Tables, verify: Verify) -> None:
    table = small_tables[KVK]
    table.depth[1, np.flatnonzero(table.value[1] == NONE)[0]] = 1
    write(table, directory)
    (summary, finding), _ = verify("KvK", code=1)
    assert summary == "KvK        wrong: 1 state"
    assert finding.endswith("there is no such position: stored no value in 1 ply")
    (found,) = verify.tables("KvK", code=1)[0]["findings"]
    assert found["stored"] == {"value": None, "depth": 1}


def test_command_names_a_wrong_entry_and_what_rests_on_it(
    directory: Path, small_tables: Tables, verify: Verify
) -> None:
    table = small_tables[KVK]
    slot = table.layout.slot((0, 63))
    table.depth[0, slot] += 1
    write(table, directory)
    lines, error = verify(code=1)
    board = board_at(table, (0, 0, slot))
    assert board is not None
    assert lines[1].strip().startswith(board.fen())
    assert sum("since its sub-table KvK is not" in line for line in lines) == 2
    assert error.endswith("0 of 3 tables without errors\ntbgen: 1 of 3 tables is wrong: KvK\n")


def test_command_checks_digests_first(directory: Path, verify: Verify) -> None:
    path = table_path(directory, "KNvK", Variant.R_MOBILITY)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    lines, error = verify(code=1)
    assert [line.split()[:2] for line in lines][:2] == [["KvK", "proved:"], ["KBvK", "proved:"]]
    assert str(path) in error


def test_command_counts_the_runs_before_every_block(
    directory: Path, small_tables: Tables, verify: Verify, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shifted(mask: np.ndarray, ranks: np.ndarray) -> np.ndarray:
        found = starts(mask, ranks)
        found[1, 1, -1] += 1
        return found

    starts = dataset._run_starts
    monkeypatch.setattr(dataset, "_run_starts", shifted)
    write(small_tables[KNVK], directory)
    lines, error = verify(code=1)
    said = "accrued/start of block 9 of Black's scores, Black to move: stored"
    assert said in "".join(lines) + error


@pytest.mark.parametrize(("asked", "missing"), [(["KRvKB"], "KRvKB"), (["KRvKB"], "KBvK"), ([], "KvK")])
def test_nothing_is_proved_if_a_table_is_missing(
    asked: list[str], missing: str, tables: Path, tmp_path: Path, verify: Verify
) -> None:
    """A missing table or sub-table is reported before anything is proved."""
    for name in {"KvK", "KRvK", "KBvK", "KRvKB"} - {missing}:
        path = table_path(tables, name, Variant.R_MOBILITY)
        (tmp_path / path.name).symlink_to(path)
    lines, error = verify(*asked, code=3)
    assert lines == []
    assert error == (
        f"tbgen: table {missing} is missing from {tmp_path}; "
        f"build it with: tbgen build {missing} --dir {tmp_path}\n"
    )


def test_command_refuses_nonsense(verify: Verify) -> None:
    for words in (["--sample", "0"], ["--threads", "0"], ["--findings", "-1"], ["KvX"]):
        assert verify(*words, code=2)[1].startswith("tbgen: ")


def test_an_empty_directory_has_nothing_to_prove(tmp_path: Path, verify: Verify) -> None:
    for directory, note in ((tmp_path, ""), (tmp_path / "absent", " (no such directory)")):
        assert verify(code=3, where=directory)[1] == (
            f"tbgen: there are no tables in {directory}{note}: build some, as with: "
            f"tbgen build KBvK --dir {directory}\n"
        )
