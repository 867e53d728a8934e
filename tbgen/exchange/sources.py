"""Where published tables come from: a directory, or any web server that hands out files."""

import os
import socket
import stat
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeAlias, TypeVar

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection

from tbgen.errors import TbgenError, UsageError, causes, quote
from tbgen.system.files import without_waiting
from tbgen.text import duration

Result = TypeVar("Result")

_AT_ONCE: Final = 1 << 17
"""Bytes."""
_CONNECT_SECONDS: Final = 15.0
_READ_SECONDS: Final = 60.0
_LEAST_SECONDS: Final = 120.0
"""For a file, however small."""
_LEAST_RATE: Final = 1 << 13
"""Bytes a second, on the whole, of a transfer that is waited for."""
_MOST_REDIRECTS: Final = 5
_TRIES: Final = 5
_FIRST_PAUSE: Final = 0.5
"""Seconds; each pause is twice the one before."""
_BUSY: Final = (408, 429, 500, 502, 503, 504)
"""Answers of a server that may do better the next time."""


class InterruptedTransferError(TbgenError):
    """A transfer that has ended early and may go on."""


class NotTakenError(TbgenError):
    """A file that cannot be had, or is not what its set says; others of the set may be."""


Download: TypeAlias = tuple[int, Iterator[bytes]]
"""A file on its way: where in the file its data begins, and the data."""


def source_of(text: str) -> "FileSource":
    """Return the source that an address or a directory stands for.

    :raises UsageError: if it is neither.
    """
    try:
        parts = urllib.parse.urlsplit(text)
        _ = parts.port  # only then is it looked at
    except ValueError as error:
        raise UsageError(f"{quote(text)} cannot be fetched from: {error}") from None
    if parts.scheme in ("http", "https") and parts.hostname:
        return WebSource(text)
    if parts.scheme == "file":
        return DirectorySource(Path(urllib.request.url2pathname(parts.path)))
    if "://" in text:
        raise UsageError(f"{quote(text)} cannot be fetched from: an http or https address or a directory can")
    return DirectorySource(Path(text))


class DirectorySource:
    """Files of a directory."""

    def __init__(self, directory: Path) -> None:
        if not directory.is_dir():
            raise UsageError(f"there is no directory {directory} to fetch from")
        self._directory = directory

    def place(self, name: str) -> str:
        """Return where a file lies."""
        return str(self._directory / name)

    @contextmanager
    def open(self, name: str, start: int, _size: int) -> Iterator[Download]:
        """Open a file from the byte ``start`` on.

        :raises NotTakenError: if it cannot be read, or is a pipe or a device.
        """
        path = self._directory / name
        with _read_errors(path):
            file = open(path, "rb", opener=without_waiting)  # noqa: SIM115
        with file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise NotTakenError(f"{path} is no file of a set, but a pipe or a device")
            file.seek(start)
            yield start, self._data(file, path)

    def _data(self, file: BinaryIO, path: Path) -> Iterator[bytes]:
        with _read_errors(path):
            yield from iter(lambda: file.read(_AT_ONCE), b"")


