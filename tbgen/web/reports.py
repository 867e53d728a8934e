"""The site that ``tbgen report`` has written, handed out so that its diagrams lead to the page."""

import os
import re
from functools import partial
from pathlib import Path
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tbgen.html.links import with_links
from tbgen.web.exchange import Endpoints, answer_file
from tbgen.web.limits import Bill
from tbgen.web.pool import WorkerPool
from tbgen.web.previews import place_of

_MAY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What a page of the report may do: it has one script, which is a file of its own."""

_NAME: Final = re.compile(
    r"(?:tables/)?[A-Za-z0-9_][A-Za-z0-9._-]*\.(?:html|css|js|svg|png|json|csv|pgn)", re.ASCII
)
_PICTURE: Final = re.compile(r'(<meta property="og:image" content=")(?!https?:)(?:\.\./)*')
"""A picture for previews of which the report knows only the way from the page, through its first folder."""


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
        content = await self._pool.run(partial(self._read, name, place_of(request)), Bill())
        return answer_file(request, name, content, _MAY)

    def _read(self, name: str, place: str) -> bytes:
        try:
            path = Path(os.path.realpath(self._directory / name, strict=True))
            if not (path.is_relative_to(os.path.realpath(self._directory)) and path.is_file()):
                raise HTTPException(404)
            content = path.read_bytes()
        except OSError:
            raise HTTPException(404) from None
        if not name.endswith(".html"):
            return content
        page = with_links(content.decode("utf-8", "replace"), "../" * (name.count("/") + 1))
        if place:
            page = _PICTURE.sub(lambda found: f"{found[1]}{place}report/", page)
        return page.encode()
