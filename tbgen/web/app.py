"""The API as an ASGI application."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Final, TypeAlias

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
from tbgen.web.envelope import ENDPOINT, Envelope
from tbgen.web.errors import Refusal, compiling, refusal_of
from tbgen.web.events import MEDIA_TYPE as EVENTS
from tbgen.web.exchange import KEPT, NOT_KEPT, answer, asked_by, body_of, refused
from tbgen.web.limits import Limiter, client_of
from tbgen.web.live import LivePage
from tbgen.web.lookups import question_of
from tbgen.web.monitor import MEDIA_TYPE, Monitor
from tbgen.web.openapi import openapi
from tbgen.web.page_files import FILES_PATH, LIVE_PATH, PAGE_PATH, Page
from tbgen.web.pool import WorkerPool
from tbgen.web.reports import REPORT_PATH, REPORT_ROOT, Reports
from tbgen.web.settings import DOCUMENT_PATH, SOLVE_PATH, Settings
from tbgen.web.solving import Solving
from tbgen.web.stock import Stock

Handler: TypeAlias = Callable[[Request], Awaitable[Response]]
"""Answers a request."""


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
        self._compiling: asyncio.Task[None] | None = None
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
        inner = Starlette(
            routes=self._routes(),
            exception_handlers={
                Refusal: _on_refusal,
                HTTPException: _on_http_exception,
                Exception: _on_fault,
            },
            lifespan=self._lifespan,
        )
        inner.router.redirect_slashes = False  # a redirect would repeat the client's header Host
        return Envelope(inner, self._monitor)

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        if self._eager:
            self._compile()
        following = None if self._live is None else asyncio.create_task(self._live.follow())
        yield
        tasks = [task for task in (self._compiling, following) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._solving is not None:
            await self._solving.close()
        for pool in (self._quick, self._slow, self._compiler):
            pool.close()
        for tables in self._tables.values():
            tables.close()

    def _prepare(self) -> None:
        for stock in self._stock.values():
            stock.prepare()

    def _routes(self) -> list[Route]:
        return [
            *(Route(each.path, self._answering(each), methods=[each.method]) for each in ENDPOINTS),
            Route(SOLVE_PATH, _named(SOLVE_PATH, self._answer_solve)),
            Route("/monitor", _named("/monitor", self._answer_monitor)),
            Route(DOCUMENT_PATH, _named(DOCUMENT_PATH, self._answer_openapi)),
            Route(PAGE_PATH, _named(PAGE_PATH, self._page.answer_page), include_in_schema=False),
            Route(FILES_PATH, _named("/page", self._page.answer_file), include_in_schema=False),
            *self._report_routes(),
            *self._live_routes(),
        ]

    def _live_routes(self) -> list[Route]:
        if self._live is None:
            return []
        routes = {LIVE_PATH: self._page.answer_live, **self._live.endpoints()}
        return [Route(path, _named(path, answer), include_in_schema=False) for path, answer in routes.items()]

    def _report_routes(self) -> list[Route]:
        if self._reports is None:
            return []
        return [
            Route(REPORT_ROOT, _named("/report", self._reports.answer_root), include_in_schema=False),
            Route(REPORT_PATH, _named("/report", self._reports.answer_file), include_in_schema=False),
        ]

    def _answering(self, endpoint: Endpoint) -> Handler:
        """Return what answers at an endpoint, by work in a pool that is charged to the client."""
        find = partial(endpoint.find, *(self._stock[variant] for variant in endpoint.variants))
        pool = self._quick if endpoint.quick else self._slow
        parameters = endpoint.parameters

        async def handler(request: Request) -> Response:
            client = client_of(request)
            self._limiter.admit(client)
            seconds = 0.0
            try:
                given: dict[str, Any] = asked_by(request, parameters)
                if endpoint.body is not None:
                    given["body"] = await body_of(request)
                work = partial(find, **given)
                try:
                    document, seconds = await pool.run(work)
                except KernelsMissingError as error:
                    self._compile()
                    raise compiling(error) from None
            except TbgenError as error:
                seconds = getattr(error, "seconds", seconds)
                raise refusal_of(error) from None
            except Refusal as refusal:
                seconds = getattr(refusal, "seconds", seconds)
                raise
            finally:
                self._limiter.charge(client, seconds)
            return answer(request, document, endpoint.caching)

        return _named(endpoint.path, handler)

    def _compile(self) -> None:
        """Compile the kernels that the tables take, unless that is under way."""
        if not self._compiler.pending:
            self._compiling = asyncio.create_task(self._compile_all())

    async def _compile_all(self) -> None:
        with suppress(TbgenError, Refusal):  # a client that asks again hears of it
            await self._compiler.run(self._prepare)

    async def _answer_solve(self, request: Request) -> Response:
        if self._solving is None:
            raise Refusal(404, "not_offered", "this server solves no positions: tbgen solve does")
        client = client_of(request)
        self._limiter.admit(client)
        charged = False
        try:
            given: dict[str, Any] = asked_by(request, STATE)
            asked = question_of(**given, variant=Variant.R_MOBILITY)
            if request.method == "HEAD":
                return Response(media_type=EVENTS)
            stream = await self._solving.answer(asked, partial(self._limiter.charge, client))
            charged = True
            return stream
        except TbgenError as error:
            raise refusal_of(error) from None
        finally:
            if not charged:
                self._limiter.charge(client, 0.0)

    async def _answer_monitor(self, _: Request) -> Response:
        text = self._monitor.text((self._quick, self._slow))
        return Response(text, headers={"Cache-Control": NOT_KEPT}, media_type=MEDIA_TYPE)

    async def _answer_openapi(self, request: Request) -> Response:
        return answer(request, self._openapi, KEPT)


def _named(path: str, endpoint: Handler) -> Handler:
    """Return an endpoint that says to the monitor which one it is."""

    async def named(request: Request) -> Response:
        request.scope[ENDPOINT] = path
        return await endpoint(request)

    return named


async def _on_refusal(_: Request, refusal: Exception) -> Response:
    assert isinstance(refusal, Refusal)
    return refused(refusal)


async def _on_http_exception(_: Request, error: Exception) -> Response:
    """Answer where there is no endpoint, or not for this method."""
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        sentence = f"nothing here is asked for by this method; {DOCUMENT_PATH} says what is"
        return refused(Refusal(405, "method_not_allowed", sentence, error.headers))
    sentence = f"there is nothing here; {DOCUMENT_PATH} says what there is"
    return refused(Refusal(error.status_code, "not_found", sentence))


async def _on_fault(_: Request, __: Exception) -> Response:
    """Answer where tbgen is at fault; the server that runs the application logs what has happened."""
    return refused(Refusal(500, "fault", "the server has made a mistake; its log says which"))
