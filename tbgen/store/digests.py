"""Digests of tables as lines, for two people to compare what they have."""

import hashlib
from collections.abc import Sequence

from tbgen.board.variant import Variant
from tbgen.store.inventory import Entry


def digest_line(entry: Entry, variant: Variant) -> str:
    """Return the digests that a table's file states, as a line for comparison."""
    info = entry.info
    if info is None:
        return f"{entry.material} {variant} {'missing' if entry.missing else 'damaged'}"
    stored = "left-out"
    if info.stores_accrued:
        stored = "values" if info.packed else "stored"
    return f"{entry.material} {variant} {info.manifest.fresh} {stored} {info.digest}"


def set_digests(entries: Sequence[Entry]) -> tuple[str, str] | None:
    """Return the SHA-256 of the lines ``material rules fresh`` and of the lines ``material rules digest``.

    None if a table is missing or damaged.
    """
    fresh, digest = hashlib.sha256(), hashlib.sha256()
    for entry in entries:
        if entry.info is None:
            return None
        name = f"{entry.material} {entry.info.variant}"
        fresh.update(f"{name} {entry.info.manifest.fresh}\n".encode())
        digest.update(f"{name} {entry.info.digest}\n".encode())
    return fresh.hexdigest(), digest.hexdigest()
