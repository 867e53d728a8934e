"""An engine process: its start, moves, faults, termination and log.

If tbgen dies, Linux kills the engines that tbgen has started, but not their children. Other systems kill
neither the engines nor their children. A :class:`Guard` therefore terminates all of them if tbgen dies.
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
from chess.engine import EngineError, Limit

from tbgen.errors import UsageError, printable, quote
from tbgen.system.files import check_target, write_errors
from tbgen.system.processes import APART, Guard, affinity_prefix, kill_tree, parent_death_prefix, split_words
from tbgen.text import duration
from tbgen.uci.options import options_for
from tbgen.uci.protocol import EngineProtocol, Thought

LineLog: TypeAlias = Callable[[str, str], None]
"""Function that logs a line and its direction: ``<`` from the engine, ``>`` to the engine."""

_REMEDY: Final = "choose another directory with --log"
_UNSAFE_IN_FILE_NAME: Final = re.compile(r"[^\w.+-]")

START_SECONDS: Final = 30.0
STALL_SECONDS: Final = 300.0
_SLOW_SECONDS: Final = 5.0
"""Time after which the user sees the messages of an engine that is still getting ready."""
_QUIT_SECONDS: Final = 2.0
"""Time to wait for an engine to obey ``quit``."""
_KILL_SECONDS: Final = 5.0
"""Maximum time to wait for a killed process to terminate."""
_GRACE_SECONDS: Final = 0.2
"""Time to wait for a move after its limit. A move is late only if its bytes arrived after the limit."""
_EMPTY_VALUE: Final = "<empty>"
"""Notation of an empty text in UCI."""
_MESSAGE_PREFIX: Final = b"info string "
_VARIANT_NAME: Final = "rmobility"
_UNSAFE_IN_MOVE: Final = re.compile(r"[^0-9A-Za-z()-]")
_MAX_MOVE_LENGTH: Final = 10


class EngineLogs:
    """Logs of the lines from and to engines, one file for each engine.

    :param directory: directory of the logs, created if it does not exist; None for no logs.
    :raises TbgenError: if the directory cannot be created.
    """

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._files: dict[str, TextIO] = {}
        if directory is not None:
            with write_errors(directory, remedy=_REMEDY):
                directory.mkdir(parents=True, exist_ok=True)

    def writer_for(self, name: str, slot_number: int) -> LineLog | None:
        """Return a function that logs the lines from and to an engine in a game slot; None if logs are off.

        :raises TbgenError: if the file cannot be opened.
        """
        if self._directory is None:
            return None
        path = self._directory / f"{_UNSAFE_IN_FILE_NAME.sub('_', name)}.log"
        if name not in self._files:
            check_target(path, remedy=_REMEDY)
            with write_errors(path, remedy=_REMEDY):
                self._files[name] = open(path, "a", encoding="utf-8", buffering=1)  # noqa: SIM115
        file = self._files[name]

        def write(direction: str, line: str) -> None:
            file.write(f"{datetime.now():%Y-%m-%d %H:%M:%S.%f} {slot_number} {direction} {line}\n")

        return write

    def close(self) -> None:
        """Close all files."""
        for file in self._files.values():
            file.close()


class Fault(StrEnum):
    """A reason why an engine loses a game off the board. The value is that of the PGN tag ``Termination``."""

    TIME = "time forfeit"
    """The engine has exceeded its time."""
    ILLEGAL_MOVE = "illegal move"
    """The move is not legal."""
    ABANDONED = "abandoned"
    """The engine has crashed, exited or closed its output, or cannot be started."""
    STALLED = "stalled connection"
    """The engine does not answer ``isready``, or finds no move in a game without a clock."""


class EngineFault(Exception):  # noqa: N818
    """Raised when an engine loses a game off the board.

    :param fault: the kind of fault.
    :param detail: a description for the log; for an illegal move, the move itself.
    """

    def __init__(self, fault: Fault, detail: str) -> None:
        super().__init__(detail)
        self.fault = fault
        self.detail = detail


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """How to start an engine, and how long to wait for it."""

    name: str
    command: tuple[str, ...]
    """The path of the program, and its arguments."""
    directory: Path | None = None
    """The engine's working directory; None for the working directory of tbgen."""
    options: Mapping[str, str] = field(default_factory=dict)
    restart: bool = False
    """Whether the engine is restarted before each game."""
    start_limit: float = START_SECONDS
    """Time limit in seconds for starting and for answering ``isready``; each ``info`` line restarts it."""
    stall_limit: float = STALL_SECONDS
    """Time limit in seconds for a move without a clock; ``info`` lines cannot extend ``start_limit``
    beyond it."""


