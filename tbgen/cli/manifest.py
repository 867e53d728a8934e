"""``tbgen info --manifest``: the digests of tables, for two people to compare what they have."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tbgen.cli.streams import say
from tbgen.errors import MissingTableError, TbgenError
from tbgen.material import Material
from tbgen.store.format import table_path
from tbgen.store.info import TableInfo
from tbgen.store.reader import TableFile
from tbgen.variant import Variant

TITLE = "# material rules fresh accrued digest"


@dataclass(frozen=True, slots=True)
class Line:
    """What is said of one table."""

    material: str
    variant: Variant
    info: TableInfo | None
    problem: TbgenError | None
    """Why there is no ``info``."""

    def __str__(self) -> str:
        if self.info is None:
            return f"{self.material} {self.variant} {'missing' if self.missing else 'damaged'}"
        stored = "stored" if self.info.accrued else "left-out"
        return f"{self.material} {self.variant} {self.info.manifest.fresh} {stored} {self.info.digest}"

    @property
    def missing(self) -> bool:
        """Whether the table has not been built."""
        return isinstance(self.problem, MissingTableError)


def print_manifest(
    materials: Iterable[Material], directory: Path, given: Path | None, as_json: bool, variant: Variant
) -> int:
    """Print a line per table and one for all of them, or one document; return the exit code.

    ``given`` is the directory that the user named, if any. What is wrong with tables goes to stderr.
    """
    lines = [_line(material, directory, given, variant) for material in materials]
    print(json.dumps(_document(lines), indent=2) if as_json else "\n".join(_text(lines, variant)))
    problems = [line.problem for line in lines if line.problem]
    for problem in problems:
        say(f"tbgen: {problem}")
    return max((problem.exit_code for problem in problems), default=0)


def _line(material: Material, directory: Path, given: Path | None, variant: Variant) -> Line:
    try:
        with TableFile(table_path(directory, material.name, variant), material=material) as file:
            if file.info.manifest.digest != file.info.digest:
                raise file.damaged("its manifest does not match its digest")
            return Line(material.name, variant, file.info, None)
    except MissingTableError:
        return Line(material.name, variant, None, MissingTableError(material.name, given, variant))
    except TbgenError as error:
        return Line(material.name, variant, None, error)


def _text(lines: list[Line], variant: Variant) -> list[str]:
    text = [TITLE, *map(str, lines)]
    if all(line.info for line in lines):
        fresh, digest = _set_digests(lines)
        text.append(f"set {variant} {fresh} {len(lines)} {digest}")
    return text


def _document(lines: list[Line]) -> dict[str, Any]:
    whole = all(line.info for line in lines)
    fresh, digest = _set_digests(lines) if whole else (None, None)
    return {
        "tables": [
            {
                "material": line.material,
                "rules": line.variant,
                "fresh": line.info.manifest.fresh,
                "accrued": bool(line.info.accrued),
                "digest": line.info.digest,
            }
            for line in lines
            if line.info
        ],
        "fresh": fresh,
        "digest": digest,
        "missing": [line.material for line in lines if line.missing],
        "damaged": {line.material: str(line.problem) for line in lines if line.problem and not line.missing},
    }


def _set_digests(lines: list[Line]) -> tuple[str, str]:
    """Return the SHA-256 of the lines ``material rules fresh`` and of the lines ``material rules digest``."""
    fresh, digest = hashlib.sha256(), hashlib.sha256()
    for line in lines:
        assert line.info
        fresh.update(f"{line.material} {line.variant} {line.info.manifest.fresh}\n".encode())
        digest.update(f"{line.material} {line.variant} {line.info.digest}\n".encode())
    return fresh.hexdigest(), digest.hexdigest()
