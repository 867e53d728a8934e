"""Threads share the tables."""

from pathlib import Path

import pytest

from tests.native.conftest import THREE
from tests.support.exhaustive import exhaustive, sample
from tests.support.native import SANITIZED, compiled, run, states

WATCHED = ("-g", "-O1", "-fsanitize=thread")


@pytest.mark.parametrize("options", [SANITIZED, *exhaustive([(WATCHED,)])])
def test_threads_share_the_tables(options: tuple[str, ...], few: Path, tmp_path: Path) -> None:
    source = Path(__file__).with_name("threads.c")
    program = compiled(tmp_path / "threads", source, options, linked=["-pthread"])
    asked = states("threads", sample(100, 3000), THREE)
    assert int(run(program, few / "flat", given="\n".join(asked))) == len(asked)
