"""Outcomes of whole PGN files: found in parallel, written as tags and read from these, and counted."""

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
from tbgen.system.signals import held_back, leave_to_parent
from tbgen.text import counted

_BREAK: Final = re.compile(rb"\r\n|\n|\r")
_LAST_BREAK: Final = re.compile(rb"(?:\r\n|\n|\r)\Z")


def tags_of(outcome: Outcome) -> dict[str, str]:
    """Return the tags that tell an outcome; the komi only where it counts, doubts and bounds if any."""
    settings = outcome.settings
    names, scoring = tags.RESULT[settings.variant], settings.scoring
    told = {
        names.result: str(outcome.value),
        tags.POINTS: scoring.tag(outcome.value),
        names.basis: outcome.basis.value,
        names.accrued: str(outcome.accrued),
        names.cutoff: str(scoring.cutoff),
        names.scoring: scoring.scheme.value.capitalize(),
        names.fifty_moves: settings.fifty_move_rule.value,
    }
    if outcome.doubts:
        told[names.doubts] = ", ".join(outcome.doubts)
    if outcome.bounds is not None:
        told[names.bounds] = str(outcome.bounds)
    if scoring.scheme.has_komi:
        told[tags.KOMI] = str(scoring.komi)
    return told


def outcome_of_tags(game: Mapping[str, str], options: GameOptions) -> Outcome | None:
    """Return the outcome that :func:`tags_of` has left in the tags of a game, None if there is none.

    Result, basis and 50-move rule are what the tags say; the scoring is what the options ask for, and where
    the result is not exact, the bounds decide anew whether they say the points by it.
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


def with_tags(raw: RawGame, told: Mapping[str, str], variant: Variant) -> bytes:
    """Return the bytes of a game with tags that tell its outcome, in place of those of an earlier one.

    They go behind the tag ``Result``, else where the earlier ones stood, else to the end of the tags, with
    the line breaks that are there. A komi that the game has stays, as does its result by the other variant.
    """
    ours = tags.REPLACED[variant]
    old = [tag for tag in raw.tags if tag.name in ours]
    kept = [tag for tag in raw.tags if tag.name not in ours]
    there = {tag.name for tag in kept}
    place, blank = _place(raw, kept, old)
    before, behind = _without(old, raw.data, 0, place), _without(old, raw.data, place, len(raw.data))
    found = _LAST_BREAK.search(before) or _BREAK.search(behind)
    newline = b"\n" if found is None else found[0]
    if newline == b"\r" and behind.startswith(b"\n"):
        newline = b"\n"  # else the two would make one
    if kept and place == kept[-1].end and not before.endswith((b"\n", b"\r")):
        before += newline  # the file ends with a tag, and without a line break
    block = [f'[{name} "{value}"]'.encode() + newline for name, value in told.items() if name not in there]
    return b"".join([before, *block, newline * blank, behind])


def _without(old: list[Tag], data: bytes, start: int, end: int) -> bytes:
    """Return a part of the bytes of a game without the lines of some tags."""
    parts: list[bytes] = []
    for tag in old:
        if start <= tag.start < end:
            parts.append(data[start : tag.start])
            start = tag.end
    return b"".join([*parts, data[start:end]])


def _place(raw: RawGame, kept: list[Tag], old: list[Tag]) -> tuple[int, bool]:
    """Return where tags go, and whether an empty line has to follow because moves do."""
    result = next((tag for tag in kept if tag.name == "Result"), None)
    if result is not None:
        return result.end, False
    if old:
        return old[0].start, False
    if kept:
        return kept[-1].end, False
    return raw.movetext, True


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
    :ivar begin: called with each game whose position may be solved, before that; None for nothing.
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
        """Return an adjudicator that finds the same but for what takes solving.

        It requires no proof either, for that is to be asked when all has been tried; but it does so without a
        solver. It can be sent to other processes.
        """
        if self.solver is None:
            return replace(self, begin=None)
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
        if self.solver is not None and self.begin is not None:
            self.begin(raw)
        try:
            _, outcome = self.judged(game)
        except UsageError as error:
            if error is game.error:
                raise
            raise UsageError(f"game {raw.number}, line {raw.line}: {error}") from None
        unsure = not outcome.proven and not outcome.beyond_proof
        if told is not None and told.bounds is not None and unsure:
            return outcome.narrowed(told.bounds, Basis.SOLVED)
        return outcome

    def judged(self, game: Game) -> tuple[Arbiter, Outcome]:
        """Return the arbiter of a game, and how it ended by its moves, whatever its tags say of that.

        Raises as :meth:`outcome` does, but names no game.
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
        """The tables it goes by."""
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
    with ProcessPoolExecutor(workers(jobs), get_context(), _start, (adjudicator.unsolving(),)) as pool:
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
    with held_back():
        try:
            return pool.submit(_batch, batch)
        except OSError as error:
            for process in active_children():
                process.terminate()  # those that have been started would be waited for
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
"""What a process of the pool works with."""


def _start(adjudicator: Adjudicator) -> None:
    global _adjudicator
    leave_to_parent()
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


_NAMED: Final = 3
"""Games with a doubt that are named; the others are counted."""


@dataclass(slots=True)
class Tally:
    """Counts of games, as they come in."""

    bases: Counter[Basis] = field(default_factory=Counter)
    """Games by what their results rest on."""
    missing: Counter[str] = field(default_factory=Counter)
    """Games by the material of the table that is missing for them."""
    missing_syzygy: Counter[str] = field(default_factory=Counter)
    """Games by the name of the Syzygy file that is missing for them."""
    doubts: Counter[Doubt] = field(default_factory=Counter)
    """Games by what is doubtful about them."""
    doubtful: dict[Doubt, list[str]] = field(default_factory=dict)
    """The first games with each doubt."""
    unknown_scorings: Counter[str] = field(default_factory=Counter)
    """Games by a scoring that their tags name and nobody knows."""
    unsolvable: Counter[str] = field(default_factory=Counter)
    """Games by why their positions cannot be solved, if that was asked for."""
    broken: int = 0
    """Games that cannot be read."""
    _lack: MissingTableError | None = None
    """The last table that was missing."""

    @property
    def games(self) -> int:
        """Games that have an outcome."""
        return self.bases.total()

    def add(self, outcome: Outcome, name: str) -> None:
        """Count a game.

        :param name: what to call it.
        """
        self.bases[outcome.basis] += 1
        if outcome.missing is not None:
            self.missing[outcome.missing.material] += 1
            self._lack = outcome.missing
        if outcome.missing_syzygy:
            self.missing_syzygy[outcome.missing_syzygy] += 1
        for doubt in outcome.doubts:
            self.doubts[doubt] += 1
            if self.doubts[doubt] <= _NAMED:
                self.doubtful.setdefault(doubt, []).append(name)
        if outcome.settings.unknown_scoring is not None:
            self.unknown_scorings[outcome.settings.unknown_scoring] += 1
        if outcome.unsolvable:
            self.unsolvable[outcome.unsolvable] += 1

    def remarks(self) -> Iterator[str]:
        """Yield a sentence for each kind of doubt, and one on the tables that are missing."""
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
            what = f"Syzygy file {files[0]} is" if len(files) == 1 else f"{len(files)} Syzygy files are"
            command = shlex.join(["wget", *map(address, files)])
            ended = counted(self.missing_syzygy.total(), "game")
            yield f"{what} missing for {ended}; in the directory of the others, fetch with: {command}"

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
