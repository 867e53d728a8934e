"""The plan of a report: its tables, and their costs in time and memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tbgen.board.material import Material, all_materials
from tbgen.board.variant import Variant
from tbgen.costs import BASE_MEMORY, RATES, Cost, layers_memory, memory_of, seconds_of, unpacking_memory
from tbgen.errors import MissingTableError, TbgenError, UsageError, build_command
from tbgen.index.layout import layout_of
from tbgen.index.table import AccruedForm, fresh_bytes
from tbgen.report.data import SavedData
from tbgen.store.format import Directories, directories_of, find_table, tables_in
from tbgen.tables.files import open_table

UNPACKING_STEP: Final = "unpacking"
LINES_STEP: Final = "lines"
"""Names of two steps of a report, as shown in progress messages."""


@dataclass(frozen=True, slots=True)
class Task:
    """One table to report on."""

    material: Material
    variant: Variant
    cost: Cost
    """Time and memory; the memory is 0 for saved data."""
    digest: str = ""
    """Digest of the table; empty for saved data."""
    layers: bool = False
    """Whether layers are solved to count accrued scores; a layer has the states of one accrued score."""


class NothingToReportError(TbgenError):
    """The tables for a report, or their saved data, do not exist."""

    exit_code = MissingTableError.exit_code
    code = MissingTableError.code


def _reading_task(directories: Sequence[Path], material: Material, variant: Variant, layers: bool) -> Task:
    """Return the task of reading one table, with its estimated cost."""
    with open_table(find_table(directories, material.name, variant), material) as file:
        info = file.info
    layers = layers and info.accrued_form is AccruedForm.FUNCTIONS
    steps = ["counted"]
    memory = fresh_bytes(info.size) + memory_of("runs", info.runs)
    if info.derives:
        steps = [UNPACKING_STEP, *steps]
        memory = max(memory, unpacking_memory(layout_of(material)))
    if layers:
        steps.append("accrued scores")
        memory = max(memory, fresh_bytes(info.size) + layers_memory(layout_of(material)))
    seconds = {name: seconds_of(name, info.size) for name in steps} | {LINES_STEP: RATES.seconds.report_lines}
    return Task(material, variant, Cost(seconds, memory), info.digest, layers)


@dataclass(frozen=True, slots=True)
class ReportPlan:
    """The tables that a report is about."""

    directories: tuple[Path, ...]
    """Directories; a table is read from the first that has it."""
    tasks: tuple[Task, ...]
    """One task for each table, in build order, variant by variant. A report itself proceeds material by
    material."""
    comparisons: Mapping[Material, Cost]
    """Maps each material, in build order, to the cost of comparing its tables for both variants."""
    uses_saved_data: bool
    """Whether the directory has saved data instead of tables."""
    layers: bool = False
    """Whether layers of packed tables are solved to count accrued scores."""

    @property
    def seconds(self) -> float:
        """Estimated time of the report in seconds."""
        return sum(cost.seconds for cost in (*(task.cost for task in self.tasks), *self.comparisons.values()))

    @property
    def memory(self) -> int:
        """Estimated memory in bytes; all tables of one material are in memory at the same time."""
        peak = 0
        for material in self.materials:
            tables = [task.cost.memory for task in self.tasks_of(material) if task.cost.memory]
            other_bytes = max(len(tables) - 1, 0) * fresh_bytes(layout_of(material).size)
            peak = max(peak, max(tables, default=0) + other_bytes)
        return peak and BASE_MEMORY + peak

    @property
    def materials(self) -> list[Material]:
        """All materials, in build order."""
        return sorted({*(task.material for task in self.tasks), *self.comparisons})

    def tasks_of(self, material: Material) -> list[Task]:
        """Return the tasks for the tables of a material."""
        return [task for task in self.tasks if task.material == material]


def plan_report(
    directory: Directories = None,
    materials: Iterable[Material | str] = (),
    *,
    men: int | None = None,
    rules: Variant | str | None = None,
    saved: bool = False,
    layers: bool = False,
) -> ReportPlan:
    """Return the plan of a report.

    :param directory: the directory of the tables, or several directories: each table is read from the first
        that has it. None stands for the default directory.
    :param materials: names of materials. If neither names nor ``men`` are given, the plan has all existing
        tables of chess.
    :param men: maximum number of men; adds all existing tables of 2 to ``men`` men.
    :param rules: ``r`` or ``wg``; None for both.
    :param saved: whether the directory has data saved by :func:`tbgen.report.save_report` instead of tables.
    :param layers: whether layers of packed tables are solved to count accrued scores.
    :raises UsageError: if a name, the number of men or the rules are invalid, or a directory after the first
        does not exist.
    :raises MissingTableError: if a named table is missing.
    :raises DamagedTableError: if a file is not a table.
    :raises NothingToReportError: if there are no tables, or no saved data of a named table.
    """
    first_directory, *other_directories = directories = directories_of(directory)
    if missing := [str(other) for other in other_directories if not other.is_dir()]:
        raise UsageError(f"there is no directory {missing[0]}: name materials before --dir")
    paths = " and ".join(map(str, directories))
    named_materials = {Material.parse(name) if isinstance(name, str) else name for name in materials}
    variants = tuple(Variant) if rules is None else (Variant(rules),)
    data = SavedData(first_directory)
    stored_materials = {
        variant: data.materials(variant) if saved else tables_in(first_directory, variant, *other_directories)
        for variant in variants
    }
    chess = {variant: {m for m in stored_materials[variant] if not m.is_described} for variant in variants}
    for material in named_materials:
        if material.is_described:
            raise UsageError(f"{material} has described men: reports are about tables of chess")
    all_existing = set[Material]().union(*chess.values())
    for material in sorted(named_materials - all_existing):
        if not saved:
            raise MissingTableError(material.name, first_directory, variants[0], other_directories)
        raise NothingToReportError(f"{paths} has no data of {material}; make some: tbgen report --save DIR")
    requested_materials = named_materials.union(all_materials(men) if men is not None else ()) or all_existing
    if not all_existing & requested_materials:
        if saved:
            sentence = f"{paths} has no data of these tables; save them with: tbgen report --save DIR"
            raise NothingToReportError(sentence)
        command = build_command(["--men", str(men or 3)], first_directory, variants[0])
        raise NothingToReportError(f"{paths} has no tables; make some with: {command}")
    cost = Cost({"data": RATES.seconds.read_report_data})
    tasks = tuple(
        Task(material, variant, cost) if saved else _reading_task(directories, material, variant, layers)
        for variant in variants
        for material in sorted(chess[variant] & requested_materials)
    )
    comparable = requested_materials.intersection(*chess.values()) if len(variants) > 1 else set()
    comparison_costs = {
        material: cost if saved else Cost({"compared": seconds_of("compared", layout_of(material).size)})
        for material in sorted(comparable.intersection(data.compared_materials()) if saved else comparable)
    }
    return ReportPlan(directories, tasks, comparison_costs, saved, layers)
