"""On other systems: what Windows lacks is taken away from every process (``support/elsewhere``)."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from shutil import copy
from signal import SIGUSR1
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
from psutil import process_iter

import tbgen
from tbgen.games.live_file import EventEnd, LiveFile, Termination, live_path
from tbgen.tables.files import open_table
from tests.match.engines import words
from tests.support.matches import event
from tests.support.paths import DATA, ROOT
from tests.support.processes import started, wait_for

ELSEWHERE = Path(__file__).parent / "support" / "elsewhere"
MARK = "TBGEN_ELSEWHERE"
"""A variable of the environment by which processes are known that have been started here."""
KBK = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"
KNK = "8/8/8/4KNk1/8/8/8/8 b - - 0 1"
PROGRAM = """
import json, sys
from unittest.mock import patch
from tbgen.cli.main import main
from tbgen.cli.streams import prepare_streams, raise_on_termination_signals

prepare_streams()
raise_on_termination_signals()
with patch("tbgen.report.site.draw_plots", lambda *_: []):  # drawing them takes as long as all else
    for words in json.loads(sys.argv[1]):
        print("exit code", main(words), flush=True)
"""


@pytest.fixture
def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ELSEWHERE), str(ROOT)]), MARK: str(os.getpid())}


@pytest.fixture
def directory(small: Path, tmp_path: Path) -> Iterator[Path]:
    """Some tables; in the end no two files have names that differ by capital letters alone."""
    directory = tmp_path / "tables"
    directory.mkdir()
    for name in ("KvK", "KNvK"):
        copy(small / f"{name}.r.h5", directory)
    yield directory
    names = [str(path).casefold() for path in tmp_path.rglob("*")]
    assert len(names) == len({*names})


def run(environment: dict[str, str], *commands: list[str]) -> tuple[str, str]:
    """Commands, one after the other in one process; what they print, each followed by its exit code."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(commands)], env=environment, capture_output=True, text=True
    )
    assert "Traceback" not in done.stderr, done.stderr
    found = process_iter(["environ"])
    assert [each for each in found if (each.info["environ"] or {}).get(MARK) == environment[MARK]] == []
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_commands_go_through(directory: Path, three_men: Path, environment: dict[str, str]) -> None:
    """Tables are the same; what the system refuses is one sentence, and what was there stays."""
    place, out = ["--dir", str(directory)], directory.parent
    games, tagged, pgn = out / "games.pgn", out / "tagged.pgn", out / "event.pgn"
    games.write_bytes((DATA / "g01_exp_default.pgn").read_bytes() * 40)  # enough for other processes
    with (directory / "KNvK.r.h5").open("rb"):
        said, errors = run(
            environment,
            ["build", "KBvK", *place],
            ["verify", "KBvK", *place],
            ["probe", KBK, "--line", *place],
            ["solve", "8/8/8/4KRk1/8/8/8/8 b - - 0 1", *place],
            ["publish", str(out / "set"), "KBvK", *place],
            ["fetch", "KBvK", "--from", str(out / "set"), "--dir", str(out / "fetched")],
            ["tag", str(games), str(tagged), "--jobs", "2", *place],
            ["score", str(tagged), "--jobs", "1"],  # more were those of tag
            event(pgn, players=[words("A"), words("B", "parent")]),
            ["report", "KvK", "--out", str(out / "report"), *place],
            ["tag", str(games), str(out / "con.pgn"), *place],
            ["build", "KNvK", "--force", *place],
        )
    codes = [int(line.split()[-1]) for line in said.splitlines() if line.startswith("exit code ")]
    assert codes == [0] * 10 + [2, 1], errors
    assert "Windows has other uses for 'con.pgn'" in errors
    assert f"no permission to write {directory / 'KNvK.r.h5'}, or another program has it open" in errors
    assert not [*directory.glob("*.tmp-*")]
    for path in (directory, out / "fetched"):
        assert digest(path / "KBvK.r.h5") == digest(three_men / "KBvK.r.h5")
    assert tagged.read_bytes().count(b"[RMobilityResult ") == games.read_bytes().count(b"[Result ")
    with closing(LiveFile(live_path(pgn))) as live:
        assert live.read()[1][-1] == EventEnd(Termination.FINISHED)


def digest(path: Path) -> str:
    with open_table(path) as file:
        return file.info.digest


def test_a_server_and_an_engine_go_through(directory: Path, environment: dict[str, str]) -> None:
    place = ["--dir", str(directory)]
    with started("tbgen", "serve", "--port", "0", *place, env=environment) as server:
        said = wait_for(server, " at http://", "stderr")
        address = said.split(" at ")[1].split(",")[0]
        with urlopen(f"{address}/r?{urlencode({'fen': KNK})}") as answer:
            assert json.load(answer)["value"] == str(tbgen.open_tablebase(directory).probe(KNK).value)
        server.send_signal(SIGUSR1)  # which stands for Ctrl-Break
        assert server.wait(60) == 0
    with started("tbgen", "engine", *place, env=environment) as engine:
        said, _ = engine.communicate(f"position fen {KNK}\ngo movetime 100\nquit\n", 300)
        assert "bestmove " in said
