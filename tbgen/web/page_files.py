"""The files of the page, which are kept in memory, with content security policies and preload links."""

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
from tbgen.html.style import men_svg, scheme_script, style_sheet
from tbgen.web.replies import Endpoints, Handler, answer_file, compress

if TYPE_CHECKING:  # a site without a server is written without the library for pictures
    from tbgen.html.cards import Caption

_SCRIPT_PATTERN: Final = re.compile(rb'<script type="module" src="page/([^"]+)"></script>\n')
_IMPORT_PATTERN: Final = re.compile(rb'\b(?:from|import) ?\(?"(\.[^"]+)"')

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'"
)
"""Content security policy of the page. It allows the page's own files and the API, but no inline scripts or
styles."""
_POLICY_WITHOUT_FRAMES: Final = f"{POLICY}; frame-ancestors 'none'"
_POLICY_IN_FRAMES: Final = f"{POLICY}; frame-ancestors *"
"""Policy of the page that other sites may embed in a frame."""

_INDEX_FILE: Final = "index.html"
_STATIC_FOLDER: Final = "static/"
"""The folder of the scripts that answer in place of a server."""
_PAGE_STYLE: Final = "explorer.css"
_EARLY_SCRIPT: Final = "early.js"
"""The additions of the page to the style sheet and the early script of reports, so that pages request one
file of each."""

_compress_cached = cache(compress)
"""Cached compression, for the files of the page, which are few."""


def with_preload_links(page: bytes, files: Mapping[str, bytes]) -> bytes:
    """Return a page with preload links for the modules that its script imports, directly or through others.

    A module absent from ``files`` gets no link: some modules exist only with a server, others only without
    one.

    :param files: the contents of all files by their names.

    >>> files = {"a.js": b'import "./b/c.js"', "b/c.js": b'import {d} from "../d.js"', "d.js": b""}
    >>> page = with_preload_links(b'<script type="module" src="page/a.js"></script>\\n', files)
    >>> re.findall(rb'href="([^"]+)"', page)
    [b'page/b/c.js', b'page/d.js']
    """
    script = _SCRIPT_PATTERN.search(page)
    if script is None:
        return page
    names = [script[1].decode()]
    for name in names:  # the list grows in the loop
        names += dict.fromkeys(
            other for other in _imported_names(name, files[name]) if other in files and other not in names
        )
    links = "".join(
        f'<link rel="modulepreload" href="page/{name}" fetchpriority="low">\n' for name in names[1:]
    )
    return page[: script.start()] + links.encode() + page[script.start() :]


def _imported_names(name: str, content: bytes) -> Iterator[str]:
    """Yield the names of the modules that a module imports."""
    for match in _IMPORT_PATTERN.finditer(content):
        yield normpath(join(dirname(name), match[1].decode()))


class Page:
    """The page and its files.

    :param make_head_and_caption: returns, for a request for the explorer's page, the tags for its head and
        the text about the position. Other sites use the tags to preview a link.
    :param parts: the optional parts that the server offers: any of ``report``, ``solve``, ``live`` and
        ``engine``. The page hides the others.
    :raises UsageError: if the file of named men is invalid.
    """

    def __init__(
        self,
        make_head_and_caption: Callable[[Request], Coroutine[Any, Any, tuple[str, "Caption"]]],
        parts: Iterable[str] = (),
    ) -> None:
        self._make_head_and_caption = make_head_and_caption
        named_men()  # an invalid file of men is reported now rather than when a picture is requested
        offered = sorted(parts)
        self.files = page_files(offered)
        """Maps the name of each file to its content."""
        self._live = "live" in offered

    def endpoints(self) -> Endpoints:
        """Return the endpoints by their paths."""
        served: dict[str, Handler] = {"/": self._answer_index, "/page/men/{side}/{letters}.svg": _answer_man}
        served["/page/{name:path}"] = self._file_handler(None)
        served["/embed"] = self._file_handler("embed.html", _POLICY_IN_FRAMES)
        for name in ("play", "puzzles"):  # the second address is the one that sites without a server have
            served[f"/{name}"] = served[f"/{name}.html"] = self._file_handler(f"{name}.html")
        return served | ({"/live": self._file_handler("live.html")} if self._live else {})

    async def _answer_index(self, request: Request) -> Response:
        """Answer with the explorer's page, which already contains the text about its position."""
        tags, caption = await self._make_head_and_caption(request)
        content = self.files[_INDEX_FILE].replace(b"</head>", f"{tags}</head>".encode(), 1)
        for name, text in (("value", caption.headline), ("sentence", caption.sentence)):
            before, _, rest = content.partition(f'<p id="{name}">'.encode())
            escaped = html.escape(text).encode()
            end = rest.index(b"<")
            content = b"".join([before, f'<p id="{name}">'.encode(), escaped, rest[end:]])
        return answer_file(request, _INDEX_FILE, content, _POLICY_WITHOUT_FRAMES)

    def _file_handler(self, fixed_name: str | None, policy: str = _POLICY_WITHOUT_FRAMES) -> Handler:
        """Return a handler that answers with a fixed file, or with the file named by the path."""

        async def handler(request: Request) -> Response:
            name = fixed_name or request.path_params["name"]
            if name not in self.files:
                raise HTTPException(404)
            return answer_file(request, name, self.files[name], policy, _compress_cached)

        return handler


def page_files(parts: Sequence[str]) -> dict[str, bytes]:
    """Return the contents of all files of the page, by file name.

    :param parts: the optional parts that the pages show; ``static`` stands for a site without a server.
    """
    folder = Path(__file__).with_name("page")
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }
    if "static" not in parts:
        files = {name: data for name, data in files.items() if not name.startswith(_STATIC_FOLDER)}
    attributes = "".join(f' data-{part}=""' for part in parts)
    for name in files:
        if name.endswith(".html"):
            page = files[name].replace(b"<html", f"<html{attributes}".encode(), 1)
            files[name] = with_preload_links(page, files)
    style = style_sheet() + files.pop(_PAGE_STYLE).decode()
    script = scheme_script() + files.pop(_EARLY_SCRIPT).decode()
    generated = {"style.css": style, "scheme.js": script, "men.svg": men_svg()}
    return files | {name: text.encode() for name, text in generated.items()}


async def _answer_man(request: Request) -> Response:
    """Answer with the picture of a described man of side ``w`` or ``b``."""
    side = request.path_params["side"]
    letters = request.path_params["letters"]
    if side not in ("w", "b"):
        raise HTTPException(404)
    return answer_file(
        request, f"{letters}.svg", picture_of_man(letters, side == "w"), _POLICY_WITHOUT_FRAMES
    )