def find_command(program: str, arguments: tuple[str, ...], directory: Path | None) -> tuple[str, ...]:
    """Return the absolute path of a program, followed by its arguments.

    :param program: the path or the name of the program. It is searched for in ``directory``, in the working
        directory of tbgen if it is a path, and in the directories that a shell searches. If this finds
        nothing, the first word alone is the program, and the other words are arguments.
    :param arguments: further arguments, appended to those in ``program``.

    :raises UsageError: if no such program exists.
    """
    interpretations = [[program]]
    with contextlib.suppress(ValueError):
        interpretations.append(split_words(program))
    for name, *own_arguments in filter(None, interpretations):
        directories = [directory] if directory is not None else []
        directories += [Path()] if os.path.dirname(name) else []
        local_paths = (parent / os.path.expanduser(name) for parent in directories)
        path = next((path for path in local_paths if path.is_file()), shutil.which(name))
        if path is None:
            continue
        if not os.access(path, os.X_OK):
            raise UsageError(f"{quote(str(path))} is not executable")
        return (os.path.abspath(path), *own_arguments, *arguments)
    raise UsageError(f"there is no program {quote(program)}: give its path, or a name that a shell finds")


class EngineReply(NamedTuple):
    """An engine's move, the time that the move took, and the engine's last thought before the move."""

    move: chess.Move
    seconds: float
    thought: Thought


