"""The API as an ASGI application."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
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
from tbgen.errors import TbgenError
from tbgen.probe.tablebase import open_tablebase
from tbgen.web.endpoints import ENDPOINTS, STATE, Endpoint
from tbgen.web.envelope import Envelope
from tbgen.web.errors import Refusal, compiling, refusal_of
from tbgen.web.events import EventStream
from tbgen.web.exchange import KEPT, NOT_KEPT, Handler, answer, asked_by, body_of, refused
from tbgen.web.limits import Bill, Limiter, client_of
from tbgen.web.live import LivePage
from tbgen.web.lookups import Question, question_of
from tbgen.web.monitor import MEDIA_TYPE, Monitor
from tbgen.web.openapi import openapi
from tbgen.web.page_files import Page
from tbgen.web.pool import WorkerPool
from tbgen.web.reports import Reports
from tbgen.web.settings import DOCUMENT_PATH, SOLVE_PATH, Settings
from tbgen.web.solving import Solving
from tbgen.web.stock import Stock


def make_app(settings: Settings) -> ASGIApp:
    """Return the application; :mod:`tbgen.web.server` serves it, and so does any server for ASGI.

    :raises UsageError: if there is no such directory.
    """
    return _Service(settings).app()


class _Service:
    """The tables, and what stands between them and the clients."""

    def __init__(self, settings: Settings) -> None:
        self._eager = settings.eager
        self._tables: Final = {
            variant: open_tablebase(*settings.directories, rules=variant) for variant in Variant
        }
        self._stock: Final = {variant: Stock(tables) for variant, tables in self._tables.items()}
        self._quick = WorkerPool("quick", settings.quick_threads, settings.waiting)
        self._slow = WorkerPool("slow", settings.slow_threads, settings.waiting)
        self._compiler = WorkerPool("compiler", 1, 0, compiles=True)
        self._tasks: set[asyncio.Task[None]] = set()
        self._limiter = Limiter(settings.limit, settings.burst)
        self._live: LivePage | None = None
        if settings.live is not None:
            self._live = LivePage(settings.live, self._limiter, until_over=settings.until_over)
        self._monitor = Monitor(tbgen.__version__)
        self._openapi = openapi(tbgen.__version__)
        self._reports = None if settings.report is None else Reports(settings.report, self._slow)
        self._solving = None if settings.solve is None else Solving(settings.directories, settings.solve)
        offers = {"report": self._reports, "solve": self._solving, "live": self._live}
        self._page = Page(frozenset(name for name, offered in offers.items() if offered))

    def app(self) -> ASGIApp:
        """Return the application."""
        refusals: Mapping[type[Exception], Callable[[Any], Refusal]] = {
            Refusal: lambda refusal: refusal,
            TbgenError: refusal_of,
            KernelsMissingError: self._refusal_until_compiled,
            HTTPException: _refusal_of_http,
            Exception: lambda _: _FAULT,
        }
        handlers = {error: _answering(refusal) for error, refusal in refusals.items()}
        inner = Starlette(routes=list(self._routes()), exception_handlers=handlers, lifespan=self._lifespan)
        inner.router.redirect_slashes = False  # a redirect would repeat the client's header Host
        return Envelope(inner, self._monitor)

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        if self._eager:
            self._compile()
        if self._live is not None:
            self._begin(self._live.follow())
        yield
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for pool in (self._quick, self._slow, self._compiler):
            pool.close()
        for tables in self._tables.values():
            tables.close()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin what ends with the server, if not before."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _routes(self) -> Iterator[Route]:
        """Yield the routes of the API, and then those of pages, which are not described."""
        for each in ENDPOINTS:
            yield Route(each.path, self._handler(each), methods=[each.method])
        yield Route(SOLVE_PATH, self._answer_solve)
        yield Route("/monitor", self._answer_monitor)
        yield Route(DOCUMENT_PATH, self._answer_openapi)
        for part in (self._page, self._reports, self._live):
            for path, handler in {} if part is None else part.endpoints().items():
                yield Route(path, handler, include_in_schema=False)

    def _handler(self, endpoint: Endpoint) -> Handler:
        """Return what answers at an endpoint, by work in a pool that is charged to the client."""
        find = partial(endpoint.find, *(self._stock[variant] for variant in endpoint.variants))
        pool = self._quick if endpoint.quick else self._slow
        parameters = endpoint.parameters

        async def handler(request: Request) -> Response:
            with self._limiter.charged(client_of(request)) as bill:
                given: dict[str, Any] = asked_by(request, parameters)
                if endpoint.body is not None:
                    given["body"] = await body_of(request)
                return answer(request, await pool.run(partial(find, **given), bill), endpoint.caching)

        return handler

    def _refusal_until_compiled(self, error: KernelsMissingError) -> Refusal:
        self._compile()
        return compiling(error)

    def _compile(self) -> None:
        """Compile the kernels that the tables take, unless that is under way."""
        if not self._compiler.pending:
            self._begin(self._compile_all())

    async def _compile_all(self) -> None:
        with suppress(TbgenError, Refusal):  # a client that asks again hears of it
            for stock in self._stock.values():
                await self._compiler.run(stock.prepare, Bill())

    async def _answer_solve(self, request: Request) -> Response:
        if self._solving is None:
            raise Refusal(404, "not_offered", "this server solves no positions: tbgen solve does")
        given: dict[str, Any] = asked_by(request, STATE)
        asked = question_of(**given, variant=Variant.R_MOBILITY)
        return EventStream(self._solved(self._solving, request, asked))

    @asynccontextmanager
    async def _solved(
        self, solving: Solving, request: Request, asked: Question
    ) -> AsyncIterator[AsyncIterator[str]]:
        with self._limiter.charged(client_of(request)) as bill, bill.timed():
            async with solving.events(asked) as events:
                yield events

    async def _answer_monitor(self, _: Request) -> Response:
        text = self._monitor.text((self._quick, self._slow))
        return Response(text, headers={"Cache-Control": NOT_KEPT}, media_type=MEDIA_TYPE)

    async def _answer_openapi(self, request: Request) -> Response:
        return answer(request, self._openapi, KEPT)


_FAULT: Final = Refusal(500, "fault", "the server has made a mistake; its log says which")
"""What the server that runs the application logs."""


def _answering(refusal_of: Callable[[Any], Refusal]) -> Callable[[Request, Exception], Awaitable[Response]]:
    """Return what answers a request with the refusal that an error comes to."""

    async def handler(_: Request, error: Exception) -> Response:
        return refused(refusal_of(error))

    return handler


def _refusal_of_http(error: HTTPException) -> Refusal:
    """Return the refusal where there is no endpoint, or not for this method."""
    if error.status_code == 405:
        sentence = f"nothing here is asked for by this method; {DOCUMENT_PATH} says what is"
        return Refusal(405, "method_not_allowed", sentence, error.headers)
    return Refusal(
        error.status_code, "not_found", f"there is nothing here; {DOCUMENT_PATH} says what there is"
    )
