"""Looking up many positions with the same men, with numpy arrays as arguments and results."""

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tbgen.board.kinds import FEN_LETTERS, MEN_LETTERS
from tbgen.board.material import MAX_MEN, Material
from tbgen.board.score import NONE
from tbgen.errors import MissingLayerError, UsageError, quote, require_type
from tbgen.index.arrays import Man, are_legal, ordered_men, slots_of
from tbgen.index.codes import NO_SCORE
from tbgen.index.layout import SIDES, Layout, layout_of
from tbgen.system.memory import processor_count
from tbgen.tables.library import Library
from tbgen.tables.open_table import OpenTable

Codes: TypeAlias = NDArray[np.uint8]
Depths: TypeAlias = NDArray[np.int32]

UNKNOWN_DEPTH: Final = -1
"""Stands for a depth that is not stored, and for the depth of an illegal position."""


class ArrayProbes:
    """Looks up many positions at once. The library loads plain tables into memory, and keeps them there.

    :param library: the tables.
    """

    def __init__(self, library: Library) -> None:
        self._library = library

    def probe(self, men: str, squares: Any, side: Any, accrued: Any) -> tuple[Codes, Depths]:
        """Return the values and depths that :meth:`tbgen.Tablebase.probe_arrays` describes."""
        _check_men(men)
        squares = byte_array("squares", squares, (None, len(men)), 63)
        side = byte_array("side", side, (len(squares),), 1)
        codes = _accrued_codes(accrued, len(squares))
        value = np.full(len(squares), NONE, np.uint8)
        depth = np.full(len(squares), UNKNOWN_DEPTH, np.int32)
        kinds = [(MEN_LETTERS.index(man.upper()), SIDES[man.islower()]) for man in men]
        by_side = [np.flatnonzero(side == mover) for mover in SIDES]
        legal = [are_legal(kinds, squares[rows], mover) for mover, rows in zip(SIDES, by_side, strict=True)]
        rows = np.concatenate([rows[is_legal] for rows, is_legal in zip(by_side, legal, strict=True)])
        if len(rows):
            layout, swapped, order = _layout_and_columns(kinds)
            slots = slots_of(layout, squares[rows][:, order] ^ np.uint8(56 if swapped else 0))
            by_slot = np.argsort(slots)  # neighbouring slots share blocks and pages
            rows, slots = rows[by_slot], slots[by_slot]
            movers = side[rows] ^ np.uint8(swapped)
            codes = codes[rows]
            if swapped:
                codes = np.where(codes == NONE, NONE, 255 - codes).astype(np.uint8)
            table = self._library.table(layout.material)
            fresh, depth[rows] = self._look_up_legal(table, movers, slots, codes)
            value[rows] = 255 - fresh if swapped else fresh
        return value, depth

    def look_up_slots(self, table: OpenTable, side: Any, slots: Any, accrued: Any) -> tuple[Codes, Depths]:
        """Return the values and depths that :meth:`tbgen.probe.positions.PositionTable.look_up` describes."""
        material = table.layout.material
        slots = _integer_array("slots", slots, (None,))
        if slots.size and (slots.min() < 0 or slots.max() >= table.info.size):
            raise UsageError(f"{material} has no slots below 0 or above {table.info.size - 1}")
        slots = slots.astype(np.int64)
        side = byte_array("side", side, slots.shape, 1)
        codes = _accrued_codes(accrued, len(slots))
        value, depth = np.full(len(slots), NONE, np.uint8), np.full(len(slots), UNKNOWN_DEPTH, np.int32)
        rows = np.flatnonzero(self._library.loaded(material).table.value[side, slots] != NONE)
        value[rows], depth[rows] = self._look_up_legal(table, side[rows], slots[rows], codes[rows])
        return value, depth

    def _look_up_legal(
        self, table: OpenTable, side: Codes, slots: NDArray[np.int64], accrued: Codes
    ) -> tuple[Codes, Depths]:
        """Return values and depths of legal positions at canonical slots of a table, in the table's colours.

        :param side: uint8 (n,), sides to move.
        :param accrued: uint8 (n,), codes of accrued scores; NONE for no score.
        :raises UsageError: if an accrued score ends the game, but its position does not.
        :raises MissingLayerError: if an accrued score counts, but the table does not store accrued scores.
        """
        none = inherited = np.full(len(slots), NO_SCORE)
        if (accrued != NONE).any():
            inherited = np.where(_has_effect(table.layout, side, slots, accrued), accrued, none)
        stored = table.info.stores_accrued
        value, depth = table.look_up(side, slots, inherited if stored else none)
        if not stored:
            rank = np.minimum(inherited, 255 - inherited)
            kept = np.flatnonzero((inherited >= 0) & (rank <= np.minimum(value, 255 - value)))
            if len(kept) and self._library.variant.layered:
                raise MissingLayerError(
                    f"{table.layout.material} was built without accrued scores: build it again "
                    "(tbgen build --force)"
                )
            value[kept] = inherited[kept]
            depth[kept] = 0
        return value, depth


