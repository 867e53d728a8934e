"""Threads share the tables."""

from pathlib import Path

import pytest

from tests.native.conftest import THREE, Build
from tests.support.exhaustive import sample
from tests.support.native import SANITIZED, compiled, run, states

WATCHED = ("-g", "-O1", "-fsanitize=thread")


def test_threads_share_the_tables(build: Build, few: Path, tmp_path: Path) -> None:
    check_threads(build, SANITIZED, few, tmp_path)


@pytest.mark.exhaustive
def test_nothing_is_written_that_threads_share(few: Path, tmp_path: Path) -> None:
    check_threads(compiled, WATCHED, few, tmp_path)


def check_threads(build: Build, options: tuple[str, ...], few: Path, tmp_path: Path) -> None:
    """Threads answer alike."""
    source = Path(__file__).with_name("threads.c")
    program = build(tmp_path / "threads", source, options, linked=["-pthread"])
    asked = states("threads", sample(100, 3000), THREE)
    assert int(run(program, few / "flat", given="\n".join(asked))) == len(asked)
