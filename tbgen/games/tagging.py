"""Outcomes of the games in PGN files: adjudication in parallel, and counts."""

from __future__ import annotations

import shlex
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property, partial
from itertools import chain, islice
from os import PathLike
from typing import TYPE_CHECKING, Final, TypeAlias

from tbgen.board.variant import Variant
from tbgen.errors import (
    GameError,
    MissingTableError,
    TbgenError,
    UsageError,
    build_command,
    result_or_error,
)
from tbgen.games.game_options import GameOptions
from tbgen.games.outcome import RESULTS, Basis, Doubt, Outcome
from tbgen.games.pgn.reader import Game, read_game
from tbgen.games.pgn.splitter import ByteStream, RawGame, split_games
from tbgen.games.referee import Arbiter, StateSolver, adjudicate, replay
from tbgen.games.result_tags import outcome_of_tags, tags_of, with_tags
from tbgen.probe.syzygy import Syzygy, download_url
from tbgen.probe.tablebase import Tablebase
from tbgen.system.memory import pool_size
from tbgen.system.processes import end_with_parent
from tbgen.system.signals import ignore_terminal_signals, signals_blocked
from tbgen.text import counted

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

_BATCH_GAMES: Final = 32
"""Number of games that are sent to another process at once."""

_Judgement: TypeAlias = tuple[Outcome | None, UsageError | GameError | None]
"""The outcome and the error of a game, one of them None; both None for an empty game."""

_MAX_BATCHES_PER_PROCESS: Final = 4
"""Maximum number of batches in progress per process, so that memory does not grow with the file."""

_MAX_NAMED_GAMES: Final = 3
"""Maximum number of games to name for each doubt."""


@dataclass(frozen=True, slots=True)
class TaggedGame:
    """A game of a stream and its outcome."""

    raw: RawGame
    outcome: Outcome | None = None
    """The outcome; None if there is an error, or the game is empty."""
    error: UsageError | GameError | None = None
    """The error of a broken game, which names its number, line, ply and move, or the error that prevents an
    outcome for a reason outside the game; otherwise None."""
    arbiter: Arbiter | None = field(default=None, compare=False, repr=False)
    """The arbiter of the game after its last move, if this process has replayed the game; otherwise None."""

    @property
    def data(self) -> bytes:
        """The bytes of the game with the tags of its outcome; unchanged if there is none."""
        if self.outcome is None:
            return self.raw.data
        return with_tags(self.raw, tags_of(self.outcome), self.outcome.settings.variant)


