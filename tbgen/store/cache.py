"""Decoded chunks of table files, kept up to a number of bytes."""

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock


class ChunkCache:
    """The most recently used chunks of any number of files; safe for threads."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._chunks: OrderedDict[Hashable, bytes] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._chunks)

    @property
    def size(self) -> int:
        """Decoded bytes that are kept."""
        return self._bytes

    def get(self, key: Hashable) -> bytes | None:
        """Return a chunk, or None if it is not kept."""
        with self._lock:
            chunk = self._chunks.get(key)
            if chunk is not None:
                self._chunks.move_to_end(key)
            return chunk

    def put(self, key: Hashable, chunk: bytes) -> None:
        """Keep a chunk, and drop the least recently used ones beyond the bound."""
        with self._lock:
            if key in self._chunks:
                return
            self._chunks[key] = chunk
            self._bytes += len(chunk)
            while self._bytes > self._max_bytes:
                _, dropped = self._chunks.popitem(last=False)
                self._bytes -= len(dropped)
