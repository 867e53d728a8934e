"""The proof of states, one accrued score after the other: of a table, or of one of the games of a cell."""

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.verify.game import new_scratch
from tbgen.verify.kernels.best import ProofGame, Range
from tbgen.verify.kernels.keys import MIDDLE, WHITE_WORTH, Accrued
from tbgen.verify.kernels.layers import Claims, begin, copy_images, enter_claims
from tbgen.verify.kernels.states import prove
from tbgen.verify.kernels.survey import compare, survey
from tbgen.verify.threads import ProofThreads

FIRST_RANK: Final = 2
"""Rank of the first layer: mates and stalemates end the game."""


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
    """Proves the states of a window of a game, one accrued score after the other."""

    def __init__(self, game: ProofGame, threads: ProofThreads) -> None:
        self.game, self.threads = game, threads
        self.ranges: list[Range] = []
        """Parts of the window."""
        self._images: list[NDArray[np.int32]] = []
        """Slots that are not canonical, with the canonical ones of the same positions: shape (n, 2) each."""

    def survey(self, parts: list[Range]) -> None:
        """Find the positions in ranges of slots, and their ranks."""
        self.threads.inspect(survey, ((self.game, part) for part in parts))

    def compare(self, parts: list[Range]) -> None:
        """Check that there are values where there are positions, and the values of ended games."""
        self.threads.inspect(compare, ((self.game, part) for part in parts))

    def begin(self) -> None:
        """Set the first keys of the window, for a score that outranks all values."""
        self.ranges = self.threads.ranges(self.game.key.shape[1])
        self._images = self.threads.each(self._begin, ((part,) for part in self.ranges))

    def _begin(self, part: Range) -> NDArray[np.int32]:
        images = np.empty((2 * (part[1] - part[0]), 2), np.int32)
        return images[: begin(self.game, part, images, new_scratch())].copy()

    def enter(self, accrued: Accrued, claims: Claims) -> None:
        """Bring the keys of the window to the layer of an accrued score, by the claims of its states."""
        self.threads.inspect(enter_claims, ((self.game, accrued, part, claims) for part in self.ranges))

    def prove(self, accrued: Accrued) -> int:
        """Prove the states of the layer that has been entered and return their number."""
        tasks = ((self.game, accrued.rank, images) for images in self._images)
        left = self.threads.each(copy_images, tasks)
        self._images = [images[:count] for images, count in zip(self._images, left, strict=True)]
        return self.threads.inspect(prove, ((self.game, accrued, part) for part in self.ranges))

    def no_claims(self) -> Claims:
        """Return a layer without claims."""
        sides, slots = self.game.key.shape
        nothing = np.zeros((sides, -(-slots // 64)), np.uint64)
        return Claims(np.empty((sides, slots), np.uint8), np.empty((sides, slots), np.uint16), nothing)
