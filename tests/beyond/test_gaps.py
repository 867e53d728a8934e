"""The gaps that keep the bounds apart consist of real moves, and state what closing them needs."""

from pathlib import Path

import chess
import pytest

import tbgen
from tbgen.beyond.budget import Budget, memory_needed
from tbgen.beyond.gaps import Need
from tbgen.beyond.solution import Solution

PAWNS = "8/8/8/1p1k4/8/4K1P1/8/8 w - - 0 1"
LOCKED = "8/4k3/1p1p1p1p/pPpPpPpP/P1P1P1P1/8/4K3/8 w - - 0 1"
ROOK = "4k3/p2p2p1/P2P2P1/8/8/8/8/R3K3 w - - 0 1"


def solved(
    fen: str, tables: Path, memory: int = 8 << 30, cells: int | None = 1, **options: object
) -> Solution:
    budget = Budget(memory=memory, cells=cells)
    return tbgen.solve(fen, tables=tables, budget=budget, **options)  # type: ignore[arg-type]


def test_what_is_not_solved_yet(tmp_path: Path) -> None:
    """With one cell solved, both pawns can still move; everything below would take more cells."""
    solution = solved(PAWNS, tmp_path)
    assert solution.value is None
    told = {(gap.side, gap.man, gap.deed): gap for gap in solution.gaps}
    for side, man in ((chess.WHITE, "g-pawn"), (chess.BLACK, "b-pawn")):
        gap = told[side, man, "moves on"]
        assert (gap.need, gap.mobile) == (Need.TIME, 2)
        assert 0 < gap.positions <= 150
    assert all(gap.positions > 0 for gap in solution.gaps)
    assert [gap.positions for gap in solution.gaps] == sorted(
        (gap.positions for gap in solution.gaps), reverse=True
    )
    narrowing = solution.narrowing
    assert narrowing is not None
    assert narrowing.cells > 6
    assert narrowing.seconds > 0
    assert narrowing.memory >= memory_needed(64**2)


def test_what_takes_more_memory(tmp_path: Path) -> None:
    """Cells with three mobile men take too much memory; play is followed through other cells to them."""
    memory, fen = memory_needed(64**3) - 1, "8/8/P7/8/8/1k6/8/K7 w - - 0 1"
    (before,) = solved(fen, tmp_path, memory).gaps
    assert (before.deed, before.need, before.mobile) == ("moves on", Need.TIME, 2)
    (gap,) = solved(fen, tmp_path, memory, None).gaps
    assert (gap.side, gap.man, gap.deed) == (chess.WHITE, "a-pawn", "promotes")
    assert (gap.need, gap.mobile, gap.memory) == (Need.MEMORY, 3, memory + 1)


def test_frozen_men_have_to_be_mobile(tmp_path: Path) -> None:
    """The white rook may leave a1; no bounds are available after that."""
    solution = solved(ROOK, tmp_path, mobile=[chess.E1, chess.E8])
    (gap,) = (gap for gap in solution.gaps if gap.man == "rook")
    assert (gap.deed, gap.need, gap.mobile) == ("leaves a1", Need.MEN, 3)
    assert solution.narrowing is None


@pytest.mark.parametrize(("fen", "lengths"), [(LOCKED, (1, 1)), ("8/8/P7/8/8/1k6/8/K7 w - - 0 1", (None, 0))])
def test_a_plan_is_how_a_line_begins(fen: str, lengths: tuple[int | None, int], tmp_path: Path) -> None:
    """It ends before a layer would have to be made, and it is empty for a bound that is not proved."""
    solution = solved(fen, tmp_path, line=True)
    lines = solution.lines or (solution.line, solution.line)
    for plan, line, length in zip(solution.plans, lines, lengths, strict=True):
        assert line is not None
        assert len(plan) == length or (length is None and 1 <= len(plan) <= 12)
        assert [(ply.move, ply.san, ply.accrued) for ply in plan] == [
            (ply.move, ply.san, ply.accrued) for ply in line[: len(plan)]
        ]
