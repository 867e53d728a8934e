"""Dear results that one process of the tests works out and the others read."""

import fcntl
import os
import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeVar

Result = TypeVar("Result")

PLACE = "TBGEN_TEST_SHARED"
"""The environment variable with the folder for them, which lasts as long as the tests."""


def shared(make: Callable[[str], Result]) -> Callable[[str], Result]:
    """Let a function of a name be worked out once for each name, by all processes that share a folder."""

    @cache
    def get(name: str) -> Result:
        folder = os.environ.get(PLACE)
        if folder is None:
            return make(name)
        path = Path(folder) / f"{make.__name__}-{name}"
        with path.with_name(f"{path.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                found = make(name)
                path.write_bytes(pickle.dumps(found, pickle.HIGHEST_PROTOCOL))
                return found
        known: Result = pickle.loads(path.read_bytes())
        return known

    return get
