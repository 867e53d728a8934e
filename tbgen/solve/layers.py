"""Layers of solved cells: what is known of their positions with an accrued score, made when asked for."""

from collections.abc import Callable

from tbgen.cells.bounds import Bounds, Games
from tbgen.cells.cell import Cell
from tbgen.score import Code, GScore
from tbgen.solve.knowledge import Known
from tbgen.solve.meter import Meter, memory_needed


class Layers:
    """Makes layers and keeps them, and the games that make them: to set these up takes longer than a layer.

    All of it only saves time, so it goes when memory is needed for something else.

    :param root: the cell whose games are kept longest; of others, only those of the last one are.
    :param made: called with the fresh bounds, each layer made from them and its accrued score.
    """

    def __init__(
        self, known: Known, meter: Meter, root: Cell, made: Callable[[Bounds, Bounds, GScore], None]
    ) -> None:
        self._known, self._meter, self._root, self._made = known, meter, root, made
        self._layers: dict[tuple[Cell, Code], Bounds] = {}
        self._games: dict[Cell, Games] = {}
        """The one of the root last."""

    def layer(self, fresh: Bounds, accrued: Code) -> Bounds:
        """Return what is known of the positions of a cell with an accrued score, ``NONE`` where it does not
        matter."""
        key = fresh.cell, accrued
        if key not in self._layers:
            games = self._games.get(fresh.cell)
            if games is None:
                self.make_room(fresh.cell)
                games = Games(fresh.cell, self._known)
                self._keep(games)
            score = GScore.from_code(accrued)
            self._layers[key] = layer = games.accrued(fresh, score)
            self._made(fresh, layer, score)
        return self._layers[key]

    def renew(self, games: Games) -> None:
        """Forget the layers of a cell, and make them by these games, since it has been solved."""
        for key in [key for key in self._layers if key[0] == games.cell]:
            del self._layers[key]
        self._keep(games)

    def make_room(self, cell: Cell) -> int:
        """Let go what stands in the way of solving a cell; return the bytes of all that is kept."""
        while self._games and not self._meter.fits(cell.size, self._kept):
            del self._games[next(iter(self._games))]
        if not self._meter.fits(cell.size, self._kept):
            self._layers.clear()
        return self._kept

    def release(self) -> None:
        """Let go the games."""
        self._games.clear()

    def _keep(self, games: Games) -> None:
        root = self._games.pop(self._root, None)
        self._games = {games.cell: games}
        if root is not None and games.cell != self._root:
            self._games[self._root] = root

    @property
    def _kept(self) -> int:
        """Bytes of the layers, of the games, and of what is known."""
        layers = sum(layer.nbytes for layer in self._layers.values())
        return self._known.nbytes + layers + sum(memory_needed(cell.size) for cell in self._games)
