"""The proof of a directory's tables: digests first, then each table after all that it can turn into.

Tables that have been proved are read whole and checked for those that rest on them; some are held.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tbgen.board.material import Material, closure
from tbgen.board.variant import Variant
from tbgen.errors import MissingTableError, TbgenError
from tbgen.index.layout import layout_of
from tbgen.index.table import AccruedForm, Table, fresh_bytes
from tbgen.packed.copies import PlainCopies, passing_copies
from tbgen.packed.tables import AnyTable, read_whole
from tbgen.progress import Reporter, TimedProgress
from tbgen.store.cache import Recent
from tbgen.store.format import BLOCK, table_path
from tbgen.store.schema import RUN_START
from tbgen.store.table_file import TableFile
from tbgen.verify.consistency import first_runs, inconsistency
from tbgen.verify.game import score_resets
from tbgen.verify.plan import HELD, LONG, SMALL, ProofDone, Proofs, has_successor, plan_proofs, unpacking
from tbgen.verify.proof import ensure_compiled, verify_table
from tbgen.verify.report import VerifyResult
from tbgen.verify.sub_tables import Fresh, SubTables

if TYPE_CHECKING:
    from tbgen.retro.layer_solvers import EveryLayer


class OpenTables(Protocol):
    """The tables of a directory, opened as a probe opens them, so that what is proved is what a probe reads:
    :class:`tbgen.probe.values.Values`."""

    def table(self, material: Material) -> AnyTable:
        """Return an open table.

        :raises MissingTableError: if it has not been built.
        :raises DamagedTableError: if its file cannot be used.
        """


class ProvedTables:
    """Proved tables that others rest on.

    Small ones are held in memory. Of packed ones that take more, and that others will rest on, plain copies
    are kept beside the tables (:mod:`tbgen.packed.copies`), if there is room: unpacking takes ten times as
    long as reading them.

    :param order: the tables that are proved, one after the other.
    """

    def __init__(
        self, tables: OpenTables, order: Iterable[Material], threads: int, reporter: TimedProgress
    ) -> None:
        self.tables, self.threads, self.reporter = tables, threads, reporter
        self._left = list(order)
        self._held = Recent[Fresh](HELD, lambda fresh: sum(array.nbytes for array in fresh))

    def begin(self, material: Material) -> None:
        """Note that a table is being proved, or was before, and is no longer to come."""
        self._left = [each for each in self._left if each != material]

    def around(self, material: Material) -> SubTables:
        """Return all that a table rests on.

        :raises TbgenError: if one of them cannot be read.
        """
        return SubTables(layout_of(material), self._fresh)

    def keep(self, table: Table) -> None:
        """Keep a proved table for those that rest on it."""
        material = table.material
        if fresh_bytes(table.layout.size) <= SMALL:
            self._held.put(material, (table.value, table.depth))
        elif has_successor(self._left, material):
            file = self.tables.table(material)
            if file.info.packed:
                with suppress(TbgenError):  # without one it is unpacked again
                    _copies(file).keep(table, file.info, self.threads)

    def _fresh(self, material: Material) -> Fresh:
        """Return value and depth of a proved table."""
        held = self._held.get(material)
        if held is not None:
            return held
        file = self.tables.table(material)
        copy = _copies(file).open(material, file.info)
        if copy is not None:
            with copy:
                copy.check(self.threads)
                return copy.read_fresh()
        table = read_sound(file, partial(self.around, material), self.threads, self.reporter)
        self.keep(table)
        return table.value, table.depth


def read_sound(
    file: AnyTable, around: Callable[[], SubTables], threads: int, reporter: TimedProgress
) -> Table:
    """Return a whole table after checking its digest and what it says about itself.

    :param around: returns all that the table rests on, which a packed one is read together with.
    :raises TbgenError: if it cannot be read, or is not what it says.
    """
    name = unpacking(file.layout.material)

    def progress(step: str, done: int | None, total: int) -> None:
        reporter.progress(name, done, total)

    table = read_whole(file, lambda: around().sources(), threads, progress)
    problem = inconsistency(table)
    if problem is not None:
        raise file.damaged(problem)
    file.check_facts(table)
    if isinstance(file, TableFile) and table.stores_accrued:
        _check_starts(file, table)
    return table


def _copies(file: AnyTable) -> PlainCopies:
    return PlainCopies(file.path.parent, file.info.variant)


def _check_starts(file: TableFile, table: Table) -> None:
    """Compare the number of runs before every block with what the file says."""
    stored, starts = file.data(RUN_START), first_runs(table)[..., :: BLOCK // 64]
    for holder, side, block in np.argwhere(starts != stored)[:1].tolist():
        whose = f"{('White', 'Black')[holder]}'s scores, {('White', 'Black')[side]} to move"
        raise file.damaged(
            f"accrued/start of block {block} of {whose}: stored "
            f"{stored[holder, side, block]}, recomputed {starts[holder, side, block]}"
        )


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
    from tbgen.retro import solver_warmup
    from tbgen.retro.layer_solvers import EveryLayer

    solver_warmup.ensure_compiled(proved.reporter.note)
    return EveryLayer(table, around.sources(), threads=proved.threads)
