"""Positions with the same men looked up at once: numpy arrays in, numpy arrays out."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.board.kinds import KINDS, KING, PIECE_ORDER, PROMOTIONS, between, reach
from tbgen.board.material import MAX_MEN, Material
from tbgen.board.score import NONE
from tbgen.errors import MissingLayerError, UsageError, quote
from tbgen.index.arrays import slots_of, squares_of
from tbgen.index.layout import SIDES, Layout, Side, layout_of
from tbgen.index.position import locate
from tbgen.index.table import FRESH, LAST_RUN, free_men, pawns
from tbgen.packed.tables import AnyTable
from tbgen.probe.values import Place
from tbgen.store import schema
from tbgen.store.cache import Recent
from tbgen.store.table_file import TableFile
from tbgen.system.memory import processors

if TYPE_CHECKING:
    from tbgen.packed.decoder import ArrayDecoder, Exits
    from tbgen.probe.values import Values


Codes = NDArray[np.uint8]
Depths = NDArray[np.int32]

UNKNOWN: Final = -1
"""Depth that is not stored, or of no position."""


class LoadedTable:
    """The values, depths and runs of a plain table.

    :raises DamagedTableError: if the file does not decode.
    """

    def __init__(self, file: TableFile) -> None:
        self._value, self._depth = file.data(schema.VALUE), file.data(schema.DEPTH)
        self._mask = file.data(schema.RUN_MASK).view("<u8")
        self._rank, self._run_value = file.data(schema.RUN_RANK), file.data(schema.RUN_VALUE)
        self._run_depth = file.data(schema.RUN_DEPTH)
        count = np.bitwise_count(self._mask).astype(np.int64)
        self._before = np.cumsum(count).reshape(count.shape) - count  # slots with runs before each word
        self._begin = np.concatenate([[0], np.flatnonzero(self._rank >= LAST_RUN) + 1])

    @property
    def bytes(self) -> int:
        """What it takes in memory."""
        return sum(each.nbytes for each in vars(self).values())

    def fresh(self, side: Codes, slots: NDArray[np.int64]) -> tuple[Codes, Depths]:
        """Return codes of W and D in plies; NONE and 0 where there is no position.

        :param side: uint8 (n,), sides to move.
        """
        return self._value[side, slots], self._depth[side, slots].astype(np.int32)

    def accrued(self, side: Codes, slots: NDArray[np.int64], accrued: Codes) -> tuple[Codes, Depths]:
        """Return codes of V(P, A) and D(P, A) where W does not decide.

        :param side: uint8 (n,), sides to move.
        :param accrued: codes of A, which must have been folded in and differ from g(P), and whose rank must
            not exceed that of W.
        """
        value, depth = accrued.copy(), np.zeros(len(slots), np.int32)
        holder, word, bit = (accrued > NONE).astype(np.int64), slots >> 6, (slots & 63).astype(np.uint64)
        mask = self._mask[holder, side, word]
        left = np.flatnonzero(mask >> bit & np.uint64(1))
        earlier = np.bitwise_count(mask[left] & (np.uint64(1) << bit[left]) - np.uint64(1))
        run = self._begin[self._before[holder[left], side[left], word[left]] + earlier]
        rank, found = np.minimum(accrued, 255 - accrued)[left], np.full(len(left), -1)
        at = np.arange(len(left))
        while len(at):  # all slots together go from run to run
            start = self._rank[run]
            counts = start % LAST_RUN <= rank[at]
            found[at[counts]] = run[counts]
            on = counts & (start < LAST_RUN)
            at, run = at[on], run[on] + 1
        told = np.flatnonzero(found >= 0)
        told = told[self._run_value[found[told]] != NONE]
        places, runs = left[told], found[told]
        value[places], depth[places] = self._run_value[runs], self._run_depth[runs]
        fresh = places[value[places] == FRESH]
        value[fresh], depth[fresh] = self.fresh(side[fresh], slots[fresh])
        return value, depth


Chosen = NDArray[np.intp]
"""Numbers of positions, shape (n,)."""

PAWN: Final = len(PIECE_ORDER)
"""Stands for a pawn where others have the number of their kind."""
_LETTERS: Final = PIECE_ORDER + "P"
_ONE: Final = np.uint64(1)
_BIT: Final = _ONE << np.arange(64, dtype=np.uint64)
_REACH: Final = np.array([reach(kind) for kind in KINDS], np.uint64)
_QUEEN: Final = KINDS[PIECE_ORDER.index("Q")]
_PASSED: Final = np.array(
    [[between(_QUEEN, start, stop) for stop in range(64)] for start in range(64)], np.uint64
)
"""What lies between two squares; nothing where no rider gets from one to the other."""
_PAWN_REACH: Final = np.array([chess.BB_PAWN_ATTACKS[side == 0] for side in SIDES], np.uint64)
"""Squares that a pawn attacks, by side and square."""


@dataclass(frozen=True, slots=True)
class Boards:
    """Positions with the same men and the same side to move.

    :ivar men: kind and side of each man.
    :ivar squares: uint8 (n, men).
    """

    men: tuple[tuple[int, Side], ...]
    squares: NDArray[np.uint8]
    side: Side

    @classmethod
    def of_letters(cls, letters: str, squares: NDArray[np.uint8], side: Side) -> "Boards":
        """Return positions of men named as in a FEN, White's in upper case."""
        men = tuple((_LETTERS.index(man.upper()), SIDES[man.islower()]) for man in letters)
        return cls(men, squares, side)

    @property
    def letters(self) -> str:
        """The men as :meth:`of_letters` takes them."""
        return "".join(_LETTERS[kind].lower() if side else _LETTERS[kind] for kind, side in self.men)

    def of_side(self, side: Side) -> list[int]:
        """Return the columns of a side's men."""
        return [man for man, (_, owner) in enumerate(self.men) if owner == side]

    def king(self, side: Side) -> int:
        """Return the column of a side's king."""
        return self.men.index((KING, side))

    @property
    def occupied(self) -> NDArray[np.uint64]:
        """The sets of squares where men stand, uint64 (n,)."""
        return np.asarray(np.bitwise_or.reduce(_BIT[self.squares], axis=1), np.uint64)

    def legal(self) -> NDArray[np.bool_]:
        """Tell which positions the men can stand in: bool (n,)."""
        good = np.bitwise_count(self.occupied) == len(self.men)
        for man, (kind, _) in enumerate(self.men):
            if kind == PAWN:
                good &= (self.squares[:, man] >= 8) & (self.squares[:, man] < 56)
        return np.asarray(good & ~self.in_check(SIDES[1 - self.side]), np.bool_)

    def in_check(self, side: Side) -> NDArray[np.bool_]:
        """Tell in which positions a side's king is attacked: bool (n,)."""
        king, occupied = self.squares[:, self.king(side)], self.occupied
        found = np.zeros(len(self.squares), np.bool_)
        for man in self.of_side(SIDES[1 - side]):
            found |= self._attacks(man, king, occupied)
        return found

    def _attacks(
        self, man: int, target: NDArray[np.uint8], occupied: NDArray[np.uint64]
    ) -> NDArray[np.bool_]:
        """Tell where a man attacks a square: bool (n,)."""
        (kind, side), square = self.men[man], self.squares[:, man]
        reached = _PAWN_REACH[side] if kind == PAWN else _REACH[kind]
        clear = _PASSED[square, target] & occupied == 0
        return np.asarray((reached[square] & _BIT[target] != 0) & clear, np.bool_)

    def zeroing(self, captures_only: bool) -> "Iterator[Zeroed]":
        """Yield what the zeroing moves lead to, a kind of move after the other, en passant captures aside.

        :param captures_only: whether pawn moves that capture nothing are left aside.
        """
        occupied = self.occupied
        for man in self.of_side(self.side):
            for enemy in self.of_side(SIDES[1 - self.side]):
                if self.men[enemy][0] != KING:
                    target = self.squares[:, enemy]
                    yield from self._moved(man, target, self._attacks(man, target, occupied), enemy)
            if self.men[man][0] == PAWN and not captures_only:
                yield from self._steps(man, occupied)

    def _steps(self, man: int, occupied: NDArray[np.uint64]) -> "Iterator[Zeroed]":
        forward, home = (-8, 6) if self.side else (8, 1)
        square = self.squares[:, man].astype(np.int64)
        free = _BIT[square + forward] & occupied == 0
        yield from self._moved(man, (square + forward).astype(np.uint8), free, None)
        twice = np.where(square >> 3 == home, square + 2 * forward, square)
        free &= (square >> 3 == home) & (_BIT[twice] & occupied == 0)
        for each in self._moved(man, twice.astype(np.uint8), free, None):
            yield each._replace(passed=(square + forward)[each.chosen])

    def _moved(
        self, man: int, target: NDArray[np.uint8], able: NDArray[np.bool_], captured: int | None
    ) -> "Iterator[Zeroed]":
        """Yield the positions after a man's move to a square, where it is able to go."""
        chosen = np.flatnonzero(able)
        squares = self.squares[chosen]
        squares[:, man] = target[chosen]
        men, mover = list(self.men), man
        if captured is not None:
            squares, mover = np.delete(squares, captured, 1), man - (captured < man)
            del men[captured]
        after = Boards(tuple(men), squares, SIDES[1 - self.side])
        legal = ~after.in_check(self.side)
        chosen, squares = chosen[legal], squares[legal]
        last = np.full(len(chosen), self.men[man][0] == PAWN) & (squares[:, mover] - 8 >= 48)
        yield Zeroed(chosen[~last], replace(after, squares=squares[~last]), None)
        for kind in PROMOTIONS if last.any() else ():
            men[mover] = kind, self.side
            yield Zeroed(chosen[last], replace(after, men=tuple(men), squares=squares[last]), None)


