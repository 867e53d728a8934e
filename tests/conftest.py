"""Tables that several test modules share."""

from pathlib import Path

import pytest
from reference_table import reference_table

from tbgen.store.format import table_path
from tbgen.store.writer import write_table


@pytest.fixture(scope="session")
def reference_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the tables of KvK, KBvK and KNvK, from the reference solver."""
    directory = tmp_path_factory.mktemp("reference")
    for name in ("KvK", "KBvK", "KNvK"):
        write_table(reference_table(name), table_path(directory, name), version="0.1.0", build_seconds=1.0)
    return directory
