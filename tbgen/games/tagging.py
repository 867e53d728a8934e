"""Outcomes of all games of PGN files: adjudication in parallel, tags, and counts."""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property, partial
from itertools import chain, islice
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.connection import wait
from os import PathLike
from threading import Thread
from typing import Any, Final

from tbgen.board.score import GScore
from tbgen.board.scoring import ScoreInterval
from tbgen.board.variant import Variant
from tbgen.errors import (
    GameError,
    MissingTableError,
    TbgenError,
    UsageError,
    build_command,
    result_or_error,
)
from tbgen.games.outcome import RESULTS, Basis, Doubt, Outcome
from tbgen.games.pgn import tags
from tbgen.games.pgn.reader import Game, read_game
from tbgen.games.pgn.spelling import UNFINISHED, read_result
from tbgen.games.pgn.splitter import LineStream, RawGame, Tag, split_games
from tbgen.games.referee import Arbiter, StateSolver, adjudicate, replay
from tbgen.games.settings import FiftyMoveRule, GameOptions
from tbgen.probe.syzygy import Syzygy, address
from tbgen.probe.tablebase import Tablebase
from tbgen.system.memory import workers
from tbgen.system.signals import ignore_terminal, signals_blocked
from tbgen.text import counted

_BREAK: Final = re.compile(rb"\r\n|\n|\r")
_LAST_BREAK: Final = re.compile(rb"(?:\r\n|\n|\r)\Z")


def tags_of(outcome: Outcome) -> dict[str, str]:
    """Return the tags that describe an outcome; komi, doubts and bounds only if the outcome has them."""
    settings = outcome.settings
    names, scoring = tags.RESULT[settings.variant], settings.scoring
    values = {
        names.result: str(outcome.value),
        tags.POINTS: scoring.tag(outcome.value),
        names.basis: outcome.basis.value,
        names.accrued: str(outcome.accrued),
        names.cutoff: str(scoring.cutoff),
        names.scoring: scoring.scheme.value.capitalize(),
        names.fifty_moves: settings.fifty_move_rule.value,
    }
    if outcome.doubts:
        values[names.doubts] = ", ".join(outcome.doubts)
    if outcome.bounds is not None:
        values[names.bounds] = str(outcome.bounds)
    if scoring.scheme.has_komi:
        values[tags.KOMI] = str(scoring.komi)
    return values


def outcome_of_tags(game: Mapping[str, str], options: GameOptions) -> Outcome | None:
    """Return the outcome in the tags of a game that :func:`tags_of` has made; None without such tags.

    Result, basis and 50-move rule are those of the tags; the scoring is that of the options. If the result is
    not exact, its bounds may determine the points by this scoring even if they did not by the earlier one.
    """
    names = tags.RESULT[options.variant]
    try:
        rule, basis = FiftyMoveRule(game[names.fifty_moves]), Basis(game[names.basis])
        outcome = Outcome(
            GScore.parse(game[names.result]),
            basis,
            GScore.parse(game[names.accrued]),
            replace(options.settings(game), fifty_move_rule=rule),
            recorded=read_result(game.get("Result", "")) or UNFINISHED,
            doubts=tuple(map(Doubt, filter(None, game.get(names.doubts, "").split(", ")))),
        )
        if basis in (Basis.BOUNDED, Basis.NEAREST_BOUND) or (not basis.proven and names.bounds in game):
            outcome = replace(outcome, bounds=ScoreInterval.parse(game[names.bounds]))
            return outcome.scored_by(outcome.settings.scoring)
    except (KeyError, ValueError):
        return None
    return outcome