class Zeroed(NamedTuple):
    """What one kind of zeroing move leads to.

    :ivar chosen: of which positions, each once.
    :ivar passed: the squares that a pawn has passed by a double step, int64 (n,), or None.
    """

    chosen: Chosen
    boards: Boards
    passed: NDArray[np.int64] | None


_LOADED_BYTES: Final = 512 << 20
"""Plain tables that are kept in memory."""
_DECODERS: Final = 256
"""Packed tables whose decoders are kept: more than there are of five men."""


class ArrayProbes:
    """Looks many positions up; what it has loaded of plain tables stays in memory.

    :param values: opens the tables, and looks up the few positions with an en passant right.
    """

    def __init__(self, values: "Values") -> None:
        self._values = values
        self._loaded = Recent[LoadedTable](_LOADED_BYTES, lambda table: table.bytes)
        self._decoders: Recent[ArrayDecoder] = Recent(_DECODERS, lambda _: 1)

    def probe(self, men: str, squares: Any, side: Any, accrued: Any) -> tuple[Codes, Depths]:
        """Return what :meth:`tbgen.Tablebase.probe_arrays` does."""
        _check_men(men)
        squares = _array("squares", squares, (None, len(men)), 63)
        side = _array("side", side, (len(squares),), 1)
        held = None if accrued is None else _array("accrued", accrued, (len(squares),), 255)
        value = np.full(len(squares), NONE, np.uint8)
        depth = np.full(len(squares), UNKNOWN, np.int32)
        movers = [np.flatnonzero(side == mover) for mover in SIDES]
        legal = [
            rows[Boards.of_letters(men, squares[rows], mover).legal()]
            for mover, rows in zip(SIDES, movers, strict=True)
        ]
        rows = np.concatenate(legal)
        if len(rows):
            told = None if held is None else held[rows]
            value[rows], depth[rows] = self._of_squares(men, squares[rows], side[rows], told)
        return value, depth

    def of_slots(self, file: TableFile, side: Any, slots: Any, accrued: Any) -> tuple[Codes, Depths]:
        """Return what :meth:`tbgen.probe.positions.PositionTable.look_up` does."""
        material = Material.parse(file.info.material)
        slots = _numbers("slots", slots, (None,), "ui")  # a mask is none
        if slots.size and (slots.min() < 0 or slots.max() >= file.info.size):
            raise UsageError(f"{material} has no slots below 0 or above {file.info.size - 1}")
        slots, side = slots.astype(np.int64), _array("side", side, slots.shape, 1)
        held = None if accrued is None else _array("accrued", accrued, slots.shape, 255)
        value, depth = np.full(len(slots), NONE, np.uint8), np.full(len(slots), UNKNOWN, np.int32)
        rows = np.flatnonzero(self._plain(material, file).fresh(side, slots)[0] != NONE)
        told = None if held is None else held[rows]
        value[rows], depth[rows] = self._of_slots(file, side[rows], slots[rows], told)
        return value, depth

    def _of_slots(
        self, table: AnyTable, side: Codes, slots: NDArray[np.int64], accrued: Codes | None
    ) -> tuple[Codes, Depths]:
        """Return values and depths of legal positions at canonical slots of a table, in its colours.

        :param side: uint8 (n,), sides to move.
        :param accrued: uint8 (n,), codes of accrued scores, NONE for none.
        :raises UsageError: if an accrued score ends a game that goes on.
        :raises MissingLayerError: if the table has no accrued scores, and one counts.
        """
        material, layered = Material.parse(table.info.material), self._values.variant.layered
        stored = table.info.stores_accrued
        inherits, asked = np.zeros(len(slots), np.bool_), np.full(len(slots), -1, np.int64)
        if accrued is not None and (accrued != NONE).any():
            inherits = _inherits(table.layout, side, slots, accrued)
            asked[inherits] = accrued[inherits]
        held = None
        if isinstance(table, TableFile):
            plain = self._plain(material, table)
            value, depth = plain.fresh(side, slots)
        else:
            decoder = self._decoder(material, table)
            found = decoder.look_up_arrays(side, slots, asked if stored else np.full_like(asked, -1))
            value, depth, held = found[0].astype(np.uint8), found[1].astype(np.int32), found[2]
        if (value == NONE).any():
            raise table.damaged("it has no value for a legal position")
        places = np.flatnonzero(inherits)
        code = asked[places].astype(np.uint8)
        decided = np.minimum(code, 255 - code) > np.minimum(value, 255 - value)[places]
        places, code = places[~decided], code[~decided]
        if not layered:
            value[places], depth[places] = code, 0
        elif len(places) and not stored:
            raise MissingLayerError(
                f"{material} was built without accrued scores: build it again (tbgen build --force)"
            )
        elif held is None:
            value[places], depth[places] = plain.accrued(side[places], slots[places], code)
        else:
            value[places] = held[places]
            depth[places] = np.where(value[places] == code, 0, UNKNOWN)
        return value, depth

    def _of_squares(
        self, letters: str, squares: NDArray[np.uint8], side: Codes, accrued: Codes | None
    ) -> tuple[Codes, Depths]:
        """Return values and depths of legal positions, in their colours."""
        material, swapped, columns = _arrangement(letters)
        slots = slots_of(layout_of(material), squares[:, columns] ^ np.uint8(56 if swapped else 0))
        order = np.argsort(slots)  # neighbours share blocks and pages
        held = None
        if accrued is not None:
            held = accrued[order]
            if swapped:
                held = np.where(held == NONE, NONE, 255 - held).astype(np.uint8)
        value, depth = np.empty(len(slots), np.uint8), np.empty(len(slots), np.int32)
        movers, table = side[order] ^ np.uint8(swapped), self._values.table(material)
        value[order], depth[order] = self._of_slots(table, movers, slots[order], held)
        return (255 - value if swapped else value), depth

    def _plain(self, material: Material, file: TableFile) -> LoadedTable:
        return self._loaded.made(material, lambda: LoadedTable(file))

    def _decoder(self, material: Material, table: AnyTable) -> "ArrayDecoder":
        assert not isinstance(table, TableFile)

        def make() -> "ArrayDecoder":
            layout = layout_of(material)
            letters = f"{free_men(layout)}{pawns(layout)}".replace(" ", "")

            def exits(side: Side, slots: NDArray[np.int64], captures_only: bool) -> "Exits":
                return self._exits(Boards.of_letters(letters, squares_of(layout, slots), side), captures_only)

            return table.array_decoder(exits)

        return self._decoders.made(material, make)

    def _exits(self, boards: Boards, captures_only: bool) -> "Exits":
        """Return the exits of positions, as :meth:`PackedFile.array_decoder` wants them."""
        count, white = len(boards.squares), boards.side == 0
        best, nearest, farthest = np.full(count, -1), np.zeros(count, np.int64), np.zeros(count, np.int64)
        for zeroed in boards.zeroing(captures_only):
            if not len(zeroed.chosen):
                continue
            value, depth = self._after(zeroed)
            merit, at = (255 - value if white else value).astype(np.int64), zeroed.chosen
            better, equal = merit > best[at], merit == best[at]
            best[at] = np.maximum(best[at], merit)
            nearest[at] = np.where(better | equal & (depth < nearest[at]), depth, nearest[at])
            farthest[at] = np.where(better | equal & (depth > farthest[at]), depth, farthest[at])
        code = np.where(best < 0, NONE, 255 - best if white else best)
        return np.stack([code, nearest, farthest], axis=1)

    def _after(self, zeroed: Zeroed) -> tuple[Codes, Depths]:
        """Return fresh values and depths after zeroing moves, in the colours of their boards."""
        boards, passed = zeroed.boards, zeroed.passed
        side = np.full(len(boards.squares), boards.side, np.uint8)
        value, depth = self._of_squares(boards.letters, boards.squares, side, None)
        if passed is not None:
            beside = np.zeros(len(passed), np.bool_)
            for man in boards.of_side(boards.side):
                square, rank = boards.squares[:, man].astype(np.int64), 4 if boards.side == 0 else 3
                near = (square >> 3 == rank) & (abs((square & 7) - (passed & 7)) == 1)
                beside |= near & (boards.men[man][0] == PAWN)
            for number in np.flatnonzero(beside).tolist():
                found = self._passing(boards, number, int(passed[number]))
                if found is not None:
                    value[number], depth[number] = found
        return value, depth

    def _passing(self, boards: Boards, number: int, passed: int) -> tuple[int, int] | None:
        """Return code of W and D with the right to capture a pawn that has just passed a square, None if no
        such capture is legal."""
        board = chess.Board(None)
        for letter, square in zip(boards.letters, boards.squares[number].tolist(), strict=True):
            board.set_piece_at(square, chess.Piece.from_symbol(letter))
        board.turn, board.ep_square = boards.side == 0, passed
        position = locate(board)
        if position.ep_square < 0:
            return None
        code, depth = self._values.fresh(
            Place(position.shape.layout, position.side, position.slot, position.ep_square)
        )
        return (255 - code if position.shape.swapped else code), depth


