"""Syzygy files bound what is solved; ``tests/data/syzygy`` has those of three men, made by rtbgen."""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import chess
import numpy as np
import pytest

import tbgen
from tbgen.cells.bounds import ENDS, LOWER, UPPER, WORST
from tbgen.cells.cell import Cell, mobile_squares
from tbgen.cells.frames import frame_of_cell
from tbgen.cells.routes import routes_of
from tbgen.errors import DamagedTableError, TbgenError, UsageError
from tbgen.material import Material
from tbgen.score import NONE
from tbgen.solve.budget import Budget
from tbgen.solve.solver import solve
from tbgen.solve.syzygy import Syzygy
from tests.support.random_boards import en_passant_board, random_board

pytestmark = pytest.mark.usefixtures("compiled")
FILES = Path(__file__).parent.parent / "data" / "syzygy"


@pytest.fixture
def syzygy() -> Iterator[Syzygy]:
    with Syzygy(FILES) as opened:
        yield opened


def budget(cells: int) -> Budget:
    return Budget(seconds=3600.0, memory=2 << 30, cells=cells)


def boards(name: str, count: int) -> list[chess.Board]:
    rng = random.Random(name)
    return [random_board(rng, Material.parse(name)) for _ in range(count)]


@pytest.mark.parametrize("name", ["KQvK", "KRvK", "KBvK", "KNvK", "KPvK"])
def test_who_forces_mate_in_tables(name: str, tables: Path, syzygy: Syzygy) -> None:
    with tbgen.open_tablebase(tables) as known:
        for board in boards(name, 200):
            value = known.probe(board, tbgen.FRESH).value
            said = syzygy.worth(board)
            assert said is not None
            assert said.lower >= value.code >= said.upper
            assert said.exact == (value.rank == 0)


def test_they_narrow_and_never_lie(tables: Path, tmp_path: Path, syzygy: Syzygy) -> None:
    """Of positions of four men without any tables."""
    narrowed = 0
    some = [*boards("KPvKP", 6), *boards("KRvKP", 3), *boards("KPPvK", 3), *boards("KQvKP", 3)]
    some += [en_passant_board(random.Random(8)) for _ in range(3)]
    with tbgen.open_tablebase(tables) as known:
        for board in some:
            plain, found = (
                solve(board, tables=tmp_path, syzygy=each, budget=budget(6)) for each in (None, syzygy)
            )
            result = known.probe(board)
            assert plain.lower <= found.lower <= result.value <= found.upper <= plain.upper, board.fen()
            assert found.depth is None or found.depth == result.depth
            narrowed += (plain.lower, plain.upper) != (found.lower, found.upper)
            moves = {move.uci: move.value for move in known.moves(board)}
            assert all(move.lower <= moves[move.uci] <= move.upper for move in found.moves)
    assert narrowed > 5


def test_a_win_takes_no_cell(tmp_path: Path, syzygy: Syzygy) -> None:
    found = solve("8/8/8/3k4/8/8/8/KQ6 b - - 0 1", tables=tmp_path, syzygy=syzygy, line=True)
    assert (str(found.value), found.depth, found.cells, found.line) == ("G0.0", None, 0, ())
    assert all(str(move.lower) == "G0.0" for move in found.moves)


def test_a_draw_is_between_the_stalemates(tmp_path: Path, syzygy: Syzygy) -> None:
    found = solve("8/8/8/4k3/8/4K3/4P3/8 w - - 0 1", tables=tmp_path, syzygy=syzygy, budget=budget(0))
    assert (str(found.lower), str(found.upper)) == ("-G0.5", "G0.5")


def test_proof_goes_on_from_them(tmp_path: Path, syzygy: Syzygy) -> None:
    found = solve(
        "4k3/3p4/8/4P3/8/8/8/4K3 b - - 0 1", tables=tmp_path, syzygy=syzygy, budget=budget(6), verify=True
    )
    assert str(found.value) == "-G0.0"
    assert found.proof is not None
    assert found.proof.states > 1000


def test_blocks_say_what_positions_do(syzygy: Syzygy, monkeypatch: pytest.MonkeyPatch) -> None:
    board = chess.Board("8/2k5/8/8/8/8/2p5/1R3K2 w - - 0 1")
    frame = frame_of_cell(Cell.of_board(board, mobile_squares(board)))
    routes = [route for route in routes_of(frame) if not route.quiet and syzygy.knows(route.destination)]
    assert routes
    for route in routes:
        lower, upper = (syzygy.block(route, end) for end in (LOWER, UPPER))
        assert lower is not None
        assert upper is not None
        there = lower.value != NONE
        assert np.array_equal(there, upper.value != NONE)
        assert (lower.value >= upper.value)[there].all()
    # Where a file is missing there are positions all the same.
    monkeypatch.setattr(syzygy, "_found", {})
    monkeypatch.setattr(syzygy._files, "get_wdl", lambda board: None)
    for end in ENDS:
        block = syzygy.block(routes[0], end)
        assert block is not None
        assert set(block.value.tolist()) == {int(WORST[end]), int(NONE)}


def test_no_files(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no directory: give the one that Syzygy files"):
        Syzygy(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="has no Syzygy files"):
        Syzygy(tmp_path)


@pytest.mark.parametrize("length", [0, 3, 5, 60, 150])
def test_a_damaged_file(length: int, tmp_path: Path) -> None:
    """python-chess notices what it notices; whatever it is, there is one sentence."""
    shutil.copytree(FILES, tmp_path / "files")
    path = tmp_path / "files" / "KRvK.rtbw"
    path.write_bytes(path.read_bytes()[:length])
    with Syzygy(tmp_path / "files") as damaged, pytest.raises(DamagedTableError, match="published checksums"):
        damaged.worth(chess.Board("8/8/8/3k4/8/8/8/KR6 b - - 0 1"))


def test_a_directory_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("chess.syzygy.open_tablebase", denied)
    with pytest.raises(TbgenError, match=r"cannot read the directory .*: Permission denied"):
        Syzygy(tmp_path)
