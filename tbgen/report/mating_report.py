"""A report on mating potential: the rule of thumb and the truth, for any men, as a list of materials."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from itertools import combinations
from typing import Final

from tbgen.board.material import Material, men_of
from tbgen.board.variant import Variant
from tbgen.costs import seconds_of
from tbgen.errors import MissingTableError, UsageError, quote
from tbgen.index.layout import layout_of
from tbgen.progress import Reporter, SilentReporter, TimedProgress
from tbgen.report.mating import MULLER, MatingMarks, mating_entry
from tbgen.report.model import MatingReport
from tbgen.report.plan import NothingToReportError, build_command
from tbgen.report.scan import count_source
from tbgen.report.source import open_source
from tbgen.store.format import Directories, directories_of, tables_in

_PIECES: Final = "QRBN"
"""The pieces of chess that every man is set against."""
_MAN: Final = re.compile(rf"\[[^][]*\]|[{_PIECES}]", re.IGNORECASE | re.ASCII)


def mating_materials(men: Iterable[str]) -> list[Material]:
    """Return the materials in which men show their mating potential, in build order: each alone, two of it,
    and each against each piece of chess and against each other.

    >>> [material.name for material in mating_materials(["[WF]"])]
    ['K[WF]vK', 'K[WF][WF]vK', 'KQvK[WF]', 'KRvK[WF]', 'KBvK[WF]', 'KNvK[WF]']

    :raises UsageError: if there is no such man.
    """
    found = dict.fromkeys(name for man in men for name in men_of(man))
    sides = [*((f"K{man}", "K") for man in found), *((f"K{man}{man}", "K") for man in found)]
    sides += [(f"K{man}", f"K{piece}") for man in found for piece in _PIECES]
    sides += [(f"K{one}", f"K{other}") for one, other in combinations(found, 2)]
    materials = set()
    for white, black in sides:
        with suppress(UsageError):  # more moves than tables can count
            materials.add(Material.of_sides(white, black)[0])
    return sorted(materials)


def _named(word: str) -> Material:
    """Return the material that a word names.

    :raises UsageError: if it names none.
    """
    if "v" not in word.lower():
        raise UsageError(
            f"{quote(word)} is no man here: expected Q, R, B, N, or a description or name in brackets, such "
            "as [WF]; or a material, such as KBNvK"
        )
    return Material.parse(word)


def read_mating(
    directory: Directories,
    words: Iterable[str],
    *,
    rules: Variant | str = "r",
    marks: MatingMarks = MULLER,
    threads: int = 2,
    reporter: Reporter | None = None,
) -> MatingReport:
    """Return a report on mating potential from the tables that are there.

    :param directory: where the tables lie, or several directories, of which the first
        that has a table counts; None for the default directory.
    :param words: men, such as ``[WF]`` or ``N``, whose materials are those of :func:`mating_materials`; and
        names of further materials.
    :param marks: what the rule of thumb is told about men.
    :param threads: threads that count, of some 50 MiB each.
    :param reporter: receives the progress of the report.

    :raises UsageError: if a word means nothing.
    :raises MissingTableError: if a material that is named has no table.
    :raises NothingToReportError: if there is no table of the men.
    :raises DamagedTableError: if a table cannot be used.
    """
    first, *others = places = directories_of(directory)
    variant = Variant.parse(rules)
    words = list(words)
    if not words:
        raise UsageError("no man is named: name some such as [WF] or N")
    men = [word for word in words if _MAN.fullmatch(word)]
    named = {_named(word) for word in words if word not in men}
    there = set(tables_in(first, variant, *others))
    for material in sorted(named - there):
        raise MissingTableError(material.name, first, variant, others)
    wanted = {*mating_materials(men), *named}
    found, missing = sorted(wanted & there), tuple(sorted(wanted - there))
    if not found:
        names = (material.name for material in missing[: len(men)])
        command = build_command(names, variant, directory)
        place = " and ".join(map(str, places))
        raise NothingToReportError(f"{place} has no table of these men; make some: {command}")
    costs = {material: seconds_of("counted", layout_of(material).size) for material in found}
    clock = TimedProgress(reporter or SilentReporter(), sum(costs.values()), found)
    entries = []
    for material, seconds in costs.items():
        clock.begin(material, {"counted": seconds})
        with open_source(places, material, variant, threads=threads, progress=clock.progress) as source:
            scanned = count_source(source, threads=threads, progress=clock.progress)
        entries.append(mating_entry(scanned, marks=marks))
    return MatingReport(tuple(entries), missing)
