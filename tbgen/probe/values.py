"""Values of states from the tables of some directories, and where the zeroing moves of positions lead."""

import functools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import chess

from tbgen.board.kinds import NO_PROMOTION, PROMOTIONS, between, reach
from tbgen.board.material import Material
from tbgen.board.score import NONE, Code, Signed, code_of, of_code, rank_of
from tbgen.board.variant import Variant
from tbgen.errors import MissingLayerError, MissingTableError, TbgenError, result_or_error
from tbgen.index.layout import (
    IMAGE,
    MIRROR_FILES,
    SIDES,
    Layout,
    Placement,
    Side,
    Slot,
    layout_of,
    swap_colours,
)
from tbgen.index.table import NO_SCORE
from tbgen.index.zeroing import CAPTURED_PAWN, PROMOTED, BestExit, ExitsOfMany, targets_of
from tbgen.packed.tables import AnyTable, open_table
from tbgen.probe.states import Goal, State
from tbgen.store.cache import ChunkCache, Recent
from tbgen.store.format import directories_of, find_table
from tbgen.store.table_file import Entry, TableFile

if TYPE_CHECKING:
    from tbgen.packed.file import PackedFile


_PAWN_REACH: Final = tuple(tuple(chess.BB_PAWN_ATTACKS[colour]) for colour in (chess.WHITE, chess.BLACK))
"""Squares that a pawn attacks, by side and square."""
_NOTHING: Final = 0
"""Captured, as :func:`tbgen.index.zeroing.targets_of` numbers it: by a pawn that steps forward."""


_Change: TypeAlias = tuple[Side, int, int]
"""What a move does to the men: the one that moves, the number of the man that is captured, and what a pawn
promotes to."""


class Place(NamedTuple):
    """Where a table keeps a position.

    :ivar ep_square: target of a legal en passant capture as the table numbers it, -1 without such a right.
    """

    layout: Layout
    side: Side
    slot: Slot
    ep_square: int


class ReachedPlace(NamedTuple):
    """Where a move leads.

    :ivar swapped: whether that table has the colours the other way round.
    """

    place: Place
    swapped: bool


_Move: TypeAlias = tuple[int, int, int, list[int], Placement, Sequence[int]]
"""A zeroing move, checks aside: from where, to where, the number of its capture, the squares of the free men
after it (of one that is captured the one where it stood), the mover's pawns after it, and what it promotes
to."""


