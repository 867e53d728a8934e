"""The API as an ASGI application."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, nullcontext, suppress
from functools import cached_property, partial
from operator import attrgetter
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

import tbgen
from tbgen.board.variant import Variant
from tbgen.compiler.cache import KernelsMissingError
from tbgen.documents import encoded
from tbgen.errors import TbgenError
from tbgen.html.cards import Caption
from tbgen.probe.tablebase import open_tablebase
from tbgen.system.processes import end_with_parent
from tbgen.web.admission import Bill, Limiter, Queue, Result, WorkerPool, client_of
from tbgen.web.configuration import Settings
from tbgen.web.endpoints import (
    DOCUMENT_ENDPOINTS,
    ENDPOINTS,
    SPECIAL_ENDPOINTS,
    Endpoint,
    EndpointKind,
    openapi,
)
from tbgen.web.live import LivePage
from tbgen.web.metrics import METRICS_TYPE, Monitor
from tbgen.web.middleware import ResponseMiddleware
from tbgen.web.opponent import Opponent
from tbgen.web.page_files import Page
from tbgen.web.previews import caption, moving_picture, picture, report_endpoints, tags_of
from tbgen.web.replies import (
    JSON_TYPE,
    NO_STORE,
    STORE_ONE_HOUR,
    Handler,
    Refusal,
    answer,
    answer_content,
    body_of,
    parameters_of,
    refusal_answer,
    refusal_of,
)
from tbgen.web.solve_requests import PositionSolver
from tbgen.web.stock import Stock

_NO_REPORT_SENTENCE: Final = "this server shows no report: tbgen serve --report DIR does"
_NOT_OFFERED_SENTENCES: Final = {
    "/live": "this server shows no event: tbgen serve --live EVENT.pgn does",
    "/report": _NO_REPORT_SENTENCE,
    "/report/{name:path}": _NO_REPORT_SENTENCE,
}
"""Maps the path of each optional page to the refusal if the operator has not enabled the page."""
_CODES_WITH_PAGE: Final = ("not_found", "not_offered")
"""Codes of refusals that are shown to browsers as a page."""
_SWITCH_SECONDS: Final = 0.001
"""Time after which a computing thread yields the interpreter lock to others, such as the event loop's
thread."""


def make_app(settings: Settings, *, ends_with_parent: bool = False) -> ASGIApp:
    """Return the application, which :mod:`tbgen.web.server` or any other ASGI server can serve.

    :param ends_with_parent: whether this process ends with the process that started it.
    :raises UsageError: if a directory does not exist.
    """
    if ends_with_parent:
        end_with_parent()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent receives it too, and ends its workers
    return _Service(settings).app()


class _Service:
    """The tables of a server, and the thread pools, limits and pages through which clients reach them."""

    def __init__(self, settings: Settings) -> None:
        self._precompiles = settings.precompiles
        self._stocks: Final = {
            variant: Stock(open_tablebase(*settings.directories, rules=variant, check=settings.check))
            for variant in Variant
        }
        self._quick = WorkerPool("quick", settings.quick_threads, settings.max_waiting)
        self._slow = WorkerPool("slow", settings.slow_threads, settings.max_waiting)
        self._queue = Queue(settings.slow_threads, settings.max_waiting)
        self._compiler = WorkerPool("compiler", 1, 0, compiles=True)
        self._tasks: set[asyncio.Task[None]] = set()
        self._limiter = Limiter(settings.limit, settings.burst)
        self._monitor = Monitor(tbgen.__version__)
        self.solver = PositionSolver(settings)
        self.opponent = Opponent(settings, self._slow)
        fields = {
            "report": "report_directory",
            "solve": "solve_budget",
            "live": "live_file",
            "engine": "move_seconds",
        }
        parts = [name for name, field in fields.items() if getattr(settings, field) is not None]
        self._pages: dict[str, Handler] = {
            **Page(self._head_and_caption, parts).endpoints(),
            "/picture.png": self._picture_handler(picture, "image/png"),
            "/line.gif": self._picture_handler(moving_picture, "image/gif"),
        }
        if settings.report_directory is not None:
            self._pages |= report_endpoints(settings.report_directory, self._slow)
        self._live: LivePage | None = None
        if settings.live_file is not None:
            self._live = LivePage(settings.live_file, self._limiter, ends_with_event=settings.ends_with_event)
            self._pages |= self._live.endpoints()

    def app(self) -> ASGIApp:
        """Return the application."""
        inner = Starlette(
            routes=list(self._routes()),
            exception_handlers=dict.fromkeys(
                (TbgenError, KernelsMissingError, HTTPException, Exception), self._refuse
            ),
            lifespan=self._lifespan,
        )
        inner.router.redirect_slashes = False  # a redirect would echo the client's Host header
        open_paths = [endpoint.path for endpoint in ENDPOINTS if endpoint.open]
        return ResponseMiddleware(inner, self._monitor, open_paths)

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        sys.setswitchinterval(_SWITCH_SECONDS)
        if self._precompiles:
            self._start_compiling()
        if self._live is not None:
            self._start_task(self._live.follow())
        yield
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.opponent.close()
        for pool in (self._quick, self._slow, self._compiler):
            pool.close()
        for stock in self._stocks.values():
            stock.tables.close()

    def _start_task(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Start a task that is cancelled when the server ends."""
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _routes(self) -> Iterator[Route]:
        """Yield the routes of the API, then those of pages, which OpenAPI does not describe."""
        handlers = [*map(self._handler, DOCUMENT_ENDPOINTS)]
        handlers += [attrgetter(special.handler)(self) for special in SPECIAL_ENDPOINTS]
        for endpoint, handler in zip(ENDPOINTS, handlers, strict=True):
            yield Route(endpoint.path, handler, methods=[endpoint.method])
            if endpoint.open:
                preflight = partial(_answer_preflight, endpoint.method)
                yield Route(endpoint.path, preflight, methods=["OPTIONS"], include_in_schema=False)
        for path, handler in self._pages.items():
            yield Route(path, handler, include_in_schema=False)
        for path, sentence in _NOT_OFFERED_SENTENCES.items():
            yield Route(path, partial(_refuse_not_offered, sentence), include_in_schema=False)

    def _handler(self, endpoint: Endpoint) -> Handler:
        """Return the handler of an endpoint. Documents are made in a thread pool and charged to clients."""
        find = partial(endpoint.find, *(self._stocks[variant] for variant in endpoint.variants))
        pool = self._quick if endpoint.kind is EndpointKind.QUICK else self._slow
        is_queued = endpoint.kind is EndpointKind.QUEUED
        parameters = endpoint.parameters

        async def handler(request: Request) -> Response:
            with self._limiter.charged(client_of(request)) as bill:
                arguments: dict[str, Any] = parameters_of(request, parameters)
                if endpoint.body is not None:
                    arguments["body"] = await body_of(request, endpoint.body.max_bytes)
                async with self._queue.turn(request) if is_queued else nullcontext():
                    document = await pool.run(partial(find, **arguments), bill, request)
                return answer(request, document, endpoint.caching)

        return handler

    async def _run_preview(self, render: Callable[..., Result], request: Request, pool: WorkerPool) -> Result:
        """Render a preview for the query of a request, charge the client, and return the result."""
        with self._limiter.charged(client_of(request)) as bill:
            query = dict(request.query_params)
            return await pool.run(partial(render, *self._stocks.values(), query=query), bill, request)

    async def _head_and_caption(self, request: Request) -> tuple[str, Caption]:
        """Return tags for the page's head, and the caption that it shows at first; both are empty if the
        query is invalid."""
        try:
            text = await self._run_preview(caption, request, self._quick)
        except (TbgenError, Refusal, KernelsMissingError):
            return "", Caption("", "")
        return tags_of(request, text), text

    def _picture_handler(self, draw: Callable[..., bytes], media_type: str) -> Handler:
        """Return a handler that answers with a picture of the position or line in the query."""

        async def handler(request: Request) -> Response:
            content = await self._run_preview(draw, request, self._slow)
            return answer_content(request, content, media_type, {"Cache-Control": STORE_ONE_HOUR})

        return handler

    async def _refuse(self, request: Request, error: Exception) -> Response:
        """Answer a failed request with its error; compile the kernels if they are missing."""
        if isinstance(error, KernelsMissingError):
            self._start_compiling()
        refusal = refusal_of(error)
        return refusal_answer(
            refusal, refusal.code in _CODES_WITH_PAGE and "text/html" in request.headers.get("accept", "")
        )

    def _start_compiling(self) -> None:
        """Start compiling the kernels that the tables need, unless they are already being compiled."""
        if not self._compiler.pending:
            self._start_task(self._compile_all())

    async def _compile_all(self) -> None:
        with suppress(TbgenError, Refusal):  # the next client that needs the kernels gets the error
            for stock in self._stocks.values():
                await self._compiler.run(stock.compile_kernels, Bill())

    async def answer_monitor(self, _: Request) -> Response:
        """Answer with the metrics of this process."""
        text = self._monitor.metrics_text((self._quick, self._slow))
        return Response(text, headers={"Cache-Control": NO_STORE}, media_type=METRICS_TYPE)

    @cached_property
    def _openapi(self) -> dict[str, Any]:
        """The description of the API. It is made at the first request, because it reads sources."""
        return openapi(tbgen.__version__)

    async def answer_openapi(self, request: Request) -> Response:
        """Answer with the description of the API."""
        headers = {"Cache-Control": STORE_ONE_HOUR}
        return answer_content(request, encoded(self._openapi), JSON_TYPE, headers)


async def _answer_preflight(method: str, _: Request) -> Response:
    """Tell a browser that scripts of any site may send requests of this method."""
    headers = {"Access-Control-Allow-Methods": method, "Access-Control-Allow-Headers": "Content-Type"}
    return Response(status_code=204, headers=headers | {"Access-Control-Max-Age": "86400"})


async def _refuse_not_offered(sentence: str, _: Request) -> Response:
    raise Refusal(404, "not_offered", sentence)
