"""What is made ready aside, while the engine plays by what it has: compiled code, and its partner.

The partner is the one that the options name; it is ended when they name another one.
"""

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING, Final, TypeVar

from tbgen.documents import MANAGED_OPTIONS, unmanaged
from tbgen.errors import TbgenError

if TYPE_CHECKING:
    from tbgen.engine.partner import Partner

Thing = TypeVar("Thing")


def loading(name: str, work: Callable[[], Thing], say: Callable[[str], None]) -> Future[Thing]:
    """Return what is made ready in a thread of its own.

    :param name: what is loaded, for sentences.
    :param work: makes it.
    :param say: told in a sentence how long it took, or what is wrong.
    """
    found: Future[Thing] = Future()

    def load() -> None:
        began = time.perf_counter()
        try:
            thing = work()
        except Exception as error:  # the engine plays on by what it has
            say(str(error) if isinstance(error, TbgenError) else f"{name} cannot be loaded: {error}")
            found.set_exception(error)
        else:
            say(f"loading {name} took {seconds_since(began)}")
            found.set_result(thing)

    threading.Thread(target=load, daemon=True).start()
    return found


def is_there(found: "Future[Thing] | None") -> bool:
    """Tell whether something has been begun with and is ready."""
    return found is not None and found.done() and found.exception() is None


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
        self._note, self._lock = note, threading.Lock()
        self._named: object = None
        """What names the partner: command, hash and options."""
        self._starting: Future[Partner] | None = None

    def partner(self, command: str, hash_mebibytes: int, options: Mapping[str, str]) -> "Partner | None":
        """Return the partner; None if there is none, if it has failed, or while it starts, which begins with
        this.

        :param command: none for nobody.
        """

        def start() -> "Partner":
            from tbgen.engine.partner import Partner  # who plays alone does without

            wanted = unmanaged(options.items(), MANAGED_OPTIONS, self._note)
            return Partner(command, hash_mebibytes, wanted)

        named = command, hash_mebibytes, tuple(options.items())
        with self._lock:
            if named != self._named:
                self._leave()
                self._named = named
                self._starting = loading("the partner", start, self._note) if command else None
            return self._usable()

    def wait(self) -> None:
        """Wait until the partner is there, or does not start."""
        if self._starting:
            wait([self._starting])

    def new_game(self) -> None:
        """Have the partner forget the game so far; start one that has failed again when it is asked for."""
        self.try_again()
        with self._lock:
            if partner := self._usable():
                partner.new_game()

    def try_again(self) -> None:
        """Start a partner that has failed, or has not started, again when it is asked for."""
        with self._lock:
            if self._starting and self._starting.done() and not self._usable():
                self._named = None

    def close(self) -> None:
        """End the partner, also one that is just starting, unless that takes long."""
        with self._lock:
            starting = self._leave()
        if starting:
            wait([starting], _PATIENCE)

    def _usable(self) -> "Partner | None":
        if not self._starting or not is_there(self._starting):
            return None
        partner = self._starting.result()
        return None if partner.failed else partner

    def _leave(self) -> "Future[Partner] | None":
        """Have the partner end once it has started, and return what it starts with."""
        left, self._starting, self._named = self._starting, None, None
        if left:
            left.add_done_callback(_end)
        return left


def _end(started: "Future[Partner]") -> None:
    if is_there(started):
        started.result().close()
