"""A depth is reported only if all positions that play can reach are resolved."""

from pathlib import Path

import chess
import pytest

import tbgen
from tbgen.beyond.budget import Budget, Meter
from tbgen.beyond.knowledge import ExitBounds
from tbgen.beyond.layers import CellLayers
from tbgen.beyond.search import Search
from tbgen.beyond.solved_cells import SolvedCells
from tbgen.beyond.state_bounds import States, proved_keys
from tbgen.beyond.table_source import Tables
from tbgen.board.score import GScore
from tbgen.cells.cell import CellPosition, CellState
from tests.support.exhaustive import exhaustive

LOCKED = "8/4k3/1p1p1p1p/pPpPpPpP/P1P1P1P1/8/4K3/8 w - - 0 1"
BLOCKED = "8/8/4k3/3p4/3P4/4K3/8/8 w - - 0 1"
RACE = "8/8/8/8/3K3p/8/1P1k4/8 w - - 0 1"


def settled(fen: str, tables: Path) -> tuple[bool, bool, int | None]:
    """Return whether the cell has values everywhere, whether depths are proved, and the reported depth."""
    board = chess.Board(fen)
    root, meter = CellPosition(board, int(board.kings)), Meter(Budget(cells=1))
    with tbgen.open_tablebase(tables) as opened:
        known = ExitBounds(Tables(opened), SolvedCells())
        search = Search(known, CellState.fresh(root), meter, lambda *_: None)
        search.run()
        play = proved_keys(States(known, CellLayers(known, meter, root.cell, None)), known, root)
        assert not play or root.key in play
        return known.cells.has_values(root.cell.canonical()[0]), bool(play), search.answer().depth


def test_no_king_can_reach_what_is_open(tmp_path: Path) -> None:
    assert settled(LOCKED, tmp_path) == (False, True, 1)


def test_what_is_open_can_be_reached(small: Path, tmp_path: Path) -> None:
    assert settled(BLOCKED, tmp_path)[:2] == (False, False)
    assert settled(RACE, small)[:2] == (False, False)


@pytest.mark.parametrize("most", [100, *exhaustive([10_000])])
def test_tables_leave_nothing_open(most: int, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All values are available, however many positions have to be examined."""
    monkeypatch.setattr("tbgen.beyond.state_bounds._MAX_EXAMINED_POSITIONS", most)
    values, play, depth = settled(BLOCKED, small)
    assert (values, play) == (True, most > 100)
    assert depth is not None


def test_a_guess_takes_no_layer(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a layer would have to be made, the bound counts as the accrued score; else it is looked up."""
    monkeypatch.setattr("tbgen.beyond.state_bounds._MIN_GUESSED_SLOTS", 0)
    board = chess.Board(LOCKED)
    root, meter = CellPosition(board, int(board.kings)), Meter(Budget(cells=1))
    root = root.image(root.cell.canonical()[1])
    fresh = CellState.fresh(root)
    accrued = CellState(root, GScore.parse("G1.0").code)
    with tbgen.open_tablebase(small) as opened:
        known = ExitBounds(Tables(opened), SolvedCells())
        Search(known, CellState.fresh(root), meter, lambda *_: None).run()
        layers = CellLayers(known, meter, root.cell, None)
        guesses, states = States(known, layers, guess=True), States(known, layers)
        assert guesses.answer(fresh) == states.answer(fresh)
        assert guesses.answer(accrued).bounds == (accrued.accrued, accrued.accrued)
        assert not layers.is_made(root.cell, accrued.accrued)
        states.answer(accrued)
        assert layers.is_made(root.cell, accrued.accrued)
        assert guesses.answer(accrued) == states.answer(accrued)
