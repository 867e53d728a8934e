"""Values and depths of states, from the tables in one or more directories."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import NONE, Code, Signed, code_of, rank_of, signed_of
from tbgen.board.variant import Variant
from tbgen.errors import ClosedError, MissingLayerError, MissingTableError, TbgenError, result_or_error
from tbgen.index.codes import NO_SCORE
from tbgen.index.layout import Layout, Side, Slot
from tbgen.probe.states import Goal, State
from tbgen.store.cache import ChunkCache, LruCache
from tbgen.store.format import directories_of, find_table
from tbgen.store.table_file import Entry, TableFile
from tbgen.tables.tables import AnyTable, open_table

if TYPE_CHECKING:
    from tbgen.store.table_file import LoadedTable
    from tbgen.tables.decoder import Bounds, Moves, Target
    from tbgen.tables.file import PackedFile

MAX_OPEN_FILES: Final = 64
CACHE_BYTES: Final = 64 << 20
"""Default maximum size of the decoded chunks that a tablebase keeps."""
_MAX_LOADED_BYTES: Final = 512 << 20
"""Maximum total size of the plain tables that are kept in memory."""
_MAX_ONE_BY_ONE: Final = 1 << 13
"""Maximum number of positions of a table to look up one by one. Beyond it, a plain table is loaded."""
_MAX_ONE_BY_ONE_LOADED: Final = 100
"""Maximum number of positions of a loaded table to look up one by one."""
_SLOT_BITS: Final = 48
CastlingLookup: TypeAlias = Callable[[chess.Board, Code], tuple[Code, int | None]]
"""Function of a position P with castling rights and the code of A. It returns the code of V(P, A), and
D(P, A) in plies (None if unavailable)."""
_PLACEHOLDER_GOAL: Final = Goal(Signed(0), 0)
"""Goal that stands for a state that has not been looked up yet."""

_FAILED_ENTRY: Final = (-1, 0)
"""Code and depth that stand for a position that cannot be looked up."""


class Place(NamedTuple):
    """The place of a position in a table.

    :ivar ep_square: the target square of a legal en passant capture, as the table stores it; -1 if no such
        capture is legal.
    """

    layout: Layout
    side: Side
    slot: Slot
    ep_square: int


class Values:
    """Looks up values and depths of states. The object is thread-safe.

    Files are opened when they are needed. The most recently used files stay open.

    :param paths: the directories that the user has named; empty for the default directory. Each table is read
        from the first directory that contains it.
    :param max_open_files: maximum number of files to keep open.
    :param cache_bytes: maximum number of bytes of decoded chunks to keep.
    :param check: whether to compare each table with its digest when its file is opened.
    :param make_castling_lookup: makes the function that looks up positions with castling rights; None if no
        such positions will be looked up.
    """

    def __init__(
        self,
        paths: Sequence[str | PathLike[str]],
        *,
        variant: Variant,
        max_open_files: int = MAX_OPEN_FILES,
        cache_bytes: int = CACHE_BYTES,
        check: bool = False,
        make_castling_lookup: "Callable[[Values], CastlingLookup] | None" = None,
    ) -> None:
        self.directories: Final = directories_of(paths)
        self.variant: Final = variant
        self._has_layers: Final = variant.layered
        self._cache = ChunkCache(cache_bytes)
        # A file removed from here closes with its last reference: another thread may be reading the file.
        self._files = LruCache[AnyTable](max_open_files, lambda _: 1)
        self._loaded = LruCache["LoadedTable"](_MAX_LOADED_BYTES, lambda table: table.nbytes)
        self._lock = Lock()
        self._closed, self._checks_digests = False, check
        self._copies = ExitStack()
        self._make_lookup: Final = make_castling_lookup
        self._castling_lookup: CastlingLookup | None = None
        self._castling_lock = Lock()

    def close(self) -> None:
        """Close all files, each when no other thread is reading it, and remove copies of packed tables."""
        with self._lock:
            self._files = LruCache(0, lambda _: 1)
            self._closed = True
        with self._castling_lock:
            self._castling_lookup = None
        self._copies.close()

    def goal(self, state: State) -> Goal:
        """Return the value and the depth of a state of a valid position.

        Raises as :meth:`stored_goal` does.
        """
        return self.stored_goal(state)

    def goals(self, states: Sequence[State | TbgenError]) -> Iterator[Goal | TbgenError]:
        """Yield the goal or the error of each state. Errors in ``states`` are also yielded."""
        return iter(self.stored_goals(states))

    def stored_goal(self, state: State) -> Goal:
        """Return the value and the depth of a state of a valid position, as far as tables store them.

        The result follows from the facts F1 and F4 of docs/theory.md, in whole-game mobility from section 9.

        :raises MissingTableError: if the table has not been built.
        :raises MissingLayerError: if the value depends on accrued scores, but the table does not store them.
        :raises DamagedTableError: if the table's file cannot be used.
        """
        position, accrued = state
        if position.terminal:
            return Goal(position.score, 0)
        if position.castling_board is not None:
            return self._goal_with_rights(position.castling_board, accrued)
        shape, side, slot, ep_square = position[:4]
        code, depth = self.fresh_entry(Place(shape.layout, side, slot, ep_square))
        if rank_of(accrued) > rank_of(signed_of(code)) or (self._has_layers and accrued == position.score):
            return Goal(signed_of(code, shape.swapped), depth)
        if not self._has_layers:
            return Goal(accrued, 0)
        table = self.table(shape.material)
        if not table.info.stores_accrued:
            remedy = "" if shape.material.is_described else "build it again (tbgen build --force), or "
            raise MissingLayerError(
                f"{shape.material} was built without accrued scores: {remedy}ask with --depths (in Python, "
                "open_tablebase(..., depths=True)), which makes what one score needs after the other"
            )
        value, plies = table.accrued(side, slot, code_of(accrued, shape.swapped))
        return Goal(signed_of(value, shape.swapped), plies)

    def _goal_with_rights(self, board: chess.Board, accrued: Signed) -> Goal:
        """Return the result of :meth:`stored_goal` for a position with castling rights."""
        with self._castling_lock:
            if self._castling_lookup is None:
                assert self._make_lookup is not None, "opened for positions without castling rights only"
                self._castling_lookup = self._make_lookup(self)
            code, depth = self._castling_lookup(board, code_of(accrued))
        return Goal(signed_of(code), depth)

    def packed_table(self, material: Material) -> "PackedFile | None":
        """Return an open table if it is packed, else None; raise the same errors as :meth:`table`."""
        table = self.table(material)
        return None if isinstance(table, TableFile) else table

    def fresh_entry(self, place: Place) -> Entry:
        """Return the code of W(P), in the colours of the table, and D(P) in plies, for a legal position P.

        Raises as :meth:`stored_goal` does.
        """
        layout, side, slot, ep_square = place
        table = self.table(layout.material)
        if ep_square < 0:
            entry = table.fresh(side, slot)
        else:
            phase, slot_in_phase = divmod(slot, layout.phase_size)
            entry = table.en_passant(phase, ep_square, slot_in_phase)
        if entry[0] == NONE:
            raise table.damaged("it has no value for a legal position")
        return entry

    def look_up(
        self,
        table: AnyTable,
        side: NDArray[np.uint8],
        slots: NDArray[np.int64],
        accrued: NDArray[np.int64],
        bounds: "Bounds | None" = None,
    ) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
        """Look up values and depths in a plain or packed table, like
        :meth:`tbgen.tables.file.PackedFile.look_up`."""
        if isinstance(table, TableFile):
            bounds = None
            value, depth = self.load(table).look_up(side, slots, accrued)
        else:
            value, depth = table.look_up(side, slots, accrued, bounds)
        if bounds is None and (value == NONE).any():
            raise table.damaged("it has no value for a legal position")
        return value, depth

    def load(self, table: TableFile) -> "LoadedTable":
        """Load a plain table into memory, and return it. The most recently used tables stay in memory."""
        from tbgen.store.table_file import LoadedTable

        return self._loaded.get_or_make(table.layout, lambda: LoadedTable(table))

    def fresh_after(
        self, targets: Sequence["Target"], moves: "Moves", bounds: "Bounds | None" = None
    ) -> tuple[NDArray[np.int64], TbgenError | None]:
        """Return the fresh values and depths after zeroing moves, and the first error or None.

        :data:`FreshLookUp` of ``tbgen/tables/decoder.py`` describes the arguments and the results.
        """
        if len(moves) <= _MAX_ONE_BY_ONE_LOADED:
            return self._fresh_one_by_one(targets, moves)
        entries = np.full((len(moves), 2), _FAILED_ENTRY, np.int64)
        first_error = None
        # En passant positions cannot be looked up with arrays.
        target_of_move = np.where(moves[:, 3] < 0, moves[:, 1], len(targets))
        for target in np.unique(target_of_move).tolist():
            rows = np.flatnonzero(target_of_move == target)
            try:
                if target < len(targets) and self._is_looked_up_together(targets[target][0], len(rows)):
                    layout, side = targets[target]
                    sides = np.full(len(rows), side, np.uint8)
                    no_scores = np.full(len(rows), NO_SCORE)
                    arguments = sides, moves[rows, 2], no_scores, None if bounds is None else bounds[rows]
                    entries[rows] = np.stack(self.look_up(self.table(layout.material), *arguments), axis=1)
                else:
                    entries[rows], error = self._fresh_one_by_one(targets, moves[rows])
                    first_error = first_error or error
            except TbgenError as error:
                first_error = first_error or error.with_traceback(None)
        return entries, first_error

    def _is_looked_up_together(self, layout: Layout, count: int) -> bool:
        """Return whether to look up ``count`` positions of a table together."""
        limit = _MAX_ONE_BY_ONE if self._loaded.get(layout) is None else _MAX_ONE_BY_ONE_LOADED
        return count > limit

    def _fresh_one_by_one(
        self, targets: Sequence["Target"], moves: "Moves"
    ) -> tuple[NDArray[np.int64], TbgenError | None]:
        """Return the results of :meth:`fresh_after`, found by looking up one position after another."""
        places = list[Place]()
        entries = list[tuple[int, int]]()
        first_error = None
        for _, target, slot, ep_square in moves.tolist():
            layout, side = targets[target]
            places.append(Place(layout, side, Slot(slot), ep_square))
        if len(places) > 1:
            self.prefetch((place, NO_SCORE) for place in places)
        for place in places:
            try:
                entries.append(self.fresh_entry(place))
            except TbgenError as error:
                first_error = first_error or error.with_traceback(None)
                entries.append(_FAILED_ENTRY)
        return np.array(entries, np.int64).reshape(-1, 2), first_error

    def stored_goals(self, states: Sequence[State | TbgenError]) -> list[Goal | TbgenError]:
        """Return the stored goal or the error of each state. Errors in ``states`` are also returned.

        States are looked up table by table, so that no table with a large cache is closed in between. Within
        a table, they are looked up in the order of storage, so that each chunk is decoded only once.
        """
        goals = [state if isinstance(state, TbgenError) else _PLACEHOLDER_GOAL for state in states]
        keys_by_layout = defaultdict[Layout, list[tuple[int, int, State]]](list)
        for index, state in enumerate(states):
            if not isinstance(state, TbgenError):
                shape, side, slot, ep_square = state.position[:4]
                part = (ep_square >= 0) << 1 | side
                keys_by_layout[shape.layout].append((part << _SLOT_BITS | slot, index, state))
        for layout, keys in keys_by_layout.items():
            self._prefetch_table(layout, self.questions_of(state for _, _, state in keys))
            for _, index, state in sorted(keys):
                goals[index] = result_or_error(self.stored_goal, state)
        return goals

    def questions_of(self, states: Iterable[State]) -> Iterator[tuple[Place, int]]:
        """Yield the questions that :meth:`stored_goal` asks: places with codes of accrued scores."""
        for (shape, side, slot, ep_square, score, terminal, castling), accrued in states:
            if not terminal and castling is None:
                needs_accrued = self._has_layers and accrued != score
                code = code_of(accrued, shape.swapped) if needs_accrued else NO_SCORE
                yield Place(shape.layout, side, slot, ep_square), code

    def prefetch(self, questions: Iterable[tuple[Place, int]]) -> None:
        """Make packed tables look up many questions together and keep the answers.

        Calls to :meth:`stored_goal` or :meth:`fresh_entry` about the same places are then faster.

        :param questions: places with codes of accrued scores, or with ``NO_SCORE``.
        """
        questions_by_layout = defaultdict[Layout, list[tuple[Place, int]]](list)
        for question in questions:
            questions_by_layout[question[0].layout].append(question)
        for layout, group in questions_by_layout.items():
            self._prefetch_table(layout, group)

    def _prefetch_table(self, layout: Layout, questions: Iterable[tuple[Place, int]]) -> None:
        """Do the work of :meth:`prefetch` for one table."""
        with suppress(TbgenError):  # a later look-up raises the error again
            self.table(layout.material).prefetch(
                (side, slot, code) for (_, side, slot, ep_square), code in questions if ep_square < 0
            )

    def plain_table(self, material: Material) -> TableFile:
        """Return an open plain table. A packed table is first unpacked to a plain copy, which takes time.

        Raises as :meth:`table` does.
        """
        table = self.table(material)
        if isinstance(table, TableFile):
            return table
        from tbgen.tables.copies import temporary_copies
        from tbgen.tables.sources import open_plain

        self._copies.enter_context(temporary_copies(table.path.parent))
        return open_plain(table.path.parent, material, self.variant)

    def path_of(self, material: Material) -> Path:
        """Return the path of the table of a material or, if it does not exist, where it would be stored."""
        return find_table(self.directories, material.name, self.variant)

    def table(self, material: Material) -> AnyTable:
        """Return an open table, which stays open as long as the caller keeps a reference.

        :raises MissingTableError: if the table has not been built.
        :raises DamagedTableError: if the table's file cannot be used.
        :raises ClosedError: if the tablebase is closed.
        """
        with self._lock:
            if self._closed:
                raise ClosedError("the tablebase is closed: open it again with tbgen.open_tablebase")
            file = self._files.get(material)
            if file is None:
                try:
                    path = self.path_of(material)
                    file = open_table(path, material, cache=self._cache, look_up=self.fresh_after)
                except MissingTableError as error:
                    error.__context__ = None
                    directory, *others = self.directories
                    raise MissingTableError(material.name, directory, self.variant, others) from None
                if self._checks_digests:
                    file.check()
                self._files.put(material, file)
            return file
