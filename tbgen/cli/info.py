"""``tbgen info``: the existing and missing tables of a directory, the contents of tables, and digests."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from textwrap import wrap
from typing import Any, Final, Self

from tbgen.board.material import Material, all_materials
from tbgen.board.variant import Variant
from tbgen.cli.options import AsJson, Rules, TableDirectory, command
from tbgen.cli.streams import print_document, say
from tbgen.documents import Count, Document
from tbgen.errors import NoTablesError
from tbgen.index.table import AccruedForm
from tbgen.store.format import TableInfo, tables_in
from tbgen.tables.inventory import (
    MAX_EXPECTED_MEN,
    Entry,
    TableDocument,
    combined_digests,
    digest_line,
    inventory,
)
from tbgen.text import counted, size_text

MANIFEST_HEADER: Final = "# material rules fresh accrued digest"
"""The first line of a list of digests."""
_MAX_NAMED_MISSING: Final = 24
"""Maximum number of missing tables to name for each number of men. If there are more, they are counted."""


@command
def run(
    *materials: Material,
    manifest: bool,
    variant: Rules = Variant.R_MOBILITY,
    json: AsJson,
    directory: TableDirectory,
) -> int:
    """List the tables of the directory, or describe the tables of some materials.

    Without materials, the list also names the missing tables of up to four men. If a table of five men
    exists, the missing tables of five men are also named, or only counted if there are many.

    With materials, each table is described and its values are counted: positions up to symmetry, per side to
    move. The longest depth of a plain table includes the depths of accrued scores, and the output shows a
    state with this depth on the next line. A packed table does not store depths of accrued scores, so its
    longest depth may be shorter. Layers are the depths that tbgen probe --depths has computed and stored
    beside a table.

    Tables for whole-game mobility (--rules wg) are listed separately from tables for r-mobility. A list ends
    with the number of tables for each other variant.

    --manifest prints a line for each existing or named table, for comparison with other builds. A line has
    the digest of the fresh values, which does not depend on the form of the table or on accrued scores. Then
    it says whether accrued scores are stored ("values" means without depths, as in packed tables). The digest
    of the content follows. The last line has two digests of the list, one for each column of digests.
    The digests are the ones stated in the files; tbgen verify checks them.

    \b
    For example:
      tbgen info
      tbgen info KBvK KBNvK --json
      tbgen info --rules wg
      tbgen info --manifest --dir mine > mine.txt
      tbgen info --manifest --dir yours | diff mine.txt -

    :param materials: materials such as KBvK
    :param manifest: print the digests of the tables
    :param json: print one JSON document
    """
    selection = sorted({*materials}) or tables_in(directory, variant) if manifest else list(materials)
    if not directory.exists() or (manifest and not selection):
        raise NoTablesError(directory, variant)
    entries = inventory(directory, variant, selection or None, counts=bool(selection) and not manifest)
    # In an overview, a missing table is information and not a failure.
    errors = [entry.error for entry in entries if entry.error and (selection or not entry.is_missing)]
    if json:
        print_document(_manifest_document(entries) if manifest else _document(directory, variant, entries))
    else:
        overview = _details(entries) if materials else _list(directory, variant, entries)
        for text in _manifest(entries, variant) if manifest else overview:
            print(text)
    for error in errors if manifest or not json else ():
        say(f"tbgen: {error}")
    return max((error.exit_code for error in errors), default=0)


def _layers_text(layer_count: int, size: int) -> str:
    return f"{counted(layer_count, 'layer')} of {size_text(size)}" if layer_count else ""


def _list(directory: Path, variant: Variant, entries: Sequence[Entry]) -> Iterator[str]:
    tables_found = [(entry.info, entry) for entry in entries if entry.info]
    tables = sum(info.bytes for info, _ in tables_found)
    layers = sum(entry.layer_bytes for entry in entries)
    layers_text = _layers_text(sum(entry.layer_count for entry in entries), layers)
    with_layers = f", and {layers_text} beside them: {size_text(tables + layers)}" if layers_text else ""
    rules = "" if variant is Variant.R_MOBILITY else f" for the rules {variant}"
    total = counted(len(entries), "table")
    yield f"{directory}: {len(tables_found)} of {total}{rules}, {size_text(tables)}{with_layers}"
    if tables_found:
        yield ""
        head = f"{'material':10} {'positions':>14} {'depth':>9}  {'form':6} {'accrued':8} {'size':>10}"
        yield f"{head} {'built in':>10}  by"
    for info, entry in tables_found:
        layers_text = _layers_text(entry.layer_count, entry.layer_bytes)
        accrued = ("values" if info.derives else "stored") if info.stores_accrued else "left out"
        yield (
            f"{info.material:10} {sum(info.positions) + info.ep_positions:14,} {info.max_depth:3} plies"
            f"  {info.form:6} {accrued if variant.layered else '-':8} {size_text(info.bytes):>10}"
            f" {info.build_seconds:8.1f} s  tbgen {info.tbgen_version}{layers_text and f', {layers_text}'}"
        )
    missing_names = " ".join(_missing_names([entry.material for entry in entries if entry.is_missing]))
    if missing_names:
        yield ""
        yield from wrap(f"missing: {missing_names}", 100, subsequent_indent=" " * 9)
    for other_variant in Variant:
        if other_variant is not variant and (count := len(tables_in(directory, other_variant))):
            yield ""
            command_line = f"tbgen info --rules {other_variant}"
            yield f"{counted(count, 'table')} for the rules {other_variant}: {command_line}"


def _missing_names(materials: Sequence[Material]) -> Iterator[str]:
    """Yield the names of missing tables, or their number if too many have the same number of men."""
    for men, group in groupby(materials, lambda material: material.men):
        names = [material.name for material in group]
        if men <= MAX_EXPECTED_MEN or len(names) <= _MAX_NAMED_MISSING:
            yield from names
        else:
            total = sum(material.men == men for material in all_materials(men))
            yield f"{len(names)} of {total} with {men} men"


def _details(entries: Sequence[Entry]) -> Iterator[str]:
    counted_tables = [(entry.info, entry.counts, entry) for entry in entries if entry.info and entry.counts]
    for index, (info, counts, entry) in enumerate(counted_tables):
        if index:
            yield ""
        white, black = info.positions
        yield f"{info.material}  ({info.path}, {size_text(info.bytes)})"
        en_passant = f", {info.ep_positions:,} en passant" if info.ep_positions else ""
        yield f"positions      {white:,} White to move, {black:,} Black to move{en_passant}, up to symmetry"
        if info.variant.layered:
            yield f"accrued {_accrued_text(info)}"
        if entry.layer_count:
            yield f"kept beside    {_layers_text(entry.layer_count, entry.layer_bytes)}"
        coverage = f", accrued scores {'' if info.accrued_form is AccruedForm.RUNS else 'not '}included"
        longest = counted(info.max_depth, "ply", "plies")
        yield f"longest depth  {longest}{coverage if info.variant.layered else ''}"
        if state := entry.longest:
            yield f"               {state.fen}{f' --accrued {state.accrued}' if state.accrued else ''}"
        yield f"built          in {info.build_seconds:.1f} s by tbgen {info.tbgen_version}"
        yield f"format         version {info.format_version}, {info.form}, rules {info.variant}"
        yield f"digest         {info.digest}"
        yield f"{'value':>10} {'White to move':>16} {'Black to move':>16}"
        for score in sorted({*counts[0], *counts[1]}, reverse=True):
            yield f"{score!s:>10} {counts[0].get(score, 0):16,} {counts[1].get(score, 0):16,}"


def _accrued_text(info: TableInfo) -> str:
    if info.accrued_form is AccruedForm.RUNS:
        return f"runs   {info.runs:,}"
    if info.stores_accrued:
        return "values stored without depths, which are computed on demand"
    return "runs   left out, computed on demand"


class InfoDocument(Document):
    """The tables of a directory."""

    directory: Path
    rules: Variant
    tables: list[TableDocument]
    bytes: Count
    layer_bytes: Count
    missing: list[Material]
    damaged: dict[str, str]


def _document(directory: Path, variant: Variant, entries: Sequence[Entry]) -> InfoDocument:
    return InfoDocument(
        directory=directory,
        rules=variant,
        tables=[entry.document() for entry in entries if entry.info],
        bytes=sum(entry.info.bytes for entry in entries if entry.info),
        layer_bytes=sum(entry.layer_bytes for entry in entries),
        **_unusable_tables(entries),
    )


def _manifest(entries: Sequence[Entry], variant: Variant) -> list[str]:
    text = [MANIFEST_HEADER, *(digest_line(entry, variant) for entry in entries)]
    if (digests := combined_digests(entries)) is not None:
        text.append(f"set {variant} {digests[0]} {len(entries)} {digests[1]}")
    return text


class ManifestLine(Document):
    """The digests of a table."""

    material: Material
    rules: Variant
    fresh: str
    accrued: bool
    form: str
    digest: str

    @classmethod
    def of_table(cls, info: TableInfo) -> Self:
        """Return the digests of a table."""
        return cls.of(info, rules=info.variant, fresh=info.manifest.fresh, accrued=info.stores_accrued)


class ManifestDocument(Document):
    """The digests of tables, and both digests of the list."""

    tables: list[ManifestLine]
    fresh: str | None
    digest: str | None
    missing: list[Material]
    damaged: dict[str, str]


def _manifest_document(entries: Sequence[Entry]) -> ManifestDocument:
    fresh, digest = combined_digests(entries) or (None, None)
    tables = [ManifestLine.of_table(entry.info) for entry in entries if entry.info]
    return ManifestDocument(tables=tables, fresh=fresh, digest=digest, **_unusable_tables(entries))


def _unusable_tables(entries: Sequence[Entry]) -> dict[str, Any]:
    """Return the missing tables, and the damaged tables with their errors."""
    damaged = {
        entry.material.name: str(entry.error) for entry in entries if entry.error and not entry.is_missing
    }
    return {"missing": [entry.material for entry in entries if entry.is_missing], "damaged": damaged}
