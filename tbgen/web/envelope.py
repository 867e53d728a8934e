"""The headers of all responses, for security and for use by other sites, and the monitor that counts
responses."""

import os
import re
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from itertools import accumulate
from time import perf_counter
from typing import Final
from urllib.parse import unquote

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tbgen.web.admission import WorkerPool
from tbgen.web.replies import Refusal, refusal_answer

_BUCKET_SECONDS: Final = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""Upper bounds of the buckets of the response time histogram."""

METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
"""Media type of metrics in the text format of Prometheus [1].

[1] https://prometheus.io/docs/instrumenting/exposition_formats/
"""


class Monitor:
    """Counts of answered requests, by endpoint, status and time; not thread-safe."""

    def __init__(self, version: str) -> None:
        self._version = version
        self._start = time.time()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._buckets = [0] * (len(_BUCKET_SECONDS) + 1)
        self._seconds = 0.0

    def count_request(self, endpoint: str, status: int, seconds: float) -> None:
        """Count a request that has been answered in ``seconds``."""
        self._requests[endpoint, status] += 1
        self._buckets[bisect_left(_BUCKET_SECONDS, seconds)] += 1
        self._seconds += seconds

    def metrics_text(self, pools: Iterable[WorkerPool]) -> str:
        """Return all metrics, labelled with the process, because several processes may share one address."""
        return "".join(f"{line}\n" for line in self._metric_lines(pools))

    def _metric_lines(self, pools: Iterable[WorkerPool]) -> Iterator[str]:
        process = f'process="{os.getpid()}"'
        yield "# HELP tbgen_info The version.\n# TYPE tbgen_info gauge"
        yield f'tbgen_info{{{process},version="{self._version}"}} 1'
        yield "# HELP tbgen_start_time_seconds When the process began.\n# TYPE tbgen_start_time_seconds gauge"
        yield f"tbgen_start_time_seconds{{{process}}} {self._start:.3f}"
        yield "# HELP tbgen_requests_total Requests answered.\n# TYPE tbgen_requests_total counter"
        for (endpoint, status), count in sorted(self._requests.items()):
            yield (f'tbgen_requests_total{{{process},endpoint="{endpoint}",status="{status}"}} {count}')
        yield "# HELP tbgen_request_seconds Time to an answer.\n# TYPE tbgen_request_seconds histogram"
        bounds = [*map(str, _BUCKET_SECONDS), "+Inf"]
        for bound, count in zip(bounds, accumulate(self._buckets), strict=True):
            yield f'tbgen_request_seconds_bucket{{{process},le="{bound}"}} {count}'
        yield f"tbgen_request_seconds_sum{{{process}}} {self._seconds:.6f}"
        yield f"tbgen_request_seconds_count{{{process}}} {sum(self._buckets)}"
        yield "# HELP tbgen_pending Requests at work or waiting.\n# TYPE tbgen_pending gauge"
        for pool in pools:
            yield f'tbgen_pending{{{process},pool="{pool.name}"}} {pool.pending}'


_NO_ENDPOINT: Final = "other"
"""The monitor's name for requests that reach no endpoint."""

_SECURITY_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_CORS: Final = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "ETag, Retry-After"}


class ResponseMiddleware:
    """Middleware that adds headers to the responses of an application and counts the responses.

    :param open_paths: paths to which scripts of any site may send requests of every method.
    """

    def __init__(self, app: ASGIApp, monitor: Monitor, open_paths: Container[str]) -> None:
        self._app, self._monitor, self._open_paths = app, monitor, open_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start = perf_counter()
        scope = _in_origin_form(scope)
        app = _refuse_two_lengths if _has_two_lengths(scope) else self._app

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                if headers["Content-Security-Policy"].endswith("frame-ancestors *"):
                    del headers["X-Frame-Options"]  # this header cannot allow all sites
                if scope["method"] in ("GET", "HEAD") or scope["path"] in self._open_paths:
                    headers.update(_CORS)
                path = scope["route"].path.removesuffix("/{name:path}") if "route" in scope else _NO_ENDPOINT
                self._monitor.count_request(path, message["status"], perf_counter() - start)
            await send(message)

        await app(scope, receive, send_with_headers)


_ABSOLUTE_FORM: Final = re.compile(rb"https?://(?:[^/]*@)?([^/]*)", re.IGNORECASE)


def _in_origin_form(scope: Scope) -> Scope:
    """Return a request whose target is a path, as clients send it unless they speak to a proxy.

    The host in a target in absolute form, without a user's name, takes precedence over the header ``Host``
    [1].

    [1] RFC 9112, section 3.2.2.
    """
    absolute = _ABSOLUTE_FORM.match(scope.get("raw_path") or b"")
    if absolute is None:
        return scope
    path = scope["raw_path"][absolute.end() :] or b"/"
    headers = [(name, value) for name, value in scope["headers"] if name != b"host"]
    return {**scope, "raw_path": path, "path": unquote(path), "headers": [(b"host", absolute[1]), *headers]}


def _has_two_lengths(scope: Scope) -> bool:
    """Return whether a request has two headers that determine its length.

    A proxy in front may have measured the request by the header that this server ignores, and so disagree
    about where it ends [1].

    [1] RFC 9112, section 6.1.
    """
    return {b"content-length", b"transfer-encoding"} <= {name for name, _ in scope["headers"]}


async def _refuse_two_lengths(scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse a request with two lengths, and close the connection: the next request may start anywhere."""
    sentence = "the request has both Content-Length and Transfer-Encoding: send one of them"
    await refusal_answer(Refusal(400, "bad_input", sentence, {"Connection": "close"}))(scope, receive, send)
