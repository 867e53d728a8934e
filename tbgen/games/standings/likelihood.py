"""Generalised likelihood ratios: the likelihood of results under one strength, relative to another.

A strength fixes only the mean of the results (or its ratio to the standard deviation). It is represented by
the distribution, among all that agree with it, under which the observed results are most likely. With the
mean fixed, this is the empirical likelihood of A. Owen. M. Van den Bergh derives it for tests of chess
programs in "Comparing the approximations for the generalized log likelihood ratio of a multinomial
distribution" (proposition 1.1), and with the mean divided by the standard deviation fixed in "Comments on
normalized Elo" (section 4.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]

UNSEEN_COUNT: Final = 1e-3
"""Count of a possible result that has not been observed.

With a count of 0, the results of a side that has always won could not put a bound on its strength.
"""
_HALVINGS: Final = 64
_NARROWINGS: Final = 12
_GRID_POINTS: Final = 400


@dataclass(frozen=True, slots=True)
class Sample:
    """The observed results and their counts."""

    values: Numbers
    """Results from 0 to 1 in ascending order; float64, shape (n,)."""
    counts: Numbers
    """Count of each result, :data:`UNSEEN_COUNT` for those that were not observed; float64, shape (n,)."""

    @classmethod
    def of(cls, results: Iterable[float], possible: Sequence[float]) -> Sample:
        """Return the sample of some results.

        :param possible: results that are possible even if unobserved, including 0 and 1.
        """
        values, counts = np.unique(np.fromiter(results, dtype=np.float64), return_counts=True)
        unseen = np.setdiff1d(np.array(possible), values)
        order = np.argsort(np.concatenate([values, unseen]))
        return cls(
            np.concatenate([values, unseen])[order],
            np.concatenate([counts, np.full(len(unseen), UNSEEN_COUNT)])[order],
        )

    @property
    def shares(self) -> Numbers:
        """The share of each result."""
        shares: Numbers = self.counts / self.counts.sum()
        return shares

    def distribution_with_mean(self, mean: float) -> Numbers:
        """Return the most likely distribution with a mean, which is between 0 and 1: float64, shape (n,)."""
        return _tilt(self.values - mean, self.shares)

    def distribution_with_ratio(self, ratio: float) -> Numbers:
        """Return the most likely distribution whose mean is 1/2 plus ``ratio`` standard deviations.

        :returns: float64, shape (n,).
        """
        if ratio == 0:
            return self.distribution_with_mean(0.5)
        if ratio < 0:  # from the point of view of the other side
            mirrored = Sample(1 - self.values[::-1], self.counts[::-1])
            return mirrored.distribution_with_ratio(-ratio)[::-1]
        return self._distribution_with_positive_ratio(ratio)

    def log_ratio(self, first: Numbers, second: Numbers) -> float:
        """Return the logarithm of the sample's likelihood ratio, second distribution to first."""
        return float(self.counts @ (np.log(second) - np.log(first)))

    def _distribution_with_positive_ratio(self, ratio: float) -> Numbers:
        """Return the most likely distribution whose mean is 1/2 plus ``ratio`` standard deviations.

        Let s be a standard deviation and m = 1/2 + ratio * s the mean that belongs to it. The distribution
        tilted by values - 1/2 - ratio * s / 2 * (1 + ((values - m) / s)^2) is a candidate if its mean is
        indeed m. Fixed-point iteration on m may cycle, or converge to a solution that is not the best. So s
        is scanned on a coarse grid, and each sign change of the difference between both means is refined.
        """
        coarse = np.geomspace(1e-7, 0.5 / ratio if ratio > 1 else 0.5, _GRID_POINTS)
        brackets = self._sign_changes(ratio, coarse)
        for _ in range(_NARROWINGS):
            finer = [(self._sign_changes(ratio, np.linspace(*bracket, 12)), bracket) for bracket in brackets]
            brackets = [found[0] if found else bracket for found, bracket in finer]
        candidates = self._distributions(ratio, np.array([sum(bracket) / 2 for bracket in brackets]))[1]
        return max(candidates, key=lambda distribution: float(self.shares @ np.log(distribution)))

    def _sign_changes(self, ratio: float, deviations: Numbers) -> list[tuple[float, float]]:
        """Return pairs of neighbouring deviations between which the difference of the means changes sign."""
        possible, tilted = self._distributions(ratio, deviations)
        differences = tilted @ self.values - (0.5 + ratio * deviations)
        changed = possible[:-1] & possible[1:] & ((differences[:-1] > 0) != (differences[1:] > 0))
        return [(float(deviations[at]), float(deviations[at + 1])) for at in np.flatnonzero(changed)]

    def _distributions(self, ratio: float, deviations: Numbers) -> tuple[npt.NDArray[np.bool_], Numbers]:
        """Return a mask of the deviations that have a distribution, and the distributions, one per row."""
        spread = deviations[:, None]
        surprise = (self.values - 0.5 - ratio * spread) / spread
        excess = self.values - 0.5 - ratio * spread / 2 * (1 + surprise**2)
        possible = (excess.max(-1) > 0) & (excess.min(-1) < 0)
        tilted = np.full(excess.shape, np.nan)
        tilted[possible] = _tilt(excess[possible], self.shares)
        return possible, tilted


def _tilt(excess: Numbers, shares: Numbers) -> Numbers:
    """Return the most likely distribution under which a quantity has mean 0.

    It is shares / (1 + t * excess), with the unique suitable t, which is found by bisection.

    :param excess: the quantity for each result, with values of both signs: shape (..., n).
    :param shares: observed share of each result, above 0: shape (n,).
    """
    low, high = -1 / excess.max(-1, keepdims=True), -1 / excess.min(-1, keepdims=True)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        above = (shares * excess / (1 + middle * excess)).sum(-1, keepdims=True) > 0
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    tilted: Numbers = shares / (1 + (low + high) / 2 * excess)
    return tilted
