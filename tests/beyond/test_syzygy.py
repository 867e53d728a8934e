"""Syzygy files as an exit source; ``tests/data/syzygy`` has those of three men, made by rtbgen."""

import random
from pathlib import Path

import chess
import pytest

import tbgen
from tbgen.beyond.exit_sources import SyzygyExits
from tbgen.beyond.knowledge import ExitBounds
from tbgen.beyond.solved_cells import SolvedCells
from tbgen.beyond.solver import solve
from tbgen.beyond.table_source import Tables
from tbgen.board.material import Material
from tbgen.board.score import NONE
from tbgen.cells.bounds import ENDS, LOWER, UPPER, WORST, side_after
from tbgen.cells.cell import Cell, CellPosition, mobile_squares
from tbgen.cells.frames import frame_of_cell
from tbgen.cells.routes import routes_of
from tbgen.probe.syzygy import Syzygy
from tests.support.exhaustive import exhaustive, sample
from tests.support.exit_contract import check_source
from tests.support.random_boards import en_passant_board, random_board
from tests.support.solving import of_cells

pytestmark = pytest.mark.usefixtures("compiled")
BOARDS = ["8/2k5/8/8/8/8/2p5/5K2 w - - 0 1", *exhaustive(["8/2k5/8/8/8/8/2p5/1R3K2 w - - 0 1"])]


@pytest.fixture
def exits(syzygy: Syzygy) -> SyzygyExits:
    return SyzygyExits(syzygy)


def boards(name: str, count: int) -> list[chess.Board]:
    rng = random.Random(name)
    return [random_board(rng, Material.parse(name)) for _ in range(count)]


def test_they_narrow_intervals_and_are_never_wrong(tables: Path, tmp_path: Path, syzygy: Syzygy) -> None:
    """In positions of four men, without any tables."""
    narrowed, rng = 0, random.Random(8)
    some = [*boards("KPvKP", sample(1, 6)), *boards("KRvKP", sample(1, 3))]
    some += [*boards("KQvKP", sample(0, 3)), *boards("KPPvK", sample(0, 3))]
    some += [en_passant_board(rng) for _ in range(sample(1, 3))]
    with tbgen.open_tablebase(tables) as known:
        for board in some:
            plain, found = (
                solve(board, tables=tmp_path, syzygy=each, budget=of_cells(sample(2, 6)))
                for each in (None, syzygy)
            )
            result = known.probe(board)
            assert plain.lower <= found.lower <= result.value <= found.upper <= plain.upper, board.fen()
            assert found.depth is None or found.depth == result.depth
            narrowed += (plain.lower, plain.upper) != (found.lower, found.upper)
            moves = {move.uci: move.value for move in known.moves(board)}
            assert all(move.lower <= moves[move.uci] <= move.upper for move in found.moves)
    assert narrowed > sample(0, 5)


def test_a_win_takes_no_cell(tmp_path: Path, syzygy: Syzygy) -> None:
    found = solve("8/8/8/3k4/8/8/8/KQ6 b - - 0 1", tables=tmp_path, syzygy=syzygy, line=True)
    assert (str(found.value), found.depth, found.cells, found.line) == ("G0.0", None, 0, ())
    assert all(str(move.lower) == "G0.0" for move in found.moves)


def test_a_draw_is_between_the_stalemates(tmp_path: Path, syzygy: Syzygy) -> None:
    found = solve("8/8/8/4k3/8/4K3/4P3/8 w - - 0 1", tables=tmp_path, syzygy=syzygy, budget=of_cells(0))
    assert (str(found.lower), str(found.upper)) == ("-G0.5", "G0.5")


def test_proofs_use_them_as_premises(tmp_path: Path, syzygy: Syzygy) -> None:
    found = solve(
        "4k3/3p4/8/4P3/8/8/8/4K3 b - - 0 1", tables=tmp_path, syzygy=syzygy, budget=of_cells(6), verify=True
    )
    assert str(found.value) == "-G0.0"
    assert found.proof is not None
    assert found.proof.states > 1000


@pytest.mark.parametrize("fen", BOARDS)
def test_blocks_agree_with_single_positions(
    fen: str,
    tables: Path,
    tmp_path: Path,
    syzygy: Syzygy,
    exits: SyzygyExits,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    board = chess.Board(fen)
    frame = frame_of_cell(Cell.of_board(board, mobile_squares(board)))
    routes = [route for route in routes_of(frame) if not route.is_quiet and exits.knows(route)]
    assert routes
    with tbgen.open_tablebase(tables) as truth:
        assert min(check_source(exits, routes, 97, truth)) > 25
    for route in routes:
        lower, upper = (exits.block(route, end) for end in (LOWER, UPPER))
        # At both ends the depth of a mate claims least, whoever mates.
        assert ((lower.depth > upper.depth) == (lower.value == 0)).all()
        assert ((lower.depth < upper.depth) == (upper.value == 255)).all()
    # Where a file is missing, positions still have the worst bounds.
    exits._winners.clear()
    monkeypatch.setattr(syzygy._files, "get_wdl", lambda board: None)
    white, black = routes[0].destination.side_letters()
    with tbgen.open_tablebase(tmp_path) as nothing:
        known = ExitBounds(Tables(nothing), SolvedCells(), exits)
        for end, bound in ((LOWER, 254 if black == "K" else 255), (UPPER, 1 if white == "K" else 0)):
            assert set(exits.block(routes[0], end).value.tolist()) == {WORST[end], int(NONE)}
            block = known.stored_block(routes[0], end)
            assert block is not None
            assert set(block.value.tolist()) - {int(NONE)} == {bound}


def test_positions_are_looked_up_with_their_en_passant_right(
    syzygy: Syzygy, exits: SyzygyExits, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = chess.Board("4k3/8/8/8/3p4/8/2P5/4K3 w - - 0 1")
    frame = frame_of_cell(Cell.of_board(board, mobile_squares(board)))
    (route,) = (route for route in routes_of(frame) if route.ep_square is not None)
    asked: list[chess.Square | None] = []
    monkeypatch.setattr(syzygy._files, "get_wdl", lambda board: asked.append(board.ep_square))
    exits.block(route, LOWER)
    assert set(asked) == {chess.C3}


@pytest.mark.parametrize("fen", BOARDS)
def test_single_positions_have_no_better_bounds_than_blocks(
    fen: str, tmp_path: Path, exits: SyzygyExits
) -> None:
    """Else a search would treat states as exact that its games do not."""
    board = chess.Board(fen)
    with tbgen.open_tablebase(tmp_path) as tables:
        known = ExitBounds(Tables(tables), SolvedCells(), exits)
        for route in routes_of(frame_of_cell(Cell.of_board(board, mobile_squares(board)))):
            if route.is_quiet:
                continue
            blocks = [known.block(route, end) for end in ENDS]
            for slot in range(0, route.subcell.size, sample(97, 997)):
                after = route.subcell.board_of(side_after(route), slot)
                if after is None or not after.is_valid() or after.is_game_over():
                    continue
                view = CellPosition(after, int(after.occupied & ~route.destination.standing_mask))
                worth = known.fresh_bounds(view)
                for end, block in zip(ENDS, blocks, strict=True):
                    said = known.bound(route, end) if block is None else int(block.value[slot])
                    assert said == worth[end], after.fen()
