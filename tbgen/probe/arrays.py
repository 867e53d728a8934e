"""Look-ups of many positions with the same men: numpy arrays in, numpy arrays out."""

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.board.kinds import KINDS, KING, PIECE_ORDER, between, reach
from tbgen.board.material import MAX_MEN, Material
from tbgen.board.score import NONE
from tbgen.errors import MissingLayerError, UsageError, quote
from tbgen.index.arrays import slots_of
from tbgen.index.layout import SIDES, Layout, Side, layout_of
from tbgen.index.table import NO_SCORE
from tbgen.packed.tables import AnyTable
from tbgen.probe.values import Values
from tbgen.store.table_file import TableFile
from tbgen.system.memory import processor_count

Codes: TypeAlias = NDArray[np.uint8]
Depths: TypeAlias = NDArray[np.int32]
Man: TypeAlias = tuple[int, Side]
"""Kind and side of a man."""

UNKNOWN_DEPTH: Final = -1
"""Depth where none is stored, and where the men form no legal position."""
_LETTERS: Final = PIECE_ORDER + "P"
_PAWN: Final = len(PIECE_ORDER)
"""Number of the pawn, after the numbers of the other kinds."""
_BIT: Final = np.uint64(1) << np.arange(64, dtype=np.uint64)
_REACH: Final = np.array(
    [[*map(reach, KINDS), chess.BB_PAWN_ATTACKS[side == 0]] for side in SIDES], np.uint64
)
"""Squares that a man attacks on an empty board, by side, kind and square."""
_QUEEN: Final = KINDS[PIECE_ORDER.index("Q")]
_BETWEEN: Final = np.array(
    [[between(_QUEEN, start, stop) for stop in range(64)] for start in range(64)], np.uint64
)
"""Squares between two squares; empty unless these share a line."""


class ArrayProbes:
    """Looks up many positions at once. Plain tables are loaded into memory and cached there.

    :param values: the look-up of single positions, which also opens the tables.
    """

    def __init__(self, values: Values) -> None:
        self._values = values

    def probe(self, men: str, squares: Any, side: Any, accrued: Any) -> tuple[Codes, Depths]:
        """Return values and depths as :meth:`tbgen.Tablebase.probe_arrays` does."""
        _check_men(men)
        squares = _byte_array("squares", squares, (None, len(men)), 63)
        side = _byte_array("side", side, (len(squares),), 1)
        codes = _accrued_codes(accrued, len(squares))
        value = np.full(len(squares), NONE, np.uint8)
        depth = np.full(len(squares), UNKNOWN_DEPTH, np.int32)
        kinds = [(_LETTERS.index(man.upper()), SIDES[man.islower()]) for man in men]
        by_side = [np.flatnonzero(side == mover) for mover in SIDES]
        legal = [_legality(kinds, squares[rows], mover) for mover, rows in zip(SIDES, by_side, strict=True)]
        rows = np.concatenate([rows[is_legal] for rows, is_legal in zip(by_side, legal, strict=True)])
        if len(rows):
            layout, swapped, order = _arrangement(kinds)
            slots = slots_of(layout, squares[rows][:, order] ^ np.uint8(56 if swapped else 0))
            by_slot = np.argsort(slots)  # neighbours share blocks and pages
            rows, slots = rows[by_slot], slots[by_slot]
            movers, codes = side[rows] ^ np.uint8(swapped), codes[rows]
            if swapped:
                codes = np.where(codes == NONE, NONE, 255 - codes).astype(np.uint8)
            table = self._values.table(layout.material)
            fresh, depth[rows] = self._of_slots(table, movers, slots, codes)
            value[rows] = 255 - fresh if swapped else fresh
        return value, depth

    def of_slots(self, file: TableFile, side: Any, slots: Any, accrued: Any) -> tuple[Codes, Depths]:
        """Return values and depths as :meth:`tbgen.probe.positions.PositionTable.look_up` does."""
        slots = _numbers("slots", slots, (None,), "ui")  # a boolean mask is rejected
        if slots.size and (slots.min() < 0 or slots.max() >= file.info.size):
            raise UsageError(f"{file.layout.material} has no slots below 0 or above {file.info.size - 1}")
        slots, side = slots.astype(np.int64), _byte_array("side", side, slots.shape, 1)
        codes = _accrued_codes(accrued, len(slots))
        value, depth = np.full(len(slots), NONE, np.uint8), np.full(len(slots), UNKNOWN_DEPTH, np.int32)
        rows = np.flatnonzero(self._values.loaded(file).value[side, slots] != NONE)
        value[rows], depth[rows] = self._of_slots(file, side[rows], slots[rows], codes[rows])
        return value, depth

    def _of_slots(
        self, table: AnyTable, side: Codes, slots: NDArray[np.int64], accrued: Codes
    ) -> tuple[Codes, Depths]:
        """Return values and depths of legal positions at canonical slots of a table, in the table's colours.

        :param side: uint8 (n,), sides to move.
        :param accrued: uint8 (n,), codes of accrued scores, NONE for none.
        :raises UsageError: if an accrued score ends the game, but its position does not.
        :raises MissingLayerError: if an accrued score counts and the table stores none.
        """
        none = inherited = np.full(len(slots), NO_SCORE)
        if (accrued != NONE).any():
            inherited = np.where(_inherits(table.layout, side, slots, accrued), accrued, none)
        stored = table.info.stores_accrued
        value, depth = self._values.look_up(table, side, slots, inherited if stored else none)
        if not stored:
            rank = np.minimum(inherited, 255 - inherited)
            places = np.flatnonzero((inherited >= 0) & (rank <= np.minimum(value, 255 - value)))
            if len(places) and self._values.variant.layered:
                raise MissingLayerError(
                    f"{table.layout.material} was built without accrued scores: build it again "
                    "(tbgen build --force)"
                )
            value[places], depth[places] = inherited[places], 0
        return value, depth


