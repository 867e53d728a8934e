"""The solver on games in which the positions after a reset have made-up values.

Real tables leave many corners of the layers empty; random exits fill them. Every value and depth must follow
from the moves of python-chess: these conditions have one solution only. A pawn placement of five men shows
that en passant positions with pieces on the board are right, pins and all, long before there are such tables.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache

import chess
import numpy as np
import pytest

from tbgen.board.material import Material
from tbgen.board.score import NONE, GScore
from tbgen.board.variant import Variant
from tbgen.errors import LimitError
from tbgen.index import zeroing
from tbgen.index.layout import IMAGE, MIRROR_FILES, Layout, layout_of
from tbgen.index.table import Table
from tbgen.moves import pool as pools
from tbgen.moves import targets
from tbgen.moves.frames import make_phase, mirrors_itself, place_pawns
from tbgen.retro import ranks
from tbgen.retro.kernels.phase import RUNS, empty_record
from tbgen.retro.kernels.sweep import MAX_DEPTH, SweepResults
from tbgen.retro.ranks import EpConfig, PhaseSolver, find_moves
from tbgen.retro.solver import runs_of, solve
from tbgen.retro.workspace import make_function_numbers, make_workspace
from tests.support.exhaustive import exhaustive, sample
from tests.support.made_up_tables import Fresh, as_sources, made_up
from tests.support.one_ply import folded, one_ply
from tests.support.slots import board_at
from tests.support.table_states import States

TYPES = (chess.KING, chess.QUEEN, chess.ROOK, chess.BISHOP, chess.KNIGHT)


class Game:
    """The states of a solved phase or table, and made-up positions all around."""

    def __init__(
        self,
        layouts: Callable[[Material], Layout],
        around: Mapping[Material, Fresh],
        table: Table,
        start: int = 0,
    ) -> None:
        self.layouts, self.around, self.table, self.start = layouts, around, table, start
        self.states = States(table)

    def board(self, side: int, slot: int) -> chess.Board | None:
        """The board of a slot, None if there is no position."""
        if self.table.value[side, slot] == NONE:
            return None
        layout = self.layouts(self.table.material)
        return board_at(layout, side, self.start + slot)

    def look_up(self, board: chess.Board, accrued: GScore | None) -> tuple[GScore, int]:
        """Value and depth of a board, solved or made up."""
        material, swapped = Material.of_board(board)
        found = board.mirror() if swapped else board
        held = folded(found, -accrued if swapped and accrued else accrued)
        code, depth = self._look_up(material, found, held)
        value = GScore.from_code(code)
        return (-value if swapped else value), depth

    def _look_up(self, material: Material, board: chess.Board, held: GScore) -> tuple[int, int]:
        layout, side = self.layouts(material), 0 if board.turn else 1
        own = GScore.of_board(board)
        free: list[int] = []
        for kind, colour in dict.fromkeys(zip(layout.kinds, layout.colours, strict=True)):
            free += board.pieces(TYPES[kind], colour == 0)
        slot = layout.slot(free, [*board.pieces(chess.PAWN, True), *board.pieces(chess.PAWN, False)])
        inside = slot - self.start
        if material != self.table.material or not 0 <= inside < self.table.value.shape[1]:
            value, depth = self.around[material]
            return int(value[side, slot]), int(depth[side, slot])
        if board.has_legal_en_passant():
            configs = self.table.ep_config.tolist()
            phase = slot // layout.phase_size
            square = board.ep_square or 0
            row = configs.index([phase, square if [phase, square] in configs else square ^ 7])
            at = slot % layout.phase_size
            return int(self.table.ep_value[row, at]), int(self.table.ep_depth[row, at])
        return self.states.look_up(side, inside, own.code, held.code)


def check_states(game: Game, boards: list[chess.Board], rng: random.Random, accrued_scores: int = 6) -> int:
    """Fresh and accrued states of some boards follow from their moves; returns how many have a depth."""
    deep = 0
    for board in boards:
        own = GScore.of_board(board)
        accrued = [
            GScore(rng.randrange(2, own.rank + 1), rng.random() < 0.5)
            for _ in range(accrued_scores * (own.rank > 1))
        ]
        for given in [None, *accrued]:
            found = game.look_up(board, given)
            assert found == one_ply(game.look_up, board, given), f"{board.fen()} {given}"
            deep += found[1] > 0
    return deep


def some_boards(game: Game, number: int, rng: random.Random) -> list[chess.Board]:
    size = game.table.value.shape[1]
    boards: list[chess.Board] = []
    while len(boards) < number:
        board = game.board(rng.randrange(2), rng.randrange(size))
        if board is not None:
            boards.append(board)
    return boards


@pytest.mark.parametrize(
    ("name", "wide", "deepest"),
    [
        *[("KNvK", True, 50_000), ("KQvK", False, 60), ("KPvK", True, 60), ("KPvK", False, 50_000)],
        *exhaustive([("KNvK", False, 50_000), ("KNvK", True, 60), ("KQvK", True, 60), ("KBvKN", True, 60)]),
        *exhaustive([("KNNvK", True, 60), ("KNvKP", False, 60)]),
    ],
)
def test_a_table_with_made_up_sub_tables(name: str, wide: bool, deepest: int) -> None:
    """Depths add up across resets: nothing saturates or wraps."""
    material = Material.parse(name)
    rng = random.Random(name)
    subs = sorted(material.successors())
    around = {sub: made_up(layout_of(sub), number, deepest) for number, sub in enumerate(subs)}
    game = Game(layout_of, around, solve(material, as_sources(around), Variant.R_MOBILITY, wide=wide))
    assert game.table.max_depth > deepest - 1000
    boards = sample(60, 300)
    assert check_states(game, some_boards(game, boards, rng), rng) > boards


@pytest.mark.parametrize("wide", [True, False])
def test_depths_without_room_are_refused(wide: bool) -> None:
    material = Material.parse("KNvK")
    sub = Material.parse("KvK")
    value, depth = made_up(layout_of(sub), 5)
    depth[:] = MAX_DEPTH
    with pytest.raises(LimitError, match="KNvK: depths beyond 65000 plies"):
        solve(
            material,
            {sub: Table(sub, Variant.R_MOBILITY, value, depth)},
            Variant.R_MOBILITY,
            wide=wide,
        )


def test_more_nodes_than_four_bytes_can_number_are_refused() -> None:
    with pytest.raises(LimitError, match="the phase has 8589934592 nodes"):
        make_phase(1 << 26, True)


# One phase, of five men too


def near(white: str, black: str) -> Callable[[Material], Layout]:
    """Layouts with no other pawn placements than those on some squares: a world small enough for five men."""
    allowed = [{chess.parse_square(square) for square in side.split()} for side in (white, black)]
    # The last pawn may be found with its colours swapped.
    swapped = [side | {square ^ 56 for square in other} for side, other in (allowed, allowed[::-1])]

    @cache
    def small(material: Material) -> Layout:
        layout = layout_of(material)
        if not layout.pawns:
            return layout
        whites, blacks = allowed if layout.pawns > 1 else swapped
        kept = []
        for placement in layout.placements:
            for image in (IMAGE[0], IMAGE[MIRROR_FILES]):
                squares = {image[square] for square in placement[: layout.white_pawns]}
                others = {image[square] for square in placement[layout.white_pawns :]}
                if squares <= whites and others <= blacks:
                    kept.append(placement)
                    break
        return replace(
            layout, placements=tuple(kept), phase_by_placement={p: row for row, p in enumerate(kept)}
        )

    return small


@pytest.fixture(params=["KRPvKP", *exhaustive(["KPvKP", "KNPvKP", "KBPvKP"])])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("turn", chess.COLORS)
def test_a_placement_with_en_passant(name: str, turn: chess.Color, monkeypatch: pytest.MonkeyPatch) -> None:
    material = Material.parse(name)
    rng = random.Random(f"{name} {turn}")
    layouts = near("e5 e6 d6", "d5 d4 c4 e4") if turn else near("e4 e5", "d4 d3 c3 e3")
    layout = layouts(material)
    # No pawn of this placement can promote, and the tables it would lead to are large.
    moves = zeroing._move_keys
    monkeypatch.setattr(zeroing, "_move_keys", lambda layout: [move for move in moves(layout) if not move[2]])
    for module in (pools, targets, zeroing):
        monkeypatch.setattr(module, "layout_of", layouts)
    around = {
        sub: made_up(layouts(sub), number)
        for number, sub in enumerate(sorted({material, *material.captures()}))
    }
    loader = pools.PoolLoader(layout, as_sources(around))
    pool = loader.pool
    pool.value[: 2 * layout.size] = around[material][0].reshape(-1)
    pool.depth[: 2 * layout.size] = around[material][1].reshape(-1)
    configs = zeroing.en_passant_configs(layout)
    ((phase, square),) = configs.tolist()
    workspace = make_workspace(layout, Variant.R_MOBILITY)
    place_pawns(workspace.frame, layout, phase)
    find_moves(workspace, pool, mirrors_itself(layout, phase))
    size = layout.phase_size
    starts = np.array([phase * size, layout.size + phase * size])
    none = make_function_numbers(0)
    solver = PhaseSolver(workspace, pool, [empty_record(0, size // 64, RUNS, none, 0)])
    with monkeypatch.context() as low:
        low.setattr(ranks, "MAX_CODED_RANK", 9)
        with pytest.raises(LimitError, match="as of an en passant position"):
            next(solver.solve_ranks([EpConfig(0, square)]))
    for _ in solver.solve_ranks([EpConfig(0, square)]):
        pass
    loader.store(phase, *workspace.fresh)
    solved = SweepResults(pool.value, pool.depth, pool.targets.start[phase].copy())
    both = [runs_of(log, workspace.frame.words, solved) for log in reversed(solver.records[0].logs)]

    def fresh(array: np.ndarray) -> np.ndarray:
        return np.array([array[start : start + size] for start in starts])

    legal = np.unpackbits(workspace.phase.legal.view(np.uint8), axis=-1, bitorder="little").astype(bool)
    at = pool.targets.ep_offset
    table = Table(
        material,
        Variant.R_MOBILITY,
        np.where(legal, fresh(pool.value), NONE).astype(np.uint8),
        fresh(pool.depth),
        np.array([runs.mask for runs in both]),
        np.concatenate([runs.rank for runs in both]),
        np.concatenate([runs.value for runs in both]),
        np.concatenate([runs.depth for runs in both]),
        configs,
        pool.value[None, at : at + size],
        pool.depth[None, at : at + size],
    )
    game = Game(layouts, around, table, phase * size)
    assert check_states(game, some_boards(game, 40, rng), rng) > 40
    has_right = table.ep_value[0] != NONE
    illegal = 0
    for slot in rng.sample(range(size), sample(800, 4000)):
        board = game.board(0 if turn else 1, slot)
        if board is None:
            assert not has_right[slot]
            continue
        board.ep_square = square
        vacant = chess.BB_SQUARES[square] | chess.BB_SQUARES[square + 8 if turn else square - 8]
        possible = not board.occupied & vacant
        assert has_right[slot] == (possible and board.has_legal_en_passant()), board.fen()
        illegal += possible and not has_right[slot]
    assert (illegal > 3) == (not turn and name != "KPvKP")
    boards = []
    for slot in rng.sample(np.flatnonzero(has_right).tolist(), sample(100, 400)):
        board = game.board(0 if turn else 1, slot)
        assert board is not None
        board.ep_square = square
        boards.append(board)
    assert any(board.is_check() for board in boards)
    check_states(game, boards, rng, 0)
