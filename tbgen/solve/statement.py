"""What is proved, and what keeps it from being more, in plain words."""

import chess

from tbgen.board.interval import ANYTHING
from tbgen.board.score import GScore
from tbgen.cells.cell import MOST_MOBILE
from tbgen.solve.gaps import Gap, Narrowing, Need
from tbgen.solve.line import Plan
from tbgen.solve.solution import Solution
from tbgen.text import counted, duration, size_text


def claims(solution: Solution) -> tuple[str, str]:
    """Return what White can be sure of and what Black can, each empty if that is nothing.

    >>> score = GScore("G4.5")
    >>> claims(Solution(score, score, score, GScore("G1.0"), None, (), 3))
    ('White can force G4.5 (Black has 4 moves)', 'Black can keep White from better than G1.0')
    """
    bounds = solution.proved.bounds
    white, black = (
        "" if score == worst else _claim(score, by_white, forcing)
        for score, worst, by_white, forcing in zip(
            bounds, ANYTHING, chess.COLORS, solution.forcing, strict=True
        )
    )
    return white, black


def _claim(score: GScore, by_white: bool, forcing: bool) -> str:
    """Say what a side can be sure of."""
    side, other = ("White", "Black") if by_white else ("Black", "White")
    if score.white == by_white:
        how = " by forcing moves" if forcing else ""
        return f"{side} can force {score}{how} ({other} {state_of(score)})"
    return f"{side} can keep {other} from better than {score}"


def state_of(score: GScore) -> str:
    """Say what a score leaves the opponent of its holder.

    >>> [state_of(GScore(text)) for text in ("G0.0", "-G0.5", "G1.0", "-G3.5")]
    ['is mated', 'is stalemated', 'is in check and has 1 move', 'has 3 moves']
    """
    if score.rank < 2:
        return "is stalemated" if score.rank else "is mated"
    return f"{'' if score.rank % 2 else 'is in check and '}has {counted(score.rank // 2, 'move')}"


def plan_text(board: chess.Board, plan: Plan) -> str:
    """Return the moves of a plan with their numbers."""
    return board.variation_san([ply.move for ply in plan]) if plan else ""


def gap_text(gap: Gap) -> str:
    """Say which moves keep the ends apart, and what it takes to know more."""
    side = chess.COLOR_NAMES[gap.side].capitalize()
    takes = "not solved yet"
    if gap.need is not Need.TIME or gap.mobile > MOST_MOBILE:
        takes = f"needs {counted(gap.mobile, 'mobile man', 'mobile men')}, {size_text(gap.memory)}"
    if gap.seconds is not None and gap.mobile > MOST_MOBILE:
        takes += f", {duration(gap.seconds)}"
    return f"{side}'s {gap.man} {gap.deed} in {counted(gap.positions, 'position')}: {takes}"


def narrowing_text(narrowing: Narrowing) -> str:
    """Say what would tell more."""
    cells = counted(narrowing.cells, "cell")
    return f"{cells} or more, about {duration(narrowing.seconds)} and {size_text(narrowing.memory)}"
