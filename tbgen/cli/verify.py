"""``tbgen verify``: prove tables."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.cli.options import add_directory, add_json, add_rules, as_given, directory_of, whole_number
from tbgen.cli.progress import ProgressLine
from tbgen.countdown import Countdown
from tbgen.errors import MissingTableError, NoTablesError, TbgenError
from tbgen.machine import free_memory
from tbgen.store.format import tables_in
from tbgen.text import counted, duration, size_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tbgen.verify.plan import ProofPlan
    from tbgen.verify.report import Entry, Finding
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

_LONG: Final = 2.0
"""Seconds from which on work is worth a sentence."""


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
    from tbgen.verify.proofs import Proofs
    from tbgen.verify.tables import verify  # needs numba, and --help does not

    directory, variant = directory_of(arguments), arguments.variant
    materials = [Material.parse(name) for name in arguments.materials] or tables_in(directory, variant)
    if not materials:
        raise NoTablesError(directory, arguments.dir, variant)
    reporter = _Reporter()
    proofs = []
    try:
        for proof in verify(
            materials,
            directory,
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


class _Reporter:
    """Tells the terminal what the proofs are doing."""

    def __init__(self) -> None:
        self.line = ProgressLine()
        self._countdown = Countdown(0)
        self._steps: dict[Material, Mapping[str, float]] = {}
        self._table = ""

    def planned(self, plan: ProofPlan) -> None:
        """Say what it takes, if it is long."""
        self._countdown = Countdown(plan.seconds)
        self._steps = {task.material: task.cost.steps for task in plan.tasks}
        if plan.seconds < _LONG:
            return
        free = free_memory()
        parts = [
            f"about {duration(plan.seconds)}",
            f"about {size_text(plan.memory)} of memory"
            + (f", though {size_text(free)} are free" if plan.memory > free else ""),
            *([f"{size_text(plan.disk)} of disk for copies"] if plan.disk else []),
        ]
        self.note(f"{counted(len(plan.to_do), 'table')} to prove in {plan.directory}: {', '.join(parts)}")

    def note(self, text: str) -> None:
        """Print a sentence on stderr."""
        self.line.note(text)

    def begin(self, material: Material, number: int, count: int) -> None:
        """Remember what to show."""
        self._countdown.begin(self._steps[material])
        self._table = f"{material} ({number} of {count})"
        self.progress("digest", 0)

    def progress(self, step: str, share: float) -> None:
        """Show table, step, its share done and the time that is left."""
        self._countdown.reach(step, share)
        left = duration(self._countdown.seconds_left)
        self.line.show(f"{self._table}: {step} {share:.0%}, about {left} left")


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


def _entry(entry: Entry | None) -> dict[str, Any] | None:
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
