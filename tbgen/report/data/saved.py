"""The data of reports in files that outlast the tables: one per table, and one per pair of tables compared.

A file is the JSON document of a report (:mod:`tbgen.report.model`) without what can be made again, and with
moves in UCI notation for lines; gzip makes it a fifth of the size. The same report gives the same bytes.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.errors import DamagedTableError, TbgenError
from tbgen.files import make_directory, write_file
from tbgen.report.facts.difference import Difference
from tbgen.report.facts.mating import judged
from tbgen.report.facts.records import with_moves
from tbgen.report.facts.table_highlights import with_highlights
from tbgen.report.model import Record, TableReport
from tbgen.store.format import materials_in

_ENDING: Final = ".json.gz"

_DIFFERENCE: Final = "difference"
"""Stands for the variant in the name of a file about two of them."""

_UNREADABLE: Final = (OSError, EOFError, zlib.error, ValueError, AttributeError, KeyError, TypeError)
"""Also UsageError and ValidationError, which are ValueErrors."""


class SavedData:
    """A folder of saved data.

    :param directory: which is made when something is saved.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def tables(self, variant: Variant) -> list[Material]:
        """Return the materials with data of a table, in build order."""
        return materials_in(self.directory, f".{variant}{_ENDING}")

    def differences(self) -> list[Material]:
        """Return the materials with a comparison of their tables, in build order."""
        return materials_in(self.directory, f".{_DIFFERENCE}{_ENDING}")

    def digest(self, material: Material, variant: Variant) -> str | None:
        """Return the digest of the table that data are of, None if there are none.

        :raises TbgenError: if a file cannot be used.
        """
        path = self._path(material, variant)
        if not path.exists():
            return None
        with _reading(path) as found:
            return str(found["digest"])

    def table(self, material: Material, variant: Variant) -> TableReport:
        """Return the report of a table; its lines are replayed by the arbiter.

        :raises TbgenError: if its file is missing or cannot be used.
        """
        with _reading(self._path(material, variant)) as found:
            report = _table(found)
            if (report.material, report.variant) != (material, variant):
                raise ValueError(f"its data are of {report.material} by {report.variant.label}")
        return report

    def difference(self, material: Material) -> Difference:
        """Return how the tables of both variants differ.

        :raises TbgenError: if the file is missing or cannot be used.
        """
        with _reading(self._path(material, _DIFFERENCE)) as found:
            difference = Difference.read(found)
            if difference.material != material:
                raise ValueError(f"its data are of {difference.material}")
        return difference

    def save_table(self, report: TableReport) -> None:
        """Save the report of a table.

        :raises TbgenError: if it cannot be written.
        """
        found = report.plain()
        del found["highlights"]
        for record in found["records"]:
            record["line"] = " ".join(point["uci"] for point in record["line"])
            del record["pgn"], record["verified"]
        self._write(self._path(report.material, report.variant), found)

    def save_difference(self, found: Difference) -> None:
        """Save how two tables differ.

        :raises TbgenError: if it cannot be written.
        """
        self._write(self._path(found.material, _DIFFERENCE), found.plain())

    def _path(self, material: Material, kind: str) -> Path:
        return self.directory / f"{material}.{kind}{_ENDING}"

    def _write(self, path: Path, found: dict[str, Any]) -> None:
        remedy = "choose another directory with --save"
        make_directory(path.parent, remedy=remedy)
        content = json.dumps(found, separators=(",", ":")).encode()
        write_file(path, gzip.compress(content, mtime=0), remedy=remedy)


def _table(found: dict[str, Any]) -> TableReport:
    lines = [record.pop("line").split() for record in found["records"]]
    report = TableReport.read(found)
    records = tuple(map(_with_line, report.records, lines))
    mating = judged(report.material, report.mating.truth, report.mating.like_bishops)
    return with_highlights(replace(report, records=records, mating=mating))


def _with_line(record: Record, moves: list[str]) -> Record:
    """Return a record with its line, if it has one.

    :raises ValueError: if the line does not lead to the record's value.
    """
    if record.depth and not moves:
        return record
    full = with_moves(record, moves)
    if full is None:
        raise ValueError(f"the line to {record.value} does not lead there")
    return full


@contextmanager
def _reading(path: Path) -> Iterator[dict[str, Any]]:
    """Give the content of a file; what the block finds wrong with it is said with the name of the file."""
    try:
        found = json.loads(gzip.decompress(path.read_bytes()))
        if not isinstance(found, dict):
            raise ValueError("no data of a report")
        yield found
    except FileNotFoundError:
        raise TbgenError(f"{path} is missing: make it with: tbgen report --save {path.parent}") from None
    except _UNREADABLE as error:
        remedy = "make it again with: tbgen report --save"
        raise DamagedTableError(f"{path} cannot be used ({error}): {remedy}") from error
