"""The files of the page, kept in memory, with content security policies and preload links."""

import gzip
import html
import re
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import TYPE_CHECKING, Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from tbgen.board.named import named_men
from tbgen.html.diagrams import picture_of_man
from tbgen.html.style import men, scheme_script, style_sheet
from tbgen.web.exchange import Endpoints, Handler, answer_file

if TYPE_CHECKING:  # a site without a server has no pictures
    from tbgen.html.cards import Caption

_SCRIPT: Final = re.compile(rb'<script type="module" src="page/([^"]+)"></script>\n')
_IMPORT: Final = re.compile(rb'\b(?:from|import) ?\(?"(\.[^"]+)"')


def with_modules(page: bytes, files: Mapping[str, bytes]) -> bytes:
    """Return a page with preload links for the modules that its script imports, directly or through others.

    Modules absent from ``files`` get no link: some exist only with a server, others only without one.

    :param files: the contents of all files by their names.

    >>> files = {"a.js": b'import "./b/c.js"', "b/c.js": b'import {d} from "../d.js"', "d.js": b""}
    >>> page = with_modules(b'<script type="module" src="page/a.js"></script>\\n', files)
    >>> re.findall(rb'href="([^"]+)"', page)
    [b'page/b/c.js', b'page/d.js']
    """
    script = _SCRIPT.search(page)
    if script is None:
        return page
    first = script[1].decode()
    found = [first]
    for name in found:  # grows
        found += dict.fromkeys(
            each for each in _imported(name, files[name]) if each in files and each not in found
        )
    links = "".join(
        f'<link rel="modulepreload" href="page/{name}" fetchpriority="low">\n' for name in found[1:]
    )
    return page[: script.start()] + links.encode() + page[script.start() :]


def _imported(name: str, content: bytes) -> Iterator[str]:
    """Yield the names of the modules that a module imports."""
    for match in _IMPORT.finditer(content):
        yield normpath(join(dirname(name), match[1].decode()))


POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'"
)
"""Content security policy of the page: its own files and the API, but no inline scripts or styles."""
_POLICY_WITHOUT_FRAMES: Final = f"{POLICY}; frame-ancestors 'none'"
_POLICY_IN_FRAMES: Final = f"{POLICY}; frame-ancestors *"
"""Policy of the page that other sites may embed in a frame."""

_INDEX: Final = "index.html"
_STATIC_FOLDER: Final = "static/"
"""The folder of the scripts that answer in place of a server."""
_PAGE_STYLE: Final = "explorer.css"
"""The style sheet appended to that of reports, so that pages request a single file."""


class Page:
    """The page and its files.

    :param introduction: returns for the explorer's address the tags for its head, by which other sites
        preview a link, and the text about the position.
    :param offers: the server's optional parts: ``report``, ``solve``, ``live``, ``engine``; the page shows
        only these.
    :raises UsageError: if the file of named men is invalid.
    """

    def __init__(
        self,
        introduction: Callable[[Request], Coroutine[Any, Any, tuple[str, "Caption"]]],
        offers: Iterable[str] = (),
    ) -> None:
        self._introduction = introduction
        named_men()  # an invalid file of men is an error now rather than when a picture is requested
        offered = sorted(offers)
        self.files = page_files(offered)
        """The contents of the files by their names."""
        self._live = "live" in offered

    def endpoints(self) -> Endpoints:
        """Return the endpoints by their paths."""
        found: dict[str, Handler] = {"/": self._answer_index, "/page/men/{side}/{letters}.svg": _answer_man}
        found["/page/{name:path}"] = self._answering(None)
        found["/embed"] = self._answering("embed.html", _POLICY_IN_FRAMES)
        found |= {f"/{name}": self._answering(f"{name}.html") for name in ("play", "puzzles")}
        return found | ({"/live": self._answering("live.html")} if self._live else {})

    async def _answer_index(self, request: Request) -> Response:
        """Answer with the explorer's page, which already contains the text about its position."""
        tags, caption = await self._introduction(request)
        content = self.files[_INDEX].replace(b"</head>", f"{tags}</head>".encode(), 1)
        for name, text in (("value", caption.headline), ("sentence", caption.sentence)):
            before, _, rest = content.partition(f'<p id="{name}">'.encode())
            said, end = html.escape(text).encode(), rest.index(b"<")
            content = b"".join([before, f'<p id="{name}">'.encode(), said, rest[end:]])
        return _answer(request, _INDEX, content, _POLICY_WITHOUT_FRAMES, _pack)

    def _answering(self, fixed: str | None, policy: str = _POLICY_WITHOUT_FRAMES) -> Handler:
        """Return a handler that answers with a fixed file, or with the file named by the path."""

        async def handler(request: Request) -> Response:
            name = fixed or request.path_params["name"]
            if name not in self.files:
                raise HTTPException(404)
            return _answer(request, name, self.files[name], policy, _packed)

        return handler


def page_files(offers: Sequence[str]) -> dict[str, bytes]:
    """Return the contents of all files of the page by their names.

    :param offers: the optional parts that the pages show; ``static`` stands for a site without a server.
    """
    place = Path(__file__).with_name("page")
    found = {
        path.relative_to(place).as_posix(): path.read_bytes() for path in place.rglob("*") if path.is_file()
    }
    if "static" not in offers:
        found = {name: data for name, data in found.items() if not name.startswith(_STATIC_FOLDER)}
    named = "".join(f' data-{offer}=""' for offer in offers)
    for name in found:
        if name.endswith(".html"):
            page = found[name].replace(b"<html", f"<html{named}".encode(), 1)
            found[name] = with_modules(page, found)
    style = style_sheet() + found.pop(_PAGE_STYLE).decode()
    shared = {"style.css": style, "scheme.js": scheme_script(), "men.svg": men()}
    return found | {name: text.encode() for name, text in shared.items()}


def _answer(
    request: Request, name: str, content: bytes, policy: str, pack: Callable[[bytes], bytes]
) -> Response:
    """Answer with a file, compressed if the client accepts that."""
    headers = {"Vary": "Accept-Encoding"}
    if _takes_gzip(request.headers.get("accept-encoding", "")):
        content, headers["Content-Encoding"] = pack(content), "gzip"
    return answer_file(request, name, content, policy, **headers)


async def _answer_man(request: Request) -> Response:
    """Answer with the picture of a described man of side ``w`` or ``b``."""
    side, letters = request.path_params["side"], request.path_params["letters"]
    if side not in ("w", "b"):
        raise HTTPException(404)
    return answer_file(
        request, f"{letters}.svg", picture_of_man(letters, side == "w"), _POLICY_WITHOUT_FRAMES
    )


def _takes_gzip(accepted: str) -> bool:
    """Return whether a header ``Accept-Encoding`` [1] accepts gzip, with a weight other than zero.

    [1] RFC 9110, section 12.5.3.

    >>> [_takes_gzip(text) for text in ("br, gzip", "GZIP;q=0.5", "gzip; q=0.0, br", "identity", "")]
    [True, True, False, False, False]
    """
    for coding in accepted.lower().split(","):
        name, _, weight = (part.strip() for part in coding.partition(";"))
        if name == "gzip":
            return not re.fullmatch(r"q\s*=\s*0(\.0*)?", weight)
    return False


def _pack(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


_packed = cache(_pack)
"""Cached compression, for the few files of the page."""
