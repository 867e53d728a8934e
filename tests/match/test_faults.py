"""A fault of an engine loses the game and is recorded, and the event continues."""

import os
import re
import shutil
import signal
import time
from pathlib import Path

import pytest

from tbgen.uci.protocol import EngineProtocol
from tests.match.engines import words
from tests.support.commands import Capture, failure
from tests.support.exhaustive import exhaustive
from tests.support.matches import OFTEN, children, event, games_of, gone, last_words, played, tagged
from tests.support.processes import end, started, wait_for

FAULTS = {
    "crash": ("crash", "", " disconnects", "abandoned", "abandoned"),
    "mute": ("mute", "stall=0.2", "'s connection stalls", "stalled connection", "abandoned"),
    "flood": ("flood", "stall=0.2", "'s connection stalls", "stalled connection", "abandoned"),
    "absent": ("mute", "st=0.2", " loses on time", "time forfeit", "time forfeit"),
    "illegal": ("illegal", "", " makes an illegal move: e2e5", "illegal move", "illegal move"),
}
"""The modes of faulty engines, the limits that they exceed, and the results: the reason and two tags."""


def test_a_fault_loses_the_game(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The engine loses with either colour, and the event continues; no clock runs (fastchess 1029)."""
    pgn, before, descriptors = tmp_path / "games.pgn", children(), len(os.listdir("/proc/self/fd"))
    players = [[*words(name, mode), *more.split()] for name, (mode, more, *_) in FAULTS.items()]
    games = played(pgn, "--tournament", "gauntlet", players=[words("A"), *players])
    assert len(games) == 2 * len(FAULTS)
    told = capsys.readouterr().err
    for game in games:
        white = game.tags["Black"] == "A"
        name = game.tags["White" if white else "Black"]
        _, _, text, termination, basis = FAULTS[name]
        assert last_words(game) == ("White" if white else "Black") + text
        assert (game.tags["Termination"], game.tags["RMobilityBasis"]) == (termination, basis), name
        assert game.tags["Result"] == ("0-1" if white else "1-0")
        assert game.tags["RMobilityResult"] == ("-G0.0" if white else "G0.0")
        assert len(game.moves) == (0 if white else 1)  # what was wrong is not there (fastchess 942)
        assert f"{name} has lost 2 games ({termination})" in told
    assert tagged(pgn) == pgn.read_bytes()
    assert children() == before
    assert len(os.listdir("/proc/self/fd")) <= descriptors  # tests before may have left some to the collector


class StandingClock:
    """A clock that stands still, except for 400 s whenever an engine reports that it is late."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def standing_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, take = StandingClock(), EngineProtocol.pipe_data_received

    def received(uci: EngineProtocol, fd: int, data: bytes) -> None:
        clock.now += 400 * (b"string late" in data)
        take(uci, fd, data)

    monkeypatch.setattr("tbgen.uci.protocol.time", clock)
    monkeypatch.setattr(EngineProtocol, "pipe_data_received", received)


@pytest.mark.usefixtures("standing_clock")
def test_time_is_counted(tmp_path: Path) -> None:
    """Each move takes 400 s: too long with 1000 s for all moves or 300 s for each, but not with a margin.

    A late answer loses on time even if it is illegal, as engines without time often send (fastchess 486).
    """
    length = "End by adjudication: maximum length"
    for white, black, control, plies, reason, told in (
        ("plain", "late", "tc=1000", 5, "Black loses on time", "1000"),
        ("plain", "late", "st=300", 1, "Black loses on time", "1/300"),
        ("plain", "late", "st=300 timemargin=200000", 6, length, "1/300"),
        ("late-none", "plain", "st=300", 0, "White loses on time", "1/300"),
        ("late-illegal", "plain", "st=300", 0, "White loses on time", "1/300"),
    ):
        pgn = tmp_path / f"{white}, {control}.pgn"
        more = f"--each {control} --games 1 --maxmoves 3".split()
        (game,) = played(pgn, *more, players=[words("A", white), words("B", black)])
        assert (last_words(game), len(game.moves), game.tags["TimeControl"]) == (reason, plies, told)
        assert game.tags["Termination"] == ("adjudication" if reason == length else "time forfeit")
        assert tagged(pgn) == pgn.read_bytes()


def test_odd_engines_that_play_are_tolerated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They ignore ``quit``, or leave children behind (lichess-bot 623)."""
    monkeypatch.setattr("tbgen.uci.process._QUIT_SECONDS", 0.3)
    before, odd = children(), ("stubborn", "parent")
    players = [words("A"), *(words(mode, mode) for mode in odd)]
    games = played(tmp_path / "games.pgn", "--tournament", "gauntlet", "--games", "1", players=players)
    assert [last_words(game) for game in games] == ["End by 3-fold repetition"] * len(odd)
    assert children() == before


def test_an_engine_that_has_failed_is_restarted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """B crashes in the first game of each process; without recovery the event then ends."""
    pgn, players = tmp_path / "games.pgn", [words("A"), words("B", "crash-once")]
    games = played(pgn, players=players)
    assert [game.tags["Termination"] for game in games] == ["abandoned"] * 2
    pgn.unlink()
    played_once = played(pgn, "--no-recover", players=players, code=1)
    assert "B has failed in game 1.1.1" in capsys.readouterr().err
    assert len(played_once) == 1


def test_an_engine_that_never_starts_is_a_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The mistake is found before the first game."""
    pgn, before = tmp_path / "games.pgn", children()
    for mode in ("dead", "silent", "no-uciok"):
        players = [words("A"), [*words("B", mode), "start=0.2"]]
        assert "B does not start: " in failure(capsys, 1, *event(pgn, players=players)), mode
        assert not pgn.exists()
        assert children() == before


def scripted(path: Path, *commands: str) -> list[str]:
    """Return the words for an engine B that a script starts after some commands."""
    engine = " ".join(f"'{word.partition('=')[2]}'" for word in words("B")[:-1])
    path.write_text("\n".join(["#!/bin/sh", *commands, f"exec {engine}\n"]))
    path.chmod(0o755)
    return [f"cmd={path}", "name=B"]


def test_an_engine_that_cannot_be_restarted_loses(tmp_path: Path) -> None:
    """The engine can be started only once, but each game needs a process of its own."""
    pgn, ran = tmp_path / "games.pgn", tmp_path / "ran"
    games = played(
        pgn, players=[words("A"), scripted(tmp_path / "b", f"test -e {ran} && exit 1", f"touch {ran}")]
    )
    assert [last_words(game) for game in games] == ["Black disconnects", "White disconnects"]
    assert [len(game.moves) for game in games] == [0, 0]
    assert tagged(pgn) == pgn.read_bytes()


def test_options_that_an_engine_lacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for option, expected in (("Hsh=1", "there is no option 'Hsh'"), ("Hash=many", "A refuses its options: ")):
        players = [[*words("A"), f"option.{option}"], words("B")]
        assert expected in failure(capsys, 2, *event(tmp_path / "games.pgn", players=players))


@pytest.mark.skipif(shutil.which("taskset") is None, reason="taskset (util-linux) is not installed")
def test_processors_are_set_before_the_engine_starts(tmp_path: Path) -> None:
    """A script in place of the engine records its processors when it starts."""
    told, first = tmp_path / "told", str(min(os.sched_getaffinity(0)))
    engine = scripted(tmp_path / "b", f"grep Cpus_allowed_list /proc/self/status >> {told}")
    more = ("--affinity", first, "--games", "1", "--maxmoves", "1")
    played(tmp_path / "games.pgn", *more, players=[words("A"), engine])
    assert told.read_text().splitlines()[-1].split()[1] == first


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), *exhaustive([(signal.SIGHUP, 129)])])
def test_an_interrupted_event_leaves_nothing_running(number: int, code: int, tmp_path: Path) -> None:
    pgn = tmp_path / "games.pgn"
    command = event(pgn, "--rounds", "100000", "--log", str(tmp_path / "log"))
    with started("tbgen", *command) as running:
        wait_for(running, "Finished game 3 ")
        engines = children(running.pid)
        assert engines
        running.send_signal(number)
        found, told = end(running)
    assert found == code
    assert "the same command continues from there" in told
    assert all(gone(process) for process in engines)
    assert len(games_of(pgn)) >= 3


