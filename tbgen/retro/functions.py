"""Gathering the functions of a table phase by phase, and numbering them for good."""

import threading
from itertools import pairwise
from typing import Final

import numpy as np

from tbgen.index.layout import Layout, Side
from tbgen.index.table import Functions
from tbgen.retro.cache_lines import zeros
from tbgen.retro.kernels.bits import Codes, Words
from tbgen.retro.kernels.frame import Phase
from tbgen.retro.kernels.functions import NO_STEP, Names, Paths, functions_of, number_endings, rename
from tbgen.retro.kernels.numbering import numbering
from tbgen.retro.pool import Map

_FEW: Final = 1024
_PART: Final = 1 << 22


class FunctionBook:
    """The functions of a table: known ones, and which each slot has."""

    def __init__(self, layout: Layout, side: Side) -> None:
        self.side = side
        self._phase_size = layout.phase_size
        self._number: Names = zeros(layout.size, np.uint32)
        self._known = numbering(_FEW, NO_STEP)
        self._lock = threading.Lock()

    def of_phase(self, phase: int) -> Names:
        """Return the numbers of a phase's slots, shape (phase size,): zeros first, then those of the paths of
        White's accrued scores, and in the end those of functions."""
        return self._number[phase * self._phase_size : (phase + 1) * self._phase_size]

    def add(self, phase: Phase, by_holder: tuple[Paths, Paths], fresh: Codes, parts: int, run: Map) -> None:
        """Turn the paths of a phase into functions.

        ``by_holder`` are the paths of White's accrued scores, which lie in ``of_phase``, and of Black's;
        ``fresh`` uint8 (phase size,) the fresh values. ``run`` may work on ``parts`` parts
        of the words at once; like the threads, they change nothing in the end.
        """

        def finish(part: tuple[int, int]) -> None:
            endings = number_endings(phase, by_holder, fresh, *part)
            with self._lock:
                self._known, names = functions_of(endings, by_holder, self._known)
            rename(by_holder[0].of_slot[64 * part[0] : 64 * part[1]], names)

        edges = np.linspace(0, len(phase.canonical), parts + 1).astype(int).tolist()
        for _ in run(finish, pairwise(edges)):
            pass

    def finish(self) -> Functions:
        """Return the functions of the table, numbered by falling frequency; nothing can be added any more."""
        keys = self._known.key[: self._known.length[0]]
        count = np.zeros(len(keys), np.int64)
        for begin in range(0, len(self._number), _PART):
            count += np.bincount(self._number[begin : begin + _PART], minlength=len(keys))
        used = [0, *(np.flatnonzero(count[1:]) + 1).tolist()]
        entries = {function: _entries(keys, function) for function in used}
        order = [0, *sorted(used[1:], key=lambda function: (-count[function], entries[function]))]
        names = np.zeros(len(keys), np.uint32)
        names[order] = np.arange(len(order))
        rename(self._number, names)
        joined = np.frombuffer(b"".join(entries[function] for function in order), np.uint8)
        start = np.cumsum([0, *(len(entries[function]) // 2 for function in order)])
        return Functions(self.side, self._number, start, joined[::2].copy(), joined[1::2].copy())


def _entries(keys: Words, function: int) -> bytes:
    """Return the entries of a function, two bytes each: A and V(P, A)."""
    found = []
    while function:
        function, entry = divmod(int(keys[function]), 1 << 16)
        found.append(entry.to_bytes(2, "big"))
    return b"".join(reversed(found))