def _inherits(layout: Layout, side: Codes, slots: NDArray[np.int64], accrued: Codes) -> NDArray[np.bool_]:
    """Tell where an accrued score counts, and not the position's own."""
    from tbgen.packed.decoder import ranks_of
    from tbgen.packed.tables import ensure_compiled

    ensure_compiled()
    own, rank = np.zeros(len(slots), np.int64), np.minimum(accrued, 255 - accrued)
    for mover in SIDES:
        rows = np.flatnonzero(side == mover)
        own[rows] = ranks_of(layout, mover, slots[rows], processors())
    ended = np.flatnonzero((own >= 2) & (rank < 2))
    if len(ended):
        raise UsageError(f"{len(ended)} of the accrued scores end the game, and there it goes on")
    is_own = (own == rank) & ((accrued > NONE) == (side == 0))
    return np.asarray((accrued != NONE) & (own >= 2) & (rank <= own) & ~is_own)


def _check_men(men: str) -> None:
    """Check that letters name two to five men, with one king of each side.

    :raises UsageError: if they do not.
    :raises TypeError: if they are no text.
    """
    if not isinstance(men, str):
        raise TypeError(f"the men cannot be {type(men).__name__}: expected letters such as KkB")
    if set(men) - set("KQRBNPkqrbnp") or men.count("K") != 1 or men.count("k") != 1 or len(men) > MAX_MEN:
        raise UsageError(
            f"{quote(men)} names no men: expected two to {MAX_MEN} letters such as KkB, White's in upper "
            "case, with one king of each side"
        )


