"""What there is to prove, what has been proved before, and what the rest takes: time, memory and disk.

What has been proved is a list of digests that a later run, or another machine, goes on from.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.costs import BASE_MEMORY, Cost, copy_size, layers_memory, memory_of, seconds_of
from tbgen.errors import TbgenError
from tbgen.index.layout import layout_of
from tbgen.index.table import BYTES_PER_SLOT, fresh_bytes
from tbgen.packed.copies import PlainCopies, to_unpack
from tbgen.store.format import TableInfo, table_path
from tbgen.store.table_file import StoredFile
from tbgen.system.files import write_file
from tbgen.system.memory import free_memory
from tbgen.text import counted, duration, size_text
from tbgen.verify.sub_tables import slots_around

_TITLE: Final = "# material rules digest proved positions states seconds"


@dataclass(frozen=True, slots=True)
class ProofDone:
    """One table that was found right."""

    material: Material
    variant: Variant
    digest: str
    """Of the table's content, accrued values included (docs/format.md)."""
    proved: int
    """Positions that were proved: all, or a random sample of them."""
    positions: int
    """Positions of the table."""
    states: int
    """States that were proved."""
    seconds: float

    @property
    def in_full(self) -> bool:
        """Whether all positions were proved."""
        return self.proved == self.positions

    def __str__(self) -> str:
        numbers = f"{self.proved} {self.positions} {self.states} {self.seconds:.1f}"
        return f"{self.material} {self.variant} {self.digest} {numbers}"


