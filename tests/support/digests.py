"""Digests of tables in memory, and the expected digests."""

from functools import cache

from tbgen.board.variant import Variant
from tbgen.index.table import Table
from tbgen.store.dataset import Dataset
from tbgen.store.schema import manifest_of
from tbgen.tables.files import plain_content
from tests.support.paths import ROOT

DESCRIBED = ROOT / "tests" / "data" / "described.r.txt"
"""Tables of the reference solver; `tests.support.reference_table`, run as a program, prints them."""


def digest_of(table: Table) -> str:
    """Return the digest of a table in memory."""
    schema, facts, _, described = plain_content(table)
    return manifest_of(schema, facts, map(Dataset.manifest_line, described)).digest


@cache
def right_digests(variant: Variant) -> dict[str, str]:
    """Return the expected digests by material: of proved tables, in r-mobility with described men too."""
    described = lines_of(DESCRIBED.read_text()) if variant is Variant.R_MOBILITY else {}
    return published_digests(variant) | {name: line.split()[-1] for name, line in described.items()}


def published_digests(variant: Variant) -> dict[str, str]:
    """Return the digests of all proved tables by material."""
    return {name: line.split()[-1] for name, line in published_lines(variant).items()}


def published_lines(variant: Variant) -> dict[str, str]:
    """Return the lines of the manifest of all proved tables, by material."""
    return lines_of((ROOT / "docs" / "tables" / f"manifest.{variant}.txt").read_text())


def lines_of(manifest: str) -> dict[str, str]:
    """Return the lines of a manifest, by material."""
    return {line.split()[0]: line for line in manifest.splitlines() if not line.startswith(("#", "set "))}