def _array(name: str, given: Any, shape: tuple[int | None, ...], most: int) -> NDArray[np.uint8]:
    """Return an array of small numbers.

    :raises UsageError: if it has another shape, or a number out of range.
    :raises TypeError: if it has no whole numbers.
    """
    array = _numbers(name, given, shape, "bui")
    if array.size and (array.min() < 0 or array.max() > most):
        raise UsageError(f"{name} has numbers below 0 or above {most}")
    return array.astype(np.uint8)


def _numbers(name: str, given: Any, shape: tuple[int | None, ...], kinds: str) -> NDArray[Any]:
    """Return an array of whole numbers.

    :param shape: None for any length of an axis.
    :param kinds: which kinds of numbers these may be, as numpy has them.
    :raises UsageError: if it has another shape.
    :raises TypeError: if it has no whole numbers.
    """
    expected = str(shape).replace("None", "n")
    try:
        array = np.asarray(given)
    except ValueError:
        raise UsageError(f"{name} has rows of different lengths: expected the shape {expected}") from None
    if array.shape[:1] == (0,) and shape[0] in (None, 0):  # such as an empty list, whatever its type
        return np.zeros([length or 0 for length in shape], np.uint8)
    if len(array.shape) != len(shape) or any(
        length not in (None, found) for length, found in zip(shape, array.shape, strict=True)
    ):
        raise UsageError(f"{name} has the shape {array.shape}: expected {expected}")
    if array.dtype.kind not in kinds:
        raise TypeError(f"{name} has elements of type {array.dtype}: expected whole numbers")
    return array


def _arrangement(letters: str) -> tuple[Material, bool, list[int]]:
    """Return the table of men, whether its colours are the other way round, and which of the men are its, in
    the order of its index."""
    white, black = (
        "".join(sorted(letter.upper() for letter in letters if letter.isupper() == first))
        for first in (True, False)
    )
    material, swapped = Material.of_sides(white, black)
    layout = layout_of(material)
    wanted = f"{free_men(layout)}{pawns(layout)}".replace(" ", "")
    left: list[str] = list(letters.swapcase() if swapped else letters)
    columns = []
    for letter in wanted:
        column = left.index(letter)
        left[column] = ""
        columns.append(column)
    return material, swapped, columns
