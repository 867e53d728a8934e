"""One contract: a plain file, a packed file and a table in memory answer every question alike."""

import pickle
import re
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
import pytest

from tbgen.board.material import Material
from tbgen.board.score import NONE, Code
from tbgen.board.variant import Variant
from tbgen.errors import DamagedTableError, TbgenError
from tbgen.index.codes import NO_SCORE
from tbgen.index.layout import SIDES, Slot
from tbgen.index.position import board_of, locate
from tbgen.index.table import AccruedForm, RunIndex, Table
from tbgen.store.schema import EP_VALUE, PLACEMENTS
from tbgen.tables.files import open_table
from tbgen.tables.library import Library
from tbgen.tables.open_table import Given, OpenTable, Question
from tests.support.exhaustive import exhaustive, sample
from tests.support.functions_of_runs import functions_of_runs
from tests.support.packed_tables import PackedTables


class Forms(NamedTuple):
    """One table in all forms."""

    plain: OpenTable
    packed: OpenTable
    memory: RunIndex
    library: Library

    @property
    def table(self) -> Table:
        return self.memory.table

    @property
    def both(self) -> tuple[OpenTable, OpenTable]:
        return self.plain, self.packed

    def states(self, count: int) -> Iterator[Question]:
        """Random questions: positions that are not over, each fresh or with a score that differs from its own
        and whose rank is at most that of its value."""
        rng = np.random.default_rng(count)
        for side in SIDES:
            there = np.flatnonzero(self.table.value[side] != NONE)
            for slot in map(Slot, rng.choice(there, min(count, len(there)), replace=False).tolist()):
                position = locate(board_of(self.table.layout, side, slot))
                if position.terminal:
                    continue
                yield side, slot, NO_SCORE
                if not self.table.variant.layered:
                    continue
                own = position.score if position.score >= 0 else ~position.score
                value = int(self.table.value[side, slot])
                ranks = range(2, min(own, value, 255 - value) + 1)
                codes = {code for rank in ranks for code in (rank, 255 - rank)} - {own if side else 255 - own}
                yield from ((side, slot, code) for code in codes)


MORE = [f"{name}.r" for name in ("KBvKN", "KPvK", "KNNvK", "KRvKP", "KPPvK", "KQvKR")]


@pytest.fixture(scope="module", params=["KNvK.r", "KPvKP.r", "KPvK.wg", *exhaustive([*MORE, "KPvKP.wg"])])
def forms(request: pytest.FixtureRequest, whole_game_tables: Path, packed: PackedTables) -> Iterator[Forms]:
    name, rules = request.param.split(".")
    variant = Variant(rules)
    with Library(whole_game_tables, variant) as library:
        plain = library.table(Material.parse(name))
        with open_table(packed(name, variant), successors=library) as other:
            yield Forms(plain, other, RunIndex(plain.read()), library)


def arrays_of(states: list[Question]) -> tuple[Any, ...]:
    side, slots, accrued = np.array(states, np.int64).T
    return side.astype(np.uint8), slots, accrued


def test_facts(forms: Forms) -> None:
    plain, other = (table.info for table in forms.both)
    assert (plain.derives, other.derives) == (False, True)
    has_scores = forms.table.variant.layered
    assert (plain.accrued_form is AccruedForm.RUNS) == has_scores
    assert (other.accrued_form is AccruedForm.FUNCTIONS) == has_scores
    assert (plain.positions, plain.ep_positions) == (other.positions, other.ep_positions)
    assert plain.manifest.fresh == other.manifest.fresh
    again = pickle.loads(pickle.dumps(forms.library))
    assert again.table(Material.parse(plain.material)).info == plain
    assert forms.plain.stored_side is None
    assert forms.packed.stored_side in SIDES
    counts = forms.plain.counts()
    assert forms.packed.counts() == counts
    assert [sum(side.values()) for side in counts] == list(forms.table.position_counts)
    for table in forms.both:
        table.check()


