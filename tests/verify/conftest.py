"""Tables that are proved, and the command that proves them."""

import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.cli.main import main
from tbgen.index.layout import Layout
from tbgen.index.table import Table
from tbgen.store.format import table_path
from tbgen.tables.files import open_table
from tbgen.verify.sub_tables import SubTables
from tests.support.packed_tables import PackedTables


def around(directory: Path, layout: Layout) -> SubTables:
    """Return the sub-tables of a layout, from the tables of a directory, for a proof."""

    @cache
    def source_of(material: Material) -> Table:
        with open_table(table_path(directory, material.name, Variant.R_MOBILITY)) as file:
            return file.read().fresh_only()

    return SubTables(layout, source_of)


class Verify:
    """Runs the command ``tbgen verify`` in a directory of tables."""

    def __init__(self, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.directory, self._capsys = directory, capsys

    def __call__(self, *words: str, code: int = 0, where: Path | None = None) -> tuple[list[str], str]:
        """Run the command; return the lines of standard output, and the standard error."""
        assert main(["verify", *words, "--dir", str(where or self.directory)]) == code
        output = self._capsys.readouterr()
        return output.out.splitlines(), output.err

    def tables(self, *words: str, code: int = 0) -> list[dict[str, Any]]:
        """Run the command with ``--json`` and return the entries of the tables."""
        found: list[dict[str, Any]] = json.loads("\n".join(self(*words, "--json", code=code)[0]))["tables"]
        return found


@pytest.fixture
def verify(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Verify:
    return Verify(tmp_path, capsys)


@pytest.fixture
def two_packed(tables: Path, packed: PackedTables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with KNNvK and KNvK packed, and KvK; proofs make few probes."""
    monkeypatch.setattr("tbgen.verify.consistency.MAX_PROBES", 100)
    shutil.copy(table_path(tables, "KvK", Variant.R_MOBILITY), tmp_path)
    for name in ("KNvK", "KNNvK"):
        shutil.copy(packed(name), tmp_path)
    return tmp_path
