"""The monitor, which counts the answered requests of a process, and its metrics."""

import os
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Final

from tbgen.web.admission import WorkerPool

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
