"""``tbgen info``: which tables are there, which are missing, and what is in them."""

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any

from tbgen.cli.manifest import print_manifest
from tbgen.cli.options import add_directory, add_json, directory_of
from tbgen.cli.text import counted, size_text
from tbgen.errors import MissingTableError, TbgenError
from tbgen.material import Material, all_materials
from tbgen.score import GScore
from tbgen.store.format import table_path, tables_in
from tbgen.store.info import TableInfo
from tbgen.store.reader import TableFile

_OVERVIEW_MEN = 4
_DESCRIPTION = """\
Without materials, list the tables of the directory and name those of up to four men that are missing.
With materials, describe each and count its values: positions up to symmetry, per side to move.

--manifest prints, for each table that is there or is named, what two people need to compare theirs: the
digest of the fresh values (the same whether or not accrued scores are stored), whether accrued scores are
stored, and the digest of everything; the last line has both digests of all lines. It repeats what the files
say; tbgen verify checks it.
"""
_EPILOG = """\
examples:
  tbgen info
  tbgen info KBvK KBNvK --json
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

    @property
    def missing(self) -> bool:
        """Whether the table has not been built."""
        return isinstance(self.error, MissingTableError)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    parser.add_argument("materials", nargs="*", metavar="MATERIAL", help="material such as KBvK")
    parser.add_argument("--manifest", action="store_true", help="print the digests of the tables")
    add_json(parser, "one JSON document")
    add_directory(parser)


def run(arguments: argparse.Namespace) -> int:
    """Describe the tables; the worst of what is wrong with them is the exit code."""
    directory = directory_of(arguments)
    named = [Material.parse(name) for name in arguments.materials]
    if arguments.manifest:
        return print_manifest(
            sorted({*named}) or tables_in(directory), directory, arguments.dir, arguments.json
        )
    entries = [
        _entry(material, arguments.dir, directory, bool(named)) for material in named or _overview(directory)
    ]
    if arguments.json:
        print(json.dumps(_document(directory, entries), indent=2))
    else:
        print("\n".join(_details(entries) if named else _list(directory, entries)))
    # That tables are missing is what an overview says, not a failure.
    errors = [entry.error for entry in entries if entry.error and (named or not entry.missing)]
    return max((error.exit_code for error in errors), default=0)


def _overview(directory: Path) -> list[Material]:
    return sorted({*all_materials(_OVERVIEW_MEN), *tables_in(directory)})


def _entry(material: Material, given: Path | None, directory: Path, detailed: bool) -> Entry:
    try:
        with TableFile(table_path(directory, material.name), material=material) as file:
            return Entry(material, file.info, file.counts() if detailed else None)
    except MissingTableError:
        return Entry(material, error=MissingTableError(material.name, given))
    except TbgenError as error:
        return Entry(material, error=error)


def _list(directory: Path, entries: Sequence[Entry]) -> Iterator[str]:
    found = [entry.info for entry in entries if entry.info]
    size = size_text(sum(info.bytes for info in found))
    yield f"{directory}: {len(found)} of {counted(len(entries), 'table')}, {size}"
    if found:
        yield ""
        yield (
            f"{'material':10} {'positions':>14} {'depth':>9}  {'accrued':8} {'size':>10} {'built in':>10}  by"
        )
    for info in found:
        accrued = "stored" if info.accrued else "left out"
        yield (
            f"{info.material:10} {sum(info.positions) + info.ep_positions:14,} {info.max_depth:3} plies"
            f"  {accrued:8} {size_text(info.bytes):>10} {info.build_seconds:8.1f} s"
            f"  tbgen {info.tbgen_version}"
        )
    missing = [entry.material.name for entry in entries if entry.missing]
    if missing:
        yield ""
        yield from wrap(f"missing: {' '.join(missing)}", 100, subsequent_indent=" " * 9)
    for entry in entries:
        if entry.error and not entry.missing:
            yield f"{entry.material}: {entry.error}"


def _details(entries: Sequence[Entry]) -> Iterator[str]:
    for number, entry in enumerate(entries):
        if number:
            yield ""
        if entry.info is None or entry.counts is None:
            yield f"{entry.material}: {entry.error}"
            continue
        info = entry.info
        white, black = info.positions
        yield f"{info.material}  ({info.path}, {size_text(info.bytes)})"
        passing = f", {info.ep_positions:,} en passant" if info.ep_positions else ""
        yield f"positions      {white:,} White to move, {black:,} Black to move{passing}"
        runs = f"{info.runs:,}" if info.accrued else "left out, worked out on demand"
        yield f"accrued runs   {runs}"
        yield f"longest depth  {counted(info.max_depth, 'ply', 'plies')}"
        yield f"built          in {info.build_seconds:.1f} s by tbgen {info.tbgen_version}"
        yield f"format         version {info.format_version}, rules {info.rules}"
        yield f"digest         {info.digest}"
        yield f"{'value':>10} {'White to move':>16} {'Black to move':>16}"
        for score in sorted({*entry.counts[0], *entry.counts[1]}, reverse=True):
            yield f"{score!s:>10} {entry.counts[0].get(score, 0):16,} {entry.counts[1].get(score, 0):16,}"


def _document(directory: Path, entries: Sequence[Entry]) -> dict[str, Any]:
    return {
        "directory": str(directory),
        "tables": [_table(entry.info, entry.counts) for entry in entries if entry.info],
        "missing": [entry.material.name for entry in entries if entry.missing],
        "damaged": {
            entry.material.name: str(entry.error) for entry in entries if entry.error and not entry.missing
        },
    }


def _table(info: TableInfo, counts: Counts | None) -> dict[str, Any]:
    table = {
        "material": info.material,
        "rules": info.rules,
        "positions": {
            "white": info.positions[0],
            "black": info.positions[1],
            "en_passant": info.ep_positions,
        },
        "accrued": bool(info.accrued),
        "runs": info.runs,
        "max_depth": info.max_depth,
        "bytes": info.bytes,
        "format_version": info.format_version,
        "tbgen_version": info.tbgen_version,
        "build_seconds": info.build_seconds,
        "parameters": info.parameters,
        "digest": info.digest,
        "fresh_digest": info.manifest.fresh,
    }
    if counts is not None:
        table["values"] = {
            side: {str(score): count for score, count in sorted(values.items(), reverse=True)}
            for side, values in zip(("white", "black"), counts, strict=True)
        }
    return table
