"""Depths that tables do not store: a search finds them or, if it gives up, a whole layer is computed."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any, Final

from tbgen.board.material import Material
from tbgen.board.score import NONE, GScore, Signed, code_of, signed_of
from tbgen.errors import DamagedTableError, MissingLayerError, TbgenError, result_or_error
from tbgen.index.layout import Side, Slot, layout_of
from tbgen.probe.moves import DepthSearch
from tbgen.probe.states import Goal, State
from tbgen.probe.values import Values
from tbgen.store.cache import ChunkCache, LruCache
from tbgen.store.layer import LayerFile, layer_path, write_layer
from tbgen.store.table_file import Entry, StoredFile
from tbgen.system.memory import available_memory, processor_count
from tbgen.tables.copies import PlainCopies, tables_to_unpack, temporary_copies
from tbgen.text import duration, size_text

_MAX_OPEN_LAYERS: Final = 8
"""Maximum number of layers that are kept open."""

_KERNEL_FAMILY: Final = __name__
"""Name, in the cache of compiled code, of the kernels that make layers."""

_logger = logging.getLogger(__name__)

_LayerKey = tuple[Path, str]
"""The path of a layer, with the digest of the table that the layer belongs to."""


class Layers:
    """The layers of tables, stored beside them. A layer is all states of a phase with one accrued score.

    A missing layer is made when it is needed, which takes minutes and much memory. If a layer cannot be
    written beside its table, it is written to a temporary directory.

    :param path_of: function that returns the path of the table of a material.
    :param cache: the cache for decoded chunks of layers.
    """

    def __init__(self, path_of: Callable[[Material], Path], cache: ChunkCache) -> None:
        self._path_of, self._cache = path_of, cache
        self._open = LruCache[LayerFile](_MAX_OPEN_LAYERS, lambda _: 1)
        self._fallbacks: dict[_LayerKey, Path] = {}
        """For layers that could not be written beside their tables: their paths in temporary directories."""
        self._temporary_files = ExitStack()
        self._locks: dict[_LayerKey, Lock] = {}

    def close(self) -> None:
        """Close all layers, and remove the plain copies of tables and the layers in temporary directories."""
        self._open = LruCache(_MAX_OPEN_LAYERS, lambda _: 1)
        self._temporary_files.close()

    def has_layer(self, table: StoredFile, slot: Slot, accrued: GScore) -> bool:
        """Return whether the file of a slot's layer exists. The file may still turn out to be damaged."""
        key = layer_path(table, accrued, slot // table.info.phase_size), table.info.digest
        return self._open.get(key) is not None or self._fallbacks.get(key, key[0]).exists()

    def get(self, table: StoredFile, side: Side, slot: Slot, accrued: GScore) -> Entry:
        """Return, from a layer, the code of V(P, A) and the depth D(P, A), in the form of
        :meth:`TableFile.accrued`.

        :raises TbgenError: if the layer cannot be made.
        """
        phase, slot_in_phase = divmod(slot, table.info.phase_size)
        key = layer_path(table, accrued, phase), table.info.digest
        try:
            return self._open_layer(key, table, accrued, phase).get(side, slot_in_phase)
        except DamagedTableError:  # damage is found only on reading; the layer is made again
            key[0].unlink(missing_ok=True)
        return self._open_layer(key, table, accrued, phase, rebuild=True).get(side, slot_in_phase)

    def _open_layer(
        self, key: _LayerKey, table: StoredFile, accrued: GScore, phase: int, rebuild: bool = False
    ) -> LayerFile:
        with self._locks.setdefault(key, Lock()):  # a thread waits only for threads that need the same layer
            layer = None if rebuild else self._open.get(key)
            if layer is None:
                try:
                    layer = LayerFile(self._fallbacks.get(key, key[0]), table, accrued, phase, self._cache)
                # A layer that was made for an earlier build of the table counts as damaged.
                except (FileNotFoundError, DamagedTableError):
                    layer = self._make_layer(key, table, accrued, phase)
                self._open.put(key, layer)
        return layer

    def _make_layer(self, key: _LayerKey, table: StoredFile, accrued: GScore, phase: int) -> LayerFile:
        from tbgen.compiler.cache import compiling
        from tbgen.retro.layer_solvers import LayerSolver
        from tbgen.tables.sources import Sources

        path = key[0]
        layout = table.layout
        self._check_and_announce_cost(path, table, accrued, phase)
        threads = processor_count()
        self._temporary_files.enter_context(temporary_copies(table.path.parent))
        with ExitStack() as stack:
            successors = {}
            for successor in layout.material.successors():
                sources = Sources(self._path_of(successor).parent, table.info.variant, threads)
                successors[successor] = stack.enter_context(sources).get(successor)
            sources_of_table = stack.enter_context(Sources(table.path.parent, table.info.variant, threads))
            fresh = stack.enter_context(sources_of_table.open(layout.material))
            with compiling(_KERNEL_FAMILY, "that make layers", "about half a minute", _logger.warning):
                value, depth = LayerSolver(fresh, layout, phase, successors, threads=threads).solve(accrued)
        try:
            write_layer(path, table, accrued, phase, value, depth, threads)
        except TbgenError as error:
            _logger.warning("the layer is not kept: %s", error)
            path = Path(self._temporary_files.enter_context(TemporaryDirectory()), path.name)
            self._fallbacks[key] = path
            write_layer(path, table, accrued, phase, value, depth, threads)
        return LayerFile(path, table, accrued, phase, self._cache)

    def _check_and_announce_cost(self, path: Path, table: StoredFile, accrued: GScore, phase: int) -> None:
        """Log how much time and memory making a layer is estimated to take.

        :raises TbgenError: if not enough memory is free.
        """
        from tbgen.costs import layer_memory, seconds_of, unpacking_memory

        layout, material = table.layout, table.layout.material
        packed = tables_to_unpack({material, *material.successors()}, self._has_plain_form)
        unpacked = [layout_of(packed_material) for packed_material in packed]
        needed = max([layer_memory(layout, phase), *map(unpacking_memory, unpacked)])
        seconds = seconds_of("layer", layout.phase_size)
        seconds += seconds_of("unpacking", sum(packed_material.size for packed_material in unpacked))
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
        with StoredFile(self._path_of(material), material=material) as stored:
            copies = PlainCopies(stored.path.parent, stored.info.variant)
            return not stored.info.packed or copies.path(material).exists()


class ValuesWithAllDepths(Values):
    """Looks up values and depths, including depths that tables do not store, except with castling rights.

    If the search for a depth gives up, a layer is made, which takes time and memory.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._layers = Layers(self.path_of, self._cache)

    def close(self) -> None:
        """Close all files of tables and of layers."""
        super().close()
        self._layers.close()

    def goal(self, state: State) -> Goal:
        """Return the value and the depth of a state of a valid position.

        Raises the same errors as :meth:`Values.goal`.

        :raises TbgenError: if a layer is needed and cannot be made.
        """
        try:
            goal = self.stored_goal(state)
        except MissingLayerError:  # the table stores no accrued scores, so even the value needs a layer
            if state.position.castling_board is not None:
                raise
            return self._complete_goal(state, None)
        return self._complete_goal(state, goal.value) if _lacks_depth(state, goal) else goal

    def goals(self, states: Sequence[State | TbgenError]) -> Iterator[Goal | TbgenError]:
        """Yield the goal or the error of each state. Errors among ``states`` are also yielded.

        Each result is yielded as soon as it is found, because the next result may take a long time.
        """
        for state, goal in zip(states, self.stored_goals(states), strict=True):
            is_final = isinstance(state, TbgenError) or not _lacks_depth(state, goal)
            yield goal if is_final else result_or_error(self.goal, state)

    def _complete_goal(self, state: State, value: Signed | None) -> Goal:
        """Return the goal of a state whose depth is not stored, using a search or a layer.

        :param value: the value of the state; None if the table does not store the value either.
        """
        shape, side, slot = state.position[:3]
        table = self.table(shape.material)
        accrued = GScore.from_code(code_of(state.accrued, shape.swapped))
        if value is not None and not self._layers.has_layer(table, slot, accrued):
            depth = DepthSearch(self.stored_goal).depth(state, value)
            if depth is not None:
                return Goal(value, depth)
        code, depth = self._layers.get(table, side, slot, accrued)
        if code == NONE:
            raise table.damaged("it has no value for a legal position")
        if value not in (None, signed_of(code, shape.swapped)):
            raise table.damaged("its accrued scores are not those that its fresh values give")
        return Goal(signed_of(code, shape.swapped), depth)


def _lacks_depth(state: State, goal: Goal | TbgenError) -> bool:
    """Return whether a depth is missing and can be computed. With castling rights, there are no layers."""
    if state.position.castling_board is not None:
        return False
    return goal.depth is None if isinstance(goal, Goal) else isinstance(goal, MissingLayerError)
