"""The proof of tables with described men."""

from copy import deepcopy
from pathlib import Path

import chess
import pytest

from tbgen.index.position import locate
from tbgen.index.table import Table
from tbgen.verify.proof import verify_table
from tbgen.verify.report import VerifyResult, board_at
from tests.support.exhaustive import exhaustive
from tests.support.packed_tables import plain
from tests.support.solved_tables import solved, sub_tables_of


def proof_of(table: Table) -> VerifyResult:
    below = {sub: solved(sub.name) for sub in table.material.successors()}
    return verify_table(table, sub_tables_of(table.layout, below))


@pytest.mark.parametrize("name", ["K[WD]vK", *exhaustive(["K[RD]vK", "K[BDD]vK", "K[NN]vK", "K[WHHG]vK"])])
def test_tables_are_proved_and_a_wrong_depth_is_named(name: str, described_dir: Path) -> None:
    table = plain(described_dir, name) if name == "K[WD]vK" else deepcopy(solved(name))
    result = proof_of(table)
    assert result.ok
    assert result.positions == sum(table.position_counts)
    slot = int(table.depth[1].argmax())
    board = board_at(table, (0, 1, slot))
    assert board is not None
    assert not isinstance(board, chess.Board)
    assert locate(board).slot == slot
    table.depth[1, slot] += 2
    finding = proof_of(table).findings[0]
    assert finding.fen == board.fen()
    assert name.removeprefix("K").removesuffix("vK") in finding.fen
