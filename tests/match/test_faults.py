"""Whatever an engine does wrong, it loses the game, the reason is kept, and the event goes on without it."""

import asyncio
import os
import re
import shutil
import signal
import time
from pathlib import Path

import pytest

from tbgen.cli.main import main
from tbgen.match.engine import _task
from tests.match.engines import words
from tests.support.commands import failure
from tests.support.matches import OFTEN, children, event, games_of, gone, last_words, played, tagged
from tests.support.processes import started, wait_for

FAULTS = {
    "crash": ("disconnects", "abandoned", "abandoned"),
    "mute": ("'s connection stalls", "stalled connection", "abandoned"),
    "flood": ("'s connection stalls", "stalled connection", "abandoned"),
    "illegal": (" makes an illegal move: e2e5", "illegal move", "illegal move"),
    "nonsense": (" makes an illegal move: ??1?0?", "illegal move", "illegal move"),
    "null": (" makes an illegal move: 0000", "illegal move", "illegal move"),
    "none": (" makes an illegal move: (none)", "illegal move", "illegal move"),
}


@pytest.mark.parametrize("mode", FAULTS)
def test_a_fault_loses_the_game(mode: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Fixed nodes: no clock runs that would end the game (fastchess 1029)."""
    pgn, before = tmp_path / "games.pgn", children()
    descriptors = len(os.listdir("/proc/self/fd"))
    hurried = ["stall=0.5"] if mode in ("mute", "flood") else []
    players = [words("A"), [*words("B", mode), *hurried]]
    games = played(pgn, players=players)
    text, termination, basis = FAULTS[mode]
    assert [last_words(game).removeprefix("Black").removeprefix("White").strip() for game in games] == [
        text.strip()
    ] * 2
    assert [game.tags["Result"] for game in games] == ["1-0", "0-1"]
    assert [game.tags["RMobilityResult"] for game in games] == ["G0.0", "-G0.0"]
    assert [game.tags["Termination"] for game in games] == [termination] * 2
    assert [game.tags["RMobilityBasis"] for game in games] == [basis] * 2
    assert [len(game.moves) for game in games] == [1, 0]  # what was wrong is not there (fastchess 942)
    assert tagged(pgn) == pgn.read_bytes()
    assert "B has lost 2 by " + termination in capsys.readouterr().err
    assert children() == before
    assert len(os.listdir("/proc/self/fd")) <= descriptors  # tests before may have left some to the collector


def test_time_is_counted(tmp_path: Path) -> None:
    """0.4 s for each move: too long with 1 s for all, and with 0.3 s for each, but not with a margin."""
    players = [words("A"), words("B", "slow")]
    lost = [("tc=1", 5), ("st=0.3", 1)]
    for control, plies in lost:
        pgn = tmp_path / f"{control}.pgn"
        games = played(pgn, "--each", control, "--games", "1", players=players)
        assert [(last_words(game), len(game.moves)) for game in games] == [("Black loses on time", plies)]
        assert games[0].tags["Termination"] == "time forfeit"
        assert games[0].tags["TimeControl"] == {"tc=1": "1", "st=0.3": "1/0.3"}[control]
        assert tagged(pgn) == pgn.read_bytes()
    (game,) = played(
        tmp_path / "margin.pgn",
        *("--each", "st=0.3", "timemargin=20000", "--games", "1", "--maxmoves", "1"),
        players=players,
    )
    assert (last_words(game), len(game.moves)) == ("End by adjudication: maximum length", 2)


@pytest.mark.parametrize("mode", ["late-none", "late-illegal"])
def test_what_comes_too_late_is_too_late_whatever_it_is(mode: str, tmp_path: Path) -> None:
    """An engine that has no time left often has no move either (fastchess 486)."""
    pgn = tmp_path / "games.pgn"
    games = played(pgn, "--each", "st=0.1", "--games", "1", players=[words("A", mode), words("B")])
    assert [(last_words(game), len(game.moves)) for game in games] == [("White loses on time", 0)]


@pytest.mark.parametrize("mode", ["garbage", "long-line", "twice", "stubborn", "parent"])
def test_odd_engines_that_play_are_let_play(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise, lines without end, two answers, no end at ``quit`` and children that stay (lichess-bot 623)."""
    monkeypatch.setattr("tbgen.match.engine._QUITTING", 0.3)
    pgn, before = tmp_path / "games.pgn", children()
    games = played(pgn, "--games", "1", players=[words("A"), words("B", mode)])
    assert [last_words(game) for game in games] == ["End by 3-fold repetition"]
    assert children() == before


def test_an_engine_that_has_failed_is_started_anew(tmp_path: Path) -> None:
    """B crashes in its first game of a process, and would not in the second."""
    games = played(tmp_path / "games.pgn", "--rounds", "2", players=[words("A"), words("B", "crash-once")])
    assert {game.tags["Termination"] for game in games} == {"abandoned"}
    assert len(games) == 4


def test_without_recover_the_event_ends_at_a_crash(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pgn = tmp_path / "games.pgn"
    command = event(pgn, "--no-recover", players=[words("A"), words("B", "crash")])
    assert main(command) == 1
    assert "B has failed in game 1.1.1" in capsys.readouterr().err
    assert len(games_of(pgn)) == 1


@pytest.mark.parametrize("mode", ["dead", "silent", "no-uciok"])
def test_an_engine_that_never_starts_is_a_mistake(
    mode: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is found before the first game."""
    pgn, before = tmp_path / "games.pgn", children()
    players = [words("A"), [*words("B", mode), "start=0.5"]]
    assert "B does not start: " in failure(capsys, 1, *event(pgn, players=players))
    assert pgn.read_bytes() == b""
    assert children() == before


def test_an_engine_that_starts_no_more_loses(tmp_path: Path) -> None:
    """It can be started once only, and each game takes a process of its own."""
    script = tmp_path / "once"
    engine = " ".join(f"'{word.partition('=')[2]}'" for word in words("B")[:-1])
    script.write_text(f"#!/bin/sh\ntest -e {script}.ran && exit 1\ntouch {script}.ran\nexec {engine}\n")
    script.chmod(0o755)
    pgn = tmp_path / "games.pgn"
    games = played(pgn, players=[words("A"), [f"cmd={script}", "name=B"]])
    assert [last_words(game) for game in games] == ["Black disconnects", "White disconnects"]
    assert [len(game.moves) for game in games] == [0, 0]
    assert tagged(pgn) == pgn.read_bytes()


def test_options_that_an_engine_has_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for option, expected in (("Hsh=1", "has no option 'Hsh'"), ("Hash=many", "refuses its options")):
        players = [[*words("A"), f"option.{option}"], words("B")]
        assert expected in failure(capsys, 2, *event(tmp_path / "games.pgn", players=players))


@pytest.mark.skipif(shutil.which("taskset") is None, reason="taskset (util-linux) is not installed")
def test_processors_are_set_before_the_engine_starts(tmp_path: Path) -> None:
    """The engine's own first look at them is what counts: a script that writes them down."""
    script, told = tmp_path / "engine", tmp_path / "told"
    engine = " ".join(f"'{word.partition('=')[2]}'" for word in words("B")[:-1])
    script.write_text(f"#!/bin/sh\ngrep Cpus_allowed_list /proc/self/status >> {told}\nexec {engine}\n")
    script.chmod(0o755)
    first = min(os.sched_getaffinity(0))
    played(
        tmp_path / "games.pgn",
        "--affinity",
        str(first),
        "--games",
        "1",
        players=[words("A"), [f"cmd={script}"]],
    )
    assert told.read_text().splitlines()[-1].split()[1] == str(first)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_an_interrupted_event_leaves_nothing_running(number: int, code: int, tmp_path: Path) -> None:
    pgn = tmp_path / "games.pgn"
    command = event(pgn, "--rounds", "100000", "--log", str(tmp_path / "log"))
    with started("tbgen", *command) as running:
        wait_for(running, "Finished game 3 ")
        engines = of_groups(running.pid)
        assert engines
        running.send_signal(number)
        assert running.wait(60) == code
        assert "the same command goes on from there" in running.stderr.read()  # type: ignore[union-attr]
    assert all(gone(process) for process in engines)
    assert len(games_of(pgn)) >= 3


def test_a_task_that_ends_hides_no_cancellation() -> None:
    """An interruption may come while what told of the engine's thoughts is being ended."""

    async def cancelled() -> bool:
        async def work() -> None:
            async with _task(asyncio.sleep(60)):
                await asyncio.sleep(0)

        working = asyncio.ensure_future(work())
        while not asyncio.all_tasks() - {working, asyncio.current_task()}:
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        working.cancel()
        await asyncio.wait({working})
        return working.cancelled()

    assert asyncio.run(cancelled())


def test_an_event_goes_on_when_its_terminal_is_closed_under_nohup(tmp_path: Path) -> None:
    command = event(tmp_path / "games.pgn", "--rounds", "100000")
    code = "import os, signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN)"
    code += "; os.execv(sys.executable, [sys.executable, '-m', 'tbgen', *sys.argv[1:]])"
    with started("-c", code, *command) as running:
        wait_for(running, "Finished game 3 ")
        running.send_signal(signal.SIGHUP)
        wait_for(running, "Finished game 9 ")
        running.send_signal(signal.SIGTERM)
        assert running.wait(60) == 143


def test_engines_die_with_a_runner_that_is_killed(tmp_path: Path) -> None:
    """Also those that go on when their input ends, and the children of engines, whom nobody tells."""
    pgn = tmp_path / "games.pgn"
    command = event(pgn, "--rounds", "100000", players=[words("A", "stubborn"), words("B", "parent")])
    with started("tbgen", *command) as running:
        wait_for(running, "Finished game 2 ")
        engines = of_groups(running.pid)
        sleepers = [process for parent in engines for process in of_groups(parent)]
        assert len(engines) >= 3  # the guard is one of them
        assert sleepers
        running.kill()
        running.wait(60)
    assert all(gone(process) for process in [*engines, *sleepers])
    games_of(pgn)  # all sound, or torn at the end


def of_groups(parent: int) -> list[int]:
    """The children of a process."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found.append(int(path.parent.name))
    return found


@pytest.mark.slow
def test_a_runner_that_is_killed_again_and_again_loses_no_game(tmp_path: Path) -> None:
    """Killed at random moments and started anew, it plays each game of the schedule once."""
    pgn = tmp_path / "games.pgn"
    kept: dict[str, str] = {}
    delay = 0.0
    for attempt in range(OFTEN):
        with started("tbgen", *event(pgn, "--rounds", "100000", "--concurrency", "2")) as running:
            wait_for(running, "Finished game ")
            delay = (delay + 0.618 * 0.5) % 0.5
            time.sleep(delay)
            running.kill()
            running.wait(60)
        texts = re.findall(r"\[Event .*?\n\n.*?\n\n", pgn.read_text(), re.DOTALL)
        now = {re.search(r'\[Round "(.*?)"\]', text)[1]: text for text in texts}  # type: ignore[index]
        assert len(now) == len(texts), attempt  # none twice
        assert kept.items() <= now.items(), attempt  # none lost, none changed
        kept = now
    last = max(int(key.partition(".")[0]) for key in kept)
    games = played(pgn, "--rounds", str(last + 2), "--concurrency", "2")
    assert sorted(game.tags["Round"] for game in games) == sorted(
        f"{number}.1.{game}" for number in range(1, last + 3) for game in (1, 2)
    )
    text = pgn.read_text()
    assert all(game in text for game in kept.values())