@dataclass(frozen=True)
class Adjudicator:
    """An object that adjudicates games one by one, from given settings, tables and other sources.

    :ivar options: rules and scoring; by default r-mobility, with all other settings from the games' tags.
    :ivar directory: directory of the tables; None for the default directory.
    :ivar require_tables: whether a missing table is an error; if not, the result is the accrued score, which
        the moves played have reached.
    :ivar require_proof: whether it is an error if nothing proves the result. This means that the table is
        missing or cannot exist (because no table can contain the final position), and that no other source
        proves the result.
    :ivar syzygy: Syzygy files, for final positions that no table contains.
    :ivar solver: solver of final positions that no table contains.
    :ivar trust_tags: whether to read outcomes from tags written by tbgen instead of refereeing the games
        again. Games with unproved outcomes are adjudicated anyway, because tables may have been added. If
        ``options`` override rules in the tags, all games are adjudicated.
    :ivar on_solve: called with each game before the game is adjudicated with the solver; None for no call.
    """

    options: GameOptions = field(default_factory=partial(GameOptions, Variant.R_MOBILITY))
    directory: str | PathLike[str] | None = None
    _: KW_ONLY
    require_tables: bool = False
    require_proof: bool = False
    syzygy: Syzygy | None = None
    solver: StateSolver | None = None
    trust_tags: bool = False
    on_solve: Callable[[RawGame], object] | None = None

    def without_solver(self) -> Adjudicator:
        """Return a copy of the adjudicator without its solver, for other processes.

        If the adjudicator has a solver, the copy requires neither tables nor proofs, because solving may
        still prove the results later.
        """
        if self.solver is None:
            return replace(self, on_solve=None)
        return Adjudicator(self.options, self.directory, syzygy=self.syzygy, trust_tags=self.trust_tags)

    def judge(self, raw: RawGame) -> TaggedGame:
        """Return a game with its outcome, or with the error that prevents an outcome.

        It is a GameError if the reason is outside the game: a required table or proof is missing, or a table
        cannot be used, for example because it was built without accrued scores.
        """
        if raw.empty:
            return TaggedGame(raw)
        result = result_or_error(self._outcome_and_arbiter, raw)
        if isinstance(result, TbgenError):
            error = result if isinstance(result, UsageError) else GameError(raw.place, result)
            return TaggedGame(raw, error=error)
        outcome, arbiter = result
        return TaggedGame(raw, outcome, arbiter=arbiter)

    def _outcome_and_arbiter(self, raw: RawGame) -> tuple[Outcome, Arbiter | None]:
        """Return the outcome of a game, and its arbiter unless the outcome comes from tags.

        :raises UsageError: if the game is broken or a tag has an invalid value; the message names game and
            line.
        """
        tagged_outcome = None
        if self.trust_tags and not raw.flaw and not self.options.overrides_rules:
            tagged_outcome = outcome_of_tags(raw.values, self.options)
            if tagged_outcome is not None and tagged_outcome.proven:
                has_result = tagged_outcome.recorded in RESULTS
                recorded = tagged_outcome.recorded if has_result else read_game(raw).result
                return replace(tagged_outcome, recorded=recorded), None
        game = read_game(raw)
        if self.solver is not None and self.on_solve is not None:
            self.on_solve(raw)
        try:
            arbiter = replay(game, self.options)
            outcome = self.outcome_of(game, arbiter)
        except UsageError as error:
            if error is game.error:
                raise
            raise UsageError(f"{raw.place}: {error}") from None
        is_provable = not outcome.proven and not outcome.beyond_proof
        if tagged_outcome is not None and tagged_outcome.bounds is not None and is_provable:
            outcome = outcome.narrowed(tagged_outcome.bounds, Basis.SOLVED)
        return outcome, arbiter

    def outcome_of(self, game: Game, arbiter: Arbiter) -> Outcome:
        """Return the outcome of a game whose moves an arbiter has made, ignoring any outcome in its tags.

        :raises MissingTableError: if a table is missing and required.
        :raises UnprovenError: if no table can contain the final position, and a required proof is not found.
        :raises TbgenError: if a table's file cannot be used, or the table was built without accrued scores.
        """
        return adjudicate(
            arbiter,
            self.tables,
            game.ending,
            recorded=game.result,
            doubts=game.doubts,
            syzygy=self.syzygy,
            solver=self.solver,
            require_tables=self.require_tables,
            require_proof=self.require_proof,
        )

    @cached_property
    def tables(self) -> Tablebase:
        """The tables with which games are adjudicated."""
        return Tablebase(self.directory, rules=self.options.variant)


def tag_games(
    stream: ByteStream, adjudicator: Adjudicator | None = None, *, jobs: int = 1, raises: bool = True
) -> Iterator[TaggedGame]:
    """Yield all games of a PGN stream in order, with outcomes. The raw bytes of the games, concatenated, are
    the stream.

    :param adjudicator: adjudicator of the games; by default ``Adjudicator()``.
    :param jobs: number of processes; with 1, only this process works. Positions are always solved in this
        process, game by game.
    :param raises: whether a GameError is raised; if not, it is the error of its game.

    :raises GameError: if a required table or proof is missing, or a table cannot be used; the message names
        the game.
    :raises TbgenError: if a process is killed, or cannot be started.

    >>> import io
    >>> for game in tag_games(io.BytesIO(b"1. f3 e5 2. g4 Qh4# 0-1")):
    ...     print(game.outcome.value, game.outcome.basis)
    -G0.0 mate
    """
    for game in _judged_games(stream, adjudicator or Adjudicator(), jobs):
        if raises and isinstance(game.error, GameError):
            raise game.error from game.error.error
        yield game


