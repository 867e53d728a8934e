"""Least-recently-used caches with a limit in bytes, for decoded chunks of table files and other items."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Recent(Generic[Item]):
    """A thread-safe least-recently-used cache.

    :param max_bytes: limit of the total size of the items.
    :param size_of: returns the size of an item in bytes.
    :param least: number of most recently used items that are kept even beyond the limit.
    """

    def __init__(self, max_bytes: int, size_of: Callable[[Item], int], *, least: int = 0) -> None:
        self._max_bytes, self._size_of, self._least = max_bytes, size_of, least
        self._items: OrderedDict[Hashable, Item] = OrderedDict()
        self._lock = Lock()
        self._making: dict[Hashable, Lock] = {}
        self.size = 0
        """Total size of all items in bytes."""

    def get(self, key: Hashable) -> Item | None:
        """Return an item, or None if the cache does not have it."""
        with self._lock:
            item = self._items.get(key)
            if item is not None:
                self._items.move_to_end(key)
            return item

    def put(self, key: Hashable, item: Item) -> list[Item]:
        """Add an item; return the least recently used items, which are dropped if the limit is exceeded."""
        dropped = []
        with self._lock:
            if key in self._items:
                self.size -= self._size_of(self._items.pop(key))
            self._items[key] = item
            self.size += self._size_of(item)
            while self.size > self._max_bytes and len(self._items) > self._least:
                dropped.append(self._items.popitem(last=False)[1])
                self.size -= self._size_of(dropped[-1])
        return dropped

    def made(self, key: Hashable, make: Callable[[], Item]) -> Item:
        """Return an item; if the cache does not have it, make and add it.

        Only threads that request the same item wait meanwhile.

        :param make: makes the item; it may request other items, but not this one.
        """
        item = self.get(key)
        if item is None:
            with self._lock:
                making = self._making.setdefault(key, Lock())
            with making:
                item = self.get(key)
                if item is None:
                    self.put(key, item := make())
        return item

    def clear(self) -> list[Item]:
        """Drop all items and return them, the least recently used one first."""
        with self._lock:
            dropped = list(self._items.values())
            self._items.clear()
            self.size = 0
        return dropped

    def drop_one(self) -> list[Item]:
        """Drop the least recently used item; return it in a list, which is empty if there is none."""
        with self._lock:
            dropped = [self._items.popitem(last=False)[1]] if self._items else []
            self.size -= sum(map(self._size_of, dropped))
        return dropped


class ChunkCache(Recent[bytes]):
    """A cache of decoded chunks, for any number of files."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(max_bytes, len)
