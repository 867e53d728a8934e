"""The proof of tables with described men."""

from functools import cache

import chess
import pytest

from tbgen.board.material import Material
from tbgen.board.score import NONE
from tbgen.index.position import locate
from tbgen.index.table import Table
from tbgen.verify.proof import verify_table
from tbgen.verify.report import VerifyResult, board_at
from tests.support.exhaustive import exhaustive
from tests.support.solved_tables import solved, sub_tables_of


@cache
def tables_below(name: str) -> dict[Material, Table]:
    return {sub: solved(sub.name) for sub in Material.parse(name).successors()}


def proof_of(table: Table) -> VerifyResult:
    subs = sub_tables_of(table.layout, tables_below(table.material.name))
    return verify_table(table, subs)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["K[RD]vK", *exhaustive(["K[WD]vK", "K[BDD]vK", "K[NN]vK", "K[WHHG]vK"])])
def test_tables_are_proved(name: str) -> None:
    result = proof_of(solved(name))
    assert result.ok
    assert result.positions == sum(solved(name).positions)


@pytest.mark.slow
def test_a_wrong_value_is_found_and_named() -> None:
    table = solved("K[WD]vK")
    slot = int((table.depth[1] * (table.value[1] == 0)).argmax())
    board = board_at(table, (0, 1, slot))
    assert board is not None
    assert not isinstance(board, chess.Board)
    assert locate(board).slot == slot
    depth = table.depth[1, slot]
    table.depth[1, slot] += 2
    try:
        result = proof_of(table)
    finally:
        table.depth[1, slot] = depth
    assert not result.ok
    assert result.findings[0].fen == board.fen()
    assert "[WD]" in board.fen()
    assert table.value[1, slot] != NONE