def test_an_event_interrupted_before_its_first_game(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tbgen.match.event.run_event", interrupted)
    assert failure(capsys, 130, *event(tmp_path / "games.pgn")) == "tbgen: interrupted\n"


@pytest.mark.exhaustive
def test_under_nohup_an_event_survives_its_terminal(tmp_path: Path) -> None:
    """The event continues until it is terminated."""
    command = event(tmp_path / "games.pgn", "--rounds", "100000")
    code = "import os, signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN)"
    code += "; os.execv(sys.executable, [sys.executable, '-m', 'tbgen', *sys.argv[1:]])"
    with started("-c", code, *command) as running:
        wait_for(running, "Finished game 3 ")
        running.send_signal(signal.SIGHUP)
        wait_for(running, "Finished game 9 ")
        engines = children(running.pid)
        running.send_signal(signal.SIGTERM)
        assert end(running)[0] == 143
    assert all(gone(process) for process in engines)


@pytest.mark.slow
def test_a_runner_that_is_killed_loses_no_game_and_leaves_nothing_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A runner that is killed at random moments and restarted plays each game of the schedule once.

    Engines that ignore the end of their input, and the children of engines, are terminated with it.
    """
    pgn, players = tmp_path / "games.pgn", [words("A", "stubborn"), words("B", "parent")]
    kept: dict[str, str] = {}
    for attempt in range(OFTEN):
        command = event(pgn, "--rounds", "100000", "--concurrency", "2", players=players)
        with started("tbgen", *command) as running:
            wait_for(running, "Finished game ")
            time.sleep(0.618 * attempt % 0.5)
            engines = children(running.pid)
            sleepers = {process for parent in engines for process in children(parent)}
            running.kill()
            running.wait()
        assert len(engines) >= 3  # the guard is one of them
        assert sleepers
        assert all(gone(process) for process in engines | sleepers)
        texts = re.findall(r"\[Event .*?\n\n.*?\n\n", pgn.read_text(), re.DOTALL)
        now = {re.search(r'\[Round "(.*?)"\]', text)[1]: text for text in texts}  # type: ignore[index]
        assert len(now) == len(texts), attempt  # none twice
        assert kept.items() <= now.items(), attempt  # none lost, none changed
        kept = now
    monkeypatch.setattr("tbgen.uci.process._QUIT_SECONDS", 0.1)
    last = max(int(key.partition(".")[0]) for key in kept)
    games = played(pgn, "--rounds", str(last + 2), "--concurrency", "2", players=players)
    rounds = {f"{number}.1.{game}" for number in range(1, last + 3) for game in (1, 2)}
    assert sorted(game.tags["Round"] for game in games) == sorted(rounds)
    text = pgn.read_text()
    assert all(game in text for game in kept.values())
