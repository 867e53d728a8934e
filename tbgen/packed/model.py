"""Frequencies of symbols by context: from counts to what the coder works with, and back from a file."""

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tbgen.packed.kernels.rans import TOTAL, WIDE, Model

_AT_ONCE: Final = 256
"""Contexts that are put in order together, so that little memory goes round."""


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


def starts_of(size: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Return where each of the shares, shape (contexts, symbols), begins among those of its context."""
    start = np.zeros_like(size)
    for some, order, ends in _falling(size):
        before = ends - np.take_along_axis(size[some], order, axis=1)
        np.put_along_axis(start[some], order, before.astype(np.uint16), axis=1)
    return start


def model_of(size: NDArray[np.uint16]) -> Model:
    """Return the model with these shares, shape (contexts, symbols).

    :raises ValueError: if those of a context are neither all 0 nor sum up to ``TOTAL``: decoders would look
        for symbols where there are none.
    """
    contexts, symbols = size.shape
    if contexts and not (symbols and np.isin(size.sum(axis=1, dtype=np.int64), (0, TOTAL)).all()):
        raise ValueError(f"shares that do not sum up to {TOTAL}")
    # Filled up, and even in a context that does not occur, a decoder finds a place.
    places = -(-symbols // WIDE) * WIDE
    symbol = np.zeros((contexts, places), np.uint8)
    edge, mark = (np.full((contexts, length), TOTAL, np.uint16) for length in (places + 1, WIDE))
    for some, order, ends in _falling(size):
        symbol[some, :symbols], edge[some, 0], edge[some, 1:symbols] = order, 0, ends[:, :-1]
    mark[:, : places // WIDE] = edge[:, WIDE::WIDE]
    return Model(symbol, edge, mark)


def _falling(size: NDArray[np.uint16]) -> Iterator[tuple[slice, NDArray[np.int64], NDArray[np.int64]]]:
    """Yield contexts, their symbols by falling share, and where the shares of these end."""
    for first in range(0, len(size), _AT_ONCE):
        some = slice(first, first + _AT_ONCE)
        wide = size[some].astype(np.int64)
        order = np.argsort(-wide, axis=1, kind="stable")
        yield some, order, np.cumsum(np.take_along_axis(wide, order, axis=1), axis=1)