def test_single_positions(forms: Forms) -> None:
    """Fresh values and depths are equal, and so are values with each accrued score. A depth may be missing in
    the packed table."""
    states = list(forms.states(sample(150, 1500)))
    forms.packed.prefetch(states[: len(states) // 2])
    for side, slot, code in states:
        fresh = int(forms.table.value[side, slot]), int(forms.table.depth[side, slot])
        if code == NO_SCORE:
            assert forms.plain.fresh(side, slot) == forms.packed.fresh(side, slot) == fresh
        else:
            value, plies = forms.plain.accrued(side, slot, Code(code))
            found, known = forms.packed.accrued(side, slot, Code(code))
            assert found == value, (side, slot, code)
            assert known in (None, plies)
    assert len(states) > (500 if forms.table.variant.layered else 200)


def test_many_positions(forms: Forms) -> None:
    """Looked up together, they have the values and depths of single positions."""
    states = list(forms.states(sample(100, 1000)))
    value, depth = forms.memory.look_up(*arrays_of(states))
    for (side, slot, code), mine, plies in zip(states[::9], value[::9], depth[::9], strict=True):
        single = (
            forms.plain.fresh(side, slot) if code == NO_SCORE else forms.plain.accrued(side, slot, Code(code))
        )
        assert (mine, plies) == single
    for table in forms.both:
        values, depths = table.look_up(*arrays_of(states))
        assert np.array_equal(values, value)
        assert np.array_equal(depths[depths >= 0], depth[depths >= 0])
        assert (depths >= 0).all() or table.info.derives
    empty = np.flatnonzero(forms.table.value[0] == NONE)[:9]
    for accrued in (-1, 3, 250):
        found = forms.memory.look_up(np.zeros(9, np.uint8), empty, np.full(9, accrued))
        assert [each.tolist() for each in found] == [[NONE] * 9, [0] * 9]
    assert (forms.plain.is_loaded, forms.packed.is_loaded) == (True, False)


def test_functions(forms: Forms) -> None:
    """The functions of positions are those of the runs; a table of runs has none."""
    side = forms.packed.stored_side
    assert side is not None
    if not forms.table.variant.layered:
        pytest.skip("the table stores no accrued scores")
    slots = np.array([slot for mover, slot, code in forms.states(100) if mover == side and code == NO_SCORE])
    expected = functions_of_runs(forms.table, side)
    value, functions = forms.packed.functions_at(slots)
    assert ((value == NONE) | (value == forms.table.value[side, slots])).all()
    for code in (Code(4), Code(9), Code(250)):
        right = expected.values_for(code)[expected.function_numbers[slots]]
        found = functions.values_for(code)[functions.function_numbers]
        assert np.array_equal(found[value != NONE], right[value != NONE])
    with pytest.raises(TbgenError, match="stores no functions"):
        forms.plain.functions_at(slots)


def test_slots_in_order(forms: Forms) -> None:
    """Whole phases and parts of them, with the tables of opening or with others; tables with as many men are
    taken only where the derived side may promote."""
    layout = forms.table.layout
    sources = forms.library.sub_tables_of(layout.material)
    smaller = {sub: source for sub, source in sources.items() if sub.men < layout.material.men}
    size, rng = layout.phase_size, np.random.default_rng(0)
    for phase in {0, *rng.integers(len(layout.placements), size=sample(2, 5)).tolist()}:
        for side in SIDES:
            assert forms.plain.needs(phase, side) == set()
            given = sources if forms.packed.needs(phase, side) else smaller
            part = phase * size + size // 2, size // 4
            for (start, count), sub_tables in (((phase * size, size), given), (part, None)):
                value, depth = np.full(count, NONE, np.uint8), np.zeros(count, np.uint16)
                forms.table.read_slots(side, start, value, depth)
                for table in forms.both:
                    values, depths = np.empty(count, np.uint8), np.empty(count, np.uint16)
                    table.read_slots(side, start, values, depths, Given(sub_tables))
                    assert np.array_equal(values[value != NONE], value[value != NONE])
                    assert np.array_equal(depths[value != NONE], depth[value != NONE])


def test_small_slices(forms: Forms, monkeypatch: pytest.MonkeyPatch) -> None:
    """Joined, they are the whole phase. They are looked up, in memory that grows with the slice."""
    monkeypatch.setattr("tbgen.tables.unpack.unpack_side", None)
    size, width = forms.table.layout.phase_size, forms.table.layout.phase_size // 64
    value, depth = np.empty(size, np.uint8), np.empty(size, np.uint16)
    for side in SIDES:
        for start in range(0, size, width):
            part = slice(start, start + width)
            forms.packed.read_slots(side, start, value[part], depth[part])
        assert np.array_equal(value, forms.table.value[side, :size])
        assert np.array_equal(depth, forms.table.depth[side, :size])
    if not forms.table.layout.pawns:
        peaks = []
        for count in (64, 640):
            tracemalloc.start()
            forms.packed.read_slots(SIDES[1], 0, value[:count], depth[:count])
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        assert peaks[0] < peaks[1] // 3


def test_en_passant(forms: Forms) -> None:
    size = forms.table.layout.phase_size
    for table in forms.both:
        config, value, depth = table.en_passant_arrays()
        assert np.array_equal(config, forms.table.ep_config)
        assert np.array_equal(value, forms.table.ep_value)
        assert np.array_equal(depth, forms.table.ep_depth)
        assert table.en_passant(0, 1, 0) == (NONE, 0)
        for row, (phase, square) in list(enumerate(forms.table.ep_config.tolist()))[::7]:
            value, depth = np.empty(size, np.uint8), np.empty(size, np.uint16)
            for one in (table, forms.table):
                value[:] = 1
                one.read_en_passant(row, value, depth)
                assert np.array_equal(value, forms.table.ep_value[row])
                assert np.array_equal(depth, forms.table.ep_depth[row])
            for slot in np.flatnonzero(value != NONE)[:3].tolist():
                assert table.en_passant(phase, square, slot) == (value[slot], depth[slot])


def test_whole_tables(forms: Forms) -> None:
    """Unpacked, the packed table is the plain one, with the functions of its runs."""
    side = forms.packed.stored_side
    assert side is not None
    for table in forms.both:
        for again in (table.read(), table.read_checked()):
            for field in ("value", "depth", "ep_config", "ep_value", "ep_depth"):
                assert np.array_equal(getattr(again, field), getattr(forms.table, field)), field
            table.check_facts(again)
            assert (again.functions is None) == (again.accrued_form is not AccruedForm.FUNCTIONS)
            if again.functions is not None:
                expected = functions_of_runs(forms.table, side)
                for field in ("function_numbers", "start", "accrued", "value"):
                    assert np.array_equal(getattr(again.functions, field), getattr(expected, field)), field
        assert table.read(functions=False).functions is None


def test_datasets(forms: Forms) -> None:
    """Those of both forms are read whole, in parts and element by element; what fails is damage."""
    for table in forms.both:
        placements = table.data(PLACEMENTS)
        assert np.array_equal(placements, forms.plain.data(PLACEMENTS))
        for row, numbers in enumerate(table.data(EP_VALUE)):
            part = np.empty(9, np.uint8)
            table.read_part(EP_VALUE, row, 5, part)
            assert np.array_equal(part, numbers[5:14])
            assert table.array(EP_VALUE).item(row, 5) == numbers[5]
        with pytest.raises(DamagedTableError, match=f"{table.path} cannot be used: it is damaged; build it"):
            table.guard(lambda: int("x"))
        assert str(table.damaged("x")).startswith(f"{table.path} cannot be used: x; build it again with:")
        again = open_table(table.path, successors=forms.library)
        again.close()
        assert not again._file


def test_no_method_is_left_out() -> None:
    asked = set(re.findall(r"\b(?:table|other|one|again|packed)\.(\w+)", Path(__file__).read_text()))
    names = {name for name in dir(OpenTable) if not name.startswith("_")}
    methods = {name for name in names if isinstance(getattr(OpenTable, name), FunctionType | property)}
    assert len(methods) > 20
    assert methods <= asked
