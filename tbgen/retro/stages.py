"""How long the stages of a build take."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Stages:
    """Seconds spent per stage, summed over threads where several work at once."""

    seconds: dict[str, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    layers: int = 0
    """Accrued scores solved, of both holders."""

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the time that the block takes to a stage."""
        begun = time.perf_counter()
        yield
        with self._lock:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - begun
