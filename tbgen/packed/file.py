"""Looking positions up in a packed table, one or many, decoded as far as they are asked for."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from threading import local
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import NONE, Code
from tbgen.errors import TbgenError
from tbgen.index.exits import BestExit, Exits, ExitsOfMany
from tbgen.index.layout import Side, Slot
from tbgen.index.table import FRESH, NO_SCORE, Functions
from tbgen.packed.captures import by_capture, with_captures
from tbgen.packed.coded_file import CodedFile
from tbgen.packed.kernels.probe import (
    UNSTORED,
    derived_accrued,
    derived_fresh,
    stored_accrued,
    stored_fresh,
)
from tbgen.packed.kernels.questions import DAMAGED, Room, make_room
from tbgen.packed.memory import Memory
from tbgen.packed.together import Question, Together, decides
from tbgen.store.cache import ChunkCache
from tbgen.store.reader import Entry

_REMEMBERED: Final = 1 << 15
"""Answers of one table that are kept, of either kind."""
_MOST_THREADS: Final = 8
"""To decode with; more would wait for the interpreter."""

ValueOnly = tuple[Code, int | None]
"""A code, and a depth in plies where it is stored."""


class PackedFile(CodedFile):
    """An open table in packed form; look-ups are safe for threads.

    :param exits: finds the exits of the table's positions, which its values rest on; a file without it can be
        checked, but not asked.

    Raises as :class:`StoredFile` does.
    """

    def __init__(
        self,
        path: Path,
        *,
        material: Material | None = None,
        cache: ChunkCache | None = None,
        exits: Exits | None = None,
    ) -> None:
        self._exits = exits
        self._rooms = local()
        self._fresh = Memory[tuple[Side, Slot], Entry](_REMEMBERED)
        self._accrued = Memory[Question, ValueOnly](_REMEMBERED)
        super().__init__(path, material=material, cache=cache)

    def fresh(self, side: Side, slot: Slot) -> Entry:
        """Return code of W and D in plies of a legal position at its canonical slot.

        :raises DamagedTableError: if its block does not decode.
        """
        known = self._fresh.get((side, slot))
        if known is None:
            known = self._decode(side, slot)
            self._fresh.update({(side, slot): known})
        return known

    def _decode(self, side: Side, slot: Slot) -> Entry:
        if side == self.side:
            code, depth = stored_fresh(self.coding, slot, self._room)
            if code == UNSTORED:
                return by_capture(side, depth, self._captures(slot))
        else:
            place = np.searchsorted(self._exceptions, slot)
            if place < len(self._exceptions) and self._exceptions[place] == slot:
                return self._exception(int(place))
            found = self._exit(side, slot)
            code, depth = derived_fresh(self.coding, slot, *found, self._room)
        if code == DAMAGED:
            raise self._damaged_block()
        return Code(code), depth

    def accrued(self, side: Side, slot: Slot, code: Code) -> ValueOnly:
        """Return code of V(P, A), and D(P, A) where it follows, for the code of an accrued score A.

        A must have been folded in, must differ from g(P), and its rank must not exceed that of W.
        """
        known = self._accrued.get((side, slot, code))
        if known is None:
            known = self._decode_accrued(side, slot, code)
            self._accrued.update({(side, slot, code): known})
        return known

    def _decode_accrued(self, side: Side, slot: Slot, code: Code) -> ValueOnly:
        if side == self.side:
            value = stored_accrued(self.coding, slot, code, self._room)
            if value == FRESH:
                value = self.fresh(side, slot)[0]
            elif value == NONE:
                value = code
        else:
            room = self._room
            value, pending = derived_accrued(self.coding, slot, code, self._exit(side, slot)[0], room)
            if value != DAMAGED and pending:
                slots, said = room.pending.slot[:pending].tolist(), room.pending.said[:pending].tolist()
                captures = [self._captures(Slot(after)) for after in slots]
                value = with_captures(side, code, value, zip(said, captures, strict=True))
        if value == DAMAGED:
            raise self._damaged_block()
        return Code(value), 0 if value == code else None

    def learn(self, asked: Iterable[Question], exits: ExitsOfMany) -> None:
        """Look up together what :meth:`fresh`, and with accrued scores :meth:`accrued`, is going to be asked
        for, so that it is known. What fails is left to them.

        :param exits: as those of the file, for many positions at once.
        :raises DamagedTableError: if nothing can be looked up.
        """
        if not self.info.stores_accrued:
            asked = ((side, slot, NO_SCORE) for side, slot, _ in asked)
        unknown = sorted({question for question in asked if not self._knows(*question)})
        exceptions = self._exceptions_among([slot for side, slot, _ in unknown if side != self.side])
        questions = []
        known: dict[tuple[Side, Slot], Entry] = {}
        for side, slot, code in unknown:
            if side != self.side and slot in exceptions:
                known[side, slot] = self.fresh(side, slot)
                if code == NO_SCORE:
                    continue
            questions.append((side, slot, code))
        if questions:
            found = Together(self, exits, self.threads).look_up(questions, known)
            fresh: dict[tuple[Side, Slot], Entry] = {}
            accrued: dict[Question, ValueOnly] = {}
            for question, entry, value in found:
                fresh[question[:2]] = entry
                if value is not None:
                    accrued[question] = value, 0 if value == question[2] else None
            self._fresh.update(fresh)
            self._accrued.update(accrued)

    def of_stored_side(self, slots: NDArray[np.int64]) -> tuple[NDArray[np.uint8], Functions]:
        """Return what the file says of many positions of the side that it stores.

        :param slots: int64 (n,), canonical slots of legal positions that go on.
        :returns: codes of W, ``NONE`` where the best capture gives it, shape (n,), and the functions of the
            positions in place of those of all slots.
        :raises DamagedTableError: if a block does not decode.
        """
        values, number = Together(self, _not_asked_for, self.threads).of_stored(slots)
        if (values == DAMAGED).any():
            raise self._damaged_block()
        return np.where(values == UNSTORED, NONE, values).astype(np.uint8), self.functions(number)

    def _knows(self, side: Side, slot: Slot, code: int) -> bool:
        entry = self._fresh.get((side, slot))
        return entry is not None and (
            decides(entry, code) or self._accrued.get((side, slot, code)) is not None
        )

    def _exceptions_among(self, slots: list[Slot]) -> set[Slot]:
        """Return those slots of the derived side that are exceptions."""
        if not slots or not len(self._exceptions):
            return set()
        places = np.minimum(np.searchsorted(self._exceptions, slots), len(self._exceptions) - 1)
        return set(np.array(slots)[self._exceptions[places] == slots].tolist())

    threads = min(os.cpu_count() or 1, _MOST_THREADS)
    """With which many positions are decoded."""

    @property
    def _room(self) -> Room:
        """The working memory of this thread."""
        room: Room | None = getattr(self._rooms, "room", None)
        if room is None:
            room = self._rooms.room = make_room()
        return room

    def _exit(self, side: Side, slot: Slot) -> tuple[int, int, int]:
        found = self._need_exits()(side, slot)
        return (NONE, 0, 0) if found is None else (found.value, found.nearest, found.farthest)

    def _captures(self, slot: Slot) -> BestExit:
        """The exit by captures of a position of the stored side that has one."""
        found = self._need_exits()(self.side, slot, captures_only=True)
        if found is None:
            raise self._damaged_block()
        return found

    def _need_exits(self) -> Exits:
        if self._exits is None:
            raise TbgenError(f"{self.path} was opened without the tables that it rests on")
        return self._exits

    def _damaged_block(self) -> TbgenError:
        return self.damaged("it has flipped bits in a block")


def _not_asked_for(
    side: Side, slots: Sequence[Slot], *, captures_only: bool = False
) -> list[BestExit | TbgenError | None]:
    """Stands for the exits where nothing is derived from them."""
    raise AssertionError("what is stored is read without exits")
