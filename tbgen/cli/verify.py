"""``tbgen verify``: prove tables."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.cli.options import add_directory, add_json, add_rules, as_given, directory_of, whole_number
from tbgen.cli.progress import TableProgress
from tbgen.errors import MissingTableError, NoTablesError, TbgenError
from tbgen.store.format import tables_in
from tbgen.text import counted

if TYPE_CHECKING:
    from tbgen.verify.report import CheckedState, Finding
    from tbgen.verify.tables import TableProof

_DESCRIPTION = """\
Check the digests of tables, then prove every value and depth in them by generating the moves of every
position, for every accrued score, independently of the program that built them. A table rests on its
sub-tables, so these are proved first. Without materials, all tables of the directory are proved. Of packed
tables of five men that others rest on there are plain copies beside the tables meanwhile, a few hundred MiB
each, if there is room for them. What all that takes is said first, if it is long.

With --proofs FILE what is proved is added to a list, and tables whose digest stands there are not proved
again: a run that was stopped goes on, here or on another machine.
"""
_EPILOG = """\
examples:
  tbgen verify
  tbgen verify KBNvK --sample 100000
  tbgen verify --rules wg
  tbgen verify --proofs proofs.txt
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    parser.add_argument("materials", nargs="*", metavar="MATERIAL", help="material such as KBvK")
    parser.add_argument(
        "--sample",
        type=whole_number(1),
        metavar="N",
        help="prove only N random positions of each table; which slots hold positions is checked everywhere",
    )
    parser.add_argument(
        "--seed", type=whole_number(0), default=0, metavar="N", help="of the random choice (default: 0)"
    )
    parser.add_argument(
        "--findings",
        type=whole_number(0),
        default=10,
        metavar="N",
        help="wrong states to print per table (default: 10)",
    )
    parser.add_argument(
        "--threads",
        type=whole_number(1),
        default=os.cpu_count() or 1,
        metavar="N",
        help="threads (default: all cores)",
    )
    parser.add_argument("--proofs", type=Path, metavar="FILE", help="list of proofs done, to be added to")
    add_rules(parser)
    add_json(parser, "one JSON document about the tables")
    add_directory(parser)


def run(arguments: argparse.Namespace) -> int:
    """Prove tables.

    :raises MissingTableError: if one of them or of their sub-tables is missing, before any is proved.
    :raises TbgenError: if any of them is not proved, after all have been tried.
    """
    from tbgen.probe.values import tables_of
    from tbgen.verify.proofs import Proofs
    from tbgen.verify.tables import verify  # needs numba, and --help does not

    directory, variant = directory_of(arguments), arguments.variant
    materials = [Material.parse(name) for name in arguments.materials] or tables_in(directory, variant)
    if not materials:
        raise NoTablesError(directory, arguments.dir, variant)
    reporter = TableProgress()
    proofs = []
    try:
        with tables_of(directory, variant) as tables:
            for proof in verify(
                materials,
                directory,
                tables,
                reporter,
                sample=arguments.sample,
                seed=arguments.seed,
                threads=arguments.threads,
                limit=arguments.findings,
                variant=variant,
                proofs=Proofs(arguments.proofs),
            ):
                proofs.append(proof)
                reporter.line.clear()
                if not arguments.json:
                    print(_text(proof), flush=True)
    except MissingTableError as error:
        raise MissingTableError(error.material, arguments.dir, variant) from None
    finally:
        reporter.line.clear()
    if arguments.json:
        print(json.dumps(_document(directory, variant, proofs), indent=2))
    _raise_failure(proofs, arguments.dir)
    return 0


def _text(proof: TableProof) -> str:
    name = f"{proof.material.name:10}"
    if proof.error is not None:
        return f"{name} {proof.error}"
    if proof.waits_for is not None:
        return f"{name} not proved, since its sub-table {proof.waits_for} is not"
    if proof.earlier is not None:
        what = "proved earlier" if proof.earlier.in_full else "nothing wrong in an earlier sample"
        of = "" if proof.earlier.in_full else f"{proof.earlier.proved:,} of "
        return f"{name} {what}: {of}{counted(proof.earlier.positions, 'position')}"
    result = proof.result
    assert result is not None
    if not result.ok:
        return "\n    ".join([f"{name} wrong: {counted(result.wrong, 'state')}", *map(str, result.findings)])
    if result.sample is None:
        said = f"proved: {counted(result.positions, 'position')}"
    elif result.sample >= result.positions:
        said = f"proved: all positions, {result.positions:,} of them"
    else:
        said = f"nothing wrong in a sample: {result.sample:,} of {counted(result.positions, 'position')}"
    return f"{name} {said}, {counted(result.states, 'state')}, {result.seconds:.2f} s"


def _document(directory: Path, variant: Variant, proofs: list[TableProof]) -> dict[str, Any]:
    tables = [_table(proof) for proof in proofs]
    return {"directory": str(directory), "rules": variant, "tables": tables}


def _table(proof: TableProof) -> dict[str, Any]:
    table: dict[str, Any] = {"material": proof.material.name, "proved": proof.proved}
    if proof.error is not None:
        table["error"] = str(proof.error)
    if proof.waits_for is not None:
        table["waits_for"] = proof.waits_for.name
    if proof.earlier is not None:
        done = proof.earlier
        table |= {
            "earlier": True,
            "sample": None if done.in_full else done.proved,
            "positions": done.positions,
            "states": done.states,
            "seconds": done.seconds,
        }
    if proof.result is not None:
        result = proof.result
        table |= {
            "sample": result.sample,
            "positions": result.positions,
            "states": result.states,
            "seconds": result.seconds,
        }
        table |= {"wrong": result.wrong, "findings": [_finding(finding) for finding in result.findings]}
    return table


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "fen": finding.fen,
        "accrued": None if finding.accrued is None else str(finding.accrued),
        "problem": finding.problem,
        "stored": _entry(finding.stored),
        "recomputed": _entry(finding.right),
    }


def _entry(entry: CheckedState | None) -> dict[str, Any] | None:
    return (
        None
        if entry is None
        else {
            "value": None if entry.value is None else str(entry.value),
            "depth": entry.depth,
        }
    )


def _raise_failure(proofs: list[TableProof], given: Path | None) -> None:
    """Raise what is worst: a wrong table, else one that cannot be read, else a missing one."""
    failed = [proof for proof in proofs if not proof.proved]
    if not failed:
        return
    wrong = [proof.material.name for proof in failed if proof.result is not None]
    if wrong:
        are = "is" if len(wrong) == 1 else "are"
        raise TbgenError(f"{len(wrong)} of {counted(len(proofs), 'table')} {are} wrong: {', '.join(wrong)}")
    errors = [proof.error for proof in failed if proof.error is not None]
    raise as_given(min(errors, key=lambda error: isinstance(error, MissingTableError)), given)