class Proofs:
    """The list of a file; without one, a list that ends with the program.

    :raises TbgenError: if the file cannot be read, or is something else.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        listed = () if path is None else _read(path)
        self._done = {(done.material, done.variant): done for done in listed}

    def of(self, material: Material, variant: Variant, digest: str, sample: int | None) -> ProofDone | None:
        """Return the proof of the table that has this digest, if it covers as much as is asked for.

        :param sample: how many positions would do; None for all.
        """
        done = self._done.get((material, variant))
        if done is None or done.digest != digest:
            return None
        return done if done.in_full or (sample is not None and done.proved >= sample) else None

    def add(self, done: ProofDone) -> None:
        """Add a proof to the list, in place of one of the same table, and to the file.

        :raises TbgenError: if it cannot be written; then the file is as it was.
        """
        self._done[done.material, done.variant] = done
        if self._path is not None:
            order = sorted(self._done.values(), key=lambda each: (each.variant, each.material))
            text = "".join(f"{line}\n" for line in (_TITLE, *order))
            write_file(self._path, text.encode(), remedy="choose another file with --proofs")


def _read(path: Path) -> Iterable[ProofDone]:
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise TbgenError(
            f"{path} cannot be read as a list of proofs: {reason}; choose another file with --proofs"
        ) from error
    for number, line in enumerate(lines, start=1):
        if line and not line.startswith("#"):
            try:
                yield _parsed(line)
            except (TbgenError, ValueError) as error:
                raise TbgenError(
                    f"{path} is no list of proofs, or is damaged, in line {number}: choose another file with "
                    "--proofs"
                ) from error


def _parsed(line: str) -> ProofDone:
    """Read a line.

    :raises TbgenError: if it names no material.
    :raises ValueError: if it is something else.
    """
    name, variant, digest, *counts, seconds = line.split()
    bytes.fromhex(digest)
    proved, positions, states = map(int, counts)
    material, rules = Material.parse(name), Variant(variant)
    return ProofDone(material, rules, digest, proved, positions, states, float(seconds))


HELD: Final = 1 << 30
"""Bytes of proved tables that are held in memory for those to come."""
SMALL: Final = HELD // 4
"""Bytes of a table up to which it is held there."""

LONG: Final = 2.0
"""Seconds from which on what proofs take is worth a sentence."""

STATES: Final = "states"
"""The step in which states are proved."""


@dataclass(frozen=True, slots=True)
class ProofTask:
    """One table to prove."""

    material: Material
    earlier: ProofDone | None = None
    """An earlier proof, which will do if the table is still what was proved."""
    cost: Cost = field(default_factory=Cost)
    """Nothing where the table cannot be read, nor for plain ones that are proved. Memory is without tables
    proved before and held since; disk is for plain copies that are left for later tables."""


@dataclass(frozen=True, slots=True)
class ProofPlan:
    """The tables to prove."""

    directory: Path
    tasks: tuple[ProofTask, ...]
    """In build order, with those that are proved."""

    @property
    def to_do(self) -> list[Material]:
        """The tables without a proof."""
        return [task.material for task in self.tasks if task.earlier is None]

    @property
    def seconds(self) -> float:
        """What all of them take, roughly."""
        return sum(task.cost.seconds for task in self.tasks)

    @property
    def memory(self) -> int:
        """Bytes of memory that they take, roughly."""
        sizes = [fresh_bytes(layout_of(task.material).size) for task in self.tasks]
        held = sum(size for size in sizes if size <= SMALL)
        return max((task.cost.memory for task in self.tasks), default=0) + min(held, HELD)

    def __str__(self) -> str:
        """What there is to do and what it takes, for a reader."""
        free = free_memory()
        memory = f"about {size_text(self.memory)} of memory"
        if self.memory > free:
            memory += f", though {size_text(free)} are free"
        parts = [f"about {duration(self.seconds)}", memory]
        parts += [f"{size_text(self.disk)} of disk for copies"] if self.disk else []
        return f"{counted(len(self.to_do), 'table')} to prove in {self.directory}: {', '.join(parts)}"

    @property
    def disk(self) -> int:
        """Bytes of disk that plain copies take, roughly, until all is done."""
        return sum(task.cost.disk for task in self.tasks)


def plan_proofs(
    order: Iterable[Material],
    directory: Path,
    variant: Variant,
    *,
    sample: int | None = None,
    threads: int = 2,
    proofs: Proofs | None = None,
) -> ProofPlan:
    """Return what it takes to prove tables in this order, each after those that it rests on.

    A table that cannot be read takes nothing, and a sample less than the plan says. The other arguments are
    those of :func:`tbgen.verify.directory.verify`.
    """
    proofs = proofs or Proofs()
    infos = {material: _info(directory, material, variant) for material in order}
    later = list(infos)
    at_hand = {material for material, info in infos.items() if info is None or _is_at_hand(directory, info)}
    tasks = []
    for material, info in infos.items():
        later = [each for each in later if each != material]
        done = None if info is None else proofs.of(material, variant, info.digest, sample)
        if info is None or (done is not None and not info.packed):
            tasks.append(ProofTask(material, done))
            continue
        unpacked = to_unpack(material.successors(), at_hand.__contains__)
        unpacked += [material] if info.packed else []
        steps = {unpacking(each): seconds_of("unpacking", layout_of(each).size, threads) for each in unpacked}
        memory = [_memory_to_unpack(each, material) for each in unpacked]
        if done is None:
            steps[STATES] = seconds_of(f"proof {variant}", info.size, threads)
            memory.append(_memory(material, info))
        kept = {each for each in unpacked if each not in at_hand and has_successor(later, each)}
        at_hand |= kept
        cost = Cost(steps, max(memory), sum(copy_size(each, variant) for each in kept))
        tasks.append(ProofTask(material, done, cost))
    return ProofPlan(directory, tuple(tasks))


def unpacking(material: Material) -> str:
    """Return the name of the step in which a packed table is unpacked."""
    return f"unpacking {material}"


def _info(directory: Path, material: Material, variant: Variant) -> TableInfo | None:
    try:
        with StoredFile(table_path(directory, material.name, variant), material=material) as file:
            return file.info
    except TbgenError:
        return None


def _is_at_hand(directory: Path, info: TableInfo) -> bool:
    """Whether values and depths are there in little time: of plain tables, small ones, and from copies."""
    if not info.packed or fresh_bytes(info.size) <= SMALL:
        return True
    try:
        copy = PlainCopies(directory, info.variant).open(Material.parse(info.material), info)
    except TbgenError:
        return False
    if copy is not None:
        copy.close()
    return copy is not None


def has_successor(materials: Iterable[Material], material: Material) -> bool:
    """Whether one of some tables rests on a material."""
    return any(material in other.successors() for other in materials)


def _memory(material: Material, info: TableInfo) -> int:
    """Return the bytes that a proof takes, roughly."""
    layout = layout_of(material)
    own = fresh_bytes(layout.size) + BYTES_PER_SLOT * slots_around(layout)
    own += memory_of(f"proof {info.variant}", layout.size)
    if info.stores_runs:
        own += memory_of("runs", info.runs)
    elif info.variant.layered:
        own += layers_memory(layout) + memory_of("functions", layout.size)
    return BASE_MEMORY + own


def _memory_to_unpack(material: Material, proving: Material) -> int:
    """Return the bytes that it takes, roughly, to unpack a table for the proof of one."""
    around = sum(slots_around(layout_of(each)) for each in {material, proving})
    return BASE_MEMORY + memory_of("unpacking", layout_of(material).size) + BYTES_PER_SLOT * around
