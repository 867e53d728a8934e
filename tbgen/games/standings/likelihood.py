"""Generalised likelihood ratios: the likelihood of results under one strength, relative to another.

A strength determines only the mean of the results (or the excess of the mean over 1/2 in standard
deviations). Of all distributions of results with this strength, the one under which the observed results are
most likely represents the strength. With a fixed mean, this is the empirical likelihood of A. Owen. M. Van
den Bergh derives this case for tests of chess programs in "Comparing the approximations for the generalized
log likelihood ratio of a multinomial distribution" (proposition 1.1). He derives the case of a fixed ratio of
this excess to the standard deviation in "Comments on normalized Elo" (section 4.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

UNSEEN_COUNT: Final = 1e-3
"""Count to assume for a possible result that has not been observed.

If the count were 0, the results of a side that has always won would not bound its strength.
"""
_HALVING_COUNT: Final = 64
_NARROWING_COUNT: Final = 12
_GRID_SIZE: Final = 400


@dataclass(frozen=True, slots=True)
class Sample:
    """The observed and other possible results, with their counts."""

    values: Floats
    """Results from 0 to 1 in ascending order; float64, shape (n,)."""
    counts: Floats
    """Count of each result, :data:`UNSEEN_COUNT` if the result was not observed; float64, shape (n,)."""

    @classmethod
    def of(cls, results: Iterable[float], possible_results: Sequence[float]) -> Sample:
        """Return the sample of the observed ``results``.

        :param possible_results: results that are possible even if they are not observed, including 0 and 1.
        """
        values, counts = np.unique(np.fromiter(results, dtype=np.float64), return_counts=True)
        unseen = np.setdiff1d(np.array(possible_results), values)
        order = np.argsort(np.concatenate([values, unseen]))
        return cls(
            np.concatenate([values, unseen])[order],
            np.concatenate([counts, np.full(len(unseen), UNSEEN_COUNT)])[order],
        )

    @property
    def shares(self) -> Floats:
        """The count of each result, divided by the sum of all counts; float64, shape (n,)."""
        shares: Floats = self.counts / self.counts.sum()
        return shares

    def distribution_with_mean(self, mean: float) -> Floats:
        """Return the most likely distribution with the given mean, between 0 and 1: float64, shape (n,)."""
        return _tilt(self.values - mean, self.shares)

    def distribution_with_ratio(self, ratio: float) -> Floats:
        """Return the most likely distribution whose mean is 1/2 plus ``ratio`` standard deviations.

        :returns: float64, shape (n,).
        """
        if ratio == 0:
            return self.distribution_with_mean(0.5)
        if ratio < 0:  # swap the sides, so that the ratio is positive
            return Sample(1 - self.values[::-1], self.counts[::-1]).distribution_with_ratio(-ratio)[::-1]
        return self._distribution_with_positive_ratio(ratio)

    def log_ratio(self, h0: Floats, h1: Floats) -> float:
        """Return ln(the sample's likelihood under ``h1`` / its likelihood under ``h0``)."""
        return float(self.counts @ (np.log(h1) - np.log(h0)))

    def _distribution_with_positive_ratio(self, ratio: float) -> Floats:
        """Return the most likely distribution whose mean is 1/2 plus ``ratio`` standard deviations.

        Let s be a standard deviation, and m = 1/2 + ratio * s the mean that goes with it. The distribution
        tilted by values - 1/2 - ratio * s / 2 * (1 + ((values - m) / s)^2) is a candidate if its mean is m.
        Fixed-point iteration on m may cycle, or converge to a solution that is not the best. Instead, s is
        scanned on a coarse grid. Where the difference between m and the mean of the tilted distribution
        changes sign, s is then refined.
        """
        coarse = np.geomspace(1e-7, 0.5 / ratio if ratio > 1 else 0.5, _GRID_SIZE)
        brackets = self._sign_changes(ratio, coarse)
        for _ in range(_NARROWING_COUNT):
            finer = [(self._sign_changes(ratio, np.linspace(*bracket, 12)), bracket) for bracket in brackets]
            brackets = [narrower[0] if narrower else bracket for narrower, bracket in finer]
        candidates = self._distributions(ratio, np.array([sum(bracket) / 2 for bracket in brackets]))[1]
        return max(candidates, key=lambda distribution: float(self.shares @ np.log(distribution)))

    def _sign_changes(self, ratio: float, deviations: Floats) -> list[tuple[float, float]]:
        """Return pairs of neighbouring deviations between which the difference of the means changes sign."""
        possible, tilted = self._distributions(ratio, deviations)
        differences = tilted @ self.values - (0.5 + ratio * deviations)
        changed = possible[:-1] & possible[1:] & ((differences[:-1] > 0) != (differences[1:] > 0))
        return [(float(deviations[index]), float(deviations[index + 1])) for index in np.flatnonzero(changed)]

    def _distributions(self, ratio: float, deviations: Floats) -> tuple[npt.NDArray[np.bool_], Floats]:
        """Return a mask of the deviations that have a distribution, and the distributions, one per row."""
        deviation_column = deviations[:, None]
        standard_scores = (self.values - 0.5 - ratio * deviation_column) / deviation_column
        excess = self.values - 0.5 - ratio * deviation_column / 2 * (1 + standard_scores**2)
        possible = (excess.max(-1) > 0) & (excess.min(-1) < 0)
        tilted = np.full(excess.shape, np.nan)
        tilted[possible] = _tilt(excess[possible], self.shares)
        return possible, tilted


def _tilt(excess: Floats, shares: Floats) -> Floats:
    """Return the most likely distribution under which a quantity has mean 0.

    The distribution is shares / (1 + t * excess). Bisection finds the only suitable t.

    :param excess: the quantity for each result, with values of both signs: shape (..., n).
    :param shares: share of each result in the sample, above 0: shape (n,).
    """
    low, high = -1 / excess.max(-1, keepdims=True), -1 / excess.min(-1, keepdims=True)
    for _ in range(_HALVING_COUNT):
        middle = (low + high) / 2
        is_above = (shares * excess / (1 + middle * excess)).sum(-1, keepdims=True) > 0
        low, high = np.where(is_above, middle, low), np.where(is_above, high, middle)
    tilted: Floats = shares / (1 + (low + high) / 2 * excess)
    return tilted
