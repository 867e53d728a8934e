"""Depths that tables do not store: a search finds them or, if it gives up, a whole layer is computed."""

import logging
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Final, NamedTuple

import h5py
import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import NONE, GScore, Signed, code_of, signed_of
from tbgen.errors import DamagedTableError, TbgenError
from tbgen.index.layout import Side, Slot, layout_of
from tbgen.probe.moves import DepthSearch
from tbgen.probe.states import Goal, State
from tbgen.probe.values import Values
from tbgen.store.cache import ChunkCache, LruCache
from tbgen.store.dataset import datasets
from tbgen.store.dataset_file import DatasetFile
from tbgen.store.format import SUFFIX
from tbgen.store.schema import LAYER, LAYER_DEPTH, LAYER_VALUE, Manifest, manifest_of
from tbgen.store.writer import FileContent, write_datasets
from tbgen.system.memory import available_memory, processor_count
from tbgen.tables.library import Library, PlainCopies, tables_to_unpack
from tbgen.tables.open_table import Entry, OpenTable
from tbgen.text import duration, size_text

_MAX_OPEN_LAYERS: Final = 8
"""Maximum number of layers that are kept open."""

_KERNEL_FAMILY: Final = __name__
"""Name, in the cache of compiled code, of the kernels that make layers."""

_logger = logging.getLogger(__name__)


class _LayerKey(NamedTuple):
    """The identity of a layer.

    :ivar path: the path of its file beside the table.
    :ivar digest: the digest of the table.
    """

    path: Path
    digest: str


def layer_path(table: OpenTable, accrued: GScore, phase: int) -> Path:
    """Return the path of the file of a layer, beside its table.

    An example is ``KBNvKR.r.-G3.5.layer.h5``. If the table has several phases, the name includes the phase,
    as in ``KRPvKR.r.G2.0.17.layer.h5``.
    """
    phase_part = f".{phase}" if len(table.layout.placements) > 1 else ""
    return table.path.with_name(f"{table.path.name.removesuffix(SUFFIX)}.{accrued}{phase_part}.layer{SUFFIX}")


def write_layer(
    path: Path,
    table: OpenTable,
    accrued: GScore,
    phase: int,
    value: NDArray[np.uint8],
    depth: NDArray[np.uint16],
    threads: int = 2,
) -> None:
    """Write a layer of a table.

    :param value: shape (2, phase size): codes of the values.
    :param depth: shape (2, phase size): depths in plies.
    :raises TbgenError: if the file cannot be written; no temporary file remains.
    """
    stored = datasets(LAYER.datasets, {LAYER_VALUE: value, LAYER_DEPTH: depth})
    content = FileContent(LAYER, _identity(table, accrued, phase), stored, stored)
    write_datasets(path, content, lambda written: LayerFile(written, table, accrued, phase), threads)


def _identity(table: OpenTable, accrued: GScore, phase: int) -> dict[str, str | int]:
    """Return the fields that identify a layer; both its attributes and its manifest contain them."""
    return {"table": table.info.digest, "accrued": str(accrued), "phase": phase}


class LayerFile(DatasetFile):
    """An open layer file. It must contain the layer of ``accrued`` in phase ``phase`` of ``table``.

    :raises FileNotFoundError: if the file does not exist.
    :raises DamagedTableError: if the file cannot be used, or contains another layer.
    """

    def __init__(
        self, path: Path, table: OpenTable, accrued: GScore, phase: int, cache: ChunkCache | None = None
    ) -> None:
        self._expected_identity = _identity(table, accrued, phase)
        self._phase_size = table.info.phase_size
        super().__init__(path, cache)

    def get(self, side: Side, slot: int) -> Entry:
        """Return the code of V(P, A), and D(P, A) in plies.

        :param slot: slot within the phase.
        :raises DamagedTableError: if the chunk of the slot does not decode.
        """
        return self._arrays[LAYER_VALUE].item(side, slot), self._arrays[LAYER_DEPTH].item(side, slot)

    def damaged(self, problem: str) -> DamagedTableError:
        """Return the error that states the problem of the file and the remedy."""
        return DamagedTableError(f"{self.path} cannot be used: {problem}; remove it")

    def _open(self) -> h5py.File:
        try:
            return super()._open()
        except FileNotFoundError:
            raise
        except (OSError, RuntimeError) as error:
            raise self.damaged("it is damaged") from error

    def _load(self) -> None:
        self.schema = LAYER
        attributes = LAYER.decode(self._file.attrs)
        self.manifest = Manifest(attributes["manifest"])
        head = manifest_of(LAYER, self._expected_identity, ()).lines
        if attributes["complete"] != 1:
            raise self.damaged("its writing was interrupted")
        if self.manifest.lines[: len(head)] != head:
            raise self.damaged("it contains another layer")
        self._load_arrays({"phase_size": self._phase_size})

    def _facts(self) -> dict[str, str | int]:
        return self._expected_identity


