"""How one man holds another: where the blocker stands for every square of the changer.

Heiner Marxen's analysis of positions in which one man of each side moves ("Virtual pieces", 2002): the
*blocker* keeps the *changer* from more than a bound, for ever. Corresponding squares are its special case.
"""

from collections import deque
from dataclasses import dataclass

import chess

from tbgen.board.score import Code, GScore
from tbgen.cells.bounds import ENDS, LOWER, WORST
from tbgen.cells.position import CellPosition
from tbgen.solve.search import Search
from tbgen.solve.states import carried


@dataclass(frozen=True)
class Hold:
    """What the blocker guarantees, and how. Squares are numbers of python-chess (0 for a1, 63 for h8).

    :ivar holder: the blocker's side.
    :ivar value: the holder gets this score at least.
    :ivar blocker: the blocker's square in the given position.
    :ivar changer: the changer's square in the given position.
    :ivar squares: the blocker's squares by the changer's square, with the changer to move: all that can come
        about while the blocker holds, the nearest first.
    :ivar distances: plies until the holder has the value, where they are known: by the changer's square, with
        the changer to move and the blocker on the nearest of its squares.
    """

    holder: chess.Color
    value: GScore
    blocker: chess.Square
    changer: chess.Square
    squares: dict[chess.Square, tuple[chess.Square, ...]]
    distances: dict[chess.Square, int]


def holds(search: Search) -> tuple[Hold, ...]:
    """Return what a search has proved of a cell in which one man of each side is mobile, White's hold first;
    nothing if others are."""
    root = search.given
    of_white = root.mobile & root.board.occupied_co[chess.WHITE]
    if (
        root.over
        or of_white.bit_count() != 1
        or root.mobile.bit_count() != 2
        or root.cell not in search.known.cells
    ):
        return ()
    found = search.state(root, search.accrued).value
    return tuple(_hold(search, end, found[end]) for end in ENDS if found[end] != WORST[end])


def _hold(search: Search, end: int, bound: Code) -> Hold:
    holder = chess.WHITE if end == LOWER else chess.BLACK
    root, accrued = search.given, search.accrued
    squares: dict[chess.Square, dict[chess.Square, None]] = {}
    distances: dict[chess.Square, int] = {}
    waiting, seen = deque([(root, accrued)]), {_key(root, accrued)}
    while waiting:
        here, score = waiting.popleft()
        blocker, changer = _men(here, holder)
        if here.board.turn != holder:
            if changer not in squares and (depths := search.state(here, score).depths) is not None:
                distances[changer] = depths[end]
            squares.setdefault(changer, {})[blocker] = None
        for step in here.moves():
            if not step.inside:
                continue
            held = carried(step, score)
            key = _key(step.after, held)
            if key not in seen:
                seen.add(key)
                value = search.state(step.after, held).value[end]
                if value <= bound if end == LOWER else value >= bound:
                    waiting.append((step.after, held))
    stood = {square: tuple(own) for square, own in sorted(squares.items())}
    return Hold(holder, GScore.from_code(bound), *_men(root, holder), stood, distances)


def _men(position: CellPosition, holder: chess.Color) -> tuple[chess.Square, chess.Square]:
    """Return the squares of the blocker and of the changer."""
    sides = (position.mobile & position.board.occupied_co[colour] for colour in (holder, not holder))
    blocker, changer = map(chess.msb, sides)
    return blocker, changer


def _key(position: CellPosition, accrued: Code) -> tuple[int, ...]:
    return position.board.turn, *position.board.occupied_co, accrued
