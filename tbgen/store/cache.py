"""Least-recently-used caches with a size limit, for decoded chunks of table files and other items."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

Item = TypeVar("Item")


class LruCache(Generic[Item]):
    """A thread-safe least-recently-used cache.

    :param max_bytes: maximum total size of the items.
    :param size_of: returns the size of an item in bytes.
    :param min_items: number of items that the cache keeps even if their total size exceeds ``max_bytes``.
    """

    def __init__(self, max_bytes: int, size_of: Callable[[Item], int], *, min_items: int = 0) -> None:
        self._max_bytes = max_bytes
        self._size_of = size_of
        self._min_items = min_items
        self._items: OrderedDict[Hashable, Item] = OrderedDict()
        self._lock = Lock()
        self._item_locks: dict[Hashable, Lock] = {}
        self.size = 0
        """Total size of all items in bytes."""

    def get(self, key: Hashable) -> Item | None:
        """Return an item, or None if it is not in the cache."""
        with self._lock:
            item = self._items.get(key)
            if item is not None:
                self._items.move_to_end(key)
            return item

    def put(self, key: Hashable, item: Item) -> list[Item]:
        """Add an item. If the limit is exceeded, drop the least recently used items. Return the dropped
        items."""
        dropped = []
        with self._lock:
            if key in self._items:
                self.size -= self._size_of(self._items.pop(key))
            self._items[key] = item
            self.size += self._size_of(item)
            while self.size > self._max_bytes and len(self._items) > self._min_items:
                dropped.append(self._items.popitem(last=False)[1])
                self.size -= self._size_of(dropped[-1])
        return dropped

    def get_or_make(self, key: Hashable, make: Callable[[], Item]) -> Item:
        """Return an item. If it is not in the cache, make it and add it.

        While an item is being made, only threads that request the same item wait.

        :param make: makes the item; it may request other items, but not the same item.
        """
        item = self.get(key)
        if item is None:
            with self._lock:
                item_lock = self._item_locks.setdefault(key, Lock())
            with item_lock:
                item = self.get(key)
                if item is None:
                    self.put(key, item := make())
        return item

    def clear(self) -> list[Item]:
        """Drop all items and return them, the least recently used item first."""
        with self._lock:
            dropped = list(self._items.values())
            self._items.clear()
            self.size = 0
        return dropped

    def drop_least_recent(self) -> list[Item]:
        """Drop the least recently used item, if any, and return the dropped items."""
        with self._lock:
            dropped = [self._items.popitem(last=False)[1]] if self._items else []
            self.size -= sum(map(self._size_of, dropped))
        return dropped


class ChunkCache(LruCache[bytes]):
    """A cache of decoded chunks, which any number of files may share."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(max_bytes, len)
