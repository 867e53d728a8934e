"""Threads for work that blocks, with a bound on how much of it waits."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from time import thread_time
from typing import TypeVar

from tbgen.compiler.cache import without_compiling
from tbgen.web.errors import Refusal
from tbgen.web.limits import Bill

Result = TypeVar("Result")


class WorkerPool:
    """Some threads, used from one event loop.

    :param threads: how many.
    :param waiting: how many calls may wait for one of them.
    :param compiles: whether kernels that are not compiled yet are compiled in these threads; in others a call
        that takes them raises a :class:`KernelsMissingError`.
    """

    def __init__(self, name: str, threads: int, waiting: int, *, compiles: bool = False) -> None:
        self.name = name
        self._around = nullcontext if compiles else without_compiling
        self._executor = ThreadPoolExecutor(threads, f"tbgen-{name}")
        self._most = threads + waiting
        self.pending = 0
        """Calls under way, those that wait included."""

    async def run(self, function: Callable[[], Result], bill: Bill) -> Result:
        """Call a function in one of the threads, and return what it returns.

        :param bill: the processor time is added to it.
        :raises Refusal: if too many calls are waiting.
        """

        def work() -> Result:
            with bill.timed(thread_time), self._around():
                return function()

        if self.pending >= self._most:
            raise Refusal(503, "busy", "the server has too much to do: try again later", {"Retry-After": "5"})
        self.pending += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor, work)
        finally:
            self.pending -= 1

    def close(self) -> None:
        """Drop the calls that wait."""
        self._executor.shutdown(wait=False, cancel_futures=True)
