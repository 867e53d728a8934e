"""Games of a stream with their outcomes, found by several processes and given in order."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property, partial
from itertools import chain, islice
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.connection import wait
from os import PathLike
from threading import Thread
from typing import Final

from tbgen.board.variant import Variant
from tbgen.errors import GameError, TbgenError, UsageError
from tbgen.games.outcome import RESULTS, Basis, Outcome
from tbgen.games.pgn.reader import read_game
from tbgen.games.pgn.splitter import LineStream, RawGame, split_games
from tbgen.games.referee.adjudication import StateSolver, adjudicate, replay
from tbgen.games.settings import GameOptions
from tbgen.games.tagging.outcome_tags import outcome_of_tags, tags_of, with_tags
from tbgen.probe.syzygy import Syzygy
from tbgen.probe.tablebase import Tablebase

_BATCH: Final = 32
"""Games that travel to another process together."""

_Finding = Outcome | TbgenError | None
"""What is found out about a game: nothing about an empty one."""

_AHEAD: Final = 4
"""Batches under way per process; so memory does not grow with the file."""


@dataclass(frozen=True, slots=True)
class TaggedGame:
    """A game of a stream and its outcome."""

    raw: RawGame
    outcome: Outcome | None
    """None if the game is broken, or there is none in the bytes."""
    error: UsageError | None
    """What is wrong with a broken game, naming number, line, ply and move."""

    @property
    def data(self) -> bytes:
        """The bytes of the game with our tags; unchanged if it is broken."""
        if self.outcome is None:
            return self.raw.data
        return with_tags(self.raw, tags_of(self.outcome), self.outcome.settings.variant)


def _unnoticed(_raw: RawGame) -> None:
    """Take no note of a game."""


@dataclass(frozen=True)
class Adjudicator:
    """Adjudicates games one by one.

    :ivar options: what games are refereed and scored by; by default all is left to their tags, by r-mobility.
    :ivar directory: where the tables lie; None for the default one.
    :ivar require_tables: raise an error about a missing table instead of letting the game stand as played.
    :ivar require_proof: do so too where no table can hold the final position.
    :ivar syzygy: Syzygy files, for final positions that no table holds.
    :ivar solver: what solves final positions that no table holds.
    :ivar trust_tags: believe the tags of a game that tbgen has tagged, instead of refereeing it again; but
        not what they do not prove, for tables may be there now, nor if ``options`` say by what to referee.
    :ivar begin: called with each game whose position may be solved, before that.
    """

    options: GameOptions = field(default_factory=partial(GameOptions, Variant.R_MOBILITY))
    directory: str | PathLike[str] | None = None
    _: KW_ONLY
    require_tables: bool = False
    require_proof: bool = False
    syzygy: Syzygy | None = None
    solver: StateSolver | None = None
    trust_tags: bool = False
    begin: Callable[[RawGame], object] = _unnoticed

    def unsolving(self) -> Adjudicator:
        """Return an adjudicator that finds the same but for what takes solving.

        It requires no proof either, for that is to be asked when all has been tried; but it does so without a
        solver. It can be sent to other processes.
        """
        if self.solver is None:
            return replace(self, begin=_unnoticed)
        return Adjudicator(self.options, self.directory, syzygy=self.syzygy, trust_tags=self.trust_tags)

    def outcome(self, raw: RawGame) -> Outcome:
        """Return how a game ended and what it is worth.

        :raises UsageError: if the game is broken or its tags mean nothing, naming game and place.
        :raises MissingTableError: if a table is missing and required.
        :raises UnprovenError: if no table can hold the final position, and a proof is required but not found.
        :raises TbgenError: if a table's file cannot be used, or it was built without accrued scores.
        """
        told = None
        if self.trust_tags and not self.options.fixed:
            told = outcome_of_tags(raw.values, self.options)
            if told is not None and told.proven:
                known = told.recorded in RESULTS
                return told if known else replace(told, recorded=read_game(raw).result)
        game = read_game(raw)
        if self.solver is not None:
            self.begin(raw)
        try:
            outcome = adjudicate(
                replay(game, self.options),
                self._tables,
                game.ending,
                recorded=game.result,
                syzygy=self.syzygy,
                doubts=game.doubts,
                solver=self.solver,
                require_tables=self.require_tables,
                require_proof=self.require_proof,
            )
        except UsageError as error:
            if error is game.error:
                raise
            raise UsageError(f"game {raw.number}, line {raw.line}: {error}") from None
        unsure = not outcome.proven and not outcome.beyond_proof
        if told is not None and told.bounds is not None and unsure:
            return outcome.narrowed(told.bounds, Basis.SOLVED)
        return outcome

    @cached_property
    def _tables(self) -> Tablebase:
        return Tablebase(self.directory, rules=self.options.variant)


def tag_games(
    stream: LineStream, adjudicator: Adjudicator | None = None, *, jobs: int = 1
) -> Iterator[TaggedGame]:
    """Yield all games of a PGN stream in order, with outcomes; their bytes together are the stream's.

    :param adjudicator: what finds outcomes; by default ``Adjudicator()``.
    :param jobs: processes to work with; with 1, this one. Positions are solved in this one, game after game.

    :raises GameError: if a table is missing and required, or cannot be used, naming the game.
    :raises TbgenError: if a process is killed, or cannot be started.

    >>> import io
    >>> for game in tag_games(io.BytesIO(b"1. f3 e5 2. g4 Qh4# 0-1")):
    ...     print(game.outcome.value, game.outcome.basis)
    -G0.0 mate
    """
    adjudicator = adjudicator or Adjudicator()
    games = split_games(stream)
    first = list(islice(games, _BATCH))
    games = chain(first, games)
    if jobs == 1 or len(first) < _BATCH:  # for a few games no other process is worth its start
        for raw in games:
            yield _tagged_game(raw, _finding(adjudicator, raw))
        return
    from tbgen.compiler.cache import substitute

    substitute()  # shared by the processes of the pool, which would leave behind their own
    with ProcessPoolExecutor(jobs, get_context(), _start, (adjudicator.unsolving(),)) as pool:
        under_way: deque[tuple[list[RawGame], Future[list[_Finding]]]] = deque()
        try:
            while batch := list(islice(games, _BATCH)):
                under_way.append((batch, _submit(pool, batch, jobs)))
                if len(under_way) > _AHEAD * jobs:
                    yield from _results(adjudicator, *under_way.popleft())
            while under_way:
                yield from _results(adjudicator, *under_way.popleft())
        except BrokenProcessPool:
            raise TbgenError(
                "a process that adjudicated games was killed, maybe because memory ran out: "
                "try fewer with --jobs"
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


def _submit(pool: ProcessPoolExecutor, batch: list[RawGame], jobs: int) -> Future[list[_Finding]]:
    """Send a batch to the pool, whose processes start with the first one."""
    # What everybody hears must not end a process that is about to ignore it with a traceback.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)
    try:
        return pool.submit(_batch, batch)
    except OSError as error:
        for process in active_children():
            process.terminate()  # those that have been started would be waited for
        raise TbgenError(
            f"{jobs} processes cannot be started: {error.strerror or error}; try fewer with --jobs"
        ) from None
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _results(
    adjudicator: Adjudicator, batch: list[RawGame], future: Future[list[_Finding]]
) -> Iterator[TaggedGame]:
    for raw, found in zip(batch, future.result(), strict=True):
        unproven = isinstance(found, Outcome) and not found.proven
        yield _tagged_game(raw, _finding(adjudicator, raw) if unproven and adjudicator.solver else found)


def _tagged_game(raw: RawGame, found: _Finding) -> TaggedGame:
    if found is None or isinstance(found, Outcome):
        return TaggedGame(raw, found, None)
    if isinstance(found, UsageError):
        return TaggedGame(raw, None, found)
    raise GameError(f"game {raw.number}, line {raw.line}", found) from found


def _finding(adjudicator: Adjudicator, raw: RawGame) -> _Finding:
    try:
        return None if raw.empty else adjudicator.outcome(raw)
    except TbgenError as error:
        return error.with_traceback(None)


_HEARD: Final = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)
"""What all processes hear from a terminal, or a service that ends."""
_adjudicator: Adjudicator
"""What a process of the pool works with."""


def _start(adjudicator: Adjudicator) -> None:
    global _adjudicator
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the first process ends the others
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # an exception here could leave a queue locked for good
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HEARD)
    Thread(target=_end_with_parent, daemon=True).start()
    _adjudicator = adjudicator


def _end_with_parent() -> None:
    """Leave when the first process is gone without having ended this one, as after ``kill -9``."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _batch(batch: list[RawGame]) -> list[_Finding]:
    return [_finding(_adjudicator, raw) for raw in batch]
