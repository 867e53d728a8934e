"""The proof of states, one accrued score after the other: of a table, or of one of the games of a cell."""

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.verify.game import new_scratch
from tbgen.verify.kernels.best import ProofGame, Range
from tbgen.verify.kernels.keys import MIDDLE, WHITE_WORTH, Accrued
from tbgen.verify.kernels.layers import Claims, Said, begin, copy_images, enter_claims
from tbgen.verify.kernels.states import ProofPositions, prove
from tbgen.verify.kernels.survey import compare, survey
from tbgen.verify.threads import ProofThreads

FIRST_RANK: Final = 2
"""Rank of the first layer: mates and stalemates end the game."""
_NOTHING_SAID: Final = Said(-1, NONE, np.zeros(0, np.uint32), np.zeros(0, np.uint8))

_Images = tuple[NDArray[np.int32], NDArray[np.int32]]
"""Slots that are not canonical, and the canonical ones of the same positions."""


def accrued_by(rank: int, white: bool) -> Accrued:
    """Return the score of a rank that a side has accrued."""
    return Accrued(rank, WHITE_WORTH - rank if white else rank)


def accrued_scores(top: int) -> Iterator[Accrued]:
    """Yield the scores whose layers are to be proved where ``top`` is the greatest rank of a value: White's
    and Black's by rank, and one beyond, where no state keeps an inherited score and all keys are alike."""
    for rank in range(FIRST_RANK, top + 1):
        yield from (accrued_by(rank, white) for white in (True, False))
    yield Accrued(top + 1, MIDDLE)


def top_rank(*values: NDArray[np.uint8]) -> int:
    """Return the greatest rank among codes, 1 if all are smaller."""
    code = np.arange(256)
    rank = np.where(code == NONE, 0, np.minimum(code, 255 - code)).astype(np.uint8)
    return max(int(rank[each].max(initial=FIRST_RANK - 1)) for each in values)


class StateProof:
    """Proves the states of a window of a game, one accrued score after the other.

    :param rank: uint8 (2, size): the ranks of all canonical legal positions, which :meth:`survey` finds.
    :param chosen: bool (2, size): the positions whose states are proved; all if it is empty.
    """

    def __init__(
        self, game: ProofGame, threads: ProofThreads, rank: NDArray[np.uint8], chosen: NDArray[np.bool_]
    ) -> None:
        self.game, self.threads = game, threads
        self.rank, self.chosen = rank, chosen
        self.ranges: list[Range] = []
        """Parts of the window."""
        self._images: list[_Images] = []

    def survey(self, parts: list[Range]) -> None:
        """Find the positions in ranges of slots, and their ranks."""
        self.threads.each(survey, ((self.game, self.rank, part, new_scratch()) for part in parts))

    def compare(self, parts: list[Range]) -> None:
        """Check that there are values where there are positions, and what ended games are worth."""
        self.threads.inspect(compare, ((self.game, self.rank, part) for part in parts))

    def begin(self) -> None:
        """Set the first keys of the window, for a score that outranks all values."""
        self.ranges = self.threads.ranges(self.game.key.shape[1])
        self._images = self.threads.each(self._begin, ((part,) for part in self.ranges))

    def _begin(self, part: Range) -> _Images:
        images, originals = np.empty((2, 2 * (part[1] - part[0])), np.int32)
        count = begin(self.game, part, new_scratch(), images, originals)
        return images[:count].copy(), originals[:count].copy()

    def enter(self, accrued: Accrued, claims: Claims, said: Said = _NOTHING_SAID) -> None:
        """Bring the keys of the window to the layer of an accrued score, by what is claimed of its states."""
        for side in range(2):
            tasks = ((self.game, self.rank, accrued, side, part, claims, said) for part in self.ranges)
            self.threads.inspect(enter_claims, tasks)

    def prove(self, accrued: Accrued) -> int:
        """Prove the states of the layer that has been entered and return their number."""

        def copy(images: NDArray[np.int32], originals: NDArray[np.int32]) -> _Images:
            left = copy_images(self.game, accrued.rank, images, originals)
            return images[:left], originals[:left]

        self._images = self.threads.each(copy, self._images)
        positions = ProofPositions(self.rank, self.chosen)
        return self.threads.inspect(prove, ((self.game, positions, accrued, part) for part in self.ranges))

    def no_claims(self) -> Claims:
        """Return a layer of which nothing is claimed."""
        sides, slots = self.game.key.shape
        nothing = np.zeros((sides, -(-slots // 64)), np.uint64)
        return Claims(np.empty((sides, slots), np.uint8), np.empty((sides, slots), np.uint16), nothing)
