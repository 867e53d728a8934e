"""The tables of a server, their counts, and random positions from them. All calls block."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path
from random import SystemRandom
from threading import Lock
from typing import Final, TypeVar

import chess

from tbgen.board.fen import AnyBoard
from tbgen.board.material import Material
from tbgen.board.rules import FRESH
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.errors import MissingTableError, TbgenError
from tbgen.index.layout import SIDES, Side, Slot
from tbgen.index.position import any_board_of, random_positions
from tbgen.probe.tablebase import Tablebase
from tbgen.store.format import table_path
from tbgen.tables.inventory import MAX_EXPECTED_MEN, Entry, inventory
from tbgen.tables.look_up_warmup import ensure_compiled
from tbgen.web.admission import stop_if_client_left
from tbgen.web.replies import Refusal

_MAX_TRIES: Final = 1 << 14
"""Maximum number of random positions of a packed table that are tried in search of the required value."""
_BATCH_TRIES: Final = 1 << 10
"""Number of random positions of a packed table that are looked up at once."""
_MAX_SAMPLES: Final = 16
"""Maximum number of positions that are sampled to find one whose moves lead to no missing table."""

_MAX_ENTRIES: Final = 1 << 12
"""Maximum number of cached entries, each about one table, and of remembered searches."""
_REFUSALS_PER_SEARCH: Final = 50
"""Number of requests that are refused after one search in vain, including the request that searched."""

_random: Final = SystemRandom()

Answer = TypeVar("Answer")


class Stock:
    """The tables of a server for one variant.

    Information from the files, including counts of values, is cached. A file is read again when it has
    changed.
    """

    def __init__(self, tables: Tablebase) -> None:
        self.tables: Final = tables
        self.variant: Final = tables.rules
        self._lock = Lock()
        self._stamp = list[int]()
        """Times at which the directories of the tables had last changed."""
        self._refusals_left = Counter[Hashable]()
        """Maps each search in vain since the last change of the directories to the number of requests still
        to be refused before the search is repeated."""

    def compile_kernels(self) -> None:
        """Compile the kernels that read packed tables before a client needs them, if any table is packed."""
        for entry in self.entries():
            if entry.info is not None and entry.info.derives:
                ensure_compiled()  # first: compiling while a table is being opened would block other threads
                with suppress(TbgenError):  # the error is raised again at a client's request
                    self.tables.probe(next(random_positions(entry.material, _random)), FRESH)
                return

    def entries(self) -> list[Entry]:
        """Return the entry of every table, without counts."""
        return [self._entry(material, with_counts=False) for material in self.tables.materials]

    def usable_entry(self, material: Material, *, with_counts: bool = False) -> Entry:
        """Return the entry of a table; it includes counts of values if ``with_counts``.

        :raises TbgenError: if the table is missing, or cannot be used.
        """
        entry = self._entry(material, with_counts=with_counts)
        if entry.error is not None:
            raise entry.error
        return entry

    def small_materials(self) -> list[Material]:
        """Return the materials from which one is drawn if none is named: those of tables with few men.

        :raises Refusal: if there are no tables.
        """
        materials = self.tables.materials
        if not materials:
            raise Refusal(404, "no_position", f"there are no tables of {self.variant.label} here")
        return [material for material in materials if material.men <= MAX_EXPECTED_MEN]

    def search(self, kind: str, details: Hashable, find: Callable[[], Answer | None]) -> Answer:
        """Return the result of a search.

        After a search in vain, the next requests for the same positions are refused without a search, unless
        the directories of the tables change. A later search may find what is rare.

        :param kind: the kind of position that is searched for, which ``details`` describe further.
        :param find: searches at random, and returns None if it finds nothing.
        :raises Refusal: if nothing is found.
        """
        stamp = [directory.stat().st_mtime_ns for directory in self.tables.directories if directory.is_dir()]
        if stamp != self._stamp or len(self._refusals_left) > _MAX_ENTRIES:
            self._stamp = stamp
            self._refusals_left = Counter()
        refusals_left = self._refusals_left
        key = (kind, details)
        if refusals_left[key] < 1:
            if (answer := find()) is not None:
                return answer
            refusals_left[key] = _REFUSALS_PER_SEARCH
        refusals_left[key] -= 1
        raise Refusal(404, "no_position", f"no {kind} was found: try another level, or another material")

    def samples(
        self, material: Material | None, value: GScore | None, side: chess.Color | None
    ) -> Iterator[AnyBoard]:
        """Yield a few random positions of a table, without exchanging the colours of the table.

        All matching positions are equally likely.

        :param material: material of the table; None for all tables of up to four men, in random order.
        :param value: the required fresh value, None for any.
        :param side: the side to move, None for either.
        :raises Refusal: if no position is found.
        :raises TbgenError: if the table is missing, or cannot be used.
        """
        materials = [material] if material else self.small_materials()  # counting takes too long for others
        none_found = True
        for chosen in _random.sample(materials, len(materials)):
            for board in self._samples_of(chosen, value, side):
                none_found = False
                yield board
        if none_found:
            tables = material or f"the tables of up to {MAX_EXPECTED_MEN} men here"
            sentence = f"no such position of {tables} was found: there is none, or it is rare"
            raise Refusal(404, "no_position", sentence)

    def _samples_of(
        self, material: Material, value: GScore | None, side: chess.Color | None
    ) -> Iterator[AnyBoard]:
        """Yield matching positions of one table, if there are any."""
        entry = self.usable_entry(material, with_counts=True)
        assert entry.counts is not None
        assert entry.info is not None
        sides = SIDES if side is None else (SIDES[not side],)
        counts = [entry.counts[mover] for mover in sides]
        if not any(counts if value is None else (side.get(value) for side in counts)):
            return
        if entry.info.derives:
            yield from self._samples_of_packed(material, value, side)
            return
        for _ in range(_MAX_SAMPLES):
            sampled = self.tables.table(material).sample(1, _random.getrandbits(64), value=value, side=side)
            yield any_board_of(sampled.layout, Side(int(sampled.side[0])), Slot(int(sampled.slot[0])))

    def _samples_of_packed(
        self, material: Material, value: GScore | None, side: chess.Color | None
    ) -> Iterator[AnyBoard]:
        """Yield matching positions of a packed table, found by trying random positions."""
        boards = random_positions(material, _random, side)
        if value is None:
            yield from islice(boards, _MAX_SAMPLES)
            return
        for _ in range(_MAX_TRIES // _BATCH_TRIES):
            stop_if_client_left()
            batch = list(islice(boards, _BATCH_TRIES))
            for board, result in zip(batch, self.tables.probe_many(batch, FRESH), strict=True):
                if isinstance(result, TbgenError):
                    raise result
                if value == result.value:
                    yield board

    def _entry(self, material: Material, *, with_counts: bool) -> Entry:
        for directory in self.tables.directories:
            try:
                status = table_path(directory, material.name, self.variant).stat()
            except OSError:
                continue
            stamp = status.st_mtime_ns, status.st_size, status.st_ino
            with self._lock:  # no file is read by two threads at the same time
                return _entry_of(directory, self.variant, material, with_counts, stamp)
        return Entry(material, error=MissingTableError(material.name, rules=self.variant))


@lru_cache(_MAX_ENTRIES)
def _entry_of(
    directory: Path, variant: Variant, material: Material, with_counts: bool, stamp: tuple[int, ...]
) -> Entry:
    """Return the entry of a table.

    :param stamp: modification time, size and inode of the file. If they change, the file is read again.
    """
    (entry,) = inventory(directory, variant, [material], counts=with_counts)
    return entry
