"""Threads share the tables: the thread sanitizer looks on."""

import subprocess
from pathlib import Path

from tests.native.conftest import THREE
from tests.support.exhaustive import sample
from tests.support.native import compiled, states

SANITIZED = ("-g", "-O1", "-fsanitize=thread", "-pthread")


def test_threads_share_the_tables(some_packed: Path, tmp_path: Path) -> None:
    program = compiled(tmp_path / "threads", Path(__file__).with_name("threads.c"), SANITIZED)
    asked = states("threads", sample(300, 3000), [*THREE, "KBvKN"])
    done = subprocess.run(
        [program, some_packed / "flat"], input="\n".join(asked), capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) == len(asked)
