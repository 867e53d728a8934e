"""``tbgen info``: which tables are there, which are missing, and what is in them."""

import argparse
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from textwrap import wrap
from typing import Any

from tbgen.cli.manifest import print_manifest
from tbgen.cli.options import add_directory, add_json, add_rules, directory_of
from tbgen.cli.streams import say
from tbgen.errors import MissingTableError, TbgenError
from tbgen.material import Material, all_materials
from tbgen.score import GScore
from tbgen.store.format import layers_beside, table_path, tables_in
from tbgen.store.info import TableInfo
from tbgen.store.reader import TableFile
from tbgen.text import counted, size_text
from tbgen.variant import Variant

_OVERVIEW_MEN = 4
"""Men up to which all tables are expected."""

_MOST_NAMED = 24
"""Missing tables of one larger number of men that are named; more are counted."""

_DESCRIPTION = """\
Without materials, list the tables of the directory and name those of up to four men that are missing; once
there is one of five men, those of five men too, or count them while they are many. With materials, describe
each and count its values: positions up to symmetry, per side to move. Depths are the longest of the table,
those of accrued scores included where it stores them. Layers are what probes of tables without accrued scores
have worked out and kept beside them.

Tables for whole-game mobility (--rules wg) are listed apart from those for r-mobility; a list ends with how
many there are of the other kind.

--manifest prints, for each table that is there or is named, what two people need to compare theirs: the
digest of the fresh values (the same whether or not accrued scores are stored), whether accrued scores are
stored, and the digest of everything; the last line has both digests of all lines. It repeats what the files
say; tbgen verify checks it.
"""
_EPILOG = """\
examples:
  tbgen info
  tbgen info KBvK KBNvK --json
  tbgen info --rules wg
  tbgen info --manifest --dir mine > mine.txt; tbgen info --manifest --dir yours | diff mine.txt -
"""