class ZeroingMoves:
    """The captures and pawn moves in the positions of one table, without an en passant right; get it from
    :func:`zeroing_moves_of`."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._kinds = tuple(layout.material.kinds[kind] for kind in layout.kinds)
        self._reach = tuple(map(reach, self._kinds))
        self._men = tuple(
            tuple(man for man, colour in enumerate(layout.colours) if colour == side) for side in SIDES
        )
        self._targets = {
            (SIDES[side], *men): (layout_of(target.material), target.swapped, target.source)
            for (side, *men), target in targets_of(layout).items()
        }

    def reached(self, side: Side, slot: Slot, *, captures_only: bool = False) -> list[ReachedPlace]:
        """Return where the zeroing moves of a legal position lead, or its captures alone.

        :param slot: any slot of the position, canonical or not.
        """
        free, pawns = self._layout.squares(slot)
        white = self._layout.white_pawns
        mine, theirs = (pawns[white:], pawns[:white]) if side else (pawns[:white], pawns[white:])
        enemies = {free[man]: man + 1 for man in self._men[1 - side][1:]}  # all but the king
        enemies |= dict.fromkeys(theirs, CAPTURED_PAWN)
        occupied = 0
        for square in (*free, *pawns):
            occupied |= 1 << square
        found: list[ReachedPlace] = []
        for start, stop, captured, moved, own, promotions in self._moves(side, free, mine, enemies, occupied):
            if captured == _NOTHING and captures_only:
                continue
            left = theirs
            if captured == CAPTURED_PAWN:
                left = tuple(square for square in theirs if square != stop)
            men = occupied ^ 1 << start | 1 << stop
            if not self._in_check(side, moved, left, men, captured):
                double = captured == _NOTHING and abs(stop - start) == 16
                passed = self._passed(side, start, stop, moved, own, left, men) if double else -1
                found += [
                    self._reached((side, captured, kind), moved, own, left, passed) for kind in promotions
                ]
        return found

    def _moves(
        self, side: Side, free: list[int], mine: Placement, enemies: dict[int, int], occupied: int
    ) -> Iterator[_Move]:
        """Yield zeroing moves, checks aside.

        :param enemies: numbers of the captures, by square.
        """
        for man in self._men[side]:
            start = free[man]
            reached = self._reach[man][start]
            for stop, captured in enemies.items():
                if reached >> stop & 1 and not between(self._kinds[man], start, stop) & occupied:
                    moved = free.copy()
                    moved[man] = stop
                    yield start, stop, captured, moved, mine, (NO_PROMOTION,)
        forward, home = (-8, 6) if side else (8, 1)
        for start in mine:
            others = tuple(square for square in mine if square != start)
            targets = [target for target in enemies.items() if _PAWN_REACH[side][start] >> target[0] & 1]
            steps = 2 if start >> 3 == home else 1
            for stop in range(start + forward, start + forward * (steps + 1), forward):
                if occupied >> stop & 1:
                    break
                targets.append((stop, _NOTHING))
            for stop, captured in targets:
                if 8 <= stop < 56:
                    yield start, stop, captured, free, (*others, stop), (NO_PROMOTION,)
                else:
                    men = [*free, *[0] * (PROMOTED - len(free)), stop]
                    yield start, stop, captured, men, others, PROMOTIONS

    def _passed(
        self, side: Side, start: int, stop: int, free: list[int], mine: Placement, theirs: Placement, men: int
    ) -> int:
        """Return the square that a pawn has passed by a double step if it may be captured there, else -1."""
        middle, others = (start + stop) // 2, mine[:-1]
        for square in theirs:
            men_after = men ^ 1 << square ^ 1 << stop | 1 << middle
            able = _PAWN_REACH[side][middle] >> square & 1
            if able and not self._in_check(SIDES[1 - side], free, others, men_after, _NOTHING):
                return middle
        return -1

    def _in_check(self, side: Side, free: list[int], theirs: Placement, occupied: int, captured: int) -> bool:
        """Tell whether the other side's men, but for a captured one, attack the king of a side."""
        king = free[side]
        for man in self._men[1 - side]:
            start = free[man]
            attacks = self._reach[man][start] >> king & 1 and man + 1 != captured
            if attacks and not between(self._kinds[man], start, king) & occupied:
                return True
        pawns = _PAWN_REACH[side][king]  # from where pawns attack, which go the other way
        return any(pawns >> square & 1 for square in theirs)

    def _reached(
        self, change: _Change, free: list[int], mine: Placement, theirs: Placement, passed: int
    ) -> ReachedPlace:
        side, (layout, swapped, source) = change[0], self._targets[change]
        other = SIDES[1 - side]
        white, black = (theirs, mine) if side else (mine, theirs)
        squares = [free[man] for man in source]
        if swapped:
            other = side
            squares = [swap_colours(square) for square in squares]
            white, black = (tuple(map(swap_colours, pawns)) for pawns in (black, white))
            # An en passant right is of the same material as the position before, which is never swapped.
        if passed >= 0 and (*sorted(white), *sorted(black)) not in layout.rows:
            # Two pawns side by side are no mirror image of themselves: exactly one placement is canonical.
            passed = IMAGE[MIRROR_FILES][passed]
        return ReachedPlace(Place(layout, other, layout.slot(squares, (*white, *black)), passed), swapped)


zeroing_moves_of: Final = functools.cache(ZeroingMoves)
"""Returns the zeroing moves in the positions of a table."""


def best_exits(
    values: "Values", moves: ZeroingMoves, side: Side, slots: Sequence[Slot], *, captures_only: bool = False
) -> list[BestExit | TbgenError | None]:
    """Return the exits of positions of one table, as :class:`tbgen.index.zeroing.ExitsOfMany` says.

    :param values: looks up what the moves lead to.
    :param moves: those of the table.
    """
    reached = [moves.reached(side, slot, captures_only=captures_only) for slot in slots]
    values.learn((place, NO_SCORE) for each in reached for place, _ in each)
    return [result_or_error(_best, values, side, each) for each in reached]


def _best(values: "Values", side: Side, reached: list[ReachedPlace]) -> BestExit | None:
    found = [(values.fresh(place), swapped) for place, swapped in reached]
    if not found:
        return None
    entries = [(code ^ 255 if swapped else code, depth) for (code, depth), swapped in found]
    # The smaller the code, the better for the table's White.
    best = (max if side else min)(code for code, _ in entries)
    depths = [depth for code, depth in entries if code == best]
    return BestExit(Code(best), min(depths), max(depths))


