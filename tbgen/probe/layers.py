"""Depths of accrued scores that tables do not store: one layer at a time, made when it is asked for."""

import logging
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Final

from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.errors import DamagedTableError, TbgenError
from tbgen.index.layout import Layout, Side, Slot, layout_of
from tbgen.machine import free_memory, processors
from tbgen.packed.copies import PlainCopies, passing_copies, to_unpack
from tbgen.store.cache import ChunkCache, Recent
from tbgen.store.layer import LayerFile, layer_path, write_layer
from tbgen.store.stored_file import Entry, StoredFile
from tbgen.text import duration, size_text

_OPEN: Final = 8
"""Layers kept open."""

_FAMILY: Final = __name__
"""Name of the kernels in the cache."""

_logger = logging.getLogger(__name__)

_Key = tuple[Path, str]
"""Where a layer is kept, and the digest of its table."""


class Layers:
    """The layers of tables: those kept beside the tables, others made and kept there, which takes minutes
    and much memory. Where that cannot be written, a temporary directory keeps them.

    :param path_of: where the table of a material lies.
    """

    def __init__(self, path_of: Callable[[Material], Path], cache: ChunkCache) -> None:
        self._path_of, self._cache = path_of, cache
        self._open = Recent[LayerFile](_OPEN, lambda _: 1)
        self._elsewhere: dict[_Key, Path] = {}
        """Where layers lie that could not be kept beside their tables."""
        self._passing = ExitStack()
        self._making: dict[_Key, Lock] = {}

    def close(self) -> None:
        """Close all layers, and remove what was made for them and is not kept."""
        self._open = Recent(_OPEN, lambda _: 1)
        self._passing.close()

    def has(self, table: StoredFile, slot: Slot, accrued: GScore) -> bool:
        """Return whether the layer of a slot is there; if it is not damaged, none has to be made."""
        key = layer_path(table, accrued, slot // table.info.phase_size), table.info.digest
        return self._open.get(key) is not None or self._elsewhere.get(key, key[0]).exists()

    def get(self, table: StoredFile, side: Side, slot: Slot, accrued: GScore) -> Entry:
        """Return code of V(P, A) and D(P, A), as a table file's ``accrued`` does, for a table without them.

        :raises TbgenError: if the layer cannot be made.
        """
        phase, within = divmod(slot, table.info.phase_size)
        key = layer_path(table, accrued, phase), table.info.digest
        try:
            return self._layer(key, table, accrued, phase).get(side, within)
        except DamagedTableError:  # found out only now: it is made again
            key[0].unlink(missing_ok=True)
        return self._layer(key, table, accrued, phase, anew=True).get(side, within)

    def _layer(
        self, key: _Key, table: StoredFile, accrued: GScore, phase: int, anew: bool = False
    ) -> LayerFile:
        with self._making.setdefault(key, Lock()):  # only those wait that want the same layer
            layer = None if anew else self._open.get(key)
            if layer is None:
                try:
                    layer = LayerFile(self._elsewhere.get(key, key[0]), table, accrued, phase, self._cache)
                except (FileNotFoundError, DamagedTableError):  # or of a table that has been built anew since
                    layer = self._make(key, table, accrued, phase)
                self._open.put(key, layer)
        return layer

    def _make(self, key: _Key, table: StoredFile, accrued: GScore, phase: int) -> LayerFile:
        from tbgen.compiler.cache import compiling
        from tbgen.packed.sources import Sources
        from tbgen.retro.layer import LayerSolver

        path, layout = key[0], table.layout
        self._announce(path, table, accrued, layout, phase)
        threads = processors()
        self._passing.enter_context(passing_copies(table.path.parent))
        with ExitStack() as stack:
            around = {}
            for successor in layout.material.successors():
                sources = Sources(self._path_of(successor).parent, table.info.variant, threads)
                around[successor] = stack.enter_context(sources).get(successor)
            plain = stack.enter_context(Sources(table.path.parent, table.info.variant, threads))
            fresh = stack.enter_context(plain.open(layout.material))
            with compiling(_FAMILY, "that make layers", "about half a minute", _logger.warning):
                value, depth = LayerSolver(fresh, layout, phase, around, threads=threads).solve(accrued)
        try:
            write_layer(path, table, accrued, phase, value, depth, threads)
        except TbgenError as error:
            _logger.warning("the layer is not kept: %s", error)
            path = Path(self._passing.enter_context(TemporaryDirectory()), path.name)
            self._elsewhere[key] = path
            write_layer(path, table, accrued, phase, value, depth, threads)
        return LayerFile(path, table, accrued, phase, self._cache)

    def _announce(self, path: Path, table: StoredFile, accrued: GScore, layout: Layout, phase: int) -> None:
        """Say what making a layer takes, before it begins.

        :raises TbgenError: if that is more memory than is free.
        """
        from tbgen.costs import layer_memory, memory_of, seconds_of

        material = layout.material
        packed = to_unpack({material, *material.successors()}, self._is_at_hand)
        unpacked = [layout_of(each).size for each in packed]
        needed = max([layer_memory(layout, phase), *(memory_of("unpacking", size) for size in unpacked)])
        seconds = seconds_of("layer", layout.phase_size) + seconds_of("unpacking", sum(unpacked))
        what = f"the depths of {material} with {accrued} accrued are not stored, and making them"
        free = free_memory()
        if needed > free:
            raise TbgenError(
                f"{what} needs about {size_text(needed)} of memory, but {size_text(free)} are free: do "
                "without depths, end other programs, or probe on a larger machine"
            )
        cost = f"{duration(seconds)} and {size_text(needed)} of memory"
        _logger.warning("%s takes about %s; they are kept in %s", what, cost, path)

    def _is_at_hand(self, material: Material) -> bool:
        """Whether a table is plain, or has a plain copy."""
        with StoredFile(self._path_of(material), material=material) as stored:
            copies = PlainCopies(stored.path.parent, stored.info.variant)
            return not stored.info.packed or copies.path(material).exists()