def _judged_games(stream: ByteStream, adjudicator: Adjudicator, jobs: int) -> Iterator[TaggedGame]:
    games = split_games(stream)
    first_batch = [] if jobs == 1 else list(islice(games, _BATCH_GAMES))
    games = chain(first_batch, games)
    if len(first_batch) < _BATCH_GAMES:  # a few games do not justify the start of a process
        yield from map(adjudicator.judge, games)
        return
    from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
    from multiprocessing import get_context

    from tbgen.compiler.cache import fallback_directory

    fallback_directory()  # processes share one temporary cache; separate caches would remain after they end
    with ProcessPoolExecutor(pool_size(jobs), get_context(), _start, (adjudicator.without_solver(),)) as pool:
        pending_batches: deque[tuple[list[RawGame], Future[list[_Judgement]]]] = deque()
        try:
            while batch := list(islice(games, _BATCH_GAMES)):
                pending_batches.append((batch, _submit(pool, batch, jobs)))
                if len(pending_batches) > _MAX_BATCHES_PER_PROCESS * jobs:
                    yield from _judged_batch(adjudicator, *pending_batches.popleft())
            while pending_batches:
                yield from _judged_batch(adjudicator, *pending_batches.popleft())
        except BrokenProcessPool:
            raise TbgenError(
                "a process that adjudicated games was killed, maybe because memory ran out: "
                "try fewer with --jobs"
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


def _submit(pool: ProcessPoolExecutor, batch: list[RawGame], jobs: int) -> Future[list[_Judgement]]:
    """Send a batch to the pool, which starts its processes at the first batch."""
    from multiprocessing import active_children

    # A signal to all processes must not end a process that has just started and does not ignore signals yet.
    with signals_blocked():
        try:
            return pool.submit(_judge_batch, batch)
        except OSError as error:
            for process in active_children():
                process.terminate()  # otherwise the pool would wait for the processes that have started
            raise TbgenError(
                f"{jobs} processes cannot be started: {error.strerror or error}; try fewer with --jobs"
            ) from None


def _judged_batch(
    adjudicator: Adjudicator, batch: list[RawGame], future: Future[list[_Judgement]]
) -> Iterator[TaggedGame]:
    for raw, (outcome, error) in zip(batch, future.result(), strict=True):
        is_to_solve = outcome is not None and not outcome.proven and adjudicator.solver is not None
        yield adjudicator.judge(raw) if is_to_solve else TaggedGame(raw, outcome, error)


_adjudicator: Adjudicator
"""The adjudicator in a process of the pool."""


def _start(adjudicator: Adjudicator) -> None:
    """Prepare a process of the pool for its work."""
    global _adjudicator
    ignore_terminal_signals()
    end_with_parent()
    _adjudicator = adjudicator


def _judge_batch(batch: list[RawGame]) -> list[_Judgement]:
    return [(game.outcome, game.error) for game in map(_adjudicator.judge, batch)]


@dataclass(slots=True)
class Tally:
    """Counts of adjudicated games."""

    bases: Counter[Basis] = field(default_factory=Counter)
    """Number of games by basis."""
    missing_tables: Counter[str] = field(default_factory=Counter)
    """Number of games by the material of the missing table."""
    missing_syzygy: Counter[str] = field(default_factory=Counter)
    """Number of games by the name of the missing Syzygy file."""
    doubts: Counter[Doubt] = field(default_factory=Counter)
    """Number of games by doubt."""
    first_games: dict[Doubt, list[str]] = field(default_factory=dict)
    """The names of the first games with each doubt."""
    unknown_scorings: Counter[str] = field(default_factory=Counter)
    """Number of games by the unknown scoring in their tags."""
    unsolvable: Counter[str] = field(default_factory=Counter)
    """Number of games by the reason why the final position cannot be solved, if solving was tried."""
    broken: int = 0
    """Number of games that cannot be read."""
    _last_missing_error: MissingTableError | None = None
    """The error about the last missing table."""

    @property
    def games(self) -> int:
        """Number of games with an outcome."""
        return self.bases.total()

    def add(self, outcome: Outcome, name: str) -> None:
        """Count a game.

        :param name: name of the game for messages.
        """
        self.bases[outcome.basis] += 1
        if outcome.missing is not None:
            self.missing_tables[outcome.missing.material] += 1
            self._last_missing_error = outcome.missing
        if outcome.missing_syzygy:
            self.missing_syzygy[outcome.missing_syzygy] += 1
        for doubt in outcome.doubts:
            self.doubts[doubt] += 1
            if self.doubts[doubt] <= _MAX_NAMED_GAMES:
                self.first_games.setdefault(doubt, []).append(name)
        if outcome.settings.unknown_scoring is not None:
            self.unknown_scorings[outcome.settings.unknown_scoring] += 1
        if outcome.unsolvable:
            self.unsolvable[outcome.unsolvable] += 1

    def remarks(self) -> Iterator[str]:
        """Yield sentences on each doubt that has occurred, on missing tables, and on missing Syzygy files."""
        for doubt in (doubt for doubt in Doubt if self.doubts[doubt]):
            names = self.first_games[doubt]
            unnamed_count = self.doubts[doubt] - len(self.first_games[doubt])
            listing = "; ".join([*names, f"and {unnamed_count:,} more"] if unnamed_count else names)
            yield f"{counted(self.doubts[doubt], 'doubtful game')} ({doubt}): {doubt.sentence}: {listing}"
        error = self._last_missing_error
        if error is not None and len(self.missing_tables) == 1:
            yield str(error)
        elif error is not None:
            command = build_command(sorted(self.missing_tables), error.directory, error.rules)
            games = counted(self.missing_tables.total(), "game")
            yield f"{len(self.missing_tables)} tables are missing for {games}; build them with: {command}"
        if files := sorted(self.missing_syzygy):
            subject = f"Syzygy file {files[0]} is" if len(files) == 1 else f"{len(files)} Syzygy files are"
            command = shlex.join(["wget", *map(download_url, files)])
            games = counted(self.missing_syzygy.total(), "game")
            yield f"{subject} missing for {games}; in the directory of the others, fetch with: {command}"
