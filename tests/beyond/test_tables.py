"""Phases of tables as cells read them: packed tables agree with plain ones."""

import itertools
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import chess
import numpy as np
import pytest

import tbgen
from tbgen.beyond import table_source as solver_tables
from tbgen.beyond.budget import Budget
from tbgen.beyond.table_source import Tables
from tbgen.board.material import Material, all_materials
from tbgen.board.score import NONE, Code
from tbgen.cells.bounds import Block, part_of
from tbgen.cells.cell import Cell, CellPosition, lineup_of_cell, mobile_squares
from tbgen.cells.interval import Interval
from tbgen.cells.routes import Route, home_of_route, routes_of
from tbgen.index.layout import SIDES, Layout, layout_of
from tbgen.index.zeroing import en_passant_configs, phases_after_pawn_steps
from tests.support.exhaustive import exhaustive, sample
from tests.support.exit_contract import check_source
from tests.support.packed_tables import PackedTables
from tests.support.same_bounds import is_same

CAPTURE = "r7/1P6/8/4k3/8/8/4K3/8 w - - 0 1"
"""White may capture the rook and promote."""


@pytest.mark.parametrize(("name", "missing"), [("KPvKP", 2), ("KPvK", 2), *exhaustive([("KRPvK", 0)])])
def test_packed_phases_are_those_of_plain_tables(
    name: str, missing: int, own: Path, tables: Path, packed: PackedTables
) -> None:
    """Tables with as many men are used only if the derived side may promote; here they are missing."""
    shutil.copy(packed(name), own)
    for path in own.glob("K[QRBN]vK.r.h5") if name == "KPvK" else ():
        path.unlink()
    material = Material.parse(name)
    layout = layout_of(material)
    kept_back = 0
    with tbgen.open_tablebase(own) as packed_ones, tbgen.open_tablebase(tables) as plain_ones:
        some, plain = Tables(packed_ones), Tables(plain_ones)
        for phase in (0, 1, len(layout.placements) // 2, len(layout.placements) - 1):
            for side in SIDES:
                assert plain.has_phase(material, phase, side)
                if not some.has_phase(material, phase, side):
                    kept_back += 1
                    continue
                assert is_same(
                    some.get_phase(material, phase, side), plain.get_phase(material, phase, side), there=True
                )
        for row in range(0, len(en_passant_configs(layout)), 5):
            assert is_same(some.get_en_passant(material, row), plain.get_en_passant(material, row))
    assert kept_back == missing  # the derived side of KRPvK is Black


def test_looked_up_positions_are_those_of_plain_tables(own: Path, tables: Path, packed: PackedTables) -> None:
    """Routes with a landed man, to the stored and to the derived side of the packed table."""
    shutil.copy(packed("KPvK"), own)
    board = chess.Board("8/2k5/8/1p6/3P4/8/2K5/8 w - - 0 1")
    cell = Cell.of_board(board, mobile_squares(board))
    sides = set()
    with tbgen.open_tablebase(own) as packed_ones, tbgen.open_tablebase(tables) as plain_ones:
        some, plain = Tables(packed_ones), Tables(plain_ones)
        for route in routes_of(lineup_of_cell(cell)):
            if route.landing is None or not some.knows(route):
                continue
            sides.add(route.side)
            whole = part_of(plain.block(route.without_landing, 0), route)
            for source in (some, plain):
                assert is_same(source.block(route, 0), whole, there=True)
        assert sides == {*SIDES}
        assert check_source(plain, routes_of(lineup_of_cell(cell)), 97, plain_ones)[0] > 0
        assert some.nbytes < 3 * layout_of(Material.parse("KPvK")).phase_size, "no phase is decoded"


class Late(Tables):
    """Tables whose depths are one ply too large."""

    def block(self, route: Route, end: int) -> Block:
        value, depth = super().block(route, end)
        return Block(value, np.add(depth, 1, dtype=np.uint16))


def test_wrong_depths_of_a_source_are_noticed(tables: Path) -> None:
    board = chess.Board(CAPTURE)
    routes = routes_of(lineup_of_cell(Cell.of_board(board, mobile_squares(board))))
    with tbgen.open_tablebase(tables) as opened, pytest.raises(AssertionError, match="wrong depth"):
        check_source(Late(opened), routes, 97, opened)


@pytest.fixture
def promoted(own: Path, packed: PackedTables, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a directory with the tables of up to three men; those that promotions lead to are packed."""
    monkeypatch.setattr(solver_tables, "MAX_PROBED_SLOTS", 64**2)
    for name in ("KQvK", "KRvK", "KBvK", "KNvK"):
        shutil.copy(packed(name), own)
    return own


@pytest.mark.parametrize("name", ["KPvK", *exhaustive(["KPvKP"])])
def test_phases_from_which_promotions_lead_to_packed_tables(
    name: str, own: Path, tables: Path, packed: PackedTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """These may also count as large, and are then decoded one at a time."""
    monkeypatch.setattr(solver_tables, "MAX_PROBED_SLOTS", 64**2)
    monkeypatch.setattr("tbgen.tables.packed_table._MAX_SMALL_PHASE_SLOTS", 64**2)
    for each in (name, *(name.replace("P", piece, 1) for piece in "QRBN")):
        shutil.copy(packed(each), own)
    for path in tables.glob("K[QRBN]vK[QRBN].r.h5"):
        shutil.copy(path, own)
    material = Material.parse(name)
    layout, taken = layout_of(material), 0
    passing = list(before_double_steps(layout))
    assert bool(passing) is (name == "KPvKP")
    phases = [*range(0, len(layout.placements), sample(5, 31)), *passing[::5]]
    with tbgen.open_tablebase(own) as packed_ones, tbgen.open_tablebase(tables) as plain_ones:
        some, plain = Tables(packed_ones), Tables(plain_ones)
        for phase in phases:
            for side in SIDES:
                assert some.has_phase(material, phase, side)
                file = packed_ones.table_file(material)
                taken += len(file.needs(phase, side))
                assert is_same(
                    some.get_phase(material, phase, side), plain.get_phase(material, phase, side), there=True
                )
        others, places = Tables(packed_ones), list(itertools.product(phases, SIDES))
        with ThreadPoolExecutor(4) as threads:
            blocks = threads.map(lambda place: others.get_phase(material, *place), [*places, *places])
            for place, block in zip([*places, *places], blocks, strict=True):
                assert is_same(block, plain.get_phase(material, *place), there=True)
    assert taken


def before_double_steps(layout: Layout) -> Iterator[int]:
    """Return the phases in which a double step can pass an enemy pawn."""
    for phase, square in en_passant_configs(layout).tolist():
        start = square + (8 if square >= 32 else -8)
        for before, placement in enumerate(layout.placements):
            if start in placement and phase in phases_after_pawn_steps(layout, before):
                yield before


def test_captures_with_promotion_are_looked_up_once_allowed(promoted: Path, tables: Path) -> None:
    board = chess.Board(CAPTURE)
    cell = Cell.of_board(board, mobile_squares(board))
    steps = {step.move.uci(): step for step in CellPosition(board, board.occupied & ~board.pawns).moves()}
    with tbgen.open_tablebase(promoted) as packed_ones, tbgen.open_tablebase(tables) as plain_ones:
        some, plain = Tables(packed_ones), Tables(plain_ones)
        routes = [route for route in routes_of(lineup_of_cell(cell)) if route.promoted_on is not None]
        captures = [route for route in routes if len(route.destination.mobile) < len(cell.mobile)]
        assert len(captures) == 8
        after = steps["b7a8q"].after
        assert some.has_cell(after.cell)
        assert some.fresh_bounds(after) is None
        assert not any(map(some.knows, captures))
        homes = {home_of_route(route).canonical()[0] for route in captures}
        assert all(map(some.can_allow_promotion_look_ups, homes))
        for home in homes:
            some.allow_promotion_look_ups(home)
        assert not any(map(some.can_allow_promotion_look_ups, homes))
        for route in captures:
            assert some.knows(route)
            assert is_same(some.block(route, 0), plain.block(route, 0), there=True)
        assert some.fresh_bounds(after) == plain.fresh_bounds(after) is not None


def test_values_of_small_cells(promoted: Path, tables: Path) -> None:
    """The cell has a frozen man, whose moves a solution of the cell has no bounds for."""
    board = chess.Board("Q7/8/8/4k3/8/8/4K3/8 b - - 0 1")
    cell = Cell.of_board(board, chess.SquareSet([chess.E2, chess.E5]))
    with tbgen.open_tablebase(promoted) as packed_ones, tbgen.open_tablebase(tables) as plain_ones:
        some, plain = Tables(packed_ones), Tables(plain_ones)
        assert some.can_look_up(cell)
        assert not plain.can_look_up(cell), "there is no need"
        found = some.look_up_bounds(cell)
        assert found.has_equal_ends
        seen = 0
        for side, slot in itertools.product(SIDES, range(0, cell.size, 15)):
            here, code = cell.board_of(side, slot), Code(int(found.value[0, side, slot]))
            assert (code == NONE) is (here is None or not here.is_valid())
            if here is not None and code != NONE:
                seen += 1
                assert Interval(code, code) == plain.fresh_bounds(CellPosition(here, here.kings))
        assert seen > 200


def test_kept_phases_have_a_limit(tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    material = Material.parse("KRvKR")
    size = 3 * layout_of(material).size
    monkeypatch.setattr(solver_tables, "_MAX_PHASE_BYTES", 3 * size)
    with tbgen.open_tablebase(tables) as opened:
        some = Tables(opened)
        assert some.nbytes == 0
        for other in [m for m in all_materials(4) if m.men == 4 and not m.pawns][:4]:
            some.get_phase(other, 0, SIDES[0])
            some.get_phase(other, 0, SIDES[1])
            assert 0 < some.nbytes <= 3 * size


def test_play_leads_to_positions_in_packed_tables(
    promoted: Path, tables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Cell] = []

    def allow(self: Tables, cell: Cell) -> None:
        asked.append(cell)
        allowed(self, cell)

    allowed = Tables.allow_promotion_look_ups
    monkeypatch.setattr(Tables, "allow_promotion_look_ups", allow)
    found = tbgen.solve(CAPTURE, tables=promoted, budget=Budget(), verify=True)
    expected = tbgen.solve(CAPTURE, tables=tables, budget=Budget())
    assert found.value == expected.value is not None
    assert found.proof is not None
    assert asked
