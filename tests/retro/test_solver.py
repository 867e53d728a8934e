"""The retrograde solver against the reference solver, state by state."""

import random
from collections.abc import Iterator
from pathlib import Path

import chess
import numpy as np
import pytest

from tbgen.board.material import Material
from tbgen.board.score import NONE, GScore
from tbgen.board.variant import Variant
from tbgen.index.layout import layout_of
from tbgen.index.table import FRESH, LAST_RUN, Table
from tbgen.probe.tablebase import Tablebase, open_tablebase
from tbgen.retro import solver
from tests.support.depths import known
from tests.support.exhaustive import exhaustive
from tests.support.one_ply import by_probing, one_ply
from tests.support.reference import ReferenceTable, solve
from tests.support.reference_game import Game, king_placements, solve_game
from tests.support.solved_tables import solved, source_of
from tests.support.table_states import canonical_slots, layers_of, ranks_of, runs_of

MORE = [("KBvK", 15_815_352), ("KRvK", 17_779_712), ("KQvK", 19_408_544)]


def places(solution: ReferenceTable) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number in the reference, side to move and canonical slot of every legal position."""
    nodes = np.flatnonzero(solution.legal)
    layout = layout_of(Material.parse(solution.name))
    side, *squares = np.unravel_index(nodes, solution.shape)
    men = np.array(squares, np.int64)
    return nodes, side, canonical_slots(layout, men[: layout.free], men[layout.free :])


def check_fresh(solution: ReferenceTable, table: Table) -> None:
    """Fresh values and depths of all positions agree, and there is nothing else in the table."""
    nodes, side, slot = places(solution)
    assert np.array_equal(table.value[side, slot], solution.value[nodes])
    assert np.array_equal(table.depth[side, slot], solution.depth[nodes])
    occupied = np.zeros(table.value.shape, bool)
    occupied[side, slot] = True
    assert np.array_equal(occupied, table.value != NONE)
    assert not table.depth[~occupied].any()


def check_states(solution: ReferenceTable, table: Table) -> int:
    """Values and depths of all states agree; returns their number."""
    nodes, side, slot = places(solution)
    score = np.full_like(table.value, NONE)
    score[side, slot] = solution.score[nodes]
    total = 0
    for layer, (code, value, depth) in zip(solution.layers(), layers_of(table, score), strict=True):
        assert layer.accrued == code
        inside = layer.mask.ravel()[nodes]
        total += int(inside.sum())
        found = value[side, slot][inside], depth[side, slot][inside]
        assert np.array_equal(found[0], layer.value.ravel()[nodes[inside]]), f"value, accrued {code}"
        assert np.array_equal(found[1], layer.depth.ravel()[nodes[inside]]), f"depth, accrued {code}"
    check_runs(table, score)
    return total


def check_runs(table: Table, score: np.ndarray) -> None:
    """The runs are as few as can be, and none is for a state that the fresh value covers."""
    holder, side, slot = runs_of(table)
    rank = (table.run_rank % LAST_RUN).astype(int)
    own = score[side, slot]
    assert (own != NONE).all()
    assert (rank >= 2).all()
    assert (rank <= np.minimum(ranks_of(own), ranks_of(table.value[side, slot]))).all()
    assert (np.where(holder == 0, rank, 255 - rank) != own).all()
    is_code = np.isin(table.run_value, [NONE, FRESH])
    assert not table.run_depth[is_code].any()
    assert (table.run_depth[~is_code] > 0).all()
    first = np.append(True, table.run_rank >= LAST_RUN)[:-1]
    assert (table.run_value[first] != NONE).all()
    repeated = (table.run_value[1:] == table.run_value[:-1]) & (table.run_depth[1:] == table.run_depth[:-1])
    assert not (repeated & ~first[1:]).any()
    assert (np.diff(rank)[~first[1:]] > 0).all()


@pytest.mark.parametrize("wide", [True, False])
def test_every_state_of_kvk(wide: bool) -> None:
    check_fresh(solve("KvK"), solved("KvK", wide))
    assert check_states(solve("KvK"), solved("KvK", wide)) == 177_408


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "states", "wide"),
    [
        ("KNvK", 14_136_832, True),
        ("KPvK", 8_985_944, False),
        *exhaustive(
            [
                ("KNvK", 14_136_832, False),
                ("KPvK", 8_985_944, True),
                *((name, states, wide) for name, states in MORE for wide in (True, False)),
            ]
        ),
    ],
)
def test_every_state_of_three_men(name: str, states: int, wide: bool) -> None:
    check_fresh(solve(name), solved(name, wide))
    assert check_states(solve(name), solved(name, wide)) == states


@pytest.mark.parametrize(("name", "wide"), [("KPvK", False), ("KPvK", True), ("KBvKN", False)])
def test_threads_change_nothing(name: str, wide: bool) -> None:
    material = Material.parse(name)
    sources = {sub: source_of(solved(sub.name)) for sub in material.successors()}
    one = solver.solve(material, sources, Variant.R_MOBILITY, threads=1)
    other = solver.solve(material, sources, Variant.R_MOBILITY, threads=3, wide=wide)
    for array in ("value", "depth", "run_mask", "run_rank", "run_value", "run_depth"):
        assert np.array_equal(getattr(one, array), getattr(other, array)), array


@pytest.mark.parametrize(
    ("name", "wide"), [("KNvK", True), ("KPvK", False), *exhaustive([("KNvK", False), ("KPvK", True)])]
)
def test_tables_with_too_many_runs_have_none(name: str, wide: bool) -> None:
    """All else is as in a table that has them, wherever on the way the runs are given up."""
    material = Material.parse(name)
    sources = {sub: source_of(solved(sub.name)) for sub in material.successors()}
    full = solved(name)
    runs = len(full.run_rank)
    for most in (0, 1, runs // 3, runs - 1):
        table = solver.solve(material, sources, Variant.R_MOBILITY, wide=wide, max_runs=most)
        assert not table.stores_accrued
        assert table.run_mask.shape == (2, 2, 0)
        assert len(table.run_rank) == len(table.run_value) == len(table.run_depth) == 0
        assert np.array_equal(table.value, full.value)
        assert np.array_equal(table.depth, full.depth)
        table.check_shapes()
    # Solved wide, a phase may log more changes than it has runs in the end.
    table = solver.solve(
        material, sources, Variant.R_MOBILITY, wide=wide, max_runs=3 * runs if wide else runs
    )
    for array in ("value", "depth", "run_mask", "run_rank", "run_value", "run_depth"):
        assert np.array_equal(getattr(table, array), getattr(full, array)), array


def test_en_passant_positions_are_never_lost() -> None:
    with pytest.raises(ValueError, match="KPvKP has en passant positions"):
        solver.solve(Material.parse("KPvKP"), {}, Variant.R_MOBILITY, wide=True)


@pytest.fixture(scope="module")
def tablebase(tables: Path) -> Iterator[Tablebase]:
    """All tables of up to four men."""
    with open_tablebase(tables) as tablebase:
        yield tablebase


def en_passant_boards(turn: chess.Color) -> list[chess.Board]:
    """All boards of KPvKP on which that side may capture en passant."""
    found: list[chess.Board] = []
    for passed in range(40, 48) if turn else range(16, 24):
        victim = passed - 8 if turn else passed + 8
        for capturer in (victim - 1, victim + 1):
            if capturer // 8 == victim // 8:
                board = chess.Board(None)
                board.turn, board.ep_square = turn, passed
                board.set_piece_at(victim, chess.Piece(chess.PAWN, not turn))
                board.set_piece_at(capturer, chess.Piece(chess.PAWN, turn))
                found += king_placements(board)
    return found


@pytest.mark.parametrize("turn", chess.COLORS)
@pytest.mark.parametrize("in_check", [True, False])
def test_en_passant_follows_from_the_moves(turn: chess.Color, in_check: bool, tablebase: Tablebase) -> None:
    boards = [board for board in en_passant_boards(turn) if board.is_check() == in_check]
    assert len(boards) == (1356 if in_check else 42_430)
    for board in random.Random(turn).sample(boards, 400):
        result = tablebase.probe(board)
        assert (result.value, result.depth) == one_ply(by_probing(tablebase), board), board.fen()
        assert tablebase.probe(board, "-G1.0") == result
        swapped = tablebase.probe(board.mirror())
        assert (-swapped.value, swapped.depth) == (result.value, result.depth), board.fen()


def solve_placement(fen: str, tablebase: Tablebase) -> Game:
    """The game among all positions with the pawns of a FEN, those with its en passant right included."""

    def fresh_of(board: chess.Board) -> tuple[int, int]:
        result = tablebase.probe(board)
        return result.value.code, known(result.depth)

    boards = list(king_placements(chess.Board(fen)))
    for turn in chess.COLORS:
        plain = chess.Board(fen)
        plain.turn, plain.ep_square = turn, None
        boards += king_placements(plain)
    return solve_game(boards, fresh_of)


def check_placement(fen: str, sample: int, tablebase: Tablebase) -> None:
    """Some states of a pawn placement, and all with an en passant right, agree with the explicit game."""
    game = solve_placement(fen, tablebase)
    rights = {key for key, position in game.positions.items() if position.right}
    assert len(rights) > 2500
    states = [state for state in game.values if state[0] not in rights]
    states = random.Random(fen).sample(states, min(sample, len(states)))
    for key, accrued in [*states, *((key, game.positions[key].score) for key in rights)]:
        position = game.positions[key]
        given = GScore.from_code(accrued) if position.rank >= 2 else None
        result = tablebase.probe(position.board, given)
        expected = game.values[key, accrued]
        assert (result.value.code, result.depth) == expected, f"{position.board.fen()} {given}"


def test_a_placement_with_en_passant(tablebase: Tablebase) -> None:
    check_placement("8/8/8/pP6/8/8/8/k1K5 w - a6 0 1", 5000, tablebase)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "fen",
    [
        "8/8/8/3pP3/8/8/8/k1K5 w - d6 0 1",
        "8/8/8/6Pp/8/8/8/k1K5 w - h6 0 1",
        "k1K5/8/8/8/pP6/8/8/8 b - b3 0 1",
        "k1K5/8/8/8/5pP1/8/8/8 b - g3 0 1",
    ],
)
def test_placements_with_en_passant(fen: str, tablebase: Tablebase) -> None:
    check_placement(fen, 50_000, tablebase)
