"""Loading compiled code and the partner in the background, while the engine is already playing.

The partner is the engine that the options name. It is terminated when the options name another engine.
"""

import threading
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tbgen.errors import TbgenError
from tbgen.extras import settings_error
from tbgen.uci.options import MANAGED_OPTIONS, settable_options

if TYPE_CHECKING:
    from tbgen.engine.partner import Partner

T = TypeVar("T")

_REPORT_SECONDS: Final = 5.0
"""Interval between messages while loading continues."""

_MAX_START_WAIT_SECONDS: Final = 5.0
"""Maximum time for which ``close()`` waits for a partner that is still starting. A partner that starts later
ends when its input is closed."""


def load_in_thread(name: str, work: Callable[[], T], say: Callable[[str], None]) -> Future[T]:
    """Run a function in a thread of its own, and return the future of its result.

    :param name: noun phrase for the thing to load, used in messages.
    :param work: function that does the loading.
    :param say: called with a sentence that states the time taken or the error.
    """
    future: Future[T] = Future()

    def load() -> None:
        start_time = time.perf_counter()
        try:
            result = work()
        except Exception as error:  # the engine plays on although loading has failed
            reason = settings_error(error) or error
            say(str(error) if isinstance(error, TbgenError) else f"{name} cannot be loaded: {reason}")
            future.set_exception(error)
        else:
            say(f"loading {name} took {elapsed_text(start_time)}")
            future.set_result(result)

    threading.Thread(target=load, daemon=True).start()
    return future


def wait_until_loaded(futures: Collection[Future[Any]], say: Callable[[str], object]) -> None:
    """Wait until each future has a result or an error.

    :param say: called with a sentence every few seconds, because some programs give up on a silent engine.
    """
    start_time = time.perf_counter()
    while wait(futures, _REPORT_SECONDS).not_done:
        say(f"still loading after {elapsed_text(start_time)}")


def is_ready(future: "Future[T] | None") -> bool:
    """Return whether a future exists and has a result, not an error."""
    return future is not None and future.done() and future.exception() is None


def elapsed_text(start_time: float) -> str:
    """Return the time since a value of ``time.perf_counter``, as text in seconds."""
    return f"{time.perf_counter() - start_time:.2f} s"


class PartnerOwner:
    """Owner of at most one partner, which it starts and replaces as the options require. Thread-safe.

    :param announce: called with a sentence that states how long a partner took to start, or why it failed.
    """

    def __init__(self, announce: Callable[[str], None]) -> None:
        self._announce = announce
        self._lock = threading.Lock()
        self._configuration: object = None
        """Command, hash size and options of the current partner; None to start one at the next request."""
        self._future: Future[Partner] | None = None

    def get_partner(self, command: str, hash_mebibytes: int, options: Mapping[str, str]) -> "Partner | None":
        """Return the partner. If its command, hash size or options have changed, first start a new one in the
        background.

        Return None while the partner is starting, if it has failed, or if ``command`` is empty.

        :param command: command line of the partner; empty for no partner.
        """

        def start() -> "Partner":
            from tbgen.engine.partner import Partner  # not needed without a partner

            accepted_options = settable_options(options.items(), MANAGED_OPTIONS, self._announce)
            return Partner(command, hash_mebibytes, accepted_options)

        configuration = command, hash_mebibytes, tuple(options.items())
        with self._lock:
            if configuration != self._configuration:
                self._dismiss()
                self._configuration = configuration
                self._future = load_in_thread("the partner", start, self._announce) if command else None
            return self._running_partner()

    def wait(self, say: Callable[[str], object]) -> None:
        """Wait until the partner has started or has failed to start.

        :param say: called with a sentence every few seconds.
        """
        if self._future:
            wait_until_loaded([self._future], say)

    def new_game(self) -> None:
        """Tell the partner that a new game begins. A failed partner may be started again."""
        self.allow_restart()
        with self._lock:
            if partner := self._running_partner():
                partner.new_game()

    def allow_restart(self) -> None:
        """If the partner has failed, let the next request for the partner start it again."""
        with self._lock:
            if self._future and self._future.done() and not self._running_partner():
                self._configuration = None

    def close(self) -> None:
        """Terminate the partner. If it is still starting, wait a few seconds for it to start."""
        with self._lock:
            future = self._dismiss()
        if future:
            wait([future], _MAX_START_WAIT_SECONDS)

    def _running_partner(self) -> "Partner | None":
        if not self._future or not is_ready(self._future):
            return None
        partner = self._future.result()
        return None if partner.failed else partner

    def _dismiss(self) -> "Future[Partner] | None":
        """Arrange for the partner to be closed as soon as it has started; return the future of its start."""
        dismissed = self._future
        self._future = None
        self._configuration = None
        if dismissed:
            dismissed.add_done_callback(_close)
        return dismissed


def _close(future: "Future[Partner]") -> None:
    if is_ready(future):
        future.result().close()
