"""The proof of a directory's tables, each after the tables of all its successors.

The digest of each table is checked first. Small proved tables are cached in memory. A larger proved table is
read and checked again for each table that depends on it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from tbgen.board.material import Material, closure
from tbgen.board.variant import Variant
from tbgen.documents import Document
from tbgen.errors import MissingTableError, TbgenError
from tbgen.index.table import AccruedForm, Source, Table, fresh_bytes
from tbgen.progress import Reporter, TimedProgress
from tbgen.store.cache import LruCache
from tbgen.store.format import BLOCK_SLOTS, table_path
from tbgen.store.schema import RUN_START
from tbgen.tables.library import PlainCopies
from tbgen.tables.open_table import Given, OpenTable
from tbgen.verify.consistency import first_runs, table_problem
from tbgen.verify.game import has_score_resets
from tbgen.verify.plan import (
    CACHE_BYTES,
    MAX_CACHED_TABLE_BYTES,
    MIN_ANNOUNCED_SECONDS,
    ListedProof,
    Proofs,
    any_depends_on,
    plan_proofs,
    unpack_step,
)
from tbgen.verify.proof import ensure_compiled, verify_table
from tbgen.verify.report import Finding, VerifyResult
from tbgen.verify.sub_tables import SubTables

if TYPE_CHECKING:
    from tbgen.retro.layer_solvers import EveryLayer


class OpenTables(Protocol):
    """The open tables of a directory, such as :class:`tbgen.tables.library.Library`.

    A probe opens its tables in the same way, so the proof covers exactly the data that probes read.
    """

    def table(self, material: Material) -> OpenTable:
        """Return the open table of a material.

        :raises MissingTableError: if it has not been built.
        :raises DamagedTableError: if its file cannot be used.
        """


class ProvedTables:
    """Proved tables that other tables depend on.

    Small tables are cached in memory. If there is space, a large packed table that a later table depends on
    gets a plain copy on disk (:mod:`tbgen.tables.library`), because unpacking takes ten times as long as
    reading a copy.

    :param order: the tables to prove, in this order.
    """

    def __init__(
        self, tables: OpenTables, order: Iterable[Material], threads: int, reporter: TimedProgress
    ) -> None:
        self.tables = tables
        self.threads = threads
        self.reporter = reporter
        self.copies = PlainCopies()
        self._remaining = list(order)
        self._cache = LruCache[Table](CACHE_BYTES, lambda table: table.nbytes)

    def remove_from_remaining(self, material: Material) -> None:
        """Remove a table from the list of tables that remain to be proved."""
        self._remaining = [other for other in self._remaining if other != material]

    def sources(self, material: Material, files: ExitStack) -> dict[Material, Source]:
        """Return the sub-tables of a table as sources.

        :param files: closes the files from which they are read.
        :raises TbgenError: if one of the sub-tables cannot be read.
        """
        return {sub_table: self._source(sub_table, files) for sub_table in sorted(material.successors())}

    def keep(self, table: Table) -> None:
        """Keep a proved table in memory or as a plain copy, for the tables that depend on it."""
        material = table.material
        if fresh_bytes(table.layout.size) <= MAX_CACHED_TABLE_BYTES:
            self._cache.put(material, table.fresh_only())
        elif any_depends_on(self._remaining, material):
            file = self.tables.table(material)
            if file.info.derives:
                with suppress(TbgenError):  # if there is no copy, the table is unpacked again
                    self.copies.write(table, file.info, self.threads)

    def _source(self, material: Material, files: ExitStack) -> Source:
        """Return a proved table as a source."""
        cached = self._cache.get(material)
        if cached is not None:
            return cached
        file = self.tables.table(material)
        copy = self.copies.open(file.info)
        if copy is not None:
            files.enter_context(copy).check(self.threads)
            return copy
        table = read_checked(file, partial(self.sources, material, files), self.threads, self.reporter)
        self.keep(table)
        copy = self.copies.open(file.info)
        return table.fresh_only() if copy is None else files.enter_context(copy)


def read_checked(
    file: OpenTable, sources: Callable[[], Mapping[Material, Source]], threads: int, reporter: TimedProgress
) -> Table:
    """Read a table into memory, and check its digest, the consistency of its arrays, and its attributes.

    :param sources: returns the sub-tables of the table; called only to unpack a packed table.
    :raises TbgenError: if the table cannot be read, or fails a check.
    """
    step_name = unpack_step(file.layout.material)

    def progress(step: str, done: int | None, total: int) -> None:
        reporter.progress(step_name, done, total)

    table = file.read_checked(Given(sources() if file.info.derives else None, threads), progress)
    problem = table_problem(table)
    if problem is not None:
        raise file.damaged(problem)
    file.check_facts(table)
    if table.accrued_form is AccruedForm.RUNS:
        _check_starts(file, table)
    return table


def _check_starts(file: OpenTable, table: Table) -> None:
    """Check that the file stores the correct index of the first run of every block."""
    stored = file.data(RUN_START)
    starts = first_runs(table)[..., :: BLOCK_SLOTS // 64]
    if wrong := np.argwhere(starts != stored).tolist():
        holder, side, block = wrong[0]
        whose = f"{('White', 'Black')[holder]}'s scores, {('White', 'Black')[side]} to move"
        raise file.damaged(
            f"accrued/start of block {block} of {whose}: stored "
            f"{stored[holder, side, block]}, recomputed {starts[holder, side, block]}"
        )


@dataclass(frozen=True, slots=True)
class TableProof:
    """The result of the proof of one table. Exactly one of the last four fields is set."""

    material: Material
    result: VerifyResult | None = None
    """The findings of a new proof, whether or not states are wrong."""
    earlier_proof: ListedProof | None = None
    """An earlier proof, which was not repeated."""
    error: TbgenError | None = None
    """The reason why the table cannot be read."""
    blocked_by: Material | None = None
    """An unproved sub-table that keeps this table from being proved."""

    @property
    def proved(self) -> bool:
        """Whether the table has been proved, now or earlier."""
        return self.earlier_proof is not None or (self.result is not None and self.result.ok)


class ProofDocument(Document):
    """The result of the proof of one table."""

    material: Material
    proved: bool

    @staticmethod
    def of_proof(proof: TableProof) -> "ProofDocument":
        """Return the document of a result."""
        if proof.error is not None:
            return UnreadableTableDocument.of(proof)
        if proof.blocked_by is not None:
            return BlockedProofDocument.of(proof, waits_for=proof.blocked_by)
        if (earlier_proof := proof.earlier_proof) is not None:
            sample = None if earlier_proof.in_full else earlier_proof.proved_positions
            return EarlierProofDocument.of(proof, earlier_proof, earlier=True, sample=sample)
        return NewProofDocument.of(proof, proof.result)


class UnreadableTableDocument(ProofDocument):
    """The reason why a table cannot be read."""

    error: TbgenError


class BlockedProofDocument(ProofDocument):
    """An unproved sub-table that keeps a table from being proved."""

    waits_for: Material


class EarlierProofDocument(ProofDocument):
    """An earlier proof, which was not repeated."""

    earlier: Literal[True]
    sample: int | None
    positions: int
    states: int
    seconds: float


class NewProofDocument(ProofDocument):
    """A new proof, with some of the wrong states."""

    sample: int | None
    positions: int
    states: int
    seconds: float
    wrong: int
    findings: list[Finding]


class DirectoryProofDocument(Document):
    """The results of the proofs of a directory's tables."""

    directory: Path
    rules: Variant
    tables: list[ProofDocument]


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
    max_findings: int = 10,
    proofs: Proofs | None = None,
) -> Iterator[TableProof]:
    """Prove tables and all their sub-tables, in build order, and yield the result for each.

    A table is proved only if all its sub-tables of the same ``variant`` have been proved. The parameters
    ``sample``, ``seed`` and ``threads`` are those of :func:`tbgen.verify.proof.verify_table`.

    :param tables: the open tables of the directory.
    :param max_findings: maximum number of wrong states of each table that are described. All are counted.
    :param proofs: earlier proofs. A table with an earlier proof is not proved again, but read and
        compared with its digest. New proofs are added.
    :raises UsageError: if tables of this variant cannot be proved.
    :raises MissingTableError: before anything is proved, if one of the tables or sub-tables is missing.
    :raises TbgenError: if a proof cannot be added to ``proofs``.
    """
    has_score_resets(variant)  # raises UsageError, before anything is read, if the variant cannot be proved
    materials = list(materials)
    order = closure(materials)
    for material in (*materials, *order):
        if not table_path(directory, material.name, variant).exists():
            raise MissingTableError(material.name, directory, variant)
    proofs = proofs or Proofs()
    failed: set[Material] = set()
    plan = plan_proofs(order, directory, variant, sample=sample, threads=threads, proofs=proofs)
    if plan.seconds >= MIN_ANNOUNCED_SECONDS:
        reporter.note(str(plan))
    ensure_compiled(reporter.note)
    timed = TimedProgress(reporter, plan.seconds, order)
    prove = partial(
        verify_table, sample=sample, seed=seed, threads=threads, limit=max_findings, progress=timed.progress
    )
    proved_tables = ProvedTables(tables, order, threads, timed)
    with proved_tables.copies:
        for task in plan.tasks:
            material = task.material
            timed.begin(material, task.cost.steps)
            timed.progress("digest", 0, 1)
            proved_tables.remove_from_remaining(material)
            blocked_by = min(failed & material.successors(), default=None)
            try:
                if blocked_by is not None:
                    proof = TableProof(material, blocked_by=blocked_by)
                else:
                    file = tables.table(material)
                    # The file may have changed since the plan was made.
                    earlier_proof = proofs.find(material, variant, file.info.digest, sample)
                    result = _prove(file, proved_tables, None if earlier_proof else prove)
                    proof = TableProof(material, result, earlier_proof)
            except TbgenError as error:
                proof = TableProof(material, error=error)
            if not proof.proved:
                failed.add(material)
            elif proof.result is not None:
                proofs.add(_listed_proof(proof.result, variant, file.info.digest))
            yield proof


