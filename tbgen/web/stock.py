"""Which tables a server has, what is in them, and samples; everything here blocks."""

from contextlib import suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path
from random import SystemRandom
from threading import Lock
from typing import Final

import chess

from tbgen.board.fen import AnyBoard
from tbgen.board.material import Material
from tbgen.board.rules import FRESH
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.errors import MissingTableError, TbgenError
from tbgen.index.layout import SIDES, Side, Slot
from tbgen.index.position import position_of, random_positions
from tbgen.packed.tables import ensure_compiled
from tbgen.probe.tablebase import Tablebase
from tbgen.store.format import table_path
from tbgen.store.inventory import EXPECTED_MEN, Entry, inventory
from tbgen.web.exchange import Refusal

_TRIES: Final = 1 << 14
"""Random positions of a packed table among which one with a value is looked for."""
_TRIES_TOGETHER: Final = 1 << 10

_MOST_ENTRIES: Final = 1 << 12
"""Entries that are kept in memory."""

_random: Final = SystemRandom()


class Stock:
    """The tables for one variant; what has been read of a file is kept for as long as the file stays the
    same."""

    def __init__(self, tables: Tablebase) -> None:
        self.tables: Final = tables
        self.variant: Final = tables.rules
        self._lock = Lock()

    def prepare(self) -> None:
        """Compile what reads packed tables if there are any, before somebody waits for it."""
        for entry in self.entries():
            if entry.info is not None and entry.info.packed:
                ensure_compiled()  # while no table is being opened, which others would wait for
                with suppress(TbgenError):  # a question about a position raises it again
                    self.tables.probe(next(random_positions(entry.material, _random)), FRESH)
                return

    def entries(self) -> list[Entry]:
        """Return what is known of every table, without its counts."""
        return [self._entry(material, counted=False) for material in self.tables.materials]

    def require(self, material: Material, *, counted: bool = False) -> Entry:
        """Return what is known of a table, with its counts if they are wanted.

        :raises TbgenError: if it is missing, or cannot be used.
        """
        entry = self._entry(material, counted=counted)
        if entry.error is not None:
            raise entry.error
        return entry

    def sample(self, material: Material | None, value: GScore | None, side: chess.Color | None) -> AnyBoard:
        """Return a random position of a table, any of those wanted with the same chance; colours are those of
        the table.

        :param material: None for any one of the tables of up to four men that have such positions.
        :param value: the fresh value that it is to have, None for any.
        :param side: the side to move, None for either.
        :raises Refusal: if there is none, or of a packed table none is found.
        :raises TbgenError: if the table is missing, or cannot be used.
        """
        if material is None:
            return self._of_any(value, side)
        entry = self.require(material, counted=True)
        assert entry.counts is not None
        assert entry.info is not None
        sides = SIDES if side is None else (SIDES[not side],)
        counts = [entry.counts[mover] for mover in sides]
        if not any(counts if value is None else (side.get(value) for side in counts)):
            raise Refusal(404, "no_position", f"{material} has no such position")
        if not entry.info.packed:
            found = self.tables.table(material).sample(1, _random.getrandbits(64), value=value, side=side)
            return position_of(found.layout, Side(int(found.side[0])), Slot(int(found.slot[0])))
        return self._tried(material, value, side)

    def _of_any(self, value: GScore | None, side: chess.Color | None) -> AnyBoard:
        """Return a position of some table; larger ones are left out, for to count their values takes long."""
        materials = [material for material in self.tables.materials if material.men <= EXPECTED_MEN]
        for material in _random.sample(materials, len(materials)):
            try:
                return self.sample(material, value, side)
            except Refusal:  # it has none
                continue
        sentence = f"no table of up to {EXPECTED_MEN} men here has such a position: name a larger one"
        raise Refusal(404, "no_position", sentence)

    def _tried(self, material: Material, value: GScore | None, side: chess.Color | None) -> AnyBoard:
        """Return a position of a packed table, which is not read as a whole."""
        boards = random_positions(material, _random, side)
        for _ in range(_TRIES // _TRIES_TOGETHER):
            some = list(islice(boards, _TRIES_TOGETHER if value is not None else 1))
            for board, result in zip(some, self.tables.probe_many(some, FRESH), strict=True):
                if isinstance(result, TbgenError):
                    raise result
                if value in (None, result.value):
                    return board
        sentence = f"none of {_TRIES:,} random positions of {material} has that value, which is rare there"
        raise Refusal(404, "no_position", sentence)

    def _entry(self, material: Material, *, counted: bool) -> Entry:
        for directory in self.tables.directories:
            try:
                found = table_path(directory, material.name, self.variant).stat()
            except OSError:
                continue
            stamp = found.st_mtime_ns, found.st_size, found.st_ino
            with self._lock:  # nothing is read twice at a time
                return _entry_of(directory, self.variant, material, counted, stamp)
        return Entry(material, error=MissingTableError(material.name, rules=self.variant))


@lru_cache(_MOST_ENTRIES)
def _entry_of(
    directory: Path, variant: Variant, material: Material, counted: bool, stamp: tuple[int, ...]
) -> Entry:
    """Return what is known of a table.

    :param stamp: what a change of the file changes.
    """
    (entry,) = inventory(directory, variant, [material], counts=counted)
    return entry
