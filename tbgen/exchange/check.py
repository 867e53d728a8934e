"""Checking that a file is the table that it claims to be."""

from pathlib import Path

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.errors import DamagedTableError
from tbgen.store.stored_file import StoredFile


def check_table(path: Path, material: Material, variant: Variant) -> str:
    """Read all of a table, in either form, and compare it with its digest; return the digest.

    :raises DamagedTableError: if it is damaged, or of another material or variant.
    """
    with StoredFile(path, material=material) as table:
        if table.info.variant is not variant:
            raise DamagedTableError(f"{path} holds a table for the rules {table.info.variant}")
        table.check()
        return table.info.digest
