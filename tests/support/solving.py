"""A substitute for solving cells: it returns prepared answers and records requests."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import chess

from tbgen.beyond.budget import Budget, SolvingInterruptedError, Stop
from tbgen.beyond.provers import CellProver, SolveProof
from tbgen.beyond.solution import Solution
from tbgen.board.score import GScore
from tbgen.board.scoring import ProvedBounds, ScoreInterval
from tbgen.errors import UsageError
from tbgen.probe.tablebase import Tablebase
from tbgen.progress import SolveProgress, SolveStage

LOCKED = "8/4k3/5p1p/7P/4K1P1/8/8/8 w - - 22 72"
"""Six men, one too many for tables; the position score is -G8.5."""
WALL = "8/k7/3p4/p2P1p2/P2P1P2/8/8/K7 w - - 3 30"
"""Eight men; the position score is -G3.5."""
FEW = "8/8/4k3/4p3/4P3/4K3/8/8 w - - 3 40"
"""Four men, whose solution depends on few cells."""
PIECES = "8/4k3/4r2p/8/8/4R1KP/8/8 w - - 3 40"
"""Six men, four of them mobile."""
CASTLING = "4k3/pp6/8/8/8/8/PP6/4K2R w K - 4 9"


def of_cells(cells: int) -> Budget:
    """A budget of so many cells, with no more than three mobile men, and without an end of time."""
    return Budget(memory=2 << 30, cells=cells)


def proved(text: str, depth: int | None = None) -> ProvedBounds:
    """Return a proved interval from its text: both bounds, separated by a space."""
    return ProvedBounds(ScoreInterval.parse(text), depth)


class StubProver(CellProver):
    """A prover that needs no kernels.

    :param prove: proves instead of its method.
    """

    def __init__(self, prove: Callable[..., SolveProof]) -> None:
        super().__init__()
        self._prove = prove

    def prepare(self, board: chess.Board, tables: Tablebase) -> None:
        """Compile nothing."""

    def prove(self, *given: Any) -> SolveProof:
        """Answer."""
        return self._prove(*given)


class Prover(StubProver):
    """Proves what it is told to, attempt after attempt, the last one ever after.

    :param answers: by the first field of the FEN; what is not there is refused.
    """

    def __init__(self, answers: Mapping[str, Sequence[ProvedBounds]]) -> None:
        super().__init__(self._answer)
        self._answers = {fen.split()[0]: list(found) for fen, found in answers.items()}
        self.asked: list[tuple[str, str]] = []
        self.budgets: list[Budget] = []

    def _answer(
        self, board: chess.Board, accrued: GScore, tables: Tablebase, budget: Budget, progress: SolveProgress
    ) -> SolveProof:
        """More time would tell more."""
        self.asked.append((board.board_fen(), str(accrued)))
        self.budgets.append(budget)
        if board.board_fen() not in self._answers:
            raise UsageError("the position has castling rights: cells are solved without them")
        found = self._answers[board.board_fen()]
        answer = found.pop(0) if len(found) > 1 else found[0]
        progress(SolveStage(*answer.bounds, 1))
        return SolveProof(answer, None if answer.bounds.exact else Stop.TIME)


class Cells:
    """Stands in for :func:`tbgen.beyond.solver.solve`."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.budgets: list[Budget] = []
        self.interrupted_after = 10**9
        self.answers = {LOCKED: ("G5.0", "G4.0", None), WALL: ("-G3.5", "-G3.5", 4)}
        """Both ends and the depth, by FEN; what is not there is refused."""

    def __call__(
        self, board: chess.Board, accrued: GScore, *, budget: Budget, progress: object, **_: object
    ) -> Solution:
        """Answer."""
        if len(self.asked) == self.interrupted_after:
            left = Solution(accrued, accrued, GScore("G5.0"), GScore("G1.0"), None, (), 1, Stop.INTERRUPT)
            raise SolvingInterruptedError(left, KeyboardInterrupt())
        self.asked.append(f"{board.board_fen()} {accrued}")
        self.budgets.append(budget)
        for fen, (lower, upper, depth) in self.answers.items():
            if fen.split()[0] == board.board_fen():
                return Solution(accrued, accrued, GScore(lower), GScore(upper), depth, (), 1)
        raise UsageError("the position has castling rights: cells are solved without them")
