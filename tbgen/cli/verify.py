"""``tbgen verify``: prove tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.cli.bars import TableProgress
from tbgen.cli.options import AsJson, PositiveCount, Rules, Setting, TableDirectory, WholeNumber, command
from tbgen.cli.streams import print_document
from tbgen.errors import MissingTableError, NoTablesError, TbgenError
from tbgen.store.format import tables_in
from tbgen.system.memory import processor_count
from tbgen.text import counted

if TYPE_CHECKING:
    from tbgen.verify.directory import TableProof


@command
def run(
    *materials: Material,
    sample: PositiveCount | None,
    seed: Annotated[int, WholeNumber(0), Setting(metavar="N")] = 0,
    findings: Annotated[int, WholeNumber(0), Setting(metavar="N")] = 10,
    threads: Annotated[PositiveCount, Setting(default=processor_count)],
    proofs: Annotated[Path | None, Setting(metavar="FILE")],
    variant: Rules = Variant.R_MOBILITY,
    json: AsJson,
    directory: TableDirectory,
) -> None:
    """Check the digests of tables, then prove every value and depth in them.

    The proof generates the moves of every position, for every accrued score, independently of the program
    that built the tables. A table depends on its sub-tables, so the sub-tables are proved first. Without
    materials, all tables of the directory are proved. During the proof, plain copies of packed five-man
    sub-tables are kept in the directory of the tables, a few hundred MiB each, if there is space on disk. A
    packed table with pawns is unpacked to a temporary file there, or else in the system's temporary
    directory. If the proof will take a long time, the command first prints an estimate of its time, memory
    and disk space.

    With --proofs FILE, each proved table is added to a list. Tables in this list are only checked against
    their digests and not proved again. So an interrupted run can be resumed, even on another machine.

    \b
    For example:
      tbgen verify
      tbgen verify KBNvK --sample 100000
      tbgen verify --rules wg
      tbgen verify --proofs proofs.txt

    :param materials: materials such as KBvK
    :param sample: prove only N random positions of each table; whether a slot holds a position is still
        checked for all slots
    :param seed: seed of the random choice (default: 0)
    :param findings: maximum number of wrong states to print per table (default: 10)
    :param threads: number of threads (default: one per core)
    :param proofs: file that lists completed proofs; new proofs are added
    :param json: print one JSON document about the tables
    """
    from tbgen.tables.library import Library
    from tbgen.verify.directory import (  # needs numba, which --help does not need
        DirectoryProofDocument,
        ProofDocument,
        verify,
    )
    from tbgen.verify.plan import Proofs

    selection = list(materials) or tables_in(directory, variant)
    if not selection:
        raise NoTablesError(directory, variant)
    reporter = TableProgress()
    results = []
    with reporter.line, Library(directory, variant) as tables:
        for proof in verify(
            selection,
            directory,
            tables,
            reporter,
            sample=sample,
            seed=seed,
            threads=threads,
            max_findings=findings,
            variant=variant,
            proofs=Proofs(proofs),
        ):
            results.append(proof)
            reporter.line.clear()
            if not json:
                print(_text(proof), flush=True)
    if json:
        print_document(DirectoryProofDocument(directory, variant, [*map(ProofDocument.of_proof, results)]))
    elif len(results) > 1 and sample is None:
        reporter.line.note(f"{sum(p.proved for p in results)} of {len(results)} tables without errors")
    _raise_failure(results)


def _text(proof: TableProof) -> str:
    name = f"{proof.material.name:10}"
    if proof.error is not None:
        return f"{name} {proof.error}"
    if proof.blocked_by is not None:
        return f"{name} not proved, since its sub-table {proof.blocked_by} is not"
    if (record := proof.earlier_proof) is not None:
        verdict = "proved earlier" if record.in_full else "nothing wrong in an earlier sample"
        sample_text = "" if record.in_full else f"{record.proved_positions:,} of "
        return f"{name} {verdict}: {sample_text}{counted(record.positions, 'position')}"
    result = proof.result
    assert result is not None
    if not result.ok:
        return "\n    ".join([f"{name} wrong: {counted(result.wrong, 'state')}", *map(str, result.findings)])
    text = f"proved: {counted(result.positions, 'position')}"
    if result.sample is not None and result.sample < result.positions:
        text = f"nothing wrong in a sample: {result.sample:,} of {counted(result.positions, 'position')}"
    return f"{name} {text}, {counted(result.states, 'state')}, {result.seconds:.2f} s"


def _raise_failure(proofs: list[TableProof]) -> None:
    """Raise the worst error: a wrong table, else a table that cannot be read, else a missing table."""
    failed_proofs = [proof for proof in proofs if not proof.proved]
    if not failed_proofs:
        return
    wrong = [proof.material.name for proof in failed_proofs if proof.result is not None]
    if wrong:
        verb = "is" if len(wrong) == 1 else "are"
        raise TbgenError(f"{len(wrong)} of {counted(len(proofs), 'table')} {verb} wrong: {', '.join(wrong)}")
    errors = [proof.error for proof in failed_proofs if proof.error is not None]
    raise min(errors, key=lambda error: isinstance(error, MissingTableError))
