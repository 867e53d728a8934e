"""Compiled code made ready aside, while the engine plays by what it has."""

import math
import threading
import time
from collections.abc import Callable, Hashable

from tbgen.errors import TbgenError


class Loading:
    """What is made ready in threads of its own, each thing once.

    :param say: told in a sentence how long each took, or what is wrong.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._threads: dict[Hashable, threading.Thread] = {}
        self._done: set[Hashable] = set()
        self._failed: set[Hashable] = set()

    def begin(self, key: Hashable, name: str, work: Callable[[], object]) -> None:
        """Begin with something if that has not been done.

        :param key: which thing it is.
        :param name: what is loaded, for the sentence.
        """
        if key not in self._threads:
            self._threads[key] = threading.Thread(target=self._load, args=(key, name, work), daemon=True)
            self._threads[key].start()

    def is_done(self, key: Hashable) -> bool:
        """Tell whether something is there."""
        return key in self._done

    def has_failed(self, key: Hashable) -> bool:
        """Tell whether something will never be there."""
        return key in self._failed

    def wait(self, seconds: float = math.inf) -> None:
        """Wait until all that has been begun with is there, or so long."""
        until = time.perf_counter() + seconds
        for thread in list(self._threads.values()):
            thread.join(None if seconds == math.inf else max(until - time.perf_counter(), 0))

    def _load(self, key: Hashable, name: str, work: Callable[[], object]) -> None:
        began = time.perf_counter()
        try:
            work()
        except Exception as error:  # the engine plays on by what it has
            self._failed.add(key)
            expected = isinstance(error, TbgenError)
            self._say(str(error) if expected else f"{name} cannot be loaded: {error}")
        else:
            self._done.add(key)
            self._say(f"loading {name} took {seconds_since(began)}")


def seconds_since(began: float) -> str:
    """Return the seconds since a time of the clock as text."""
    return f"{time.perf_counter() - began:.2f} s"
