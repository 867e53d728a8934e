"""The small build that tests of clusters do."""

import shutil
from pathlib import Path

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.store.format import table_path

KBVK, KBVKN = Material.parse("KBvK"), Material.parse("KBvKN")
"""The second takes a second or more."""

SUBS = ("KvK", "KBvK", "KNvK")


def copy_subs(source: Path, target: Path) -> None:
    """Copy the sub-tables of KBvKN."""
    for name in SUBS:
        shutil.copy(table_path(source, name, Variant.R_MOBILITY), target)