Counts = list[dict[GScore, int]]


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known about one material."""

    material: Material
    info: TableInfo | None = None
    counts: Counts | None = None
    """Positions per value, White and Black to move; None in the overview."""
    error: TbgenError | None = None
    """Why there is no ``info``."""
    layers: int = 0
    """Layers kept beside the table."""
    layer_bytes: int = 0

    @property
    def missing(self) -> bool:
        """Whether the table has not been built."""
        return isinstance(self.error, MissingTableError)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    parser.add_argument("materials", nargs="*", metavar="MATERIAL", help="material such as KBvK")
    parser.add_argument("--manifest", action="store_true", help="print the digests of the tables")
    add_rules(parser)
    add_json(parser, "one JSON document")
    add_directory(parser)


def run(arguments: argparse.Namespace) -> int:
    """Describe the tables; the worst of what is wrong with them is the exit code."""
    directory, variant = directory_of(arguments), arguments.variant
    named = [Material.parse(name) for name in arguments.materials]
    if arguments.manifest:
        materials = sorted({*named}) or tables_in(directory, variant)
        return print_manifest(materials, directory, arguments.dir, arguments.json, variant)
    entries = [
        _entry(material, arguments.dir, directory, variant, bool(named))
        for material in named or _overview(directory, variant)
    ]
    # That tables are missing is what an overview says, not a failure.
    errors = [entry.error for entry in entries if entry.error and (named or not entry.missing)]
    if arguments.json:
        print(json.dumps(_document(directory, variant, entries), indent=2))
    else:
        for text in _details(entries) if named else _list(directory, variant, entries):
            print(text)
        for error in errors:
            say(f"tbgen: {error}")
    return max((error.exit_code for error in errors), default=0)


def _overview(directory: Path, variant: Variant) -> list[Material]:
    found = tables_in(directory, variant)
    men = max([_OVERVIEW_MEN, *(material.men for material in found)])
    return sorted({*all_materials(men), *found})


def _entry(
    material: Material, given: Path | None, directory: Path, variant: Variant, detailed: bool
) -> Entry:
    path = table_path(directory, material.name, variant)
    try:
        with TableFile(path, material=material) as file:
            sizes = list(_sizes(layers_beside(path)))
            counts = file.counts() if detailed else None
            return Entry(material, file.info, counts, layers=len(sizes), layer_bytes=sum(sizes))
    except MissingTableError:
        return Entry(material, error=MissingTableError(material.name, given, variant))
    except TbgenError as error:
        return Entry(material, error=error)


def _sizes(paths: Iterable[Path]) -> Iterator[int]:
    for path in paths:
        with suppress(FileNotFoundError):  # removed a moment ago
            yield path.stat().st_size


def _layers_text(number: int, size: int) -> str:
    return f"{counted(number, 'layer')} of {size_text(size)}" if number else ""


def _list(directory: Path, variant: Variant, entries: Sequence[Entry]) -> Iterator[str]:
    found = [(entry.info, entry) for entry in entries if entry.info]
    tables, layers = sum(info.bytes for info, _ in found), sum(entry.layer_bytes for entry in entries)
    beside = _layers_text(sum(entry.layers for entry in entries), layers)
    together = f", and {beside} beside them: {size_text(tables + layers)}" if beside else ""
    of = counted(len(entries), "table") + (
        "" if variant is Variant.R_MOBILITY else f" for the rules {variant}"
    )
    yield f"{directory}: {len(found)} of {of}, {size_text(tables)}{together}"
    if found:
        yield ""
        yield (
            f"{'material':10} {'positions':>14} {'depth':>9}  {'accrued':8} {'size':>10} {'built in':>10}  by"
        )
    for info, entry in found:
        beside = _layers_text(entry.layers, entry.layer_bytes)
        accrued = "stored" if info.accrued else "left out" if variant.resets else "-"
        yield (
            f"{info.material:10} {sum(info.positions) + info.ep_positions:14,} {info.max_depth:3} plies"
            f"  {accrued:8} {size_text(info.bytes):>10} {info.build_seconds:8.1f} s"
            f"  tbgen {info.tbgen_version}{beside and f', {beside}'}"
        )
    missing = " ".join(_missing([entry.material for entry in entries if entry.missing]))
    if missing:
        yield ""
        yield from wrap(f"missing: {missing}", 100, subsequent_indent=" " * 9)
    for other in Variant:
        if other is not variant and (others := len(tables_in(directory, other))):
            yield ""
            yield f"{counted(others, 'table')} for the rules {other}: tbgen info --rules {other}"


def _missing(materials: Sequence[Material]) -> Iterator[str]:
    """Yield names of tables that are missing, and how many more of each number of men there are."""
    for men, group in groupby(materials, lambda material: material.men):
        names = [material.name for material in group]
        if men <= _OVERVIEW_MEN or len(names) <= _MOST_NAMED:
            yield from names
        else:
            of = sum(material.men == men for material in all_materials(men))
            yield f"{len(names)} of {of} with {men} men"


def _details(entries: Sequence[Entry]) -> Iterator[str]:
    found = [(entry.info, entry.counts, entry) for entry in entries if entry.info and entry.counts]
    for number, (info, counts, entry) in enumerate(found):
        if number:
            yield ""
        white, black = info.positions
        yield f"{info.material}  ({info.path}, {size_text(info.bytes)})"
        passing = f", {info.ep_positions:,} en passant" if info.ep_positions else ""
        yield f"positions      {white:,} White to move, {black:,} Black to move{passing}"
        if info.variant.resets:
            runs = f"{info.runs:,}" if info.accrued else "left out, worked out on demand"
            yield f"accrued runs   {runs}"
        if entry.layers:
            yield f"kept beside    {_layers_text(entry.layers, entry.layer_bytes)}"
        included = ", accrued scores included" if info.accrued else ""
        yield f"longest depth  {counted(info.max_depth, 'ply', 'plies')}{included}"
        yield f"built          in {info.build_seconds:.1f} s by tbgen {info.tbgen_version}"
        yield f"format         version {info.format_version}, rules {info.variant}"
        yield f"digest         {info.digest}"
        yield f"{'value':>10} {'White to move':>16} {'Black to move':>16}"
        for score in sorted({*counts[0], *counts[1]}, reverse=True):
            yield f"{score!s:>10} {counts[0].get(score, 0):16,} {counts[1].get(score, 0):16,}"


def _document(directory: Path, variant: Variant, entries: Sequence[Entry]) -> dict[str, Any]:
    return {
        "directory": str(directory),
        "rules": variant,
        "tables": [_table(entry.info, entry) for entry in entries if entry.info],
        "bytes": sum(entry.info.bytes for entry in entries if entry.info),
        "layer_bytes": sum(entry.layer_bytes for entry in entries),
        "missing": [entry.material.name for entry in entries if entry.missing],
        "damaged": {
            entry.material.name: str(entry.error) for entry in entries if entry.error and not entry.missing
        },
    }


def _table(info: TableInfo, entry: Entry) -> dict[str, Any]:
    table = {
        "material": info.material,
        "rules": info.variant,
        "positions": {
            "white": info.positions[0],
            "black": info.positions[1],
            "en_passant": info.ep_positions,
        },
        "accrued": bool(info.accrued),
        "runs": info.runs,
        "max_depth": info.max_depth,
        "bytes": info.bytes,
        "layers": entry.layers,
        "layer_bytes": entry.layer_bytes,
        "format_version": info.format_version,
        "tbgen_version": info.tbgen_version,
        "build_seconds": info.build_seconds,
        "parameters": info.parameters,
        "digest": info.digest,
        "fresh_digest": info.manifest.fresh,
    }
    if entry.counts is not None:
        table["values"] = {
            side: {str(score): count for score, count in sorted(values.items(), reverse=True)}
            for side, values in zip(("white", "black"), entry.counts, strict=True)
        }
    return table
