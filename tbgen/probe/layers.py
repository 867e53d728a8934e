"""Accrued scores of tables that were built without them: one layer at a time, made when it is asked for."""

import logging
import os
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from tbgen.errors import DamagedTableError, TbgenError
from tbgen.index.layout import layout_of
from tbgen.material import Material
from tbgen.score import GScore
from tbgen.store.cache import ChunkCache
from tbgen.store.layer import LayerFile, layer_path, write_layer
from tbgen.store.reader import TableFile
from tbgen.store.sources import Sources

_OPEN: Final = 8
"""Layers kept open."""

_logger = logging.getLogger(__name__)


class _Layer(Protocol):
    def get(self, side: int, within: int) -> tuple[int, int]:
        """Return code of V(P, A) and D(P, A) of a slot within the phase."""


class _LayerInMemory:
    """A layer that could not be kept on disk."""

    def __init__(self, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> None:
        self._value, self._depth = value, depth

    def get(self, side: int, within: int) -> tuple[int, int]:
        return int(self._value[side, within]), int(self._depth[side, within])


class Layers:
    """The layers of a directory's tables: those kept beside the tables, others made and kept there."""

    def __init__(self, directory: Path, cache: ChunkCache) -> None:
        self._directory, self._cache = directory, cache
        self._open: OrderedDict[Path, _Layer] = OrderedDict()
        self._lock = Lock()

    def get(self, table: TableFile, side: int, slot: int, accrued: GScore) -> tuple[int, int]:
        """Return code of V(P, A) and D(P, A), as :meth:`TableFile.accrued` does, for a table without them.

        :raises TbgenError: if the layer cannot be made.
        """
        phase, within = divmod(slot, table.info.phase_size)
        path = layer_path(table, accrued, phase)
        with self._lock:
            layer = self._open.get(path)
            if layer is None:
                layer = self._kept(path, table) or self._make(path, table, accrued, phase)
                self._open[path] = layer
                if len(self._open) > _OPEN:
                    self._open.popitem(last=False)
            self._open.move_to_end(path)
        return layer.get(side, within)

    def _kept(self, path: Path, table: TableFile) -> _Layer | None:
        # A layer of a table built anew since then, or a damaged one, is as good as none.
        with suppress(FileNotFoundError, DamagedTableError):
            return LayerFile(path, table, self._cache)
        return None

    def _make(self, path: Path, table: TableFile, accrued: GScore, phase: int) -> _Layer:
        from tbgen.retro.layer import LayerSolver

        material = Material.parse(table.info.material)
        layout = layout_of(material)
        _logger.warning(
            "%s was built without accrued scores: making the layer of %s, which is kept in %s",
            material,
            accrued,
            path,
        )
        threads = os.cpu_count() or 1
        with Sources(self._directory) as sources:
            needed = {successor: sources.get(successor) for successor in material.successors()}
            value, depth = LayerSolver(table, layout, phase, needed, threads=threads).solve(accrued)
        try:
            write_layer(table, accrued, phase, value, depth, threads)
            return LayerFile(path, table, self._cache)
        except TbgenError as error:
            _logger.warning("the layer is not kept: %s", error)
            return _LayerInMemory(value, depth)
