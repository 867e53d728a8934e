"""Which tables a report is about, and how far it is."""

from __future__ import annotations

import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Final

from tbgen.errors import MissingTableError, TbgenError
from tbgen.index.layout import layout_of
from tbgen.material import Material, all_materials
from tbgen.report.data.saved import SavedData
from tbgen.store.format import default_directory, table_path, tables_in
from tbgen.store.stored_file import StoredFile
from tbgen.text import duration
from tbgen.variant import Variant

_TABLE_SECONDS: Final = 2.0
"""What a report takes per table for its plots, lines and pages."""

_UNPACKING: Final = "unpacking", 20e6
_COUNTING: Final = "counted", 60e6
_LAYERS: Final = "accrued scores", 10e6
_COMPARING: Final = "compared", 100e6
"""Steps, and how many slots of both sides they do in a second, roughly."""


@dataclass(frozen=True, slots=True)
class Task:
    """One table to report on."""

    material: Material
    variant: Variant
    steps: Mapping[str, float]
    """What is done, in this order, with the seconds it takes, roughly."""

    @property
    def seconds(self) -> float:
        """What it takes, roughly."""
        return sum(self.steps.values()) + _TABLE_SECONDS

    @property
    def title(self) -> str:
        """What it is about, for a reader."""
        return str(self.variant)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The tables of both variants to compare, when they are open."""

    material: Material
    steps: Mapping[str, float]
    """As those of a :class:`Task`."""

    @property
    def seconds(self) -> float:
        """What it takes, roughly."""
        return sum(self.steps.values())

    @property
    def title(self) -> str:
        """What it is about, for a reader."""
        return "both"


def _task(directory: Path, material: Material, variant: Variant) -> Task:
    """Return the task of reading a table."""
    with StoredFile(table_path(directory, material.name, variant), material=material) as file:
        info = file.info
    steps = [_COUNTING]
    if info.packed:
        steps = [_UNPACKING, _COUNTING]
        if variant.resets and info.stores_accrued:
            steps.append(_LAYERS)
    return Task(material, variant, {name: 2 * info.size / speed for name, speed in steps})


def _comparison(material: Material) -> Comparison:
    name, speed = _COMPARING
    return Comparison(material, {name: 2 * layout_of(material).size / speed})


@dataclass(frozen=True, slots=True)
class Plan:
    """The tables that a report is about."""

    directory: Path
    tasks: tuple[Task, ...]
    """In build order, variant by variant; a report goes material by material."""
    compared: tuple[Material, ...]
    """The materials of which the tables for both variants are compared, in build order."""
    saved: bool
    """Whether the directory has saved data, not tables."""

    @property
    def seconds(self) -> float:
        """What the report takes, roughly."""
        comparisons = () if self.saved else map(_comparison, self.compared)
        return sum(job.seconds for jobs in (self.tasks, comparisons) for job in jobs)

    @property
    def materials(self) -> list[Material]:
        """All materials, in build order."""
        return sorted({*self.compared, *(task.material for task in self.tasks)})

    def tables(self, material: Material) -> list[Task]:
        """Return the tables of a material."""
        return [task for task in self.tasks if task.material == material]

    def comparison(self, material: Material) -> Comparison | None:
        """Return the comparison of a material's tables, if there is one to make."""
        return _comparison(material) if material in self.compared and not self.saved else None

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
        Task(material, variant, {}) if saved else _task(place, material, variant)
        for variant in chosen
        for material in sorted(there[variant] & (wanted or there[variant]))
    )
    count = Counter(task.material for task in tasks)
    both = {material for material, number in count.items() if number > 1}
    return Plan(place, tasks, tuple(sorted(both.intersection(data.differences()) if saved else both)), saved)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a report is; as a text it is a line for a reader."""

    material: Material
    number: int
    """Of the material, from 1."""
    count: int
    """Materials to go through."""
    stage: str
    seconds_left: float
    """For the whole report, roughly."""

    def __str__(self) -> str:
        left = duration(self.seconds_left)
        return f"{self.material} ({self.number} of {self.count}): {self.stage}, about {left} left"


Tell = Callable[[Progress], None]
"""Called, often, with the progress of a report."""


class Clock:
    """Tells how far a report is, and how long it takes still, by what it has taken so far."""

    def __init__(self, plan: Plan, tell: Tell | None) -> None:
        self._materials = plan.materials
        self._total = plan.seconds
        self._tell = tell
        self._done = 0.0
        self._begin = time.monotonic()

    def steps(self, job: Task | Comparison) -> Callable[[str, float], None]:
        """Return what is told the steps of a job and the share of each that is done, 0 to 1."""
        begun = self._done

        def show(step: str, share: float) -> None:
            before = 0.0
            for name, seconds in job.steps.items():
                if name == step:
                    before += seconds * share
                    break
                before += seconds
            self._show(job, f"{step} {share:.0%}", begun + before)

        return show

    def writing(self, task: Task) -> None:
        """Tell that the page of a table is being written."""
        self._show(task, "writing", self._done + sum(task.steps.values()))

    def finish(self, job: Task | Comparison) -> None:
        """Go on to the next one."""
        self._done += job.seconds

    def _show(self, job: Task | Comparison, stage: str, done: float) -> None:
        if self._tell is None:
            return
        passed = time.monotonic() - self._begin
        rest = max(0.0, self._total - done)
        left = rest * passed / done if passed > 1 and done else rest
        number = self._materials.index(job.material) + 1
        self._tell(Progress(job.material, number, len(self._materials), f"{job.title}, {stage}", left))
