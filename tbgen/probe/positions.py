"""All positions of a table as numpy arrays, for research and training."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from operator import methodcaller
from typing import Any, Final, Self, SupportsIndex, TypeAlias

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.board.fen import AnyBoard
from tbgen.board.material import Material
from tbgen.board.rules import FRESH
from tbgen.board.score import MAX_CODED_RANK, NONE, GScore
from tbgen.board.scoring import EXPONENTIAL, Komi, Scheme, Scoring, make_scoring, points
from tbgen.errors import UsageError, require_type, require_whole
from tbgen.index.arrays import slots_of, squares_of
from tbgen.index.layout import IMAGE, SIDES, TRANSPOSE, Layout, Side, Slot, layout_of
from tbgen.index.position import any_board_of, locate, validate
from tbgen.index.table import free_men_text, pawns_text
from tbgen.probe.arrays import ArrayProbes, byte_array
from tbgen.probe.states import AnyPosition, read_position
from tbgen.store.format import TableInfo
from tbgen.tables.library import Library
from tbgen.tables.open_table import OpenTable
from tbgen.text import counted, plies

BLOCK_SLOTS: Final = 1 << 20
"""Number of slots to decode together. Their values and depths take 3 MiB."""

_NAMES: Final = np.array(
    [
        "" if MAX_CODED_RANK < code < 255 - MAX_CODED_RANK else str(GScore.from_code(code))
        for code in range(256)
    ]
)
SCORE_NAMES: Final[NDArray[np.str_]] = np.frombuffer(_NAMES.tobytes(), _NAMES.dtype)  # read-only
"""Names of scores, indexed by their table codes: 256 texts, empty for codes that do not stand for a score."""

_SHOWN_POSITIONS: Final = 6
"""Number of positions that a notebook shows."""
_EMPTY_ARRAYS: Final = tuple(np.empty(0, dtype) for dtype in (np.uint8, np.int64, np.uint8, np.uint16))

ValueChoice: TypeAlias = GScore | str | Iterable[GScore | str] | None
"""One value, several values, or None for all values."""

DepthChoice: TypeAlias = int | range | None
"""One depth in plies, a range of depths, or None for all depths."""

_Selector: TypeAlias = Callable[[NDArray[np.uint8], NDArray[np.uint16]], NDArray[np.bool_]]
"""Function of values and depths that returns whether each position is selected."""


def points_by_code(
    scoring: str | Scheme | Scoring = EXPONENTIAL,
    cutoff: GScore | str | None = None,
    komi: Komi | str | None = None,
) -> NDArray[np.float64]:
    """Return White's points for each table code, 256 numbers; NaN for codes that do not stand for a score.

    ``points_by_code("harmonic")[values]`` converts an array of codes.

    The parameters are those of :func:`tbgen.points`, and so are the errors raised.
    """
    scoring = make_scoring(scoring, cutoff, komi)
    return np.array([points(name, scoring).white if name else np.nan for name in SCORE_NAMES.tolist()])


@dataclass(frozen=True, slots=True, eq=False)
class Positions:
    """Positions of one table, in the order of the table, as arrays of shape (n,), where n is ``len(self)``.

    The colours are those of the table: White has the men that the material names first.

    :ivar layout: the layout of the table, which numbers its slots.
    :ivar side: the sides to move: 0 is White, 1 is Black.
    :ivar slot: the slots in the table; positions that are symmetric images of each other share a slot.
    :ivar value: table codes of the fresh values: the rank of a score of White, 255 minus the rank of a score
        of Black. The smaller the code, the better for White. ``GScore.from_code(code)`` returns the score.
    :ivar depth: the fresh depths, in plies.

    Codes and depths are unsigned: convert them, as by ``depth.astype(int)``, before you negate or subtract
    them. The deepest position comes first in ``positions[np.argsort(-positions.depth.astype(int))]``.
    """

    layout: Layout
    side: NDArray[np.uint8]
    slot: NDArray[np.int64]
    value: NDArray[np.uint8]
    depth: NDArray[np.uint16]

    def __len__(self) -> int:
        return len(self.slot)

    def __repr__(self) -> str:
        return f"<{counted(len(self), 'position')} of {self.layout.material}>"

    def __getitem__(self, selection: slice | NDArray[np.bool_] | NDArray[np.intp]) -> Self:
        """Return the positions that a slice, a mask or indices select, as in numpy.

        :raises TypeError: if the selection is a single index, or has more than one axis.
        :raises IndexError: if an index is too large, or a mask has another length.
        """
        side, *others = (array[selection] for array in self.arrays())
        if np.ndim(side) != 1:
            expected = "a slice, a mask or indices of one axis, or use board() or boards()"
            raise TypeError(f"the index selects no array: expected {expected}")
        return type(self)(self.layout, side, *others)

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Return the arrays: side, slot, value and depth."""
        return self.side, self.slot, self.value, self.depth

    @property
    def men(self) -> str:
        """The men in the order of :meth:`squares`, such as ``KkB``; White's men are in upper case."""
        return f"{free_men_text(self.layout)}{pawns_text(self.layout)}".replace(" ", "")

    def squares(self) -> NDArray[np.uint8]:
        """Return the squares of the men, from a1 = 0 to h8 = 63, shape (n, men)."""
        return squares_of(self.layout, self.slot)

    def weights(self) -> NDArray[np.int64]:
        """Return how many boards share the slot of each position, int64 (n,): all its symmetric images.

        With pawns, these are 2 boards; else 8, or 4 if the position is its own image in a long diagonal. With
        them, ``np.bincount(positions.value, positions.weights(), 256)`` counts the boards of each value.
        """
        if self.layout.pawns:
            return np.full(len(self), 2)
        squares = self.squares()
        image = np.array(IMAGE[TRANSPOSE], np.uint8)[squares]
        for start, stop in self.layout.like_men:
            image[:, start:stop].sort(axis=1)
        return np.where((image == squares).all(axis=1), 4, 8)

    def board(self, index: int) -> AnyBoard:
        """Return the position with the index ``index`` as a board.

        :raises TypeError: if the index is not a whole number.
        :raises IndexError: if it is too large.
        """
        require_type("the index", index, SupportsIndex, "a whole number")
        return any_board_of(self.layout, Side(int(self.side[index])), Slot(int(self.slot[index])))

    def boards(self) -> Iterator[AnyBoard]:
        """Yield all positions as boards, about twenty thousand per second."""
        return (self.board(index) for index in range(len(self)))

    def _repr_html_(self) -> str:
        """Return the first positions with their values, for notebooks."""
        figures = "".join(map(self._figure, range(min(len(self), _SHOWN_POSITIONS))))
        note = f"the first {_SHOWN_POSITIONS} of " if len(self) > _SHOWN_POSITIONS else ""
        return f"<p>{note}{counted(len(self), 'position')} of {self.layout.material}</p>{figures}"

    def _figure(self, index: int) -> str:
        """Return a position with its value as HTML."""
        from tbgen.html.diagrams import board_figure

        value = f"{GScore.from_code(int(self.value[index]))}, {plies(int(self.depth[index]))}"
        return board_figure(self.board(index), value)


