"""Functions straight from the solver against those that follow from the runs."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.compiler.jit import jit
from tbgen.index.layout import WHITE_TO_MOVE
from tbgen.index.table import AccruedForm, ValueFunctions
from tbgen.retro import solver
from tbgen.retro.kernels.numbering import Numbering, find_or_add, new_numbering, with_capacity
from tests.support.exhaustive import exhaustive
from tests.support.functions_of_runs import functions_of_runs
from tests.support.packed_tables import plain
from tests.support.solved_tables import around, solved, source_of

R = Variant.R_MOBILITY


def check_equal(found: ValueFunctions | None, expected: ValueFunctions) -> None:
    assert found is not None
    assert found.side == expected.side
    for field in fields(ValueFunctions)[1:]:
        array, wanted = getattr(found, field.name), getattr(expected, field.name)
        assert array.dtype == wanted.dtype, field.name
        assert np.array_equal(array, wanted), field.name


@pytest.mark.parametrize(
    ("name", "functions"),
    [
        *[("KvK", 1), ("KNvK", 32), ("KPvK", 20), ("KNNvK", 9)],
        *exhaustive([("KBvKN", 756), ("KQvKQ", 3128), ("KPvKP", 1191)]),
    ],
)
def test_functions_are_those_of_the_runs(name: str, functions: int, tables: Path) -> None:
    material, full = Material.parse(name), plain(tables, name)
    sources = {sub: source_of(plain(tables, sub.name)) for sub in material.successors()}
    table = solver.solve(material, sources, R, accrued=AccruedForm.FUNCTIONS)
    assert table.functions is not None
    assert len(table.functions.start) == functions + 1
    check_equal(table.functions, functions_of_runs(full))
    other = solver.solve(material, sources, R, accrued=AccruedForm.FUNCTIONS, side=WHITE_TO_MOVE)
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
    table = solver.solve(
        Material.parse(name), around(name), R, threads=3, wide=wide, accrued=AccruedForm.FUNCTIONS
    )
    check_equal(table.functions, functions_of_runs(solved(name)))


@pytest.mark.parametrize("wide", [True, False])
def test_tables_without_layers_have_no_functions(wide: bool) -> None:
    material = Material.parse("KvK")
    for accrued in (AccruedForm.NOTHING, AccruedForm.FUNCTIONS):
        whole = solver.solve(material, {}, Variant.WHOLE_GAME, wide=wide, accrued=accrued)
        assert not whole.stores_accrued
        assert whole.functions is None
    nothing = solver.solve(material, {}, R, wide=wide, accrued=AccruedForm.NOTHING)
    assert nothing.accrued_form is AccruedForm.NOTHING
    assert nothing.functions is None
    assert np.array_equal(nothing.value, solved("KvK").value)


@jit
def _number_all(known: Numbering, keys: np.ndarray, numbers: np.ndarray) -> Numbering:
    """Number some keys; a function of its own because only compiled code may call kernels."""
    for at in range(len(keys)):
        known = with_capacity(known, 1)
        numbers[at] = find_or_add(known, keys[at])
    return known


@pytest.mark.parametrize("distinct", [1, 40, 5000])
def test_keys_are_numbered_as_they_come(distinct: int) -> None:
    random = np.random.default_rng(distinct)
    pool = random.integers(0, 1 << 64, distinct, np.uint64)
    keys = np.append(np.uint64(7), pool[random.integers(0, distinct, 20_000)])
    numbers = np.empty(len(keys), np.int64)
    known = _number_all(new_numbering(2, np.uint64(7)), keys, numbers)
    names: dict[int, int] = {}
    assert numbers.tolist() == [names.setdefault(key, len(names)) for key in keys.tolist()]
    assert known.key[: known.length[0]].tolist() == list(names)
