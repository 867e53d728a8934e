"""What stands in for solving cells: answers that are given, and a memory of what was asked."""

from collections.abc import Mapping, Sequence

import chess

from tbgen.board.interval import ProvedValue, ScoreInterval
from tbgen.board.score import GScore
from tbgen.errors import UsageError
from tbgen.probe.tablebase import Tablebase
from tbgen.progress import SolveProgress, SolveStage
from tbgen.solve.budget import Budget, Stop
from tbgen.solve.budgeted import SolveProof

LOCKED = "8/4k3/5p1p/7P/4K1P1/8/8/8 w - - 22 72"
"""Six men, one too many for tables; its own score is -G8.5."""
WALL = "8/k7/3p4/p2P1p2/P2P1P2/8/8/K7 w - - 3 30"
"""Eight men; its own score is -G3.5."""
CASTLING = "4k3/pp6/8/8/8/8/PP6/4K2R w K - 4 9"


def proved(text: str, depth: int | None = None) -> ProvedValue:
    """What is proved, from both ends with a space between."""
    return ProvedValue(ScoreInterval.parse(text), depth)


class Prover:
    """Proves what it is told to, attempt after attempt, the last one ever after.

    :param answers: by the first field of the FEN; what is not there is refused.
    """

    def __init__(self, answers: Mapping[str, Sequence[ProvedValue]]) -> None:
        self._answers = {fen.split()[0]: list(found) for fen, found in answers.items()}
        self.asked: list[tuple[str, str]] = []
        self.budgets: list[Budget] = []

    def __call__(
        self,
        board: chess.Board,
        accrued: GScore,
        tables: Tablebase,
        budget: Budget,
        progress: SolveProgress,
    ) -> SolveProof:
        """Answer: more time would tell more."""
        self.asked.append((board.board_fen(), str(accrued)))
        self.budgets.append(budget)
        if board.board_fen() not in self._answers:
            raise UsageError("the position has castling rights: cells are solved without them")
        found = self._answers[board.board_fen()]
        answer = found.pop(0) if len(found) > 1 else found[0]
        progress(SolveStage(*answer.bounds, 1))
        return SolveProof(answer, None if answer.bounds.exact else Stop.TIME)