class PositionTable:
    """The positions of one table with fresh values and depths, except the few with an en passant right.

    :meth:`tbgen.Tablebase.table` returns this object. Once the tablebase is closed, the methods that read the
    file raise a :class:`~tbgen.errors.ClosedError`; only :meth:`board`, :meth:`slot` and :meth:`slots` do not
    read it. Unpickling opens the directories of the tablebase again.

    All methods that select positions have these parameters:

    :param value: a G-score, its text, or several G-scores or texts; the colours are those of the table.
    :param depth: a number of plies from 0, or a ``range`` of numbers.
    :param side: the side to move, ``chess.WHITE`` or ``chess.BLACK``.
    """

    def __init__(self, tablebase: object, library: Library, info: TableInfo, arrays: ArrayProbes) -> None:
        self._tablebase = tablebase
        self._library = library
        self._arrays = arrays
        self.material = Material.parse(info.material)
        self.layout = layout_of(self.material)
        self.positions_of_sides: tuple[int, int] = info.positions
        """Number of positions with White to move, and number with Black to move."""

    @property
    def _file(self) -> OpenTable:
        """The open file. No reference to it is kept, so it closes with the tablebase."""
        return self._library.plain(self.material)

    def __reduce__(self) -> tuple[Any, ...]:
        return methodcaller("table", self.material.name), (self._tablebase,)

    def __repr__(self) -> str:
        return f"<positions of {self.material}>"

    def count(
        self, *, value: ValueChoice = None, depth: DepthChoice = None, side: chess.Color | None = None
    ) -> int:
        """Return the number of selected positions."""
        return sum(len(block) for block in self.blocks(value=value, depth=depth, side=side))

    def positions(
        self, *, value: ValueChoice = None, depth: DepthChoice = None, side: chess.Color | None = None
    ) -> Positions:
        """Return all selected positions. With five men, there can be several hundred million of them, at 12
        bytes each.

        :raises DamagedTableError: if the file cannot be read.
        """
        return self._join(list(self.blocks(value=value, depth=depth, side=side)))

    def blocks(
        self, *, value: ValueChoice = None, depth: DepthChoice = None, side: chess.Color | None = None
    ) -> Iterator[Positions]:
        """Return the selected positions block by block, White to move first. Empty blocks are omitted.

        :raises DamagedTableError: if the file cannot be read.
        """
        selector = _make_selector(value, depth)
        blocks = (self._block(*side_and_start, selector) for side_and_start in self._sides_and_starts(side))
        return (block for block in blocks if len(block))

    def sample(
        self,
        count: int,
        seed: int,
        *,
        value: ValueChoice = None,
        depth: DepthChoice = None,
        side: chess.Color | None = None,
    ) -> Positions:
        """Return ``count`` different positions, selected at random, in the order of the table.

        Every set of this size is equally likely. The same seed gives the same sample.

        :raises UsageError: if the table has fewer such positions, or ``count`` or ``seed`` is negative.
        :raises TypeError: if an argument has a wrong type.
        :raises DamagedTableError: if the file cannot be read.
        """
        require_whole("count", count, 0)
        require_whole("seed", seed, 0)
        selector = _make_selector(value, depth)
        generator = np.random.default_rng(seed)
        sides_and_starts = list(self._sides_and_starts(side))
        counts = [len(self._block(*side_and_start, selector)) for side_and_start in sides_and_starts]
        if count > sum(counts):
            raise UsageError(f"{self.material} has {sum(counts):,} such positions, and not {count:,}")
        shares = generator.multivariate_hypergeometric(counts, count, method="marginals")
        blocks = []
        for side_and_start, size, share in zip(sides_and_starts, counts, shares.tolist(), strict=True):
            if share:
                chosen = np.sort(generator.choice(size, share, replace=False, shuffle=False))
                blocks.append(self._block(*side_and_start, selector)[chosen])
        return self._join(blocks)

    def board(self, side: int, slot: int) -> AnyBoard:
        """Return the position of a slot; with side 0, White is to move.

        >>> import tbgen
        >>> with tbgen.open_tablebase("data") as tables:  # doctest: +SKIP
        ...     print(tables.table("KBvK").board(1, 2653).fen())
        8/8/1k6/8/5B2/8/8/K7 b - - 0 1

        :raises UsageError: if the slot has no legal position.
        :raises TypeError: if an argument has a wrong type, such as ``chess.WHITE``.
        """
        require_whole("side", side, 0, 1)
        require_whole("slot", slot, 0)
        try:
            board = any_board_of(self.layout, SIDES[side], Slot(slot))
            validate(board)
        except (ValueError, IndexError):
            raise UsageError(
                f"{self.material} has no position with side {side} to move in slot {slot}"
            ) from None
        return board

    def slot(self, position: AnyPosition) -> tuple[int, int]:
        """Return the side to move and the slot of a position, in the colours of the table.

        :raises UsageError: if the table does not contain the position.
        """
        board, _ = read_position(position, FRESH, self._library.variant)
        validate(board)
        located = locate(board)
        if located.shape.material != self.material or located.ep_square >= 0:
            kind = located.shape.material if located.ep_square < 0 else "one with an en passant right"
            raise UsageError(f"the position is {kind}, not one of {self.material} without en passant rights")
        return located.side, located.slot

    def slots(self, squares: Any) -> NDArray[np.int64]:
        """Return the slots of positions: the inverse of :meth:`Positions.squares`, up to symmetric images.

        The slot is -1 if a man cannot be on its square. Other illegal positions have empty slots.

        :raises UsageError: if the squares are not of shape (n, men), or a number is not a square.
        :raises TypeError: if they are not whole numbers.
        """
        shape = (None, self.layout.free_count + self.layout.pawns)
        return slots_of(self.layout, byte_array("squares", squares, shape, 63))

    def look_up(
        self, side: Any, slots: Any, accrued: Any = None
    ) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
        """Return values and depths of slots, with any accrued scores.

        This loads the table into memory. The results, and the arguments other than ``slots``, are as in
        :meth:`tbgen.Tablebase.probe_arrays`, but in the colours of the table.

        :param slots: slots of the table, whole numbers of shape (n,). A slot that is not canonical counts as
            empty.

        >>> import tbgen
        >>> with tbgen.open_tablebase("data") as tables:  # doctest: +SKIP
        ...     tables.table("KBvK").look_up([1, 0], [37587, 0])
        (array([  3, 127], dtype=uint8), array([ 4, -1], dtype=int32))

        :raises UsageError: if an argument has a wrong shape or numbers out of range, or an accrued score ends
            the game, but its position is neither mate nor stalemate.
        :raises TypeError: if an argument has a wrong type.
        :raises DamagedTableError: if the file cannot be read.
        """
        return self._arrays.look_up_slots(self._file, side, slots, accrued)

    def _sides_and_starts(self, side: chess.Color | None) -> Iterator[tuple[int, int]]:
        if not isinstance(side, bool | np.bool_ | None):  # 0 would be Black here, but it is White in tables
            raise TypeError(
                f"the side cannot be {side!r}: expected chess.WHITE, chess.BLACK, or None for both"
            )
        movers = (0, 1) if side is None else (0 if side else 1,)
        return product(movers, range(0, self.layout.size, BLOCK_SLOTS))

    def _block(self, side: int, start: int, selector: _Selector) -> Positions:
        size = min(BLOCK_SLOTS, self.layout.size - start)
        value, depth = np.empty(size, np.uint8), np.empty(size, np.uint16)
        self._file.read_slots(Side(side), start, value, depth)
        rows = np.flatnonzero(selector(value, depth))
        return Positions(
            self.layout, np.full(len(rows), side, np.uint8), start + rows, value[rows], depth[rows]
        )

    def _join(self, blocks: list[Positions]) -> Positions:
        parts = zip(_EMPTY_ARRAYS, *(block.arrays() for block in blocks), strict=True)
        return Positions(self.layout, *map(np.concatenate, parts))


