"""The partner that the options name: started aside, and ended when they name another one."""

import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from tbgen.engine.loading import Loading
from tbgen.words import MANAGED_OPTIONS, unmanaged

if TYPE_CHECKING:
    from tbgen.engine.partner import Partner

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
