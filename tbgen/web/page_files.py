"""The page: its files, held in memory, with what a browser may do with them."""

import gzip
import hashlib
from collections.abc import Iterator
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from tbgen.html.style import men, style_sheet
from tbgen.web.exchange import ASKED_AGAIN

PAGE_PATH: Final = "/"
LIVE_PATH: Final = "/live"
FILES_PATH: Final = "/page/{name:path}"

_MAY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What the page may do: its own files and the API, and nothing that stands within it as text."""

_TYPES: Final = {
    "css": "text/css",
    "html": "text/html",
    "js": "text/javascript",
    "svg": "image/svg+xml",
}
"""By ending; what has another one, such as licences, is text."""
_INDEX: Final = "index.html"
_LIVE: Final = "live.html"


class _File:
    """One file of the page."""

    def __init__(self, name: str, content: bytes) -> None:
        self._content = content
        self._type = _TYPES.get(name.rpartition(".")[2], "text/plain")
        self._tag = f'W/"{hashlib.sha256(content).hexdigest()[:32]}"'  # weak: the same for both encodings

    @cached_property
    def _packed(self) -> bytes:
        return gzip.compress(self._content, mtime=0)

    def answer(self, request: Request) -> Response:
        """Return the file, or that the client has it already."""
        headers = {
            "Cache-Control": ASKED_AGAIN,
            "Content-Security-Policy": _MAY,
            "ETag": self._tag,
            "Vary": "Accept-Encoding",
        }
        if self._tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        content = self._content
        if "gzip" in request.headers.get("accept-encoding", ""):
            content, headers["Content-Encoding"] = self._packed, "gzip"
        return Response(content, headers=headers, media_type=self._type)


class Page:
    """The page and the files that it asks for.

    :param offers: what the server has besides tables: ``report``, ``solve``, ``live``; the page shows what is
        named.
    """

    def __init__(self, offers: frozenset[str] = frozenset()) -> None:
        found = dict(_read(files("tbgen.web").joinpath("page"), ""))
        named = "".join(f' data-{offer}=""' for offer in sorted(offers))
        found[_INDEX] = found[_INDEX].replace(b"<html", f"<html{named}".encode(), 1)
        found |= {"style.css": style_sheet().encode(), "men.svg": men().encode()}
        self._files = {name: _File(name, content) for name, content in found.items()}

    async def answer_page(self, request: Request) -> Response:
        """Return the page itself."""
        return self._files[_INDEX].answer(request)

    async def answer_live(self, request: Request) -> Response:
        """Return the page that shows a running event."""
        return self._files[_LIVE].answer(request)

    async def answer_file(self, request: Request) -> Response:
        """Return a file of the page.

        :raises HTTPException: if there is none of the name.
        """
        file = self._files.get(request.path_params["name"])
        if file is None:
            raise HTTPException(404)
        return file.answer(request)


def _read(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents of all files in a folder and those below it."""
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _read(entry, f"{prefix}{entry.name}/")
        else:
            yield prefix + entry.name, entry.read_bytes()
