"""Open tables: their facts, and the look-ups and reads that both forms of a table answer alike."""

import operator
import os
import shlex
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, Protocol, TypeAlias

import h5py
import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import NONE, Code, GScore
from tbgen.board.variant import Variant
from tbgen.compiler.structs import Codes, Ints, Plies
from tbgen.errors import DamagedTableError, TbgenError, UsageError, quote
from tbgen.index.layout import Layout, Side, Slot, layout_of
from tbgen.index.table import Source, Table, ValueFunctions, free_men_text, pawns_text
from tbgen.progress import Progress, silent
from tbgen.store.cache import ChunkCache
from tbgen.store.dataset import placements_of
from tbgen.store.dataset_file import DatasetFile, file_descriptor
from tbgen.store.format import TableInfo, rules_of_name
from tbgen.store.schema import EP_CONFIG, EP_DEPTH, EP_VALUE, PLACEMENTS, Schema

Entry: TypeAlias = tuple[Code, int]
"""The stored entry of a position: the code of its value, and its depth in plies.

It is a plain tuple, because creating a named tuple for each look-up takes several times as long."""
Answer: TypeAlias = tuple[Code, int | None]
"""The code of a value, and the depth in plies; None if the depth is not stored."""
Question: TypeAlias = tuple[Side, Slot, int]
"""Side to move, canonical slot, and the code of an accrued score; NO_SCORE for the fresh state."""

Moves: TypeAlias = NDArray[np.int64]
"""int64 (n, 4): number of the position before the move; number of the target; canonical slot after the move;
square of a legal en passant capture after the move, in the target's numbering; -1 if there is none."""
Target: TypeAlias = tuple[Layout, Side]
"""The layout of a table that moves lead to, and the side to move there."""
Bounds: TypeAlias = NDArray[np.int64]
"""int64 (n, 2): for each position, which of its values do not matter (``find_bounds``)."""


class Given(NamedTuple):
    """The sub-tables and threads with which a table is read.

    :ivar sub_tables: the sub-tables, if values are derived; None for those given when the table was opened.
    :ivar threads: number of threads that read or derive values; None for the number given at opening.
    """

    sub_tables: Mapping[Material, Source] | None = None
    threads: int | None = None


AS_OPENED: Final = Given()


class SuccessorTables(Protocol):
    """The tables of successors, which a table whose values are derived asks for values after zeroing moves.

    :class:`tbgen.tables.library.Library` has these methods.
    """

    def fresh_after(
        self, targets: Sequence[Target], moves: Moves, bounds: Bounds | None = None
    ) -> tuple[NDArray[np.int64], TbgenError | None]:
        """Return the fresh values and depths after zeroing moves, and the first error or None.

        :param targets: the targets in the order of their numbers.
        :param bounds: bounds for the positions after the moves.
        :returns: int64 (n, 2): for each move, the code of W (DAMAGED if it cannot be looked up, NONE if it
            does not matter by the bounds) and D in plies.
        """

    def sub_tables_of(self, material: Material) -> Mapping[Material, Source]:
        """Return the tables of all successors of a material."""


class FilePath:
    """The path of a table file, with the errors that name it.

    :param path: the path.
    :param material: the material that the file has to contain; None for any material.
    """

    def __init__(self, path: Path, material: Material | None) -> None:
        self.path = path
        self.material = material
        self.name = path.name.split(".")[0] if material is None else material.name

    @property
    def variant(self) -> Variant:
        """The variant in the name of the file."""
        named = rules_of_name(self.path)
        return next((variant for variant in Variant if variant == named), Variant.R_MOBILITY)

    def command(self, *options: str) -> str:
        """Return the command that builds the table."""
        rules = [] if self.variant is Variant.R_MOBILITY else ["--rules", self.variant]
        return shlex.join(["tbgen", "build", *options, self.name, "--dir", str(self.path.parent), *rules])

    def damaged(self, problem: str) -> DamagedTableError:
        """Return the error that states the problem of the file and the command that builds it again."""
        return DamagedTableError(
            f"{self.path} cannot be used: {problem}; build it again with: {self.command('--force')}"
        )


class OpenedFile(NamedTuple):
    """A file to be read as a table.

    :ivar cache: cache of decoded chunks, which files may share; None for a separate cache.
    :ivar threads: number of threads that read or derive values; None for the default.
    """

    file_path: FilePath
    file: h5py.File
    cache: ChunkCache | None
    threads: int | None


