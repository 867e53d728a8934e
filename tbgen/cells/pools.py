"""Pools: where kernels look up what the ways out of a cell are worth, at each end of the intervals."""

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np

from tbgen.board.kinds import KINDS
from tbgen.board.score import Code
from tbgen.cells.lineup import Lineup
from tbgen.cells.memory import MEMORY
from tbgen.index.zeroing import CAPTURED_PAWN
from tbgen.retro.kernels.bits import Codes, Plies
from tbgen.retro.kernels.targets import ROUTES, Pool, Routes, Targets
from tbgen.retro.pool import Map

_EMPTY: Final = np.zeros(0, np.int64)
_NO_TARGETS: Final = Targets(
    np.zeros((2, CAPTURED_PAWN + 1, len(KINDS)), np.int64), _EMPTY, _EMPTY, np.zeros((0, 5), np.int64),
    _EMPTY, _EMPTY, _EMPTY, np.zeros((0, 2), np.int64), _EMPTY, np.zeros(0, np.int32),
    np.zeros((0, 16), np.int32), 0,
)  # fmt: skip
"""A directory of no tables."""


_Block: TypeAlias = tuple[Codes, Plies]
Worth: TypeAlias = _Block | Code
"""One end of what is known about all positions that a route leads to: their values and depths, or a code that
bounds all of them. Either all blocks have depths, or none has: these are empty then."""


def pools_of(
    lineup: Lineup, worths: Mapping[int, Sequence[Worth]], unknown: Sequence[Code], run: Map
) -> list[Pool]:
    """Return a pool for each end; their blocks lie in the same arrays, equal ones once.

    :param worths: by a route's number, its worth at each end.
    :param unknown: at each end, the worth of positions without value in a block.
    :param run: called like ``map``; may spread the copying over threads.
    """
    number, ends = np.zeros(ROUTES, np.int16), range(len(unknown))
    number[list(worths)] = np.arange(1, len(worths) + 1)
    begin = np.empty((len(unknown), len(worths) + 1), np.int64)
    begin[:, 0] = [-1 - code for code in unknown]
    laid: list[tuple[int, _Block]] = []
    at = 0
    for way, worth in enumerate(worths.values(), start=1):
        before: _Block | None = None
        for end in ends:
            if not isinstance(here := worth[end], tuple):
                begin[end, way] = -1 - here
            elif before is not None and _equal(before, here):
                begin[end, way] = begin[end - 1, way]
            else:
                laid.append((at, here))
                begin[end, way] = at
                at += len(here[0])
                before = here
    timed = laid and len(laid[0][1][1])
    value, depth = MEMORY.empty(at, np.uint8), MEMORY.empty(at if timed else 0, np.uint16)

    def lay(placed: tuple[int, _Block]) -> None:
        first, (values, depths) = placed
        value[first : first + len(values)] = values
        depth[first : first + len(depths)] = depths

    list(run(lay, laid))
    frozen = np.array(lineup.squares, np.int64)
    pawns = np.array(lineup.cell.pawns, np.uint64)
    return [
        Pool(value, depth, _NO_TARGETS, Routes(number, begin[end], frozen, pawns, int(unknown[end])))
        for end in ends
    ]


def _equal(one: _Block, other: _Block) -> bool:
    return one is other or (np.array_equal(one[0], other[0]) and np.array_equal(one[1], other[1]))
