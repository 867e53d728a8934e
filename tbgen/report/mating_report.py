"""A report on the mating potential of any men: a list of materials with the rule of thumb and the facts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from itertools import combinations
from typing import Final

from tbgen.board.kinds import PROMOTION_LETTERS
from tbgen.board.material import Material, men_of, sides_of_name
from tbgen.board.variant import Variant
from tbgen.costs import seconds_of
from tbgen.errors import MissingTableError, UsageError, build_command, quote
from tbgen.index.layout import layout_of
from tbgen.progress import Reporter, SilentReporter, TimedProgress
from tbgen.report.mating import MULLER, MatingMarks, mating_entry
from tbgen.report.model import MatingReport
from tbgen.report.plan import NothingToReportError
from tbgen.report.scan import scan_table
from tbgen.report.source import open_source
from tbgen.store.format import Directories, directories_of, tables_in

_MAN_PATTERN: Final = re.compile(rf"\[[^][]*\]|[{PROMOTION_LETTERS}]", re.IGNORECASE | re.ASCII)


def mating_materials(men: Iterable[str]) -> list[Material]:
    """Return the materials that show the mating potential of men, in build order.

    These are the materials with each man alone, with two men of each kind, with each man against each piece
    of chess, and with each pair of different men against each other.

    >>> [material.name for material in mating_materials(["[WF]"])]
    ['K[WF]vK', 'K[WF][WF]vK', 'KQvK[WF]', 'KRvK[WF]', 'KBvK[WF]', 'KNvK[WF]']

    :raises UsageError: if a man does not exist.
    """
    singles = dict.fromkeys(name for man in men for name in men_of(man))
    sides = [*((f"K{man}", "K") for man in singles), *((f"K{man}{man}", "K") for man in singles)]
    sides += [(f"K{man}", f"K{piece}") for man in singles for piece in PROMOTION_LETTERS]
    sides += [(f"K{man}", f"K{other}") for man, other in combinations(singles, 2)]
    materials = set()
    for white, black in sides:
        with suppress(UsageError):  # raised if the men have more moves than tables can count
            materials.add(Material.of_sides(white, black)[0])
    return sorted(materials)


def _parse_material(word: str) -> Material:
    """Return the material that a word names.

    :raises UsageError: if the word does not name a material.
    """
    if "v" not in word.lower() and sides_of_name(word) is None:
        raise UsageError(
            f"{quote(word)} is not a man: expected Q, R, B, N, or a description or name in brackets, such "
            "as [WF]; or a material, such as KBNvK"
        )
    return Material.parse(word)


def make_mating_report(
    directory: Directories,
    texts: Iterable[str],
    *,
    rules: Variant | str = "r",
    marks: MatingMarks = MULLER,
    threads: int = 2,
    reporter: Reporter | None = None,
) -> MatingReport:
    """Return a report on mating potential from the existing tables.

    :param directory: the directory of the tables, or several directories: each table is read from the first
        that has it. None stands for the default directory.
    :param texts: men such as ``[WF]`` or ``N``, which stand for the materials of :func:`mating_materials`,
        and names of further materials.
    :param marks: the properties of men that the rule of thumb uses.
    :param threads: number of threads to count with; each needs about 50 MiB.
    :param reporter: receives the progress of the report.

    :raises UsageError: if a word is neither a man nor a material.
    :raises MissingTableError: if a named material has no table.
    :raises NothingToReportError: if none of the tables exists.
    :raises DamagedTableError: if a table cannot be used.
    """
    first_directory, *other_directories = directories = directories_of(directory)
    variant = Variant(rules)
    texts = list(texts)
    if not texts:
        raise UsageError("no man is named: name men such as [WF] or N")
    men = [word for word in texts if _MAN_PATTERN.fullmatch(word)]
    named_materials = {_parse_material(word) for word in texts if word not in men}
    existing = set(tables_in(first_directory, variant, *other_directories))
    for material in sorted(named_materials - existing):
        raise MissingTableError(material.name, first_directory, variant, other_directories)
    requested_materials = {*mating_materials(men), *named_materials}
    available = sorted(requested_materials & existing)
    missing_materials = tuple(sorted(requested_materials - existing))
    if not available:
        command = build_command((m.name for m in missing_materials[: len(men)]), first_directory, variant)
        directories_text = " and ".join(map(str, directories))
        raise NothingToReportError(f"{directories_text} has no table of these men; make some: {command}")
    costs = {material: seconds_of("counted", layout_of(material).size) for material in available}
    clock = TimedProgress(reporter or SilentReporter(), sum(costs.values()), available)
    entries = []
    for material, seconds in costs.items():
        clock.begin(material, {"counted": seconds})
        with open_source(directories, material, variant, threads=threads, progress=clock.progress) as source:
            scan = scan_table(source, threads=threads, progress=clock.progress)
        entries.append(mating_entry(scan, marks=marks))
    return MatingReport(tuple(entries), missing_materials)
