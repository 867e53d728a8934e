"""Digests of tables in memory, and those of right tables."""

from functools import cache

from tbgen.board.variant import Variant
from tbgen.index.table import Table
from tbgen.store.dataset import Dataset
from tbgen.store.schema import manifest_of
from tbgen.store.writer import plain_content
from tests.support.paths import ROOT

DESCRIBED = ROOT / "tests" / "data" / "described.r.txt"
"""Tables of the reference solver; `tests.support.reference_table`, run as a program, prints them."""


def digest_of(table: Table) -> str:
    """The digest that a table's file would have."""
    schema, facts, _, described = plain_content(table)
    return manifest_of(schema, facts, map(Dataset.manifest_line, described)).digest


@cache
def right_digests(variant: Variant) -> dict[str, str]:
    """By material: those of proved tables, and for r-mobility those of described men."""
    described = lines_of(DESCRIBED.read_text()) if variant is Variant.R_MOBILITY else {}
    return published_digests(variant) | {name: line.split()[-1] for name, line in described.items()}


def published_digests(variant: Variant) -> dict[str, str]:
    """By material: those of all proved tables."""
    return {name: line.split()[-1] for name, line in published_lines(variant).items()}


def published_lines(variant: Variant) -> dict[str, str]:
    """The lines of the manifest of all proved tables, by material."""
    return lines_of((ROOT / "docs" / "tables" / f"manifest.{variant}.txt").read_text())


def lines_of(manifest: str) -> dict[str, str]:
    """The lines of a manifest, by material."""
    return {line.split()[0]: line for line in manifest.splitlines() if not line.startswith(("#", "set "))}
