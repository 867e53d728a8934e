"""The plan of a proof: tables to prove, earlier proofs, and an estimate of time, memory and disk.

Proofs are kept as a list of digests, which later runs can use, even on other machines.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.costs import (
    BASE_MEMORY,
    Cost,
    layers_memory,
    memory_of,
    plain_copy_size,
    scratch_size,
    seconds_of,
    unpacking_memory,
)
from tbgen.errors import TbgenError
from tbgen.index.layout import layout_of
from tbgen.index.table import BYTES_PER_SLOT, AccruedForm, fresh_bytes
from tbgen.index.zeroing import max_slots_of_batch
from tbgen.store.format import TableInfo, table_path
from tbgen.system.files import check_target, write_file
from tbgen.system.memory import available_memory
from tbgen.tables.files import open_table
from tbgen.tables.library import PlainCopies, tables_to_unpack
from tbgen.text import counted, duration, size_text
from tbgen.verify.sub_tables import sub_table_slots

_REMEDY: Final = "choose another file with --proofs"
_HEADER: Final = "# material rules digest proved positions states seconds"

CACHE_BYTES: Final = 1 << 30
"""Size limit, in bytes, of the in-memory cache of proved tables that later tables need."""
MAX_CACHED_TABLE_BYTES: Final = CACHE_BYTES // 4
"""Size in bytes of the largest table that is cached in memory."""

MIN_ANNOUNCED_SECONDS: Final = 2.0
"""The plan is printed only if its estimated time is at least this."""

STATES_STEP: Final = "states"
"""Name of the step in which states are proved."""


@dataclass(frozen=True, slots=True)
class ListedProof:
    """A proof of a table, as the list of proofs has it."""

    material: Material
    variant: Variant
    digest: str
    """Digest of the table's content, including values for accrued scores (docs/format.md)."""
    proved_positions: int
    """Number of proved positions: all, or a random sample."""
    positions: int
    """Number of positions of the table."""
    states: int
    """Number of proved states."""
    seconds: float

    @property
    def in_full(self) -> bool:
        """Whether all positions were proved."""
        return self.proved_positions == self.positions

    def __str__(self) -> str:
        counts = f"{self.proved_positions} {self.positions} {self.states} {self.seconds:.1f}"
        return f"{self.material} {self.variant} {self.digest} {counts}"


