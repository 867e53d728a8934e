"""Best play of both sides until the goal is reached."""

from dataclasses import dataclass

import chess

from tbgen.errors import DamagedTableError
from tbgen.probe.moves import successors
from tbgen.probe.states import Goal, State
from tbgen.probe.values import Values
from tbgen.score import GScore
from tbgen.signed import to_gscore


@dataclass(frozen=True, slots=True)
class LinePly:
    """One move of a line."""

    move: chess.Move
    san: str
    accrued: GScore
    """The accrued score after the move."""
    depth: int
    """Plies that are left to the goal after the move."""

    @property
    def uci(self) -> str:
        """The move in UCI notation."""
        return self.move.uci()


def best_line(values: Values, board: chess.Board, state: State) -> list[LinePly]:
    """Return the line of a valid board in a state.

    It has as many plies as the depth, and ends with an accrued score that is the value.

    :raises DamagedTableError: if the tables contradict each other on the way.
    """
    accrued, (value, depth) = state.accrued, values.of(state)
    board = board.copy(stack=False)
    line = []
    while depth:
        best = successors(values, board, accrued)[0]
        if best.goal != Goal(value, depth - 1):
            places = " and ".join(map(str, values.directories))
            raise DamagedTableError(
                f"the tables in {places} contradict each other; find which with: tbgen verify"
            )
        san = board.san_and_push(best.reached.move)
        accrued, depth = best.reached.state.accrued, best.goal.depth
        line.append(LinePly(best.reached.move, san, to_gscore(accrued), depth))
    return line
