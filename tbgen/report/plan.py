"""Which tables a report is about, and how far it is."""

from __future__ import annotations

import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Final

from tbgen.errors import MissingTableError, TbgenError
from tbgen.index.layout import layout_of
from tbgen.material import Material, all_materials
from tbgen.report.data.saved import SavedData
from tbgen.store.format import default_directory, tables_in
from tbgen.text import duration
from tbgen.variant import Variant

_TABLE_SECONDS: Final = 2.0
_SLOTS_PER_SECOND: Final = 20e6
"""What a report takes per table, for its plots, lines and pages, and for its size: both sides' slots."""


@dataclass(frozen=True, slots=True)
class Task:
    """One table to report on."""

    material: Material
    variant: Variant
    size: int
    """Slots, both sides counted."""

    @property
    def seconds(self) -> float:
        """What it takes, roughly."""
        return _TABLE_SECONDS + self.size / _SLOTS_PER_SECOND

    @property
    def scanning(self) -> float:
        """Which part of that goes into reading the table, 0 to 1."""
        return 1 - _TABLE_SECONDS / self.seconds


@dataclass(frozen=True, slots=True)
class Plan:
    """The tables that a report is about."""

    directory: Path
    tasks: tuple[Task, ...]
    """In build order, variant by variant."""
    compared: tuple[Material, ...]
    """The materials of which the tables for both variants are compared, in build order."""
    saved: bool
    """Whether the directory has saved data, not tables."""

    @property
    def seconds(self) -> float:
        """What the report takes, roughly."""
        return sum(task.seconds for task in self.tasks)

    @property
    def variants(self) -> list[Variant]:
        """The variants that there are tables of."""
        return list(dict.fromkeys(task.variant for task in self.tasks))

    def other(self, task: Task) -> Variant | None:
        """Return the other variant of which the report has the table, if it has it."""
        found = (other.variant for other in self.tasks if other.material == task.material)
        return next((variant for variant in found if variant is not task.variant), None)


def plan_report(
    directory: str | PathLike[str] | None = None,
    materials: Iterable[Material | str] = (),
    *,
    men: int | None = None,
    rules: Variant | str | None = None,
    saved: bool = False,
) -> Plan:
    """Return what there is to report on.

    :param directory: where the tables lie; None for the default directory.
    :param materials: names of materials; without, and without ``men``, all tables that are there count.
    :param men: the tables of 2 to so many men that are there.
    :param rules: ``r`` or ``wg``; None for both.
    :param saved: whether the directory has data that :func:`tbgen.report.save_report` has saved, not tables.

    :raises UsageError: if a name, the number of men or the rules mean nothing.
    :raises MissingTableError: if a table that was named is missing.
    :raises TbgenError: if there is none.
    """
    place = default_directory() if directory is None else Path(directory)
    named = {Material.parse(material) if isinstance(material, str) else material for material in materials}
    chosen = tuple(Variant) if rules is None else (Variant.parse(rules),)
    data = SavedData(place)
    there = {variant: set(data.tables(variant) if saved else tables_in(place, variant)) for variant in chosen}
    for material in sorted(named):
        if not any(material in found for found in there.values()):
            if saved:
                raise TbgenError(f"{place} has no data of {material}; save them with: tbgen report --save")
            raise MissingTableError(material.name, directory, chosen[0])
    wanted = {*named, *(all_materials(men) if men is not None else ())}
    if not any(found & wanted if wanted else found for found in there.values()):
        if saved:
            raise TbgenError(f"{place} has no such data of tables; save some with: tbgen report --save")
        words = ["tbgen", "build", "--men", str(men or 3)]
        words += [] if chosen[0] is Variant.R_MOBILITY else ["--rules", chosen[0]]
        words += [] if directory is None else ["--dir", str(directory)]
        raise TbgenError(f"{place} has no such table; make some with: {shlex.join(words)}")
    tasks = tuple(
        Task(material, variant, 0 if saved else 2 * layout_of(material).size)
        for variant in chosen
        for material in sorted(there[variant] & wanted if wanted else there[variant])
    )
    count = Counter(task.material for task in tasks)
    both = {material for material, number in count.items() if number > 1}
    return Plan(place, tasks, tuple(sorted(both.intersection(data.differences()) if saved else both)), saved)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a report is; as a text it is a line for a reader."""

    material: Material
    number: int
    """Of the table, from 1."""
    count: int
    """Tables to go through at this stage."""
    stage: str
    seconds_left: float | None
    """For the whole report, roughly; None if nobody knows."""

    def __str__(self) -> str:
        left = "" if self.seconds_left is None else f", about {duration(self.seconds_left)} left"
        return f"{self.material} ({self.number} of {self.count}): {self.stage}{left}"


Tell = Callable[[Progress], None]
"""Called, often, with the progress of a report."""


class Clock:
    """Tells how far a report is, and how long it takes still, by what it has taken so far."""

    def __init__(self, tasks: Sequence[Task], tell: Tell | None) -> None:
        self._tasks = tasks
        self._tell = tell
        self._done = 0.0
        self._number = 0
        self._begin = time.monotonic()

    def show(self, stage: str, part: float) -> None:
        """Tell the stage of the current table, and which part of the table is done."""
        if self._tell is None:
            return
        task = self._tasks[self._number]
        done = self._done + task.seconds * part
        passed = time.monotonic() - self._begin
        rest = sum(task.seconds for task in self._tasks) - done
        left = rest * passed / done if passed > 1 and done else rest
        self._tell(Progress(task.material, self._number + 1, len(self._tasks), stage, left))

    def scanned(self, done: int, total: int) -> None:
        """Tell how many slots of the current table have been counted."""
        self.show(f"counted {done / total:.0%}", self._tasks[self._number].scanning * done / total)

    def writing(self) -> None:
        """Tell that the page of the current table is being written."""
        self.show("writing", self._tasks[self._number].scanning)

    def finish_table(self) -> None:
        """Go on to the next table."""
        self._done += self._tasks[self._number].seconds
        self._number += 1
