"""Whether the arrays of a table fit together, on which the kernels of the proof rely."""

import chess

from tbgen.index.table import LAST_RUN, Table
from tbgen.verify.en_passant import allowed_rights
from tbgen.verify.packed import disorder


def inconsistency(table: Table) -> str | None:
    """Return what does not fit, None if everything does."""
    try:
        table.check_shapes()
    except ValueError as error:
        return str(error).removeprefix(f"table {table.material}: ")
    if table.run_rank.size and table.run_rank[-1] < LAST_RUN:
        return "its last run is not marked as such"
    if table.functions is not None and (problem := disorder(table.functions)) is not None:
        return problem
    return _wrong_rights(table)


def _wrong_rights(table: Table) -> str | None:
    """Compare the en passant rights with what the pawns allow; name the first that is not the same."""
    stored = table.ep_config.tolist()
    expected = allowed_rights(table.layout).tolist()
    for number, (mine, right) in enumerate(zip(stored, expected, strict=False)):
        if mine != right:
            return f"ep/config {number} is {_right(mine)}, but its pawns allow {_right(right)}"
    if len(stored) == len(expected):
        return None
    longer, what = (stored, "holds") if len(stored) > len(expected) else (expected, "lacks")
    number = min(len(stored), len(expected))
    return f"ep/config {what} {_right(longer[number])}"


def _right(config: list[int]) -> str:
    phase, square = config
    name = chess.square_name(square) if 0 <= square < 64 else f"square {square}"
    return f"a capture on {name} in phase {phase}"
