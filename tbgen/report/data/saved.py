"""The data of reports in files that outlast the tables: one per table, and one per pair of tables compared.

A file is a JSON document as :mod:`tbgen.report.data.documents` makes it, without what can be made again, and
with moves in UCI notation for lines; gzip makes it a fifth of the size. The same report gives the same bytes.
"""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any, Final

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.errors import DamagedTableError, TbgenError, UsageError
from tbgen.files import write_file
from tbgen.report.data import reading
from tbgen.report.data.documents import difference_document, document
from tbgen.report.facts.difference import Difference
from tbgen.report.facts.records import with_moves
from tbgen.report.model import Record, TableReport

_ENDING: Final = ".json.gz"

_DIFFERENCE: Final = "difference"
"""Stands for the variant in the name of a file about two of them."""

_MADE_AGAIN: Final = ("highlights",)
"""What a document has of a table and a file does not: it is made of the rest."""

_UNREADABLE: Final = (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, UsageError)


class SavedData:
    """A folder of saved data.

    :param directory: which is made when something is saved.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def tables(self, variant: Variant) -> list[Material]:
        """Return the materials of which there are data of a table, in build order."""
        return self._materials(variant)

    def differences(self) -> list[Material]:
        """Return the materials of which there are tables compared, in build order."""
        return self._materials(_DIFFERENCE)

    def digest(self, material: Material, variant: Variant) -> str | None:
        """Return the digest of the table that data are of, None if there are none.

        :raises TbgenError: if a file cannot be used.
        """
        path = self._path(material, variant)
        return str(_read(path)["digest"]) if path.exists() else None

    def table(self, material: Material, variant: Variant) -> TableReport:
        """Return the report of a table; its lines are replayed by the arbiter.

        :raises TbgenError: if its file is missing or cannot be used.
        """
        path = self._path(material, variant)
        found = _read(path)
        try:
            report = reading.table_report(found, [_record(entry) for entry in found["records"]])
        except _UNREADABLE as error:
            raise _damaged(path, error) from error
        if (report.material, report.variant) != (material, variant):
            raise _damaged(path, f"its data are of {report.material} by {report.variant.label}")
        return report

    def difference(self, material: Material) -> Difference:
        """Return how the tables of both variants differ.

        :raises TbgenError: if the file is missing or cannot be used.
        """
        path = self._path(material, _DIFFERENCE)
        found = _read(path)
        try:
            difference = reading.difference(found)
        except _UNREADABLE as error:
            raise _damaged(path, error) from error
        if difference.material != material:
            raise _damaged(path, f"its data are of {difference.material}")
        return difference

    def save_table(self, report: TableReport) -> None:
        """Save the report of a table.

        :raises TbgenError: if it cannot be written.
        """
        found = {name: part for name, part in document(report).items() if name not in _MADE_AGAIN}
        for record in found["records"]:
            record["line"] = " ".join(point["uci"] for point in record["line"])
            del record["pgn"], record["verified"]
        self._write(self._path(report.material, report.variant), found)

    def save_difference(self, found: Difference) -> None:
        """Save how two tables differ.

        :raises TbgenError: if it cannot be written.
        """
        self._write(self._path(found.material, _DIFFERENCE), difference_document(found))

    def _materials(self, kind: str) -> list[Material]:
        ending = f".{kind}{_ENDING}"
        names = (path.name.removesuffix(ending) for path in self.directory.glob(f"*{ending}"))
        found = (material for name in names if (material := _parsed(name)))
        return sorted(found)

    def _path(self, material: Material, kind: str) -> Path:
        return self.directory / f"{material}.{kind}{_ENDING}"

    def _write(self, path: Path, found: dict[str, Any]) -> None:
        remedy = "choose another directory with --save"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TbgenError(
                f"cannot make the directory {path.parent}: {error.strerror}; {remedy}"
            ) from error
        content = json.dumps(found, separators=(",", ":")).encode()
        write_file(path, gzip.compress(content, mtime=0), remedy=remedy)


def _parsed(name: str) -> Material | None:
    try:
        material = Material.parse(name)
    except UsageError:
        return None
    return material if material.name == name else None


def _record(found: dict[str, Any]) -> Record:
    """Return a record with its line, if it has one.

    :raises ValueError: if the line does not lead to the record's value.
    """
    record = reading.record(found)
    if record.depth and not found["line"]:
        return record
    full = with_moves(record, found["line"].split())
    if full is None:
        raise ValueError(f"the line to {record.value} does not lead there")
    return full


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(gzip.decompress(path.read_bytes()))
    except FileNotFoundError:
        raise TbgenError(f"{path} is missing: make it with: tbgen report --save {path.parent}") from None
    except _UNREADABLE as error:
        raise _damaged(path, error) from error
    if not isinstance(found, dict):
        raise _damaged(path, "no data of a report")
    return found


def _damaged(path: Path, what: object) -> DamagedTableError:
    return DamagedTableError(f"{path} cannot be used ({what}): make it again with: tbgen report --save")
