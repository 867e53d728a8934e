"""The sources of published files: a directory, or any web server for static files."""

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
from tbgen.system.files import open_nonblocking
from tbgen.text import duration

Result = TypeVar("Result")

_CHUNK_BYTES: Final = 1 << 17
_CONNECT_SECONDS: Final = 15.0
_READ_SECONDS: Final = 60.0
_MIN_TIMEOUT_SECONDS: Final = 120.0
"""Time limit for a small file."""
_MIN_BYTES_PER_SECOND: Final = 1 << 13
"""Minimum average rate of a transfer, from which the time limit for a large file is computed."""
_MAX_REDIRECTS: Final = 5
_MAX_ATTEMPTS: Final = 5
_FIRST_PAUSE_SECONDS: Final = 0.5
"""Pause after the first attempt; each further pause is twice as long."""
_RETRIED_STATUSES: Final = (408, 429, 500, 502, 503, 504)
"""HTTP status codes after which a request is repeated."""

Download: TypeAlias = tuple[int, Iterator[bytes]]
"""The offset in the file at which the data begin, and the data in chunks."""


class InterruptedTransferError(TbgenError):
    """A transfer ended early; another attempt may succeed."""


class RejectedFileError(TbgenError):
    """A file is unavailable or differs from its entry in the list; other files of the set may be usable."""


def source_of(text: str) -> "FileSource":
    """Return the source for an address or a directory.

    :raises UsageError: if ``text`` is neither an address nor a directory.
    """
    try:
        parts = urllib.parse.urlsplit(text)
        _ = parts.port  # raises ValueError for a malformed port, which urlsplit does not check
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
    """The files of a directory."""

    def __init__(self, directory: Path) -> None:
        if not directory.is_dir():
            raise UsageError(f"there is no directory {directory} to fetch from")
        self._directory = directory

    def locate(self, name: str) -> str:
        """Return the path of a file, for messages."""
        return os.path.join(self._directory, name)  # unlike a Path, it keeps the directory "."

    @contextmanager
    def open(self, name: str, start: int, _size: int) -> Iterator[Download]:
        """Open a file at the byte ``start``.

        :raises RejectedFileError: if the file cannot be read, or is a pipe or a device.
        """
        path = self._directory / name
        with _read_errors(path):
            file = open(path, "rb", opener=open_nonblocking)  # noqa: SIM115
        with file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise RejectedFileError(f"{path} is a pipe or a device, not a file")
            file.seek(start)
            yield start, self._data(file, path)

    def _data(self, file: BinaryIO, path: Path) -> Iterator[bytes]:
        with _read_errors(path):
            yield from iter(lambda: file.read(_CHUNK_BYTES), b"")


