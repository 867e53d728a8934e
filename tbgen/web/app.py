"""The API as an ASGI application."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final, TypeAlias

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

import tbgen
from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.errors import TbgenError
from tbgen.probe.tablebase import open_tablebase
from tbgen.probe.views import View
from tbgen.web import lookups, playing
from tbgen.web.envelope import ENDPOINT, Envelope
from tbgen.web.errors import Refusal, refusal_of
from tbgen.web.events import MEDIA_TYPE as EVENTS
from tbgen.web.exchange import (
    ASKED_AGAIN,
    KEPT,
    NOT_KEPT,
    answer,
    batch_of,
    body_of,
    refused,
    side_of,
    wanted,
)
from tbgen.web.limits import Limiter, client_of
from tbgen.web.live import LivePage
from tbgen.web.monitor import MEDIA_TYPE, Monitor
from tbgen.web.openapi import DOCUMENT_PATH, SOLVE_PATH, openapi
from tbgen.web.page_files import FILES_PATH, LIVE_PATH, PAGE_PATH, Page
from tbgen.web.pool import Pool
from tbgen.web.reports import REPORT_PATH, REPORT_ROOT, Reports
from tbgen.web.settings import Settings
from tbgen.web.solving import Solving
from tbgen.web.stock import Stock

_Work: TypeAlias = Callable[[], dict[str, Any]]
"""What makes an answer; it blocks."""
_Reader: TypeAlias = Callable[[Request], Awaitable[_Work]]
"""Reads a request, and says what is to be done."""
Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
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
        self._quick = Pool("quick", settings.quick_threads, settings.waiting)
        self._slow = Pool("slow", settings.slow_threads, settings.waiting)
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
        tasks = [asyncio.create_task(self._prepare())]
        if self._live is not None:
            tasks.append(asyncio.create_task(self._live.follow()))
        yield
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._solving is not None:
            await self._solving.close()
        for pool in (self._quick, self._slow):
            pool.close()
        for tables in self._tables.values():
            tables.close()

    async def _prepare(self) -> None:
        """Prepare the tables; requests need not wait for that, unless it is their own that it concerns."""
        for stock in self._stock.values() if self._eager else ():
            await self._slow.run(stock.prepare)

    def _routes(self) -> list[Route]:
        routes = []
        for variant in Variant:
            root = f"/{variant}"
            routes += [
                self._route(root, partial(self._read_position, variant), self._quick, KEPT),
                self._route(f"{root}/moves", partial(self._read_moves, variant), self._quick, KEPT),
                self._route(f"{root}/mainline", partial(self._read_line, variant), self._slow, KEPT),
                self._route(f"{root}/accrued", partial(self._read_along, variant), self._slow, KEPT),
                self._route(f"{root}/sample", partial(self._read_sample, variant), self._slow, NOT_KEPT),
                self._route(
                    f"{root}/stats/{{material}}", partial(self._read_stats, variant), self._slow, ASKED_AGAIN
                ),
                self._route(
                    f"{root}/batch", partial(self._read_batch, variant), self._slow, NOT_KEPT, method="POST"
                ),
                self._route(
                    f"{root}/game", partial(self._read_game, variant), self._slow, NOT_KEPT, method="POST"
                ),
            ]
        routes += [
            self._route(f"/{view}", partial(self._read_seen, view), self._quick, KEPT) for view in View
        ]
        return [
            *routes,
            self._route("/tables", self._read_tables, self._slow, ASKED_AGAIN),
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

    def _route(self, path: str, read: _Reader, pool: Pool, caching: str, *, method: str = "GET") -> Route:
        """Return the route of an endpoint whose work is done in a pool, and charged to the client."""

        async def endpoint(request: Request) -> Response:
            client = client_of(request)
            self._limiter.admit(client)
            seconds = 0.0
            try:
                document, seconds = await pool.run(await read(request))
            except TbgenError as error:
                seconds = getattr(error, "seconds", seconds)
                raise refusal_of(error) from None
            except Refusal as refusal:
                seconds = getattr(refusal, "seconds", seconds)
                raise
            finally:
                self._limiter.charge(client, seconds)
            return answer(request, document, caching)

        return Route(path, _named(path, endpoint), methods=[method])

    async def _read_position(self, variant: Variant, request: Request) -> _Work:
        fen, accrued = wanted(request, "fen"), request.query_params.get("accrued")
        return partial(lookups.position, self._tables[variant], fen, accrued)

    async def _read_moves(self, variant: Variant, request: Request) -> _Work:
        fen, accrued = wanted(request, "fen"), request.query_params.get("accrued")
        return partial(playing.legal_moves, self._tables[variant], fen, accrued)

    async def _read_line(self, variant: Variant, request: Request) -> _Work:
        fen, accrued = wanted(request, "fen"), request.query_params.get("accrued")
        return partial(lookups.line, self._tables[variant], fen, accrued)

    async def _read_along(self, variant: Variant, request: Request) -> _Work:
        return partial(lookups.along, self._tables[variant], wanted(request, "fen"))

    async def _read_seen(self, view: View, request: Request) -> _Work:
        return partial(lookups.seen, self._tables[Variant.R_MOBILITY], view, wanted(request, "fen"))

    async def _read_sample(self, variant: Variant, request: Request) -> _Work:
        given, value = request.query_params.get("material"), request.query_params.get("value")
        material = Material.parse(given) if given else None
        score, side = GScore.parse(value) if value else None, side_of(request)

        def sample() -> dict[str, Any]:
            board = self._stock[variant].sample(material, score, side)
            return lookups.position(self._tables[variant], board.fen(), None)

        return sample

    async def _read_stats(self, variant: Variant, request: Request) -> _Work:
        material = Material.parse(request.path_params["material"])
        return partial(self._stock[variant].document, material)

    async def _read_batch(self, variant: Variant, request: Request) -> _Work:
        return partial(lookups.batch, self._tables[variant], *await batch_of(request))

    async def _read_game(self, variant: Variant, request: Request) -> _Work:
        return partial(lookups.game, self._tables[variant], await body_of(request))

    async def _read_tables(self, _: Request) -> _Work:
        def tables() -> dict[str, Any]:
            entries = [entry for stock in self._stock.values() for entry in stock.entries()]
            return {"tables": [entry.document() for entry in entries if entry.info is not None]}

        return tables

    async def _answer_solve(self, request: Request) -> Response:
        if self._solving is None:
            raise Refusal(404, "not_offered", "this server solves no positions: tbgen solve does")
        client = client_of(request)
        self._limiter.admit(client)
        charged = False
        try:
            fen, accrued = wanted(request, "fen"), request.query_params.get("accrued")
            asked = lookups.question_of(fen, accrued, Variant.R_MOBILITY)
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


def _named(path: str, endpoint: Endpoint) -> Endpoint:
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
