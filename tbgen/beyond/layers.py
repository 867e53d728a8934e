"""Layers of solved cells: the bounds of the positions of a cell with one accrued score."""

import time
from typing import TYPE_CHECKING

from tbgen.beyond.budget import Meter
from tbgen.beyond.knowledge import ExitBounds
from tbgen.board.score import Code, GScore
from tbgen.cells.bounds import Bounds
from tbgen.cells.cell import MAX_MOBILE, Cell, CellState
from tbgen.cells.frames import ARRAY_MEMORY, WORKSPACES
from tbgen.cells.games import Games
from tbgen.cells.threshold import Threshold, ThresholdSolution
from tbgen.system.memory import resident_memory, trim_memory

if TYPE_CHECKING:
    from tbgen.beyond.proof import Prover


class UnmadeLayerError(Exception):
    """Raised if a layer has not been made and its cell is too large to make it now."""


class CellLayers:
    """Makes layers, and keeps them and the games that make them.

    Games (:class:`tbgen.cells.games.Games`) are kept because setting them up takes longer than making a
    layer. Layers and games only save time, so they are dropped when memory is needed for something else. With
    a prover, games are not kept, because kept games have earlier bounds of the exits.

    :param root: the cell whose games are kept longest. The games of one other cell are kept as well.
    :param prover: proves each layer, and each threshold that is tried. None if nothing is to be proved.
    """

    def __init__(self, exits: ExitBounds, meter: Meter, root: Cell, prover: "Prover | None") -> None:
        self._exits = exits
        self._meter = meter
        self._root = root
        self._prover = prover
        self._layers: dict[tuple[Cell, Code], tuple[int, Bounds]] = {}
        """Maps a cell and an accrued score to the version of the cell's fresh bounds, and the layer."""
        self._games: dict[Cell, Games] = {}
        """Maps a cell to its games; the root is last."""
        self._keeps_games = prover is None
        self.max_slots = 64**MAX_MOBILE
        """Maximum number of slots of a cell for which missing layers are made."""

    def is_made(self, cell: Cell, accrued: Code) -> bool:
        """Return whether a layer has been made from the current bounds of its cell."""
        entry = self._layers.get((cell, accrued))
        return entry is not None and entry[0] == self._exits.cells.version(cell)

    def layer(self, fresh: Bounds, accrued: Code) -> Bounds:
        """Return the layer of a cell with an accrued score, and make it if necessary.

        A value is ``NONE`` where the fresh value applies.

        :raises UnmadeLayerError: if the layer is not made, and the cell has more than ``max_slots`` slots.
        """
        key = fresh.cell, accrued
        if not self.is_made(*key):
            if fresh.cell.size > self.max_slots:
                raise UnmadeLayerError
            games = self._games_of(fresh)
            if not self._meter.has_memory(self._kept_bytes + fresh.nbytes):
                self._layers.clear()
            score = GScore.from_code(accrued)
            layer = games.accrued_bounds(fresh, score)
            self._layers[key] = self._exits.cells.version(fresh.cell), layer
            if self._prover is not None:
                self._prover.prove_layer(fresh, layer, score)
        return self._layers[key][1]

    def is_proved(self, state: CellState, threshold: Threshold, *, guess: bool = False) -> bool:
        """Return whether a threshold that has been tried in a canonical cell is proved for a state.

        If the ranks of a threshold are not kept, the threshold is tried again. If no time remains, it counts
        as not proved.

        :param guess: whether to guess, rather than to try the threshold again.
        """
        cell, side, slot = state.position.key
        thresholds = self._exits.threshold_cells
        solution = thresholds.solution(cell, threshold)
        if state.is_fresh or not solution.depends_on(state.accrued):
            return solution.is_proved(side, slot)
        ranked = thresholds.ranked(cell, threshold)
        if ranked is None and guess:
            return threshold.follows_from(state.accrued)
        if ranked is None:
            if self._meter.seconds_left <= 0:
                return False
            ranked, _ = self.try_threshold(cell, threshold)
        return ranked.is_proved(side, slot, state.accrued)

    def try_threshold(self, cell: Cell, threshold: Threshold) -> tuple[ThresholdSolution, float]:
        """Try a threshold in a canonical cell, and prove the solution if there is a prover.

        :returns: the solution, and the seconds that it has taken without the proof.
        """
        start = time.perf_counter()
        (solution,) = self._exits.threshold_cells.solve(
            {cell: [threshold]}, self._exits.proofs, self._meter.threads, with_rounds=self._prover is not None
        )
        seconds = time.perf_counter() - start
        if self._prover is not None:
            self._prover.prove_threshold(cell, solution)
        return solution, seconds

    def replace_games(self, games: Games) -> None:
        """Drop the layers of a cell that has just been solved, and keep its games for new layers."""
        self._layers = {key: layer for key, layer in self._layers.items() if key[0] != games.cell}
        self._keep(games)

    def free_memory(self, slots: int) -> int:
        """Free memory step by step until it suffices to solve a cell of ``slots`` slots.

        Return the bytes that are still in use.

        The steps are:

        - return freed memory to the system;
        - drop memory that is reserved for later arrays;
        - wait until all cells are packed;
        - drop layers, then games;
        - close open cells, the least recently used first, and wait until each is packed;
        - drop everything that can be computed or read again.
        """
        # Up to a tenth of the resident memory may be fragments of freed arrays.
        if not self._meter.has_memory_for(slots, resident_memory() - self._meter.forcing_bytes):
            trim_memory()
        if not self._meter.has_memory_for(slots, self._kept_bytes + ARRAY_MEMORY.idle_bytes):
            ARRAY_MEMORY.release()
        if not self._meter.has_memory_for(slots, self._kept_bytes):
            self._exits.cells.wait_for_packing()
        if not self._meter.has_memory_for(slots, self._kept_bytes):
            self._layers.clear()
        while self._games and not self._meter.has_memory_for(slots, self._kept_bytes):
            del self._games[next(iter(self._games))]
        while not self._meter.has_memory_for(slots, self._kept_bytes) and self._exits.cells.close_one():
            pass
        if not self._meter.has_memory_for(slots, self._kept_bytes):
            self._exits.forget()
        return self._kept_bytes

    def drop_all(self) -> int:
        """Drop workspaces, layers, games and everything that can be computed or read again.

        :returns: the bytes that are still in use.
        """
        WORKSPACES.release()
        self._layers.clear()
        self._games.clear()
        self._exits.forget()
        self._exits.cells.wait_for_packing()
        ARRAY_MEMORY.release()
        return self._kept_bytes

    def stop_keeping_games(self) -> None:
        """Drop all games, and keep none from now on."""
        self._games.clear()
        self._keeps_games = False

    def _games_of(self, fresh: Bounds) -> Games:
        """Return the games of a cell that make layers from its fresh bounds."""
        cell = fresh.cell
        games = self._games.get(cell)
        if games is None or not games.ends.issuperset(fresh.ends):
            self.free_memory(cell.size)
            games = Games(cell, self._exits, self._meter.threads, fresh.ends)
            self._keep(games)
        return games

    def _keep(self, games: Games) -> None:
        if not self._keeps_games:
            return
        if (earlier_games := self._games.get(games.cell)) is not None:
            games.add(earlier_games)
        root_games = self._games.get(self._root)
        self._games = {games.cell: games}
        if root_games is not None and games.cell != self._root:
            self._games[self._root] = root_games

    @property
    def _kept_bytes(self) -> int:
        """Bytes in use by layers, games and exit sources."""
        layers = sum(layer.nbytes for _, layer in self._layers.values())
        return self._exits.nbytes + layers + sum(games.nbytes for games in self._games.values())
