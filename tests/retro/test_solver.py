"""The retrograde solver against tables of the reference solver and proved ones, by their digests.

The tables of up to four men that builds write are compared in tests/test_manifests.py.
"""

import random
from pathlib import Path

import chess
import numpy as np
import pytest

from tbgen.board.material import Material, all_materials
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.probe.tablebase import Tablebase, open_tablebase
from tbgen.retro.solver import solve
from tests.support.depths import known
from tests.support.digests import digest_of, right_digests
from tests.support.exhaustive import exhaustive
from tests.support.reference_game import placements, solve_game
from tests.support.reference_moves import DESCRIBED
from tests.support.solved_tables import around, solved

THREE_MEN = [material.name for material in all_materials(3)]
R = Variant.R_MOBILITY


@pytest.mark.parametrize("variant", Variant)
def test_solved_in_any_way_a_table_is_the_right_one(variant: Variant) -> None:
    """On one thread and on several, phases side by side and, wide, one at a time."""
    right = right_digests(variant)
    ways = [(name, *way) for name in THREE_MEN for way in ((1, False), (3, False), (2, True))]
    for name, threads, wide in [*ways, ("KNNvK", 2, True)]:
        sources = around(name, wide, variant)
        table = solve(Material.parse(name), sources, variant, threads=threads, wide=wide)
        assert digest_of(table) == right[name], (name, threads, wide)


@pytest.mark.exhaustive
def test_described_men_have_the_tables_of_the_reference() -> None:
    for man in DESCRIBED:
        assert digest_of(solved(f"K{man}vK")) == right_digests(R)[f"K{man}vK"], man


@pytest.mark.exhaustive
@pytest.mark.parametrize("wide", [False, True])
def test_a_man_of_chess_that_is_described_has_its_table(wide: bool) -> None:
    for chess_name, name in (("KRvK", "K[R]vK"), ("KNvK", "K[N]vK")):
        one, other = solved(chess_name), solved(name, wide)
        for array in ("value", "depth", "run_mask", "run_rank", "run_value", "run_depth"):
            assert np.array_equal(getattr(one, array), getattr(other, array)), array


@pytest.mark.exhaustive
def test_longest_mates_are_those_of_an_independent_program() -> None:
    """One for classical chess; 0 where nobody mates by force."""
    longest = {"[WF]": 36, "[WD]": 58, "[R]": 32, "[BDD]": 0, "[F]": 0}
    for man, plies in longest.items():
        table = solved(f"K{man}vK")
        assert table.depth[table.value == 0].max(initial=0) == plies, man


@pytest.mark.parametrize(
    ("name", "wide"), [("KNvK", True), ("KPvK", False), *exhaustive([("KNvK", False), ("KPvK", True)])]
)
def test_tables_with_too_many_runs_have_none(name: str, wide: bool) -> None:
    """All else is as in a table that has them, wherever on the way the runs are given up."""
    material, full = Material.parse(name), solved(name)
    runs = len(full.run_rank)
    for most in (0, 1, runs // 3, runs - 1):
        table = solve(material, around(name), R, wide=wide, max_runs=most)
        assert not table.stores_accrued
        assert table.run_mask.shape == (2, 2, 0)
        assert len(table.run_rank) == len(table.run_value) == len(table.run_depth) == 0
        assert np.array_equal(table.value, full.value)
        assert np.array_equal(table.depth, full.depth)
        table.check_shapes()
    # Solved wide, a phase may log more changes than it has runs in the end.
    table = solve(material, around(name), R, wide=wide, max_runs=3 * runs if wide else runs)
    assert digest_of(table) == right_digests(R)[name]


def test_en_passant_positions_are_never_lost() -> None:
    with pytest.raises(ValueError, match="KPvKP has en passant positions"):
        solve(Material.parse("KPvKP"), {}, R, wide=True)


def fresh_in(tables: Tablebase, board: chess.Board) -> tuple[int, int]:
    result = tables.probe(board)
    return result.value.code, known(result.depth)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "fen",
    [
        "8/8/8/pP6/8/8/8/k1K5 w - a6 0 1",
        "8/8/8/3pP3/8/8/8/k1K5 w - d6 0 1",
        "k1K5/8/8/8/5pP1/8/8/8 b - g3 0 1",
    ],
)
def test_placements_with_en_passant(fen: str, tables: Path) -> None:
    """Some states of a pawn placement, and all with an en passant right, agree with the explicit game."""
    with open_tablebase(tables) as own:
        game = solve_game(placements(fen), lambda board: fresh_in(own, board))
        rights = {key for key, position in game.positions.items() if position.right}
        assert len(rights) > 2500
        states = random.Random(fen).sample([state for state in game.values if state[0] not in rights], 30_000)
        for key, accrued in [*states, *((key, game.positions[key].score) for key in rights)]:
            position = game.positions[key]
            given = GScore.from_code(accrued) if position.rank >= 2 else None
            result = own.probe(position.board, given)
            found = result.value.code, result.depth
            assert found == game.values[key, accrued], f"{position.board.fen()} {given}"