class WebSource:
    """The files below an address."""

    def __init__(self, address: str) -> None:
        parts = urllib.parse.urlsplit(address)
        self._base = parts._replace(path=f"{parts.path.rstrip('/')}/", query="", fragment="").geturl()
        self._pool = _make_pool(self._base)

    def locate(self, name: str) -> str:
        """Return the address of a file, without a password."""
        parts = urllib.parse.urlsplit(self._base + urllib.parse.quote(name))
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

    @contextmanager
    def open(self, name: str, start: int, size: int) -> Iterator[Download]:
        """Open a file at the byte ``start``, or at its beginning if the server does not support ranges.

        :param size: size of the file in bytes, from which the time limit is computed.
        :raises InterruptedTransferError: if the transfer is interrupted, even while the data are read.
        :raises RejectedFileError: if the file does not exist, is refused, or exceeds the time limit.
        """
        seconds = _MIN_TIMEOUT_SECONDS + size / _MIN_BYTES_PER_SECOND
        with _TimeLimit(seconds) as limit:
            try:
                with closing(self._response(name, start)) as response:
                    yield self._start_offset(name, response, start), self._data(name, response)
            except InterruptedTransferError:
                if not limit.is_over:
                    raise
            if limit.is_over:
                raise self._refusal(name, f"was not received in {duration(seconds)}: the server is too slow")

    def _response(self, name: str, start: int) -> urllib3.BaseHTTPResponse:
        """Request a file, follow redirects within the set, and return the response."""
        address = self._base + urllib.parse.quote(name)
        headers = {"Accept-Encoding": "identity", "User-Agent": "tbgen"}
        if start:
            headers["Range"] = f"bytes={start}-"
        for _ in range(_MAX_REDIRECTS + 1):
            response = self._request(name, address, headers)
            location = response.get_redirect_location()
            if not location:
                return response
            response.close()
            try:
                address = urllib.parse.urljoin(address, location)
            except ValueError:
                raise self._refusal(
                    name, f"redirects to {quote(location)}, which is not an address"
                ) from None
            if not address.startswith(self._base) or "/../" in urllib.parse.unquote(address):
                reason = f"redirects out of the set, to {quote(address)}: fetch from there, if you trust it"
                raise self._refusal(name, reason)
        raise self._refusal(name, "redirects too many times")

    def _request(self, name: str, address: str, headers: dict[str, str]) -> urllib3.BaseHTTPResponse:
        try:
            response = self._pool.request(
                "GET", address, headers=headers, preload_content=False, redirect=False, retries=False
            )
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            raise self._interruption(name, f"cannot be reached: {_reason(error)}") from None
        coding = response.headers.get("Content-Encoding", "identity")
        if response.get_redirect_location() or (response.status in (200, 206) and coding == "identity"):
            return response
        response.close()
        if response.status in (200, 206):
            reason = f"is sent compressed ({quote(coding)}): the server has to send files unchanged"
            raise self._refusal(name, reason)
        # Status 416: the server's file is not longer than the part of it that was received before.
        if response.status == 416 and headers.pop("Range", ""):
            return self._request(name, address, headers)
        if response.status == 404:
            raise RejectedFileError(f"there is no {self.locate(name)}: is it the address of a published set?")
        error_of = self._interruption if response.status in _RETRIED_STATUSES else self._refusal
        raise error_of(name, f"was refused by the server (status {response.status})")

    def _start_offset(self, name: str, response: urllib3.BaseHTTPResponse, start: int) -> int:
        if response.status == 200:
            return 0
        first_byte = response.headers.get("Content-Range", "").removeprefix("bytes ").split("-")[0]
        if first_byte not in (str(start), "0"):
            raise self._refusal(name, f"was sent from byte {quote(first_byte)} on, not from {start}")
        return int(first_byte)

    def _data(self, name: str, response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
        try:
            yield from response.stream(_CHUNK_BYTES, decode_content=False)
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            # A ValueError is raised, for example, if a chunk has the length -5.
            raise self._interruption(name, f"was interrupted: {_reason(error)}") from None

    def _refusal(self, name: str, reason: str) -> RejectedFileError:
        return RejectedFileError(f"{self.locate(name)} {reason}")

    def _interruption(self, name: str, reason: str) -> InterruptedTransferError:
        return InterruptedTransferError(f"{self.locate(name)} {reason}")


FileSource: TypeAlias = DirectorySource | WebSource
"""A source of files by name."""


@contextmanager
def _read_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RejectedFileError(f"{path} cannot be read: {error.strerror}") from None


def retry(attempt: Callable[[], Result]) -> Result:
    """Call ``attempt`` until it succeeds, with growing pauses after failures, and return its result.

    :raises InterruptedTransferError: if the last attempt is also interrupted.
    """
    for failure_count in range(_MAX_ATTEMPTS - 1):
        try:
            return attempt()
        except InterruptedTransferError:
            time.sleep(_FIRST_PAUSE_SECONDS * 2**failure_count)
    return attempt()


class _TimeLimit:
    """A context manager that closes the connection of a transfer after a time limit."""

    _thread_state: Final = threading.local()

    def __init__(self, seconds: float) -> None:
        self.is_over = False
        self._socket: socket.socket | None = None
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True

    def __enter__(self) -> "_TimeLimit":
        self._thread_state.limit = self
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._thread_state.limit = None

    @classmethod
    def watch(cls, connection: HTTPConnection) -> None:
        """Apply the time limit of the calling thread to a connection."""
        limit = getattr(cls._thread_state, "limit", None)
        if limit is not None:
            limit._socket = connection.sock
            if limit.is_over:
                limit._end()

    def _end(self) -> None:
        self.is_over = True
        if self._socket is not None:
            with suppress(OSError):  # the socket is already closed
                # Unlike ``SSLSocket.shutdown``, ``socket.shutdown`` does not change the state of TLS.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


class _LimitedConnection(HTTPConnection):
    """An HTTP connection whose responses have a time limit."""

    def getresponse(self) -> Any:
        """Return the response, and apply the thread's time limit to its transfer."""
        _TimeLimit.watch(self)
        return super().getresponse()


class _LimitedSecureConnection(_LimitedConnection, HTTPSConnection):
    """An HTTPS connection whose responses have a time limit."""


class _PlainPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _LimitedConnection


class _SecurePool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _LimitedSecureConnection


def _make_pool(address: str) -> urllib3.PoolManager:
    """Return a pool of connections with time limits, through a proxy if the environment names one.

    :raises UsageError: if the address of the proxy is malformed.
    """
    pool = _make_manager(address, urllib3.Timeout(connect=_CONNECT_SECONDS, read=_READ_SECONDS))
    pool.pool_classes_by_scheme = {"http": _PlainPool, "https": _SecurePool}
    return pool


def _make_manager(address: str, timeout: urllib3.Timeout) -> urllib3.PoolManager:
    parts = urllib.parse.urlsplit(address)
    proxy = urllib.request.getproxies().get(parts.scheme)
    if proxy and not urllib.request.proxy_bypass(parts.hostname or ""):
        proxy_address = proxy if "://" in proxy else f"http://{proxy}"
        try:
            return urllib3.ProxyManager(proxy_address, timeout=timeout, maxsize=16)
        except (ValueError, urllib3.exceptions.HTTPError):
            raise UsageError(  # the message does not quote the proxy, whose address may contain a password
                f"the environment variable {parts.scheme}_proxy does not name an http or https proxy: write "
                "http://HOST:PORT, or unset it"
            ) from None
    return urllib3.PoolManager(timeout=timeout, maxsize=16)


def _reason(error: Exception) -> str:
    """Return the reason why a transfer failed, in the words of the operating system if it gives a reason."""
    for cause in causes(error):
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
    if isinstance(error, urllib3.exceptions.ProtocolError | ValueError):
        return "the server violated HTTP, or closed the connection"
    return str(error).split("(")[0].strip() or "the connection failed"
