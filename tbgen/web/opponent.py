"""The opponent in positions that no table holds: a UCI engine in its own process, which makes one move at a
time.

The process starts with the first requested move, and ends when no move has been requested for a while.
"""

import asyncio
import logging
import sys
from contextlib import suppress
from functools import partial
from typing import Final

import chess
from chess.engine import Limit
from starlette.requests import Request
from starlette.responses import Response

from tbgen.errors import UsageError
from tbgen.games.pgn.reader import Game
from tbgen.system.processes import Guard
from tbgen.uci.process import Engine, EngineFault, EngineSettings
from tbgen.web.admission import Limiter, Queue, WorkerPool, client_of
from tbgen.web.configuration import Settings
from tbgen.web.games import single_game
from tbgen.web.payloads import ReplyDocument
from tbgen.web.replies import NO_STORE, Refusal, answer, body_of

_MARGIN_SECONDS: Final = 10.0
"""Additional time allowed for a move, because the machine may be busy."""
_IDLE_SECONDS: Final = 300.0
"""Time without requests after which the engine is terminated."""
_MAX_WAITING: Final = 7
"""Maximum number of waiting requests."""
_TBGEN_COMMAND: Final = (sys.executable, "-P", "-m", "tbgen", "engine")
"""The command of tbgen's own engine; ``-P`` prevents imports from the working directory."""

_logger = logging.getLogger(__name__)


class Opponent:
    """Answers requests for moves of the engine.

    :param settings: settings of the server. A client's time for moves is charged to a separate account.
    :param pool: thread pool in which games are read.
    """

    def __init__(self, settings: Settings, pool: WorkerPool) -> None:
        self._move_seconds = settings.move_seconds
        self._engine_settings = _engine_settings(settings)
        self._limiter = Limiter(settings.limit, settings.burst)
        self._pool = pool
        self._queue = Queue(1, _MAX_WAITING)
        self._engine_lock = asyncio.Lock()
        self._guard: Guard | None = None
        self._engine: Engine | None = None
        self._game: tuple[str, ...] = ()
        """The client whose game is being played, its start position, and the accrued score of that
        position."""
        self._idle_task: asyncio.Task[None] | None = None

    async def answer(self, request: Request) -> Response:
        """Answer a request for a move.

        :raises Refusal: if the server has no engine, too many moves are requested, or the engine fails.
        :raises UsageError: if the body is not a game, or the game is over.
        """
        if self._move_seconds is None:
            raise Refusal(404, "not_offered", "this server plays only where a table holds the position")
        client = client_of(request)
        with self._limiter.charged(client) as bill:
            pgn_game = await self._pool.run(partial(_unfinished_game, await body_of(request)), bill, request)
            async with self._queue.turn(request), self._engine_lock:
                with bill.timed():
                    move = await self._make_move(pgn_game, self._move_seconds, client)
        return answer(request, ReplyDocument(uci=move.uci(), san=pgn_game.board.san(move)), NO_STORE)

    async def close(self) -> None:
        """End the engine."""
        if self._idle_task is not None:
            self._idle_task.cancel()
        await self._end_engine()
        if self._guard is not None:
            self._guard.close()
            self._guard = None

    async def _make_move(self, pgn_game: Game, seconds: float, client: str) -> chess.Move:
        """Return the engine's move.

        :param seconds: the time for the move.
        :raises Refusal: if the engine fails; the next move is then made by a new process.
        """
        if self._idle_task is not None:
            self._idle_task.cancel()
        accrued = "" if pgn_game.start.accrued is None else str(pgn_game.start.accrued)
        game = client, pgn_game.board.root().fen(), accrued
        if game != self._game:  # otherwise keep the object: an engine recognises its game by identity
            self._game = game
        try:
            engine = await self._ensure_engine()
            limit = Limit(time=seconds)
            reply = await engine.move(pgn_game.board, limit, seconds + _MARGIN_SECONDS, self._game, accrued)
        except (EngineFault, UsageError) as error:
            _logger.error("the opponent's engine has failed: %s", error)
            await self._end_engine()
            raise Refusal(500, "failed", "no move was made: the engine has failed; try again") from None
        self._idle_task = asyncio.create_task(self._end_when_idle())
        return reply.move

    async def _ensure_engine(self) -> Engine:
        """Return the engine, which is started if it is not running."""
        if self._engine is None or not self._engine.is_usable:
            await self._end_engine()
            self._guard = self._guard or Guard()
            self._engine = await Engine.launch(self._engine_settings, self._guard, (), None)
        return self._engine

    async def _end_when_idle(self) -> None:
        """End the engine after :data:`_IDLE_SECONDS`, unless cancelled by the next move."""
        await asyncio.sleep(_IDLE_SECONDS)
        async with self._engine_lock:
            await self._end_engine()

    async def _end_engine(self) -> None:
        if self._engine is not None:
            engine = self._engine
            self._engine = None
            with suppress(EngineFault):
                await engine.close(kill=True)


def _engine_settings(settings: Settings) -> EngineSettings:
    """Return the engine's command and options. Tbgen's own engine answers ``readyok`` without waiting for
    its compilation."""
    if settings.engine_command:
        return EngineSettings("the engine", settings.engine_command)
    arguments = ("--dir", *map(str, settings.directories)) if settings.directories else ()
    return EngineSettings("tbgen engine", (*_TBGEN_COMMAND, *arguments), options={"Wait": "false"})


def _unfinished_game(body: bytes) -> Game:
    """Return the game of a PGN text.

    :raises UsageError: if the text is not a game, or the game is over.
    :raises Refusal: if the game is too long.
    """
    pgn_game = single_game(body)
    if not any(pgn_game.board.legal_moves):
        raise UsageError("the game is over: there is no move to make")
    return pgn_game
