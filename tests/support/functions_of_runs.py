"""The functions of a table from its runs, slot by slot."""

from collections import Counter

import numpy as np

from tbgen.index.codes import FRESH, LAST_RUN
from tbgen.index.layout import BLACK_TO_MOVE, Side
from tbgen.index.table import Table, ValueFunctions
from tests.support.table_states import runs_of


def functions_of_runs(table: Table, of: Side = BLACK_TO_MOVE) -> ValueFunctions:
    """Return the functions that the solver is expected to return instead of the runs of a table."""
    holder, side, slot = runs_of(table)
    rank = table.run_rank % LAST_RUN
    code = np.where(holder == 0, rank, 255 - rank).astype(np.uint8)
    value = np.where(table.run_value == table.value[side, slot], np.uint8(FRESH), table.run_value)
    chosen = np.flatnonzero(side == of)
    chosen = chosen[np.argsort(((slot * 2 + holder) * LAST_RUN + rank)[chosen])]
    holder, slot, code, value = holder[chosen], slot[chosen], code[chosen], value[chosen]
    # Runs of the same value differ in depth alone.
    same = (holder[1:] == holder[:-1]) & (slot[1:] == slot[:-1]) & (value[1:] == value[:-1])
    new = np.append(True, ~same)[: len(value)]
    slot, entries = slot[new], np.stack([code[new], value[new]], axis=1).tobytes()
    slots, first = np.unique(slot, return_index=True)
    ends = [*first[1:].tolist(), len(slot)]  # the last one is not used where there are no slots
    functions = [entries[2 * begin : 2 * end] for begin, end in zip(first.tolist(), ends, strict=False)]
    count = Counter(functions)
    ordered = [b"", *sorted(count, key=lambda function: (-count[function], function))]
    names = {function: number for number, function in enumerate(ordered)}
    number = np.zeros(table.layout.size, np.uint32)
    number[slots] = [names[function] for function in functions]
    start = np.cumsum([0, *(len(function) // 2 for function in ordered)])
    joined = np.frombuffer(b"".join(ordered), np.uint8).reshape(-1, 2)
    return ValueFunctions(of, number, start, joined[:, 0], joined[:, 1])
