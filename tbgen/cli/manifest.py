"""``tbgen info --manifest``: prints digests of tables."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.cli.options import as_given
from tbgen.cli.streams import say
from tbgen.errors import NoTablesError
from tbgen.store.digests import digest_line, set_digests
from tbgen.store.format import tables_in
from tbgen.store.inventory import Entry, inventory

TITLE = "# material rules fresh accrued digest"


def print_manifest(
    directory: Path, variant: Variant, materials: Sequence[Material] | None, given: Path | None, as_json: bool
) -> int:
    """Print a line per table and one for all of them, or one document; return the exit code.

    ``given`` is the directory that the user named, if any. What is wrong with tables goes to stderr.

    :raises NoTablesError: if no materials are named and there are no tables.
    """
    wanted = tables_in(directory, variant) if materials is None else sorted({*materials})
    if not wanted:
        raise as_given(NoTablesError(directory, directory, variant), given)
    tables = inventory(directory, variant, wanted)
    print(json.dumps(_document(tables), indent=2) if as_json else "\n".join(_text(tables, variant)))
    problems = [table.error for table in tables if table.error]
    for problem in problems:
        say(f"tbgen: {as_given(problem, given)}")
    return max((problem.exit_code for problem in problems), default=0)


def _text(tables: list[Entry], variant: Variant) -> list[str]:
    text = [TITLE, *(digest_line(table, variant) for table in tables)]
    if (both := set_digests(tables)) is not None:
        text.append(f"set {variant} {both[0]} {len(tables)} {both[1]}")
    return text


def _document(tables: list[Entry]) -> dict[str, Any]:
    fresh, digest = set_digests(tables) or (None, None)
    return {
        "tables": [
            {
                "material": table.material.name,
                "rules": table.info.variant,
                "fresh": table.info.manifest.fresh,
                "accrued": table.info.stores_accrued,
                "form": table.info.form,
                "digest": table.info.digest,
            }
            for table in tables
            if table.info
        ],
        "fresh": fresh,
        "digest": digest,
        "missing": [table.material.name for table in tables if table.missing],
        "damaged": {
            table.material.name: str(table.error) for table in tables if table.error and not table.missing
        },
    }
