"""The state of a plain table from which the way to the value is longest."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import GScore
from tbgen.documents import Document, ScoreText
from tbgen.index.layout import Side, Slot
from tbgen.index.position import position_of
from tbgen.index.table import LAST_RUN
from tbgen.store import schema
from tbgen.store.format import BLOCK
from tbgen.store.stored_file import StoredFile

_BLOCK_BYTES: Final = BLOCK // 8


class LongestState(Document):
    """A state: a position and what has accrued, None where that is the score of the position itself."""

    fen: str
    accrued: ScoreText | None


def longest_state(file: StoredFile) -> LongestState | None:
    """Return a state whose depth is the greatest of a plain table, a fresh one if there is such; None for a
    packed table, which has no depths of accrued scores.

    :raises DamagedTableError: if the depths do not decode.
    """
    if file.info.packed:
        return None
    longest = file.info.max_depth
    depth = file.data(schema.DEPTH)
    for side in Side(0), Side(1):
        if (slot := _first(depth[side], longest)) is not None:
            return LongestState(position_of(file.layout, side, Slot(slot)).fen(), None)
    if (run := _first(file.data(schema.RUN_DEPTH), longest)) is not None:
        return _state_of_run(file, run)
    configurations, _, ep_depth = file.en_passant_arrays()
    for (phase, square), depths in zip(configurations.tolist(), ep_depth, strict=True):
        if (within := _first(depths, longest)) is not None:
            slot, side = phase * file.info.phase_size + within, Side(square < 32)
            return LongestState(position_of(file.layout, side, Slot(slot), square).fen(), None)
    raise file.damaged(f"no state has its greatest depth, {longest} plies")


def _first(depths: NDArray[Any], wanted: int) -> int | None:
    places = np.flatnonzero(depths == wanted)
    return int(places[0]) if places.size else None


def _state_of_run(file: StoredFile, run: int) -> LongestState:
    """Return the state with which a run begins.

    The runs of a block begin where the block's ``start`` says, and each slot with a bit in the mask has runs
    up to its last one.
    """
    start, ranks = file.data(schema.RUN_START), file.data(schema.RUN_RANK)
    row, block = divmod(int(np.searchsorted(start.reshape(-1), run, "right")) - 1, start.shape[-1])
    holder, side = divmod(row, 2)
    before = int(np.count_nonzero(ranks[int(start[holder, side, block]) : run] & LAST_RUN))
    mask = file.data(schema.RUN_MASK)[holder, side, block * _BLOCK_BYTES : (block + 1) * _BLOCK_BYTES]
    within = int(np.flatnonzero(np.unpackbits(mask, bitorder="little"))[before])
    board = position_of(file.layout, Side(side), Slot(block * BLOCK + within))
    return LongestState(board.fen(), str(GScore(int(ranks[run] % LAST_RUN), holder == 0)))
