"""If the cache of kernels cannot be written, one warning is printed, and no files are left behind."""

import os
import signal
from pathlib import Path

import pytest

from tests.support.exhaustive import exhaustive
from tests.support.processes import end, started

ENTRY = "from tbgen.cli import entry_point\nentry_point()"

COMPILING = """
import logging
from tbgen.compiler import cache

def work():
    with cache.compiling("tbgen.errors", "of tests", "a second", logging.getLogger("tbgen").warning):
        assert cache.directory().is_dir()
"""

INTERRUPTED = f"""{COMPILING}
import os, signal
from tbgen.cli import main

def run(arguments):
    work()
    os.kill(os.getpid(), getattr(signal, arguments[0]))

main._run = run
{ENTRY}
"""

TAGGING = f"""{COMPILING}
import multiprocessing, time
from tbgen.games.tagging import Adjudicator

judge = Adjudicator.judge

def judge_and_compile(adjudicator, raw):
    time.sleep(0.01)
    work()
    return judge(adjudicator, raw)

multiprocessing.set_start_method("fork")
Adjudicator.judge = judge_and_compile
{ENTRY}
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a process without a writable cache; temporary files are in ``temporary``."""
    (tmp_path / "file").touch()
    (tmp_path / "temporary").mkdir()
    places = {"NUMBA_CACHE_DIR": str(tmp_path / "file"), "TMPDIR": str(tmp_path / "temporary")}
    return {name: value for name, value in os.environ.items() if name != "TBGEN_KERNELS"} | places


def left(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "temporary").iterdir())


@pytest.mark.parametrize(
    ("name", "said"), [("SIGTERM", "terminated"), *exhaustive([("SIGINT", "interrupted")])]
)
def test_after_a_signal(tmp_path: Path, environment: dict[str, str], name: str, said: str) -> None:
    with started("-c", INTERRUPTED, name, env=environment) as running:
        code, error = end(running)
    assert code == 128 + getattr(signal, name)
    assert error.count("NUMBA_CACHE_DIR") == 1
    assert error.endswith(f"\ntbgen: {said}\n")
    assert left(tmp_path) == []


@pytest.mark.parametrize("number", [None, *exhaustive([signal.SIGTERM])])
def test_with_processes_that_tag(
    tmp_path: Path, environment: dict[str, str], number: signal.Signals | None
) -> None:
    games = tmp_path / "games.pgn"
    games.write_text("1. f3 e5 2. g4 Qh4# 0-1\n\n" * (100_000 if number else 40))
    words = ["tag", str(games), str(tmp_path / "out.pgn"), "--jobs", "2"]
    with started("-c", TAGGING, *words, env=environment) as running:
        assert running.stderr
        said = running.stderr.readline()
        if number:
            running.send_signal(number)
        said += running.stderr.read()  # not end(), which does not see what readline() has read ahead
        code, _ = end(running)
    assert code == (128 + number if number else 0), said
    assert said.count("NUMBA_CACHE_DIR") == 1
    assert said.count("compiling the kernels") == 1
    assert left(tmp_path) == []
