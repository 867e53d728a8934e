"""``tbgen tag``: its tags and messages about games."""

import errno
import multiprocessing
import os
from pathlib import Path

import pytest

from tbgen.cli.main import main
from tests.support.commands import Capture
from tests.support.tagging import DATA, expected, fails, names

pytestmark = pytest.mark.usefixtures("no_tables")


@pytest.mark.exhaustive
def test_processes_that_share_no_memory(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes are spawned, as on other systems than Linux, and on Linux since Python 3.14."""
    (place / "in.pgn").write_bytes(DATA * 20)
    context = multiprocessing.get_context("spawn")
    monkeypatch.setattr("tbgen.games.tagging.get_context", lambda: context)
    assert main(["tag", str(place / "in.pgn"), str(place / "out.pgn"), "--jobs", "2"]) == 0
    assert (place / "out.pgn").read_bytes() == expected(DATA * 20)


def test_an_error_that_is_none_of_writing(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """An error other than in writing is not attributed to the output file."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr("tbgen.cli.games.tag_games", refuse)
    assert fails(capsys, 1, place / "in.pgn", place / "out.pgn") == "tbgen: the system: Too many open files\n"
    assert names(place) == ["in.pgn"]