def with_tags(raw: RawGame, values: Mapping[str, str], variant: Variant) -> bytes:
    """Return the bytes of a game in which the tags of an outcome replace those of an earlier outcome.

    The tags are placed after the tag ``Result``; without it, where the earlier tags were, or after the last
    tag. They get the line breaks of the game. A komi of the game and its result by the other variant stay.
    """
    replaced = tags.REPLACED[variant]
    old = [tag for tag in raw.tags if tag.name in replaced]
    kept = [tag for tag in raw.tags if tag.name not in replaced]
    names = {tag.name for tag in kept}
    place, blank = _place(raw, kept, old)
    before, after = _without(old, raw.data, 0, place), _without(old, raw.data, place, len(raw.data))
    found = _LAST_BREAK.search(before) or _BREAK.search(after)
    newline = b"\n" if found is None else found[0]
    if newline == b"\r" and after.startswith(b"\n"):
        newline = b"\n"  # otherwise the two would form one line break
    if kept and place == kept[-1].end and not before.endswith((b"\n", b"\r")):
        before += newline  # the file ends with a tag, and without a line break
    block = [f'[{name} "{value}"]'.encode() + newline for name, value in values.items() if name not in names]
    return b"".join([before, *block, newline * blank, after])


def _without(old: list[Tag], data: bytes, start: int, end: int) -> bytes:
    """Return a part of the bytes of a game without the lines of some tags."""
    parts: list[bytes] = []
    for tag in old:
        if start <= tag.start < end:
            parts.append(data[start : tag.start])
            start = tag.end
    return b"".join([*parts, data[start:end]])


def _place(raw: RawGame, kept: list[Tag], old: list[Tag]) -> tuple[int, bool]:
    """Return the place for tags, and whether an empty line must separate them from moves."""
    result = next((tag for tag in kept if tag.name == "Result"), None)
    if result is not None:
        return result.end, False
    if old:
        return old[0].start, False
    if kept:
        return kept[-1].end, False
    return raw.movetext, True


_BATCH_GAMES: Final = 32
"""Number of games that are sent to another process together."""

_Finding = Outcome | TbgenError | None
"""The outcome of a game, or the error about it; None for an empty game."""

_MAX_BATCHES: Final = 4
"""Maximum number of batches in progress per process, so that memory does not grow with the file."""


@dataclass(frozen=True, slots=True)
class TaggedGame:
    """A game of a stream and its outcome."""

    raw: RawGame
    outcome: Outcome | None
    """The outcome; None if the game is broken or empty."""
    error: UsageError | None
    """The error of a broken game, which names number, line, ply and move."""

    @property
    def data(self) -> bytes:
        """The bytes of the game with the tags of its outcome; unchanged if the game is broken."""
        if self.outcome is None:
            return self.raw.data
        return with_tags(self.raw, tags_of(self.outcome), self.outcome.settings.variant)


@dataclass(frozen=True)
class Adjudicator:
    """The adjudication of games, one by one.

    :ivar options: rules and scoring; by default r-mobility, with all else left to the games' tags.
    :ivar directory: directory of the tables; None for the default one.
    :ivar require_tables: raise an error about a missing table instead of letting the game stand as played.
    :ivar require_proof: also raise an error if no table can contain the final position and nothing proves it.
    :ivar syzygy: Syzygy files, for final positions that no table contains.
    :ivar solver: solver of final positions that no table contains.
    :ivar trust_tags: whether to take outcomes from the tags of tbgen instead of refereeing the games again.
        Outcomes that are not proved are adjudicated anyway, because tables may have been added; so are all
        games if ``options`` fix the rules.
    :ivar begin: called with each game whose position may be solved, before that; None for no call.
    """

    options: GameOptions = field(default_factory=partial(GameOptions, Variant.R_MOBILITY))
    directory: str | PathLike[str] | None = None
    _: KW_ONLY
    require_tables: bool = False
    require_proof: bool = False
    syzygy: Syzygy | None = None
    solver: StateSolver | None = None
    trust_tags: bool = False
    begin: Callable[[RawGame], object] | None = None

    def unsolving(self) -> Adjudicator:
        """Return the adjudicator without its solver, for other processes.

        If it had a solver, it requires no proof either, because solving may still prove the result later.
        """
        if self.solver is None:
            return replace(self, begin=None)
        return Adjudicator(self.options, self.directory, syzygy=self.syzygy, trust_tags=self.trust_tags)

    def outcome(self, raw: RawGame) -> Outcome:
        """Return the outcome of a game.

        :raises UsageError: if the game is broken or a tag has an invalid value; it names game and place.
        :raises MissingTableError: if a table is missing and required.
        :raises UnprovenError: if no table can contain the final position, and a required proof is not found.
        :raises TbgenError: if a table's file cannot be used, or it was built without accrued scores.
        """
        tagged = None
        if self.trust_tags and not self.options.fixed:
            tagged = outcome_of_tags(raw.values, self.options)
            if tagged is not None and tagged.proven:
                has_result = tagged.recorded in RESULTS
                return tagged if has_result else replace(tagged, recorded=read_game(raw).result)
        game = read_game(raw)
        if self.solver is not None and self.begin is not None:
            self.begin(raw)
        try:
            _, outcome = self.judged(game)
        except UsageError as error:
            if error is game.error:
                raise
            raise UsageError(f"game {raw.number}, line {raw.line}: {error}") from None
        provable = not outcome.proven and not outcome.beyond_proof
        if tagged is not None and tagged.bounds is not None and provable:
            return outcome.narrowed(tagged.bounds, Basis.SOLVED)
        return outcome

    def judged(self, game: Game) -> tuple[Arbiter, Outcome]:
        """Return the arbiter of a game, and its outcome by its moves, without the outcome in its tags.

        Errors are those of :meth:`outcome`, but name no game.
        """
        arbiter = replay(game, self.options)
        return arbiter, adjudicate(
            arbiter,
            self.tables,
            game.ending,
            recorded=game.result,
            syzygy=self.syzygy,
            doubts=game.doubts,
            solver=self.solver,
            require_tables=self.require_tables,
            require_proof=self.require_proof,
        )

    @cached_property
    def tables(self) -> Tablebase:
        """The tables by which games are adjudicated."""
        return Tablebase(self.directory, rules=self.options.variant)