class Layers:
    """The layers of tables, stored beside them. A layer is all states of a phase with one accrued score.

    A missing layer is made when it is needed, which takes minutes and much memory. If a layer cannot be
    written beside its table, it is written to a temporary directory.

    :param library: the tables.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self._copies = PlainCopies()
        self._open = LruCache[LayerFile](_MAX_OPEN_LAYERS, lambda _: 1)
        self._fallbacks: dict[_LayerKey, Path] = {}
        """For layers that could not be written beside their tables: their paths in temporary directories."""
        self._temporary_files = ExitStack()
        self._locks: dict[_LayerKey, Lock] = {}

    def close(self) -> None:
        """Close all layers, and remove the plain copies of tables and the layers in temporary directories."""
        self._open = LruCache(_MAX_OPEN_LAYERS, lambda _: 1)
        self._temporary_files.close()
        self._copies.remove()

    def complete(self, values: Values, state: State, value: Signed | None) -> Goal:
        """Implement :meth:`tbgen.probe.values.MissingDepths.complete`, by a search or a layer.

        If the search for a depth gives up, a layer is made, which takes time and memory.
        """
        shape, side, slot = state.position[:3]
        table = self._library.table(shape.material)
        accrued = GScore.from_code(code_of(state.accrued, shape.swapped))
        if value is not None and not self.has_layer(table, slot, accrued):
            depth = DepthSearch(values.stored_goal).depth(state, value)
            if depth is not None:
                return Goal(value, depth)
        code, depth = self.get(table, side, slot, accrued)
        if code == NONE:
            raise table.damaged("it has no value for a legal position")
        if value not in (None, signed_of(code, shape.swapped)):
            raise table.damaged("its accrued scores are not those that its fresh values give")
        return Goal(signed_of(code, shape.swapped), depth)

    def has_layer(self, table: OpenTable, slot: Slot, accrued: GScore) -> bool:
        """Return whether the file of a slot's layer exists. The file may still turn out to be damaged."""
        key = _LayerKey(layer_path(table, accrued, slot // table.info.phase_size), table.info.digest)
        return self._open.get(key) is not None or self._fallbacks.get(key, key.path).exists()

    def get(self, table: OpenTable, side: Side, slot: Slot, accrued: GScore) -> Entry:
        """Return, from a layer, the code of V(P, A) and the depth D(P, A), in the form of
        :meth:`OpenTable.accrued`.

        :raises TbgenError: if the layer cannot be made.
        """
        phase, slot_in_phase = divmod(slot, table.info.phase_size)
        key = _LayerKey(layer_path(table, accrued, phase), table.info.digest)
        layer = self._open_layer(key, table, accrued, phase)
        try:
            return layer.get(side, slot_in_phase)
        except DamagedTableError:  # damage is found only on reading; the layer is made again
            return self._open_layer(key, table, accrued, phase, damaged=layer).get(side, slot_in_phase)

    def _open_layer(
        self, key: _LayerKey, table: OpenTable, accrued: GScore, phase: int, damaged: LayerFile | None = None
    ) -> LayerFile:
        """Return an open layer, which is made if there is none.

        :param damaged: a layer to replace, unless another thread has already replaced it.
        """
        with self._locks.setdefault(key, Lock()):  # a thread waits only for threads that need the same layer
            layer = self._open.get(key)
            if layer is None and damaged is None:
                path = self._fallbacks.get(key, key.path)
                # A layer that was made for an earlier build of the table counts as damaged.
                with suppress(FileNotFoundError, DamagedTableError):
                    layer = LayerFile(path, table, accrued, phase, self._library.cache)
            if layer is None or layer is damaged:
                layer = self._make_layer(key, table, accrued, phase)
            self._open.put(key, layer)
        return layer

    def _make_layer(self, key: _LayerKey, table: OpenTable, accrued: GScore, phase: int) -> LayerFile:
        from tbgen.compiler.cache import compiling
        from tbgen.retro.layer_solvers import LayerSolver

        path = key.path
        layout = table.layout
        self._check_and_announce_cost(path, table, accrued, phase)
        with suppress(OSError):  # there is no damaged file, or the directory is read-only
            self._fallbacks.pop(key, path).unlink()
        threads = processor_count()
        directories = self._library.directories
        variant = self._library.variant
        with Library(directories, variant, threads=threads, copies=self._copies) as library:
            successors = library.sub_tables_of(layout.material)
            plain = library.plain(layout.material)
            with compiling(_KERNEL_FAMILY, "that make layers", "about half a minute", _logger.warning):
                value, depth = LayerSolver(plain, layout, phase, successors, threads=threads).solve(accrued)
        try:
            write_layer(path, table, accrued, phase, value, depth, threads)
        except TbgenError as error:
            _logger.warning("the layer is not kept: %s", error)
            path = Path(self._temporary_files.enter_context(TemporaryDirectory()), path.name)
            self._fallbacks[key] = path
            write_layer(path, table, accrued, phase, value, depth, threads)
        return LayerFile(path, table, accrued, phase, self._library.cache)

    def _check_and_announce_cost(self, path: Path, table: OpenTable, accrued: GScore, phase: int) -> None:
        """Log how much time and memory making a layer is estimated to take.

        :raises TbgenError: if not enough memory is free.
        """
        from tbgen.costs import layer_memory, seconds_of, unpacking_memory

        layout = table.layout
        material = layout.material
        packed = tables_to_unpack({material, *material.successors()}, self._has_plain_form)
        packed_layouts = list(map(layout_of, packed))
        needed = max([layer_memory(layout, phase), *map(unpacking_memory, packed_layouts)])
        seconds = seconds_of("layer", layout.phase_size)
        seconds += seconds_of("unpacking", sum(packed_layout.size for packed_layout in packed_layouts))
        subject = f"the depths of {material} with {accrued} accrued are not stored, and making them"
        free = available_memory()
        if needed > free:
            raise TbgenError(
                f"{subject} needs about {size_text(needed)} of memory, but {size_text(free)} are free: do "
                "without depths, end other programs, or probe on a larger machine"
            )
        cost = f"{duration(seconds)} and {size_text(needed)} of memory"
        _logger.warning("%s takes about %s; they are kept in %s", subject, cost, path)

    def _has_plain_form(self, material: Material) -> bool:
        """Return whether a table is plain or has a plain copy."""
        info = self._library.table(material).info
        return not info.derives or self._copies.path(info).exists()
