"""How long the stages of a build take."""

import threading
import time
from dataclasses import dataclass, field


@dataclass
class Stages:
    """Seconds spent per stage, summed over threads where several work at once."""

    seconds: dict[str, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    layers: int = 0
    """Accrued scores solved, of both holders."""

    def add(self, stage: str, since: float) -> float:
        """Book the time since ``since`` (``time.perf_counter``) and return the present."""
        now = time.perf_counter()
        with self._lock:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + now - since
        return now