def tag_games(
    stream: LineStream, adjudicator: Adjudicator | None = None, *, jobs: int = 1
) -> Iterator[TaggedGame]:
    """Yield all games of a PGN stream in order, with outcomes; their bytes together are those of the stream.

    :param adjudicator: adjudicator of the games; by default ``Adjudicator()``.
    :param jobs: number of processes; with 1, only this process works. Positions are solved in this process,
        game after game.

    :raises GameError: if a table is missing and required, or cannot be used; it names the game.
    :raises TbgenError: if a process is killed, or cannot be started.

    >>> import io
    >>> for game in tag_games(io.BytesIO(b"1. f3 e5 2. g4 Qh4# 0-1")):
    ...     print(game.outcome.value, game.outcome.basis)
    -G0.0 mate
    """
    adjudicator = adjudicator or Adjudicator()
    games = split_games(stream)
    first = list(islice(games, _BATCH_GAMES))
    games = chain(first, games)
    if jobs == 1 or len(first) < _BATCH_GAMES:  # a few games do not justify the start of a process
        for raw in games:
            yield _tagged_game(raw, _finding(adjudicator, raw))
        return
    from tbgen.compiler.cache import substitute

    substitute()  # the processes share a temporary cache; their own ones would remain after their end
    with ProcessPoolExecutor(workers(jobs), get_context(), _start, (adjudicator.unsolving(),)) as pool:
        pending: deque[tuple[list[RawGame], Future[list[_Finding]]]] = deque()
        try:
            while batch := list(islice(games, _BATCH_GAMES)):
                pending.append((batch, _submit(pool, batch, jobs)))
                if len(pending) > _MAX_BATCHES * jobs:
                    yield from _results(adjudicator, *pending.popleft())
            while pending:
                yield from _results(adjudicator, *pending.popleft())
        except BrokenProcessPool:
            raise TbgenError(
                "a process that adjudicated games was killed, maybe because memory ran out: "
                "try fewer with --jobs"
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


def _submit(pool: ProcessPoolExecutor, batch: list[RawGame], jobs: int) -> Future[list[_Finding]]:
    """Send a batch to the pool, whose processes start with the first one."""
    # A signal to all processes must not end one that is just starting, before it ignores the signal.
    with signals_blocked():
        try:
            return pool.submit(_batch, batch)
        except OSError as error:
            for process in active_children():
                process.terminate()  # otherwise the pool would wait for those that have started
            raise TbgenError(
                f"{jobs} processes cannot be started: {error.strerror or error}; try fewer with --jobs"
            ) from None


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
    return None if raw.empty else result_or_error(adjudicator.outcome, raw)


_adjudicator: Adjudicator
"""The adjudicator of a process of the pool."""


def _start(adjudicator: Adjudicator) -> None:
    global _adjudicator
    ignore_terminal()
    Thread(target=_end_with_parent, daemon=True).start()
    _adjudicator = adjudicator


def _end_with_parent() -> None:
    """End this process when its parent has terminated without ending it, as after ``kill -9``."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _batch(batch: list[RawGame]) -> list[_Finding]:
    return [_finding(_adjudicator, raw) for raw in batch]


_MAX_NAMED: Final = 3
"""Maximum number of games to name for a doubt."""


@dataclass(slots=True)
class Tally:
    """Counts of games."""

    bases: Counter[Basis] = field(default_factory=Counter)
    """Number of games by the basis of their results."""
    missing: Counter[str] = field(default_factory=Counter)
    """Number of games by the material of a missing table."""
    missing_syzygy: Counter[str] = field(default_factory=Counter)
    """Number of games by the name of a missing Syzygy file."""
    doubts: Counter[Doubt] = field(default_factory=Counter)
    """Number of games by doubt."""
    doubtful: dict[Doubt, list[str]] = field(default_factory=dict)
    """The names of the first games with each doubt."""
    unknown_scorings: Counter[str] = field(default_factory=Counter)
    """Number of games by an unknown scoring in their tags."""
    unsolvable: Counter[str] = field(default_factory=Counter)
    """Number of games by the reason why solving, if tried, cannot handle their positions."""
    broken: int = 0
    """Number of games that cannot be read."""
    _lack: MissingTableError | None = None
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
            self.missing[outcome.missing.material] += 1
            self._lack = outcome.missing
        if outcome.missing_syzygy:
            self.missing_syzygy[outcome.missing_syzygy] += 1
        for doubt in outcome.doubts:
            self.doubts[doubt] += 1
            if self.doubts[doubt] <= _MAX_NAMED:
                self.doubtful.setdefault(doubt, []).append(name)
        if outcome.settings.unknown_scoring is not None:
            self.unknown_scorings[outcome.settings.unknown_scoring] += 1
        if outcome.unsolvable:
            self.unsolvable[outcome.unsolvable] += 1

    def remarks(self) -> Iterator[str]:
        """Yield a sentence on each doubt, on missing tables and on missing Syzygy files."""
        for doubt in (doubt for doubt in Doubt if self.doubts[doubt]):
            names, more = self.doubtful[doubt], self.doubts[doubt] - len(self.doubtful[doubt])
            where = "; ".join([*names, f"and {more:,} more"] if more else names)
            yield f"{counted(self.doubts[doubt], 'doubtful game')} ({doubt}): {doubt.sentence}: {where}"
        lack = self._lack
        if lack is not None and len(self.missing) == 1:
            yield str(lack)
        elif lack is not None:
            command = build_command(sorted(self.missing), lack.directory, lack.rules)
            ended = counted(self.missing.total(), "game")
            yield f"{len(self.missing)} tables are missing for {ended}; build them with: {command}"
        if files := sorted(self.missing_syzygy):
            subject = f"Syzygy file {files[0]} is" if len(files) == 1 else f"{len(files)} Syzygy files are"
            command = shlex.join(["wget", *map(address, files)])
            ended = counted(self.missing_syzygy.total(), "game")
            yield f"{subject} missing for {ended}; in the directory of the others, fetch with: {command}"

    def document(self) -> dict[str, Any]:
        """Return the counts for JSON."""
        return {
            "games": self.games,
            "bases": {basis.value: self.bases[basis] for basis in Basis if self.bases[basis]},
            "broken": self.broken,
            "doubts": {
                doubt.value: {"games": self.doubts[doubt], "first": self.doubtful[doubt]}
                for doubt in Doubt
                if self.doubts[doubt]
            },
            "missing_tables": dict(sorted(self.missing.items())),
            "missing_syzygy": dict(sorted(self.missing_syzygy.items())),
            "unknown_scorings": dict(sorted(self.unknown_scorings.items())),
            "unsolvable": dict(sorted(self.unsolvable.items())),
        }