def _make_selector(value: ValueChoice, depth: DepthChoice) -> _Selector:
    """Return the function that selects positions by value and depth.

    :raises UsageError: if a text is not a G-score, or the depth is negative.
    :raises TypeError: if an argument has a wrong type.
    """
    codes = np.full(256, value is None)
    codes[[score.code for score in _scores(value)]] = True
    codes[NONE] = False
    require_type("the depth", depth, int | np.integer | range | None, "plies, or a range of them")
    if depth is None:
        return lambda values, _: codes[values]
    if not isinstance(depth, range):
        require_whole("depth", depth, 0)
        depth = range(int(depth), int(depth) + 1)
    chosen = depth if depth.step > 0 else depth[::-1]
    wanted = np.zeros(1 << 16, np.bool_)
    wanted[max(chosen.start, chosen.start % chosen.step) : max(chosen.stop, 0) : chosen.step] = True
    return lambda values, depths: codes[values] & wanted[depths]


def _scores(value: ValueChoice) -> Iterator[GScore]:
    """Yield the selected values.

    :raises UsageError: if a text is not a G-score.
    :raises TypeError: if a value is neither G-score nor text.
    """
    is_iterable = isinstance(value, Iterable) and not isinstance(value, str)
    for score in value if is_iterable else () if value is None else (value,):  # type: ignore[union-attr]
        require_type("a value", score, GScore | str, "a G-score or its text")
        yield GScore(str(score))
