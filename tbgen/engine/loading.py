"""What is made ready aside, while the engine plays by what it has: compiled code, and its partner.

The partner is the one that the options name; it is ended when they name another one.
"""

import math
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from tbgen.documents import MANAGED_OPTIONS, unmanaged
from tbgen.errors import TbgenError

if TYPE_CHECKING:
    from tbgen.engine.partner import Partner


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


_PATIENCE: Final = 5.0
"""Seconds to wait for one that is starting, to end it; else it ends when nobody talks to it."""


class Partnership:
    """At most one partner that may be asked; safe for threads.

    :param note: told in a sentence how long a partner took to start, or why it does not.
    """

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note, self._starting, self._lock = note, Loading(note), threading.Lock()
        self._named: object = None
        """What names the partner: command, hash and options."""
        self._turn = 0
        """Counts the partners that have been named."""
        self._partner: Partner | None = None

    def partner(self, command: str, hash_mebibytes: int, options: Mapping[str, str]) -> "Partner | None":
        """Return the partner; None if there is none, if it has failed, or while it starts, which begins with
        this.

        :param command: none for nobody.
        """
        named = command, hash_mebibytes, tuple(options.items())
        with self._lock:
            if named != self._named:
                self._named = named
                self._leave()
            turn, partner = self._turn, self._partner
        if command:
            self._starting.begin(
                turn, "the partner", partial(self._start, turn, command, hash_mebibytes, options)
            )
        return None if partner is None or partner.failed else partner

    def wait(self) -> None:
        """Wait until partners that have been begun with are there."""
        self._starting.wait()

    def new_game(self) -> None:
        """Have the partner forget the game so far; start one that has failed again when it is asked for."""
        self.try_again()
        with self._lock:
            if self._partner:
                self._partner.new_game()

    def try_again(self) -> None:
        """Start a partner that has failed, or has not started, again when it is asked for."""
        with self._lock:
            if (self._partner and self._partner.failed) or self._starting.has_failed(self._turn):
                self._named = None

    def close(self) -> None:
        """End the partner, also one that is just starting, unless that takes long."""
        with self._lock:
            self._named = None
            self._leave()
        self._starting.wait(_PATIENCE)

    def _leave(self) -> None:
        self._turn += 1
        if self._partner:
            self._partner.close()
            self._partner = None

    def _start(self, turn: int, command: str, hash_mebibytes: int, options: Mapping[str, str]) -> None:
        from tbgen.engine.partner import Partner  # who plays alone does without

        wanted = unmanaged(options.items(), MANAGED_OPTIONS, self._note)
        partner = Partner(command, hash_mebibytes, wanted)
        with self._lock:
            if turn == self._turn:
                self._partner = partner
                return
        partner.close()
