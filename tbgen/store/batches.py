"""Work on the chunks of a file in batches, on several threads."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Final, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_BATCH_ITEMS: Final = 32
"""Number of chunks in a batch. In small batches, threads would mostly wait for the interpreter's lock."""


def map_batches(
    function: Callable[[list[Item]], Iterable[Result]], items: Iterable[Item], threads: int
) -> Iterator[Result]:
    """Call a function on batches of items, and yield the elements of all its results in order.

    Several threads work on a few batches before the caller needs their results. A single batch does not use
    another thread.
    """
    remaining = iter(items)

    def next_batch() -> list[Item]:
        return list(islice(remaining, _BATCH_ITEMS))

    batch, following = next_batch(), next_batch()
    if threads == 1 or not following:
        while batch:
            yield from function(batch)
            batch, following = following, next_batch()
        return
    with ThreadPoolExecutor(threads) as pool:
        jobs: deque[Future[Iterable[Result]]] = deque()
        while batch:
            jobs.append(pool.submit(function, batch))
            batch, following = following, next_batch()
            if len(jobs) > 2 * threads:
                yield from jobs.popleft().result()
        for job in jobs:
            yield from job.result()
