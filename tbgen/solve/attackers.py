"""Both sides' searches for bounds by forcing moves, which take turns."""

import gc
import math
from collections.abc import Iterator
from itertools import chain
from typing import Final

import chess

from tbgen.board.score import MAX_CODED_RANK, rank_of_code
from tbgen.board.signed import Signed
from tbgen.solve.budget import Stop
from tbgen.solve.forcing import ForcingProof, ForcingSearch, Worth
from tbgen.solve.meter import Meter

_RANKS: Final = (0, 2, 4, 6, 8, 12, MAX_CODED_RANK)
"""Of the scores that are tried, the best first: strict ones leave little to look at, and may be proved where
more is too much."""
_FEW: Final = 4
"""Answers that a forcing move may leave without giving check."""
_FIRST: Final = 500
"""Positions that a search may keep at its first turn, and twice as many at each that follows..."""
MOST: Final = 32_000
"""...up to so many."""
_BYTES: Final = 1_700
"""Bytes that a position takes."""
AT_ONCE: Final = 1_000
"""Positions that take a second or two for all searches."""


class Attackers:
    """The searches of both sides from one state.

    :param accrued: the state's accrued score.
    :param worth: what tables say.
    :param meter: the rest of the budget; what is kept counts there.
    :param memory: bytes that the searches may keep together.
    :param checks_only: whether to look at checks only.
    """

    def __init__(
        self,
        board: chess.Board,
        accrued: Signed,
        worth: Worth,
        meter: Meter,
        memory: int,
        *,
        checks_only: bool = False,
    ) -> None:
        self._open = {
            white: [
                ForcingSearch(board, accrued, white, rank, few, worth)
                for few in ((0,) if checks_only else (0, _FEW))
                for rank in _RANKS
            ]
            for white in chess.COLORS
        }
        """Searches without an answer: those that look at fewer moves first, and of these the strictest."""
        self._best: dict[bool, ForcingProof] = {}
        self._meter, self._memory, self._kept = meter, memory, 0
        self._ended_by: Stop | None = None
        """What there was too little of when searches were given up."""

    def turns(self, most: int = MOST, share: float = 1.0) -> Iterator[None]:
        """Let the sides search where they have not before; yield after each turn.

        :param most: positions that each search may keep.
        :param share: the part of the time left that this may take.
        """
        left = self._meter.left
        until = 0.0 if math.isinf(left) else left * (1 - share)

        def has_time() -> bool:
            return self._meter.left > until

        while self._kept < most and (count := sum(map(len, self._open.values()))) and has_time():
            kept = min(max(_FIRST, 2 * self._kept), self._memory // (_BYTES * count))
            if kept <= self._kept:
                self._give_up(Stop.MEMORY)
                return
            for white in chess.COLORS:
                for search in tuple(self._open[white]):
                    if search in self._open[white]:
                        search.run(kept, has_time)
                        self._take(search)
                self._meter.besides = _BYTES * sum(search.kept for search in chain(*self._open.values()))
                yield
            if has_time():
                self._kept = kept
        if self._kept >= MOST:
            self._give_up()

    def _give_up(self, shortage: Stop | None = None) -> None:
        """Drop all searches: what they keep is of no more use.

        :param shortage: what there was too little of.
        """
        self._ended_by = shortage
        self._open, self._meter.besides = {white: [] for white in chess.COLORS}, 0
        gc.collect()  # positions hold one another

    def _take(self, search: ForcingSearch) -> None:
        """Drop searches that the outcome of one leaves nothing to find: weaker ones if it has a proof, and
        stricter ones if it is refuted."""
        searches, proof = self._open[search.white], search.proof
        if proof is not None:
            self._best[search.white] = proof
            searches[:] = [other for other in searches if other.rank < rank_of_code(proof.bound)]
        elif search.refuted:
            searches[:] = [other for other in searches if other.rank > search.rank or other.few > search.few]

    @property
    def shortage(self) -> Stop | None:
        """What there is too little of to go on, if there is anything left to try."""
        return self._meter.shortage if any(self._open.values()) else self._ended_by

    def proofs(self) -> Iterator[ForcingProof]:
        """Yield the best proof of each side that has one."""
        yield from self._best.values()
