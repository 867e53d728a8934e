"""SIGTERM, by which systems and schedulers of jobs end a process: like Ctrl-C, it is time to tidy up."""

import signal
from types import FrameType
from typing import NoReturn


class SigtermError(KeyboardInterrupt):
    """The process has been asked to end by SIGTERM."""


def raise_terminations() -> None:
    """Raise :class:`SigtermError` on SIGTERM from now on, unless the caller has it ignored."""
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _raise)


def _raise(_number: int, _frame: FrameType | None) -> NoReturn:
    raise SigtermError
