"""Frequencies of symbols by context: from counts to what the coder works with, and back from a file."""

import numpy as np
from numpy.typing import NDArray

from tbgen.packed.kernels.rans import TOTAL, Model


def shares(counts: NDArray[np.int64]) -> NDArray[np.uint16]:
    """Return frequencies that sum up to ``TOTAL`` in every context that occurs, at least 1 for every symbol
    that does; shape (contexts, symbols) like the counts."""
    total = counts.sum(axis=1, keepdims=True)
    exact = counts * TOTAL / np.maximum(total, 1)
    size = np.maximum(np.floor(exact), counts > 0).astype(np.int64)
    for context in np.flatnonzero(total[:, 0]):
        row, over = size[context], int(size[context].sum()) - TOTAL
        if over < 0:
            row[np.argmax(counts[context])] -= over
        while over > 0:  # taken where it costs least
            loss = np.where(row > 1, counts[context] / np.maximum(row, 1), np.inf)
            row[np.argmin(loss)] -= 1
            over -= 1
    return np.asarray(size, np.uint16)


def model_of(size: NDArray[np.uint16]) -> Model:
    """Return the model with these shares, shape (contexts, symbols)."""
    wide = size.astype(np.int64)
    order = np.argsort(-wide, axis=1, kind="stable")
    edge = np.cumsum(np.take_along_axis(wide, order, axis=1), axis=1)
    start = np.empty_like(wide)
    np.put_along_axis(start, order, edge - np.take_along_axis(wide, order, axis=1), axis=1)
    return Model(
        start.astype(np.uint16), size.astype(np.uint16), order.astype(np.uint8), edge.astype(np.uint16)
    )
