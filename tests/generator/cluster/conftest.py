"""What the tests of clusters share: a cluster, and the sub-tables of KBvKN."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tbgen.retro.warmup import compile_kernels
from tests.support.cluster import copy_subs

if TYPE_CHECKING:
    from distributed import LocalCluster


@pytest.fixture(scope="module")
def cluster() -> Iterator["LocalCluster"]:
    """A scheduler and two workers in processes of their own; one that dies is replaced."""
    from distributed import LocalCluster  # here, since it takes every process of the tests a second

    compile_kernels()
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        memory_limit=0,
        resources={"memory": 8e9},
        dashboard_address=":0",
        silence_logs=50,
    ) as workers:
        yield workers


@pytest.fixture
def own(three_men: Path, tmp_path: Path) -> Path:
    """A directory with the sub-tables of KBvKN."""
    copy_subs(three_men, tmp_path)
    return tmp_path
