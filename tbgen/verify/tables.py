"""Proving the tables of a directory: digests first, then each table after all that it can turn into."""

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tbgen.board.material import Material, closure
from tbgen.board.variant import Variant
from tbgen.errors import MissingTableError, TbgenError
from tbgen.index.table import AccruedForm, Table
from tbgen.packed.copies import passing_copies
from tbgen.packed.tables import AnyTable
from tbgen.progress import Reporter, TimedProgress
from tbgen.store.format import table_path
from tbgen.store.reader import TableFile
from tbgen.verify.plan import LONG, plan_proofs
from tbgen.verify.proof import verify_table
from tbgen.verify.proofs import ProofDone, Proofs
from tbgen.verify.proved import OpenTables, ProvedTables, read_sound
from tbgen.verify.report import VerifyResult
from tbgen.verify.sub_tables import SubTables
from tbgen.verify.warmup import ensure_compiled

if TYPE_CHECKING:
    from tbgen.retro.every_layer import EveryLayer


@dataclass(frozen=True, slots=True)
class TableProof:
    """What became of one table: exactly one of the last four fields is set."""

    material: Material
    result: VerifyResult | None = None
    """The proof, whatever it found."""
    earlier: ProofDone | None = None
    """A proof done before."""
    error: TbgenError | None = None
    """Why the table cannot be read."""
    waits_for: Material | None = None
    """A sub-table that is not proved, without which this one cannot be."""

    @property
    def proved(self) -> bool:
        """Whether the table is right."""
        return self.earlier is not None or (self.result is not None and self.result.ok)


def verify(
    materials: Iterable[Material],
    directory: Path,
    tables: OpenTables,
    reporter: Reporter,
    *,
    variant: Variant,
    sample: int | None = None,
    seed: int = 0,
    threads: int = 2,
    limit: int = 10,
    proofs: Proofs | None = None,
) -> Iterator[TableProof]:
    """Prove tables and all that they can turn into, in build order, and yield what became of each.

    A table rests on its sub-tables of the same ``variant``: it is not proved where one of them is not. The
    other arguments after the star are those of :func:`tbgen.verify.proof.verify_table`.

    :param tables: those of the directory, open.
    :param proofs: those done before, by digest, which are not done again; what is proved is added.
    :raises MissingTableError: before anything is proved, if one of all these tables is missing.
    :raises TbgenError: if a proof cannot be added.
    """
    materials = list(materials)
    order = closure(materials)
    for material in (*materials, *order):
        if not table_path(directory, material.name, variant).exists():
            raise MissingTableError(material.name, directory, variant)
    proofs = proofs or Proofs()
    failed: set[Material] = set()
    plan = plan_proofs(order, directory, variant, sample=sample, threads=threads, proofs=proofs)
    if plan.seconds >= LONG:
        reporter.note(str(plan))
    ensure_compiled(reporter.note)
    timed = TimedProgress(reporter, plan.seconds, order)
    with passing_copies(directory):
        proved = ProvedTables(tables, plan.to_do, threads, timed)
        for task in plan.tasks:
            material = task.material
            timed.begin(material, task.cost.steps)
            timed.progress("digest", 0, 1)
            proved.begin(material)
            waits_for = min(failed & material.successors(), default=None)
            try:
                if waits_for is not None:
                    proof = TableProof(material, waits_for=waits_for)
                else:
                    file = tables.table(material)
                    proof = _proof(file, variant, proved, proofs, sample, seed, limit)
            except TbgenError as error:
                proof = TableProof(material, error=error)
            if not proof.proved:
                failed.add(material)
            elif proof.result is not None:
                proofs.add(_done(proof.result, variant, file.info.digest))
            yield proof


def _proof(
    file: AnyTable,
    variant: Variant,
    proved: ProvedTables,
    proofs: Proofs,
    sample: int | None,
    seed: int,
    limit: int,
) -> TableProof:
    """Prove one table whose sub-tables are proved, unless that was done earlier.

    :raises TbgenError: if it, or one of them, cannot be read.
    """
    material, threads = file.layout.material, proved.threads
    # The file may have changed since the plan was made.
    earlier = proofs.of(material, variant, file.info.digest, sample)
    if earlier is not None:
        return TableProof(material, earlier=earlier)
    around = proved.around(material)
    table = read_sound(file, lambda: around, threads, proved.reporter)
    made = table.variant.resets and table.accrued_form is not AccruedForm.RUNS
    with _layers(table, around, threads, proved.reporter) if made else nullcontext() as layers:
        result = verify_table(
            table,
            around,
            sample=sample,
            seed=seed,
            threads=threads,
            limit=limit,
            progress=proved.reporter.progress,
            layers=layers,
            reader=None if isinstance(file, TableFile) else file,
        )
    if result.ok:
        proved.keep(table)
    return TableProof(material, result=result)


def _done(result: VerifyResult, variant: Variant, digest: str) -> ProofDone:
    proved = result.positions if result.sample is None else min(result.sample, result.positions)
    return ProofDone(
        result.material, variant, digest, proved, result.positions, result.states, result.seconds
    )


def _layers(table: Table, around: SubTables, threads: int, reporter: TimedProgress) -> "EveryLayer":
    """Make the layers of a table without runs; whatever they say still has to be proved."""
    from tbgen.retro import warmup
    from tbgen.retro.every_layer import EveryLayer

    warmup.ensure_compiled(reporter.note)
    return EveryLayer(table, around.sources(), threads=threads)
