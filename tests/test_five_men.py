"""One table of five men from beginning to end: the one that rests on the fewest others."""

import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tbgen import open_tablebase
from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.store.format import table_path
from tbgen.tables.files import open_table
from tbgen.verify.plan import Proofs
from tests.support.native import FAST, NATIVE, compiled, differences, exported, states
from tests.support.one_ply import by_probing, one_ply
from tests.support.paths import ROOT
from tests.support.random_boards import random_board

pytestmark = pytest.mark.exhaustive

NAME = "KQQQvK"


@pytest.fixture(scope="module")
def five(tables: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    directory = tmp_path_factory.mktemp("five")
    for path in tables.glob("*vK.r.h5"):
        shutil.copy(path, directory)
    # A process of its own gives its memory back.
    run = [sys.executable, "-m", "tbgen", "build", NAME, "--memory", "12G", "--dir", directory]
    subprocess.run(run, check=True, capture_output=True)
    yield directory
    shutil.rmtree(directory)


def test_it_is_the_published_table(five: Path) -> None:
    """Of which the figures are compared with lists of others (tests/published/test_records.py)."""
    with open_table(table_path(five, NAME, Variant.R_MOBILITY)) as file:
        info = file.info
        file.check()
    assert sum(info.positions) == 21_590_981
    assert info.stores_accrued == 1
    proved = Proofs(ROOT / "docs" / "tables" / "proofs.r.txt")
    assert proved.find(Material.parse(NAME), Variant.R_MOBILITY, info.digest, None)


def test_states_follow_from_their_moves(five: Path) -> None:
    """Each state is what python-chess's moves make of it."""
    rng = random.Random(NAME)
    with open_tablebase(five) as tablebase:
        look_up = by_probing(tablebase)
        for _ in range(300):
            board = random_board(rng, Material.parse(NAME))
            for accrued in (None, GScore(rng.randrange(2, 30), rng.random() < 0.5)):
                result = tablebase.probe(board, accrued)
                assert (result.value, result.depth) == one_ply(look_up, board, accrued), board.fen()


@pytest.mark.filterwarnings("ignore:the seventh field")
def test_the_library_in_c_says_the_same(five: Path, tmp_path: Path) -> None:
    place = exported(five, tmp_path, [NAME, "KQQvK", "KQvK", "KvK"])
    program = compiled(tmp_path / "probe", NATIVE / "probe.c", FAST)
    assert differences(program, place, states("five", 20_000, [NAME])) == []
