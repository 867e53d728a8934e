"""The workspace of the compiled search: positions, transposition table, table values and control words."""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import GScore
from tbgen.compiler.structs import Struct
from tbgen.engine.kernels.board import ROW_SIZE
from tbgen.engine.scale import MATE, MAX_POSITION_RANK, worth

PLY_LIMIT: Final = 128
"""Maximum number of plies that the search looks ahead."""
GAME_POSITION_LIMIT: Final = 640
"""Maximum number of positions of the game that the search stores, to detect repetitions."""
_MAX_MOVES: Final = 256
_MAX_REQUESTS: Final = 4096
_TABLE_VALUE_SLOTS: Final = 1 << 20
MAX_UNKEYED_CLOCK: Final = 70
"""Greatest 50-move counter that is not part of the key of a state; greater ones are."""
ENTRY_BYTES: Final = 16
"""Number of bytes of an entry in the transposition table, including its key."""
STOP_REQUESTED, STOPPED, NODES, MAX_NODES, ROOT_ROW, ITERATION, DEEPEST_PLY, REQUESTS = range(8)
ANSWERS, HITS, GENERATION, UNPRUNED, HAS_FIFTY_MOVE_RULE, RESET_RANK, LATE_SCORES, BARE_KINGS = range(8, 16)
MAX_MEN, DRAWN, ROOT_LEAD, REACHABLE_VALUE, DISCARDS = range(16, 21)
_CONTROL_WORDS: Final = 21
"""Number of control words. Their indices are, in this order:

- ``STOP_REQUESTED``: whether a stop has been requested; ``STOPPED``: whether the search has been stopped;
- ``NODES``: number of searched nodes; ``MAX_NODES``: maximum number of nodes;
- ``ROOT_ROW``: row of the current position;
- ``ITERATION``: depth of the iteration; ``DEEPEST_PLY``: greatest number of plies searched ahead;
- ``REQUESTS``: number of requests to tables; ``ANSWERS``: number of answered requests; ``HITS``: number of
  nodes with a value from tables;
- ``GENERATION``: serial number of the search;
- ``UNPRUNED``: whether to search without extensions, reductions and pruning;
- ``HAS_FIFTY_MOVE_RULE``: whether a 50-move rule applies; ``RESET_RANK``: rank below which an improvement of
  the accrued score resets the counter; ``LATE_SCORES``: the scores that count once the counter has run out (0
  all, 1 mate and stalemate, 2 none);
- ``BARE_KINGS``: whether bare kings end the game;
- ``MAX_MEN``: maximum number of men in positions to request;
- ``DRAWN``: whether the game is drawn in chess (0 no; 1 yes, with White to move; 2 yes, with Black to move);
- ``ROOT_LEAD``: White's lead in centipawns at the root; ``REACHABLE_VALUE``: value of the score that the
  engine may still reach in a drawn game;
- ``DISCARDS``: number of times that the content of the transposition table has been discarded.
"""


WORTH: Final = np.array([worth(GScore(rank, True)) for rank in range(MAX_POSITION_RANK + 1)])
"""``WORTH[r]`` is the value of White's score of rank r on the scale of the search."""
DRAWN_WORTH: Final = WORTH // 5 + (4 * MATE // 5 * 0.5 ** np.arange(len(WORTH))).astype(np.int64)
"""``DRAWN_WORTH[r]`` is the value of White's score of rank r in a game that is drawn in chess.

The values are on the scale of the search. They are close to exponential scoring (``Scheme.EXPONENTIAL`` of
:mod:`tbgen.board.scoring`), so that a chance of reaching a low score is worth more than an improvement of a
high score.
"""


@dataclass(frozen=True)
class SearchWorkspace(Struct):
    """The arrays of a search, which successive searches reuse.

    :ivar rows: uint64 (n, ROW_SIZE): positions of the game, then those of the line that is being searched.
    :ivar moves: int32 (PLY_LIMIT, 256): legal moves at each ply.
    :ivar replies: int32 (256,): squares and promotion of the expected reply to each move at ply 0, or 0.
    :ivar costs: int64 (256,): cost in chess of each move at ply 0, on the scale of the search.
    :ivar priority: int32 (PLY_LIMIT, 256): priority of each move; the greatest is searched first.
    :ivar line: int32 (PLY_LIMIT, PLY_LIMIT): best line from each ply.
    :ivar line_length: int64 (PLY_LIMIT,): length of the best line from each ply.
    :ivar killers: int32 (PLY_LIMIT, 2): killer moves of each ply.
    :ivar history: int32 (2, 64, 64): history scores of quiet moves, by side and squares.
    :ivar keys: uint64 (2^n,): keys of the transposition table.
    :ivar entries: int64 (2^n,): entries of the transposition table.
    :ivar table_keys: uint64 (2^n,): keys of states with a value from tables.
    :ivar table_values: int64 (2^n,): values from tables, from White's point of view.
    :ivar requests: uint64 (n, ROW_SIZE): ring buffer of positions requested from tables.
    :ivar worth: int64 (438,): ``WORTH`` or ``DRAWN_WORTH``.
    :ivar control: int64 (n,): control words.
    """

    rows: NDArray[np.uint64]
    moves: NDArray[np.int32]
    replies: NDArray[np.int32]
    costs: NDArray[np.int64]
    priority: NDArray[np.int32]
    line: NDArray[np.int32]
    line_length: NDArray[np.int64]
    killers: NDArray[np.int32]
    history: NDArray[np.int32]
    keys: NDArray[np.uint64]
    entries: NDArray[np.int64]
    table_keys: NDArray[np.uint64]
    table_values: NDArray[np.int64]
    requests: NDArray[np.uint64]
    worth: NDArray[np.int64]
    control: NDArray[np.int64]

    @classmethod
    def with_table_size(cls, mebibytes: int) -> Self:
        """Return a new workspace.

        :param mebibytes: maximum size of the transposition table.
        """
        entries = 1 << (max((mebibytes << 20) // ENTRY_BYTES, 1).bit_length() - 1)
        return cls(
            rows=np.zeros((GAME_POSITION_LIMIT + PLY_LIMIT + 1, ROW_SIZE), np.uint64),
            moves=np.zeros((PLY_LIMIT, _MAX_MOVES), np.int32),
            replies=np.zeros(_MAX_MOVES, np.int32),
            costs=np.zeros(_MAX_MOVES, np.int64),
            priority=np.zeros((PLY_LIMIT, _MAX_MOVES), np.int32),
            line=np.zeros((PLY_LIMIT, PLY_LIMIT), np.int32),
            line_length=np.zeros(PLY_LIMIT, np.int64),
            killers=np.zeros((PLY_LIMIT, 2), np.int32),
            history=np.zeros((2, 64, 64), np.int32),
            keys=np.zeros(entries, np.uint64),
            entries=np.zeros(entries, np.int64),
            table_keys=np.zeros(_TABLE_VALUE_SLOTS, np.uint64),
            table_values=np.zeros(_TABLE_VALUE_SLOTS, np.int64),
            requests=np.zeros((_MAX_REQUESTS, ROW_SIZE), np.uint64),
            worth=WORTH.copy(),
            control=np.zeros(_CONTROL_WORDS, np.int64),
        )
