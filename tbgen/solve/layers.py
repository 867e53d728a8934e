"""Layers of solved cells: what is known of their positions with an accrued score, made when asked for."""

from collections.abc import Callable

from tbgen.board.score import Code, GScore
from tbgen.cells.bounds import Bounds
from tbgen.cells.cell import MOST_MOBILE, Cell
from tbgen.cells.games import Games
from tbgen.cells.memory import MEMORY
from tbgen.cells.rooms import ROOMS
from tbgen.machine import give_back, held
from tbgen.solve.knowledge import Known
from tbgen.solve.meter import Meter


class UnmadeLayerError(Exception):
    """A layer that is asked for has not been made, and is none that is to be made."""


class CellLayers:
    """Makes layers and keeps them, and the games that make them: to set these up takes longer than a layer.

    All of it only saves time, so it goes when memory is needed for something else. Where layers
    are proved, games are not kept: each layer is made from the exits known at that moment, as its proof is.

    :param root: the cell whose games are kept longest; of all others, the games of one are kept.
    :param made: called with the fresh bounds, each layer made from them and its accrued score, if there is
        anything to call.
    """

    def __init__(
        self, known: Known, meter: Meter, root: Cell, made: Callable[[Bounds, Bounds, GScore], None] | None
    ) -> None:
        self._known, self._meter, self._root, self._made = known, meter, root, made
        self._layers: dict[tuple[Cell, Code], tuple[int, Bounds]] = {}
        """With the versions of the fresh bounds that they were made from."""
        self._games: dict[Cell, Games] = {}
        """The one of the root last."""
        self._keeps_games = made is None
        self.largest = 64**MOST_MOBILE
        """Slots of the largest cells whose layers are made when they are asked for."""

    def is_made(self, cell: Cell, accrued: Code) -> bool:
        """Whether a layer is there."""
        made = self._layers.get((cell, accrued))
        return made is not None and made[0] == self._known.cells.version(cell)

    def layer(self, fresh: Bounds, accrued: Code) -> Bounds:
        """Return what is known of the positions of a cell with an accrued score, ``NONE`` where it does not
        matter.

        :raises UnmadeLayerError: if it is not there, and is not to be made.
        """
        key = fresh.cell, accrued
        if not self.is_made(*key):
            if fresh.cell.size > self.largest:
                raise UnmadeLayerError
            games = self._games_of(fresh)
            if not self._meter.allows(self._kept + fresh.nbytes):
                self._layers.clear()
            score = GScore.from_code(accrued)
            layer = games.accrued(fresh, score)
            self._layers[key] = self._known.cells.version(fresh.cell), layer
            if self._made is not None:
                self._made(fresh, layer, score)
        return self._layers[key][1]

    def renew(self, games: Games) -> None:
        """Forget the layers of a cell, and make them by these games, since it has been solved."""
        self._layers = {key: layer for key, layer in self._layers.items() if key[0] != games.cell}
        self._keep(games)

    def make_room(self, cell: Cell) -> int:
        """Drop what is there for later arrays only, wait for what is being packed, then drop layers, then
        games, then close cells, then drop what can be found or read again, until there is memory to solve a
        cell; return the bytes of all that is kept."""
        others = held() - self._meter.besides  # a tenth of it may be what smaller arrays have left
        if not self._meter.fits(cell.size, others):
            give_back()
        if not self._meter.fits(cell.size, self._kept + MEMORY.idle):
            MEMORY.release()
        if not self._meter.fits(cell.size, self._kept):
            self._known.cells.settle()
        if not self._meter.fits(cell.size, self._kept):
            self._layers.clear()
        while self._games and not self._meter.fits(cell.size, self._kept):
            del self._games[next(iter(self._games))]
        while not self._meter.fits(cell.size, self._kept) and self._known.cells.close_one():
            pass
        if not self._meter.fits(cell.size, self._kept):
            self._known.forget()
        return self._kept

    def drop_all(self) -> int:
        """Drop work space, layers, games and what can be found or read again; return the bytes of all that is
        kept."""
        ROOMS.release()
        self._layers.clear()
        self._games.clear()
        self._known.forget()
        self._known.cells.settle()
        MEMORY.release()
        return self._kept

    def release(self) -> None:
        """Drop the games, and keep none from now on."""
        self._games.clear()
        self._keeps_games = False

    def _games_of(self, fresh: Bounds) -> Games:
        """Return games of the ends at which bounds of a cell have been found out."""
        cell = fresh.cell
        games = self._games.get(cell)
        if games is None or not games.ends.issuperset(fresh.ends):
            self.make_room(cell)
            games = Games(cell, self._known, self._meter.threads, fresh.ends)
            self._keep(games)
        return games

    def _keep(self, games: Games) -> None:
        if not self._keeps_games:
            return
        if (before := self._games.get(games.cell)) is not None:
            games.add(before)
        root = {cell: each for cell, each in self._games.items() if cell == self._root != games.cell}
        self._games = {games.cell: games} | root

    @property
    def _kept(self) -> int:
        """Bytes of the layers, of the games, and of what is known."""
        layers = sum(layer.nbytes for _, layer in self._layers.values())
        return self._known.nbytes + layers + sum(games.nbytes for games in self._games.values())