class Proofs:
    """The list of proofs in a file, or only in memory if there is no path.

    :raises TbgenError: if the file cannot be read, or is not a list of proofs.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        proofs = () if path is None else _read(path)
        self._proofs = {(proof.material, proof.variant): proof for proof in proofs}

    def find(
        self, material: Material, variant: Variant, digest: str, min_positions: int | None
    ) -> ListedProof | None:
        """Return the earlier proof of the table with this digest if it covers enough positions, else None.

        :param min_positions: number of positions that the proof must cover; None for all positions.
        """
        proof = self._proofs.get((material, variant))
        if proof is None or proof.digest != digest:
            return None
        covered = proof.in_full or (min_positions is not None and proof.proved_positions >= min_positions)
        return proof if covered else None

    def add(self, proof: ListedProof) -> None:
        """Add a proof to the list and to the file, where it replaces any earlier proof of the same table.

        :raises TbgenError: if the file cannot be written; its old content then remains.
        """
        self._proofs[proof.material, proof.variant] = proof
        if self._path is not None:
            ordered = sorted(self._proofs.values(), key=lambda proof: (proof.variant, proof.material))
            text = "".join(f"{line}\n" for line in (_HEADER, *ordered))
            write_file(self._path, text.encode(), remedy=_REMEDY)


def _read(path: Path) -> Iterable[ListedProof]:
    check_target(path, remedy=_REMEDY)
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise TbgenError(f"{path} cannot be read as a list of proofs: {reason}; {_REMEDY}") from error
    for index, line in enumerate(lines, start=1):
        if line and not line.startswith("#"):
            try:
                yield _parse(line)
            except (TbgenError, ValueError) as error:
                problem = f"{path} is not a list of proofs, or line {index} is damaged"
                raise TbgenError(f"{problem}: {_REMEDY}") from error


def _parse(line: str) -> ListedProof:
    """Parse a line of the list.

    :raises TbgenError: if the first word is not a material.
    :raises ValueError: if another word is malformed.
    """
    name, variant, digest, *counts, seconds = line.split()
    bytes.fromhex(digest)
    proved, positions, states = map(int, counts)
    material = Material.parse(name)
    rules = Variant(variant)
    return ListedProof(material, rules, digest, proved, positions, states, float(seconds))


@dataclass(frozen=True, slots=True)
class ProofTask:
    """One table to prove."""

    material: Material
    earlier_proof: ListedProof | None = None
    """An earlier proof, which suffices if the table has not changed since."""
    cost: Cost = field(default_factory=Cost)
    """The estimated cost; empty for a table that cannot be read, and for a plain table with an earlier proof.

    The memory does not include cached tables. The disk space is for plain copies that later tables need.
    """
    scratch: int = 0
    """Bytes of disk for the temporary file to which a packed table with pawns is unpacked."""


@dataclass(frozen=True, slots=True)
class ProofPlan:
    """The tables to prove."""

    directory: Path
    tasks: tuple[ProofTask, ...]
    """All tables in build order, including those with an earlier proof."""

    @property
    def unproved(self) -> list[Material]:
        """The tables without an earlier proof."""
        return [task.material for task in self.tasks if task.earlier_proof is None]

    @property
    def seconds(self) -> float:
        """Estimated time of all tasks."""
        return sum(task.cost.seconds for task in self.tasks)

    @property
    def memory(self) -> int:
        """Estimated peak memory in bytes."""
        sizes = [fresh_bytes(layout_of(task.material).size) for task in self.tasks]
        cached = sum(size for size in sizes if size <= MAX_CACHED_TABLE_BYTES)
        return max((task.cost.memory for task in self.tasks), default=0) + min(cached, CACHE_BYTES)

    @property
    def disk(self) -> int:
        """Estimated disk space, in bytes, for plain copies, which exist until the end of the proof, and for
        the largest temporary file."""
        largest = max((task.scratch for task in self.tasks), default=0)
        return sum(task.cost.disk for task in self.tasks) + largest

    def __str__(self) -> str:
        """A sentence with the number of tables to prove and the estimated cost."""
        free = available_memory()
        memory = f"about {size_text(self.memory)} of memory"
        if self.memory > free:
            memory += f", though only {size_text(free)} are free"
        parts = [f"about {duration(self.seconds)}", memory]
        parts += [f"{size_text(self.disk)} of disk for copies and temporary files"] if self.disk else []
        return f"{counted(len(self.unproved), 'table')} to prove in {self.directory}: {', '.join(parts)}"


def plan_proofs(
    materials: Iterable[Material],
    directory: Path,
    variant: Variant,
    *,
    sample: int | None = None,
    threads: int = 2,
    proofs: Proofs | None = None,
) -> ProofPlan:
    """Return a plan for proving the tables of ``materials`` in this order, each after its sub-tables.

    A table that cannot be read costs nothing. A sample is assumed to cost as much as a full proof. The other
    parameters are those of :func:`tbgen.verify.directory.verify`.
    """
    proofs = proofs or Proofs()
    infos = {material: _info(directory, material, variant) for material in materials}
    later_tables = list(infos)
    needs_no_copy = {key for key, info in infos.items() if info is None or _needs_no_unpacking(info)}
    tasks = []
    for material, info in infos.items():
        later_tables = [other for other in later_tables if other != material]
        earlier_proof = None if info is None else proofs.find(material, variant, info.digest, sample)
        if info is None or (earlier_proof is not None and not info.derives):
            tasks.append(ProofTask(material, earlier_proof))
            continue
        packed = tables_to_unpack(material.successors(), lambda successor: successor in needs_no_copy)
        if info.derives:
            packed.append(material)
        sizes = {table: layout_of(table).size for table in packed}
        steps = {unpack_step(table): seconds_of("unpacking", sizes[table], threads) for table in packed}
        memory = [BASE_MEMORY + unpacking_memory(layout_of(table)) for table in packed]
        if earlier_proof is None:
            steps[STATES_STEP] = seconds_of(f"proof {variant}", info.size, threads)
            memory.append(_proof_memory(material, info))
        copied = {table for table in packed if any_depends_on(later_tables, table)} - needs_no_copy
        needs_no_copy.update(copied)
        cost = Cost(steps, max(memory), sum(plain_copy_size(table, variant) for table in copied))
        form = AccruedForm.FUNCTIONS if info.stores_accrued else AccruedForm.NOTHING
        scratch = scratch_size(material, form) if info.derives else 0
        tasks.append(ProofTask(material, earlier_proof, cost, scratch))
    return ProofPlan(directory, tuple(tasks))


def unpack_step(material: Material) -> str:
    """Return the name of the step in which a packed table is unpacked."""
    return f"unpacking {material}"


def _info(directory: Path, material: Material, variant: Variant) -> TableInfo | None:
    try:
        with open_table(table_path(directory, material.name, variant), material) as file:
            return file.info
    except TbgenError:
        return None


def _needs_no_unpacking(info: TableInfo) -> bool:
    """Return whether a table need not be unpacked for other tables, because it is plain, has a plain copy, or
    will be cached."""
    if not info.derives or fresh_bytes(info.size) <= MAX_CACHED_TABLE_BYTES:
        return True
    try:
        copy = PlainCopies().open(info)
    except TbgenError:
        return False
    if copy is not None:
        copy.close()
    return copy is not None


def any_depends_on(materials: Iterable[Material], material: Material) -> bool:
    """Return whether one of ``materials`` has ``material`` as a successor."""
    return any(material in other.successors() for other in materials)


def _proof_memory(material: Material, info: TableInfo) -> int:
    """Return the estimated memory of a proof in bytes."""
    layout = layout_of(material)
    makes_layers = info.variant.layered and info.accrued_form is not AccruedForm.RUNS
    batch_slots = max_slots_of_batch(layout)
    memory = BASE_MEMORY + memory_of("batch", batch_slots) + BYTES_PER_SLOT * sub_table_slots(layout)
    loaded_slots = layout.size
    if info.derives and layout.pawns:  # only the batch and the phases after pawn moves are in memory
        loaded_slots = min(layout.size, (1 + 2 * layout.pawns) * batch_slots)
    memory += fresh_bytes(loaded_slots)
    if info.derives and makes_layers:  # with pawns, function numbers stay uint32, twice the costed uint16
        memory += memory_of("functions", loaded_slots) * (2 if layout.pawns else 1)
    if info.accrued_form is AccruedForm.RUNS:
        memory += memory_of("runs", info.runs)
    elif makes_layers:
        memory += layers_memory(layout)
    return memory