class OpenTable(DatasetFile, ABC):
    """An open table. :func:`tbgen.tables.files.open_table` returns it. Look-ups are thread-safe.

    Both forms of a table have the same methods and give the same answers, except that a packed table does
    not store depths of states that are not fresh. Codes of accrued scores have g(P) folded into them and
    differ from g(P). W, D, V(P, A) and g(P) are explained in docs/glossary.md.

    :raises DamagedTableError: if the file is not a complete table that this version of tbgen can read.
    """

    form_schema: ClassVar[Schema]
    """The schema of files of this form."""
    default_threads: ClassVar[int] = 2
    """Default number of threads that read or derive values."""
    info: TableInfo
    """The facts that the file states."""
    layout: Layout
    """The layout of the table."""

    def __init__(self, opened_file: OpenedFile) -> None:
        self._opened = opened_file
        self._threads = opened_file.threads or self.default_threads
        super().__init__(opened_file.file_path.path, opened_file.cache)
        expected = opened_file.file_path.material
        if expected is not None and self.info.material != expected.name:
            self.close()
            raise self.damaged(f"it contains {self.info.material}")

    @property
    def stored_side(self) -> Side | None:
        """The side to move whose positions are stored; None if those of both sides are."""
        return None

    @abstractmethod
    def fresh(self, side: Side, slot: Slot) -> Entry:
        """Return the code of W, and D in plies, of a legal position at its canonical slot.

        :raises DamagedTableError: if the data do not decode.
        """

    @abstractmethod
    def accrued(self, side: Side, slot: Slot, code: Code) -> Answer:
        """Return the code of V(P, A), and D(P, A) in plies, for the code of an accrued score A.

        The rank of A must not exceed the rank of W.
        """

    def prefetch(self, questions: Iterable[Question]) -> None:
        """Look up several positions together and cache the answers for :meth:`fresh` and :meth:`accrued`, if
        single look-ups are slow.

        Errors are ignored, because these methods raise them again.
        """

    @abstractmethod
    def look_up(
        self, side: Codes, slots: Ints, accrued: Ints, bounds: Bounds | None = None
    ) -> tuple[Codes, NDArray[np.int32]]:
        """Return the codes of V(P, A) for many positions, and the depths D(P, A) in plies, -1 if not stored.

        :param side: uint8 (n,), sides to move.
        :param slots: int64 (n,), canonical slots of legal positions.
        :param accrued: int64 (n,), codes of A; NO_SCORE for fresh states.
        :param bounds: if given, the states are fresh, and the code of a value that does not matter may be
            NONE.
        :raises DamagedTableError: if the data do not decode, or a position has no value.
        """

    @property
    def is_loaded(self) -> bool:
        """Whether the table is in memory, so that looking up a few positions together is fast."""
        return False

    def functions_at(self, slots: Ints) -> tuple[Codes, ValueFunctions]:
        """Return the values of many positions with the stored side to move, and their functions.

        Only tables with ``AccruedForm.FUNCTIONS`` have functions. The function of a position gives V(P, A)
        for each accrued score A.

        :param slots: int64 (n,), canonical slots of non-terminal positions.
        :returns: codes of W, shape (n,), ``NONE`` if the best capture gives the value; and the functions,
            whose ``function_numbers`` have elements for these positions only, not for all slots.
        :raises DamagedTableError: if the data do not decode.
        :raises UsageError: if the table has no functions.
        """
        raise UsageError(f"{self.path} stores no functions of accrued scores")

    @abstractmethod
    def read_slots(
        self, side: Side, start: int, value: Codes, depth: Plies, given: Given = AS_OPENED
    ) -> None:
        """Fill arrays of shape (n,) with the fresh values and depths of n slots of one phase.

        Checksums are checked, but not the digest of the table. Only canonical slots have to be correct.

        :param side: side to move.
        :param start: the first slot.
        :param given: if values are derived, the sub-tables that :meth:`needs` names, and those of captures.
        :raises DamagedTableError: if the data do not decode.
        """

    def needs(self, phase: int, side: Side) -> set[Material]:
        """Return the materials with as many men whose tables :meth:`read_slots` needs for a phase."""
        return set()

    @abstractmethod
    def read(self, given: Given = AS_OPENED, *, functions: bool = True, progress: Progress = silent) -> Table:
        """Read the whole table into memory, without checking its digest.

        :param given: if values are derived, the tables of all successors.
        :param functions: whether to read functions, too. They need four bytes of memory for each slot.
        :param progress: receives the progress of deriving values.
        :raises DamagedTableError: if the data do not decode.
        :raises TbgenError: if a temporary file is needed and cannot be written.
        """

    def read_checked(self, given: Given = AS_OPENED, progress: Progress = silent) -> Table:
        """Read the whole table into memory, and compare it with the digest.

        The parameters and exceptions are those of :meth:`read`.
        """
        self.check(given.threads or self._threads)
        return self.read(given, progress=progress)

    @abstractmethod
    def _position_counts(self) -> NDArray[np.uint64]:
        """Return the numbers of positions, shape (2, 256)."""

    def counts(self) -> list[dict[GScore, int]]:
        """Return the number of positions, up to symmetry, with each value, for White and for Black to move.

        En passant positions are not counted.

        :raises DamagedTableError: if the data do not decode.
        """
        return [
            {GScore.from_code(code): count for code, count in enumerate(side) if count}
            for side in self._position_counts().tolist()
        ]

    def en_passant(self, phase: int, square: int, slot: int) -> Entry:
        """Return the code of W, and D in plies, of a position with an en passant right on ``square``.

        The result is ``(NONE, 0)`` if there is no such position, for example because no capture there is
        legal.

        :param slot: slot within the phase.
        """
        row = self._ep_rows.get((phase, square))
        if row is None:
            return NONE, 0
        return self._arrays[EP_VALUE].item(row, slot), self._arrays[EP_DEPTH].item(row, slot)

    def en_passant_arrays(self) -> tuple[NDArray[np.int32], Codes, Plies]:
        """Return configurations (phase and square), values and depths of the en passant positions."""
        config, value, depth = map(self.data, (EP_CONFIG, EP_VALUE, EP_DEPTH))
        return config, value, depth.astype(np.uint16, copy=False)

    def read_en_passant(self, row: int, value: Codes, depth: Plies) -> None:
        """Fill arrays of shape (phase size,) with the values and depths of one en passant configuration.

        :raises DamagedTableError: if a chunk does not decode.
        """
        self.read_part(EP_VALUE, row, 0, value)
        self.read_part(EP_DEPTH, row, 0, depth)

    def check(self, threads: int = 2) -> None:
        """Read the whole file, compare it with its digest, and check the order of the placements.

        :raises DamagedTableError: if they differ; the message names the first dataset or fact that is wrong.
        """
        super().check(threads)
        if not np.array_equal(self.data(PLACEMENTS), placements_of(self.layout)):
            raise self.damaged("its pawn placements are in another order")

    def check_facts(self, table: Table, *, with_accrued: bool = True) -> None:
        """Compare the facts that the file states with the table that was read from it.

        :param with_accrued: whether ``table`` includes the values for accrued scores.
        :raises DamagedTableError: if a fact differs; the message names the first wrong fact.
        """
        stated = self.info.facts()
        for name, fact in table.facts().items():
            if stated[name] != fact and (with_accrued or name not in ("accrued", "runs")):
                raise self.damaged(f"it states that its {name} is {stated[name]}, but it is {fact}")

    def damaged(self, problem: str) -> DamagedTableError:
        """Return the error that states the problem of the file and the command that builds it again."""
        return self._opened.file_path.damaged(problem)

    def _open(self) -> h5py.File:
        return self._opened.file

    def _load(self) -> None:
        self.schema = schema = self.form_schema
        attributes = self._file.attrs
        if bytes(attributes.get("format", b"")) != schema.format.encode():
            raise self.damaged("it is not a table of tbgen")
        version = operator.index(attributes["format_version"])
        if version > schema.version:
            raise DamagedTableError(
                f"{self.path} has format version {version} and this tbgen reads version {schema.version}: "
                f"install a newer tbgen, or build it again with: {self._opened.file_path.command('--force')}"
            )
        if version < schema.version:
            raise self.damaged(f"its format version {version} is that of an older tbgen")
        if attributes.get("complete") != 1:
            raise self.damaged("its build was interrupted")
        rules = bytes(attributes["rules"]).decode()
        if all(rules != variant for variant in Variant):
            raise self.damaged(f"its rules {quote(rules)} are unknown")
        if rules_of_name(self.path) not in (None, rules):
            raise self.damaged(f"it contains values for the rules {quote(rules)}")
        size = os.fstat(file_descriptor(self._file.id)).st_size
        self.info = TableInfo.of_attributes(self.path, attributes, size)
        self.manifest = self.info.manifest
        if self.manifest.digest != self.info.digest:
            raise self.damaged("its manifest does not match its digest")
        self.layout = layout = layout_of(Material.parse(self.info.material))
        index = (free_men_text(layout), pawns_text(layout), layout.size, layout.phase_size)
        if index != (self.info.free_men, self.info.pawns, self.info.size, self.info.phase_size):
            raise self.damaged("it has another index layout")
        self._load_arrays(self._sizes())

    def _sizes(self) -> dict[str, int]:
        """Return the lengths of those named axes that follow from the attributes."""
        return self.info.sizes()

    def _facts(self) -> dict[str, Any]:
        return self.info.facts()

    @cached_property
    def _ep_rows(self) -> dict[tuple[int, int], int]:
        return {(phase, square): row for row, (phase, square) in enumerate(self.data(EP_CONFIG).tolist())}
