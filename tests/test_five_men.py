"""One table of five men from beginning to end: the one that rests on the fewest others."""

import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import chess
import pytest

from tbgen import open_tablebase
from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.cli.main import main
from tbgen.probe.tablebase import Tablebase
from tbgen.store.format import table_path
from tbgen.store.stored_file import StoredFile
from tbgen.verify.proofs import Proofs
from tests.support.native import FAST, NATIVE, compiled, differences, exported, states
from tests.support.one_ply import by_probing, one_ply
from tests.support.paths import ROOT

pytestmark = pytest.mark.exhaustive

NAME = "KQQQvK"
DESCRIBED = "KQQ[Q]vK"


@pytest.fixture(scope="module")
def five(tables: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    directory = tmp_path_factory.mktemp("five")
    for path in tables.glob("*vK.r.h5"):
        shutil.copy(path, directory)
    # A process of its own gives its memory back.
    run = [sys.executable, "-m", "tbgen", "build", NAME, DESCRIBED, "--memory", "12G", "--dir", directory]
    subprocess.run(run, check=True, capture_output=True)
    yield directory
    shutil.rmtree(directory)


def some_boards(tablebase: Tablebase, number: int, rng: random.Random) -> list[chess.Board]:
    """Random legal positions."""
    boards = []
    while len(boards) < number:
        board = chess.Board(None)
        men = [chess.Piece.from_symbol(symbol) for symbol in "KQQQk"]
        board.set_piece_map(dict(zip(rng.sample(range(64), 5), men, strict=True)))
        board.turn = rng.random() < 0.5
        if tablebase.get(board) is not None:
            boards.append(board)
    return boards


def test_published_figures(five: Path) -> None:
    script = ROOT / "scripts" / "check_records.py"
    run = subprocess.run([sys.executable, script, five, NAME], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "agrees" in run.stdout


def test_it_is_the_published_table(five: Path) -> None:
    """Of which the figures are compared with lists of others (tests/scripts/test_check_records.py)."""
    with StoredFile(table_path(five, NAME, Variant.R_MOBILITY)) as file:
        info = file.info
    assert sum(info.positions) == 21_590_981
    assert info.stores_accrued == 1
    proved = Proofs(ROOT / "docs" / "tables" / "proofs.r.txt")
    assert proved.of(Material.parse(NAME), Variant.R_MOBILITY, info.digest, sample=None)


@pytest.mark.exhaustive
def test_a_sample_is_proved(five: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", NAME, "--sample", "20000", "--dir", str(five)]) == 0
    assert "nothing wrong in a sample: 20,000 of 21,590,981 positions" in capsys.readouterr().out


def test_states_follow_from_their_moves(five: Path) -> None:
    """Each state is what python-chess's moves make of it."""
    rng = random.Random(NAME)
    with open_tablebase(five) as tablebase:
        look_up = by_probing(tablebase)
        for board in some_boards(tablebase, 300, rng):
            for accrued in (None, GScore(rng.randrange(2, 30), rng.random() < 0.5)):
                result = tablebase.probe(board, accrued)
                assert (result.value, result.depth) == one_ply(look_up, board, accrued), board.fen()


def test_colours_and_symmetries(five: Path) -> None:
    rng = random.Random(NAME)
    with open_tablebase(five) as tablebase:
        for board in some_boards(tablebase, 200, rng):
            expected = tablebase.probe(board)
            swapped = tablebase.probe(board.mirror())
            assert (-swapped.value, swapped.depth) == (expected.value, expected.depth)
            for turn in (chess.flip_horizontal, chess.flip_vertical, chess.flip_diagonal):
                image = tablebase.probe(board.transform(turn))
                assert (image.value, image.depth) == (expected.value, expected.depth)


def test_the_library_in_c_says_the_same(five: Path, tmp_path: Path) -> None:
    place = exported(five, tmp_path, [NAME, "KQQvK", "KQvK", "KvK"])
    program = compiled(tmp_path / "probe", NATIVE / "probe.c", FAST)
    assert differences(program, place, states("five", 20_000, [NAME])) == []


def test_a_described_queen_is_a_queen(five: Path) -> None:
    """Tables of five men with described ones have no accrued scores."""
    with StoredFile(table_path(five, DESCRIBED, Variant.R_MOBILITY)) as file:
        assert (file.info.form, file.info.stores_accrued) == ("plain", False)
    with open_tablebase(five) as tablebase:
        for board in some_boards(tablebase, 1000, random.Random(DESCRIBED)):
            expected, described = tablebase.probe(board), tablebase.probe(board.fen().replace("Q", "[Q]", 1))
            assert (described.value, described.depth) == (expected.value, expected.depth), board.fen()
            assert described.material.name == DESCRIBED