class Engine:
    """A running engine."""

    def __init__(
        self,
        settings: EngineSettings,
        uci: EngineProtocol,
        pid: int,
        guard: Guard,
        warn: Callable[[str], object],
    ) -> None:
        self.settings = settings
        self._uci = uci
        self._pid = pid
        self._guard = guard
        self._warn = warn
        self._game: object = None
        guard.watch(pid)

    @classmethod
    async def launch(
        cls,
        settings: EngineSettings,
        guard: Guard,
        processors: Collection[int],
        log: LineLog | None,
        warn: Callable[[str], object] = lambda _: None,
    ) -> Engine:
        """Start an engine in its own process session, and set its options.

        :param warn: called with a sentence if the engine explains why it is not ready yet.
        :raises EngineFault: if the engine cannot be started, or does not respond as UCI requires.
        :raises UsageError: if the engine rejects an option.
        """
        try:
            if not os.access(settings.command[0], os.X_OK):
                raise PermissionError(f"the program {settings.command[0]} no longer exists")
            transport, uci = await asyncio.get_running_loop().subprocess_exec(
                lambda: EngineProtocol(log),
                *parent_death_prefix(),
                *affinity_prefix(processors),
                *settings.command,
                cwd=settings.directory,
                stderr=subprocess.DEVNULL,
                **APART,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise EngineFault(Fault.ABANDONED, f"it cannot be started: {error}") from None
        engine = cls(settings, uci, transport.get_pid(), guard, warn)
        try:
            await engine._wait_for(uci.initialize())
            await engine._configure()
            await engine._wait_for(uci.ping())
        except BaseException:
            await engine.close(kill=True)
            raise
        return engine

    @property
    def plays_chess960(self) -> bool:
        """Whether the engine plays Chess960."""
        return "UCI_Chess960" in self._uci.options

    @property
    def is_usable(self) -> bool:
        """Whether the engine can play another game."""
        return not self._uci.failure

    async def move(
        self,
        board: chess.Board,
        limit: Limit,
        allowed_seconds: float | None,
        game: object,
        start_accrued: str = "",
        on_thought: Callable[[Thought, float], object] = lambda *_: None,
    ) -> EngineReply:
        """Return the engine's move.

        :param board: the current position, with all moves since the start position.
        :param limit: the limits to send to the engine.
        :param allowed_seconds: the time within which the move must arrive; None if there is no time limit.
        :param game: an object that identifies the game; pass the same object for all its moves.
        :param start_accrued: the accrued score of the start position, for the option ``Accrued`` of engines
            that play r-mobility; empty if there is no such score.
        :param on_thought: called at most once a second with a new thought and the seconds since ``go``.

        :raises EngineFault: if the engine makes no legal move in time.
        """
        uci = self._uci
        if game is not self._game:
            if "Accrued" in uci.options:
                await self._wait_for(uci.configure({"Accrued": start_accrued or _EMPTY_VALUE}))
            self._game = game
        move = None
        timeout = self.settings.stall_limit if allowed_seconds is None else allowed_seconds + _GRACE_SECONDS
        try:
            async with asyncio.timeout(self.settings.start_limit) as deadline:
                uci.answer = ""
                uci.on_thought = on_thought
                uci.on_go = lambda: deadline.reschedule(uci.loop.time() + timeout)
                move = (await uci.play(board, limit, game=game)).move
        except TimeoutError:
            raise self._fault_of_delay(allowed_seconds) from None
        except EngineError as error:
            if not uci.answer:
                raise self._fault_of_error(error) from None
        seconds = uci.bestmove_time - uci.go_time
        if allowed_seconds is not None and seconds > allowed_seconds:  # even if the move is not legal
            raise EngineFault(Fault.TIME, _late_text(seconds, allowed_seconds))
        if move is None or not board.is_legal(move):
            raise EngineFault(Fault.ILLEGAL_MOVE, self._sent_move_text())
        return EngineReply(move, seconds, uci.thought)

    async def close(self, *, kill: bool = False) -> None:
        """Terminate the engine and all processes that the engine has started.

        :param kill: whether to kill the engine at once, without asking it to quit.
        """
        uci = self._uci
        try:
            if not kill and not uci.failure:
                uci.send_line("quit")
                uci.failure = "it has been asked to quit"
                await asyncio.wait({uci.returncode}, timeout=_QUIT_SECONDS)
        finally:
            kill_tree(self._pid)
            try:
                await asyncio.wait({uci.returncode}, timeout=_KILL_SECONDS)
            finally:
                uci.give_up("it has been ended")
                self._guard.release(self._pid)

    def _fault_of_delay(self, allowed_seconds: float | None) -> EngineFault:
        """Return the fault of an engine that has not moved in time.

        :param allowed_seconds: the time that the engine had; None if there was no time limit.
        """
        if not (self._uci.searching or self._uci.answer):
            return EngineFault(Fault.STALLED, "it does not get ready for the game")
        if allowed_seconds is None:
            return EngineFault(Fault.STALLED, f"it has not moved after {duration(self.settings.stall_limit)}")
        return EngineFault(Fault.TIME, f"it has not moved after {allowed_seconds:.3f} s")

    def _fault_of_error(self, error: EngineError) -> EngineFault:
        """Return the fault of an engine that no longer responds, or that violates UCI."""
        return EngineFault(Fault.ABANDONED, self._uci.failure or str(error))

    def _sent_move_text(self) -> str:
        """Return the text that the engine has sent as its move, with characters that PGN forbids replaced."""
        words = self._uci.answer.split()
        return _UNSAFE_IN_MOVE.sub("?", words[0] if words else "(none)")[:_MAX_MOVE_LENGTH]

    async def _configure(self) -> None:
        """Set the engine's options, and select the variant r-mobility if the engine supports it.

        The variant is selected here because python-chess would otherwise select chess.

        :raises UsageError: if the engine does not have an option or rejects a value.
        """
        variant = self._uci.options.get("UCI_Variant")
        if variant is not None and _VARIANT_NAME in (variant.var or ()):
            self._uci.send_line(f"setoption name UCI_Variant value {_VARIANT_NAME}")
            del self._uci.options["UCI_Variant"]
        try:
            await self._wait_for(self._uci.configure(options_for(self._uci.options, self.settings.options)))
        except (EngineFault, UsageError) as error:
            if self._uci.failure:
                raise
            raise UsageError(f"{self.settings.name} refuses its options: {error}") from None

    async def _wait_for(self, command: Coroutine[Any, Any, None]) -> None:
        """Wait for the engine to answer a command. Each ``info`` line restarts the time limit.

        :raises EngineFault: if the engine does not answer in time, or has terminated.
        """
        seconds = self.settings.start_limit
        loop = self._uci.loop
        start_time = loop.time()
        max_seconds = max(seconds, self.settings.stall_limit)

        def extend(info: bytes) -> None:
            elapsed = loop.time() - start_time
            if not deadline.expired():
                deadline.reschedule(start_time + min(elapsed + seconds, max_seconds))
            if elapsed >= _SLOW_SECONDS and info.startswith(_MESSAGE_PREFIX):
                sentence = info.removeprefix(_MESSAGE_PREFIX).decode("utf-8", "replace")
                self._warn(f"{self.settings.name} is not ready yet: {printable(sentence)}")

        try:
            async with asyncio.timeout(seconds) as deadline:
                self._uci.on_info = extend
                await command
        except TimeoutError:
            limit = seconds if loop.time() - start_time < max_seconds else max_seconds
            remedy = f"allow more with {'start' if limit == seconds else 'stall'}=SECONDS"
            detail = f"it does not answer within {duration(limit)}; {remedy}"
            raise EngineFault(Fault.STALLED, detail) from None
        except EngineError as error:
            raise self._fault_of_error(error) from None
        finally:
            self._uci.on_info = lambda _: None


def _late_text(seconds: float, allowed_seconds: float) -> str:
    """Return in words the time that a late move took and the time that it had, both in milliseconds.

    The first number is never smaller than the second.

    >>> _late_text(0.099, 0.0933958), _late_text(5.0001, 5)
    ('its move has taken 0.099 s of 0.093 s', 'its move has taken 5.001 s of 5.000 s')
    """
    allowed = round(allowed_seconds, 3)
    return f"its move has taken {max(seconds, allowed + 0.001):.3f} s of {allowed:.3f} s"