MAX_OPEN_FILES: Final = 64
CACHE_BYTES: Final = 64 << 20
"""Decoded chunks that a tablebase keeps."""
_SLOT_BITS: Final = 48
RightsGoal: TypeAlias = Callable[[chess.Board, Code], tuple[Code, int | None]]
"""Returns the code of V(P, A), and D(P, A) in plies where it is known, of a position with castling rights."""
_UNKNOWN: Final = Goal(Signed(0), 0)
"""Stands where nothing has been looked up yet."""


class Values:
    """Looks values up; opens files when they are needed, and keeps the ``max_open`` last used; safe for
    threads.

    :param given: the directories as the user gave them, none for the default one; the first one that has a
        table counts.
    :param rights: makes what finds values of positions with castling rights; None where none are asked for.
    """

    def __init__(
        self,
        given: Sequence[str | PathLike[str]],
        *,
        variant: Variant,
        max_open: int = MAX_OPEN_FILES,
        cache_bytes: int = CACHE_BYTES,
        rights: "Callable[[Values], RightsGoal] | None" = None,
    ) -> None:
        self.directories: Final = directories_of(given)
        self.variant: Final = variant
        self._has_layers: Final = variant.layered
        self._cache = ChunkCache(cache_bytes)
        # A file that is dropped closes with its last reference: another thread may be reading it.
        self._files = Recent[AnyTable](max_open, lambda _: 1)
        self._lock = Lock()
        self._closed = False
        self._copies = ExitStack()
        self._rights: Final = rights
        self._rights_goal: RightsGoal | None = None
        self._rights_lock = Lock()

    def close(self) -> None:
        """Close all files, each as soon as no other thread reads it, and remove copies of packed tables."""
        with self._lock:
            self._files = Recent(0, lambda _: 1)
            self._closed = True
        with self._rights_lock:
            self._rights_goal = None
        self._copies.close()

    def of(self, state: State) -> Goal:
        """Return what best play from a state of a valid position reaches.

        Raises as :meth:`stored` does.
        """
        return self.stored(state)

    def of_many(self, states: Sequence[State | TbgenError]) -> Iterator[Goal | TbgenError]:
        """Return what :meth:`of` does for each state, or else the error; errors among the states stay."""
        return iter(self.stored_of_many(states))

    def stored(self, state: State) -> Goal:
        """Return what tables store of a state of a valid position (facts F1 and F4; in whole-game mobility,
        section 9 of docs/theory.md).

        :raises MissingTableError: if the table has not been built.
        :raises MissingLayerError: if the table has no accrued scores, and none are to be made.
        :raises DamagedTableError: if its file cannot be used.
        """
        position, accrued = state
        if position.terminal:
            return Goal(position.score, 0)
        if position.castling is not None:
            return self._with_rights(position.castling, accrued)
        shape, side, slot, ep_square = position[:4]
        code, depth = self.fresh(Place(shape.layout, side, slot, ep_square))
        if rank_of(accrued) > rank_of(of_code(code)) or (self._has_layers and accrued == position.score):
            return Goal(of_code(code, shape.swapped), depth)
        if not self._has_layers:
            return Goal(accrued, 0)
        table = self.table(shape.material)
        if not table.info.stores_accrued:
            again = "" if shape.material.is_described else "build it again (tbgen build --force), or "
            raise MissingLayerError(
                f"{shape.material} was built without accrued scores: {again}ask with --depths (in Python, "
                "open_tablebase(..., depths=True)), which makes what one score needs after the other"
            )
        value, plies = table.accrued(side, slot, code_of(accrued, shape.swapped))
        return Goal(of_code(value, shape.swapped), plies)

    def _with_rights(self, board: chess.Board, accrued: Signed) -> Goal:
        """Return what :meth:`stored` does for a position with castling rights."""
        with self._rights_lock:
            if self._rights_goal is None:
                assert self._rights is not None, "values are asked for without castling rights alone"
                self._rights_goal = self._rights(self)
            code, depth = self._rights_goal(board, code_of(accrued))
        return Goal(of_code(code), depth)

    def packed(self, material: Material) -> "PackedFile | None":
        """Return an open table if it is packed, else None; raises as :meth:`table` does."""
        table = self.table(material)
        return None if isinstance(table, TableFile) else table

    def fresh(self, place: Place) -> Entry:
        """Return code of W and D in plies of a legal position, with the colours of its table.

        Raises as :meth:`stored` does.
        """
        layout, side, slot, ep_square = place
        table = self.table(layout.material)
        if ep_square < 0:
            entry = table.fresh(side, slot)
        else:
            phase, within = divmod(slot, layout.phase_size)
            entry = table.en_passant(phase, ep_square, within)
        if entry[0] == NONE:
            raise table.damaged("it has no value for a legal position")
        return entry

    def exits(self, material: Material) -> ExitsOfMany:
        """Return what finds the exits of the positions of a table, whether it is there or not."""
        return partial(best_exits, self, zeroing_moves_of(layout_of(material)))

    def stored_of_many(self, states: Sequence[State | TbgenError]) -> list[Goal | TbgenError]:
        """Return what :meth:`stored` does for each state, or else the error; errors among the states stay.

        Tables are asked one after the other, so that one with much to remember is not closed for others in
        between, and states in the order in which they are stored, so that chunks are decoded once.
        """
        found = [state if isinstance(state, TbgenError) else _UNKNOWN for state in states]
        asked = defaultdict[Layout, list[tuple[int, int, State]]](list)
        for place, state in enumerate(states):
            if not isinstance(state, TbgenError):
                shape, side, slot, ep_square = state.position[:4]
                part = (ep_square >= 0) << 1 | side
                asked[shape.layout].append((part << _SLOT_BITS | slot, place, state))
        for layout, keys in asked.items():
            self._learn(layout, self.questions_of(state for _, _, state in keys))
            for _, place, state in sorted(keys):
                found[place] = result_or_error(self.stored, state)
        return found

    def questions_of(self, states: Iterable[State]) -> Iterator[tuple[Place, int]]:
        """Yield what :meth:`stored` is going to ask about states: places and codes of accrued scores."""
        for (shape, side, slot, ep_square, score, terminal, castling), accrued in states:
            if not terminal and castling is None:
                inherits = self._has_layers and accrued != score
                code = code_of(accrued, shape.swapped) if inherits else NO_SCORE
                yield Place(shape.layout, side, slot, ep_square), code

    def learn(self, asked: Iterable[tuple[Place, int]]) -> None:
        """Have packed tables look up together places and codes of accrued scores, or ``NO_SCORE``, that
        :meth:`stored` or :meth:`fresh` is going to be asked for."""
        questions = defaultdict[Layout, list[tuple[Place, int]]](list)
        for question in asked:
            questions[question[0].layout].append(question)
        for layout, some in questions.items():
            self._learn(layout, some)

    def _learn(self, layout: Layout, asked: Iterable[tuple[Place, int]]) -> None:
        """Do what :meth:`learn` does, for one table."""
        with suppress(TbgenError):  # a single look-up raises it again
            self.table(layout.material).learn(
                (side, slot, code) for (_, side, slot, ep_square), code in asked if ep_square < 0
            )

    def plain_table(self, material: Material) -> TableFile:
        """Return an open table in plain form: of a packed one its plain copy, which takes time to make.

        Raises as :meth:`table` does.
        """
        table = self.table(material)
        if isinstance(table, TableFile):
            return table
        from tbgen.packed.copies import passing_copies
        from tbgen.packed.sources import open_plain

        self._copies.enter_context(passing_copies(table.path.parent))
        return open_plain(table.path.parent, material, self.variant)

    def path_of(self, material: Material) -> Path:
        """Return where the table of a material lies, or else where it would have to."""
        return find_table(self.directories, material.name, self.variant)

    def table(self, material: Material) -> AnyTable:
        """Return an open table, for as long as the caller keeps it.

        :raises MissingTableError: if it has not been built.
        :raises DamagedTableError: if its file cannot be used.
        :raises ValueError: if the tablebase is closed.
        """
        with self._lock:
            if self._closed:
                raise ValueError("the tablebase is closed")
            file = self._files.get(material)
            if file is None:
                try:
                    path = self.path_of(material)
                    file = open_table(path, material, cache=self._cache, exits=self.exits(material))
                except MissingTableError as error:
                    error.__context__ = None
                    first, *others = self.directories
                    raise MissingTableError(material.name, first, self.variant, others) from None
                self._files.put(material, file)
            return file
