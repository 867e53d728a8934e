#!/usr/bin/env python3
"""Write docs/set.md, a list of all tables of a set, from docs/tables/set.json and the lists of proofs.

    tbgen publish /srv/tables --men 5 && tbgen publish /srv/tables --men 5 --rules wg
    scripts/set_page.py --published /srv/tables     # first makes docs/tables/set.json
    scripts/set_page.py

For every table, ``set.json`` has the size and SHA-256 of the file, which ``tbgen publish`` has listed, and
attributes of the file: positions, digest of the content, time to build. The same data give the same page.
"""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.documents import to_builtins
from tbgen.errors import TbgenError
from tbgen.exchange.published import LIST_NAME, PublishedSet, PublishedTable
from tbgen.system.files import write_file
from tbgen.tables.files import open_table
from tbgen.text import counted, duration, number, size_text
from tbgen.verify.plan import ListedProof, Proofs

ROOT: Final = Path(__file__).resolve().parent.parent
_TableData = Mapping[str, Any]


def main() -> int:
    """Write the page. With ``--published``, make the data first."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--published", type=Path, help="directory of tbgen publish, to make the data first")
    parser.add_argument("--data", type=Path, default=ROOT / "docs" / "tables")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "set.md")
    arguments = parser.parse_args()
    data = arguments.data / "set.json"
    try:
        if arguments.published is not None:
            write_file(data, set_data(arguments.published))
        tables = json.loads(data.read_text())["tables"]
        write_file(arguments.out, "\n".join(page(tables, arguments.data)).encode() + b"\n")
    except FileNotFoundError as error:
        print(f"error: {error.filename} is missing; make it with --published DIR", file=sys.stderr)
        return 1
    except TbgenError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def set_data(directory: Path) -> bytes:
    """Return the data of a published set as JSON, with one table per line.

    :raises FileNotFoundError: if there is no list of the set.
    :raises TbgenError: if the list is damaged, or a file differs from the list.
    """
    published = PublishedSet.parse((directory / LIST_NAME).read_bytes(), str(directory / LIST_NAME))
    lines = ",\n".join(json.dumps(_table_data(directory, table)) for table in published.tables)
    return f'{{"tables": [\n{lines}\n]}}\n'.encode()


def _table_data(directory: Path, table: PublishedTable) -> dict[str, Any]:
    with open_table(directory / table.file, material=table.parsed_material) as file:
        info = file.info
    if (info.bytes, info.digest) != (table.bytes, table.digest):
        raise TbgenError(f"{info.path} is not the file of the list: publish the set again")
    return {
        **to_builtins(table),
        "positions": sum(info.positions) + info.ep_positions,
        "max_depth": info.max_depth,
        "build_seconds": round(info.build_seconds, 1),
        "tbgen_version": info.tbgen_version,
    }


def page(tables: Sequence[_TableData], data: Path) -> Iterable[str]:
    """Yield the lines of the page.

    :param data: directory of the lists of proofs.
    :raises TbgenError: if a list is damaged.
    """
    by_variant: dict[Variant, list[tuple[_TableData, ListedProof | None]]] = defaultdict(list)
    proofs = {variant: Proofs(data / f"proofs.{variant}.txt") for variant in Variant}
    for table in tables:
        material = Material.parse(table["material"])
        variant = Variant(table["rules"])
        by_variant[variant].append((table, proofs[variant].find(material, variant, table["digest"], None)))
    yield from (
        "# The set, table by table",
        "",
        "This page is for those who build, fetch or check tables. It shows the size, the cost and the proof "
        "of each table. This command lists your own tables:",
        "",
        "```",
        "tbgen info",
        "```",
        "",
        "The columns are:",
        "",
        "- *positions*: legal positions up to symmetry, en passant rights included;",
        "- *longest*: the greatest depth, including accrued scores if the table stores their depths, as "
        "tables of up to four men do;",
        "- *file*: its size;",
        "- *built in*: wall time of the build from its sub-tables; most tables were built two at a time, "
        "while the machine did other work;",
        "- *states proved*: the states that `tbgen verify` has checked, each against its successors; the "
        "last column is the time of the proof. Finished positions are left out, and so are states whose "
        "values follow from others ([theory.md](theory.md)). In r-mobility these are the states that are not "
        "fresh and whose accrued score has a higher rank than the fresh value; in whole-game mobility, all "
        "that are not fresh. A proof is of the contents, which it names by their digest; the file may have "
        "been written again since.",
        "",
        "`docs/tables/set.json` has the SHA-256 of the files and the digests of the contents; "
        "`scripts/set_page.py` makes this page from it and from the lists of proofs.",
        "",
    )
    for variant, entries in by_variant.items():
        yield from (_summary(variant, entries), "")
    for variant, entries in by_variant.items():
        yield from (f"## Tables for {variant.label}", "")
        yield "| table | positions | longest | file | built in | states proved | in |"
        yield "| --- | --: | --: | --: | --: | --: | --: |"
        yield from (_row(table, proof) for table, proof in entries)
        yield ""


def _summary(variant: Variant, entries: Sequence[tuple[_TableData, ListedProof | None]]) -> str:
    proofs = [proof for _, proof in entries if proof]
    positions, size, seconds = (
        sum(table[key] for table, _ in entries) for key in ("positions", "bytes", "build_seconds")
    )
    return (
        f"For {variant.label}: {counted(len(entries), 'table')}, {number(positions)} positions, "
        f"{size_text(size)} ({number(size)} bytes), whose builds took {duration(seconds)} in all; "
        f"{len(proofs)} of them are proved in full, {number(sum(proof.states for proof in proofs))} states."
    )


def _row(table: _TableData, proof: ListedProof | None) -> str:
    proved = (number(proof.states), f"{proof.seconds:.1f} s") if proof else ("not yet", "")
    cells = (
        table["material"],
        number(table["positions"]),
        f"{table['max_depth']} plies",
        size_text(table["bytes"]),
        f"{table['build_seconds']:.1f} s",
        *proved,
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
