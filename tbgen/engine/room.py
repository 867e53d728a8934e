"""What the compiled search works with: positions on the way, what is known of states, and its orders."""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import GScore
from tbgen.compiler.structs import Struct
from tbgen.engine.kernels.board import WORDS
from tbgen.engine.scale import LAST_RANK, MATE, worth

PLIES: Final = 128
"""Plies that the search looks ahead at most."""
HISTORY: Final = 640
"""Positions of the game that the search remembers, for repetition."""
_MOVES: Final = 256
_ASKED: Final = 4096
_KNOWN: Final = 1 << 20
CLOCK_TOLD: Final = 70
"""States with different counters of a 50-move rule are told apart above this one."""
ENTRY_BYTES: Final = 16
"""What a state takes in the transposition table."""
STOP, NODES, MOST_NODES, ROOT, ITERATION, DEEPEST, ASKED, ANSWERED, HITS, ABORTED = range(10)
GENERATION, PLAIN, RULE, LIMIT, LAST, BARE_KINGS, TABLE_MEN, DRAWN, EVEN, HOPE, FORGOTTEN = range(10, 21)
_CONTROL: Final = 21
"""Places of orders and counts: whether to stop; nodes, and how many at most; row of the current position;
plies of the iteration, and most plies looked ahead; positions asked for and answered, and how often an
answer was met; whether the search was stopped; number of the search; whether to do without what is not
exact; whether there is a 50-move rule, the rank below which an improvement is progress, and which scores
count at its end (0 for all, 1 for mate and stalemate, 2 for none); whether bare kings end the game; most
men of positions to ask for; whether the game is known to be drawn in chess (1 with White to move, 2 with
Black), White's lead in hundredths of a pawn where the search begins, what a drawn game may come to, and how
often all that was known of states has been forgotten."""


PLAIN_WORTH: Final = np.array([worth(GScore(rank, True)) for rank in range(LAST_RANK + 1)])
"""What scores are worth, by their ranks."""
DRAWN_WORTH: Final = PLAIN_WORTH // 5 + (4 * MATE // 5 * 0.5 ** np.arange(LAST_RANK + 1)).astype(np.int64)
"""The same where nobody mates: nearly as exponential scoring has it (``Scheme.EXPONENTIAL`` of
:mod:`tbgen.board.scoring`), so that a chance of a low score outweighs a better one of many moves."""


@dataclass(frozen=True)
class SearchRoom(Struct):
    """Arrays of one search after another.

    :ivar rows: uint64 (n, WORDS): the positions of the game, the current one and those on the way from it.
    :ivar moves: int32 (PLIES, 256): legal moves at each ply.
    :ivar answers: int32 (256,): squares and promotion of the answer expected to each move at ply 0, or 0.
    :ivar costs: int64 (256,): what each of these moves gives up in chess, on the scale of the search.
    :ivar order: int32 (PLIES, 256): the greater, the earlier a move is tried.
    :ivar line: int32 (PLIES, PLIES): the best line from each ply on.
    :ivar length: int64 (PLIES,): how long each of them is.
    :ivar killers: int32 (PLIES, 2): quiet moves that refuted others at a ply.
    :ivar history: int32 (2, 64, 64): how often a quiet move refuted others, by side and squares.
    :ivar keys: uint64 (2^n,): keys of states in the transposition table.
    :ivar entries: int64 (2^n,): what is known of them.
    :ivar known_keys: uint64 (2^n,): keys of positions whose value tables have told.
    :ivar known: int64 (2^n,): their values to White.
    :ivar asked: uint64 (n, WORDS): positions that tables are asked for.
    :ivar worth: int64 (438,): what scores are worth, by their ranks.
    :ivar control: int64 (n,): orders and counts.
    """

    rows: NDArray[np.uint64]
    moves: NDArray[np.int32]
    answers: NDArray[np.int32]
    costs: NDArray[np.int64]
    order: NDArray[np.int32]
    line: NDArray[np.int32]
    length: NDArray[np.int64]
    killers: NDArray[np.int32]
    history: NDArray[np.int32]
    keys: NDArray[np.uint64]
    entries: NDArray[np.int64]
    known_keys: NDArray[np.uint64]
    known: NDArray[np.int64]
    asked: NDArray[np.uint64]
    worth: NDArray[np.int64]
    control: NDArray[np.int64]

    @classmethod
    def of(cls, mebibytes: int) -> Self:
        """Return room with a transposition table of at most so many mebibytes."""
        entries = 1 << (max((mebibytes << 20) // ENTRY_BYTES, 1).bit_length() - 1)
        return cls(
            np.zeros((HISTORY + PLIES + 1, WORDS), np.uint64),
            np.zeros((PLIES, _MOVES), np.int32),
            np.zeros(_MOVES, np.int32),
            np.zeros(_MOVES, np.int64),
            np.zeros((PLIES, _MOVES), np.int32),
            np.zeros((PLIES, PLIES), np.int32),
            np.zeros(PLIES, np.int64),
            np.zeros((PLIES, 2), np.int32),
            np.zeros((2, 64, 64), np.int32),
            np.zeros(entries, np.uint64),
            np.zeros(entries, np.int64),
            np.zeros(_KNOWN, np.uint64),
            np.zeros(_KNOWN, np.int64),
            np.zeros((_ASKED, WORDS), np.uint64),
            PLAIN_WORTH.copy(),
            np.zeros(_CONTROL, np.int64),
        )
