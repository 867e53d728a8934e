"""The proof of a directory's tables: digests first, then each table after all that it can turn into."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache, partial
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
from tbgen.verify.game import score_resets
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
    """The outcome for one table: exactly one of the last four fields is set."""

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
    """Prove tables and all that they can turn into, in build order, and yield the outcome for each.

    A table rests on its sub-tables of the same ``variant``: it is not proved where one of them is not. The
    other arguments after the star are those of :func:`tbgen.verify.proof.verify_table`.

    :param tables: those of the directory, open.
    :param proofs: those done before, by digest, which are not done again: such a table is read and compared
        with its digest. What is proved is added.
    :raises UsageError: if no proof is known for the variant.
    :raises MissingTableError: before anything is proved, if one of all these tables is missing.
    :raises TbgenError: if a proof cannot be added.
    """
    score_resets(variant)  # refuses a variant without a proof before anything is read
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
    prove = partial(
        verify_table, sample=sample, seed=seed, threads=threads, limit=limit, progress=timed.progress
    )
    with passing_copies(directory):
        proved = ProvedTables(tables, order, threads, timed)
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
                    # The file may have changed since the plan was made.
                    earlier = proofs.of(material, variant, file.info.digest, sample)
                    result = _prove(file, proved, None if earlier else prove)
                    proof = TableProof(material, result, earlier)
            except TbgenError as error:
                proof = TableProof(material, error=error)
            if not proof.proved:
                failed.add(material)
            elif proof.result is not None:
                proofs.add(_done(proof.result, variant, file.info.digest))
            yield proof


def _prove(
    file: AnyTable, proved: ProvedTables, prove: Callable[..., VerifyResult] | None
) -> VerifyResult | None:
    """Read one table whose sub-tables are proved, and prove it; keep it if it is right.

    :param prove: None for a table that was proved before, of which only the bytes are in question.
    :raises TbgenError: if it, or one of them, cannot be read, or is not what its digest promises.
    """
    around = cache(partial(proved.around, file.layout.material))
    table = read_sound(file, around, proved.threads, proved.reporter)
    result = None
    if prove is not None:
        made = table.variant.layered and table.accrued_form is not AccruedForm.RUNS
        with _layers(table, around(), proved) if made else nullcontext() as layers:
            result = prove(table, around(), layers=layers, reader=file if file.info.packed else None)
    if result is None or result.ok:
        proved.keep(table)
    return result


def _done(result: VerifyResult, variant: Variant, digest: str) -> ProofDone:
    material, positions = result.material, result.positions
    proved = positions if result.sample is None else min(result.sample, positions)
    return ProofDone(material, variant, digest, proved, positions, result.states, result.seconds)


def _layers(table: Table, around: SubTables, proved: ProvedTables) -> "EveryLayer":
    """Make the layers of a table without runs, which are proved like stored ones."""
    from tbgen.retro import warmup
    from tbgen.retro.every_layer import EveryLayer

    warmup.ensure_compiled(proved.reporter.note)
    return EveryLayer(table, around.sources(), threads=proved.threads)
