"""Games of a stream with their verdicts, found by several processes and given in order."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import chain, islice
from multiprocessing.connection import wait
from threading import Thread
from typing import Final

from tbgen.errors import GameError, MissingLayerError, TbgenError, UsageError
from tbgen.games.pgn.splitter import RawGame, Stream, split_games
from tbgen.games.tagging.edit import with_tags
from tbgen.games.tagging.verdict import Judge, Verdict

_BATCH: Final = 32
"""Games that travel to another process together."""

_Found = Verdict | TbgenError | None
"""What is found out about a game: nothing about an empty one."""

_AHEAD: Final = 4
"""Batches under way per process; so memory does not grow with the file."""


@dataclass(frozen=True, slots=True)
class TaggedGame:
    """A game of a stream and the verdict on it."""

    raw: RawGame
    verdict: Verdict | None
    """None if the game is broken, or there is none in the bytes."""
    error: UsageError | None
    """What is wrong with a broken game, naming number, line, ply and move."""

    @property
    def data(self) -> bytes:
        """The bytes of the game with our tags; unchanged if it is broken."""
        if self.verdict is None:
            return self.raw.data
        return with_tags(self.raw, self.verdict.tags(), variant=self.verdict.variant)


def tag_games(stream: Stream, judge: Judge | None = None, *, jobs: int = 1) -> Iterator[TaggedGame]:
    """Yield all games of a PGN stream in order, with verdicts; their bytes together are the stream's.

    :param judge: how to judge; by default like ``Judge()``.
    :param jobs: processes to work with; with 1, this one.

    :raises GameError: if a table is missing and required, or cannot be used, naming the game.
    :raises TbgenError: if a process is killed, or cannot be started.

    >>> import io
    >>> for game in tag_games(io.BytesIO(b"1. f3 e5 2. g4 Qh4# 0-1")):
    ...     print(game.verdict.outcome.value, game.verdict.outcome.basis)
    -G0.0 mate
    """
    judge = judge or Judge()
    games = split_games(stream)
    first = list(islice(games, _BATCH))
    if jobs == 1 or len(first) < _BATCH:  # for a few games no other process is worth its start
        for raw in chain(first, games):
            yield _tagged(raw, _judged(judge, raw))
        return
    games = chain(first, games)
    # Layers are made here, one after the other, and not by many processes at once: each takes gigabytes.
    with _pool(judge.without_layers(), jobs) as pool:
        under_way: deque[tuple[list[RawGame], Future[list[_Found]]]] = deque()
        try:
            while batch := list(islice(games, _BATCH)):
                under_way.append((batch, _submitted(pool, batch, jobs)))
                if len(under_way) > _AHEAD * jobs:
                    yield from _finished(judge, *under_way.popleft())
            while under_way:
                yield from _finished(judge, *under_way.popleft())
        except BrokenProcessPool:
            raise TbgenError(
                "a process that judged games was killed, maybe because memory ran out: try fewer with --jobs"
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


def _submitted(pool: ProcessPoolExecutor, batch: list[RawGame], jobs: int) -> Future[list[_Found]]:
    """Send a batch to the pool, whose processes start with the first one."""
    try:
        return pool.submit(_judge_batch, batch)
    except OSError as error:
        for process in multiprocessing.active_children():
            process.terminate()  # those that have been started would be waited for
        raise TbgenError(
            f"{jobs} processes cannot be started: {error.strerror or error}; try fewer with --jobs"
        ) from None


def _finished(judge: Judge, batch: list[RawGame], future: Future[list[_Found]]) -> Iterator[TaggedGame]:
    for raw, found in zip(batch, future.result(), strict=True):
        yield _tagged(raw, _judged(judge, raw) if isinstance(found, MissingLayerError) else found)


def _tagged(raw: RawGame, found: _Found) -> TaggedGame:
    if found is None or isinstance(found, Verdict):
        return TaggedGame(raw, found, None)
    if isinstance(found, UsageError):
        return TaggedGame(raw, None, found)
    raise GameError(f"game {raw.number}, line {raw.line}", found) from found


def _judged(judge: Judge, raw: RawGame) -> _Found:
    try:
        return None if raw.empty else judge.judge(raw)
    except TbgenError as error:
        return error.with_traceback(None)


_judge: Judge
"""What a process of the pool judges by."""


def _pool(judge: Judge, jobs: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(jobs, multiprocessing.get_context(), _start, (judge,))


def _start(judge: Judge) -> None:
    global _judge
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process ends the others
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # an exception here could leave a queue locked for good
    Thread(target=_end_with_parent, daemon=True).start()
    _judge = judge


def _end_with_parent() -> None:
    """Leave when the first process is gone without having ended this one, as after ``kill -9``."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _judge_batch(batch: list[RawGame]) -> list[_Found]:
    return [_judged(_judge, raw) for raw in batch]
