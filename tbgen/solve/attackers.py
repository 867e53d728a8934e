"""Both sides' searches for bounds by checks, which take turns."""

from collections.abc import Callable, Iterator
from typing import Final

import chess

from tbgen.board.signed import Signed
from tbgen.solve.budget import Stop
from tbgen.solve.checks import CheckProof, CheckSearch, Worth
from tbgen.solve.meter import Meter

_FIRST: Final = 500
"""Positions that either side may keep at its first turn, and twice as many at each that follows..."""
_MOST: Final = 64_000
"""...up to so many: about 100 MiB."""
AT_ONCE: Final = 2_000
"""Positions that take a second at most."""


class Attackers:
    """The searches of both sides from one state.

    :param accrued: the state's accrued score.
    :param worth: what tables say.
    :param meter: the rest of the budget.
    :param tell: called after each turn; what it raises ends the work.
    """

    def __init__(
        self, board: chess.Board, accrued: Signed, worth: Worth, meter: Meter, tell: Callable[[], object]
    ) -> None:
        self._searches = [CheckSearch(board, accrued, white, worth) for white in chess.COLORS]
        self._meter, self._tell, self._kept = meter, tell, 0

    def run(self, most: int = _MOST, share: float = 1.0) -> None:
        """Let both sides search, as far as they have not before.

        :param most: positions that each may keep.
        :param share: the part of the time left that they may take.
        """
        with self._meter.sharing(share):
            while self._kept < most and not self._done and self._meter.left > 0:
                most_now = max(_FIRST, 2 * self._kept)
                for search in self._searches:
                    search.run(most_now, lambda: self._meter.left > 0)
                    self._tell()
                if self._meter.left > 0:
                    self._kept = most_now

    @property
    def shortage(self) -> Stop | None:
        """What there is too little of to go on, if there is anything left to try."""
        return None if self._done or self._kept >= _MOST else self._meter.shortage

    @property
    def _done(self) -> bool:
        return all(search.done for search in self._searches)

    def proofs(self) -> Iterator[CheckProof]:
        """Yield the best proof of each side that has one."""
        yield from (search.best for search in self._searches if search.best is not None)
