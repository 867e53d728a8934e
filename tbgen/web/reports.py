"""The site that ``tbgen report`` has written, handed out so that its diagrams lead to the page."""

import html
import os
import re
from functools import partial
from pathlib import Path
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tbgen.web.exchange import Endpoints, answer_file
from tbgen.web.limits import Bill
from tbgen.web.pool import WorkerPool

_MAY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What a page of the report may do: it has one script, which is a file of its own."""

_NAME: Final = re.compile(
    r"(?:tables/)?[A-Za-z0-9_][A-Za-z0-9._-]*\.(?:html|css|js|svg|png|json|csv|pgn)", re.ASCII
)
_DIAGRAM: Final = re.compile(r'<svg class="board" data-query="([^"]*)".*?</svg>', re.DOTALL)


class Reports:
    """A directory that a report was written to.

    :param pool: where its files are read.
    """

    def __init__(self, directory: Path, pool: WorkerPool) -> None:
        self._directory, self._pool = directory, pool

    def endpoints(self) -> Endpoints:
        """Return the endpoints by their paths."""
        return {"/report": self._answer_root, "/report/{name:path}": self._answer_file}

    async def _answer_root(self, _: Request) -> Response:
        """Lead to the first page; the address is a relative one, and needs no header of the client's."""
        return RedirectResponse("report/index.html", 308)

    async def _answer_file(self, request: Request) -> Response:
        name = request.path_params["name"] or "index.html"
        if not _NAME.fullmatch(name):
            raise HTTPException(404)
        content = await self._pool.run(partial(self._read, name), Bill())
        return answer_file(request, name, content, _MAY)

    def _read(self, name: str) -> bytes:
        try:
            path = Path(os.path.realpath(self._directory / name, strict=True))
            if not (path.is_relative_to(os.path.realpath(self._directory)) and path.is_file()):
                raise HTTPException(404)
            content = path.read_bytes()
        except OSError:
            raise HTTPException(404) from None
        return with_links(content, name.count("/") + 1) if name.endswith(".html") else content


def with_links(page: bytes, depth: int) -> bytes:
    """Return a page of a report in which every diagram is a link to the explorer.

    :param depth: how many folders below the explorer the page is.
    """

    def linked(diagram: re.Match[str]) -> str:
        address = f"{'../' * depth}?{html.unescape(diagram[1])}"
        return (
            f'<a class="explore" href="{html.escape(address)}" title="Open in the explorer">{diagram[0]}</a>'
        )

    return _DIAGRAM.sub(linked, page.decode("utf-8", "replace")).encode()