class WebSource:
    """Files below an address."""

    def __init__(self, address: str) -> None:
        parts = urllib.parse.urlsplit(address)
        self._base = parts._replace(path=f"{parts.path.rstrip('/')}/", query="", fragment="").geturl()
        self._pool = _pool(self._base)

    def place(self, name: str) -> str:
        """Return the address of a file, without a password."""
        parts = urllib.parse.urlsplit(self._base + urllib.parse.quote(name))
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

    @contextmanager
    def open(self, name: str, start: int, size: int) -> Iterator[Download]:
        """Open a file from the byte ``start`` on, or from its beginning if that cannot be.

        :param size: bytes of the whole file, by which its time is limited.
        :raises InterruptedTransferError: if it breaks off, also while it is read.
        :raises NotTakenError: if there is no such file, it is refused, or its time is over.
        """
        seconds = _LEAST_SECONDS + size / _LEAST_RATE
        with _Limit(seconds) as limit:
            try:
                with closing(self._ask(name, start)) as answer:
                    yield self._start(name, answer, start), self._data(name, answer)
            except InterruptedTransferError:
                if not limit.over:
                    raise
            if limit.over:
                raise self._refusal(name, f"has not come within {duration(seconds)}: the server is too slow")

    def _ask(self, name: str, start: int) -> urllib3.BaseHTTPResponse:
        """Ask for a file, and follow redirects within the set."""
        address = self._base + urllib.parse.quote(name)
        headers = {"Accept-Encoding": "identity", "User-Agent": "tbgen"}
        if start:
            headers["Range"] = f"bytes={start}-"
        for _ in range(_MOST_REDIRECTS + 1):
            answer = self._request(name, address, headers)
            location = answer.get_redirect_location()
            if not location:
                return answer
            answer.close()
            try:
                address = urllib.parse.urljoin(address, location)
            except ValueError:
                raise self._refusal(name, f"leads to {quote(location)}, which is no address") from None
            if not address.startswith(self._base) or "/../" in urllib.parse.unquote(address):
                reason = f"leads out of the set, to {quote(address)}: fetch from there, if you trust it"
                raise self._refusal(name, reason)
        raise self._refusal(name, "leads in a circle")

    def _request(self, name: str, address: str, headers: dict[str, str]) -> urllib3.BaseHTTPResponse:
        try:
            answer = self._pool.request(
                "GET", address, headers=headers, preload_content=False, redirect=False, retries=False
            )
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            raise self._interruption(name, f"cannot be reached: {_reason(error)}") from None
        coding = answer.headers.get("Content-Encoding", "identity")
        if answer.get_redirect_location() or (answer.status in (200, 206) and coding == "identity"):
            return answer
        answer.close()
        if answer.status in (200, 206):
            reason = f"comes compressed ({quote(coding)}): the server has to hand out files as they are"
            raise self._refusal(name, reason)
        if answer.status == 416 and headers.pop("Range", ""):  # what is there is no beginning of the file
            return self._request(name, address, headers)
        if answer.status == 404:
            raise NotTakenError(f"there is no {self.place(name)}: is it the address of a published set?")
        kind = self._interruption if answer.status in _BUSY else self._refusal
        raise kind(name, f"was refused by the server (status {answer.status})")

    def _start(self, name: str, answer: urllib3.BaseHTTPResponse, start: int) -> int:
        if answer.status == 200:
            return 0
        first = answer.headers.get("Content-Range", "").removeprefix("bytes ").split("-")[0]
        if first not in (str(start), "0"):
            raise self._refusal(name, f"came from byte {quote(first)} on, not from {start}")
        return int(first)

    def _data(self, name: str, answer: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
        try:
            yield from answer.stream(_AT_ONCE, decode_content=False)
        except (urllib3.exceptions.HTTPError, ValueError) as error:  # such as a chunk of -5 bytes
            raise self._interruption(name, f"broke off: {_reason(error)}") from None

    def _refusal(self, name: str, reason: str) -> NotTakenError:
        return NotTakenError(f"{self.place(name)} {reason}")

    def _interruption(self, name: str, reason: str) -> InterruptedTransferError:
        return InterruptedTransferError(f"{self.place(name)} {reason}")


FileSource: TypeAlias = DirectorySource | WebSource
"""What hands out files by name."""


@contextmanager
def _read_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise NotTakenError(f"{path} cannot be read: {error.strerror}") from None


def persistent(attempt: Callable[[], Result]) -> Result:
    """Do what a transfer may interrupt, again and again after pauses that grow, and return its result.

    :raises InterruptedTransferError: of the last attempt.
    """
    for pause in range(_TRIES - 1):
        try:
            return attempt()
        except InterruptedTransferError:
            time.sleep(_FIRST_PAUSE * 2**pause)
    return attempt()


class _Limit:
    """The time for a file, a context: when it is over, its connection is cut, whatever is being sent."""

    _of_thread: Final = threading.local()

    def __init__(self, seconds: float) -> None:
        self.over = False
        self._socket: socket.socket | None = None
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True

    def __enter__(self) -> "_Limit":
        self._of_thread.limit = self
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._of_thread.limit = None

    @classmethod
    def watch(cls, connection: HTTPConnection) -> None:
        """Limit what comes by a connection to the file that its thread is fetching."""
        limit = getattr(cls._of_thread, "limit", None)
        if limit is not None:
            limit._socket = connection.sock
            if limit.over:
                limit._end()

    def _end(self) -> None:
        self.over = True
        if self._socket is not None:
            with suppress(OSError):  # it is closed
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)  # which leaves the state of TLS alone


class _Watched(HTTPConnection):
    """A connection whose answers have their time."""

    def getresponse(self) -> Any:
        """Return the answer."""
        _Limit.watch(self)
        return super().getresponse()


class _WatchedSecure(_Watched, HTTPSConnection):
    """The same by TLS."""


class _PlainPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _Watched


class _SecurePool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _WatchedSecure


def _pool(address: str) -> urllib3.PoolManager:
    """Return connections that are watched, by a proxy where the environment names one.

    :raises UsageError: if that is none.
    """
    pool = _manager(address, urllib3.Timeout(connect=_CONNECT_SECONDS, read=_READ_SECONDS))
    pool.pool_classes_by_scheme = {"http": _PlainPool, "https": _SecurePool}
    return pool


def _manager(address: str, timeout: urllib3.Timeout) -> urllib3.PoolManager:
    parts = urllib.parse.urlsplit(address)
    proxy = urllib.request.getproxies().get(parts.scheme)
    if proxy and not urllib.request.proxy_bypass(parts.hostname or ""):
        with_scheme = proxy if "://" in proxy else f"http://{proxy}"
        try:
            return urllib3.ProxyManager(with_scheme, timeout=timeout, maxsize=16)
        except (ValueError, urllib3.exceptions.HTTPError):
            raise UsageError(  # without the proxy, which may have a password in it
                f"the environment variable {parts.scheme}_proxy names no http or https proxy: write "
                "http://HOST:PORT, or unset it"
            ) from None
    return urllib3.PoolManager(timeout=timeout, maxsize=16)


def _reason(error: Exception) -> str:
    """Return what went wrong, as the system says it."""
    for cause in causes(error):
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
    if isinstance(error, urllib3.exceptions.ProtocolError | ValueError):
        return "the server did not answer by the rules of HTTP, or closed the connection"
    return str(error).split("(")[0].strip() or "the connection failed"
