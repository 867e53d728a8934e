"""Loading compiled code and the partner in the background, while the engine already plays.

The partner is the engine that the options name. It is terminated when the options name another engine.
"""

import threading
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tbgen.documents import MANAGED_OPTIONS, settable_options
from tbgen.errors import TbgenError

if TYPE_CHECKING:
    from tbgen.engine.partner import Partner

T = TypeVar("T")


def load_in_thread(name: str, work: Callable[[], T], say: Callable[[str], None]) -> Future[T]:
    """Run a function in a thread of its own, and return the future of its result.

    :param name: noun phrase for what is loaded, used in messages.
    :param work: function that loads it.
    :param say: called with a sentence: the time taken, or the error.
    """
    future: Future[T] = Future()

    def load() -> None:
        began = time.perf_counter()
        try:
            result = work()
        except Exception as error:  # the engine plays on without it
            say(str(error) if isinstance(error, TbgenError) else f"{name} cannot be loaded: {error}")
            future.set_exception(error)
        else:
            say(f"loading {name} took {elapsed_text(began)}")
            future.set_result(result)

    threading.Thread(target=load, daemon=True).start()
    return future


_REPORT_SECONDS: Final = 5.0
"""Interval between messages while loading continues."""


def wait_until_loaded(futures: Collection[Future[Any]], say: Callable[[str], object]) -> None:
    """Wait until each future has a result or an error.

    :param say: called every few seconds with a sentence, because some programs give up on a silent engine.
    """
    began = time.perf_counter()
    while wait(futures, _REPORT_SECONDS).not_done:
        say(f"still loading after {elapsed_text(began)}")


def is_ready(future: "Future[T] | None") -> bool:
    """Return whether a future exists and has a result, not an error."""
    return future is not None and future.done() and future.exception() is None


def elapsed_text(began: float) -> str:
    """Return the seconds since a value of ``time.perf_counter``, as text."""
    return f"{time.perf_counter() - began:.2f} s"


_MAX_CLOSING_SECONDS: Final = 5.0
"""Longest time to wait for a partner that is starting. After that, it ends when its input is closed."""


class Partnership:
    """Owner of at most one partner, which is started and replaced as the options require. Thread-safe.

    :param note: called with a sentence: the time that a partner took to start, or why it failed.
    """

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note, self._lock = note, threading.Lock()
        self._configuration: object = None
        """Command, hash size and options of the current partner."""
        self._future: Future[Partner] | None = None

    def partner(self, command: str, hash_mebibytes: int, options: Mapping[str, str]) -> "Partner | None":
        """Return the partner, starting it first if its command or options are new.

        Return None while the partner starts, if it has failed, or without a command.

        :param command: command of the partner; empty for none.
        """

        def start() -> "Partner":
            from tbgen.engine.partner import Partner  # not needed without a partner

            wanted = settable_options(options.items(), MANAGED_OPTIONS, self._note)
            return Partner(command, hash_mebibytes, wanted)

        configuration = command, hash_mebibytes, tuple(options.items())
        with self._lock:
            if configuration != self._configuration:
                self._dismiss()
                self._configuration = configuration
                self._future = load_in_thread("the partner", start, self._note) if command else None
            return self._running_partner()

    def wait(self) -> None:
        """Wait until the partner has started or failed to start."""
        if self._future:
            wait_until_loaded([self._future], self._note)

    def new_game(self) -> None:
        """Tell the partner that a new game begins; allow a failed partner to be started again."""
        self.allow_restart()
        with self._lock:
            if partner := self._running_partner():
                partner.new_game()

    def allow_restart(self) -> None:
        """Have the next call of ``partner`` restart a partner that has failed."""
        with self._lock:
            if self._future and self._future.done() and not self._running_partner():
                self._configuration = None

    def close(self) -> None:
        """Terminate the partner. If it is still starting, wait a few seconds for that."""
        with self._lock:
            future = self._dismiss()
        if future:
            wait([future], _MAX_CLOSING_SECONDS)

    def _running_partner(self) -> "Partner | None":
        if not self._future or not is_ready(self._future):
            return None
        partner = self._future.result()
        return None if partner.failed else partner

    def _dismiss(self) -> "Future[Partner] | None":
        """Have the partner closed as soon as it has started, and return the future of its start."""
        dismissed, self._future, self._configuration = self._future, None, None
        if dismissed:
            dismissed.add_done_callback(_close)
        return dismissed


def _close(started: "Future[Partner]") -> None:
    if is_ready(started):
        started.result().close()
