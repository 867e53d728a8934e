"""A real web server on this machine that hands out a directory, and may misbehave."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit


class Handler(BaseHTTPRequestHandler):
    """Hands out files whole or from a byte on."""

    protocol_version = "HTTP/1.1"

    def __init__(self, *arguments: object, server_of: "Server") -> None:
        self.of = server_of
        super().__init__(*arguments)  # type: ignore[arg-type]

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        name = unquote(urlsplit(self.path).path).rpartition("/")[2]
        asked = self.headers.get("Range")
        self.of.asked.append((name, asked))
        if self.of.misbehave is not None and self.of.misbehave(self, name):
            return
        path = self.of.directory / name
        if not path.is_file():
            self.send_error(404)
            return
        data = path.read_bytes()
        start = int(asked.removeprefix("bytes=").split("-")[0]) if asked and self.of.ranges else 0
        if start >= len(data) > 0:
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        self.wfile.write(data[start:])

    def redirect(self, location: str, status: int = 302) -> None:
        """Send whoever asks somewhere else."""
        self.send_response(status)
        self.send_header("Location", location)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def break_off(self, data: bytes, promised: int) -> None:
        """Promise more bytes than are sent."""
        self.send_response(200)
        self.send_header("Content-Length", str(promised))
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()
        self.close_connection = True


class Server:
    """A static web server that records its requests."""

    def __init__(
        self, directory: Path, ranges: bool, misbehave: Callable[[Handler, str], bool] | None
    ) -> None:
        self.directory, self.ranges, self.misbehave = directory, ranges, misbehave
        self.asked: list[tuple[str, str | None]] = []
        """Names, and the range if there was one."""
        self.address = ""


class _Quiet(ThreadingHTTPServer):
    """Says nothing of clients that have gone: that would be on the standard error of another test."""

    def handle_error(self, *_: object) -> None:
        pass


@contextmanager
def answering(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[str]:
    """Answer requests at a free port with a handler; yield the address."""
    with _Quiet(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def serving(
    directory: Path, *, ranges: bool = True, misbehave: Callable[[Handler, str], bool] | None = None
) -> Iterator[Server]:
    """Hand out a directory at ``address``; ``misbehave`` says whether it has answered already."""
    server = Server(directory, ranges, misbehave)
    with answering(partial(Handler, server_of=server)) as address:
        server.address = f"{address}/set"
        yield server