def _legality(men: Sequence[Man], squares: NDArray[np.uint8], side: Side) -> NDArray[np.bool_]:
    """Return which positions of the same men are legal with ``side`` to move: bool (n,).

    :param squares: uint8 (n, men).
    """
    occupied = np.bitwise_or.reduce(_BIT[squares], axis=1)
    legal = np.bitwise_count(occupied) == len(men)
    king = squares[:, men.index((KING, SIDES[1 - side]))]
    for (kind, owner), square in zip(men, squares.T, strict=True):
        if kind == _PAWN:
            legal &= (square >= 8) & (square < 56)
        if owner == side:
            legal &= (_REACH[side, kind][square] & _BIT[king] == 0) | (_BETWEEN[square, king] & occupied != 0)
    return np.asarray(legal, np.bool_)


def _arrangement(men: Sequence[Man]) -> tuple[Layout, bool, list[int]]:
    """Return the layout of men, whether its colours are swapped, and the men's columns in its order."""
    white, black = ("".join(_LETTERS[kind] for kind, owner in sorted(men) if owner == side) for side in SIDES)
    material, swapped = Material.of_sides(white, black)
    layout, remaining = layout_of(material), dict(enumerate(men))
    pawns = [(_PAWN, 0)] * layout.white_pawns + [(_PAWN, 1)] * layout.black_pawns
    columns = []
    for kind, side in [*zip(layout.kinds, layout.colours, strict=True), *pawns]:
        columns.append(next(column for column, man in remaining.items() if man == (kind, side ^ swapped)))
        del remaining[columns[-1]]
    return layout, swapped, columns


def _inherits(layout: Layout, side: Codes, slots: NDArray[np.int64], accrued: Codes) -> NDArray[np.bool_]:
    """Return where an accrued score counts and differs from the position score.

    :raises UsageError: if an accrued score ends the game, but its position does not.
    """
    from tbgen.packed.decoder import ranks_of
    from tbgen.packed.tables import ensure_compiled

    ensure_compiled()
    ranks, accrued_rank = np.zeros(len(slots), np.int64), np.minimum(accrued, 255 - accrued)
    for mover in SIDES:
        rows = np.flatnonzero(side == mover)
        ranks[rows] = ranks_of(layout, mover, slots[rows], processor_count())
    ended = np.flatnonzero((ranks >= 2) & (accrued_rank < 2))
    if len(ended):
        raise UsageError(f"{len(ended)} of the accrued scores end the game, but their positions do not")
    is_position_score = (ranks == accrued_rank) & ((accrued > NONE) == (side == 0))
    return np.asarray((accrued != NONE) & (ranks >= 2) & (accrued_rank <= ranks) & ~is_position_score)


def _accrued_codes(accrued: Any, count: int) -> Codes:
    """Return the codes of accrued scores, NONE for none.

    Raises as :func:`_byte_array` does.
    """
    if accrued is None:
        return np.full(count, NONE, np.uint8)
    return _byte_array("accrued", accrued, (count,), 255)


def _check_men(men: str) -> None:
    """Check that letters name two to five men, with one king of each side.

    :raises UsageError: if the letters do not.
    :raises TypeError: if ``men`` is not text.
    """
    if not isinstance(men, str):
        raise TypeError(f"the men cannot be {type(men).__name__}: expected letters such as KkB")
    if set(men) - set("KQRBNPkqrbnp") or men.count("K") != 1 or men.count("k") != 1 or len(men) > MAX_MEN:
        raise UsageError(
            f"{quote(men)} names no men: expected two to {MAX_MEN} letters such as KkB, White's in upper "
            "case, with one king of each side"
        )


def _byte_array(name: str, argument: Any, shape: tuple[int | None, ...], maximum: int) -> NDArray[np.uint8]:
    """Return an argument as a uint8 array of numbers from 0 to ``maximum``.

    :raises UsageError: if it has another shape, or a number out of range.
    :raises TypeError: if its elements are not whole numbers.
    """
    array = _numbers(name, argument, shape, "bui")
    if array.size and (array.min() < 0 or array.max() > maximum):
        raise UsageError(f"{name} has numbers below 0 or above {maximum}")
    return array.astype(np.uint8)


def _numbers(name: str, argument: Any, shape: tuple[int | None, ...], kinds: str) -> NDArray[Any]:
    """Return an argument as an array of whole numbers.

    :param shape: the expected shape; None for an axis of any length.
    :param kinds: the accepted kinds of numpy's types, one letter each.
    :raises UsageError: if it has another shape.
    :raises TypeError: if its elements are not whole numbers.
    """
    expected = str(shape).replace("None", "n")
    try:
        array = np.asarray(argument)
    except ValueError:
        raise UsageError(f"{name} has rows of different lengths: expected the shape {expected}") from None
    if array.shape[:1] == (0,) and shape[0] in (None, 0):  # such as an empty list, whatever its type
        return np.zeros([length or 0 for length in shape], np.uint8)
    if len(array.shape) != len(shape) or any(
        length not in (None, actual) for length, actual in zip(shape, array.shape, strict=True)
    ):
        raise UsageError(f"{name} has the shape {array.shape}: expected {expected}")
    if array.dtype.kind not in kinds:
        raise TypeError(f"{name} has elements of type {array.dtype}: expected whole numbers")
    return array
