"""Functions straight from the solver against those that follow from the runs."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from tbgen.board.material import Material
from tbgen.board.score import NONE
from tbgen.board.variant import Variant
from tbgen.compiler.jit import jit
from tbgen.index.layout import WHITE_TO_MOVE
from tbgen.index.table import FRESH, AccruedForm, Functions, Table
from tbgen.retro import solver
from tbgen.retro.kernels.numbering import Numbering, number_of, numbering, with_room
from tbgen.store.format import table_path
from tbgen.store.reader import TableFile
from tests.support.exhaustive import exhaustive
from tests.support.functions_of_runs import functions_of_runs
from tests.support.solved_tables import solved, source_of


def stored(tables: Path, name: str) -> Table:
    with TableFile(table_path(tables, name, Variant.R_MOBILITY)) as file:
        return file.read()


def check_equal(found: Functions | None, expected: Functions) -> None:
    assert found is not None
    assert found.side == expected.side
    for field in fields(Functions)[1:]:
        array, wanted = getattr(found, field.name), getattr(expected, field.name)
        assert array.dtype == wanted.dtype, field.name
        assert np.array_equal(array, wanted), field.name


@pytest.mark.parametrize(
    ("name", "functions"),
    [
        ("KvK", 1),
        ("KNvK", 32),
        ("KPvK", 20),
        ("KNNvK", 9),
        ("KBvKN", 756),
        *exhaustive([("KQvKQ", 3128), ("KPvKP", 1191)]),
    ],
)
def test_functions_are_those_of_the_runs(name: str, functions: int, tables: Path) -> None:
    material, full = Material.parse(name), stored(tables, name)
    sources = {sub: source_of(stored(tables, sub.name)) for sub in material.successors()}
    table = solver.solve(material, sources, Variant.R_MOBILITY, accrued=AccruedForm.FUNCTIONS)
    assert table.functions is not None
    assert len(table.functions.start) == functions + 1
    check_equal(table.functions, functions_of_runs(full))
    other = solver.solve(
        material, sources, Variant.R_MOBILITY, accrued=AccruedForm.FUNCTIONS, side=WHITE_TO_MOVE
    )
    check_equal(other.functions, functions_of_runs(full, WHITE_TO_MOVE))
    assert table.accrued_form is AccruedForm.FUNCTIONS
    assert len(table.run_rank) == table.run_mask.size == 0
    assert np.array_equal(table.value, full.value)
    assert np.array_equal(table.depth, full.depth)
    table.check_shapes()


@pytest.mark.parametrize(
    ("name", "wide"), [("KPvK", False), ("KRvK", True), *exhaustive([("KPvK", True), ("KRvK", False)])]
)
def test_threads_change_nothing(name: str, wide: bool) -> None:
    material = Material.parse(name)
    sources = {sub: source_of(solved(sub.name)) for sub in material.successors()}
    expected = functions_of_runs(solved(name))
    for threads in (1, 3):
        table = solver.solve(
            material,
            sources,
            Variant.R_MOBILITY,
            threads=threads,
            wide=wide,
            accrued=AccruedForm.FUNCTIONS,
        )
        check_equal(table.functions, expected)


def test_functions_are_in_order(tables: Path) -> None:
    """What the table says about its functions, without any runs."""
    material = Material.parse("KRvKR")
    sources = {sub: source_of(stored(tables, sub.name)) for sub in material.successors()}
    table = solver.solve(material, sources, Variant.R_MOBILITY, accrued=AccruedForm.FUNCTIONS)
    functions = table.functions
    assert functions is not None
    count = np.bincount(functions.number)
    assert len(count) == len(functions.start) - 1
    assert functions.start[1] == 0
    assert (np.diff(count[1:]) <= 0).all()
    assert not functions.number[table.value[1] == NONE].any()
    rank = np.minimum(functions.accrued, 255 - functions.accrued)
    assert (rank >= 2).all()
    for begin, end in zip(functions.start[1:-1], functions.start[2:], strict=True):
        assert begin < end
        assert (
            np.diff(functions.accrued[begin:end][functions.accrued[begin:end] < 128].astype(int)) > 0
        ).all()
        assert (
            np.diff(functions.accrued[begin:end][functions.accrued[begin:end] > 128].astype(int)) < 0
        ).all()
        assert functions.value[begin] != NONE
    used = np.flatnonzero(functions.number)
    for slot in used[:: len(used) // 1000]:
        number = functions.number[slot]
        values = functions.value[functions.start[number] : functions.start[number + 1]]
        assert table.value[1, slot] not in values
    assert FRESH in functions.value


@pytest.mark.parametrize("accrued", [AccruedForm.NOTHING, AccruedForm.FUNCTIONS])
@pytest.mark.parametrize("wide", [True, False])
def test_tables_without_layers_have_no_functions(accrued: AccruedForm, wide: bool) -> None:
    whole = solver.solve(Material.parse("KvK"), {}, Variant.WHOLE_GAME, wide=wide, accrued=accrued)
    assert not whole.stores_accrued
    assert whole.functions is None
    nothing = solver.solve(
        Material.parse("KvK"), {}, Variant.R_MOBILITY, wide=wide, accrued=AccruedForm.NOTHING
    )
    assert nothing.accrued_form is AccruedForm.NOTHING
    assert nothing.functions is None
    assert np.array_equal(nothing.value, solved("KvK").value)


@jit
def _number_all(known: Numbering, keys: np.ndarray, numbers: np.ndarray) -> Numbering:
    """Number some keys; a function of its own because only compiled code may call kernels."""
    for at in range(len(keys)):
        known = with_room(known, 1)
        numbers[at] = number_of(known, keys[at])
    return known


@pytest.mark.parametrize("distinct", [1, 40, 5000])
def test_keys_are_numbered_as_they_come(distinct: int) -> None:
    random = np.random.default_rng(distinct)
    pool = random.integers(0, 1 << 64, distinct, np.uint64)
    keys = np.append(np.uint64(7), pool[random.integers(0, distinct, 20_000)])
    numbers = np.empty(len(keys), np.int64)
    known = _number_all(numbering(2, np.uint64(7)), keys, numbers)
    names: dict[int, int] = {}
    assert numbers.tolist() == [names.setdefault(key, len(names)) for key in keys.tolist()]
    assert known.key[: known.length[0]].tolist() == list(names)
