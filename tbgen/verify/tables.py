"""Proving the tables of a directory: digests first, then each table after all that it can turn into."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from tbgen.errors import MissingTableError, TbgenError
from tbgen.index.layout import layout_of
from tbgen.index.source import ArrayTable
from tbgen.index.table import LAST_RUN, AccruedForm, Table
from tbgen.material import Material, closure
from tbgen.probe.values import AnyTable, Values
from tbgen.score import GScore
from tbgen.store.format import BLOCK, table_path
from tbgen.store.reader import TableFile
from tbgen.variant import Variant
from tbgen.verify.consistency import inconsistency
from tbgen.verify.proofs import ProofDone, Proofs
from tbgen.verify.report import VerifyResult
from tbgen.verify.sub_tables import Fresh, SubTables

if TYPE_CHECKING:
    from tbgen.packed.file import PackedFile
    from tbgen.retro.every_layer import EveryLayer

_MAX_OPEN: Final = 64
_CACHE_BYTES: Final = 64 << 20
"""Of the files that probes read."""

_HELD: Final = 1 << 30
"""Bytes of tables that are held for those to come; one that takes a quarter of them is not held."""


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


class Reporter(Protocol):
    """Told what the proof is doing."""

    def note(self, text: str) -> None:
        """Something worth a line."""

    def begin(self, material: Material, number: int, count: int) -> None:
        """Table ``number`` of ``count`` begins."""

    def progress(self, step: str, share: float) -> None:
        """A step of the table has got this far, 0 to 1."""


def verify(
    materials: Iterable[Material],
    directory: Path,
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
    _compile(reporter)
    with closing(
        Values([directory], variant=variant, max_open=_MAX_OPEN, cache_bytes=_CACHE_BYTES)
    ) as values:
        proved = _Proved(values, threads, reporter)
        for number, material in enumerate(order):
            reporter.begin(material, number + 1, len(order))
            proof = _obstacle(material, failed)
            if proof is None:
                try:
                    digest = values.table(material).info.digest
                    done = proofs.of(material, variant, digest, sample)
                    if done is not None:
                        proof = TableProof(material, earlier=done)
                    else:
                        result = _verify(material, proved, sample, seed, limit)
                        proof = TableProof(material, result=result)
                except TbgenError as error:
                    proof = TableProof(material, error=error)
            if not proof.proved:
                failed.add(material)
            elif proof.result is not None:
                proofs.add(_done(proof.result, variant, digest))
            yield proof


def _verify(material: Material, proved: "_Proved", sample: int | None, seed: int, limit: int) -> VerifyResult:
    """Prove one table whose sub-tables are proved.

    :raises TbgenError: if it, or one of them, cannot be read.
    """
    from tbgen.verify.proof import verify_table

    around, threads = proved.around(material), proved.threads
    file = proved.values.table(material)
    table = _read(file, around, threads, proved.reporter)
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
        proved.hold(material, (table.value, table.depth))
    return result


def _done(result: VerifyResult, variant: Variant, digest: str) -> ProofDone:
    proved = result.positions if result.sample is None else min(result.sample, result.positions)
    return ProofDone(
        result.material, variant, digest, proved, result.positions, result.states, result.seconds
    )


class _Proved:
    """Proved tables that others rest on; some are held in memory, and the others read again."""

    def __init__(self, values: Values, threads: int, reporter: Reporter) -> None:
        self.values, self.threads, self.reporter = values, threads, reporter
        self._held: OrderedDict[Material, Fresh] = OrderedDict()

    def hold(self, material: Material, fresh: Fresh) -> None:
        """Hold a table, as long as there is room for it."""
        if sum(array.nbytes for array in fresh) > _HELD // 4:
            return
        self._held[material] = fresh
        taken = sum(array.nbytes for held in self._held.values() for array in held)
        while taken > _HELD:
            _, oldest = self._held.popitem(last=False)
            taken -= sum(array.nbytes for array in oldest)

    def around(self, material: Material) -> SubTables:
        """Return all that a table rests on.

        :raises TbgenError: if one of them cannot be read.
        """
        return SubTables(layout_of(material), self._fresh)

    def _fresh(self, material: Material) -> Fresh:
        if material not in self._held:
            table = _read(self.values.table(material), self.around(material), self.threads, self.reporter)
            self.hold(material, (table.value, table.depth))
            return table.value, table.depth
        self._held.move_to_end(material)
        return self._held[material]


def _obstacle(material: Material, failed: set[Material]) -> TableProof | None:
    obstacles = sorted(failed & material.successors())
    return TableProof(material, waits_for=obstacles[0]) if obstacles else None


def _read(file: AnyTable, around: SubTables, threads: int, reporter: Reporter) -> Table:
    """Return a whole table after checking its digest and what it says about itself."""
    if isinstance(file, TableFile):
        file.check(threads)
        table = file.read()
    else:
        table = _unpacked(file, around, threads, reporter)
    problem = inconsistency(table)
    if problem is not None:
        raise file.damaged(problem)
    stated, found = file.info.facts(), table.facts()
    for name, fact in found.items():
        if stated[name] != fact:
            raise file.damaged(f"it says that its {name} is {stated[name]}, but it is {fact}")
    if isinstance(file, TableFile) and table.stores_accrued:
        _check_starts(file, table)
    return table


def _unpacked(file: "PackedFile", around: SubTables, threads: int, reporter: Reporter) -> Table:
    """Return the content of a packed table after checking its bytes, and that it is what they promise."""
    from tbgen.packed.unpack import unpack
    from tbgen.packed.writer import manifest_of_content

    def progress(step: str, done: int, total: int) -> None:
        reporter.progress(step, done / total)

    file.check()
    table = unpack(file, around.sources(), threads=threads, progress=progress)
    found = manifest_of_content(table, threads)
    if found.text != file.info.manifest.text:
        raise file.damaged(f"its {found.difference(file.info.manifest)} does not match its digest")
    for mine, right in zip(file.counts(), table.counts.tolist(), strict=True):
        if mine != {GScore.from_code(code): number for code, number in enumerate(right) if number}:
            raise file.damaged("its numbers of values are not those of its positions")
    return table


def _layers(table: Table, around: SubTables, threads: int, reporter: Reporter) -> "EveryLayer":
    """Make the layers of a table without runs; whatever they say still has to be proved."""
    from tbgen.retro.every_layer import EveryLayer
    from tbgen.retro.warmup import ensure_compiled

    ensure_compiled(reporter.note)
    whole = ArrayTable(table.value, table.depth, table.ep_value, table.ep_depth)
    return EveryLayer(whole, table.layout, around.sources(), threads=threads)


def _check_starts(file: TableFile, table: Table) -> None:
    """Count the runs before every block, and compare with what the file says."""
    ends = np.flatnonzero(table.run_rank & LAST_RUN) + 1
    first_runs = np.concatenate([[0], ends])
    stored = file.starts()
    slots = np.bitwise_count(table.run_mask)
    before = 0
    for holder in (0, 1):
        for side in (0, 1):
            counts = np.concatenate([[0], np.cumsum(slots[holder, side], dtype=np.int64)])
            starts = first_runs[before + counts[: -1 : BLOCK // 64]]
            wrong = np.flatnonzero(starts != stored[holder, side])
            if wrong.size:
                block = int(wrong[0])
                whose = f"{('White', 'Black')[holder]}'s scores, {('White', 'Black')[side]} to move"
                raise file.damaged(
                    f"accrued/start of block {block} of {whose}: stored "
                    f"{stored[holder, side, block]}, recomputed {starts[block]}"
                )
            before += int(counts[-1])


def _compile(reporter: Reporter) -> None:
    """Compile the kernels as a step of its own."""
    from tbgen.accelerate import compiling
    from tbgen.verify.warmup import FAMILY, compile_kernels

    with compiling(FAMILY, "of the proof", "about 20 seconds", reporter.note) as needed:
        if needed:
            compile_kernels()
