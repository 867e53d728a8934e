"""A host of static files on this machine, such as GitHub Pages is one: it counts what it hands out."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.web_server import answering


class Host:
    """A static host that records its requests.

    :param ranges: whether it answers range requests.
    """

    def __init__(self, directory: Path, ranges: bool) -> None:
        self.directory, self.ranges = directory, ranges
        self.address = ""
        self.asked: list[tuple[str, int]] = []
        """Paths, and the bytes of the answers."""


class _Handler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, *arguments: object, host: Host) -> None:
        self.host = host
        super().__init__(*arguments)  # type: ignore[arg-type]

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        asked = urlsplit(self.path).path
        name = asked.lstrip("/") or "index.html"
        path = next(
            (path for each in (name, f"{name}.html") if (path := self.host.directory / each).is_file()), None
        )
        if path is None:
            self.send_error(404)
            return
        data = path.read_bytes()
        wanted = (
            re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", "")) if self.host.ranges else None
        )
        part = data[int(wanted[1]) : int(wanted[2]) + 1] if wanted else data
        self.host.asked.append((asked, len(part)))
        self.send_response(206 if wanted else 200)
        if wanted:
            self.send_header("Content-Range", f"bytes {wanted[1]}-{wanted[2]}/{len(data)}")
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        self.wfile.write(part)


@contextmanager
def hosting(directory: Path, *, ranges: bool = True) -> Iterator[Host]:
    """Hand out a directory."""
    host = Host(directory, ranges)
    with answering(partial(_Handler, host=host)) as host.address:
        yield host
