"""Tables as the solver of cells reads them: phase by phase."""

from collections import OrderedDict
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Final, Self

import numpy as np

from tbgen.cells.bounds import Block
from tbgen.index.layout import SIDES, layout_of
from tbgen.index.zeroing import en_passant_configs
from tbgen.material import Material
from tbgen.retro.expansion import expand
from tbgen.score import NONE
from tbgen.store.format import table_path
from tbgen.store.reader import TableFile
from tbgen.store.stored_file import StoredFile
from tbgen.variant import Variant

_PHASES_KEPT: Final = 512 << 20
"""Bytes of phases of tables that are kept in memory."""


class Tables:
    """Phases of tables, with all their slots filled, those used last kept in memory; safe for threads.

    A context, which closes the files.

    :param directories: where r-mobility tables lie, searched in this order.
    """

    def __init__(self, *directories: Path) -> None:
        self._directories = directories
        self._files: dict[Material, TableFile | None] = {}
        self._kept: OrderedDict[tuple[Material, int, int | None], Block] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files.values():
            if file is not None:
                file.close()
        self._files.clear()

    def has(self, material: Material) -> bool:
        """Whether there is a plain table of a material.

        :raises DamagedTableError: if it cannot be used.
        """
        if material not in self._files:
            self._files[material] = self._open(material)
        return self._files[material] is not None

    def _open(self, material: Material) -> TableFile | None:
        for directory in self._directories:
            path = table_path(directory, material.name, Variant.R_MOBILITY)
            if path.exists():
                with StoredFile(path, material=material) as stored:
                    if stored.info.packed:
                        continue
                return TableFile(path, material=material)
        return None

    def phase(self, material: Material, phase: int) -> Block:
        """Return values and depths of a phase, shape (2, phase size) each."""
        return self._get(material, phase, None)

    def en_passant(self, material: Material, row: int) -> Block:
        """Return values and depths of an en passant configuration, shape (1, phase size) each."""
        phase = int(en_passant_configs(layout_of(material))[row, 0])
        return self._get(material, phase, row)

    def _get(self, material: Material, phase: int, row: int | None) -> Block:
        key = material, phase, row
        with self._lock:
            if key not in self._kept:
                self._kept[key] = block = self._read(material, phase, row)
                self._bytes += block.value.nbytes + block.depth.nbytes
                while self._bytes > _PHASES_KEPT and len(self._kept) > 1:
                    _, block = self._kept.popitem(last=False)
                    self._bytes -= block.value.nbytes + block.depth.nbytes
            self._kept.move_to_end(key)
            return self._kept[key]

    def _read(self, material: Material, phase: int, row: int | None) -> Block:
        layout, source = layout_of(material), self._files[material]
        assert source is not None
        shape = 2 if row is None else 1, layout.phase_size
        block = Block(np.full(shape, NONE, np.uint8), np.zeros(shape, np.uint16))
        if row is None:
            for side in SIDES:
                source.read_side(phase, side, block.value[side], block.depth[side])
        else:
            source.read_en_passant(row, block.value[0], block.depth[0])
        for value, depth in zip(*block, strict=True):
            expand(layout, phase, value, depth)
        return block
