"""Proofs of solutions find every error in their computation."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chess
import numpy as np
import pytest

from tbgen.beyond import knowledge, proof, solved_cells
from tbgen.beyond.cell_proof import WrongBoundError
from tbgen.beyond.ledger import ForwardProof
from tbgen.beyond.solver import solve
from tbgen.board.material import Material
from tbgen.board.score import NONE
from tbgen.cells.bounds import Block, Bounds, gather_block
from tbgen.cells.games import Games
from tbgen.cells.routes import Route
from tests.support.exhaustive import exhaustive
from tests.support.random_boards import random_board
from tests.support.solving import LOCKED, of_cells

FINE = "8/k7/3p4/p2P1p2/P2P1P2/8/8/K7 w - - 0 1"
BLOCKED = "4k3/8/p1p1p1p1/P1P1P1P1/8/8/8/RN2K2B w - - 0 1"


def test_frozen_men(small: Path) -> None:
    found = solve(BLOCKED, tables=small, mobile=[chess.E1, chess.E8], budget=of_cells(4), verify=True)
    assert found.proof is not None
    assert found.proof.cells == found.cells


def test_values_of_tables_are_not_proved_again(small: Path) -> None:
    found = solve("8/8/8/4KBk1/8/8/8/8 b - - 0 1", tables=small, verify=True)
    assert found.proof == ForwardProof(0, 0, 0)


def test_large_cells_are_proved_in_part(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    every = solve(LOCKED, "G4.5", tables=small, budget=of_cells(3), verify=True).proof
    monkeypatch.setattr(proof, "_MAX_FULL_SLOTS", 64)
    some = solve(LOCKED, "G4.5", tables=small, budget=of_cells(3), verify=True).proof
    assert every is not None
    assert some is not None
    assert some.sampled == some.cells == every.cells == 3
    assert every.sampled == 0
    assert every.states / 100 < some.states < every.states / 40


def once(solver: Callable[..., Bounds], number: int) -> Callable[..., Bounds]:
    """Return a solver that makes one value too good, in the result of this number among those with bounds."""
    calls = 0

    def wrong(*arguments: object) -> Bounds:
        nonlocal calls
        bounds = solver(*arguments)
        lower = bounds.value[0]
        places = np.argwhere((lower != NONE) & (lower != NONE + 1) & (lower > 1))
        if len(places) and calls == number:
            lower[tuple(places[len(places) // 2])] -= 1
        calls += bool(len(places))
        return bounds

    return wrong


@pytest.mark.parametrize("number", [0, 11, *exhaustive([5])])
def test_one_wrong_value_is_found(number: int, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Games, "solve", once(Games.solve, number))
    with pytest.raises(WrongBoundError, match="the lower bound is not proved"):
        solve(LOCKED, "G4.5", tables=small, budget=of_cells(12), verify=True)


def test_a_wrong_layer_is_found(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kings = [chess.A1, chess.A7]
    assert solve(FINE, "-G2.5", tables=small, mobile=kings, budget=of_cells(2), verify=True).cells
    monkeypatch.setattr(Games, "accrued_bounds", once(Games.accrued_bounds, 0))
    with pytest.raises(WrongBoundError, match=r"with -?G2\.5 accrued"):
        solve(FINE, "-G2.5", tables=small, mobile=kings, budget=of_cells(2), verify=True)


def test_bounds_from_the_next_moves_are_proved(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pawn promotes beside the king: the value after its capture is available."""
    wrong = 0

    def by_ply(known: knowledge.ExitBounds, route: Route, end: int) -> Block | None:
        nonlocal wrong
        block = right(known, route, end)
        if block is not None:
            places = np.flatnonzero((block.value > 2) & (block.value < 253) & (block.value // 2 != 63))
            if len(places):
                wrong += 1
                block.value[places] = block.value[places].astype(int) + (1 if end else -1)
        return block

    right = knowledge.ExitBounds._lookahead_block
    board = random_board(random.Random(7), Material.parse("KPvKP"))
    found = solve(board, tables=small, budget=of_cells(3), verify=True)
    assert found.proof is not None
    assert found.proof.cells == found.cells > 0
    monkeypatch.setattr(knowledge.ExitBounds, "_lookahead_block", by_ply)
    with pytest.raises(WrongBoundError, match="is stored but"):
        solve(board, tables=small, budget=of_cells(3), verify=True)
    assert wrong


def test_exits_that_are_read_wrongly_are_found(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bounds of exits are read from wrong places."""

    def wrong(*arguments: Any, **named: Any) -> Block:
        block = gather_block(*arguments, **named)
        return Block(np.roll(block.value, 1), np.roll(block.depth, 1))

    monkeypatch.setattr(solved_cells, "gather_block", wrong)
    with pytest.raises(WrongBoundError, match=r"used the bound .*, but the proved bounds are"):
        solve(LOCKED, "G4.5", tables=small, budget=of_cells(60), verify=True)
