"""One engine process: start, moves, every way in which an engine fails, its end, and its log.

Where the system has it (Linux), the engine asks to be killed when its parent dies; but a child of the engine
is not told, nor is anybody elsewhere. So a :class:`Guard` ends them then.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Collection, Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple, TextIO, TypeAlias

import chess
from chess.engine import EngineError

from tbgen.documents import options_for
from tbgen.errors import UsageError, quote
from tbgen.match.clock import Clock, TimeControl, limit_of
from tbgen.match.uci import Thought, Uci
from tbgen.system.files import check_name, write_errors
from tbgen.system.processes import APART, Guard, dying_with_parent, end_all, on_processors, words_of
from tbgen.text import duration

LineLog: TypeAlias = Callable[[str, str], None]
"""Writes a line, after ``<`` if an engine has sent it, else after ``>``."""

_REMEDY: Final = "choose another directory with --log"
_UNSAFE: Final = re.compile(r"[^\w.+-]")


class EngineLogs:
    """The logs of an event.

    :param directory: where they lie, made if need be; None for none.
    :raises TbgenError: if it cannot be made.
    """

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._files: dict[str, TextIO] = {}
        if directory is not None:
            with write_errors(directory, remedy=_REMEDY):
                directory.mkdir(parents=True, exist_ok=True)

    def of(self, name: str, slot: int) -> LineLog | None:
        """Return what writes a line of an engine, or to it, in a slot; None if there are no logs.

        :raises TbgenError: if the file cannot be opened.
        """
        if self._directory is None:
            return None
        path = self._directory / f"{_UNSAFE.sub('_', name)}.log"
        if name not in self._files:
            check_name(path)
            with write_errors(path, remedy=_REMEDY):
                self._files[name] = open(path, "a", encoding="utf-8", buffering=1)  # noqa: SIM115
        file = self._files[name]

        def write(direction: str, line: str) -> None:
            file.write(f"{datetime.now():%Y-%m-%d %H:%M:%S.%f} {slot} {direction} {line}\n")

        return write

    def close(self) -> None:
        """Close all files."""
        for file in self._files.values():
            file.close()


START_SECONDS: Final = 30.0
STALL_SECONDS: Final = 300.0
_QUITTING: Final = 2.0
"""Seconds that an engine has for ``quit``."""
_ENDING: Final = 5.0
"""Seconds after which a killed process counts as gone."""
_GRACE: Final = 0.2
"""Seconds to wait for a move beyond its time: the time that counts is taken where the bytes are read."""
_EMPTY: Final = "<empty>"
"""How UCI writes a text without letters."""
_VARIANT: Final = "rmobility"
_WORD: Final = re.compile(r"[^0-9A-Za-z()]")
_LONGEST_WORD: Final = 10


class Fault(StrEnum):
    """How an engine has lost a game other than on the board."""

    TIME = "time forfeit"
    ILLEGAL_MOVE = "illegal move"
    ABANDONED = "abandoned"
    """It has crashed, or does not start."""
    STALLED = "stalled connection"
    """It does not answer."""


class EngineFault(Exception):  # noqa: N818
    """What an engine has done wrong.

    :param fault: the value of the tag ``Termination``.
    :param detail: more about it, for a log; of an illegal move the move.
    """

    def __init__(self, fault: Fault, detail: str) -> None:
        super().__init__(detail)
        self.fault = fault
        self.detail = detail


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """An engine of an event."""

    name: str
    command: tuple[str, ...]
    """The program and its arguments."""
    directory: Path | None = None
    """Where it runs; None for the directory of the runner."""
    options: Mapping[str, str] = field(default_factory=dict)
    control: TimeControl = field(default_factory=TimeControl)
    restart: bool = False
    """Whether each game gets a process of its own."""
    start: float = START_SECONDS
    """Seconds for the start, and for the answer to ``isready``."""
    stall: float = STALL_SECONDS
    """Seconds for a move where no clock runs."""


def find_command(words: str, arguments: tuple[str, ...], directory: Path | None) -> tuple[str, ...]:
    """Return the program and its arguments.

    :param words: the program, in the directory, in that of the runner, or to be looked for as a shell does;
        if there is none of that name, what follows its first word are arguments.

    :raises UsageError: if there is no such program.
    """
    readings = [[words]]
    with contextlib.suppress(ValueError):
        readings.append(words_of(words))
    for program, *more in filter(None, readings):
        places = [directory] if directory is not None else []
        places += [Path()] if os.path.dirname(program) else []
        near = (place / Path(program).expanduser() for place in places)
        path = next((path for path in near if path.is_file()), shutil.which(program))
        if path is None:
            continue
        if not os.access(path, os.X_OK):
            raise UsageError(f"{quote(str(path))} is no program: it must be executable")
        return (os.path.abspath(path), *more, *arguments)
    raise UsageError(f"there is no program {quote(words)}: give its path, or a name that a shell finds")


class EngineReply(NamedTuple):
    """What an engine has answered."""

    move: chess.Move
    seconds: float
    thought: Thought


class Engine:
    """A running engine."""

    def __init__(self, settings: EngineSettings, uci: Uci, root: int, guard: Guard) -> None:
        self.settings = settings
        self._uci, self._root, self._guard = uci, root, guard
        self._game: object = None
        guard.watch(root)

    @classmethod
    async def launch(
        cls, settings: EngineSettings, guard: Guard, processors: Collection[int], log: LineLog | None
    ) -> Engine:
        """Start an engine apart from this process, and set its options.

        :raises EngineFault: if it cannot be started, or does not answer as UCI says.
        :raises UsageError: if it has not the options that it is to have.
        """
        try:
            if not os.access(settings.command[0], os.X_OK):
                raise PermissionError(f"there is no program {settings.command[0]} any more")
            transport, uci = await asyncio.get_running_loop().subprocess_exec(
                lambda: Uci(log),
                *dying_with_parent(),
                *on_processors(processors),
                *settings.command,
                cwd=settings.directory,
                stderr=subprocess.DEVNULL,
                **APART,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise EngineFault(Fault.ABANDONED, f"it cannot be started: {error}") from None
        engine = cls(settings, uci, transport.get_pid(), guard)
        try:
            await engine._in_time(uci.initialize())
            await engine._configure()
            await engine._in_time(uci.ping())
        except BaseException:
            await engine.close(kill=True)
            raise
        return engine

    @property
    def chess960(self) -> bool:
        """Whether it plays Chess960."""
        return "UCI_Chess960" in self._uci.options

    @property
    def usable(self) -> bool:
        """Whether it can play another game."""
        return not self._uci.lost

    async def move(
        self,
        board: chess.Board,
        clocks: Mapping[chess.Color, Clock],
        game: object,
        accrued: str,
        tell: Callable[[Thought, float], object] = lambda *_: None,
    ) -> EngineReply:
        """Return the engine's move.

        :param board: the start position with the moves since.
        :param clocks: of White (True) and Black.
        :param game: the same object for all moves of a game.
        :param accrued: the accrued score of the start position, empty if none is known: engines that know
            r-mobility have an option ``Accrued`` for it.
        :param tell: called each second with what the engine has told anew while it thinks, and for how long
            it has thought.

        :raises EngineFault: if there is no legal move of it in time.
        """
        uci, clock = self._uci, clocks[board.turn]
        if game is not self._game:
            if "Accrued" in uci.options:
                await self._in_time(uci.configure({"Accrued": accrued or _EMPTY}))
            self._game = game
        allowed, move = clock.allowed, None
        most = self.settings.stall if allowed is None else allowed + _GRACE
        limit = limit_of(clocks[chess.WHITE], clocks[chess.BLACK], clock)
        try:
            async with asyncio.timeout(self.settings.start) as due:
                uci.answer, uci.tell = "", tell
                uci.on_go = lambda: due.reschedule(uci.loop.time() + most)
                move = (await uci.play(board, limit, game=game)).move
        except TimeoutError:
            raise self._late(allowed) from None
        except EngineError as error:
            if not uci.answer:
                raise self._broken(error) from None
        seconds = uci.ended - uci.began
        if not clock.spend(seconds):  # whatever it has answered
            raise EngineFault(Fault.TIME, f"its move has taken {seconds:.3f} s of {allowed:g} s")
        if move is None or not board.is_legal(move):
            raise EngineFault(Fault.ILLEGAL_MOVE, self._word())
        return EngineReply(move, seconds, uci.thought)

    async def close(self, *, kill: bool = False) -> None:
        """End the engine: ask it to quit, unless it is to be killed, and kill what it has left behind."""
        uci = self._uci
        try:
            if not kill and not uci.lost:
                uci.send_line("quit")
                uci.lost = "it has been asked to quit"
                await asyncio.wait({uci.returncode}, timeout=_QUITTING)
        finally:
            end_all(self._root)
            try:
                await asyncio.wait({uci.returncode}, timeout=_ENDING)
            finally:
                uci.give_up("it has been ended")
                self._guard.release(self._root)

    def _late(self, allowed: float | None) -> EngineFault:
        """Return the fault of an engine that has not moved.

        :param allowed: the seconds that its clock allowed, if one ran.
        """
        if not (self._uci.searching or self._uci.answer):
            return EngineFault(Fault.STALLED, "it does not get ready for the game")
        if allowed is None:
            return EngineFault(Fault.STALLED, f"there is no move after {duration(self.settings.stall)}")
        return EngineFault(Fault.TIME, f"there is no move after {allowed:g} s")

    def _broken(self, error: EngineError) -> EngineFault:
        """Return the fault of an engine that does not answer any more, or not as UCI says."""
        return EngineFault(Fault.ABANDONED, self._uci.lost or str(error))

    def _word(self) -> str:
        """Return what it has sent as a move, made harmless for PGN."""
        words = self._uci.answer.split()
        return _WORD.sub("?", words[0] if words else "(none)")[:_LONGEST_WORD]

    async def _configure(self) -> None:
        """Set the options of the settings, and r-mobility where it is known: python-chess would set chess.

        :raises UsageError: if the engine has no such option, or it takes no such value.
        """
        variant = self._uci.options.get("UCI_Variant")
        if variant is not None and _VARIANT in (variant.var or ()):
            self._uci.send_line(f"setoption name UCI_Variant value {_VARIANT}")
            del self._uci.options["UCI_Variant"]
        try:
            await self._in_time(self._uci.configure(options_for(self._uci.options, self.settings.options)))
        except (EngineFault, UsageError) as error:
            if self._uci.lost:
                raise
            raise UsageError(f"{self.settings.name} refuses its options: {error}") from None

    async def _in_time(self, command: Coroutine[Any, Any, None]) -> None:
        """Wait for an answer.

        :raises EngineFault: if there is none in time, or the engine is gone.
        """
        seconds = self.settings.start
        try:
            async with asyncio.timeout(seconds):
                await command
        except TimeoutError:
            late = f"it does not answer within {duration(seconds)}"
            raise EngineFault(Fault.STALLED, late) from None
        except EngineError as error:
            raise self._broken(error) from None