def _prove(
    file: OpenTable, proved_tables: ProvedTables, prove: Callable[..., VerifyResult] | None
) -> VerifyResult | None:
    """Read one table whose sub-tables are proved, prove it, and keep it if nothing is wrong.

    :param prove: proves the table; None for a table that was proved earlier, which is only read and checked.
    :raises TbgenError: if the table or a sub-table cannot be read, or fails a check.
    """
    with ExitStack() as files:
        sources = cache(partial(proved_tables.sources, file.layout.material, files))
        table = read_checked(file, sources, proved_tables.threads, proved_tables.reporter)
        result = None
        if prove is not None:
            sub_tables = SubTables(table.layout, sources().__getitem__)
            without_runs = table.variant.layered and table.accrued_form is not AccruedForm.RUNS
            with _layer_maker(table, sub_tables, proved_tables) if without_runs else nullcontext() as maker:
                result = prove(
                    table, sub_tables, layer_maker=maker, reader=file if file.info.derives else None
                )
    if result is None or result.ok:
        proved_tables.keep(table)
    return result


def _listed_proof(result: VerifyResult, variant: Variant, digest: str) -> ListedProof:
    material, positions = result.material, result.positions
    proved = positions if result.sample is None else min(result.sample, positions)
    return ListedProof(material, variant, digest, proved, positions, result.states, result.seconds)


def _layer_maker(table: Table, sub_tables: SubTables, proved_tables: ProvedTables) -> "EveryLayer":
    """Return the object that makes the layers of a table without runs. They are proved like stored layers."""
    from tbgen.retro import solver_warmup
    from tbgen.retro.layer_solvers import EveryLayer

    solver_warmup.ensure_compiled(proved_tables.reporter.note)
    sources = {material: sub_tables.source(material) for material in sub_tables.sides}
    return EveryLayer(table, sources, threads=proved_tables.threads)