def _layout_and_columns(men: Sequence[Man]) -> tuple[Layout, bool, list[int]]:
    """Return the layout for the men, whether their colours are swapped in it, and the column of each man
    in the order of the layout."""
    letters = [(MEN_LETTERS[kind], owner) for kind, owner in sorted(men)]
    white, black = ("".join(letter for letter, owner in letters if owner == side) for side in SIDES)
    material, swapped = Material.of_sides(white, black)
    layout = layout_of(material)
    remaining = dict(enumerate(men))
    columns = []
    for kind, side in ordered_men(layout):
        columns.append(next(column for column, man in remaining.items() if man == (kind, side ^ swapped)))
        del remaining[columns[-1]]
    return layout, swapped, columns


def _has_effect(layout: Layout, side: Codes, slots: NDArray[np.int64], accrued: Codes) -> NDArray[np.bool_]:
    """Return whether each accrued score counts and differs from the position score: bool (n,).

    :raises UsageError: if an accrued score ends the game, but its position does not.
    """
    from tbgen.tables.look_up_warmup import ensure_compiled

    ensure_compiled()
    from tbgen.tables.look_up import ranks_of

    ranks = np.zeros(len(slots), np.int64)
    accrued_rank = np.minimum(accrued, 255 - accrued)
    for mover in SIDES:
        rows = np.flatnonzero(side == mover)
        ranks[rows] = ranks_of(layout, mover, slots[rows], processor_count())
    ended = np.flatnonzero((ranks >= 2) & (accrued_rank < 2))
    if len(ended):
        raise UsageError(f"{len(ended)} of the accrued scores end the game, but their positions do not")
    is_position_score = (ranks == accrued_rank) & ((accrued > NONE) == (side == 0))
    return np.asarray((accrued != NONE) & (ranks >= 2) & (accrued_rank <= ranks) & ~is_position_score)


def _accrued_codes(accrued: Any, count: int) -> Codes:
    """Return the codes of accrued scores; NONE for no score.

    Raises as :func:`byte_array` does.
    """
    if accrued is None:
        return np.full(count, NONE, np.uint8)
    codes = byte_array("accrued", accrued, (count,), 255)
    if (codes == 255 - NONE).any():
        raise UsageError(f"accrued has {255 - NONE}, which is not the code of a score")
    return codes


def _check_men(men: str) -> None:
    """Check that letters name two to five men, with one king of each side.

    :raises UsageError: if they do not.
    :raises TypeError: if ``men`` is not text.
    """
    require_type("the men", men, str, "letters such as KkB")
    if set(men) - set(FEN_LETTERS) or men.count("K") != 1 or men.count("k") != 1 or len(men) > MAX_MEN:
        raise UsageError(
            f"{quote(men)} names no men: expected two to {MAX_MEN} letters such as KkB, White's in upper "
            "case, with one king of each side"
        )


def byte_array(name: str, argument: Any, shape: tuple[int | None, ...], maximum: int) -> NDArray[np.uint8]:
    """Return an argument as a uint8 array of numbers from 0 to ``maximum``.

    :raises UsageError: if the argument has a wrong shape, or a number out of range.
    :raises TypeError: if its elements are not whole numbers.
    """
    array = _integer_array(name, argument, shape)
    if array.size and (array.min() < 0 or array.max() > maximum):
        raise UsageError(f"{name} has numbers below 0 or above {maximum}")
    return array.astype(np.uint8)


def _integer_array(name: str, argument: Any, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """Return an argument as an array of whole numbers. Neither a mask nor the turns of boards are.

    :param shape: the expected shape; None for an axis of any length.
    :raises UsageError: if the argument has a wrong shape.
    :raises TypeError: if its elements are not whole numbers.
    """
    expected = str(shape).replace("None", "n")
    try:
        array = np.asarray(argument)
    except ValueError:
        raise UsageError(f"{name} has rows of different lengths: expected the shape {expected}") from None
    if array.shape[:1] == (0,) and shape[0] in (None, 0):  # such as an empty list, whatever its dtype
        return np.zeros([length or 0 for length in shape], np.uint8)
    if len(array.shape) != len(shape) or any(
        length not in (None, actual) for length, actual in zip(shape, array.shape, strict=True)
    ):
        raise UsageError(f"{name} has the shape {array.shape}: expected {expected}")
    if array.dtype.kind not in "ui":
        raise TypeError(f"{name} has elements of type {array.dtype}: expected whole numbers")
    return array
