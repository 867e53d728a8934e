"""Values of states from the tables of some directories."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final

import chess

from tbgen.board.material import Material
from tbgen.board.score import NONE
from tbgen.board.signed import Signed, code_of, of_code, rank_of
from tbgen.board.variant import Variant
from tbgen.errors import MissingLayerError, MissingTableError, TbgenError, result_or_error
from tbgen.index.exits import ExitsOfMany
from tbgen.index.layout import Layout, layout_of
from tbgen.index.table import NO_SCORE
from tbgen.packed.tables import AnyTable, open_plain, open_table
from tbgen.probe.exits import best_exits
from tbgen.probe.states import Goal, State
from tbgen.probe.zeroing import Place, zeroing_moves_of
from tbgen.store.cache import ChunkCache, Recent
from tbgen.store.format import directories_of, find_table
from tbgen.store.reader import TableFile
from tbgen.store.stored_file import Entry

if TYPE_CHECKING:
    from tbgen.packed.file import PackedFile
    from tbgen.probe.castling.solver import CastlingSolver

MAX_OPEN_FILES: Final = 64
CACHE_BYTES: Final = 64 << 20
"""Decoded chunks that a tablebase keeps."""
_SLOT_BITS: Final = 48
_UNKNOWN: Final = Goal(Signed(0), 0)
"""Stands where nothing has been looked up yet."""


class Values:
    """Looks values up; opens files when they are needed, and keeps the ``max_open`` last used; safe for
    threads.

    :param given: the directories as the user gave them, none for the default one; the first one that has a
        table counts.
    """

    def __init__(
        self,
        given: Sequence[str | PathLike[str]],
        *,
        variant: Variant,
        max_open: int = MAX_OPEN_FILES,
        cache_bytes: int = CACHE_BYTES,
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
        self._castling: CastlingSolver | None = None
        self._castling_lock = Lock()

    def close(self) -> None:
        """Close all files, each as soon as no other thread reads it, and remove copies of packed tables."""
        with self._lock:
            self._files = Recent(0, lambda _: 1)
            self._closed = True
        with self._castling_lock:
            self._castling = None
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
        from tbgen.probe.castling.solver import CastlingSolver  # takes numba, which plain tables do without

        with self._castling_lock:
            if self._castling is None:
                self._castling = CastlingSolver(self)
            code, depth = self._castling.goal(board, code_of(accrued))
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
